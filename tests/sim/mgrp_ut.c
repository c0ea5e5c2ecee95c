/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicasts over reliable groups: every byte at every rank under all faults, and the cost.
 */
#include "nic_fw/coll/goal_slow.h"
#include "tests/sim/mgrp_fix.h"

enum {
	BYTES = 262144,
};

static void put_pattern(uint8_t *buf, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		buf[i] = (uint8_t)((i * 2654435761u + seed * 40503u) >> 7);
}

static bool has_pattern(const uint8_t *buf, size_t bytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (buf[i] != (uint8_t)((i * 2654435761u + seed * 40503u) >> 7))
			return false;
	return true;
}

/* One multicast from root, run repeatedly. */
static void broadcast(struct goal_fix *fix, uint32_t root, uint64_t bytes, uint32_t runs)
{
	uint32_t i, n;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *g = goal_graph_new(i, fix->num);

		(void)mcast(g, goal_fix_mem(fix, i, 0, bytes), i, root, 3);
		goal_fix_load(fix, i, g);
	}
	for (n = 0; n < runs; n++) {
		for (i = 0; i < fix->num; i++)
			memset(fix->rank[i].buf, 0, bytes);
		put_pattern(fix->rank[root].buf, bytes, n + root);
		FIX_REQUIRE(fix, goal_fix_run(fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < fix->num; i++)
			FIX_REQUIRE(fix, has_pattern(fix->rank[i].buf, bytes, n + root));
	}
}

static void sizes_and_roots(void)
{
	static const uint64_t sizes[] = {0, 1, 64, 1100, 1300, 5000, 70000, BYTES};
	struct goal_fix_attr attr = {.bytes = BYTES, .wrap_soon = true};
	uint32_t ranks, s;
	struct goal_fix fix;

	for (ranks = 1; ranks <= 9; ranks++) {
		goal_fix_begin(&fix, ranks, ranks, &attr);
		for (s = 0; s < 8; s++)
			broadcast(&fix, (s * 5) % ranks, sizes[s], 2);
		goal_fix_end(&fix);
	}
}

/* ---- cost ------------------------------------------------------------------------------------ */

static uint64_t stat_of(struct goal_fix *fix, uint32_t rank, const char *name)
{
	return sim_nic_stat(sim_nic_at(fix->sim, rank), name);
}

static uint64_t stat_of_all(struct goal_fix *fix, const char *name)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < fix->num; i++)
		sum += stat_of(fix, i, name);
	return sum;
}

/*
 * 16 receivers, 1 % loss at the port of each: the root's port sends at most 1.1 times the data
 * frames of one copy, and repairs are at most 1.2 times the lost receptions.
 */
static void what_loss_costs(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20};
	uint64_t copy, root, repairs, lost;
	struct goal_fix fix;
	uint32_t i;

	goal_fix_begin(&fix, 11, 17, &attr);
	for (i = 1; i < 17; i++)
		sim_nic_link(sim_nic_at(fix.sim, i))->fault.loss_ppm = 10000;
	broadcast(&fix, 0, 1 << 20, 4);
	copy = stat_of(&fix, 0, "mgrp_tx_data");
	root = copy + stat_of(&fix, 0, "mgrp_tx_repairs");
	repairs = stat_of_all(&fix, "mgrp_tx_repairs");
	lost = 16 * copy - stat_of_all(&fix, "mgrp_rx_data") + repairs -
	       stat_of_all(&fix, "mgrp_rx_repairs");
	printf("\n    %llu packets, %llu left the root's port (%.3f), %llu receptions lost, "
	       "%llu repairs (%.3f) ",
	       (unsigned long long)copy, (unsigned long long)root, (double)root / (double)copy,
	       (unsigned long long)lost, (unsigned long long)repairs,
	       (double)repairs / (double)lost);
	/* 1 % of the frames that 16 NICs receive. */
	FIX_CHECK(&fix, lost > copy / 10 && lost < copy / 4);
	FIX_CHECK(&fix, copy <= (4u << 20) / 1000);
	FIX_CHECK(&fix, 10 * root <= 11 * copy);
	FIX_CHECK(&fix, 10 * repairs <= 12 * lost);
	goal_fix_end(&fix);
}

/* ---- matching, room, failure ----------------------------------------------------------------- */

static void all_to_all(struct goal_fix *fix, uint64_t bytes, uint32_t runs)
{
	uint32_t i, k, n;

	load_all_to_all(fix, bytes);
	for (n = 0; n < runs; n++) {
		for (i = 0; i < fix->num; i++) {
			memset(fix->rank[i].buf, 0, fix->bytes);
			for (k = 2 * i; k < 2 * i + 2; k++)
				put_pattern(fix->rank[i].buf + k * bytes, bytes, k + n);
		}
		FIX_REQUIRE(fix, goal_fix_run(fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < fix->num; i++) {
			uint32_t before = (i + fix->num - 1) % fix->num;

			for (k = 0; k < 2 * fix->num; k++)
				FIX_REQUIRE(
				    fix, has_pattern(fix->rank[i].buf + k * bytes, bytes, k + n));
			FIX_REQUIRE(fix, has_pattern(fix->rank[i].buf + 2 * fix->num * bytes,
						     bytes / 2, 2 * before + n));
		}
	}
}

static void several_roots(void)
{
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {.bytes = 1 << 18,
					     .ranks_per_nic = 1 + seed % 3,
					     .num_shards = 1 + seed % 2,
					     .unmapped = seed % 4 == 0,
					     .wrap_soon = seed % 4 < 2,
					     .faults = seed % 2 ? "loss=5,dup=3,reorder=5,corrupt=1"
								: "burst=0.5,jitter"};
		struct goal_fix fix;

		goal_fix_begin(&fix, seed, 2 + (uint32_t)seed % 7, &attr);
		all_to_all(&fix, seed % 3 ? 700 : 9000, 3);
		goal_fix_end(&fix);
	}
}

/* A late rank holds the root back, with messages that fit its pool and that do not. */
static void late_receivers(void)
{
	static const uint64_t sizes[] = {30000, 1 << 20};
	uint32_t run[8][3], n, i, k;

	for (n = 0; n < 2; n++) {
		struct goal_fix_attr attr = {
		    .bytes = 1 << 20, .pool_bytes = 65536, .faults = "loss=1"};
		struct goal_fix fix;

		goal_fix_begin(&fix, 1, 3, &attr);
		for (i = 0; i < 3; i++) {
			struct goal_graph *g = goal_graph_new(i, 3);

			(void)mcast(g, goal_fix_mem(&fix, i, 0, sizes[n]), i, 0, 0);
			goal_fix_load(&fix, i, g);
		}
		put_pattern(fix.rank[0].buf, sizes[n], 9);
		for (k = 0; k < 8; k++)
			for (i = 0; i < 2; i++)
				run[k][i] = goal_fix_start(&fix, i, 0);
		sim_run_for(fix.sim, 3000 * FIX_MS);
		/* The late rank is asked ever more rarely: nothing new was heard of it. */
		CU_ASSERT(stat_of_all(&fix, "mgrp_tx_probes") < 400);
		for (k = 0; k < 8; k++) {
			struct weft_goal_result result;

			memset(fix.rank[2].buf, 0, sizes[n]);
			run[k][2] = goal_fix_start(&fix, 2, 0);
			FIX_REQUIRE(&fix, goal_fix_wait(&fix, 2, run[k][2], &result));
			FIX_REQUIRE(&fix, result.status == HW_GOAL_OK);
			FIX_REQUIRE(&fix, has_pattern(fix.rank[2].buf, sizes[n], 9));
		}
		for (k = 0; k < 8; k++)
			for (i = 0; i < 2; i++)
				FIX_REQUIRE(&fix, goal_fix_wait(&fix, i, run[k][i], NULL));
		goal_fix_end(&fix);
	}
}

static void join_again(struct goal_fix *fix, uint32_t rank)
{
	struct goal_fix_rank *r = &fix->rank[rank];
	struct weft_goal_peer peers[GOAL_FIX_RANKS];
	struct weft_goal_comm_attr attr = {
	    .key = {0x1122334455667788, sim_seed(fix->sim)},
	    .rank = rank,
	    .num_ranks = fix->num,
	    .peers = peers,
	    .pd = r->pd,
	};
	uint32_t i;

	for (i = 0; i < fix->num; i++)
		weft_goal_self(fix->rank[i].goal, &peers[i]);
	FIX_REQUIRE(fix, weft_goal_comm_create(r->goal, &attr, &r->comm) == 0);
	FIX_REQUIRE(fix, weft_goal_pool(r->goal, r->comm, r->pool) == 0);
}

/*
 * A rank makes its communicator when the others are done with theirs. It receives the missed
 * multicasts within round trips, and not with the next probe of its parent, which has backed off.
 */
static void late_members(void)
{
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		uint32_t ranks = 2 + (uint32_t)seed % 6, late = ranks - 1, run[8], i;
		struct goal_fix_attr attr = {.ranks_per_nic = seed % 3 ? 1 : ranks};
		struct weft_goal_result result;
		struct goal_fix fix;
		uint64_t begun_ns;

		goal_fix_begin(&fix, seed, ranks, &attr);
		FIX_REQUIRE(&fix,
			    weft_goal_comm_destroy(fix.rank[late].goal, fix.rank[late].comm) == 0);
		put_pattern(fix.rank[0].buf, 5000, 4);
		for (i = 0; i < ranks; i++) {
			struct goal_graph *g = goal_graph_new(i, ranks);

			(void)mcast(g, goal_fix_mem(&fix, i, 0, 5000), i, 0, 0);
			if (i == late) {
				sim_run_for(fix.sim, (1000 + 7 * seed) * FIX_MS);
				join_again(&fix, late);
			}
			goal_fix_load(&fix, i, g);
			begun_ns = sim_now_ns(fix.sim);
			run[i] = goal_fix_start(&fix, i, 0);
			if (i == late)
				continue;
			FIX_REQUIRE(&fix, goal_fix_wait(&fix, i, run[i], &result));
			FIX_CHECK(&fix, result.status == HW_GOAL_OK);
			if (!i && seed % 2)
				FIX_CHECK(&fix, weft_goal_comm_destroy(fix.rank[0].goal,
								       fix.rank[0].comm) == 0);
		}
		FIX_REQUIRE(&fix, goal_fix_wait(&fix, late, run[late], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_OK);
		FIX_CHECK(&fix, has_pattern(fix.rank[late].buf, 5000, 4));
		FIX_CHECK(&fix, sim_now_ns(fix.sim) - begun_ns < FIX_MS);
		goal_fix_end(&fix);
	}
}

static void a_receive_too_short(void)
{
	static const uint64_t sizes[] = {5, 5000, 200000};
	uint32_t run[4], n, i, late;

	for (n = 0; n < 3; n++) {
		struct goal_fix_attr attr = {.bytes = 1 << 20, .eager_bytes = 8192};

		for (late = 0; late < 2; late++) {
			struct goal_fix fix;

			goal_fix_begin(&fix, n + 1, 4, &attr);
			for (i = 0; i < 4; i++) {
				struct goal_graph *g = goal_graph_new(i, 4);

				(void)mcast(g, goal_fix_mem(&fix, i, 0, sizes[n] - (i == 2)), i, 0,
					    0);
				/* Keeps every rank from finishing before rank 2 has failed. */
				goal_fix_recv(g, goal_fix_mem(&fix, i, 0, 1), (i + 1) % 4, 8);
				goal_fix_load(&fix, i, g);
			}
			for (i = 0; i < 4; i++) {
				if (late && i == 2)
					sim_run_for(fix.sim, FIX_MS);
				run[i] = goal_fix_start(&fix, i, 0);
			}
			goal_fix_all_have(&fix, run, 4, HW_GOAL_TRUNCATED);
			goal_fix_end(&fix);
		}
	}
}

/* A process ends, or a NIC, or a NIC restarts without memory of it: every rank is notified. */
static void a_rank_that_dies(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 3 * FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {.bytes = 1 << 18,
					     .faults = seed % 2 ? "loss=2,dup,reorder" : NULL};
		uint32_t run[7], i, victim = (uint32_t)seed % 7;
		struct goal_fix fix;

		goal_fix_begin(&fix, seed, 7, &attr);
		load_all_to_all(&fix, 9000);
		FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < 7; i++)
			run[i] = i == victim ? 0 : goal_fix_start(&fix, i, 0);
		sim_run_for(fix.sim, 50000 * (seed % 5));
		if (seed % 3 == 0)
			sim_proc_kill(fix.rank[victim].proc);
		else if (seed % 3 == 1)
			sim_nic_kill(sim_nic_at(fix.sim, victim));
		else
			sim_nic_restart(sim_nic_at(fix.sim, victim));
		goal_fix_all_have(&fix, run, victim, HW_GOAL_PEER_LOST);
		/* Later runs fail at once. */
		for (i = 0; i < 7; i++)
			run[i] = i == victim ? 0 : goal_fix_start(&fix, i, 0);
		goal_fix_all_have(&fix, run, victim, HW_GOAL_PEER_LOST);
		goal_fix_end(&fix);
	}
}

/* Runs that end early, with multicasts half sent, do not disturb the next one. */
static void time_out_and_cancel(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20, .pool_bytes = 65536};
	struct weft_goal_result result;
	struct goal_fix fix;
	uint32_t run[5], how, i;

	for (how = 0; how < 2; how++) {
		goal_fix_begin(&fix, 1, 5, &attr);
		for (i = 0; i < 5; i++) {
			struct goal_graph *g = goal_graph_new(i, 5);

			(void)mcast(g, goal_fix_mem(&fix, i, 0, 1 << 20), i, 1, 0);
			goal_fix_load(&fix, i, g);
		}
		/* Rank 4 is missing, so the root cannot go on. */
		for (i = 0; i < 4; i++)
			run[i] = goal_fix_start(&fix, i, i == 1 && how ? 3 * FIX_MS : 0);
		sim_run_for(fix.sim, FIX_MS);
		if (!how)
			FIX_CHECK(&fix, weft_goal_cancel(fix.rank[1].goal, run[1]) == 0);
		run[4] = 0;
		goal_fix_all_have(&fix, run, 4, how ? HW_GOAL_TIMEOUT : HW_GOAL_CANCELED);
		run[4] = goal_fix_start(&fix, 4, 0);
		FIX_CHECK(&fix, goal_fix_wait(&fix, 4, run[4], &result));
		FIX_CHECK(&fix, result.status == (how ? HW_GOAL_TIMEOUT : HW_GOAL_CANCELED));
		put_pattern(fix.rank[1].buf, 1 << 20, how);
		FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < 5; i++)
			FIX_CHECK(&fix, has_pattern(fix.rank[i].buf, 1 << 20, how));
		goal_fix_end(&fix);
	}
}

/*
 * A finished rank gives its communicator back, ends its process, or is killed: packets that ranks
 * below it miss are repaired all the same.
 */
static void leave(struct goal_fix *fix, uint32_t rank, uint32_t how)
{
	struct goal_fix_rank *r = &fix->rank[rank];

	if (how == 2) {
		sim_proc_kill(r->proc);
		return;
	}
	FIX_CHECK(fix, weft_goal_comm_destroy(r->goal, r->comm) == 0);
	if (!how)
		return;
	weft_goal_close(r->goal);
	weft_close_device(r->context);
	r->goal = NULL;
	r->context = NULL;
}

static void leaving_early(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 3 * FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {.faults = "loss=20"};
		struct weft_goal_result result;
		uint32_t run[12], i, k, left = 0;
		bool over[12] = {false};
		struct goal_fix fix;

		goal_fix_begin(&fix, seed, 12, &attr);
		for (i = 0; i < 12; i++) {
			struct goal_graph *g = goal_graph_new(i, 12);

			(void)mcast(g, goal_fix_mem(&fix, i, 0, 6000), i, 0, 0);
			goal_fix_load(&fix, i, g);
			run[i] = goal_fix_start(&fix, i, 0);
		}
		for (k = 0; k < 20000 && left < 12; k++) {
			sim_run_for(fix.sim, 5000);
			for (i = 0; i < 12; i++) {
				if (over[i] || !weft_goal_test(fix.rank[i].goal, run[i]))
					continue;
				over[i] = true;
				left++;
				weft_goal_finish(fix.rank[i].goal, run[i], &result);
				FIX_CHECK(&fix, result.status == HW_GOAL_OK);
				leave(&fix, i, (uint32_t)seed % 3);
			}
		}
		FIX_CHECK(&fix, left == 12);
		sim_faults_off(fix.sim);
		sim_run_for(fix.sim, 11000 * FIX_MS);
		for (i = 0; i < 12; i++)
			FIX_CHECK(&fix, stat_of(&fix, i, "goal_comms_used") == 0 &&
					    stat_of(&fix, i, "mgrp_spaces_used") == 0 &&
					    stat_of(&fix, i, "goal_links_used") == 0 &&
					    stat_of(&fix, i, "goal_sends_used") == 0);
		goal_fix_end(&fix);
	}
}

/* ---- forged frames --------------------------------------------------------------------------- */

static uint64_t goal_slow_of(struct goal_fix *fix)
{
	return sim_nic_stat(sim_proc_nic(fix->rank[0].proc), "goal_slow");
}

/* Pages of the root that do not come: each access is tried again after a while, not in each turn.
 */
static void pages_that_do_not_come(void)
{
	enum {
		BYTES_SLOW = 20000,
		WAIT_NS = 20000000,
	};
	struct goal_fix_attr attr = {.bytes = BYTES, .unmapped = true};
	struct weft_goal_result result;
	uint32_t i, run[3];
	struct goal_fix fix;
	uint64_t slow;

	goal_fix_begin(&fix, 1, 3, &attr);
	broadcast(&fix, 0, BYTES_SLOW, 1);
	put_pattern(fix.rank[0].buf, BYTES_SLOW, 7);
	sim_host_busy(fix.sim, 1000000);
	for (i = 0; i < 3; i++)
		run[i] = goal_fix_start(&fix, i, 0);
	slow = goal_slow_of(&fix);
	sim_run_for(fix.sim, WAIT_NS);
	slow = goal_slow_of(&fix) - slow;
	FIX_CHECK(&fix, slow > WAIT_NS / GOAL_SLOW_NS / 2);
	FIX_CHECK(&fix, slow <= WAIT_NS / GOAL_SLOW_NS);
	sim_host_busy(fix.sim, 0);
	for (i = 0; i < 3; i++) {
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_OK);
		FIX_CHECK(&fix, has_pattern(fix.rank[i].buf, BYTES_SLOW, 7));
	}
	goal_fix_end(&fix);
}

UT_MAIN("sim/mgrp", UT(sizes_and_roots), UT(what_loss_costs), UT(several_roots), UT(late_receivers),
	UT(late_members), UT(a_receive_too_short), UT(a_rank_that_dies), UT(time_out_and_cancel),
	UT(leaving_early), UT(pages_that_do_not_come))
