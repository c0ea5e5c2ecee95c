/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle connections of TCP.
 *
 * A process may have thousands of connections, and use few at a time. A connection with nothing
 * under way in either direction that was silent for a while is put to rest: what it must know when
 * it goes on is copied into struct tcp_rest, and its struct tcp_flow goes back to the pool. A
 * segment of it, a call of the layer above or its keep-alive wakes it. A connection has one of the
 * two at a time, and both pools have room for all, so none ever waits.
 *
 * Memory that was touched once stays in use, so the number of connections awake at a time counts:
 * each one that is made or woken, or whose keep-alive is due, lets this file look at two others, at
 * the end of the turn. A busy connection is found without any of this. Calls tcp_conn.c,
 * tcp_timer.c, the layer above.
 */
#include "nic_fw/fw_nic.h"

enum {
	REST_LOOKS = 2, /* more rest than wake */
	REST_LOOKS_TURN = 64,
	REST_CROWD = 128, /* each such number of connections awake halves the silence */
	REST_HALVES = 20,
	/* Flags that stand for something to be done. */
	UNDER_WAY = TCP_F_ACK_NOW | TCP_F_RECOVERY | TCP_F_LOSS | TCP_F_CLOSE | TCP_F_FIN_RCVD |
		    TCP_F_MORE | TCP_F_STALLED | TCP_F_PROBE,
};

static uint32_t *rest_head(const struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			   uint16_t local_port)
{
	return &nic->tcp.rest_hash[fw_hash_keyed(&nic->hash_key, peer_ip, peer_port, local_port) %
				   TCP_HASH_SIZE];
}

static struct tcp_rest *rest_find(const struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
				  uint16_t local_port)
{
	struct tcp_rest *rest;

	fw_chain_for_each (rest, *rest_head(nic, peer_ip, peer_port, local_port),
			   fw_pool_table(&nic->tcp.rests), hash_next)
		if (rest->peer_ip == peer_ip && rest->peer_port == peer_port &&
		    rest->local_port == local_port)
			return rest;
	return NULL;
}

bool tcp_rests(const struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port)
{
	return rest_find(nic, peer_ip, peer_port, local_port) != NULL;
}

struct tcp_flow *tcp_look_up(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			     uint16_t local_port)
{
	struct tcp_flow *flow = tcp_find(nic, peer_ip, peer_port, local_port);
	struct tcp_rest *rest;

	if (flow || !nic->tcp.rests.used)
		return flow;
	rest = rest_find(nic, peer_ip, peer_port, local_port);
	return rest ? tcp_wake(nic, fw_pool_index(&nic->tcp.rests, rest) + 1) : NULL;
}

void tcp_rest_ask(struct fw_nic *nic)
{
	if (nic->tcp.flows.used > nic->config.tcp_awake && nic->tcp.rest_looks < REST_LOOKS_TURN)
		nic->tcp.rest_looks += REST_LOOKS;
}

void tcp_rest_awake(struct fw_nic *nic, struct tcp_flow *flow)
{
	fw_list_add_tail(&nic->tcp.awake, &flow->awake_node);
	tcp_rest_ask(nic);
}

/* ---- to rest --------------------------------------------------------------------------------- */

/* Many at once are made by a program that begins, and would all be awake after a fixed time. */
static bool is_silent(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	uint32_t halves = tcp_min(nic->tcp.flows.used / REST_CROWD, REST_HALVES);
	uint64_t ns = nic->config.tcp_awake ? TCP_REST_NS >> halves : 0;

	return nic->now_ns - flow->heard_ns >= ns && nic->now_ns - flow->sent_ns >= ns;
}

/* True if nothing that was sent or received waits for anything. */
static bool is_even(const struct tcp_flow *flow)
{
	return fw_list_empty(&flow->segs) && flow->snd_una == flow->snd_nxt &&
	       flow->rcv_up == flow->rcv_nxt && flow->last_ack == flow->rcv_nxt &&
	       fw_list_empty(&flow->early) && !flow->num_ranges && !flow->num_blocks &&
	       flow->dsack.from == flow->dsack.to && !flow->fin_seen;
}

/* True if no timer but that of the keep-alive is of use, and it has not been due. */
static bool is_calm(const struct tcp_flow *flow)
{
	return !flow->ack_ns && !flow->wait_ns && flow->loss_timer == TCP_LOSS_NONE &&
	       !flow->trouble_ns && !flow->kept_back && !flow->keep_tries && !flow->unreachable;
}

static bool is_listed(const struct tcp_flow *flow)
{
	return flow->listener || fw_list_linked(&flow->ready_node) ||
	       fw_list_linked(&flow->ack_node) || fw_list_linked(&flow->wait_node);
}

/* True if all members that are not kept have the values of a new connection, or will get them. */
static bool tcp_may_rest(const struct fw_nic *nic, const struct tcp_flow *flow)
{
	return flow->state == TCP_ESTABLISHED && !(flow->flags & UNDER_WAY) &&
	       is_silent(nic, flow) && is_even(flow) && is_calm(flow) &&
	       tcp_grant_over(nic, flow) && !is_listed(flow) && flow->neigh_ns &&
	       flow->rtt.srtt_ns <= UINT32_MAX && flow->rtt.var_ns <= UINT32_MAX &&
	       flow->min_rtt_ns <= UINT32_MAX;
}

static void rest_keep(struct tcp_rest *rest, struct tcp_rest_lent *lent,
		      const struct tcp_flow *flow)
{
	*lent = (struct tcp_rest_lent){
	    .rto_ns = flow->rto_ns,
	    .heard_ns = flow->heard_ns,
	    .sent_ns = flow->sent_ns,
	    .ts_recent_ns = flow->ts_recent_ns,
	    .answered_ns = flow->answered_ns,
	    .keep_ns = flow->keep_ns,
	    .probe_ns = flow->probing == TCP_PROBE_NONE ? 0 : flow->probe_ns,
	    .snd_wnd = flow->snd_wnd,
	    .snd_wl1 = flow->snd_wl1,
	    .snd_wnd_max = flow->snd_wnd_max,
	    .rcv_adv = flow->rcv_adv,
	    .rcv_limit = flow->rcv_limit,
	    .rcv_high = flow->rcv_high,
	    .rcv_alone = flow->rcv_alone,
	    .rcv_path_ns = (uint32_t)fw_floor_ns(&flow->rcv_path),
	};
	*rest = (struct tcp_rest){
	    .lent = lent,
	    .peer_ip = flow->peer_ip,
	    .peer_port = flow->peer_port,
	    .local_port = flow->local_port,
	    .snd_nxt = flow->snd_nxt,
	    .rcv_nxt = flow->rcv_nxt,
	    .ts_recent = flow->ts_recent,
	    .cwnd = flow->cwnd,
	    .ssthresh = flow->ssthresh,
	    .cubic_max = flow->cubic.w_max,
	    .cubic_prior = flow->cubic.prior,
	    .srtt_ns = (uint32_t)flow->rtt.srtt_ns,
	    .rtt_var_ns = (uint32_t)flow->rtt.var_ns,
	    .min_rtt_ns = (uint32_t)flow->min_rtt_ns,
	    .flags = flow->flags,
	    .path_mtu = flow->path_mtu,
	    .peer_mss = flow->peer_mss,
	    .user = (uint8_t)flow->user,
	    .snd_wscale = flow->snd_wscale,
	    .station = flow->station,
	    .syn_tries = flow->syn_tries,
	    .reo_mult = flow->reo_mult,
	    .reo_persist = flow->reo_persist,
	    .reordering = flow->reordering,
	    .fresh = flow->fresh,
	};
	memcpy(rest->mac, flow->mac, sizeof(rest->mac));
}

static void rest_begin(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_rest *rest,
		       struct tcp_rest_lent *lent)
{
	uint32_t *head = rest_head(nic, flow->peer_ip, flow->peer_port, flow->local_port);

	assert(!flow->busy);
	tcp_grant_rest(nic, flow);
	rest_keep(rest, lent, flow);
	fw_timer_init(&rest->timer, FW_TIMER_TCP_REST);
	fw_chain_add(head, &rest->hash_next, fw_pool_index(&nic->tcp.rests, rest));
	tcp_conn_unhash(nic, flow);
	fw_timer_cancel(&nic->timers, &flow->timer);
	if (lent->keep_ns)
		fw_timer_set(&nic->timers, &rest->timer, lent->heard_ns + lent->keep_ns);
	fw_list_del(&flow->awake_node);
	fw_pool_put(&nic->tcp.flows, flow);
}

/* Puts it to rest if it may. */
static void rest_try(struct fw_nic *nic, struct tcp_flow *flow)
{
	const struct tcp_ops *ops = nic->tcp.ops[flow->user];
	struct tcp_rest_lent *lent;
	struct tcp_rest *rest;

	if (!ops || !ops->rest || !tcp_may_rest(nic, flow))
		return;
	rest = fw_pool_get(&nic->tcp.rests);
	assert(rest);
	lent = ops->rest(nic, flow, fw_pool_index(&nic->tcp.rests, rest) + 1);
	if (lent)
		rest_begin(nic, flow, rest, lent);
	else
		fw_pool_put(&nic->tcp.rests, rest);
}

void tcp_rest_look(struct fw_nic *nic)
{
	for (; nic->tcp.rest_looks && nic->tcp.flows.used > nic->config.tcp_awake &&
	       !fw_list_empty(&nic->tcp.awake);
	     nic->tcp.rest_looks--) {
		struct fw_list *node = fw_list_pop(&nic->tcp.awake);

		fw_list_add_tail(&nic->tcp.awake, node);
		rest_try(nic, FW_CONTAINER(node, struct tcp_flow, awake_node));
	}
	/* With tcp_awake 0 all are looked at in each turn. */
	nic->tcp.rest_looks = nic->config.tcp_awake ? 0 : nic->tcp.flows.used;
}

/* ---- to work --------------------------------------------------------------------------------- */

static void rest_restore(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_rest *rest)
{
	const struct tcp_rest_lent *lent = rest->lent;

	tcp_number_from(flow, rest->snd_nxt, 0);
	flow->rto_ns = lent->rto_ns;
	flow->heard_ns = lent->heard_ns;
	flow->sent_ns = lent->sent_ns;
	flow->ts_recent_ns = lent->ts_recent_ns;
	flow->answered_ns = lent->answered_ns;
	flow->keep_ns = lent->keep_ns;
	flow->probe_ns = lent->probe_ns;
	flow->probing = lent->probe_ns ? TCP_PROBE_WANTED : TCP_PROBE_NONE;
	flow->snd_wnd = lent->snd_wnd;
	flow->snd_wl1 = lent->snd_wl1;
	flow->snd_wnd_max = lent->snd_wnd_max;
	flow->rcv_nxt = rest->rcv_nxt;
	flow->rcv_up = rest->rcv_nxt;
	flow->last_ack = rest->rcv_nxt;
	flow->rcv_adv = lent->rcv_adv;
	flow->rcv_limit = lent->rcv_limit;
	flow->rcv_high = lent->rcv_high;
	flow->rcv_begun = lent->rcv_high;
	flow->rcv_alone = lent->rcv_alone;
	flow->rcv_path = (struct fw_floor){.at_ns = nic->now_ns, .ns = lent->rcv_path_ns};
	flow->ts_recent = rest->ts_recent;
	flow->cwnd = rest->cwnd;
	flow->ssthresh = rest->ssthresh;
	flow->cubic.w_max = rest->cubic_max;
	flow->cubic.prior = rest->cubic_prior;
	flow->rtt = (struct fw_rtt){rest->srtt_ns, rest->rtt_var_ns};
	flow->min_rtt_ns = rest->min_rtt_ns;
	flow->flags = rest->flags;
	flow->path_mtu = rest->path_mtu;
	flow->peer_mss = rest->peer_mss;
	flow->snd_wscale = rest->snd_wscale;
	flow->station = rest->station;
	flow->syn_tries = rest->syn_tries;
	flow->reo_mult = rest->reo_mult;
	flow->reo_persist = rest->reo_persist;
	flow->reordering = rest->reordering;
	flow->fresh = rest->fresh;
	flow->granted = true;
	memcpy(flow->mac, rest->mac, sizeof(flow->mac));
	/* The address is known, and is looked up again before it is used. */
	flow->neigh_ns = nic->now_ns;
	flow->neigh_change = nic->tcp.neigh_changes - 1;
	tcp_set_mss(nic, flow);
}

struct tcp_flow *tcp_wake(struct fw_nic *nic, uint32_t number)
{
	struct tcp_rest *rest = fw_pool_at(&nic->tcp.rests, number - 1);
	struct tcp_flow *flow = fw_pool_get(&nic->tcp.flows);
	struct tcp_rest_lent *lent = rest->lent;

	assert(flow);
	fw_timer_cancel(&nic->timers, &rest->timer);
	fw_chain_del(rest_head(nic, rest->peer_ip, rest->peer_port, rest->local_port), rest,
		     fw_pool_table(&nic->tcp.rests), hash_next);
	tcp_conn_start(nic, flow, rest->peer_ip, rest->peer_port, rest->local_port,
		       (enum tcp_user)rest->user);
	flow->state = TCP_ESTABLISHED;
	rest_restore(nic, flow, rest);
	fw_pool_put(&nic->tcp.rests, rest);
	nic->tcp.ops[flow->user]->woken(nic, flow, lent);
	tcp_rest_awake(nic, flow);
	tcp_timer_update(nic, flow);
	return flow;
}

void tcp_rest_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct tcp_rest *rest = FW_CONTAINER(timer, struct tcp_rest, timer);
	struct tcp_flow *flow = tcp_wake(nic, fw_pool_index(&nic->tcp.rests, rest) + 1);

	/* At once: it would rest again at the end of a turn that has no time for another timer. */
	fw_timer_cancel(&nic->timers, &flow->timer);
	tcp_timer_fire(nic, &flow->timer);
}
