/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle connections without frames: which may rest, and that one that was woken has kept what
 * it had. nic_fw/tcp/tcp_rest.c.
 */
#include <arpa/inet.h>

#include "nic_fw/fw_nic.h"
#include "tests/bench/host.h"

enum {
	PEER_PORT = 5000,
	OUR_PORT = 6000,
};
#define MS UINT64_C(1000000)

static struct fw_ut ut;
static struct tcp_flow *flow;
static uint32_t number; /* while it rests, else 0 */
static bool allowed;
static struct tcp_rest_lent lent;
static uint32_t ends;

static struct tcp_rest_lent *rest(struct fw_nic *nic, struct tcp_flow *f, uint32_t n)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(f, flow);
	CU_ASSERT_TRUE(n && !number);
	if (!allowed)
		return NULL;
	number = n;
	return &lent;
}

static void woken(struct fw_nic *nic, struct tcp_flow *f, struct tcp_rest_lent *l)
{
	(void)nic;
	CU_ASSERT_PTR_EQUAL(l, &lent);
	/* TCP has taken all that it keeps there. */
	memset(l, 0xee, sizeof(*l));
	f->ctx = &ut;
	flow = f;
	number = 0;
}

static void ended(struct fw_nic *nic, struct tcp_flow *f, enum tcp_end why)
{
	(void)nic;
	(void)f;
	(void)why;
	ends++;
}

static const struct tcp_ops ops = {.rest = rest, .woken = woken, .ended = ended};
static const struct tcp_ops never = {.ended = ended};

static uint32_t peer(void)
{
	return htonl(0x0a4d0009);
}

/* An established connection in the middle of its life; no two of its members are alike. */
static void begin(uint32_t snd, uint32_t rcv)
{
	struct fw_nic *nic;

	fw_ut_begin(&ut);
	nic = ut.nic;
	nic->now_ns = 100 * TCP_SECOND_NS;
	nic->tcp.ops[TCP_USER_MPA] = &ops;
	flow = tcp_flow_new(nic, peer(), PEER_PORT, OUR_PORT, TCP_USER_MPA);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	flow->ctx = &ut;
	flow->state = TCP_ESTABLISHED;
	flow->flags = TCP_F_TS | TCP_F_SACK | TCP_F_WSCALE | TCP_F_RIDE;
	tcp_number_from(flow, snd, 0);
	flow->rcv_nxt = flow->rcv_up = flow->last_ack = rcv;
	flow->rcv_adv = rcv + 4000;
	flow->rcv_limit = rcv + 5000;
	flow->rcv_high = flow->rcv_begun = rcv;
	flow->rcv_alone = 60000;
	flow->rcv_path = (struct fw_floor){.at_ns = nic->now_ns, .ns = 1234};
	flow->snd_wnd = 70000;
	flow->snd_wnd_max = 80000;
	flow->snd_wl1 = rcv - 100;
	flow->ts_recent = 0xfffffff0;
	flow->cwnd = 22222;
	flow->ssthresh = 33333;
	flow->cubic.w_max = 44444;
	flow->cubic.prior = 55555;
	flow->rtt = (struct fw_rtt){11 * MS, 3 * MS};
	flow->rto_ns = 250 * MS;
	flow->min_rtt_ns = 9 * MS;
	flow->heard_ns = nic->now_ns - 3;
	flow->sent_ns = nic->now_ns - 5;
	flow->ts_recent_ns = nic->now_ns - 7;
	flow->answered_ns = nic->now_ns - 9;
	flow->peer_mss = 1111;
	flow->path_mtu = 999;
	flow->probing = TCP_PROBE_WANTED;
	flow->probe_ns = nic->now_ns + TCP_MTU_AGE_NS;
	flow->snd_wscale = 5;
	flow->station = 6;
	flow->syn_tries = 1;
	flow->reo_mult = 7;
	flow->reo_persist = 8;
	flow->reordering = true;
	flow->fresh = false;
	memcpy(flow->mac, (const uint8_t[]){2, 0, 0, 0, 0, 9}, sizeof(flow->mac));
	flow->neigh_ns = nic->now_ns;
	tcp_set_mss(nic, flow);
	allowed = true;
	number = 0;
	ends = 0;
}

static void look(void)
{
	ut.nic->tcp.rest_looks = 1;
	tcp_rest_look(ut.nic);
}

static void wake(void)
{
	CU_ASSERT_TRUE_FATAL(number);
	CU_ASSERT_PTR_NOT_NULL(tcp_wake(ut.nic, number));
	CU_ASSERT_EQUAL(number, 0);
}

static void end(void)
{
	if (number)
		wake();
	tcp_end(ut.nic, flow, TCP_END_RESET);
	CU_ASSERT_EQUAL(ends, 1);
	CU_ASSERT_EQUAL(ut.nic->tcp.num_flows, 0);
	CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 0);
	CU_ASSERT_EQUAL(ut.nic->tcp.rests.used, 0);
	CU_ASSERT_TRUE(fw_list_empty(&ut.nic->tcp.awake));
	CU_ASSERT_EQUAL(ut.nic->tcp.grants.open, 0);
	fw_ut_end(&ut);
}

#define SAME(member) CU_ASSERT_EQUAL(flow->member, was.member)

static void same_as(const struct tcp_flow was)
{
	SAME(ctx);
	SAME(user);
	SAME(peer_ip);
	SAME(peer_port);
	SAME(local_port);
	SAME(snd_una);
	SAME(snd_nxt);
	SAME(snd_wnd);
	SAME(snd_wl1);
	SAME(snd_wnd_max);
	SAME(rcv_nxt);
	SAME(rcv_up);
	SAME(rcv_adv);
	SAME(rcv_limit);
	SAME(rcv_high);
	SAME(rcv_begun);
	SAME(rcv_alone);
	SAME(last_ack);
	SAME(ts_recent);
	SAME(ts_recent_ns);
	SAME(ts_offset);
	SAME(cwnd);
	SAME(ssthresh);
	SAME(pipe);
	SAME(flags);
	SAME(mss);
	SAME(state);
	SAME(snd_wscale);
	SAME(probing);
	SAME(probe_ns);
	SAME(rtt.srtt_ns);
	SAME(rtt.var_ns);
	SAME(rto_ns);
	SAME(min_rtt_ns);
	SAME(heard_ns);
	SAME(sent_ns);
	SAME(answered_ns);
	SAME(keep_ns);
	SAME(path_mtu);
	SAME(peer_mss);
	SAME(station);
	SAME(syn_tries);
	SAME(reo_mult);
	SAME(reo_persist);
	SAME(reordering);
	SAME(fresh);
	SAME(granted);
	SAME(fack);
	SAME(recover);
	SAME(cwr_end);
	SAME(dsack_end);
	SAME(tlp_end);
	SAME(rack_end);
	SAME(loss_timer);
	SAME(cubic.w_max);
	SAME(cubic.prior);
	CU_ASSERT_EQUAL(fw_floor_ns(&flow->rcv_path), fw_floor_ns(&was.rcv_path));
	CU_ASSERT_FALSE(memcmp(flow->mac, was.mac, sizeof(was.mac)));
	CU_ASSERT_TRUE(flow->neigh_ns);
	CU_ASSERT_NOT_EQUAL(flow->neigh_change, ut.nic->tcp.neigh_changes);
}

/* Also where its numbers wrap around, and again after it was woken. */
static void keeps_its_state(void)
{
	static const uint32_t at[] = {1000, 0, UINT32_MAX, UINT32_MAX - 100, 1u << 31};
	struct tcp_flow was;
	uint32_t i, k;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		begin(at[i], at[sizeof(at) / sizeof(at[0]) - 1 - i]);
		tcp_keepalive(ut.nic, flow, 15 * TCP_SECOND_NS);
		for (k = 0; k < 3; k++) {
			was = *flow;
			look();
			CU_ASSERT_TRUE_FATAL(number);
			CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 0);
			CU_ASSERT_EQUAL(ut.nic->tcp.num_flows, 1);
			CU_ASSERT_PTR_NULL(tcp_find(ut.nic, peer(), PEER_PORT, OUR_PORT));
			CU_ASSERT_TRUE(tcp_rests(ut.nic, peer(), PEER_PORT, OUR_PORT));
			CU_ASSERT_FALSE(tcp_rests(ut.nic, peer(), PEER_PORT, OUR_PORT + 1));
			CU_ASSERT_FALSE(tcp_rests(ut.nic, peer(), PEER_PORT + 1, OUR_PORT));
			CU_ASSERT_FALSE(tcp_rests(ut.nic, peer() + 1, PEER_PORT, OUR_PORT));
			wake();
			same_as(was);
			CU_ASSERT_PTR_EQUAL(tcp_find(ut.nic, peer(), PEER_PORT, OUR_PORT), flow);
			CU_ASSERT_FALSE(tcp_rests(ut.nic, peer(), PEER_PORT, OUR_PORT));
		}
		end();
	}
}

/* Without a smaller path MTU no longer segments are tried. */
static void keeps_a_full_path(void)
{
	begin(1, 2);
	flow->probing = TCP_PROBE_NONE;
	look();
	wake();
	CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_NONE);
	end();
}

#define STAYS(member, value)                                                                       \
	do {                                                                                       \
		__typeof__(flow->member) before = flow->member;                                    \
                                                                                                   \
		flow->member = (value);                                                            \
		look();                                                                            \
		CU_ASSERT_EQUAL(number, 0);                                                        \
		flow->member = before;                                                             \
	} while (0)

/* In a list, or a list that is not empty. */
static void stays_listed(struct fw_list *node)
{
	struct fw_list head;

	fw_list_init(&head);
	fw_list_add_tail(&head, node);
	look();
	CU_ASSERT_EQUAL(number, 0);
	fw_list_del(node);
}

/* Each thing under way keeps it awake. */
static void stays_awake(void)
{
	static const uint16_t flags[] = {TCP_F_ACK_NOW, TCP_F_RECOVERY, TCP_F_LOSS,
					 TCP_F_CLOSE,   TCP_F_FIN_RCVD, TCP_F_MORE,
					 TCP_F_STALLED, TCP_F_PROBE};
	struct tcp_listener listener;
	uint32_t i;

	begin(1000, 2000);
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		STAYS(flags, flow->flags | flags[i]);
	STAYS(state, TCP_CLOSE_WAIT);
	STAYS(state, TCP_FIN_WAIT_1);
	STAYS(snd_nxt, flow->snd_nxt + 1);
	STAYS(rcv_up, flow->rcv_up - 1);
	STAYS(last_ack, flow->last_ack - 1);
	STAYS(num_ranges, 1);
	STAYS(num_blocks, 1);
	STAYS(dsack.to, flow->dsack.from + 1);
	STAYS(fin_seen, true);
	STAYS(ack_ns, ut.nic->now_ns + 1);
	STAYS(wait_ns, ut.nic->now_ns + 1);
	STAYS(loss_timer, TCP_LOSS_PERSIST);
	STAYS(trouble_ns, 1);
	STAYS(kept_back, true);
	STAYS(keep_tries, 1);
	STAYS(unreachable, 1);
	STAYS(listener, &listener);
	STAYS(neigh_ns, 0);
	STAYS(rtt.srtt_ns, UINT64_C(1) << 32);
	STAYS(rtt.var_ns, UINT64_C(1) << 32);
	STAYS(min_rtt_ns, UINT64_C(1) << 32);
	stays_listed(&flow->ready_node);
	stays_listed(&flow->ack_node);
	stays_listed(&flow->wait_node);
	stays_listed(&flow->grant_node);
	stays_listed(&flow->held_node);
	stays_listed(&flow->segs);
	stays_listed(&flow->early);
	/* The layer above has something to do. */
	allowed = false;
	look();
	CU_ASSERT_EQUAL(ut.nic->tcp.rests.used, 0);
	allowed = true;
	ut.nic->tcp.ops[TCP_USER_MPA] = &never;
	look();
	CU_ASSERT_EQUAL(number, 0);
	ut.nic->tcp.ops[TCP_USER_MPA] = &ops;
	look();
	CU_ASSERT_TRUE(number);
	end();
}

/* A peer whose last segment left open whether more follows, until it has been silent for long. */
static void more_may_follow(void)
{
	struct tcp_grants *g;
	uint32_t k;

	for (k = 0; k < 2; k++) {
		begin(1000, 2000);
		g = &ut.nic->tcp.grants;
		flow->backlogged = true;
		g->num_backlogged = 1;
		flow->held_ns = ut.nic->now_ns;
		flow->rcv_path.ns = k ? 100 * (uint32_t)MS : 1000;
		fw_list_add_tail(&g->held, &flow->held_node);
		ut.nic->now_ns += k ? 11 * MS - 1 : MS + 4000 - 1;
		look();
		CU_ASSERT_EQUAL(number, 0);
		CU_ASSERT_EQUAL(g->num_backlogged, 1);
		ut.nic->now_ns++;
		/* While others ask, too, the timer of the grants ends its window, and reminds it
		 * first. */
		g->num_backlogged = 2;
		look();
		CU_ASSERT_EQUAL(number, 0);
		CU_ASSERT_TRUE(flow->backlogged && fw_list_linked(&flow->held_node));
		g->num_backlogged = 1;
		look();
		CU_ASSERT_TRUE(number);
		CU_ASSERT_EQUAL(g->num_backlogged, 0);
		CU_ASSERT_TRUE(fw_list_empty(&g->held));
		wake();
		CU_ASSERT_FALSE(flow->backlogged);
		end();
	}
}

/* Some connections may stay as they are; others rest after a silence in both directions. */
static void after_a_silence(void)
{
	uint64_t now_ns;

	begin(1000, 2000);
	now_ns = ut.nic->now_ns;
	ut.nic->config.tcp_awake = 1;
	ut.nic->now_ns = now_ns + TCP_REST_NS;
	look();
	CU_ASSERT_EQUAL(number, 0);
	ut.nic->tcp.flows.used++;
	flow->heard_ns = now_ns;
	ut.nic->now_ns = now_ns + TCP_REST_NS - 1;
	look();
	CU_ASSERT_EQUAL(number, 0);
	CU_ASSERT_EQUAL(ut.nic->tcp.rest_looks, 0);
	flow->heard_ns = now_ns - 1;
	flow->sent_ns = now_ns;
	look();
	CU_ASSERT_EQUAL(number, 0);
	ut.nic->now_ns++;
	look();
	CU_ASSERT_TRUE(number);
	ut.nic->tcp.flows.used--;
	end();
}

/* The more are awake, the shorter a silence does. */
static void in_a_crowd(void)
{
	static const struct {
		uint32_t awake;
		uint64_t ns;
	} is[] = {{127, TCP_REST_NS},     {128, TCP_REST_NS / 2},    {255, TCP_REST_NS / 2},
		  {256, TCP_REST_NS / 4}, {1024, TCP_REST_NS / 256}, {20 * 128, 9},
		  {TCP_MAX_FLOWS, 9}};
	uint32_t i;

	for (i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		begin(1000, 2000);
		ut.nic->config.tcp_awake = 1;
		flow->heard_ns = flow->sent_ns = ut.nic->now_ns;
		ut.nic->tcp.flows.used += is[i].awake - 1;
		ut.nic->now_ns += is[i].ns - 1;
		look();
		CU_ASSERT_EQUAL(number, 0);
		ut.nic->now_ns++;
		look();
		CU_ASSERT_TRUE(number);
		ut.nic->tcp.flows.used -= is[i].awake - 1;
		end();
	}
}

/* Two looks for each that is made or woken; they go round. */
static void looks(void)
{
	struct tcp_flow *others[40];
	uint32_t i;

	begin(1000, 2000);
	ut.nic->config.tcp_awake = 2;
	CU_ASSERT_EQUAL(ut.nic->tcp.rest_looks, 2);
	tcp_rest_look(ut.nic);
	CU_ASSERT_EQUAL(ut.nic->tcp.rest_looks, 0);
	for (i = 0; i < 40; i++) {
		others[i] = tcp_flow_new(ut.nic, peer(), PEER_PORT, (uint16_t)(OUR_PORT + 1 + i),
					 TCP_USER_MPA);
		CU_ASSERT_PTR_NOT_NULL_FATAL(others[i]);
		others[i]->state = TCP_SYN_SENT;
		CU_ASSERT_EQUAL(ut.nic->tcp.rest_looks, i < 1 ? 0 : i < 33 ? 2 * i : 64);
	}
	/* The oldest first. */
	ut.nic->now_ns += TCP_REST_NS;
	ut.nic->tcp.rest_looks = 1;
	tcp_rest_look(ut.nic);
	CU_ASSERT_TRUE(number);
	CU_ASSERT_EQUAL(ut.nic->tcp.flows.used, 40);
	wake();
	CU_ASSERT_EQUAL(ut.nic->tcp.rest_looks, 2);
	/* It is the last now: 40 others are looked at before. */
	ut.nic->tcp.rest_looks = 40;
	tcp_rest_look(ut.nic);
	CU_ASSERT_EQUAL(number, 0);
	ut.nic->tcp.rest_looks = 1;
	tcp_rest_look(ut.nic);
	CU_ASSERT_TRUE(number);
	for (i = 0; i < 40; i++)
		tcp_abort(ut.nic, others[i]);
	end();
}

/* Connections at rest count: each of them may be woken at any time. */
static void room_for_all(void)
{
	struct tcp_flow *other;

	begin(1000, 2000);
	ut.nic->tcp.flows.max = 2;
	look();
	CU_ASSERT_TRUE(number);
	other = tcp_flow_new(ut.nic, peer(), PEER_PORT, OUR_PORT + 1, TCP_USER_MPA);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	other->state = TCP_SYN_SENT;
	CU_ASSERT_PTR_NULL(tcp_flow_new(ut.nic, peer(), PEER_PORT, OUR_PORT + 2, TCP_USER_MPA));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_table_full, 1);
	CU_ASSERT_EQUAL(tcp_flows_open(ut.nic), 2);
	/* Its addresses are taken. */
	CU_ASSERT_PTR_NULL(tcp_connect(ut.nic, peer(), PEER_PORT, OUR_PORT, TCP_USER_MPA, &ut));
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_table_full, 1);
	wake();
	CU_ASSERT_EQUAL(ut.nic->tcp.num_flows, 2);
	tcp_abort(ut.nic, other);
	end();
}

/* It comes when it would have come without rest, though one timer alone may fire in a turn. */
static void keep_alive_is_due(void)
{
	begin(1000, 2000);
	tcp_keepalive(ut.nic, flow, 15 * TCP_SECOND_NS);
	look();
	CU_ASSERT_TRUE_FATAL(number);
	CU_ASSERT_EQUAL(fw_timers_next_ns(&ut.nic->timers),
			ut.nic->now_ns - 3 + 15 * TCP_SECOND_NS);
	ut.nic->now_ns += 15 * TCP_SECOND_NS - 4;
	fw_timers_run(ut.nic, &ut.nic->timers, ut.nic->now_ns, 1);
	CU_ASSERT_TRUE(number);
	ut.nic->now_ns++;
	fw_timers_run(ut.nic, &ut.nic->timers, ut.nic->now_ns, 1);
	CU_ASSERT_EQUAL(number, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_keepalives, 1);
	CU_ASSERT_EQUAL(flow->keep_tries, 1);
	/* Unanswered, it does not rest again. */
	look();
	CU_ASSERT_EQUAL(number, 0);
	end();
}

/* Without keep-alive no timer runs. */
static void nothing_is_due(void)
{
	begin(1000, 2000);
	fw_timer_set(&ut.nic->timers, &flow->timer, ut.nic->now_ns + 1);
	look();
	CU_ASSERT_TRUE(number);
	ut.nic->now_ns += 1000 * TCP_SECOND_NS;
	fw_timers_run(ut.nic, &ut.nic->timers, ut.nic->now_ns, 8);
	CU_ASSERT_TRUE(number);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_rest", UT(keeps_its_state), UT(keeps_a_full_path), UT(stays_awake),
	UT(more_may_follow), UT(after_a_silence), UT(in_a_crowd), UT(looks), UT(room_for_all),
	UT(keep_alive_is_due), UT(nothing_is_due))
