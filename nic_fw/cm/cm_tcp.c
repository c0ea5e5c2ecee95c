/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager over TCP: MPA makes an endpoint's connection.
 *
 *	active		MPA			passive
 *	REQ_SENT	request ->		REQ_RCVD	process: accept
 *	REP_RCVD	<- reply		REP_SENT
 *	ESTABLISHED	first FPDU ->		ESTABLISHED
 *	DREQ_SENT	FIN ->			LINGER
 *
 * The states are those of cm_rd.c, so a process sees no difference. If the active end sends no
 * first FPDU of its own accord (client and server), the passive end is established as soon as it
 * accepts. Calls mpa_conn.c and cm.c. This wire does not carry the QPNs, retry counts and MTU that
 * cm_rd.c exchanges. RFC 5044 7.1, RFC 6581; docs/connection-manager.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	RETRY_FOREVER = 7, /* the usual value of an RNIC, because TCP itself guarantees delivery */
};
static_assert((int)HW_CM_MAX_DATA == (int)WIRE_MPA_MAX_PRIVATE, "all of a frame's is told");

/* ---- reports of MPA ------------------------------------------------------------------------- */

/*
 * TCP prevents confusion of ports, so the endpoint need not linger, nor report the end of
 * lingering.
 */
static void over(struct fw_nic *nic, struct cm_ep *ep)
{
	ep->mpa = NULL;
	cm_tx_drop(nic, ep);
	cm_set_state(nic, ep, CM_LINGER);
	if (ep->client == CM_NO_CLIENT) {
		cm_free(nic, ep);
		return;
	}
	cm_set_state(nic, ep, CM_IDLE);
	ep->opened = false;
}

static void closed(struct fw_nic *nic, struct cm_ep *ep)
{
	ep->opened = true;
	cm_closed(nic, ep);
	over(nic, ep);
}

static void cm_tcp_take_data(struct fw_nic *nic, struct cm_ep *ep, const uint8_t *data,
			     uint32_t bytes)
{
	uint8_t *room = cm_rx_room(nic, ep, bytes);

	if (room)
		memcpy(room, data, bytes);
}

static uint8_t cm_tcp_depth_of(uint16_t depth)
{
	return (uint8_t)(depth < HW_MAX_RD_ATOMIC ? depth : HW_MAX_RD_ATOMIC);
}

/*
 * Stores the peer's limits for the process: the reads that it answers and the reads that it may
 * issue.
 */
static void cm_tcp_take_param(struct cm_ep *ep, uint16_t responder, uint16_t initiator)
{
	ep->peer = (struct hw_cm_param){
	    .responder_resources = cm_tcp_depth_of(responder),
	    .initiator_depth = cm_tcp_depth_of(initiator),
	    .retry_count = RETRY_FOREVER,
	    .rnr_retry_count = RETRY_FOREVER,
	    .flow_control = 1,
	    .qp_type = HW_QPT_RC,
	};
}

struct cm_ep *cm_tcp_request(struct fw_nic *nic, struct cm_ep *listener, struct mpa_conn *conn,
			     const uint8_t *data, uint32_t bytes)
{
	struct cm_ep *ep = cm_new(nic, listener->client, listener->eq);

	if (!ep) {
		FW_DROP(nic, drop_cm_backlog);
		return NULL;
	}
	ep->transport = HW_CM_TRANSPORT_TCP;
	ep->mpa = conn;
	ep->passive = true;
	ep->listener = listener->index;
	ep->space = listener->space;
	ep->local_port = listener->local_port;
	ep->peer_ip = conn->flow->peer_ip;
	ep->peer_port = conn->flow->peer_port;
	cm_tcp_take_param(ep, conn->param.ird, conn->param.ord);
	cm_tcp_take_data(nic, ep, data, bytes);
	listener->waiting++;
	FW_COUNT(nic, cm_requests);
	cm_set_state(nic, ep, CM_REQ_RCVD);
	cm_event(nic, ep, HW_CM_EVENT_REQUEST, 0);
	return ep;
}

void cm_tcp_accepted(struct fw_nic *nic, struct cm_ep *ep, const uint8_t *data, uint32_t bytes)
{
	cm_tcp_take_param(ep, ep->mpa->param.ord, ep->mpa->param.ird);
	cm_tcp_take_data(nic, ep, data, bytes);
	cm_set_state(nic, ep, CM_REP_RCVD);
	cm_event(nic, ep, HW_CM_EVENT_RESPONSE, 0);
}

void cm_tcp_rejected(struct fw_nic *nic, struct cm_ep *ep, const uint8_t *data, uint32_t bytes)
{
	cm_tcp_take_data(nic, ep, data, bytes);
	FW_COUNT(nic, cm_rejected);
	cm_event(nic, ep, HW_CM_EVENT_REJECTED, HW_CM_REJ_CONSUMER);
	over(nic, ep);
}

void cm_tcp_garbled(struct fw_nic *nic, struct cm_ep *ep)
{
	cm_event(nic, ep, HW_CM_EVENT_UNREACHABLE, FW_EPROTO);
	over(nic, ep);
}

void cm_tcp_established(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state != CM_REP_SENT)
		return;
	cm_set_state(nic, ep, CM_ESTABLISHED);
	FW_COUNT(nic, cm_established);
	ep->opened = true;
	cm_event(nic, ep, HW_CM_EVENT_ESTABLISHED, 0);
}

/* Reports a connection that failed without a reason from the peer. */
static void cm_tcp_unanswered(struct fw_nic *nic, struct cm_ep *ep, enum tcp_end why)
{
	switch (why) {
	case TCP_END_CLOSED:
	case TCP_END_RESET:
		FW_COUNT(nic, cm_rejected);
		cm_event(nic, ep, HW_CM_EVENT_REJECTED, HW_CM_REJ_NO_RESOURCES);
		break;
	case TCP_END_REFUSED:
		FW_COUNT(nic, cm_rejected);
		cm_event(nic, ep, HW_CM_EVENT_REJECTED, HW_CM_REJ_NO_LISTENER);
		break;
	case TCP_END_TIMEOUT:
		cm_event(nic, ep, HW_CM_EVENT_UNREACHABLE, FW_ETIMEDOUT);
		break;
	case TCP_END_UNREACHABLE:
		cm_event(nic, ep, HW_CM_EVENT_UNREACHABLE, FW_EHOSTUNREACH);
		break;
	}
}

void cm_tcp_ended(struct fw_nic *nic, struct cm_ep *ep, enum tcp_end why)
{
	ep->mpa = NULL;
	switch ((enum cm_state)ep->state) {
	case CM_REQ_SENT:
		cm_tcp_unanswered(nic, ep, why);
		over(nic, ep);
		break;
	case CM_REQ_RCVD:
	case CM_REP_SENT:
		if (why == TCP_END_TIMEOUT)
			cm_event(nic, ep, HW_CM_EVENT_UNREACHABLE, FW_ETIMEDOUT);
		else
			cm_event(nic, ep, HW_CM_EVENT_REJECTED, HW_CM_REJ_TIMEOUT);
		over(nic, ep);
		break;
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		if (why == TCP_END_TIMEOUT)
			FW_COUNT(nic, cm_peers_lost);
		closed(nic, ep);
		break;
	case CM_FREE:
	case CM_IDLE:
	case CM_RESOLVING:
	case CM_LISTEN:
	case CM_FOUND:
	case CM_LINGER:
	case CM_STATES:
		assert(!"no connection in this state");
	}
}

/* ---- commands of a process ------------------------------------------------------------------ */

static int tcp_ep_listen(struct fw_nic *nic, struct cm_ep *ep)
{
	/* Port numbers of the other spaces are not TCP's. */
	return ep->space == HW_CM_TCP ? mpa_listen(nic, ep) : FW_EOPNOTSUPP;
}

static int tcp_ep_connect(struct fw_nic *nic, struct cm_ep *ep)
{
	int err;

	if (ep->space != HW_CM_TCP || ep->datagram)
		return FW_EOPNOTSUPP;
	ep->param.psn = 0;
	err = mpa_connect(nic, ep);
	if (!err)
		cm_set_state(nic, ep, CM_REQ_SENT);
	return err;
}

static int tcp_ep_accept(struct fw_nic *nic, struct cm_ep *ep)
{
	struct fw_qp *qp = ep->qpn ? qp_find(nic, ep->qpn) : NULL;
	int err = mpa_attach(nic, ep->mpa, qp);

	if (ep->state == CM_REP_RCVD) {
		if (err)
			return err;
		cm_set_state(nic, ep, CM_ESTABLISHED);
		FW_COUNT(nic, cm_established);
		ep->opened = true;
		mpa_take_held(nic, ep->mpa);
		return 0;
	}
	if (err) {
		/* The queue pair does not fit this connection. */
		cm_untie(nic, ep);
		return err;
	}
	cm_set_state(nic, ep, CM_REP_SENT);
	if (!ep->mpa->param.peer_to_peer)
		cm_tcp_established(nic, ep);
	mpa_take_held(nic, ep->mpa);
	return 0;
}

static int tcp_ep_reject(struct fw_nic *nic, struct cm_ep *ep, uint16_t reason)
{
	(void)reason; /* this wire has one reason only */
	if (ep->state == CM_REP_RCVD)
		mpa_drop(nic, ep->mpa);
	else
		mpa_reject(nic, ep->mpa);
	over(nic, ep);
	return 0;
}

/* RFC 6581 9.1: the enhanced header counts among the 512 bytes of private data of RFC 5044. */
static uint32_t tcp_ep_max_data(const struct fw_nic *nic, const struct cm_ep *ep)
{
	uint16_t options = ep->mpa_options ? ep->mpa_options : nic->config.mpa;
	bool enhanced = ep->mpa ? ep->mpa->param.enhanced : !(options & HW_MPA_REVISION_1);

	return HW_CM_MAX_DATA - (enhanced ? (uint32_t)sizeof(struct wire_mpa_enhanced) : 0);
}

static void tcp_ep_disconnect(struct fw_nic *nic, struct cm_ep *ep)
{
	struct mpa_conn *conn = ep->mpa;

	if (ep->state == CM_REP_RCVD && conn)
		mpa_drop(nic, conn);
	if (ep->state == CM_REP_RCVD || !conn) {
		closed(nic, ep);
		return;
	}
	/* Its end is already being reported. */
	if (!mpa_flow(nic, conn))
		return;
	ep->opened = true;
	cm_set_state(nic, ep, CM_DREQ_SENT);
	mpa_disconnect(nic, conn);
}

static void tcp_ep_abandon(struct fw_nic *nic, struct cm_ep *ep)
{
	switch ((enum cm_state)ep->state) {
	case CM_REQ_SENT:
		mpa_drop(nic, ep->mpa);
		over(nic, ep);
		break;
	case CM_LISTEN:
		mpa_unlisten(nic, ep);
		cm_free(nic, ep);
		break;
	case CM_IDLE:
	case CM_RESOLVING:
		cm_free(nic, ep);
		break;
	case CM_REQ_RCVD:
		cm_tx_drop(nic, ep);
		(void)tcp_ep_reject(nic, ep, HW_CM_REJ_CONSUMER);
		break;
	case CM_REP_SENT:
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
		tcp_ep_disconnect(nic, ep);
		break;
	case CM_DREQ_SENT:
		/* FIN was sent, and ends it. */
		break;
	case CM_FOUND:
	case CM_LINGER:
	case CM_FREE:
	case CM_STATES:
		assert(!"it is somebody's");
	}
}

const struct cm_ops cm_tcp_ops = {
    .listen = tcp_ep_listen,
    .connect = tcp_ep_connect,
    .accept = tcp_ep_accept,
    .reject = tcp_ep_reject,
    .max_data = tcp_ep_max_data,
    .disconnect = tcp_ep_disconnect,
    .end_asking = mpa_end_asking,
    .abandon = tcp_ep_abandon,
};
