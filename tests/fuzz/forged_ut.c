/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forged packets of ESP that name absent objects, while communicators go on. Each one was a fault
 * of the firmware, or is the only way to reach one of its checks.
 */
#include "tests/fuzz/ends.h"
#include "tests/fuzz/forge.h"
#include "tests/ut.h"

static struct ends begun;

static const struct fw_nic *fw(void)
{
	return w->nic[0].fw;
}

static const struct esp_stream *stream(void)
{
	uint32_t i;

	for (i = 0; fw()->esp.streams[i].state != ESP_OPEN; i++)
		;
	return &fw()->esp.streams[i];
}

/* Builds the next packet of the stream from NIC 1 to NIC 0, with that message. */
static void lie(const struct wire_goal *goal, uint32_t payload)
{
	struct rec r = {
	    .b = 7, .c = WIRE_ESP_TXS | WIRE_ESP_TXF | WIRE_ESP_TXR, .x = payload << 15};
	static struct frame f;

	f.to = 0;
	r.z = (uint32_t)(stream() - fw()->esp.streams);
	forge_edp(&f, &r, ends.coll.key);
	forge_put(&f, FORGE_DGRAM, 0, goal, sizeof(*goal));
	forge_seal(&f, 0);
	world_inject(0, f.b, f.n);
	world_settle();
}

static void begin(void)
{
	static bool done;

	if (!done) {
		world_begin();
		ends_begin();
		world_keep();
		begun = ends;
	}
	done = true;
	ends = begun;
}

static void over(void)
{
	uint32_t e;

	world_run(30 * W_S, ends_idle);
	CU_ASSERT_TRUE(ends_idle());
	for (e = 0; e < 2; e++)
		proc_detach(&w->proc[e]);
	world_check_empty();
	world_reset();
}

static void data_for_a_receive_that_is_over(void)
{
	uint64_t before;
	uint32_t i;

	begin();
	before = fw()->counters.goal_malformed;
	/* Tries each context that a receive ever had, of this generation and of others. */
	for (i = 0; i < fw()->goal.recvs.high; i++) {
		const struct goal_recv *recv = fw_pool_at(&fw()->goal.recvs, i);
		struct wire_goal goal = {
		    .type = WIRE_GOAL_DATA,
		    .instance = be32_put(fw()->goal.comms[0].next_instance),
		    .bytes = be64_put(8),
		    .sink = be32_put((uint32_t)recv->generation << 24 | i),
		    .piece_bytes = be32_put(8),
		};

		lie(&goal, 8);
	}
	CU_ASSERT_TRUE(i > 0);
	CU_ASSERT_EQUAL(fw()->counters.goal_malformed - before, i);
	over();
}

/* Pieces of an unexpected message in the pool, beyond its context's size. */
static void an_unexpected_message_in_pieces(void)
{
	struct wire_goal goal = {
	    .type = WIRE_GOAL_EAGER,
	    .bytes = be64_put(300),
	    .piece_bytes = be32_put(100),
	};
	uint32_t i;

	begin();
	goal.instance = be32_put(fw()->goal.comms[0].next_instance);
	for (i = 0; i < 3; i++) {
		goal.offset = be64_put(100 * i);
		lie(&goal, 100);
	}
	CU_ASSERT_EQUAL(fw()->goal.unexps.used, 1);
	CU_ASSERT_EQUAL(fw()->counters.goal_malformed, 0);
	over();
}

/* A rank reports many future runs as failed: news of the next rank is still received. */
static void news_of_the_next_run_is_not_crowded_out(void)
{
	struct wire_goal goal = {
	    .type = WIRE_GOAL_ABORT, .tag = be32_put(HW_GOAL_DIVIDE), .count = be32_put(1)};
	uint32_t next, i;

	begin();
	next = fw()->goal.comms[0].next_instance;
	for (i = 1; i <= GOAL_MAX_ABORTS + 1; i++) {
		goal.instance = be32_put(next + i);
		lie(&goal, 0);
	}
	goal.instance = be32_put(next);
	lie(&goal, 0);
	CU_ASSERT_TRUE(coll_start(&ends.coll, 0, SCHED_EXCHANGE, W_S));
	world_run(W_MS, NULL);
	CU_ASSERT_EQUAL(coll_record(&ends.coll, 0, 0)->status, HW_GOAL_DIVIDE);
	CU_ASSERT_TRUE(coll_idle(&ends.coll));
	over();
}

UT_MAIN("fuzz/forged", UT(data_for_a_receive_that_is_over), UT(an_unexpected_message_in_pieces),
	UT(news_of_the_next_run_is_not_crowded_out))
