/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of GOAL between NICs whose ports borrow payload, as those of weftd's built-in switch do:
 * packets in runs, and memory that is given back while packets are under way.
 */
#include "nic_fw/fw_nic.h"
#include "tests/sim/goal_fix.h"
#include "tests/ut.h"

enum {
	MTU = 4096,        /* the default */
	SINK = 512 * 1024, /* received bytes begin there */
	LONG_BYTES = 200000,
};
#define TIMEOUT_NS (2 * FIX_MS)

static struct goal_fix_attr borrowing(const char *faults)
{
	return (struct goal_fix_attr){
	    .faults = faults, .bytes = 1 << 20, .eager_bytes = 128 * 1024, .borrow = true};
}

/* Each of two ranks sends the other a message. */
static void exchange_load(struct goal_fix *fix, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct goal_graph *g = goal_graph_new(i, 2);

		goal_fix_send(g, goal_fix_mem(fix, i, 0, bytes), !i, 0);
		goal_fix_recv(g, goal_fix_mem(fix, i, SINK, bytes), !i, 0);
		goal_fix_load(fix, i, g);
	}
}

static void pattern(struct goal_fix *fix, uint32_t seed, uint32_t bytes)
{
	uint32_t i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < bytes; k++)
			fix->rank[i].buf[k] = (uint8_t)(seed + i + k * 7 + k / 251);
		memset(fix->rank[i].buf + SINK, 0xee, bytes + 1);
	}
}

static bool is_right(const struct goal_fix *fix, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (memcmp(fix->rank[i].buf + SINK, fix->rank[!i].buf, bytes) != 0 ||
		    fix->rank[i].buf[SINK + bytes] != 0xee)
			return false;
	return true;
}

static uint64_t runs(struct goal_fix *fix, uint64_t *packets)
{
	return sim_nic_runs(sim_nic_at(fix->sim, 1), packets);
}

static uint64_t lent(struct goal_fix *fix)
{
	uint64_t count;

	return sim_nic_lent(sim_nic_at(fix->sim, 0), &count);
}

/* Rank 0's NIC. */
static const struct fw_counters *counters(struct goal_fix *fix)
{
	return &sim_nic_fw(sim_nic_at(fix->sim, 0), 0)->counters;
}

static uint64_t settled(struct goal_fix *fix, uint32_t rank)
{
	uint64_t count;

	(void)sim_nic_lent(sim_nic_at(fix->sim, rank), &count);
	return count;
}

static bool is_lent(void *ctx)
{
	uint64_t count;

	return sim_nic_lent(ctx, &count) > 0;
}

/* Runs the schedules of both ranks; packets reach rank 1 in bursts, as they were sent. */
static void in_bursts(struct goal_fix *fix)
{
	struct weft_goal_result result;
	uint32_t run[2], i;

	for (i = 0; i < 2; i++)
		run[i] = goal_fix_start(fix, i, 0);
	for (i = 0; i < 40; i++) {
		sim_clog(sim_nic_at(fix->sim, 1), true);
		sim_run_for(fix->sim, FIX_MS / 40);
		sim_clog(sim_nic_at(fix->sim, 1), false);
		sim_run_for(fix->sim, FIX_MS / 400);
	}
	for (i = 0; i < 2; i++) {
		FIX_CHECK(fix, goal_fix_wait(fix, i, run[i], &result));
		FIX_CHECK(fix, result.status == HW_GOAL_OK);
	}
}

/* Lengths about multiples of a packet's and of a run's; eager, and announced. */
static void as_runs(void)
{
	struct goal_fix_attr attr = borrowing(NULL);
	struct goal_fix fix;
	uint64_t packets, count;
	uint32_t segment, n;

	goal_fix_begin(&fix, 1, 2, &attr);
	/* Without EDP's, ESP's and GOAL's headers and the CRC32C. */
	segment = MTU - 8 - 32 - 40 - 4;
	for (n = 1; n <= 200; n = n < 6 ? n + 1 : n * 2) {
		int more;

		for (more = -1; more <= 1; more++) {
			uint32_t bytes = (uint32_t)((int)(n * segment) + more);

			if (bytes > SINK - 1)
				continue;
			pattern(&fix, n, bytes);
			exchange_load(&fix, bytes);
			in_bursts(&fix);
			FIX_CHECK(&fix, is_right(&fix, bytes));
		}
	}
	count = runs(&fix, &packets);
	FIX_CHECK(&fix, count > 20 && packets > 2 * count);
	goal_fix_end(&fix);
}

/* Whatever the network does to single packets of a run, messages arrive as they were sent. */
static void as_runs_with_faults(void)
{
	uint64_t seed, packets, count = 0;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct goal_fix_attr attr =
		    borrowing(seed % 2 ? "loss=2,dup,reorder" : "loss=5,corrupt");
		struct goal_fix fix;
		uint32_t n;

		goal_fix_begin(&fix, seed, 2, &attr);
		exchange_load(&fix, LONG_BYTES);
		for (n = 0; n < 4; n++) {
			pattern(&fix, (uint32_t)seed + n, LONG_BYTES);
			in_bursts(&fix);
			FIX_CHECK(&fix, is_right(&fix, LONG_BYTES));
		}
		count += runs(&fix, &packets);
		/* Packets that are sent again bring bytes of their own. */
		FIX_CHECK(&fix, lent(&fix) + counters(&fix)->esp_tx_retransmits <=
				    counters(&fix)->esp_tx_packets);
		goal_fix_end(&fix);
	}
	CU_ASSERT(count > 0);
}

static bool none_is(const uint8_t *at, uint8_t value, uint32_t bytes)
{
	return !memchr(at, value, bytes);
}

/* Rank 0 sends to a NIC that does not read its frames for a while, until its run is over. */
static void not_read(struct goal_fix *fix, uint64_t timeout_ns, enum hw_goal_status status)
{
	struct sim_nic *from = sim_nic_at(fix->sim, 0), *to = sim_nic_at(fix->sim, 1);
	struct weft_goal_result result;
	uint32_t run;

	exchange_load(fix, LONG_BYTES);
	FIX_CHECK(fix, goal_fix_run(fix, NULL) == HW_GOAL_OK);
	memset(fix->rank[0].buf, 0x11, LONG_BYTES);
	memset(fix->rank[1].buf + SINK, 0, LONG_BYTES);
	(void)goal_fix_start(fix, 1, 0);
	sim_run_for(fix->sim, FIX_MS);
	sim_clog(to, true);
	run = goal_fix_start(fix, 0, timeout_ns);
	FIX_REQUIRE(fix, sim_run_until(fix->sim, is_lent, from, FIX_LIMIT_NS));
	FIX_CHECK(fix, goal_fix_wait(fix, 0, run, &result));
	FIX_CHECK(fix, result.status == status);
	memset(fix->rank[0].buf, 0x22, LONG_BYTES);
	FIX_CHECK(fix, settled(fix, 0) > 0);
	sim_clog(to, false);
	sim_run_for(fix->sim, 5 * FIX_MS);
	FIX_CHECK(fix, none_is(fix->rank[1].buf + SINK, 0x22, LONG_BYTES));
}

static void settled_when_a_run_fails(void)
{
	struct goal_fix_attr attr = borrowing(NULL);
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &attr);
	not_read(&fix, TIMEOUT_NS, HW_GOAL_TIMEOUT);
	goal_fix_end(&fix);
}

static void settled_when_a_stream_ends(void)
{
	struct goal_fix_attr attr = borrowing(NULL);
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &attr);
	not_read(&fix, 0, HW_GOAL_PEER_LOST);
	goal_fix_end(&fix);
}

/*
 * Messages come before their receives, and fill the pool. Runs without room are held packet by
 * packet, so that nothing is sent again when the receives come.
 */
static void runs_without_room(void)
{
	struct goal_fix_attr attr = borrowing(NULL);
	struct weft_goal_result result;
	struct goal_fix fix;
	uint32_t run[2], i;

	attr.pool_bytes = 32 * 1024;
	goal_fix_begin(&fix, 1, 2, &attr);
	exchange_load(&fix, 100);
	FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
	exchange_load(&fix, 100000);
	pattern(&fix, 1, 100000);
	sim_clog(sim_nic_at(fix.sim, 1), true);
	run[0] = goal_fix_start(&fix, 0, 0);
	sim_run_for(fix.sim, FIX_MS / 20);
	sim_clog(sim_nic_at(fix.sim, 1), false);
	sim_run_for(fix.sim, FIX_MS / 20);
	run[1] = goal_fix_start(&fix, 1, 0);
	for (i = 0; i < 2; i++) {
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_OK);
	}
	FIX_CHECK(&fix, is_right(&fix, 100000));
	FIX_CHECK(&fix, !counters(&fix)->esp_tx_retransmits);
	goal_fix_end(&fix);
}

/*
 * Frames behind a lost one are held by the receiver, whose sender's process ends meanwhile. Where a
 * held frame still lay in its memory, the simulation would end the test.
 */
static void held_frames_are_copies(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 4 * FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = borrowing("loss=10");
		struct goal_fix fix;

		goal_fix_begin(&fix, seed, 2, &attr);
		exchange_load(&fix, LONG_BYTES);
		(void)goal_fix_start(&fix, 0, 0);
		(void)goal_fix_start(&fix, 1, 0);
		sim_run_for(fix.sim, seed * FIX_MS / 16);
		sim_proc_kill(fix.rank[0].proc);
		sim_run_for(fix.sim, 5 * FIX_MS);
		goal_fix_end(&fix);
	}
}

UT_MAIN("sim/goal_borrow", UT(as_runs), UT(as_runs_with_faults), UT(runs_without_room),
	UT(settled_when_a_run_fails), UT(settled_when_a_stream_ends), UT(held_frames_are_copies))
