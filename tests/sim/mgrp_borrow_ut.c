/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicasts between NICs whose ports borrow payload, as those of weftd's built-in switch do:
 * packets in runs, members that take them whole or packet by packet, and blocks of the root's ring
 * that are freed while packets are under way.
 */
#include "nic_fw/fw_nic.h"
#include "tests/sim/mgrp_fix.h"

enum {
	LONG_BYTES = 300000,
	/* Payload of a packet, before the root knows the MTU of all, and of one of 4,096 bytes. */
	FIRST_SEGMENT = 1280 - 8 - 64 - 40 - 4,
	SEGMENT = 4096 - 8 - 64 - 40 - 4,
};

static struct goal_fix_attr borrowing(const char *faults)
{
	return (struct goal_fix_attr){.faults = faults, .bytes = 1 << 19, .borrow = true};
}

static void load_from(struct goal_fix *fix, uint32_t root, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *g = goal_graph_new(i, fix->num);

		(void)mcast(g, goal_fix_mem(fix, i, 0, bytes), i, root, 3);
		goal_fix_load(fix, i, g);
	}
}

static void pattern(struct goal_fix *fix, uint32_t root, uint32_t seed, uint32_t bytes)
{
	uint32_t i, k;

	for (i = 0; i < fix->num; i++)
		memset(fix->rank[i].buf, 0xee, bytes + 1);
	for (k = 0; k < bytes; k++)
		fix->rank[root].buf[k] = (uint8_t)(seed + k * 7 + k / 251);
}

static bool is_right(const struct goal_fix *fix, uint32_t root, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < fix->num; i++)
		if (memcmp(fix->rank[i].buf, fix->rank[root].buf, bytes) != 0 ||
		    fix->rank[i].buf[bytes] != 0xee)
			return false;
	return true;
}

/* Frames reach all NICs in bursts, as they were sent. */
static void in_bursts(struct goal_fix *fix, uint32_t ms)
{
	struct sim_nic *nic;
	uint32_t i, k;

	for (i = 0; i < 40 * ms; i++) {
		for (k = 0; (nic = sim_nic_at(fix->sim, k)); k++)
			sim_clog(nic, true);
		sim_run_for(fix->sim, FIX_MS / 40);
		for (k = 0; (nic = sim_nic_at(fix->sim, k)); k++)
			sim_clog(nic, false);
		sim_run_for(fix->sim, FIX_MS / 400);
	}
}

static void run_all(struct goal_fix *fix, uint32_t ms)
{
	struct weft_goal_result result;
	uint32_t run[GOAL_FIX_RANKS], i;

	for (i = 0; i < fix->num; i++)
		run[i] = goal_fix_start(fix, i, 0);
	in_bursts(fix, ms);
	for (i = 0; i < fix->num; i++) {
		FIX_CHECK(fix, goal_fix_wait(fix, i, run[i], &result));
		FIX_CHECK(fix, result.status == HW_GOAL_OK);
	}
}

static uint64_t runs_of_all(struct goal_fix *fix, uint64_t *packets)
{
	const struct sim_nic *nic;
	uint64_t runs = 0, n;
	uint32_t i;

	*packets = 0;
	for (i = 0; (nic = sim_nic_at(fix->sim, i)); i++) {
		runs += sim_nic_runs(nic, &n);
		*packets += n;
	}
	return runs;
}

static uint64_t stat_of_all(struct goal_fix *fix, const char *name)
{
	const struct sim_nic *nic;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; (nic = sim_nic_at(fix->sim, i)); i++)
		sum += sim_nic_stat(nic, name);
	return sum;
}

/*
 * Lengths about multiples of a packet's and of a run's; members that have children and that have
 * none, alone on a NIC and several there, on NICs of one shard and of two.
 */
static void as_runs(void)
{
	uint64_t packets, runs;
	uint32_t shape, n;

	for (shape = 0; shape < 4; shape++) {
		struct goal_fix_attr attr = borrowing(NULL);
		struct goal_fix fix;

		attr.ranks_per_nic = shape == 3 ? 5 : 1 + shape % 2;
		attr.num_shards = 1 + shape / 2;
		attr.wrap_soon = shape != 1;
		goal_fix_begin(&fix, shape + 1, 5, &attr);
		for (n = 1; n < 80; n = n < 4 ? n + 1 : n * 3) {
			uint32_t segment = n == 1 ? FIRST_SEGMENT : SEGMENT;
			int more;

			for (more = -1; more <= 1; more++) {
				uint32_t root = n % 5,
					 bytes = (uint32_t)((int)(n * segment) + more);

				pattern(&fix, root, n, bytes);
				load_from(&fix, root, bytes);
				run_all(&fix, 1);
				FIX_CHECK(&fix, is_right(&fix, root, bytes));
			}
		}
		runs = runs_of_all(&fix, &packets);
		FIX_CHECK(&fix, runs > 20 && packets > 2 * runs);
		FIX_CHECK(&fix, !stat_of_all(&fix, "mgrp_tx_repairs"));
		FIX_CHECK(&fix, !stat_of_all(&fix, "mgrp_rx_duplicates"));
		FIX_CHECK(&fix, !stat_of_all(&fix, "goal_malformed"));
		goal_fix_end(&fix);
	}
}

/* Whatever the network does to single packets of a run, messages arrive as they were sent. */
static void as_runs_with_faults(void)
{
	uint64_t seed, packets, runs = 0;

	for (seed = 1; seed <= 3 * FIX_SEEDS; seed++) {
		struct goal_fix_attr attr =
		    borrowing(seed % 2 ? "loss=2,dup,reorder" : "loss=5,corrupt");
		uint32_t root = (uint32_t)seed % 6, n;
		struct goal_fix fix;

		attr.ranks_per_nic = 1 + seed % 3;
		attr.unmapped = seed % 4 == 3;
		attr.wrap_soon = seed % 2;
		goal_fix_begin(&fix, seed, 6, &attr);
		load_from(&fix, root, LONG_BYTES);
		for (n = 0; n < 3; n++) {
			pattern(&fix, root, (uint32_t)seed + n, LONG_BYTES);
			run_all(&fix, 2);
			FIX_CHECK(&fix, is_right(&fix, root, LONG_BYTES));
		}
		runs += runs_of_all(&fix, &packets);
		FIX_CHECK(&fix, stat_of_all(&fix, "mgrp_tx_repairs") > 0);
		FIX_CHECK(&fix, !stat_of_all(&fix, "goal_malformed"));
		goal_fix_end(&fix);
	}
	CU_ASSERT(runs > 0);
}

/*
 * Messages come before their receives: the first ones fill the pool, the last is beyond the eager
 * limit. Runs without room wait packet by packet, and nothing is sent again.
 */
static void runs_without_room(void)
{
	static const uint32_t sizes[] = {20000, 100000, LONG_BYTES};
	uint32_t s, i;

	for (s = 0; s < 3; s++) {
		struct goal_fix_attr attr = borrowing(NULL);
		struct weft_goal_result result;
		uint32_t run[4], bytes = sizes[s];
		struct goal_fix fix;

		attr.pool_bytes = 32 * 1024;
		attr.unmapped = s == 1;
		goal_fix_begin(&fix, s + 1, 4, &attr);
		/* All MTUs are known then. */
		load_from(&fix, 0, 100);
		run_all(&fix, 1);
		load_from(&fix, 0, bytes);
		pattern(&fix, 0, s, bytes);
		for (i = 0; i < 4; i++)
			if (i != 2)
				run[i] = goal_fix_start(&fix, i, 0);
		in_bursts(&fix, 1);
		run[2] = goal_fix_start(&fix, 2, 0);
		for (i = 0; i < 4; i++) {
			FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
			FIX_CHECK(&fix, result.status == HW_GOAL_OK);
		}
		FIX_CHECK(&fix, is_right(&fix, 0, bytes));
		FIX_CHECK(&fix, !stat_of_all(&fix, "mgrp_tx_repairs"));
		FIX_CHECK(&fix, !stat_of_all(&fix, "goal_malformed"));
		goal_fix_end(&fix);
	}
}

static bool is_lent(void *ctx)
{
	uint64_t settled;

	return sim_nic_lent(ctx, &settled) > 0;
}

/*
 * A NIC reads its frames no more until its rank counts as lost: the root's ring is free then, and
 * gets another use. What the NIC reads late is what was sent.
 */
static void settled_when_a_member_is_lost(void)
{
	struct goal_fix_attr attr = borrowing(NULL);
	struct weft_goal_result result;
	struct sim_nic *from, *to;
	struct goal_fix fix;
	uint64_t settled;
	uint32_t run;

	goal_fix_begin(&fix, 1, 2, &attr);
	from = sim_nic_at(fix.sim, 0);
	to = sim_nic_at(fix.sim, 1);
	load_from(&fix, 0, 100000);
	pattern(&fix, 0, 1, 100000);
	run_all(&fix, 1);
	(void)goal_fix_start(&fix, 1, 0);
	sim_run_for(fix.sim, FIX_MS);
	(void)sim_nic_lent(from, &settled);
	FIX_CHECK(&fix, !settled);
	sim_clog(to, true);
	run = goal_fix_start(&fix, 0, 0);
	FIX_REQUIRE(&fix, sim_run_until(fix.sim, is_lent, from, FIX_LIMIT_NS));
	FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run, &result));
	FIX_CHECK(&fix, result.status == HW_GOAL_OK);
	(void)sim_nic_lent(from, &settled);
	FIX_CHECK(&fix, !settled);
	sim_run_for(fix.sim, 60000 * FIX_MS);
	FIX_CHECK(&fix, sim_nic_stat(from, "goal_links_used") == 0 ||
			    sim_nic_stat(from, "esp_streams_used") == 0);
	(void)sim_nic_lent(from, &settled);
	FIX_CHECK(&fix, settled > 0);
	sim_clog(to, false);
	sim_run_for(fix.sim, 5 * FIX_MS);
	goal_fix_end(&fix);
}

UT_MAIN("sim/mgrp_borrow", UT(as_runs), UT(as_runs_with_faults), UT(runs_without_room),
	UT(settled_when_a_member_is_lost))
