/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/dgram/rd_grant.c: the credits of each peer, header by header.
 */
#include "tests/nic_fw/dgram/rd_grant_fix.h"

static void alone(void)
{
	uint32_t i;

	begin(2);
	CU_ASSERT_EQUAL(left(&peer[0]), RD_CREDIT_FIRST);
	rx(0, 1, true, 10000);
	CU_ASSERT_EQUAL(left(&peer[0]), GRANT_ALONE_PKTS);
	/* As fast as a window that doubles, of which a quarter may be used. */
	for (i = 2; i <= GRANT_ALONE_PKTS; i++) {
		rx(0, i, true, 10000);
		CU_ASSERT_TRUE(left(&peer[0]) >= (GRANT_ALONE_PKTS + i) / 4 * 3);
	}
	for (; i <= 200; i++)
		rx(0, i, true, 10000);
	CU_ASSERT_TRUE(left(&peer[0]) >= RD_CREDIT_MAX / 4 * 3);
	CU_ASSERT_TRUE(left(&peer[0]) <= RD_CREDIT_MAX);
	/* A peer without further data keeps credits for the next message. */
	rx(1, 1, false, 10000);
	CU_ASSERT_EQUAL(left(&peer[1]), GRANT_STOCK_PKTS);
	CU_ASSERT_EQUAL(nic.rd.grants.num_backlogged, 1);
	CU_ASSERT_EQUAL(nic.rd.grants.out_bytes, 0);
}

/* These credits shrink with the number of peers that could send at one moment. */
static void idle_stock(void)
{
	begin(1);
	nic.rd.grants.open = 1000;
	rx(0, 2, false, 10000);
	CU_ASSERT_EQUAL(left(&peer[0]), 1);
	nic.rd.grants.open = 63;
	rx(0, 3, false, 10000);
	CU_ASSERT_EQUAL(left(&peer[0]), 4);
}

/* Many peers get equal credits, and never more in sum than the window. */
static void in_turn(void)
{
	uint32_t count[PEERS] = {0}, i;

	begin(PEERS);
	run_all(PEERS, 2 * PEERS, 20000, count);
	memset(count, 0, sizeof(count));
	for (i = 0; i < 100; i++) {
		run_all(PEERS, PEERS, 20000, count);
		CU_ASSERT_TRUE(nic.rd.grants.out_bytes <=
			       line_window_bytes(&nic.rd.grants.line) + BYTES + GRANT_HDR_BYTES);
	}
	for (i = 0; i < PEERS; i++)
		CU_ASSERT_TRUE(count[i] >= 95 && count[i] <= 105);
}

/* The window grows while packets are not delayed, and shrinks round by round when all are. */
static void window(void)
{
	uint32_t count[PEERS] = {0}, rounds;
	uint64_t before;

	begin(PEERS);
	run_all(PEERS, 4000, 100000, count);
	before = nic.rd.grants.line.bytes;
	CU_ASSERT_TRUE(before > 4 * LINE_WINDOW_MIN_BYTES);
	/* A round is a window of bytes, and takes a sixteenth: twelve take half, and not all. */
	for (rounds = 0; rounds < 12; rounds++)
		run_all(PEERS, (uint32_t)(nic.rd.grants.line.bytes / BYTES) + 1, 200000, count);
	CU_ASSERT_TRUE(nic.rd.grants.line.bytes < before / 2);
	CU_ASSERT_TRUE(nic.rd.grants.line.bytes > before / 4);
	/* Each change waits for the packets that were granted after the one before. */
	for (rounds = 0; rounds < 1000; rounds++)
		run_all(PEERS, (uint32_t)(nic.rd.grants.line.bytes / BYTES) + 1, 400000, count);
	CU_ASSERT_EQUAL(nic.rd.grants.line.bytes, LINE_WINDOW_MIN_BYTES);
}

/* Claims of more than was granted have no effect; the latest header corrects an older one. */
static void lies_and_echoes(void)
{
	begin(1);
	rx(0, 1, true, 10000);
	CU_ASSERT_EQUAL(peer[0].rx_limit, 1 + GRANT_ALONE_PKTS);
	/* Half the number space away it counts as older: no credits beyond those of any peer. */
	rx(0, 1 + 200, true, 10000);
	CU_ASSERT_TRUE(left(&peer[0]) <= RD_CREDIT_MAX);
	CU_ASSERT_TRUE(seq_lt(peer[0].rx_limit, 1 + RD_CREDIT_MAX));
	rx(0, 2, true, 10000);
	CU_ASSERT_EQUAL((uint8_t)peer[0].rx_used, 2);
	CU_ASSERT_TRUE(left(&peer[0]) <= RD_CREDIT_MAX);
	told[0] -= 10;
	rx(0, 100, true, 10000); /* an old one */
	CU_ASSERT_EQUAL((uint8_t)peer[0].rx_used, 2);
}

/*
 * Headers of one turn have one timestamp, and may overtake one another: the largest counts. The
 * next turn's may correct it, and leaves no more credits than any peer may have.
 */
static void headers_of_a_turn(void)
{
	begin(1);
	rx(0, 1, true, 10000);
	peer[0].rx_used = peer[0].rx_taken = 200;
	peer[0].rx_limit = 200 + RD_CREDIT_MAX;
	rx(0, 206, true, 10000);
	told[0]--;
	rx(0, 204, true, 10000);
	CU_ASSERT_EQUAL(peer[0].rx_used, 206);
	rx(0, 204, true, 10000);
	CU_ASSERT_EQUAL(peer[0].rx_used, 204);
	rx(0, 150, true, 10000);
	CU_ASSERT_EQUAL(peer[0].rx_used, 150);
	CU_ASSERT_EQUAL(left(&peer[0]), RD_CREDIT_MAX);
}

/*
 * Credits that a peer claims to have used, without a packet, may be used later only up to a bound.
 */
static void claims(void)
{
	uint32_t i;

	begin(1);
	for (i = 0; i < 100000; i++)
		rx(0, peer[0].rx_used + 100, true, 10000);
	CU_ASSERT_TRUE(peer[0].rx_limit - peer[0].rx_taken <= 2 * RD_CREDIT_MAX);
	/* The same all the way to the wrap of the counts. */
	peer[0].rx_used = peer[0].rx_limit = peer[0].rx_taken = UINT32_MAX - 150;
	for (i = 0; i < 10; i++) {
		rx(0, peer[0].rx_used + 100, true, 10000);
		CU_ASSERT_TRUE(peer[0].rx_limit - peer[0].rx_taken <= 2 * RD_CREDIT_MAX);
	}
}

/* A peer that claims to have used its credits as fast as it gets them gets no more turns. */
static void claims_beside_others(void)
{
	uint32_t i, round, given = 0, count[8] = {0};

	begin(8);
	run_all(8, 400, 20000, count);
	memset(count, 0, sizeof(count));
	for (round = 0; round < 400; round++) {
		for (i = 1; i < 8; i++) {
			uint32_t had = left(&peer[0]);

			/* As on a line with a queue. */
			nic.rd.grants.line.bytes = 2 * LINE_WINDOW_MIN_BYTES;

			/* Headers alone, whose packets are never accepted. */
			rx(0, peer[0].rx_used + left(&peer[0]), true, 20000);
			given += had;
			if (!left(&peer[i]))
				continue;
			nic.now_ns += 3000;
			rx(i, peer[i].rx_used + 1, true, 20000);
			rd_grant_taken(&peer[i], 1);
			count[i]++;
		}
	}
	for (i = 1; i < 8; i++)
		CU_ASSERT_TRUE(given <= count[i] + count[i] / 4);
}

/* A peer that keeps credits delays the others once, however often it is received. */
static void keepers(void)
{
	uint32_t i, round, count[PEERS] = {0};
	uint64_t since_ns;

	begin(PEERS);
	/* 32 peers that request and never send: more than the window's minimum holds. */
	for (i = 0; i < 32; i++)
		rx(i, 0, true, 10000);
	for (i = 32; i < PEERS; i++)
		rx(i, 1, true, 10000);
	since_ns = nic.now_ns;
	while (nic.now_ns < since_ns + 4 * (GRANT_SILENT_NS + GRANT_PATH_NS)) {
		nic.now_ns += GRANT_SILENT_NS / 4;
		for (i = 0; i < 32; i++)
			rx(i, 0, true, 10000);
		fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	}
	CU_ASSERT_TRUE(nic.counters.rd_grants_expired >= 8);
	memset(count, 0, sizeof(count));
	for (round = 0; round < 100; round++) {
		for (i = 32; i < PEERS; i++) {
			rx(i % 32, 0, true, 10000);
			nic.rd.grants.line.bytes = LINE_WINDOW_MIN_BYTES;
			if (!left(&peer[i]))
				continue;
			nic.now_ns += 3000;
			rx(i, peer[i].rx_used + 1, true, 10000);
			rd_grant_taken(&peer[i], 1);
			count[i]++;
		}
	}
	for (i = 32; i < PEERS; i++)
		CU_ASSERT_TRUE(count[i] >= 90);
	/* Packets of data make a peer as good as others again. */
	CU_ASSERT_TRUE(peer[0].rx_doubt >= GRANT_DOUBT_MIN);
	for (i = 0; i < UINT8_MAX; i++)
		rd_grant_taken(&peer[0], 1);
	CU_ASSERT_EQUAL(peer[0].rx_doubt, 0);
}

/* A path that is reported to be 2 s long gets a bounded share, and no longer time to keep it. */
static void feigned_path(void)
{
	uint32_t count[8] = {0}, share;

	begin(8);
	run_all(8, 400, 20000, count);
	memset(&peer[0].rx_path, 0, sizeof(peer[0].rx_path));
	rx(0, peer[0].rx_used, true, 2000000000);
	nic.rd.grants.line.bytes = 2 * LINE_WINDOW_MIN_BYTES;
	share = rd_grant_share_of(&nic.rd.grants, &peer[1]);
	CU_ASSERT_TRUE(rd_grant_share_of(&nic.rd.grants, &peer[0]) <=
		       LINE_WINDOW_FAR_TIMES * share);
	nic.now_ns += (GRANT_REMINDERS + 2) * (GRANT_SILENT_NS + GRANT_PATH_NS);
	fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	nic.now_ns += (GRANT_REMINDERS + 2) * (GRANT_SILENT_NS + GRANT_PATH_NS);
	fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	nic.now_ns += (GRANT_REMINDERS + 2) * (GRANT_SILENT_NS + GRANT_PATH_NS);
	fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	CU_ASSERT_EQUAL(nic.rd.grants.out_bytes, 0);
}

/* A peer that feigns a long path gains no larger window where a train measures the line. */
static void feigned_path_at_start(void)
{
	uint32_t i, k;

	begin(3);
	for (k = 0; k < 60; k++)
		for (i = 0; i < 3; i++) {
			if (!left(&peer[i]))
				continue;
			nic.now_ns += 3000;
			rx(i, peer[i].rx_used + 1, true,
			   (i == 2 ? 1000000000 : 100000) + (k < 20 ? 0 : 5000));
			rd_grant_taken(&peer[i], 1);
		}
	CU_ASSERT_FALSE(nic.rd.grants.line.ramp);
	/* 4126 bytes in 3 us, for 110 us */
	CU_ASSERT_TRUE(nic.rd.grants.line.bytes > 4 * LINE_WINDOW_MIN_BYTES);
	CU_ASSERT_TRUE(nic.rd.grants.line.bytes < 400000);
}

/* Peers that begin and end to request again and again do not keep the window small. */
static void comers_and_goers(void)
{
	uint32_t count[8] = {0}, i;

	begin(8);
	run_all(8, 2000, 50000, count);
	nic.now_ns += 2 * LINE_WINDOW_DRAIN_NS;
	run_all(8, 8, 50000, count);
	CU_ASSERT_TRUE(nic.rd.grants.line.drain > 0);
	for (i = 0; i < 2 * LINE_WINDOW_SMALL_NS / 3000; i++) {
		rx(0, peer[0].rx_used, true, 50000);
		rx(0, peer[0].rx_used, false, 50000);
		if (left(&peer[1 + i % 7]))
			run_all(8, 1, 50000, count);
		else
			nic.now_ns += 3000;
	}
	CU_ASSERT_EQUAL(nic.rd.grants.line.drain, 0);
}

/* A run counts as its packets: the same credits are used and given as by these one by one. */
static void a_run(void)
{
	struct fw_rx_frame frame = {.run = 5};
	struct rdmap_seg pkt = {
	    .frame = &frame, .hdr = &rd_data, .flags = WIRE_DGRAM_F_MORE, .data_bytes = BYTES};
	struct wire_rd rd = {.limit = 2};

	begin(2);
	for (uint32_t i = 0; i < 2; i++) {
		rx(i, 1, true, 0);
		rd_grant_taken(&peer[i], 1);
		nic.rd.grants.num_backlogged = 1;
	}
	for (uint32_t used = 2; used <= 6; used++) {
		rx(0, used, true, 0);
		rd_grant_taken(&peer[0], 1);
	}
	rd.used = 2;
	rd.timestamp = be32_put(++told[1]);
	rd_grant_rx(&nic, &peer[1], &pkt, &rd, frame.run);
	for (uint32_t i = 0; i < 5; i++)
		rd_grant_taken(&peer[1], 1);
	CU_ASSERT_EQUAL(peer[1].rx_used, 6);
	CU_ASSERT_EQUAL(peer[1].rx_used, peer[0].rx_used);
	CU_ASSERT_EQUAL(peer[1].rx_taken, peer[0].rx_taken);
	CU_ASSERT_EQUAL(peer[1].rx_here, 0);
}

/* A run of so many packets, behind those that its peer has used; it took rtt_ns. */
static void rx_run(uint32_t i, uint16_t packets, uint32_t rtt_ns)
{
	const struct fw_rx_frame frame = {.run = packets};
	const struct rdmap_seg pkt = {
	    .frame = &frame, .hdr = &rd_data, .flags = WIRE_DGRAM_F_MORE, .data_bytes = BYTES};
	const struct wire_rd rd = {.timestamp = be32_put(++told[i]),
				   .timestamp_echo = be32_put((uint32_t)nic.now_ns - rtt_ns),
				   .used = (uint8_t)(peer[i].rx_used + 1),
				   .limit = 2};

	rd_grant_rx(&nic, &peer[i], &pkt, &rd, frame.run);
	while (packets--)
		rd_grant_taken(&peer[i], 1);
}

/* Runs whose last packets are never a sampled one show the path all the same. */
static void runs_show_the_path(void)
{
	begin(1);
	rx(0, 1, true, 0);
	rd_grant_taken(&peer[0], 1);
	CU_ASSERT_EQUAL(fw_floor_ns(&peer[0].rx_path), 0);
	for (uint32_t run = 0; run < 80; run++) {
		nic.now_ns += 3000;
		rx_run(0, 4, 20000);
		CU_ASSERT_EQUAL(peer[0].rx_used % 4, 1);
	}
	CU_ASSERT_EQUAL(peer[0].rx_used, 321);
	CU_ASSERT_EQUAL(peer[0].rx_taken, 321);
	CU_ASSERT_EQUAL(fw_floor_ns(&peer[0].rx_path), 20000);
}

/* All packets of a run have come over a line that is shared. */
static void runs_fill_the_line(void)
{
	struct line_window *line = &nic.rd.grants.line;
	uint32_t count[2] = {0};

	begin(2);
	run_all(2, 400, 20000, count);
	line->drain = 0;
	line->drained_ns = nic.now_ns;
	line->round_pkts = 0;
	line->round_bytes = 0;
	CU_ASSERT_FATAL(left(&peer[0]) >= 3);
	rx_run(0, 3, 21000);
	CU_ASSERT_EQUAL(line->round_bytes, 3 * peer[0].rx_pkt_bytes);
}

/* Short packets between long ones gain no additional turns. */
static void lengths(void)
{
	struct rdmap_seg pkt = {.frame = &one_packet, .hdr = &rd_data, .flags = WIRE_DGRAM_F_MORE};
	struct wire_rd rd = {.limit = 2};
	uint32_t i;

	begin(2);
	rx(0, 1, true, 10000);
	for (i = 0; i < 16; i++) {
		rd.timestamp = be32_put(++told[0]);
		rd.used = (uint8_t)(peer[0].rx_used + 1);
		rd_grant_rx(&nic, &peer[0], &pkt, &rd, 1);
	}
	CU_ASSERT_EQUAL(nic.config.mtu / peer[0].rx_pkt_bytes, 1);
}

/* Unused credits are announced again, and then given to others. */
static void silent(void)
{
	uint32_t i;

	begin(2);
	rx(0, 1, true, 10000);
	rx(1, 1, true, 10000);
	rx(0, 2, true, 10000);
	CU_ASSERT_EQUAL(nic.rd.grants.num_backlogged, 2);
	for (i = 0; i < 200; i++) {
		nic.now_ns += GRANT_SILENT_NS;
		fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	}
	/* The last one delays no other peer. */
	CU_ASSERT_EQUAL(nic.rd.grants.num_backlogged, 1);
	CU_ASSERT_EQUAL(nic.rd.grants.out_bytes, 0);
	CU_ASSERT_FALSE(fw_timer_is_set(&nic.rd.grants.timer));
	CU_ASSERT_EQUAL(nic.counters.rd_grants_expired, 1);
	CU_ASSERT_TRUE(fw_list_linked(&peer[0].ack_node) && peer[0].grant_due);
	/* Received again, it gets its part again. */
	rx(0, 3, true, 10000);
	rx(1, 2, true, 10000);
	CU_ASSERT_TRUE(left(&peer[0]) >= 2 && left(&peer[1]) >= 2);
}

/*
 * A peer that requested alone and is silent now must not keep credits from later peers that have
 * used all of theirs.
 */
static void silent_before(void)
{
	uint32_t i;

	begin(3);
	rx(0, 1, true, 10000);
	rx(2, 1, true, 10000);
	rx(0, 2, true, 10000);
	rx(2, 2, false, 10000);
	CU_ASSERT_EQUAL(nic.rd.grants.num_backlogged, 1);
	CU_ASSERT_TRUE(nic.rd.grants.out_bytes > 0);
	nic.now_ns += LINE_WINDOW_ALONE_NS / 2;
	fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	recount(&nic.rd.grants, &peer[0], 0);
	/* The credits that it still has count when the next peer begins to request. */
	nic.rd.grants.num_backlogged = 2;
	recount(&nic.rd.grants, &peer[0], 8);
	nic.rd.grants.num_backlogged = 1;
	nic.rd.grants.line.drain = 0;
	nic.rd.grants.line.bytes = nic.rd.grants.out_bytes;
	rx(1, 2, true, 10000);
	CU_ASSERT_EQUAL(left(&peer[1]), 0);
	for (i = 0; i < 20; i++) {
		nic.now_ns += GRANT_SILENT_NS;
		fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
	}
	CU_ASSERT_TRUE(left(&peer[1]) >= 1);
}

/* An idle sender keeps few of its old credits; a closed session holds none. */
static void idle_and_closed(void)
{
	begin(2);
	peer[0].credit_limit = 100;
	peer[0].credit_used = 20;
	rd_grant_idle(&peer[0]);
	CU_ASSERT_EQUAL(peer[0].credit_used, 100 - RD_CREDIT_IDLE);
	rd_grant_idle(&peer[0]);
	CU_ASSERT_EQUAL(peer[0].credit_used, 100 - RD_CREDIT_IDLE);
	CU_ASSERT_TRUE(rd_has_credit(&peer[0]));
	peer[0].credit_used = 100;
	CU_ASSERT_FALSE(rd_has_credit(&peer[0]));
	rx(0, 1, true, 10000);
	rx(1, 1, true, 10000);
	rx(0, 2, true, 10000);
	rd_grant_close(&nic, &peer[0]);
	rd_grant_close(&nic, &peer[1]);
	CU_ASSERT_EQUAL(nic.rd.grants.num_backlogged, 0);
	CU_ASSERT_EQUAL(nic.rd.grants.open, 0);
	CU_ASSERT_EQUAL(nic.rd.grants.out_bytes, 0);
	CU_ASSERT_TRUE(fw_list_empty(&nic.rd.grants.turn) && fw_list_empty(&nic.rd.grants.held));
}

static uint32_t limits(void)
{
	uint32_t i, sum = 0;

	for (i = 0; i < PEERS; i++)
		sum += peer[i].rx_limit;
	return sum;
}

/*
 * The window opens while all peers wait: a header, and a call of the timer, serve a bounded number
 * of them, in turn, until no more credits are to be had.
 */
static void many_wait(void)
{
	uint32_t was, turns, i, least_left = UINT32_MAX, most_left = 0;

	begin(PEERS);
	for (i = 0; i < PEERS; i++)
		rx(i, 0, true, 20000);
	nic.rd.grants.line.drain = 0;
	nic.rd.grants.line.bytes = LINE_WINDOW_MAX_BYTES;
	for (i = 0; i < PEERS; i++) {
		was = limits();
		rx(i, 0, true, 20000);
		CU_ASSERT(limits() - was <= GRANT_RUN_HEADER);
	}
	for (turns = 0, was = 0; was != limits(); turns++) {
		nic.now_ns += 1;
		was = limits();
		fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
		CU_ASSERT(limits() - was <= GRANT_RUN_TIMER);
	}
	CU_ASSERT(turns >= 8);
	/* The window is full, and the shares are equal but for the turns that the headers began. */
	CU_ASSERT(nic.rd.grants.out_bytes + 2 * BYTES > LINE_WINDOW_MAX_BYTES);
	for (i = 0; i < PEERS; i++) {
		if (left(&peer[i]) < least_left)
			least_left = left(&peer[i]);
		if (left(&peer[i]) > most_left)
			most_left = left(&peer[i]);
	}
	CU_ASSERT(most_left - least_left <= GRANT_RUN_HEADER);
}

/* All are silent: each call of the timer repeats the grants of a bounded number. */
static void many_silent(void)
{
	uint32_t i, turns, was = 0, reminded;

	begin(PEERS);
	for (i = 0; i < PEERS; i++)
		rx(i, 1, true, 20000);
	nic.now_ns += GRANT_SILENT_NS + GRANT_PATH_NS;
	for (turns = 0; turns < PEERS && was < PEERS; turns++) {
		nic.now_ns += 1;
		fw_timers_run(&nic, &nic.timers, nic.now_ns, HEAP);
		for (i = 0, reminded = 0; i < PEERS; i++)
			reminded += peer[i].reminders || !left(&peer[i]);
		CU_ASSERT(reminded - was <= GRANT_RUN_TIMER);
		was = reminded;
	}
	CU_ASSERT_EQUAL(was, PEERS);
}

/* Packets that were taken are in doubt no more, nor void: no count goes below zero. */
static void counts_of_what_was_taken(void)
{
	begin(1);
	peer[0].rx_doubt = peer[0].rx_void = 5;
	peer[0].rx_late = 3;
	rd_grant_taken(&peer[0], 2);
	CU_ASSERT_EQUAL(peer[0].rx_taken, 2);
	CU_ASSERT_EQUAL(peer[0].rx_doubt, 3);
	CU_ASSERT_EQUAL(peer[0].rx_void, 3);
	rd_grant_taken(&peer[0], 4);
	CU_ASSERT_EQUAL(peer[0].rx_taken, 6);
	CU_ASSERT_EQUAL(peer[0].rx_doubt, 0);
	CU_ASSERT_EQUAL(peer[0].rx_void, 0);
}

/* A session that ends leaves its part to those that wait for theirs, at once. */
static void one_that_ends_lets_others_go(void)
{
	begin(2);
	rx(0, 1, true, 20000);
	rx(1, 1, true, 20000);
	/* The second waits in turn, with nothing left. */
	fw_list_del(&peer[1].grant_node);
	peer[1].rx_limit = peer[1].rx_used;
	peer[1].backlogged = true;
	fw_list_add_tail(&nic.rd.grants.turn, &peer[1].grant_node);
	nic.rd.grants.out_bytes = 0;
	CU_ASSERT_EQUAL(left(&peer[1]), 0);
	rd_grant_close(&nic, &peer[0]);
	CU_ASSERT_TRUE(left(&peer[1]) > 0);
	CU_ASSERT_EQUAL(nic.rd.grants.open, 1);
}

UT_MAIN("nic_fw/dgram/rd_grant", UT(counts_of_what_was_taken), UT(one_that_ends_lets_others_go),
	UT(alone), UT(idle_stock), UT(in_turn), UT(window), UT(lies_and_echoes),
	UT(headers_of_a_turn), UT(claims), UT(claims_beside_others), UT(keepers), UT(feigned_path),
	UT(feigned_path_at_start), UT(comers_and_goers), UT(a_run), UT(runs_show_the_path),
	UT(runs_fill_the_line), UT(lengths), UT(silent), UT(silent_before), UT(idle_and_closed),
	UT(many_wait), UT(many_silent))
