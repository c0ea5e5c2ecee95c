/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager's handshake over datagrams: sending and repeating messages.
 *
 *	active			passive
 *	REQ_SENT   -- REQ ->	REQ_RCVD	process: accept
 *	REP_RCVD   <- REP --	REP_SENT
 *	ESTABLISHED -- RTU ->	ESTABLISHED
 *	DREQ_SENT  -- DREQ ->	LINGER
 *	LINGER	   <- DREP --
 *
 * Every message is repeated until the peer's next one arrives; all are idempotent. An end that its
 * process gave up continues until the peer has been notified. Calls udp.c and eth_tx.c. IBA 12.9
 * (states), 12.6 (messages); docs/connection-manager.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	PSN_MASK = 0xffffff,
	MSG_BYTES = sizeof(struct wire_dgram) + sizeof(struct wire_cm),
};

/* Sends at once or never: lost messages are repeated, and data need not outlive the call. */
static void cm_rd_transmit(struct fw_nic *nic, uint32_t ip, uint8_t shard, const uint8_t *mac,
			   const struct wire_cm *msg, const uint8_t *data)
{
	const struct wire_dgram dgram = {.ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_CM};
	struct fw_tx_frame *frame = eth_tx_begin(nic);
	uint32_t bytes = msg->private_bytes;

	if (!frame)
		return;
	udp_tx_header_not_ect(nic, frame, ip, mac, shard, MSG_BYTES + bytes + WIRE_DGRAM_CRC_BYTES);
	memcpy(frame->hdr + UDP_TX_HDR_BYTES, &dgram, sizeof(dgram));
	memcpy(frame->hdr + UDP_TX_HDR_BYTES + sizeof(dgram), msg, sizeof(*msg));
	eth_tx_headers(frame, IP_TX_HDR_BYTES, sizeof(struct wire_udp) + MSG_BYTES,
		       FW_TX_F_CRC_BEGIN | (bytes ? 0 : FW_TX_F_CRC_END));
	if (bytes)
		frame->seg[frame->num_seg++] = (struct fw_tx_seg){
		    .mem = data, .bytes = bytes, .kind = FW_TX_MEM, .flags = FW_TX_F_CRC_END};
	frame->flags |= FW_TX_F_CONTROL;
	FW_COUNT(nic, cm_tx);
	(void)eth_tx_try_now(nic, frame);
}

static bool has_data(enum wire_cm_type type)
{
	return type == WIRE_CM_REQ || type == WIRE_CM_REP || type == WIRE_CM_REJ ||
	       type == WIRE_CM_SIDR_REQ || type == WIRE_CM_SIDR_REP;
}

static bool is_request(enum wire_cm_type type)
{
	return type == WIRE_CM_REQ || type == WIRE_CM_SIDR_REQ;
}

static void fill_param(const struct fw_nic *nic, const struct cm_ep *ep, struct wire_cm *msg)
{
	const struct hw_cm_param *p = &ep->param;
	uint32_t mtu = p->mtu && p->mtu < nic->config.mtu ? p->mtu : nic->config.mtu;

	msg->flags = (p->srq ? WIRE_CM_F_SRQ : 0) | (p->flow_control ? WIRE_CM_F_FLOW_CONTROL : 0);
	msg->qp_type = p->qp_type;
	msg->mtu = be16_put((uint16_t)mtu);
	msg->qpn = be32_put(p->qpn);
	msg->psn = be32_put(p->psn);
	msg->qkey = be32_put(p->qkey);
	msg->responder_resources = p->responder_resources;
	msg->initiator_depth = p->initiator_depth;
	msg->retry_count = p->retry_count;
	msg->rnr_retry_count = p->rnr_retry_count;
}

void cm_rd_send(struct fw_nic *nic, struct cm_ep *ep, enum wire_cm_type type)
{
	struct wire_cm msg = {.type = (uint8_t)type};
	uint8_t mac[WIRE_MAC_BYTES];

	/* The address is requested now, and known at the next try. */
	if (neigh_lookup(nic, ep->peer_ip, mac) != NEIGH_OK)
		return;
	msg.src_id = be64_put(ep->local_id);
	msg.dst_id = be64_put(ep->peer_id);
	if (type == WIRE_CM_REJ)
		msg.reason = be16_put(ep->reason);
	if (has_data(type) && (type != WIRE_CM_REJ || ep->rejected))
		msg.private_bytes = (uint8_t)ep->tx_bytes;
	if (is_request(type)) {
		msg.space = be16_put(ep->space);
		msg.src_port = be16_put(ep->local_port);
		msg.dst_port = be16_put(ep->peer_port);
	}
	if (has_data(type) && type != WIRE_CM_REJ)
		fill_param(nic, ep, &msg);
	cm_rd_transmit(nic, ep->peer_ip, ep->peer_shard, mac, &msg, ep->tx_data);
}

void cm_rd_refuse(struct fw_nic *nic, const struct rdmap_seg *pkt, const struct wire_cm *msg,
		  enum wire_cm_type type, uint16_t reason, uint32_t shard)
{
	const struct wire_eth *eth = (const void *)pkt->frame->seg[0].data;
	const struct wire_cm answer = {
	    .type = (uint8_t)type,
	    .reason = be16_put(reason),
	    .arg = be16_put((uint16_t)shard),
	    .src_id = msg->dst_id,
	    .dst_id = msg->src_id,
	};

	/*
	 * A peer whose MAC is unknown repeats its message; a station that uses another's address
	 * gets no answer.
	 */
	if (neigh_source(nic, pkt->src_ip, eth->src) != NEIGH_SOURCE_RIGHT)
		return;
	cm_rd_transmit(nic, pkt->src_ip, pkt->src_shard, eth->src, &answer, NULL);
}

static uint64_t cm_rd_retry_ns(const struct cm_ep *ep)
{
	uint64_t ns = CM_RETRY_NS << (ep->tries < 7 ? ep->tries : 7);

	return ns < CM_RETRY_MAX_NS && !ep->patient ? ns : CM_RETRY_MAX_NS;
}

/* Sends the message of the state, and sets the time for the next try. */
static void try_again(struct fw_nic *nic, struct cm_ep *ep, enum wire_cm_type type)
{
	cm_rd_send(nic, ep, type);
	fw_timer_set(&nic->timers, &ep->timer, nic->now_ns + cm_rd_retry_ns(ep));
	if (ep->tries)
		FW_COUNT(nic, cm_retries);
	ep->tries++;
}

static void cm_rd_begin(struct fw_nic *nic, struct cm_ep *ep, enum cm_state state,
			enum wire_cm_type type)
{
	cm_set_state(nic, ep, state);
	ep->tries = 0;
	ep->patient = false;
	try_again(nic, ep, type);
}

/* An endpoint without a process is freed when no message for it can be in flight any more. */
void cm_rd_linger(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state != CM_LINGER)
		cm_set_state(nic, ep, CM_LINGER);
	if (ep->client == CM_NO_CLIENT)
		cm_orphan(nic, ep);
	fw_timer_set(&nic->timers, &ep->timer,
		     nic->now_ns + (ep->rejected ? CM_REJ_LINGER_NS : CM_LINGER_NS));
}

void cm_rd_established(struct fw_nic *nic, struct cm_ep *ep)
{
	cm_set_state(nic, ep, CM_ESTABLISHED);
	FW_COUNT(nic, cm_established);
	ep->opened = true;
	ep->tries = 0;
	ep->patient = false;
	fw_timer_set(&nic->timers, &ep->timer, nic->now_ns + CM_ALIVE_NS);
}

/* ---- time ----------------------------------------------------------------------------------- */

static bool gave_out(const struct fw_nic *nic, const struct cm_ep *ep, uint32_t tries)
{
	return ep->tries >= tries || (ep->patient && nic->now_ns >= ep->patience_ns);
}

static void request_timed_out(struct fw_nic *nic, struct cm_ep *ep)
{
	if (!gave_out(nic, ep, CM_TRIES)) {
		try_again(nic, ep, ep->datagram ? WIRE_CM_SIDR_REQ : WIRE_CM_REQ);
		return;
	}
	ep->reason = HW_CM_REJ_TIMEOUT;
	if (ep->patient)
		cm_rd_send(nic, ep, WIRE_CM_REJ);
	cm_set_state(nic, ep, CM_IDLE);
	cm_event(nic, ep, HW_CM_EVENT_UNREACHABLE, FW_ETIMEDOUT);
}

static void reply_timed_out(struct fw_nic *nic, struct cm_ep *ep)
{
	if (!gave_out(nic, ep, CM_TRIES)) {
		try_again(nic, ep, WIRE_CM_REP);
		return;
	}
	ep->reason = HW_CM_REJ_TIMEOUT;
	cm_rd_send(nic, ep, WIRE_CM_REJ);
	cm_event(nic, ep, HW_CM_EVENT_UNREACHABLE, FW_ETIMEDOUT);
	cm_rd_linger(nic, ep);
}

static void nothing_heard(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->tries >= CM_ALIVE_TRIES) {
		FW_COUNT(nic, cm_peers_lost);
		cm_closed(nic, ep);
		cm_rd_linger(nic, ep);
		return;
	}
	cm_rd_send(nic, ep, WIRE_CM_ALIVE);
	ep->tries++;
	fw_timer_set(&nic->timers, &ep->timer, nic->now_ns + CM_ALIVE_RETRY_NS);
}

static void end_timed_out(struct fw_nic *nic, struct cm_ep *ep)
{
	if (!gave_out(nic, ep, CM_DREQ_TRIES)) {
		try_again(nic, ep, WIRE_CM_DREQ);
		return;
	}
	cm_closed(nic, ep);
	cm_rd_linger(nic, ep);
}

static void linger_over(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->client == CM_NO_CLIENT) {
		cm_free(nic, ep);
		return;
	}
	cm_set_state(nic, ep, CM_IDLE);
	if (ep->opened)
		cm_event(nic, ep, HW_CM_EVENT_TIMEWAIT_EXIT, 0);
	ep->opened = false;
}

void cm_rd_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct cm_ep *ep = FW_CONTAINER(timer, struct cm_ep, timer);

	switch ((enum cm_state)ep->state) {
	case CM_RESOLVING:
		cm_resolved(nic, ep, FW_ETIMEDOUT);
		break;
	case CM_REQ_SENT:
		request_timed_out(nic, ep);
		break;
	case CM_REP_SENT:
		reply_timed_out(nic, ep);
		break;
	case CM_ESTABLISHED:
		nothing_heard(nic, ep);
		break;
	case CM_DREQ_SENT:
		end_timed_out(nic, ep);
		break;
	case CM_LINGER:
		linger_over(nic, ep);
		break;
	case CM_FREE:
	case CM_IDLE:
	case CM_LISTEN:
	case CM_REQ_RCVD:
	case CM_REP_RCVD:
	case CM_FOUND:
	case CM_STATES:
		assert(!"no timer in this state");
	}
}

/* ---- commands of a process ------------------------------------------------------------------ */

static int rd_listen(struct fw_nic *nic, struct cm_ep *ep)
{
	/* The table of ports has all that is needed. */
	(void)nic;
	(void)ep;
	return 0;
}

static void new_psn(struct fw_nic *nic, struct cm_ep *ep)
{
	ep->param.psn = (uint32_t)(nic->port.random64(nic->port.ctx) >> 40) & PSN_MASK;
}

static int rd_connect(struct fw_nic *nic, struct cm_ep *ep)
{
	uint32_t shard = FW_NONE;

	if (ep->peer_ip == nic->config.ip)
		shard = l4_port_shard(nic, ep->space, ep->peer_port);
	/* The listening shard of another NIC is unknown: its first shard redirects. */
	ep->peer_shard = shard == FW_NONE ? 0 : (uint8_t)shard;
	ep->peer_id = 0;
	new_psn(nic, ep);
	cm_rd_begin(nic, ep, CM_REQ_SENT, ep->datagram ? WIRE_CM_SIDR_REQ : WIRE_CM_REQ);
	return 0;
}

static int rd_accept(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state == CM_REP_RCVD) {
		cm_rd_established(nic, ep);
		cm_rd_send(nic, ep, WIRE_CM_RTU);
		return 0;
	}
	assert(ep->state == CM_REQ_RCVD);
	if (ep->datagram) {
		cm_set_state(nic, ep, CM_FOUND);
		cm_rd_send(nic, ep, WIRE_CM_SIDR_REP);
		return 0;
	}
	cm_rd_begin(nic, ep, CM_REP_SENT, WIRE_CM_REP);
	return 0;
}

static int rd_reject(struct fw_nic *nic, struct cm_ep *ep, uint16_t reason)
{
	ep->reason = reason;
	ep->rejected = true;
	cm_rd_send(nic, ep, WIRE_CM_REJ);
	cm_rd_linger(nic, ep);
	return 0;
}

static void rd_disconnect(struct fw_nic *nic, struct cm_ep *ep)
{
	ep->opened = true;
	cm_rd_begin(nic, ep, CM_DREQ_SENT, WIRE_CM_DREQ);
}

static void rd_abandon(struct fw_nic *nic, struct cm_ep *ep)
{
	switch ((enum cm_state)ep->state) {
	case CM_REQ_SENT:
		ep->reason = HW_CM_REJ_TIMEOUT;
		cm_rd_send(nic, ep, WIRE_CM_REJ);
		cm_free(nic, ep);
		break;
	case CM_IDLE:
	case CM_RESOLVING:
	case CM_LISTEN:
		cm_free(nic, ep);
		break;
	case CM_REQ_RCVD:
		cm_tx_drop(nic, ep);
		(void)rd_reject(nic, ep, HW_CM_REJ_CONSUMER);
		break;
	case CM_REP_SENT:
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
		rd_disconnect(nic, ep);
		break;
	case CM_FOUND:
		if (ep->passive)
			cm_rd_linger(nic, ep);
		else
			cm_free(nic, ep);
		break;
	case CM_DREQ_SENT:
	case CM_LINGER:
		/* Its timer ends it. */
		break;
	case CM_FREE:
	case CM_STATES:
		assert(!"it is somebody's");
	}
}

static uint32_t rd_max_data(const struct fw_nic *nic, const struct cm_ep *ep)
{
	(void)nic;
	(void)ep;
	return HW_CM_MAX_RD_DATA;
}

const struct cm_ops cm_rd_ops = {
    .listen = rd_listen,
    .connect = rd_connect,
    .accept = rd_accept,
    .reject = rd_reject,
    .max_data = rd_max_data,
    .disconnect = rd_disconnect,
    .abandon = rd_abandon,
};
