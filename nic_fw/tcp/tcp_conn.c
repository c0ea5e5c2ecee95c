/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP connections: opening, look-up, closing, failure.
 *
 * Calls tcp_tx.c and the layer above's tcp_ops. A flow is freed when it is CLOSED and no call of
 * the layer above with this flow is under way. RFC 9293 3.3.2, 3.6, RFC 6191.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

static uint32_t *tcp_conn_chain_head(const struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
				     uint16_t local_port)
{
	return &nic->tcp.hash[fw_hash_keyed(&nic->hash_key, peer_ip, peer_port, local_port) %
			      TCP_HASH_SIZE];
}

struct tcp_flow *tcp_find(const struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			  uint16_t local_port)
{
	struct tcp_flow *flow;

	fw_chain_for_each (flow, *tcp_conn_chain_head(nic, peer_ip, peer_port, local_port),
			   fw_pool_table(&nic->tcp.flows), hash_next)
		if (flow->peer_ip == peer_ip && flow->peer_port == peer_port &&
		    flow->local_port == local_port)
			return flow;
	return NULL;
}

void tcp_conn_unhash(struct fw_nic *nic, struct tcp_flow *flow)
{
	fw_chain_del(tcp_conn_chain_head(nic, flow->peer_ip, flow->peer_port, flow->local_port),
		     flow, fw_pool_table(&nic->tcp.flows), hash_next);
}

/* Legal steps between states. */
static bool may_follow(enum tcp_state from, enum tcp_state to)
{
	if (to == TCP_CLOSED)
		return true;
	switch (from) {
	case TCP_CLOSED:
		return to == TCP_SYN_SENT || to == TCP_SYN_RCVD || to == TCP_ESTABLISHED;
	case TCP_SYN_SENT:
		return to == TCP_SYN_RCVD || to == TCP_ESTABLISHED;
	case TCP_SYN_RCVD:
		return to == TCP_ESTABLISHED;
	case TCP_ESTABLISHED:
		return to == TCP_FIN_WAIT_1 || to == TCP_CLOSE_WAIT;
	case TCP_FIN_WAIT_1:
		return to == TCP_FIN_WAIT_2 || to == TCP_CLOSING;
	case TCP_FIN_WAIT_2:
	case TCP_CLOSING:
		return to == TCP_TIME_WAIT;
	case TCP_CLOSE_WAIT:
		return to == TCP_LAST_ACK;
	case TCP_LAST_ACK:
	case TCP_TIME_WAIT:
	case TCP_STATES:
		return false;
	}
	return false;
}

void tcp_set_state(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_state state)
{
	assert(may_follow(flow->state, state));
	fw_trace(nic, TRACE_TCP_STATE, flow->local_port, flow->state, state);
	flow->state = (uint8_t)state;
	if (state == TCP_ESTABLISHED)
		FW_COUNT(nic, tcp_established);
}

bool tcp_leave(struct fw_nic *nic, struct tcp_flow *flow)
{
	bool alive = flow->state != TCP_CLOSED;

	assert(flow->busy);
	if (!--flow->busy && !alive) {
		fw_pool_put(&nic->tcp.flows, flow);
		nic->tcp.num_flows--;
	}
	return alive;
}

void tcp_conn_start(struct fw_nic *nic, struct tcp_flow *flow, uint32_t peer_ip, uint16_t peer_port,
		    uint16_t local_port, enum tcp_user user)
{
	memset(flow, 0, sizeof(*flow));
	flow->user = user;
	flow->peer_ip = peer_ip;
	flow->peer_port = peer_port;
	flow->local_port = local_port;
	fw_list_init(&flow->segs);
	fw_list_init(&flow->ready_node);
	fw_list_init(&flow->ack_node);
	fw_list_init(&flow->wait_node);
	fw_list_init(&flow->pending_node);
	fw_list_init(&flow->grant_node);
	fw_list_init(&flow->held_node);
	fw_list_init(&flow->awake_node);
	fw_list_init(&flow->early);
	flow->aside = &nic->tcp.asides[fw_pool_index(&nic->tcp.flows, flow)];
	fw_list_init(&flow->ctl.node);
	fw_timer_init(&flow->timer, FW_TIMER_TCP);
	flow->ts_offset = tcp_ts_offset(nic, peer_ip, peer_port, local_port);
	fw_chain_add(tcp_conn_chain_head(nic, peer_ip, peer_port, local_port), &flow->hash_next,
		     fw_pool_index(&nic->tcp.flows, flow));
}

/* Connections at rest count, since all of them may be woken. */
static struct tcp_flow *take_flow(struct fw_nic *nic)
{
	if (nic->tcp.num_flows >= nic->tcp.flows.max)
		return NULL;
	if (++nic->tcp.num_flows > nic->tcp.num_flows_max)
		nic->tcp.num_flows_max = nic->tcp.num_flows;
	return fw_pool_get(&nic->tcp.flows);
}

struct tcp_flow *tcp_flow_new(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			      uint16_t local_port, enum tcp_user user)
{
	struct tcp_flow *flow = take_flow(nic);

	if (!flow && !fw_list_empty(&nic->tcp.time_wait)) {
		/* No room: the connection that is in TIME-WAIT the longest makes some. */
		tcp_end(nic, FW_CONTAINER(nic->tcp.time_wait.next, struct tcp_flow, wait_node),
			TCP_END_CLOSED);
		flow = take_flow(nic);
	}
	if (!flow) {
		FW_COUNT(nic, tcp_table_full);
		return NULL;
	}
	tcp_conn_start(nic, flow, peer_ip, peer_port, local_port, user);
	flow->rto_ns = TCP_INITIAL_RTO_NS;
	flow->path_mtu = nic->config.mtu;
	flow->peer_mss = WIRE_TCP_DEFAULT_MSS;
	flow->heard_ns = nic->now_ns;
	flow->ssthresh = UINT32_MAX;
	flow->reo_mult = 1;
	tcp_set_mss(nic, flow);
	tcp_cong_open(flow);
	tcp_grant_open(nic, flow);
	flow->fresh = true;
	tcp_rest_awake(nic, flow);
	return flow;
}

uint16_t tcp_mss_for(const struct tcp_flow *flow, uint32_t mtu)
{
	uint32_t mss = mtu - (uint32_t)(sizeof(struct wire_ip) + sizeof(struct wire_tcp));

	mss = tcp_max(tcp_min(mss, flow->peer_mss), TCP_MIN_MSS);
	if (flow->flags & TCP_F_TS)
		mss -= WIRE_TCP_TS_PADDED_BYTES;
	return (uint16_t)mss;
}

void tcp_set_mss(struct fw_nic *nic, struct tcp_flow *flow)
{
	(void)nic;
	flow->mss = tcp_mss_for(flow, flow->path_mtu);
}

void tcp_number_from(struct tcp_flow *flow, uint32_t iss, uint32_t sent)
{
	uint32_t next = iss + sent;

	flow->iss = iss;
	flow->snd_una = next;
	flow->snd_nxt = next;
	flow->fack = next;
	flow->recover = next;
	flow->cwr_end = next;
	flow->dsack_end = next;
	flow->tlp_end = next;
	flow->rack_end = next;
}

void tcp_negotiated(struct fw_nic *nic, struct tcp_flow *flow, uint16_t mss, bool ts, bool sack,
		    bool wscale, uint8_t shift)
{
	flow->flags &= (uint16_t) ~(TCP_F_TS | TCP_F_SACK | TCP_F_WSCALE);
	flow->flags |=
	    (uint16_t)((ts ? TCP_F_TS : 0) | (sack ? TCP_F_SACK : 0) | (wscale ? TCP_F_WSCALE : 0));
	flow->snd_wscale = wscale ? shift : 0;
	flow->peer_mss = mss ? mss : (uint16_t)WIRE_TCP_DEFAULT_MSS;
	tcp_set_mss(nic, flow);
	tcp_cong_open(flow);
	/* RFC 6298 5.7 */
	if (flow->syn_tries)
		flow->rto_ns = TCP_SLOW_RTO_NS;
}

/* Removes the flow from every timer, list, table and chunk. */
static void tcp_conn_detach(struct fw_nic *nic, struct tcp_flow *flow)
{
	tcp_conn_unhash(nic, flow);
	fw_timer_cancel(&nic->timers, &flow->timer);
	fw_list_del(&flow->ready_node);
	fw_list_del(&flow->ack_node);
	fw_list_del(&flow->wait_node);
	fw_list_del(&flow->awake_node);
	tcp_grant_close(nic, flow);
	tcp_early_drop(nic, flow);
	tcp_accept_done(nic, flow);
}

static void tcp_conn_give_back(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_ops *ops)
{
	struct fw_list *pos;

	while ((pos = fw_list_pop(&flow->segs)) != NULL) {
		struct tcp_seg *seg = FW_CONTAINER(pos, struct tcp_seg, node);

		if (seg->flags & TCP_SEG_ULP)
			ops->acked(nic, flow, seg, false);
	}
}

static void tcp_conn_end(struct fw_nic *nic, struct tcp_flow *flow, bool notify, enum tcp_end why)
{
	const struct tcp_ops *ops = nic->tcp.ops[flow->user];

	if (flow->state == TCP_CLOSED)
		return;
	tcp_enter(flow);
	tcp_conn_detach(nic, flow);
	tcp_set_state(nic, flow, TCP_CLOSED);
	flow->user = TCP_USER_NONE;
	tcp_conn_give_back(nic, flow, ops);
	if (ops && notify)
		ops->ended(nic, flow, why);
	(void)tcp_leave(nic, flow);
}

void tcp_end(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_end why)
{
	if (why != TCP_END_CLOSED)
		FW_COUNT(nic, tcp_failed);
	tcp_conn_end(nic, flow, true, why);
}

void tcp_enter_time_wait(struct fw_nic *nic, struct tcp_flow *flow)
{
	const struct tcp_ops *ops = nic->tcp.ops[flow->user];

	tcp_set_state(nic, flow, TCP_TIME_WAIT);
	flow->wait_ns = nic->now_ns + TCP_TIME_WAIT_NS;
	flow->loss_timer = TCP_LOSS_NONE;
	flow->keep_ns = 0;
	fw_list_del(&flow->wait_node);
	fw_list_add_tail(&nic->tcp.time_wait, &flow->wait_node);
	fw_list_del(&flow->ready_node);
	fw_list_del(&flow->awake_node);
	tcp_grant_close(nic, flow);
	tcp_early_drop(nic, flow);
	tcp_accept_done(nic, flow);
	tcp_timer_update(nic, flow);
	if (!ops)
		return;
	flow->user = TCP_USER_NONE;
	tcp_conn_give_back(nic, flow, ops);
	ops->ended(nic, flow, TCP_END_CLOSED);
}

uint32_t tcp_flows_open(const struct fw_nic *nic)
{
	uint32_t waiting = 0;

	for (const struct fw_list *pos = nic->tcp.time_wait.next; pos != &nic->tcp.time_wait;
	     pos = pos->next)
		waiting++;
	return nic->tcp.num_flows - waiting;
}

void tcp_drop_time_wait(struct fw_nic *nic)
{
	while (!fw_list_empty(&nic->tcp.time_wait))
		tcp_end(nic, FW_CONTAINER(nic->tcp.time_wait.next, struct tcp_flow, wait_node),
			TCP_END_CLOSED);
}

/*
 * TIME-WAIT gives way to a new connection whose timestamps distinguish it from the old: RFC 6191.
 */
static bool may_reuse(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	return flow->state == TCP_TIME_WAIT && flow->flags & TCP_F_TS &&
	       nic->now_ns - flow->ts_recent_ns > TCP_SECOND_NS;
}

struct tcp_flow *tcp_connect(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			     uint16_t local_port, enum tcp_user user, void *ctx)
{
	struct tcp_flow *flow = tcp_find(nic, peer_ip, peer_port, local_port);

	if (flow ? !may_reuse(nic, flow) : tcp_rests(nic, peer_ip, peer_port, local_port))
		return NULL;
	/* A connection with itself would have one flow for two ends. */
	if (peer_ip == nic->config.ip && peer_port == local_port)
		return NULL;
	if (flow)
		tcp_end(nic, flow, TCP_END_CLOSED);
	flow = tcp_flow_new(nic, peer_ip, peer_port, local_port, user);
	if (!flow)
		return NULL;
	FW_COUNT(nic, tcp_active_opens);
	flow->ctx = ctx;
	flow->flags = TCP_F_TS | TCP_F_SACK | TCP_F_WSCALE;
	if (!nic->config.cc_off)
		flow->flags |= TCP_F_ECN;
	tcp_number_from(flow, tcp_isn(nic, peer_ip, peer_port, local_port), 0);
	flow->snd_wnd = 1; /* SYN */
	flow->ctl = (struct tcp_seg){.seq = flow->iss, .bytes = 1, .flags = TCP_SEG_SYN};
	fw_list_add_tail(&flow->segs, &flow->ctl.node);
	tcp_set_state(nic, flow, TCP_SYN_SENT);
	tcp_ready(nic, flow);
	return flow;
}

void tcp_close(struct fw_nic *nic, struct tcp_flow *flow)
{
	switch ((enum tcp_state)flow->state) {
	case TCP_SYN_SENT:
		tcp_end(nic, flow, TCP_END_CLOSED);
		break;
	case TCP_SYN_RCVD:
	case TCP_ESTABLISHED:
	case TCP_CLOSE_WAIT:
		flow->flags |= TCP_F_CLOSE | TCP_F_MORE;
		tcp_ready(nic, flow);
		break;
	case TCP_CLOSED:
	case TCP_FIN_WAIT_1:
	case TCP_FIN_WAIT_2:
	case TCP_CLOSING:
	case TCP_LAST_ACK:
	case TCP_TIME_WAIT:
	case TCP_STATES:
		break;
	}
}

void tcp_abort(struct fw_nic *nic, struct tcp_flow *flow)
{
	switch ((enum tcp_state)flow->state) {
	case TCP_SYN_RCVD:
	case TCP_ESTABLISHED:
	case TCP_FIN_WAIT_1:
	case TCP_FIN_WAIT_2:
	case TCP_CLOSE_WAIT:
	case TCP_CLOSING:
	case TCP_LAST_ACK:
		/* Without room for the reset the peer gets one for its next segment. */
		FW_COUNT(nic, tcp_tx_resets);
		(void)tcp_tx_bare(nic, flow, flow->snd_nxt, WIRE_TCP_RST | WIRE_TCP_ACK);
		break;
	case TCP_CLOSED:
	case TCP_SYN_SENT:
	case TCP_TIME_WAIT:
	case TCP_STATES:
		break;
	}
	tcp_conn_end(nic, flow, false, TCP_END_CLOSED);
}

void tcp_keepalive(struct fw_nic *nic, struct tcp_flow *flow, uint64_t idle_ns)
{
	flow->keep_ns = idle_ns;
	tcp_timer_update(nic, flow);
}

bool tcp_have_neigh(struct fw_nic *nic, struct tcp_flow *flow)
{
	uint8_t mac[WIRE_MAC_BYTES];

	if (flow->neigh_ns && flow->neigh_change == nic->tcp.neigh_changes &&
	    nic->now_ns - flow->neigh_ns < TCP_NEIGH_AGE_NS)
		return true;
	switch (neigh_lookup(nic, flow->peer_ip, mac)) {
	case NEIGH_OK:
		memcpy(flow->mac, mac, sizeof(mac));
		if (!flow->neigh_ns)
			flow->station = station_of(nic, mac);
		flow->neigh_ns = nic->now_ns;
		flow->neigh_change = nic->tcp.neigh_changes;
		return true;
	case NEIGH_WAIT:
		break;
	case NEIGH_UNREACHABLE:
		if (flow->neigh_ns)
			break;
		tcp_end(nic, flow, TCP_END_UNREACHABLE);
		return false;
	}
	/* The last valid address serves as long as no other is known. */
	if (flow->neigh_ns)
		return true;
	if (!fw_list_linked(&flow->wait_node))
		fw_list_add_tail(&nic->tcp.resolving, &flow->wait_node);
	return false;
}

void tcp_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)ip;
	(void)ok;
	nic->tcp.neigh_changes++;
	neigh_wait_over(nic, NEIGH_WAIT_TCP, &nic->tcp.resolving);
}

void tcp_neigh_look(struct fw_nic *nic, struct fw_list *node)
{
	struct tcp_flow *flow = FW_CONTAINER(node, struct tcp_flow, wait_node);
	uint8_t mac[WIRE_MAC_BYTES];

	switch (neigh_lookup(nic, flow->peer_ip, mac)) {
	case NEIGH_WAIT:
		fw_list_add_tail(&nic->tcp.resolving, &flow->wait_node);
		break;
	case NEIGH_OK:
		tcp_ready(nic, flow);
		break;
	case NEIGH_UNREACHABLE:
		tcp_end(nic, flow, TCP_END_UNREACHABLE);
		break;
	}
}

void tcp_serve(struct fw_nic *nic, enum tcp_user user, const struct tcp_ops *ops)
{
	nic->tcp.ops[user] = ops;
}

void tcp_init(struct fw_nic *nic)
{
	uint32_t i;

	fw_list_init(&nic->tcp.ready);
	fw_list_init(&nic->tcp.acks);
	fw_list_init(&nic->tcp.resolving);
	fw_list_init(&nic->tcp.time_wait);
	fw_list_init(&nic->tcp.awake);
	for (i = 0; i < TCP_SYNACK_TRIES; i++)
		fw_list_init(&nic->tcp.syn_lists[i]);
	fw_list_init(&nic->tcp.syn_ended);
	fw_timer_init(&nic->tcp.syn_timer, FW_TIMER_TCP_SYN);
	tcp_grant_init(nic);
}
