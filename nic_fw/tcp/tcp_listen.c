/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listeners, the queue of SYNs, SYN cookies.
 *
 * Handles segments that belong to no connection. Calls the layer above's accepted(). A half-open
 * connection is a small entry of a bounded table. When the table is full, or has an entry of the
 * same two ends with another number, SYNs are answered with cookies: the sequence number of the
 * SYN-ACK encodes the state that its ACK must restore, and the timestamp encodes the options. RFC
 * 9293 3.10.7.2, 3.10.7.4, RFC 4987, RFC 5961 4 and 5.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

enum {
	COOKIE_MSS_MASK = 7, /* low bits of a cookie: index of its MSS */
	COOKIE_KIND = 3,
	/* low bits of the timestamp beside a cookie */
	COOKIE_TS_MASK = 0x3f,
	COOKIE_TS_WSCALE = 0x0f, /* 15: none */
	COOKIE_TS_SACK = 0x10,
	COOKIE_TS_ECN = 0x20,
	COOKIE_NO_WSCALE = 15,
};
#define COOKIE_PERIOD_NS  UINT64_C(64000000000)
#define SYNACK_TIMEOUT_NS TCP_SECOND_NS

static const uint16_t cookie_mss[COOKIE_MSS_MASK + 1] = {
    TCP_MIN_MSS, 536, 1220, 1300, 1440, 1460, 4312, 8960,
};

/* ---- listeners ------------------------------------------------------------------------------- */

static uint32_t listen_place(const struct fw_nic *nic, uint16_t port)
{
	return fw_hash_keyed(&nic->hash_key, port, 0, 0) % TCP_LISTEN_HASH_SIZE;
}

struct tcp_listener *tcp_find_listener(const struct fw_nic *nic, uint16_t port)
{
	struct tcp_listener *listener;

	fw_chain_for_each (listener, nic->tcp.listen_hash[listen_place(nic, port)],
			   nic->tcp.listeners, hash_next)
		if (listener->port == port)
			return listener;
	return NULL;
}

int tcp_listen(struct fw_nic *nic, uint16_t port, uint32_t backlog, enum tcp_user user, void *ctx)
{
	struct tcp_listener *listener;
	uint32_t i, *head = &nic->tcp.listen_hash[listen_place(nic, port)];

	if (tcp_find_listener(nic, port))
		return FW_EADDRINUSE;
	if (nic->tcp.num_listeners == TCP_MAX_LISTENERS)
		return FW_ENOSPC;
	for (i = 0; nic->tcp.listeners[i].used; i++)
		;
	listener = &nic->tcp.listeners[i];
	*listener = (struct tcp_listener){
	    .user = user,
	    .ctx = ctx,
	    .backlog = backlog ? backlog : 1,
	    .port = port,
	    .used = true,
	    .serial = ++nic->tcp.listen_serial,
	};
	fw_list_init(&listener->flows);
	fw_list_init(&listener->asking);
	fw_list_init(&listener->half_open);
	fw_chain_add(head, &listener->hash_next, i);
	nic->tcp.num_listeners++;
	return 0;
}

void tcp_accept_done(struct fw_nic *nic, struct tcp_flow *flow)
{
	(void)nic;
	if (!flow->listener)
		return;
	flow->listener->pending--;
	fw_list_del(&flow->pending_node);
	flow->listener = NULL;
}

/* ---- the queue of SYNs ----------------------------------------------------------------------- */

static uint32_t *syn_head(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			  uint16_t local_port)
{
	return &nic->tcp.syn_hash[fw_hash_keyed(&nic->hash_key, peer_ip, peer_port, local_port) %
				  TCP_SYN_HASH_SIZE];
}

static struct tcp_syn *find_syn(struct fw_nic *nic, const struct tcp_listener *listener,
				const struct tcp_in *in)
{
	struct tcp_syn *syn;

	fw_chain_for_each (syn, *syn_head(nic, in->info->src_ip, in->src_port, in->dst_port),
			   fw_pool_table(&nic->tcp.syns), hash_next)
		if (syn->peer_ip == in->info->src_ip && syn->peer_port == in->src_port &&
		    syn->local_port == in->dst_port && syn->serial == listener->serial)
			return syn;
	return NULL;
}

static void drop_syn(struct fw_nic *nic, struct tcp_syn *syn)
{
	struct tcp_listener *listener = tcp_find_listener(nic, syn->local_port);

	fw_chain_del(syn_head(nic, syn->peer_ip, syn->peer_port, syn->local_port), syn,
		     fw_pool_table(&nic->tcp.syns), hash_next);
	fw_list_del(&syn->node);
	fw_list_del(&syn->listener_node);
	if (listener && listener->serial == syn->serial) {
		assert(listener->syns);
		listener->syns--;
	}
	fw_pool_put(&nic->tcp.syns, syn);
}

void tcp_unlisten(struct fw_nic *nic, uint16_t port)
{
	struct tcp_listener *listener = tcp_find_listener(nic, port);

	if (!listener)
		return;
	/* No segment finds them any more; tcp_syn_slice() frees them. */
	fw_list_splice_tail(&nic->tcp.syn_ended, &listener->half_open);
	slice_wait(&nic->slices, SLICE_SYNS);
	while (!fw_list_empty(&listener->flows))
		tcp_accept_done(nic,
				FW_CONTAINER(listener->flows.next, struct tcp_flow, pending_node));
	fw_chain_del(&nic->tcp.listen_hash[listen_place(nic, port)], listener, nic->tcp.listeners,
		     hash_next);
	listener->used = false;
	nic->tcp.num_listeners--;
}

/* Sends a SYN-ACK with the options that both ends support. */
static void send_synack(struct fw_nic *nic, const struct tcp_syn *syn, uint32_t ts_val)
{
	uint16_t mss =
	    (uint16_t)(nic->config.mtu - sizeof(struct wire_ip) - sizeof(struct wire_tcp));
	uint8_t opts[WIRE_TCP_OPT_MAX_BYTES], flags = WIRE_TCP_SYN | WIRE_TCP_ACK;
	uint32_t n = tcp_opt_syn(opts, mss, syn->flags, TCP_RCV_WSCALE, ts_val, syn->ts_recent);

	if (syn->flags & TCP_F_ECN)
		flags |= WIRE_TCP_ECE;
	tcp_tx_stray(nic, syn->peer_ip, syn->mac, syn->peer_port, syn->local_port, syn->iss,
		     syn->irs + 1, flags, syn->window, opts, n);
}

/* Entries with as many tries have waited as long: the last one's deadline is the latest. */
static void enlist(struct fw_nic *nic, struct tcp_syn *syn)
{
	syn->due_ns = nic->now_ns + (SYNACK_TIMEOUT_NS << syn->tries);
	fw_list_add_tail(&nic->tcp.syn_lists[syn->tries], &syn->node);
	if (!fw_timer_is_set(&nic->tcp.syn_timer) || nic->tcp.syn_timer.deadline_ns > syn->due_ns)
		fw_timer_set(&nic->timers, &nic->tcp.syn_timer, syn->due_ns);
}

/* The SYN-ACK, or its ACK, was lost. */
static void repeat_synack(struct fw_nic *nic, struct tcp_syn *syn)
{
	if (syn->tries + 1 >= TCP_SYNACK_TRIES) {
		FW_COUNT(nic, tcp_half_open_lost);
		drop_syn(nic, syn);
		return;
	}
	syn->tries++;
	syn->flags &= (uint8_t)~TCP_F_ECN;
	FW_COUNT(nic, tcp_tx_retransmits);
	send_synack(nic, syn, tcp_ts_now(nic->now_ns) + syn->ts_offset);
	fw_list_del(&syn->node);
	enlist(nic, syn);
}

static struct tcp_syn *first_of(const struct fw_nic *nic, uint32_t tries)
{
	const struct fw_list *list = &nic->tcp.syn_lists[tries];

	return fw_list_empty(list) ? NULL : FW_CONTAINER(list->next, struct tcp_syn, node);
}

void tcp_syn_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	uint32_t budget = TCP_SYNACK_TURN, tries;
	uint64_t due_ns = UINT64_MAX;
	struct tcp_syn *syn;

	for (tries = 0; tries < TCP_SYNACK_TRIES; tries++)
		while ((syn = first_of(nic, tries)) && syn->due_ns <= nic->now_ns && budget) {
			repeat_synack(nic, syn);
			budget--;
		}
	for (tries = 0; tries < TCP_SYNACK_TRIES; tries++) {
		syn = first_of(nic, tries);
		if (syn && syn->due_ns < due_ns)
			due_ns = syn->due_ns;
	}
	/* The next turn does what is left of this one. */
	if (due_ns != UINT64_MAX)
		fw_timer_set(&nic->timers, timer, due_ns > nic->now_ns ? due_ns : nic->now_ns + 1);
}

void tcp_syn_slice(struct fw_nic *nic)
{
	while (tcp_syn_pending(nic) && slice_take(nic, 1))
		drop_syn(nic, FW_CONTAINER(nic->tcp.syn_ended.next, struct tcp_syn, listener_node));
}

bool tcp_syn_pending(const struct fw_nic *nic)
{
	return !fw_list_empty(&nic->tcp.syn_ended);
}

/* Reads a SYN into an entry. */
static struct tcp_syn read_syn(struct fw_nic *nic, const struct tcp_in *in)
{
	struct tcp_syn syn = {
	    .sent_ns = nic->now_ns,
	    .peer_ip = in->info->src_ip,
	    .peer_port = in->src_port,
	    .local_port = in->dst_port,
	    .irs = in->seq,
	    .snd_wnd = in->window,
	    .mss = in->opt.mss ? in->opt.mss : (uint16_t)WIRE_TCP_DEFAULT_MSS,
	    .window = (uint16_t)tcp_grant_first(nic),
	    .wscale = in->opt.wscale,
	    .ts_recent = in->opt.ts_val,
	};

	/*
	 * The neighbour table decides the destination of answers, once it has it; data waits until
	 * then.
	 */
	neigh_answer(nic, syn.peer_ip, in->info->eth->src, syn.mac);
	if (in->opt.has_ts)
		syn.flags |= TCP_F_TS;
	if (in->opt.sack_ok)
		syn.flags |= TCP_F_SACK;
	if (in->opt.has_wscale)
		syn.flags |= TCP_F_WSCALE;
	/* RFC 3168 6.1.1: both bits request ECN; a packet that is itself marked does not. */
	if ((in->flags & (WIRE_TCP_ECE | WIRE_TCP_CWR)) == (WIRE_TCP_ECE | WIRE_TCP_CWR) &&
	    !nic->config.cc_off && !in->info->ce)
		syn.flags |= TCP_F_ECN;
	syn.ts_offset = tcp_ts_offset(nic, syn.peer_ip, syn.peer_port, syn.local_port);
	return syn;
}

/* ---- cookies --------------------------------------------------------------------------------- */

static uint32_t tcp_listen_cookie(struct fw_nic *nic, const struct tcp_syn *syn, uint64_t period,
				  uint32_t mss_index)
{
	uint64_t extra =
	    (uint64_t)syn->irs << 32 | (period & 0xffffff) << 8 | mss_index << 3 | COOKIE_KIND;

	return ((uint32_t)tcp_keyed(nic, syn->peer_ip, syn->peer_port, syn->local_port, extra) &
		~(uint32_t)COOKIE_MSS_MASK) |
	       mss_index;
}

static void send_cookie(struct fw_nic *nic, struct tcp_syn *syn)
{
	uint32_t ts_now = tcp_ts_now(nic->now_ns) + syn->ts_offset;
	uint32_t ts = ts_now & ~(uint32_t)COOKIE_TS_MASK;
	uint32_t i = COOKIE_MSS_MASK;

	while (i && cookie_mss[i] > syn->mss)
		i--;
	syn->iss = tcp_listen_cookie(nic, syn, nic->now_ns / COOKIE_PERIOD_NS, i);
	/* State that does not fit into a sequence number needs the timestamp that comes back. */
	if (!(syn->flags & TCP_F_TS))
		syn->flags = 0;
	ts |= syn->flags & TCP_F_WSCALE ? syn->wscale : (uint32_t)COOKIE_NO_WSCALE;
	ts |= syn->flags & TCP_F_SACK ? (uint32_t)COOKIE_TS_SACK : 0;
	ts |= syn->flags & TCP_F_ECN ? (uint32_t)COOKIE_TS_ECN : 0;
	/* If it were ahead of the clock, the peer would drop later segments as old (RFC 7323 5). */
	if (seq_lt(ts_now, ts))
		ts -= COOKIE_TS_MASK + 1;
	nic->tcp.cookie_ns = nic->now_ns;
	FW_COUNT(nic, tcp_cookies_tx);
	send_synack(nic, syn, ts);
}

/* Checks the ACK of a cookie that we sent: fills *syn with the decoded state. */
static bool cookie_ok(struct fw_nic *nic, const struct tcp_in *in, struct tcp_syn *syn)
{
	uint64_t period = nic->now_ns / COOKIE_PERIOD_NS;
	uint32_t iss = in->ack - 1, mss_index = iss & COOKIE_MSS_MASK, bits;

	if (!nic->tcp.cookie_ns || nic->now_ns - nic->tcp.cookie_ns > 2 * COOKIE_PERIOD_NS)
		return false;
	*syn = read_syn(nic, in);
	syn->irs = in->seq - 1;
	/* The cookie does not contain the announced window. */
	syn->window = UINT16_MAX;
	if (tcp_listen_cookie(nic, syn, period, mss_index) != iss &&
	    (!period || tcp_listen_cookie(nic, syn, period - 1, mss_index) != iss))
		return false;
	syn->iss = iss;
	syn->mss = cookie_mss[mss_index];
	syn->flags = 0;
	if (!in->opt.has_ts)
		return true;
	bits = in->opt.ts_ecr & COOKIE_TS_MASK;
	syn->flags = TCP_F_TS;
	syn->flags |= bits & COOKIE_TS_SACK ? TCP_F_SACK : 0;
	syn->flags |= bits & COOKIE_TS_ECN ? TCP_F_ECN : 0;
	syn->wscale = bits & COOKIE_TS_WSCALE;
	if (syn->wscale != COOKIE_NO_WSCALE)
		syn->flags |= TCP_F_WSCALE;
	return syn->wscale <= WIRE_TCP_MAX_WSCALE || syn->wscale == COOKIE_NO_WSCALE;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void rx_syn(struct fw_nic *nic, struct tcp_listener *listener, const struct tcp_in *in)
{
	struct tcp_syn fresh = read_syn(nic, in), *syn = NULL;
	uint32_t *head = syn_head(nic, fresh.peer_ip, fresh.peer_port, fresh.local_port);

	FW_COUNT(nic, tcp_syns_rx);
	if (listener->pending >= listener->backlog) {
		/* RFC 9293 leaves the choice open; a peer whose SYN is lost tries again. */
		FW_DROP(nic, drop_tcp_backlog);
		return;
	}
	/* At most half of the table for one listener, so that others can take a burst, too. */
	if (listener->syns < TCP_MAX_SYNS / 2)
		syn = fw_pool_get(&nic->tcp.syns);
	if (!syn) {
		send_cookie(nic, &fresh);
		return;
	}
	*syn = fresh;
	syn->iss = tcp_isn(nic, syn->peer_ip, syn->peer_port, syn->local_port);
	syn->serial = listener->serial;
	fw_list_init(&syn->listener_node);
	fw_list_add_tail(&listener->half_open, &syn->listener_node);
	fw_chain_add(head, &syn->hash_next, fw_pool_index(&nic->tcp.syns, syn));
	listener->syns++;
	fw_list_init(&syn->node);
	enlist(nic, syn);
	send_synack(nic, syn, tcp_ts_now(nic->now_ns) + syn->ts_offset);
}

static struct tcp_flow *make_flow(struct fw_nic *nic, struct tcp_listener *listener,
				  const struct tcp_syn *syn, const struct tcp_in *in)
{
	struct tcp_flow *flow =
	    tcp_flow_new(nic, syn->peer_ip, syn->peer_port, syn->local_port, listener->user);

	if (!flow)
		return NULL;
	flow->syn_tries = syn->tries;
	tcp_negotiated(nic, flow, syn->mss, syn->flags & TCP_F_TS, syn->flags & TCP_F_SACK,
		       syn->flags & TCP_F_WSCALE, syn->wscale);
	if (syn->flags & TCP_F_ECN)
		flow->flags |= TCP_F_ECN;
	flow->ts_recent = syn->ts_recent;
	flow->ts_recent_ns = nic->now_ns;
	tcp_number_from(flow, syn->iss, 1);
	flow->irs = syn->irs;
	flow->rcv_nxt = syn->irs + 1;
	flow->rcv_up = flow->rcv_nxt;
	flow->rcv_adv = flow->rcv_nxt + syn->window;
	tcp_grant_begin(flow, syn->window);
	flow->last_ack = flow->rcv_nxt;
	flow->snd_wnd = in->window << flow->snd_wscale;
	flow->snd_wnd_max = flow->snd_wnd;
	flow->snd_wl1 = in->seq;
	neigh_answer(nic, syn->peer_ip, in->info->eth->src, flow->mac);
	/* The MAC is known, but verified at the first data: a SYN may come from any station. */
	flow->neigh_ns = nic->now_ns;
	flow->neigh_change = nic->tcp.neigh_changes - 1;
	return flow;
}

/* The handshake is complete: makes a connection and passes the rest of the segment to it. */
static void open_flow(struct fw_nic *nic, struct tcp_listener *listener, const struct tcp_syn *syn,
		      struct tcp_in *in)
{
	struct tcp_flow *flow = make_flow(nic, listener, syn, in);

	if (!flow) {
		tcp_tx_reset_for(nic, in);
		return;
	}
	FW_COUNT(nic, tcp_passive_opens);
	if (syn->sent_ns != nic->now_ns && !syn->tries)
		tcp_rtt_sample(flow, nic->now_ns - syn->sent_ns);
	flow->listener = listener;
	listener->pending++;
	fw_list_add_tail(&listener->flows, &flow->pending_node);
	tcp_enter(flow);
	tcp_set_state(nic, flow, TCP_ESTABLISHED);
	flow->flags |= TCP_F_MORE;
	if (!nic->tcp.ops[listener->user]->accepted(nic, listener->ctx, flow))
		tcp_abort(nic, flow);
	if (!tcp_leave(nic, flow))
		return;
	tcp_ready(nic, flow);
	tcp_flow_rx(nic, flow, in);
}

/* A segment for a half-open connection. */
static void rx_half_open(struct fw_nic *nic, struct tcp_listener *listener, struct tcp_syn *syn,
			 struct tcp_in *in)
{
	bool is_syn = (in->flags & (WIRE_TCP_SYN | WIRE_TCP_ACK | WIRE_TCP_RST)) == WIRE_TCP_SYN;
	struct tcp_syn copy;

	/*
	 * The SYN is a stranger's, or the peer's: the peer may have begun anew, or a stranger's SYN
	 * may have come before its own, perhaps with another MAC. The entry stays, and a cookie
	 * goes to the source of this SYN. So the peer's SYN gets an acceptable answer in either
	 * case.
	 */
	if (is_syn && in->seq != syn->irs) {
		struct tcp_syn fresh = read_syn(nic, in);

		send_cookie(nic, &fresh);
		return;
	}
	if (syn->flags & TCP_F_TS && in->opt.has_ts && !(in->flags & WIRE_TCP_RST) &&
	    seq_lt(in->opt.ts_val, syn->ts_recent)) {
		FW_DROP(nic, drop_tcp_paws);
		return;
	}
	/* The SYN is repeated: so is the answer. */
	if (is_syn) {
		if (in->opt.has_ts)
			syn->ts_recent = in->opt.ts_val;
		send_synack(nic, syn, tcp_ts_now(nic->now_ns) + syn->ts_offset);
		return;
	}
	if (in->seq - (syn->irs + 1) > UINT16_MAX) {
		FW_DROP(nic, drop_tcp_window);
		return;
	}
	if (in->flags & WIRE_TCP_RST) {
		FW_COUNT(nic, tcp_rx_resets);
		if (in->seq == syn->irs + 1)
			drop_syn(nic, syn);
		return;
	}
	if (in->flags & WIRE_TCP_SYN || !(in->flags & WIRE_TCP_ACK)) {
		FW_DROP(nic, drop_tcp_malformed);
		return;
	}
	if (in->ack != syn->iss + 1) {
		tcp_tx_reset_for(nic, in);
		return;
	}
	if (listener->pending >= listener->backlog) {
		/* The SYN-ACK is repeated, and its ACK with it: there may be room then. */
		FW_DROP(nic, drop_tcp_backlog);
		return;
	}
	copy = *syn;
	if (copy.flags & TCP_F_TS && in->opt.has_ts)
		copy.ts_recent = in->opt.ts_val;
	drop_syn(nic, syn);
	open_flow(nic, listener, &copy, in);
}

bool tcp_listen_rx(struct fw_nic *nic, struct tcp_in *in)
{
	const uint8_t kind = WIRE_TCP_SYN | WIRE_TCP_ACK | WIRE_TCP_RST;
	struct tcp_listener *listener = tcp_find_listener(nic, in->dst_port);
	struct tcp_syn *syn, given;

	if (!listener)
		return false;
	syn = find_syn(nic, listener, in);
	/*
	 * A cookie's ACK counts even beside an entry: a stranger's SYN may have made that when
	 * there was room again.
	 */
	if ((in->flags & kind) == WIRE_TCP_ACK && !(syn && in->ack == syn->iss + 1) &&
	    cookie_ok(nic, in, &given)) {
		FW_COUNT(nic, tcp_cookies_rx);
		if (listener->pending >= listener->backlog) {
			FW_DROP(nic, drop_tcp_backlog);
			return true;
		}
		if (syn)
			drop_syn(nic, syn);
		open_flow(nic, listener, &given, in);
		return true;
	}
	if (syn) {
		rx_half_open(nic, listener, syn, in);
		return true;
	}
	if (in->flags & (WIRE_TCP_RST | WIRE_TCP_ACK))
		return false;
	if (!(in->flags & WIRE_TCP_SYN)) {
		/* RFC 9293 3.10.7.2, fourth: dropped without an answer. */
		FW_DROP(nic, drop_tcp_malformed);
		return true;
	}
	rx_syn(nic, listener, in);
	return true;
}
