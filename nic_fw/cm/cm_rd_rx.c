/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager's handshake over datagrams: receiving.
 *
 * Calls cm.c and cm_rd.c; the CRC32C of a datagram was checked before. Every message may come
 * twice, late, or from a forger. An endpoint is therefore found by the 64 bits that it drew itself.
 * After the first answer the sender must name its own 64 bits as well. IBA 12.9.
 */
#include "nic_fw/fw_nic.h"

enum {
	QPN_MASK = 0xffffff,
};

/* A checked message. */
struct cm_msg {
	const struct rdmap_seg *pkt;
	const struct wire_cm *wire;
	enum wire_cm_type type;
	uint64_t src_id, dst_id;
};

static bool cm_rd_rx_check(const struct rdmap_seg *pkt, const struct wire_cm *wire)
{
	bool is_request = wire->type == WIRE_CM_REQ || wire->type == WIRE_CM_SIDR_REQ;

	if (pkt->dst_qpn || pkt->src_qpn || pkt->qkey || pkt->imm || pkt->msg_bytes || pkt->ssn ||
	    pkt->incarnation)
		return false;
	if (!wire->type || wire->type >= WIRE_CM_TYPES || wire->flags & ~WIRE_CM_F_ALL ||
	    pkt->data_bytes != sizeof(*wire) + wire->private_bytes ||
	    (!be64_get(wire->src_id) && wire->type != WIRE_CM_REJ))
		return false;
	if (be32_get(wire->qpn) & ~(uint32_t)QPN_MASK || be32_get(wire->psn) & ~(uint32_t)QPN_MASK)
		return false;
	return !is_request || (!be64_get(wire->dst_id) && l4_port_space_ok(be16_get(wire->space)));
}

static void cm_rd_rx_take_data(struct fw_nic *nic, struct cm_ep *ep, const struct cm_msg *m)
{
	uint32_t bytes = m->wire->private_bytes;
	uint8_t *room = cm_rx_room(nic, ep, bytes);
	struct eth_cursor cursor;

	if (!room)
		return;
	eth_cursor_init(&cursor, m->pkt->frame, m->pkt->data_offset + (uint32_t)sizeof(*m->wire),
			bytes);
	eth_cursor_copy(&cursor, room, bytes);
}

static void cm_rd_rx_take_param(struct fw_nic *nic, struct cm_ep *ep, const struct cm_msg *m)
{
	const struct wire_cm *wire = m->wire;

	ep->peer_id = m->src_id;
	ep->peer_shard = m->pkt->src_shard;
	ep->peer = (struct hw_cm_param){
	    .qpn = be32_get(wire->qpn),
	    .psn = be32_get(wire->psn),
	    .qkey = be32_get(wire->qkey),
	    .mtu = be16_get(wire->mtu),
	    .responder_resources = wire->responder_resources,
	    .initiator_depth = wire->initiator_depth,
	    .retry_count = wire->retry_count,
	    .rnr_retry_count = wire->rnr_retry_count,
	    .flow_control = (wire->flags & WIRE_CM_F_FLOW_CONTROL) != 0,
	    .srq = (wire->flags & WIRE_CM_F_SRQ) != 0,
	    .qp_type = wire->qp_type,
	};
	cm_rd_rx_take_data(nic, ep, m);
}

/* The request came before: its answer was lost, or has not been made yet. */
static void request_again(struct fw_nic *nic, struct cm_ep *ep)
{
	FW_COUNT(nic, cm_duplicates);
	switch ((enum cm_state)ep->state) {
	case CM_REQ_RCVD:
		cm_rd_send(nic, ep, WIRE_CM_MRA);
		break;
	case CM_REP_SENT:
		cm_rd_send(nic, ep, WIRE_CM_REP);
		break;
	case CM_FOUND:
		cm_rd_send(nic, ep, WIRE_CM_SIDR_REP);
		break;
	case CM_LINGER:
	case CM_IDLE:
		if (ep->rejected)
			cm_rd_send(nic, ep, WIRE_CM_REJ);
		break;
	case CM_FREE:
	case CM_RESOLVING:
	case CM_LISTEN:
	case CM_REQ_SENT:
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
	case CM_STATES:
		break;
	}
}

static void cm_rd_rx_request(struct fw_nic *nic, const struct cm_msg *m)
{
	uint16_t space = be16_get(m->wire->space), port = be16_get(m->wire->dst_port);
	const struct wire_eth *eth = (const void *)m->pkt->frame->seg[0].data;
	struct cm_ep *ep = cm_find_peer(nic, m->pkt->src_ip, m->src_id);
	struct cm_ep *listener;
	uint32_t shard;

	/* A sender whose address is unknown repeats its message; the address is known by then. */
	if (neigh_source(nic, m->pkt->src_ip, eth->src) != NEIGH_SOURCE_RIGHT) {
		FW_DROP(nic, drop_cm_neigh);
		return;
	}
	if (ep) {
		request_again(nic, ep);
		return;
	}
	listener = cm_listener(nic, space, port, &shard);
	if (!listener) {
		bool elsewhere = shard != FW_NONE && shard != nic->config.shard;

		/*
		 * A server may take one connection and listen anew: peers repeat their requests
		 * until then.
		 */
		if (!elsewhere && l4_port_early(nic, port, m->type == WIRE_CM_SIDR_REQ)) {
			FW_DROP(nic, drop_cm_early);
			return;
		}
		cm_rd_refuse(nic, m->pkt, m->wire, WIRE_CM_REJ,
			     elsewhere ? HW_CM_REJ_REDIRECT : HW_CM_REJ_NO_LISTENER,
			     elsewhere ? shard : 0);
		return;
	}
	/* A full backlog drops the request; the peer repeats it. */
	ep = listener->waiting < listener->backlog ? cm_new(nic, listener->client, listener->eq)
						   : NULL;
	if (!ep) {
		FW_DROP(nic, drop_cm_backlog);
		return;
	}
	ep->passive = true;
	ep->datagram = m->type == WIRE_CM_SIDR_REQ;
	ep->listener = listener->index;
	ep->space = space;
	ep->local_port = port;
	ep->peer_port = be16_get(m->wire->src_port);
	ep->peer_ip = m->pkt->src_ip;
	cm_rd_rx_take_param(nic, ep, m);
	cm_hash(nic, ep);
	listener->waiting++;
	FW_COUNT(nic, cm_requests);
	cm_set_state(nic, ep, CM_REQ_RCVD);
	ep->param.psn = (uint32_t)(nic->port.random64(nic->port.ctx) >> 40) & QPN_MASK;
	cm_event(nic, ep, HW_CM_EVENT_REQUEST, 0);
}

static void cm_rd_rx_reply(struct fw_nic *nic, struct cm_ep *ep, const struct cm_msg *m)
{
	bool found = m->type == WIRE_CM_SIDR_REP;

	if (ep->passive || found != ep->datagram)
		return;
	if (ep->state == CM_REQ_SENT) {
		cm_rd_rx_take_param(nic, ep, m);
		cm_tx_drop(nic, ep);
		fw_timer_cancel(&nic->timers, &ep->timer);
		cm_set_state(nic, ep, found ? CM_FOUND : CM_REP_RCVD);
		cm_event(nic, ep, found ? HW_CM_EVENT_ESTABLISHED : HW_CM_EVENT_RESPONSE, 0);
		return;
	}
	FW_COUNT(nic, cm_duplicates);
	if (ep->state == CM_REP_RCVD)
		cm_rd_send(nic, ep, WIRE_CM_MRA);
	else if (ep->state == CM_ESTABLISHED)
		cm_rd_send(nic, ep, WIRE_CM_RTU);
}

static void rx_wait(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state != CM_REQ_SENT && ep->state != CM_REP_SENT)
		return;
	if (!ep->patient)
		ep->patience_ns = nic->now_ns + CM_PATIENCE_NS;
	ep->patient = true;
	ep->tries = 1;
}

static void rx_ready(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state != CM_REP_SENT)
		return;
	cm_rd_established(nic, ep);
	cm_event(nic, ep, HW_CM_EVENT_ESTABLISHED, 0);
}

/* Another shard of that NIC listens: repeats the request there. */
static void redirect(struct fw_nic *nic, struct cm_ep *ep, uint32_t shard)
{
	if (shard >= WIRE_DGRAM_SHARDS || shard == ep->peer_shard)
		return;
	ep->peer_shard = (uint8_t)shard;
	cm_rd_send(nic, ep, ep->datagram ? WIRE_CM_SIDR_REQ : WIRE_CM_REQ);
}

static void rejected(struct fw_nic *nic, struct cm_ep *ep, const struct cm_msg *m)
{
	cm_rd_rx_take_data(nic, ep, m);
	FW_COUNT(nic, cm_rejected);
	cm_event(nic, ep, HW_CM_EVENT_REJECTED, be16_get(m->wire->reason));
}

static void rx_reject(struct fw_nic *nic, struct cm_ep *ep, const struct cm_msg *m)
{
	switch ((enum cm_state)ep->state) {
	case CM_REQ_SENT:
		if (be16_get(m->wire->reason) == HW_CM_REJ_REDIRECT) {
			redirect(nic, ep, be16_get(m->wire->arg));
			break;
		}
		fw_timer_cancel(&nic->timers, &ep->timer);
		cm_set_state(nic, ep, CM_IDLE);
		rejected(nic, ep, m);
		break;
	case CM_REQ_RCVD:
		/*
		 * The process has not received the request yet. An event would carry the data of
		 * the request.
		 */
		cm_event(nic, ep, HW_CM_EVENT_REJECTED, be16_get(m->wire->reason));
		cm_rd_linger(nic, ep);
		break;
	case CM_REP_SENT:
	case CM_REP_RCVD:
		rejected(nic, ep, m);
		cm_rd_linger(nic, ep);
		break;
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		cm_closed(nic, ep);
		cm_rd_linger(nic, ep);
		break;
	case CM_FREE:
	case CM_IDLE:
	case CM_RESOLVING:
	case CM_LISTEN:
	case CM_FOUND:
	case CM_LINGER:
	case CM_STATES:
		break;
	}
}

static void rx_end(struct fw_nic *nic, struct cm_ep *ep)
{
	switch ((enum cm_state)ep->state) {
	case CM_REP_SENT:
		/* The peer was ready, but its message was lost. */
		ep->opened = true;
		cm_event(nic, ep, HW_CM_EVENT_ESTABLISHED, 0);
		cm_closed(nic, ep);
		cm_rd_linger(nic, ep);
		break;
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		ep->opened = true;
		cm_closed(nic, ep);
		cm_rd_linger(nic, ep);
		break;
	case CM_FREE:
	case CM_IDLE:
	case CM_RESOLVING:
	case CM_LISTEN:
	case CM_REQ_SENT:
	case CM_REQ_RCVD:
	case CM_FOUND:
	case CM_LINGER:
	case CM_STATES:
		break;
	}
	cm_rd_send(nic, ep, WIRE_CM_DREP);
}

static void rx_ended(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state != CM_DREQ_SENT)
		return;
	cm_closed(nic, ep);
	cm_rd_linger(nic, ep);
}

static void rx_alive(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state != CM_ESTABLISHED)
		return;
	ep->tries = 0;
	fw_timer_set(&nic->timers, &ep->timer, nic->now_ns + CM_ALIVE_NS);
}

/* Answers a message to an endpoint that does not exist, if its sender waits for an answer. */
static void nobody(struct fw_nic *nic, const struct cm_msg *m)
{
	FW_COUNT(nic, cm_unknown);
	if (m->type == WIRE_CM_DREQ)
		cm_rd_refuse(nic, m->pkt, m->wire, WIRE_CM_DREP, 0, 0);
	else if (m->type == WIRE_CM_REP || m->type == WIRE_CM_ALIVE)
		cm_rd_refuse(nic, m->pkt, m->wire, WIRE_CM_REJ, HW_CM_REJ_INVALID_ID, 0);
}

/* Finds the endpoint of a message that is no request. */
static struct cm_ep *endpoint_of(struct fw_nic *nic, const struct cm_msg *m)
{
	struct cm_ep *ep;

	if (m->type == WIRE_CM_REJ && !m->dst_id)
		return cm_find_peer(nic, m->pkt->src_ip, m->src_id);
	ep = cm_find(nic, m->dst_id);
	/* Datagrams cannot address an endpoint whose connection is MPA's. */
	if (!ep || ep->transport == HW_CM_TRANSPORT_TCP || ep->peer_ip != m->pkt->src_ip)
		return NULL;
	/* The peer's own name is unknown until its answer comes. */
	if (ep->state == CM_REQ_SENT)
		return m->type == WIRE_CM_REP || m->type == WIRE_CM_SIDR_REP ||
			       m->type == WIRE_CM_MRA || m->type == WIRE_CM_REJ
			   ? ep
			   : NULL;
	/* A refusal by a peer without such an endpoint carries our own name. */
	return ep->peer_id == m->src_id ? ep : NULL;
}

static void cm_rd_rx_dispatch(struct fw_nic *nic, struct cm_ep *ep, const struct cm_msg *m)
{
	switch (m->type) {
	case WIRE_CM_MRA:
		rx_wait(nic, ep);
		break;
	case WIRE_CM_REP:
	case WIRE_CM_SIDR_REP:
		cm_rd_rx_reply(nic, ep, m);
		break;
	case WIRE_CM_RTU:
		rx_ready(nic, ep);
		break;
	case WIRE_CM_REJ:
		rx_reject(nic, ep, m);
		break;
	case WIRE_CM_DREQ:
		rx_end(nic, ep);
		break;
	case WIRE_CM_DREP:
		rx_ended(nic, ep);
		break;
	case WIRE_CM_ALIVE:
		if (ep->state == CM_LINGER || ep->state == CM_IDLE)
			nobody(nic, m);
		else
			cm_rd_send(nic, ep, WIRE_CM_ALIVE_REP);
		break;
	case WIRE_CM_ALIVE_REP:
		rx_alive(nic, ep);
		break;
	case WIRE_CM_REQ:
	case WIRE_CM_SIDR_REQ:
	case WIRE_CM_TYPES:
		break;
	}
}

void cm_rd_rx(struct fw_nic *nic, const struct rdmap_seg *pkt)
{
	const struct wire_cm *wire = (const void *)(pkt->frame->seg[0].data + pkt->data_offset);
	struct cm_msg m = {.pkt = pkt, .wire = wire};
	struct cm_ep *ep;

	if (!cm_rd_rx_check(pkt, wire)) {
		FW_DROP(nic, drop_cm_malformed);
		return;
	}
	FW_COUNT(nic, cm_rx);
	m.type = (enum wire_cm_type)wire->type;
	m.src_id = be64_get(wire->src_id);
	m.dst_id = be64_get(wire->dst_id);
	if (m.type == WIRE_CM_REQ || m.type == WIRE_CM_SIDR_REQ) {
		cm_rd_rx_request(nic, &m);
		return;
	}
	ep = endpoint_of(nic, &m);
	if (ep)
		cm_rd_rx_dispatch(nic, ep, &m);
	else
		nobody(nic, &m);
}
