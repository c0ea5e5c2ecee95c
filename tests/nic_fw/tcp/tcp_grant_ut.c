/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/tcp/tcp_grant.c: the receive windows of connections that share a line, segment by segment.
 */
#include "nic_fw/tcp/tcp_grant.c"
#include "tests/ut.h"

enum {
	PEERS = 64,
	BYTES = 4044, /* a full segment at an MTU of 4096 */
	HEAP = 16,
};

const fw_timer_fn fw_timer_fires[FW_TIMER_KINDS] = {[FW_TIMER_TCP_GRANT] = tcp_grant_fire};

static struct fw_nic nic;
static struct fw_timer *heap[HEAP];
static struct tcp_flow peer[PEERS];
static const struct ip_rx_info info;

static void begin(uint32_t n)
{
	uint32_t i;

	memset(&nic, 0, sizeof(nic));
	memset(peer, 0, sizeof(peer));
	nic.now_ns = 1000000000;
	nic.config.mtu = 4096;
	fw_timers_init(&nic.timers, heap, HEAP);
	fw_list_init(&nic.tcp.acks);
	tcp_grant_init(&nic);
	for (i = 0; i < n; i++) {
		struct tcp_flow *f = &peer[i];

		fw_list_init(&f->ack_node);
		fw_list_init(&f->early);
		fw_list_init(&f->grant_node);
		fw_list_init(&f->held_node);
		f->state = TCP_ESTABLISHED;
		f->flags = TCP_F_SACK | TCP_F_TS | TCP_F_WSCALE;
		f->rcv_nxt = f->rcv_up = f->rcv_adv = (uint32_t)-20000; /* numbers wrap */
		f->irs = f->rcv_nxt - 1;
		tcp_grant_open(&nic, f);
		tcp_grant_begin(f, f->rcv_limit);
		f->rcv_adv = f->rcv_limit;
	}
}

/* Sends what is owed; an announced right edge never moves back. */
static void flush(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct tcp_flow *f = &peer[i];
		uint32_t edge = f->rcv_nxt + tcp_rcv_window(f);

		CU_ASSERT_FATAL(seq_leq(f->rcv_adv, edge));
		if (f->flags & TCP_F_ACK_NOW)
			tcp_grant_announce(&nic, f, edge);
		f->flags &= (uint16_t)~TCP_F_ACK_NOW;
		fw_list_del(&f->ack_node);
	}
}

/* Bytes in order from a peer that has more, or not. */
static void rx(uint32_t i, uint32_t bytes, bool more)
{
	struct tcp_flow *f = &peer[i];
	const struct tcp_in in = {.info = &info,
				  .segs = 1,
				  .seq = f->rcv_nxt,
				  .bytes = bytes,
				  .flags = more ? WIRE_TCP_ACK : WIRE_TCP_ACK | WIRE_TCP_PSH};

	f->rcv_nxt += bytes;
	f->rcv_up += bytes;
	tcp_grant_rx(&nic, f, &in);
}

/* The announced window that a peer has not used. */
static uint32_t known(uint32_t i)
{
	return peer[i].rcv_adv - peer[i].rcv_nxt;
}

/* The first connections begin with an initial window each, later ones with less, all with one. */
static void first_windows(void)
{
	uint64_t sum = 0;
	uint32_t i;

	begin(PEERS);
	for (i = 0; i < PEERS; i++) {
		CU_ASSERT(peer[i].rcv_limit - peer[i].rcv_nxt >= BYTES);
		sum += peer[i].rcv_limit - peer[i].rcv_nxt;
	}
	CU_ASSERT(peer[0].rcv_limit - peer[0].rcv_nxt == 16384);
	CU_ASSERT(peer[3].rcv_limit - peer[3].rcv_nxt == 16384);
	CU_ASSERT(sum < 4 * 16384 + PEERS * (uint64_t)(BYTES + 1000));
	for (i = 4; i < PEERS; i++)
		tcp_grant_close(&nic, &peer[i]);
	tcp_grant_close(&nic, &peer[4]);
	CU_ASSERT_EQUAL(nic.tcp.grants.open, 4);
	CU_ASSERT_EQUAL(tcp_grant_first(&nic), 16384);
	/* RFC 6928: two segments at least. */
	nic.config.mtu = HW_MAX_MTU;
	CU_ASSERT(tcp_grant_first(&nic) >= 2 * (HW_MAX_MTU - 52));
	nic.config.cc_off = true;
	CU_ASSERT_EQUAL(tcp_grant_first(&nic), UINT16_MAX);
}

/* A peer that is alone never waits: its window stays ahead of one that doubles in a round trip. */
static void alone(void)
{
	uint32_t cwnd = 14600, got = 0;

	begin(2);
	while (got < 4u * TCP_RCV_WINDOW) {
		CU_ASSERT_FATAL(tcp_rcv_window(&peer[0]) >= tcp_min(cwnd, TCP_RCV_WINDOW / 4 * 3));
		nic.now_ns += 3000;
		rx(0, BYTES, true);
		peer[0].flags |= TCP_F_ACK_NOW;
		flush(1);
		got += BYTES;
		cwnd += BYTES;
	}
	CU_ASSERT(tcp_rcv_window(&peer[0]) >= TCP_RCV_WINDOW / 4 * 3);
	/* Nothing of it counts for others. */
	CU_ASSERT_EQUAL(nic.tcp.grants.out_bytes, 0);
}

/* Many have more to send: equal shares, and no more under way than the receiver's window. */
static void in_turn(void)
{
	uint64_t window, widest = 0;
	uint32_t count[PEERS] = {0}, i, round, least = UINT32_MAX, most = 0;

	begin(PEERS);
	for (i = 0; i < PEERS; i++)
		rx(i, 512, true);
	flush(PEERS);
	for (round = 0; round < 4000; round++) {
		for (i = 0; i < PEERS; i++) {
			if (known(i) < BYTES)
				continue;
			nic.now_ns += 3000;
			rx(i, BYTES, true);
			count[i]++;
			flush(PEERS);
			window = line_window_bytes(&nic.tcp.grants.line);
			widest = window > widest ? window : widest;
			/* The windows that they began with were not taken back. */
			CU_ASSERT_FATAL(round < 8 ||
					nic.tcp.grants.out_bytes <= widest + unit(&nic));
		}
	}
	for (i = 0; i < PEERS; i++) {
		least = tcp_min(least, count[i]);
		most = tcp_max(most, count[i]);
	}
	CU_ASSERT(least > 1000 && most - least <= most / 20);
}

/* Windows that are not used are announced again, then they delay no other peer. */
static void keepers(void)
{
	uint32_t i, turns, got = 0;

	begin(PEERS);
	for (i = 0; i < PEERS; i++)
		rx(i, 512, true);
	flush(PEERS);
	CU_ASSERT(nic.tcp.grants.num_backlogged == PEERS && nic.tcp.grants.out_bytes > 0);
	/* Peer 0 alone goes on. */
	for (turns = 0; turns < 20000; turns++) {
		nic.now_ns += 10000;
		if (known(0) >= BYTES) {
			rx(0, BYTES, true);
			got++;
		}
		fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
		flush(PEERS);
	}
	CU_ASSERT_EQUAL(nic.tcp.grants.num_backlogged, 1);
	CU_ASSERT(got > 15000);
}

/* One segment, or one call of the timer, serves a bounded number of the connections that wait. */
static void many_wait(void)
{
	uint32_t was = 0, i, edges, turns;

	begin(PEERS);
	for (i = 0; i < PEERS; i++)
		rx(i, 512, true);
	nic.tcp.grants.line.drain = 0;
	nic.tcp.grants.line.bytes = LINE_WINDOW_MAX_BYTES;
	rx(0, 512, true);
	for (turns = 0; turns < 50; turns++) {
		for (i = 0, edges = 0; i < PEERS; i++)
			edges += peer[i].rcv_limit;
		CU_ASSERT(!turns || edges - was <= (RUN_TIMER + 1) * unit(&nic));
		was = edges;
		nic.now_ns += 1;
		fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	}
	for (i = 0; i < PEERS; i++)
		CU_ASSERT(tcp_grant_left(&peer[i]) >= BYTES);
}

/* A peer without SACK counts equal ACKs, so the window stays while a gap is open. */
static void gap_without_sack(void)
{
	struct tcp_in in = {.info = &info, .segs = 1, .bytes = BYTES, .flags = WIRE_TCP_ACK};
	uint32_t edge;

	begin(2);
	peer[0].flags &= (uint16_t)~TCP_F_SACK;
	rx(0, BYTES, true);
	rx(1, BYTES, true);
	nic.tcp.grants.line.drain = 0;
	nic.tcp.grants.line.bytes = LINE_WINDOW_MAX_BYTES;
	rx(0, BYTES, true);
	flush(2);
	nic.now_ns += 1000000;
	fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	flush(2);
	edge = peer[0].rcv_limit;
	in.seq = peer[0].rcv_nxt + BYTES;
	peer[0].num_blocks = 1;
	tcp_grant_rx(&nic, &peer[0], &in);
	in.seq += BYTES;
	tcp_grant_rx(&nic, &peer[0], &in);
	CU_ASSERT_EQUAL(peer[0].rcv_limit, edge);
}

/*
 * The header rounds a window down, so an edge may be announced below an earlier one. Bytes up to
 * the earlier one may be under way; only those beyond it needed the new grant, and measure the
 * path.
 */
static void rounded_edge(void)
{
	struct tcp_flow *f = &peer[0];
	uint32_t edge;

	begin(2);
	rx(0, BYTES, true);
	rx(1, BYTES, true);
	flush(2);
	f->mark_ns = 0;
	edge = f->rcv_adv;
	tcp_grant_announce(&nic, f, edge - 63);
	CU_ASSERT_EQUAL(f->rcv_adv, edge);
	tcp_grant_announce(&nic, f, edge + BYTES);
	CU_ASSERT(f->mark_ns != 0);
	CU_ASSERT_EQUAL(f->mark, edge);
	CU_ASSERT_EQUAL(f->rcv_adv, edge + BYTES);
}

/* A peer that sends messages back to back beside another gets no more by the end of each. */
static void end_of_a_message(void)
{
	uint32_t i;

	begin(2);
	while (peer[0].rcv_alone < TCP_RCV_WINDOW) {
		nic.now_ns += 3000;
		rx(0, BYTES, true);
		flush(2);
	}
	rx(1, BYTES, true);
	/* Both send: what peer 0 has left shrinks, although each eighth segment ends a message. */
	for (i = 1; known(0) > TCP_RCV_WINDOW / 16; i++) {
		CU_ASSERT_FATAL(i < 2 * TCP_RCV_WINDOW / BYTES);
		nic.now_ns += 3000;
		rx(0, BYTES, i % 8 != 0);
		if (known(1) >= BYTES)
			rx(1, BYTES, true);
		flush(2);
	}
	/* A peer that ends a message when it is alone may send as much as before. */
	rx(1, BYTES, false);
	nic.now_ns += 2 * SILENT_NS;
	rx(0, BYTES, false);
	CU_ASSERT_EQUAL(peer[0].rcv_limit - peer[0].rcv_nxt, TCP_RCV_WINDOW);
}

/*
 * After a silence peers wait for their congestion windows, not for the receiver's: that is no
 * queue.
 */
static void slow_start_after_a_silence(void)
{
	struct line_window *line = &nic.tcp.grants.line;
	uint32_t i, round;

	begin(8);
	/* A round trip of 100 us, until all paths are known. */
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 8; i++)
			if (known(i) >= BYTES)
				rx(i, BYTES, round < 190);
		nic.now_ns += 100000;
		flush(8);
	}
	for (i = 0; i < 8; i++)
		CU_ASSERT_FATAL(fw_floor_ns(&peer[i].rcv_path) > 0);
	nic.now_ns += 1000000000;
	rx(0, BYTES, true);
	rx(1, BYTES, true);
	line->drain = 0; /* samples count, if they are taken */
	for (i = 0; i < 8; i++)
		rx(i, BYTES, true);
	flush(8);
	nic.now_ns += 300000;
	for (i = 0; i < 8; i++)
		rx(i, BYTES, true);
	CU_ASSERT_EQUAL(line->round_pkts, 0);
	/* Later on windows are what they wait for. */
	for (round = 0; round < 3; round++) {
		flush(8);
		nic.now_ns += 100000;
		for (i = 0; i < 8; i++)
			if (known(i) >= BYTES)
				rx(i, BYTES, true);
	}
	CU_ASSERT(line->round_pkts > 0 || line->changed_ns > 2000000000);
}

UT_MAIN("nic_fw/tcp/tcp_grant", UT(first_windows), UT(alone), UT(in_turn), UT(keepers),
	UT(many_wait), UT(gap_without_sack), UT(rounded_edge), UT(end_of_a_message),
	UT(slow_start_after_a_silence))
