/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers of a connection without frames: which one is set after what, for how long, and what it
 * does when its time has come. RFC 6298, RFC 8985 7, RFC 9293 3.8.6.1; nic_fw/tcp/tcp_timer.c.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "nic_fw/tcp/tcp_flow.h"
#include "tests/bench/host.h"

enum {
	PEER_PORT = 5000,
	OUR_PORT = 6000,
	MSS = 1000,
};
#define MS     UINT64_C(1000000)
#define SRTT   (10 * MS)
#define RTO    (300 * MS)
#define MINUTE (60 * TCP_SECOND_NS)

static struct fw_ut ut;
static struct tcp_flow *flow;
static struct tcp_seg seg;
static uint32_t ends;
static enum tcp_end end_why;
static uint32_t num_sent;
static int32_t sent_at;

static void ended(struct fw_nic *nic, struct tcp_flow *f, enum tcp_end why)
{
	(void)nic;
	(void)f;
	ends++;
	end_why = why;
}

static void acked(struct fw_nic *nic, struct tcp_flow *f, struct tcp_seg *s, bool ok)
{
	(void)nic;
	(void)f;
	(void)s;
	(void)ok;
}

static const struct tcp_ops ops = {.ended = ended, .acked = acked};

static uint32_t peer(void)
{
	return htonl(0x0a4d0009);
}

/* Notes the sequence number of a segment, from snd_una on. Other frames are of ARP. */
static void sent(struct bench_port *port, struct bench_frame *frame)
{
	const struct wire_tcp *tcp =
	    (const void *)(frame->b + sizeof(struct wire_eth) + sizeof(struct wire_ip));

	(void)port;
	if (frame->n >= sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(*tcp)) {
		CU_ASSERT_EQUAL(tcp->flags, WIRE_TCP_ACK);
		num_sent++;
		sent_at = (int32_t)(be32_get(tcp->seq) - flow->snd_una);
	}
	free(frame->b);
}

static void begin(void)
{
	fw_ut_begin(&ut);
	ut.nic->tcp.ops[TCP_USER_MPA] = &ops;
	flow = tcp_flow_new(ut.nic, peer(), PEER_PORT, OUR_PORT, TCP_USER_MPA);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	flow->state = TCP_ESTABLISHED;
	flow->flags = TCP_F_SACK;
	flow->mss = MSS;
	flow->snd_wnd = 100 * MSS;
	flow->rtt.srtt_ns = SRTT;
	flow->rto_ns = RTO;
	flow->heard_ns = ut.nic->now_ns;
	ends = 0;
	ut.port.sent = sent;
}

/* The address of the peer is known for a while. */
static void know_peer(void)
{
	memcpy(flow->mac, (const uint8_t[]){2, 0, 0, 0, 0, 9}, sizeof(flow->mac));
	flow->neigh_ns = ut.nic->now_ns;
	flow->neigh_change = ut.nic->tcp.neigh_changes;
}

/* A segment without data went, of the byte before the first unacknowledged one. */
static bool was_probed(void)
{
	uint32_t before = num_sent;

	eth_tx_flush(ut.nic);
	return num_sent == before + 1 && sent_at == -1;
}

static bool is_over(void)
{
	return !tcp_find(ut.nic, peer(), PEER_PORT, OUR_PORT);
}

static void end(void)
{
	if (!is_over()) {
		fw_list_del(&seg.node);
		fw_list_init(&flow->segs);
		tcp_end(ut.nic, flow, TCP_END_CLOSED);
	}
	fw_ut_end(&ut);
}

/* So many bytes are in flight, in one segment. */
static void in_flight(uint32_t bytes)
{
	seg = (struct tcp_seg){.seq = flow->snd_una, .bytes = bytes, .sent_ns = ut.nic->now_ns};
	fw_list_init(&seg.node);
	fw_list_add_tail(&flow->segs, &seg.node);
	flow->snd_nxt = flow->snd_una + bytes;
	flow->pipe = bytes;
}

/* A segment waits for room in the window of the peer. */
static void unsent(uint32_t bytes)
{
	in_flight(bytes);
	flow->snd_nxt = flow->snd_una;
	flow->pipe = 0;
}

static void check_timer(enum tcp_loss_timer timer, uint64_t in_ns)
{
	CU_ASSERT_EQUAL(flow->loss_timer, timer);
	CU_ASSERT_EQUAL(flow->loss_ns, ut.nic->now_ns + in_ns);
	CU_ASSERT_TRUE(fw_timer_is_set(&flow->timer));
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, flow->loss_ns);
	fw_timer_cancel(&ut.nic->timers, &flow->timer);
}

static void fire_after(uint64_t ns)
{
	ut.nic->now_ns += ns;
	fw_timer_cancel(&ut.nic->timers, &flow->timer);
	tcp_timer_fire(ut.nic, &flow->timer);
}

static bool is_ready(void)
{
	bool ready = fw_list_linked(&flow->ready_node);

	fw_list_del(&flow->ready_node);
	return ready;
}

/* ---- which timer */

static void a_probe_comes_before_the_timeout(void)
{
	begin();
	in_flight(2 * MSS);
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_TLP, 2 * SRTT);
	/* The ACK of one segment may be delayed. */
	flow->snd_nxt = flow->snd_una + MSS;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_TLP, 2 * SRTT + TCP_PTO_ACK_NS);
	/* Not too soon, and not later than the timeout. */
	flow->snd_nxt = flow->snd_una + 2 * MSS;
	flow->rtt.srtt_ns = 1000;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_TLP, TCP_PTO_MIN_NS);
	flow->rtt.srtt_ns = RTO / 2;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	flow->rtt.srtt_ns = RTO / 2 - 1;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_TLP, RTO - 2);
	end();
}

static void cases_without_a_probe(void)
{
	begin();
	in_flight(2 * MSS);
	flow->flags = 0;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	flow->flags = TCP_F_SACK | TCP_F_RECOVERY;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	flow->flags = TCP_F_SACK | TCP_F_LOSS;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	flow->flags = TCP_F_SACK;
	flow->sacked = 1;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	flow->sacked = 0;
	flow->tlp_out = true;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	flow->tlp_out = false;
	flow->rtt.srtt_ns = 0;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	flow->rtt.srtt_ns = SRTT;
	flow->state = TCP_SYN_SENT;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_RTO, RTO);
	/* The reordering window comes first. */
	flow->state = TCP_ESTABLISHED;
	flow->loss_timer = TCP_LOSS_REORDER;
	flow->loss_ns = ut.nic->now_ns + 5;
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_REORDER, 5);
	end();
}

static void nothing_in_flight(void)
{
	begin();
	flow->backoff = 3;
	tcp_loss_rearm(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->loss_timer, TCP_LOSS_NONE);
	CU_ASSERT_EQUAL(flow->backoff, 0);
	CU_ASSERT_FALSE(fw_timer_is_set(&flow->timer));
	/* The window is too small for what waits. */
	unsent(MSS);
	tcp_loss_rearm(ut.nic, flow);
	check_timer(TCP_LOSS_PERSIST, RTO);
	/* It keeps its time. */
	ut.nic->now_ns += 5;
	flow->backoff = 3;
	tcp_loss_rearm(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->loss_ns, ut.nic->now_ns + RTO - 5);
	CU_ASSERT_EQUAL(flow->backoff, 3);
	/* The layer above has given it up. */
	flow->user = TCP_USER_NONE;
	tcp_loss_rearm(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->loss_timer, TCP_LOSS_NONE);
	flow->user = TCP_USER_MPA;
	end();
}

/* RFC 6298 5.5, 2.4, 2.5 */
static void timeouts_double_up_to_a_minute(void)
{
	uint64_t want = RTO;
	uint32_t i;

	begin();
	flow->flags = 0;
	in_flight(2 * MSS);
	for (i = 0; i < 40; i++) {
		flow->backoff = (uint8_t)i;
		tcp_loss_rearm(ut.nic, flow);
		check_timer(TCP_LOSS_RTO, want);
		want = 2 * want < MINUTE ? 2 * want : MINUTE;
	}
	memset(&flow->rtt, 0, sizeof(flow->rtt));
	tcp_rtt_sample(flow, 1000);
	CU_ASSERT_EQUAL(flow->rto_ns, TCP_MIN_RTO_NS);
	CU_ASSERT_EQUAL(flow->rtt.srtt_ns, 1000);
	memset(&flow->rtt, 0, sizeof(flow->rtt));
	tcp_rtt_sample(flow, 50 * TCP_SECOND_NS);
	CU_ASSERT_EQUAL(flow->rto_ns, TCP_MAX_RTO_NS);
	end();
}

static void the_nearest_deadline_counts(void)
{
	uint64_t now;

	begin();
	now = ut.nic->now_ns;
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_FALSE(fw_timer_is_set(&flow->timer));
	flow->keep_ns = 1000;
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, now + 1000);
	flow->wait_ns = now + 900;
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, now + 900);
	flow->ack_ns = now + 800;
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, now + 800);
	flow->loss_timer = TCP_LOSS_RTO;
	flow->loss_ns = now + 700;
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, now + 700);
	/* A later one waits until this one has fired. */
	flow->loss_ns = now + 750;
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, now + 700);
	fw_timer_cancel(&ut.nic->timers, &flow->timer);
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, now + 750);
	/* Keep-alive is for connections that are established. */
	fw_timer_cancel(&ut.nic->timers, &flow->timer);
	flow->loss_timer = TCP_LOSS_NONE;
	flow->ack_ns = flow->wait_ns = 0;
	flow->state = TCP_SYN_SENT;
	tcp_timer_update(ut.nic, flow);
	CU_ASSERT_FALSE(fw_timer_is_set(&flow->timer));
	flow->state = TCP_ESTABLISHED;
	end();
}

/* ---- their time has come */

static void a_timeout(void)
{
	begin();
	in_flight(2 * MSS);
	flow->loss_timer = TCP_LOSS_RTO;
	flow->loss_ns = ut.nic->now_ns + RTO;
	flow->tlp_out = true;
	fire_after(RTO - 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_timeouts, 0);
	CU_ASSERT_FALSE(is_ready());
	fire_after(1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_timeouts, 1);
	CU_ASSERT_TRUE(is_ready());
	CU_ASSERT_TRUE(flow->flags & TCP_F_LOSS);
	CU_ASSERT_TRUE(flow->flags & TCP_F_PROBE);
	CU_ASSERT_TRUE(seg.flags & TCP_SEG_LOST);
	CU_ASSERT_FALSE(flow->tlp_out);
	CU_ASSERT_EQUAL(flow->backoff, 1);
	CU_ASSERT_EQUAL(flow->trouble_ns, ut.nic->now_ns);
	CU_ASSERT_EQUAL(flow->frto, TCP_FRTO_WAIT);
	CU_ASSERT_EQUAL(flow->busy, 0);
	check_timer(TCP_LOSS_RTO, 2 * RTO);
	/* A segment that was never sent is no loss of the path. */
	flow->kept_back = true;
	fire_after(2 * RTO);
	CU_ASSERT_EQUAL(flow->backoff, 1);
	CU_ASSERT_FALSE(flow->kept_back);
	check_timer(TCP_LOSS_RTO, 2 * RTO);
	end();
}

static void a_peer_that_does_not_answer_is_given_up(void)
{
	begin();
	in_flight(2 * MSS);
	flow->loss_timer = TCP_LOSS_RTO;
	flow->trouble_ns = ut.nic->now_ns;
	/* It answers, but has no room: it may take its time. */
	flow->snd_wnd = 0;
	ut.nic->now_ns += TCP_GIVE_UP_NS;
	flow->loss_ns = ut.nic->now_ns;
	fire_after(0);
	CU_ASSERT_EQUAL(flow->trouble_ns, ut.nic->now_ns);
	/* Then it falls silent. */
	flow->loss_ns = 0;
	fire_after(TCP_GIVE_UP_NS);
	CU_ASSERT_EQUAL(ends, 0);
	flow->loss_ns = 0;
	fw_list_del(&seg.node);
	flow->unreachable = 1;
	fire_after(1);
	CU_ASSERT_EQUAL(ends, 1);
	CU_ASSERT_EQUAL(end_why, TCP_END_UNREACHABLE);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_given_up, 1);
	CU_ASSERT_TRUE(is_over());
	end();
}

static void syns_are_repeated_some_times(void)
{
	uint32_t i;

	begin();
	flow->state = TCP_SYN_SENT;
	flow->flags = TCP_F_ECN | TCP_F_SACK;
	for (i = 1; i < TCP_SYN_TRIES; i++) {
		flow->loss_timer = TCP_LOSS_RTO;
		flow->loss_ns = 0;
		fire_after(1);
		CU_ASSERT_EQUAL(flow->syn_tries, i);
		CU_ASSERT_EQUAL_FATAL(ends, 0);
		/* A host on the way may drop SYNs with ECN. */
		CU_ASSERT_FALSE(flow->flags & TCP_F_ECN);
	}
	flow->loss_ns = 0;
	fire_after(1);
	CU_ASSERT_EQUAL(ends, 1);
	CU_ASSERT_EQUAL(end_why, TCP_END_TIMEOUT);
	CU_ASSERT_TRUE(is_over());
	end();
}

static void a_tail_probe(void)
{
	begin();
	in_flight(2 * MSS);
	flow->tlp_retrans = true;
	flow->loss_timer = TCP_LOSS_TLP;
	flow->loss_ns = ut.nic->now_ns + 5;
	fire_after(5);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_tail_probes, 1);
	CU_ASSERT_TRUE(flow->tlp_out);
	CU_ASSERT_FALSE(flow->tlp_retrans);
	CU_ASSERT_EQUAL(flow->tlp_end, flow->snd_nxt);
	CU_ASSERT_TRUE(flow->flags & TCP_F_PROBE);
	CU_ASSERT_TRUE(is_ready());
	CU_ASSERT_EQUAL(flow->backoff, 0);
	check_timer(TCP_LOSS_RTO, RTO);
	end();
}

static void the_reordering_window_has_passed(void)
{
	static struct tcp_seg later;

	begin();
	in_flight(MSS);
	/* A segment that was sent later has arrived. */
	later = seg;
	later.seq += MSS;
	later.sent_ns += 10;
	fw_list_init(&later.node);
	fw_list_add_tail(&flow->segs, &later.node);
	flow->snd_nxt += MSS;
	flow->pipe += MSS;
	tcp_seg_mark(flow, &later, TCP_SEG_SACKED, 0);
	flow->rack_sent_ns = later.sent_ns;
	flow->rack_end = tcp_seg_end(&later);
	flow->rack_rtt_ns = 1000;
	flow->reordering = true;
	flow->reo_mult = 1;
	flow->min_rtt_ns = 400;
	flow->loss_timer = TCP_LOSS_REORDER;
	flow->loss_ns = 0;
	fire_after(1099);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_recoveries, 0);
	check_timer(TCP_LOSS_REORDER, 1);
	CU_ASSERT_TRUE(is_ready());
	fire_after(1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_recoveries, 1);
	CU_ASSERT_TRUE(seg.flags & TCP_SEG_LOST);
	CU_ASSERT_TRUE(is_ready());
	/* Its copy may be lost, too. */
	check_timer(TCP_LOSS_RTO, RTO);
	fw_list_del(&later.node);
	end();
}

static void a_closed_window_is_probed(void)
{
	begin();
	unsent(MSS);
	flow->loss_timer = TCP_LOSS_PERSIST;
	flow->loss_ns = ut.nic->now_ns + 5;
	flow->snd_wnd = 0;
	know_peer();
	fire_after(5);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_window_probes, 1);
	CU_ASSERT_TRUE(was_probed());
	CU_ASSERT_FALSE(flow->flags & TCP_F_PROBE);
	check_timer(TCP_LOSS_PERSIST, 2 * RTO);
	/* It stayed below a segment: as much as fits goes. */
	flow->snd_wnd = 10;
	fire_after(2 * RTO);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_window_probes, 2);
	CU_ASSERT_TRUE(flow->flags & TCP_F_PROBE);
	CU_ASSERT_TRUE(is_ready());
	check_timer(TCP_LOSS_PERSIST, 4 * RTO);
	/* A peer that answers keeps it open; one that is silent does not. */
	ut.nic->now_ns = flow->heard_ns + TCP_GIVE_UP_NS;
	flow->loss_ns = 0;
	fire_after(0);
	CU_ASSERT_EQUAL(ends, 0);
	flow->loss_ns = 0;
	fw_list_del(&seg.node);
	fire_after(1);
	CU_ASSERT_EQUAL(ends, 1);
	CU_ASSERT_EQUAL(end_why, TCP_END_TIMEOUT);
	end();
}

static void an_ack_that_no_answer_carried(void)
{
	begin();
	flow->flags |= TCP_F_RIDE;
	flow->ack_ns = ut.nic->now_ns + 5;
	fire_after(4);
	CU_ASSERT_FALSE(flow->flags & TCP_F_ACK_NOW);
	CU_ASSERT_TRUE(flow->flags & TCP_F_RIDE);
	fire_after(1);
	CU_ASSERT_TRUE(flow->flags & TCP_F_ACK_NOW);
	CU_ASSERT_FALSE(flow->flags & TCP_F_RIDE);
	CU_ASSERT_TRUE(fw_list_linked(&flow->ack_node));
	CU_ASSERT_EQUAL(flow->ack_ns, 0);
	end();
}

static void silence_is_probed_some_times(void)
{
	uint32_t i;

	begin();
	flow->keep_ns = 400 * TCP_SECOND_NS;
	fire_after(400 * TCP_SECOND_NS - 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_keepalives, 0);
	fire_after(1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_keepalives, 1);
	for (i = 2; i <= TCP_KEEP_TRIES; i++) {
		/* A quarter of the time is more than 75 seconds. */
		CU_ASSERT_EQUAL(flow->timer.deadline_ns, ut.nic->now_ns + 75 * TCP_SECOND_NS);
		fire_after(75 * TCP_SECOND_NS);
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_keepalives, i);
		CU_ASSERT_EQUAL_FATAL(ends, 0);
	}
	fire_after(75 * TCP_SECOND_NS);
	CU_ASSERT_EQUAL(ends, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_keepalives, TCP_KEEP_TRIES);
	end();
	begin();
	flow->keep_ns = 100 * TCP_SECOND_NS;
	ut.nic->now_ns += 100 * TCP_SECOND_NS;
	know_peer();
	fire_after(0);
	CU_ASSERT_TRUE(was_probed());
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, ut.nic->now_ns + 25 * TCP_SECOND_NS);
	end();
}

static void waits_for_the_end_of_the_peer(void)
{
	begin();
	flow->state = TCP_FIN_WAIT_2;
	flow->wait_ns = ut.nic->now_ns + 5;
	fire_after(4);
	CU_ASSERT_FALSE(is_over());
	fire_after(1);
	CU_ASSERT_TRUE(is_over());
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_given_up, 1);
	CU_ASSERT_EQUAL(end_why, TCP_END_TIMEOUT);
	end();
	begin();
	flow->state = TCP_FIN_WAIT_2;
	tcp_enter_time_wait(ut.nic, flow);
	CU_ASSERT_EQUAL(ends, 1);
	CU_ASSERT_EQUAL(flow->timer.deadline_ns, ut.nic->now_ns + TCP_TIME_WAIT_NS);
	fire_after(TCP_TIME_WAIT_NS);
	CU_ASSERT_TRUE(is_over());
	CU_ASSERT_EQUAL(ends, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_given_up, 0);
	end();
}

UT_MAIN("nic_fw/tcp/tcp_timer", UT(a_probe_comes_before_the_timeout), UT(cases_without_a_probe),
	UT(nothing_in_flight), UT(timeouts_double_up_to_a_minute), UT(the_nearest_deadline_counts),
	UT(a_timeout), UT(a_peer_that_does_not_answer_is_given_up),
	UT(syns_are_repeated_some_times), UT(a_tail_probe), UT(the_reordering_window_has_passed),
	UT(a_closed_window_is_probed), UT(an_ack_that_no_answer_carried),
	UT(silence_is_probed_some_times), UT(waits_for_the_end_of_the_peer))
