/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPA connection from SYN to its end.
 *
 *	active					passive
 *	CONNECTING	TCP's handshake
 *	REQ_SENT	-- request ->		REQ_WAIT -> REQ_RCVD	process: accept
 *	REP_RCVD	<- reply --		RTR_WAIT
 *	FPDU		-- first FPDU ->	FPDU
 *	CLOSING		-- FIN ->		CLOSING
 *
 * Calls mpa_setup.c until the first FPDU, mpa_tx.c and mpa_rx.c afterwards, and reports to
 * cm_tcp.c. Every state has a time limit, except those in which messages flow. RFC 5044 7, RFC
 * 6581.
 */
#include "nic_fw/fw_nic.h"

#define SETUP_NS UINT64_C(10000000000) /* for the peer's NIC, not its process */
#define CLOSE_NS UINT64_C(10000000000)
#define SPEAK_NS UINT64_C(200000000)

/* Time limit of each state; 0: none. */
static const uint64_t limit_ns[MPA_STATES] = {
    [MPA_CONNECTING] = SETUP_NS, [MPA_REQ_SENT] = CM_PATIENCE_NS, [MPA_REP_RCVD] = CM_PATIENCE_NS,
    [MPA_REQ_WAIT] = SETUP_NS,   [MPA_REQ_RCVD] = CM_PATIENCE_NS, [MPA_RTR_WAIT] = CM_PATIENCE_NS,
    [MPA_TERM_SENT] = CLOSE_NS,  [MPA_CLOSING] = CLOSE_NS,
};

void mpa_set_state(struct fw_nic *nic, struct mpa_conn *conn, enum mpa_state state)
{
	static const uint16_t legal[MPA_STATES] = {
	    [MPA_FREE] = 1 << MPA_CONNECTING | 1 << MPA_REQ_WAIT,
	    [MPA_CONNECTING] = 1 << MPA_REQ_SENT | 1 << MPA_FREE,
	    [MPA_REQ_SENT] =
		1 << MPA_REP_RCVD | 1 << MPA_CONNECTING | 1 << MPA_CLOSING | 1 << MPA_FREE,
	    [MPA_REP_RCVD] = 1 << MPA_FPDU | 1 << MPA_CLOSING | 1 << MPA_FREE,
	    [MPA_REQ_WAIT] = 1 << MPA_REQ_RCVD | 1 << MPA_CLOSING | 1 << MPA_FREE,
	    [MPA_REQ_RCVD] = 1 << MPA_RTR_WAIT | 1 << MPA_CLOSING | 1 << MPA_FREE,
	    [MPA_RTR_WAIT] = 1 << MPA_FPDU | 1 << MPA_TERM_SENT | 1 << MPA_CLOSING | 1 << MPA_FREE,
	    [MPA_FPDU] = 1 << MPA_TERM_SENT | 1 << MPA_CLOSING | 1 << MPA_FREE,
	    [MPA_TERM_SENT] = 1 << MPA_CLOSING | 1 << MPA_FREE,
	    [MPA_CLOSING] = 1 << MPA_FREE,
	};

	assert(legal[conn->state] & 1 << state);
	fw_trace(nic, TRACE_MPA_STATE, conn->qp ? conn->qp->qpn : 0, conn->state, state);
	conn->state = (uint8_t)state;
	if (limit_ns[state])
		fw_timer_set(&nic->timers, &conn->timer, nic->now_ns + limit_ns[state]);
	else
		fw_timer_cancel(&nic->timers, &conn->timer);
}

/* Returns the endpoint of the connection; NULL: none, or not yet. */
static struct cm_ep *ep_of(struct fw_nic *nic, const struct mpa_conn *conn)
{
	if (conn->ep == FW_NONE || conn->asked)
		return NULL;
	return &nic->cm.eps[conn->ep];
}

static struct mpa_conn *conn_new(struct fw_nic *nic, const struct cm_ep *ep, enum mpa_state state)
{
	struct share_owner share = {0};
	struct mpa_setup *setup;
	struct mpa_conn *conn;

	if (!share_own(nic, ep->client, HW_SHARE_TCP, &share)) {
		FW_COUNT(nic, tcp_share_refused);
		return NULL;
	}
	conn = fw_pool_get(&nic->mpa.conns);
	if (!conn) {
		share_disown(nic, HW_SHARE_TCP, &share);
		return NULL;
	}
	/* There are as many as connections, and none exists without a connection. */
	setup = fw_pool_get(&nic->mpa.setups);
	assert(setup);
	memset(conn, 0, sizeof(*conn));
	memset(setup, 0, sizeof(*setup));
	mpa_rdmap_init_conn(conn);
	conn->share = share;
	conn->setup = setup;
	conn->ep = ep->index;
	conn->port = ep->local_port;
	conn->options = ep->mpa_options ? ep->mpa_options : nic->config.mpa;
	conn->param.revision =
	    conn->options & HW_MPA_REVISION_1 ? WIRE_MPA_REVISION_1 : WIRE_MPA_REVISION_2;
	mpa_set_state(nic, conn, state);
	return conn;
}

static void conn_free(struct fw_nic *nic, struct mpa_conn *conn)
{
	assert(!conn->flow && !conn->rest && !conn->qp);
	mpa_set_state(nic, conn, MPA_FREE);
	fw_list_del(&conn->node);
	mpa_setup_free(nic, conn);
	l4_port_drop(nic, conn->port);
	share_disown(nic, HW_SHARE_TCP, &conn->share);
	fw_pool_put(&nic->mpa.conns, conn);
}

/* The TCP connection has ended: notifies its owners, and frees it. */
static void mpa_conn_finish(struct fw_nic *nic, struct mpa_conn *conn, enum tcp_end why)
{
	struct cm_ep *ep;

	assert(!conn->flow && !conn->rest);
	if (conn->qp)
		mpa_rdmap_ended(nic, conn, why);
	assert(!conn->qp);
	ep = ep_of(nic, conn);
	conn_free(nic, conn);
	if (ep)
		cm_tcp_ended(nic, ep, why);
}

static void reset(struct fw_nic *nic, struct mpa_conn *conn)
{
	if (mpa_flow(nic, conn))
		tcp_abort(nic, conn->flow);
	conn->flow = NULL;
}

static void mpa_conn_give_up(struct fw_nic *nic, struct mpa_conn *conn, enum tcp_end why)
{
	reset(nic, conn);
	mpa_conn_finish(nic, conn, why);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static bool mpa_conn_begin(struct fw_nic *nic, struct mpa_conn *conn, const struct cm_ep *ep)
{
	conn->flow =
	    tcp_connect(nic, ep->peer_ip, ep->peer_port, ep->local_port, TCP_USER_MPA, conn);
	return conn->flow != NULL;
}

int mpa_connect(struct fw_nic *nic, struct cm_ep *ep)
{
	struct mpa_conn *conn;
	int err = l4_port_hold(nic, ep->local_port);

	if (err)
		return err;
	conn = conn_new(nic, ep, MPA_CONNECTING);
	if (!conn) {
		l4_port_drop(nic, ep->local_port);
		return FW_ENOMEM;
	}
	if (!mpa_conn_begin(nic, conn, ep)) {
		conn_free(nic, conn);
		return FW_EADDRNOTAVAIL;
	}
	ep->mpa = conn;
	return 0;
}

/* A peer that closes without an answer may know only revision 1: retry once with that. */
static bool may_fall_back(const struct mpa_conn *conn)
{
	return conn->state == MPA_REQ_SENT && !conn->fallback && !conn->setup->rx_bytes &&
	       conn->param.revision == WIRE_MPA_REVISION_2;
}

void mpa_conn_fall_back(struct fw_nic *nic, struct mpa_conn *conn)
{
	/* Bytes, SYN and FIN. */
	uint64_t sent = conn->setup->tx_bytes + 2u;

	FW_COUNT(nic, mpa_fallbacks);
	reset(nic, conn);
	conn->fallback = true;
	conn->param.revision = WIRE_MPA_REVISION_1;
	eth_tx_forget_mem(nic, conn->setup, sizeof(*conn->setup));
	memset(conn->setup, 0, sizeof(*conn->setup));
	mpa_set_state(nic, conn, MPA_CONNECTING);
	/*
	 * The next connection has the same ports. It begins when its first sequence number is
	 * beyond what this one has sent, of which segments may still be on the way. RFC 9293
	 * 3.4.2.
	 */
	fw_timer_set(&nic->timers, &conn->timer, nic->now_ns + sent * TCP_ISN_TICK_NS);
}

static void begin_again(struct fw_nic *nic, struct mpa_conn *conn)
{
	const struct cm_ep *ep = ep_of(nic, conn);

	/* A connection that loses its endpoint ends at once. */
	assert(ep);
	if (!mpa_conn_begin(nic, conn, ep)) {
		mpa_conn_finish(nic, conn, TCP_END_REFUSED);
		return;
	}
	fw_timer_set(&nic->timers, &conn->timer, nic->now_ns + limit_ns[MPA_CONNECTING]);
}

int mpa_listen(struct fw_nic *nic, struct cm_ep *ep)
{
	int err;

	/* In its place were parameters of a peer. */
	ep->share = (struct share_owner){0};
	if (!share_own(nic, ep->client, HW_SHARE_LISTENER, &ep->share))
		return FW_EDQUOT;
	err = l4_port_hold(nic, ep->local_port);
	if (!err) {
		err = tcp_listen(nic, ep->local_port, ep->backlog, TCP_USER_MPA, ep);
		if (err)
			l4_port_drop(nic, ep->local_port);
	}
	if (err)
		share_disown(nic, HW_SHARE_LISTENER, &ep->share);
	return err;
}

bool mpa_end_asking(struct fw_nic *nic, struct cm_ep *ep)
{
	struct fw_list *asking = &tcp_find_listener(nic, ep->local_port)->asking;

	while (!fw_list_empty(asking)) {
		if (!slice_take(nic, FW_SLICE_FLOW_UNITS))
			return false;
		mpa_conn_give_up(nic, FW_CONTAINER(asking->next, struct mpa_conn, node),
				 TCP_END_RESET);
	}
	return true;
}

void mpa_unlisten(struct fw_nic *nic, struct cm_ep *ep)
{
	assert(ep->ending && fw_list_empty(&tcp_find_listener(nic, ep->local_port)->asking));
	tcp_unlisten(nic, ep->local_port);
	share_disown(nic, HW_SHARE_LISTENER, &ep->share);
	l4_port_drop(nic, ep->local_port);
}

static bool accepted(struct fw_nic *nic, void *listener_ctx, struct tcp_flow *flow)
{
	struct cm_ep *listener = listener_ctx;
	struct mpa_conn *conn;
	int err;

	if (listener->ending)
		return false;
	err = l4_port_hold(nic, listener->local_port);
	conn = conn_new(nic, listener, MPA_REQ_WAIT);
	/* The listener has the port in this shard. */
	assert(!err);
	(void)err;
	if (!conn) {
		l4_port_drop(nic, listener->local_port);
		return false;
	}
	conn->asked = true;
	conn->flow = flow;
	flow->ctx = conn;
	fw_list_add_tail(&flow->listener->asking, &conn->node);
	return true;
}

static void mpa_conn_opened(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct mpa_conn *conn = flow->ctx;

	mpa_setup_ask(conn, ep_of(nic, conn));
	mpa_set_state(nic, conn, MPA_REQ_SENT);
	tcp_push(nic, flow);
}

/* ---- the peer's set-up frame ---------------------------------------------------------------- */

bool mpa_conn_requested(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
			uint32_t bytes)
{
	struct cm_ep *listener = &nic->cm.eps[conn->ep];
	struct cm_ep *ep = NULL;

	if (!nic->host.clients[listener->client].closing && !listener->ending)
		ep = cm_tcp_request(nic, listener, conn, data, bytes);
	if (!ep) {
		mpa_conn_give_up(nic, conn, TCP_END_RESET);
		return false;
	}
	conn->asked = false;
	conn->ep = ep->index;
	fw_list_del(&conn->node);
	mpa_set_state(nic, conn, MPA_REQ_RCVD);
	return true;
}

void mpa_conn_replied(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
		      uint32_t bytes)
{
	mpa_set_state(nic, conn, MPA_REP_RCVD);
	cm_tcp_accepted(nic, ep_of(nic, conn), data, bytes);
}

void mpa_conn_rejected(struct fw_nic *nic, struct mpa_conn *conn, const uint8_t *data,
		       uint32_t bytes)
{
	struct cm_ep *ep = ep_of(nic, conn);

	conn->ep = FW_NONE;
	cm_tcp_rejected(nic, ep, data, bytes);
	mpa_disconnect(nic, conn);
}

void mpa_conn_garbled(struct fw_nic *nic, struct mpa_conn *conn, bool told)
{
	struct cm_ep *ep = ep_of(nic, conn);

	conn->ep = FW_NONE;
	if (told) {
		tcp_push(nic, conn->flow);
		mpa_disconnect(nic, conn);
	} else {
		mpa_conn_give_up(nic, conn, TCP_END_RESET);
	}
	cm_tcp_garbled(nic, ep);
}

/* ---- answers of the process ----------------------------------------------------------------- */

/* Limits reads to the number that the peer answers. */
static void limit_reads(struct fw_qp *qp, const struct mpa_params *p)
{
	if (p->ord < qp->attr.max_rd_atomic)
		qp->attr.max_rd_atomic = (uint8_t)p->ord;
}

static void messages_flow(struct fw_nic *nic, struct mpa_conn *conn)
{
	mpa_set_state(nic, conn, MPA_FPDU);
	FW_COUNT(nic, mpa_established);
	tcp_keepalive(nic, conn->flow, CM_ALIVE_NS);
}

int mpa_attach(struct fw_nic *nic, struct mpa_conn *conn, struct fw_qp *qp)
{
	if (!conn || !conn->flow || !qp || qp->mpa || qp->type != HW_QPT_RC ||
	    qp->state != HW_QPS_RTS || qp->attr.transport != HW_QP_TRANSPORT_TCP ||
	    (conn->state != MPA_REQ_RCVD && conn->state != MPA_REP_RCVD))
		return FW_EINVAL;
	conn->qp = qp;
	qp->mpa = conn;
	if (conn->state == MPA_REQ_RCVD) {
		mpa_setup_answer(conn, ep_of(nic, conn), false);
		mpa_set_state(nic, conn, MPA_RTR_WAIT);
		limit_reads(qp, &conn->param);
		mpa_rdmap_attached(nic, conn);
	} else {
		limit_reads(qp, &conn->param);
		messages_flow(nic, conn);
		mpa_setup_done(nic, conn);
		if (conn->param.peer_to_peer)
			mpa_tx_rtr(nic, conn);
		mpa_rdmap_attached(nic, conn);
	}
	tcp_push(nic, conn->flow);
	return 0;
}

void mpa_take_held(struct fw_nic *nic, struct mpa_conn *conn)
{
	if (conn && conn->flow)
		tcp_resume(nic, conn->flow);
}

void mpa_rx_first(struct fw_nic *nic, struct mpa_conn *conn)
{
	struct cm_ep *ep = ep_of(nic, conn);

	messages_flow(nic, conn);
	if (ep && conn->param.peer_to_peer)
		cm_tcp_established(nic, ep);
	tcp_push(nic, conn->flow);
}

/*
 * RFC 5044 7.1.2 requires the active end to speak first. Programs of client and server do so.
 * Programs whose server sends first (ucmatose) work with ends that do not enforce the rule. This
 * end may therefore begin when the active end has had the reply for long and is still silent.
 */
void mpa_conn_heard(struct fw_nic *nic, struct mpa_conn *conn)
{
	if (conn->state == MPA_RTR_WAIT && !conn->param.peer_to_peer)
		fw_timer_set(&nic->timers, &conn->timer, nic->now_ns + SPEAK_NS);
}

void mpa_reject(struct fw_nic *nic, struct mpa_conn *conn)
{
	mpa_setup_answer(conn, ep_of(nic, conn), true);
	conn->ep = FW_NONE;
	tcp_push(nic, conn->flow);
	mpa_disconnect(nic, conn);
}

/* ---- the end --------------------------------------------------------------------------------- */

void mpa_disconnect(struct fw_nic *nic, struct mpa_conn *conn)
{
	if (!mpa_flow(nic, conn) || conn->state == MPA_CLOSING || conn->state == MPA_TERM_SENT)
		return;
	/* The listener's peer sent no valid request, so no endpoint waits for the connection. */
	if (conn->asked) {
		conn->asked = false;
		conn->ep = FW_NONE;
		fw_list_del(&conn->node);
	}
	mpa_set_state(nic, conn, MPA_CLOSING);
	tcp_close(nic, conn->flow);
}

void mpa_abort(struct fw_nic *nic, struct mpa_conn *conn)
{
	mpa_conn_give_up(nic, conn, TCP_END_RESET);
}

void mpa_drop(struct fw_nic *nic, struct mpa_conn *conn)
{
	conn->ep = FW_NONE;
	mpa_conn_give_up(nic, conn, TCP_END_RESET);
}

void mpa_conn_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct mpa_conn *conn = FW_CONTAINER(timer, struct mpa_conn, timer);

	switch ((enum mpa_state)conn->state) {
	case MPA_CONNECTING:
		if (!conn->flow) {
			begin_again(nic, conn);
			break;
		}
		mpa_conn_give_up(nic, conn, TCP_END_TIMEOUT);
		break;
	case MPA_REQ_SENT:
	case MPA_REP_RCVD:
	case MPA_REQ_WAIT:
	case MPA_REQ_RCVD:
		FW_COUNT(nic, mpa_setup_timeouts);
		mpa_conn_give_up(nic, conn, TCP_END_TIMEOUT);
		break;
	case MPA_RTR_WAIT:
		/* The active end does not begin as it must, or the reply is not acknowledged. */
		if (conn->param.peer_to_peer || conn->setup) {
			FW_COUNT(nic, mpa_setup_timeouts);
			mpa_conn_give_up(nic, conn, TCP_END_TIMEOUT);
		} else {
			mpa_rx_first(nic, conn);
		}
		break;
	case MPA_TERM_SENT:
	case MPA_CLOSING:
		/* The peer does not close its side. */
		mpa_conn_give_up(nic, conn, TCP_END_CLOSED);
		break;
	case MPA_FPDU:
		/* Another connection needs the buffer of its incomplete FPDU. */
		mpa_conn_give_up(nic, conn, TCP_END_TIMEOUT);
		break;
	case MPA_FREE:
	case MPA_STATES:
		assert(!"no timer in this state");
	}
}

static void mpa_conn_ended(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_end why)
{
	struct mpa_conn *conn = flow->ctx;

	conn->flow = NULL;
	if ((why == TCP_END_RESET || why == TCP_END_CLOSED) && may_fall_back(conn))
		mpa_conn_fall_back(nic, conn);
	else
		mpa_conn_finish(nic, conn, why);
}

static void mpa_conn_peer_closed(struct fw_nic *nic, struct tcp_flow *flow)
{
	struct mpa_conn *conn = flow->ctx;

	switch ((enum mpa_state)conn->state) {
	case MPA_REQ_SENT:
		if (may_fall_back(conn))
			mpa_conn_fall_back(nic, conn);
		else
			mpa_conn_give_up(nic, conn, TCP_END_CLOSED);
		break;
	case MPA_REP_RCVD:
	case MPA_REQ_WAIT:
	case MPA_REQ_RCVD:
		mpa_conn_give_up(nic, conn, TCP_END_CLOSED);
		break;
	case MPA_RTR_WAIT:
	case MPA_FPDU:
		if (conn->state == MPA_RTR_WAIT && conn->param.peer_to_peer) {
			mpa_conn_give_up(nic, conn, TCP_END_CLOSED);
			break;
		}
		mpa_disconnect(nic, conn);
		if (conn->qp)
			mpa_rdmap_ended(nic, conn, TCP_END_CLOSED);
		break;
	case MPA_TERM_SENT:
	case MPA_CLOSING:
		break;
	case MPA_FREE:
	case MPA_CONNECTING:
	case MPA_STATES:
		assert(!"no FIN is in its turn in this state");
	}
}

/* ---- the layer above TCP --------------------------------------------------------------------- */

static uint32_t receive(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes)
{
	struct mpa_conn *conn = flow->ctx;

	switch ((enum mpa_state)conn->state) {
	case MPA_REQ_SENT:
	case MPA_REQ_WAIT:
		return mpa_setup_receive(nic, conn, frame, offset, bytes);
	case MPA_REP_RCVD:
	case MPA_REQ_RCVD:
		/* The process has not answered yet. */
		return 0;
	case MPA_RTR_WAIT:
	case MPA_FPDU:
		return mpa_rx_receive(nic, flow, frame, offset, bytes);
	case MPA_FREE:
	case MPA_CONNECTING:
	case MPA_TERM_SENT:
	case MPA_CLOSING:
	case MPA_STATES:
		break;
	}
	return bytes;
}

static struct tcp_seg *next(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max)
{
	struct mpa_conn *conn = flow->ctx;

	if (mpa_setup_pending(conn))
		return mpa_setup_next(conn, max);
	return conn->state >= MPA_RTR_WAIT ? mpa_tx_next(nic, flow, max) : NULL;
}

static int mpa_conn_fill(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
			 uint32_t from, uint32_t bytes, struct fw_tx_frame *frame,
			 uint32_t hdr_offset)
{
	struct mpa_conn *conn = flow->ctx;

	if (mpa_setup_owns(conn, seg))
		return mpa_setup_fill(conn, seg, from, bytes, frame);
	return mpa_tx_fill(nic, flow, seg, from, bytes, frame, hdr_offset);
}

static void acked(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, bool ok)
{
	struct mpa_conn *conn = flow->ctx;

	if (conn->setup && mpa_setup_owns(conn, seg))
		mpa_setup_acked(nic, conn, seg, ok);
	else
		mpa_tx_acked(nic, flow, seg, ok);
}

const struct tcp_ops mpa_tcp_ops = {
    .accepted = accepted,
    .opened = mpa_conn_opened,
    .receive = receive,
    .early = mpa_rx_early,
    .next = next,
    .fill = mpa_conn_fill,
    .next_run = mpa_run_next,
    .receive_run = mpa_rx_run,
    .unreadable = mpa_tx_unreadable,
    .acked = acked,
    .peer_closed = mpa_conn_peer_closed,
    .ended = mpa_conn_ended,
    .rest = mpa_rdmap_rest,
    .woken = mpa_rdmap_woken,
};
