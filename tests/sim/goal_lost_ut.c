/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives from any rank while ranks die, and memory for unexpected messages that is unmapped.
 */
#include "nic_fw/fw_nic.h"
#include "tests/sim/goal_fix.h"

enum {
	RANKS = 4,
	BYTES = 100000,
};

/*
 * Rank 0 receives from any rank as often as there are others; the first `talkers` of them send.
 * With fewer messages than that, the other ranks wait for it, too.
 */
static void load(struct goal_fix *fix, uint32_t talkers, uint64_t bytes)
{
	uint32_t i, k;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *g = goal_graph_new(i, fix->num);

		if (!i)
			for (k = 1; k < fix->num; k++)
				goal_fix_recv(g, goal_fix_mem(fix, 0, 0, bytes), GOAL_RANK_ANY, 0);
		else if (i <= talkers)
			goal_fix_send(g, goal_fix_mem(fix, i, 0, bytes), 0, 0);
		if (talkers < fix->num - 1 && i)
			goal_fix_recv(g, goal_fix_mem(fix, i, 0, 4), 0, 1);
		goal_fix_load(fix, i, g);
	}
}

static void silence(struct goal_fix *fix, uint32_t rank, uint32_t how)
{
	if (how == 0)
		sim_proc_kill(fix->rank[rank].proc);
	else if (how == 1)
		sim_nic_kill(sim_nic_at(fix->sim, rank));
	else
		sim_nic_restart(sim_nic_at(fix->sim, rank));
}

static void is_lost(struct goal_fix *fix, uint32_t rank, uint32_t run, uint32_t dead)
{
	struct weft_goal_result result = {.status = HW_GOAL_STATUSES};

	FIX_CHECK(fix, goal_fix_wait(fix, rank, run, &result) ||
			   goal_fix_wait(fix, rank, run, &result) ||
			   goal_fix_wait(fix, rank, run, &result));
	FIX_CHECK(fix, result.status == HW_GOAL_PEER_LOST || result.status == HW_GOAL_UNREACHABLE);
	FIX_CHECK(fix, result.rank == dead);
}

/* The dead rank has sent messages before or not, and was dead when the run began or not. */
static void a_receive_from_any_ends_with_a_rank(void)
{
	uint32_t how, when, i;

	for (how = 0; how < 3; how++) {
		for (when = 0; when < 3; when++) {
			struct goal_fix_attr attr = {.bytes = 1 << 20};
			struct goal_fix fix;
			uint32_t run[RANKS];

			goal_fix_begin(&fix, 1 + how, RANKS, &attr);
			if (when) {
				load(&fix, RANKS - 1, BYTES);
				FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
			}
			load(&fix, 1, 100);
			if (when < 2)
				silence(&fix, 3, how);
			for (i = 0; i < RANKS; i++)
				if (i != 3 || when == 2)
					run[i] = goal_fix_start(&fix, i, 0);
			sim_run_for(fix.sim, 100 * FIX_MS);
			if (when == 2)
				silence(&fix, 3, how);
			for (i = 0; i < 3; i++)
				is_lost(&fix, i, run[i], 3);
			goal_fix_end(&fix);
		}
	}
}

/*
 * The message has begun, or was announced, so the missing rest is that rank's. False: it had not
 * begun, or all of it was in flight already.
 */
static bool dies_in_the_middle(uint32_t how, uint32_t eager_bytes, uint64_t at_ns)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20, .eager_bytes = eager_bytes};
	struct weft_goal_result result = {.status = HW_GOAL_STATUSES};
	struct goal_fix fix;
	uint32_t run[2];

	goal_fix_begin(&fix, 1, 2, &attr);
	load(&fix, 1, 500000);
	run[0] = goal_fix_start(&fix, 0, 0);
	run[1] = goal_fix_start(&fix, 1, 0);
	sim_run_for(fix.sim, at_ns);
	silence(&fix, 1, how);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[0], &result));
	FIX_CHECK(&fix, result.status == HW_GOAL_OK || result.status == HW_GOAL_PEER_LOST ||
			    result.status == HW_GOAL_UNREACHABLE);
	goal_fix_end(&fix);
	return result.status != HW_GOAL_OK;
}

static void a_sender_that_dies_in_the_middle(void)
{
	uint64_t at_ns;
	uint32_t how, large;

	for (how = 0; how < 3; how++)
		for (large = 0; large < 2; large++) {
			uint32_t n = 0;

			for (at_ns = 10000; at_ns < 200000; at_ns += 10000)
				n += dies_in_the_middle(how, large ? 8192 : 1 << 19, at_ns);
			CU_ASSERT(n > 2);
		}
}

/* A rank that has done its part and leaves in order is no loss. */
static void who_leaves_is_not_lost(void)
{
	struct weft_goal_result result;
	struct goal_fix fix;
	uint32_t run[3], i;

	goal_fix_begin(&fix, 1, 3, NULL);
	load(&fix, 2, 100);
	for (i = 0; i < 3; i++)
		if (i != 2)
			run[i] = goal_fix_start(&fix, i, 0);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 1, run[1], NULL));
	sim_run_for(fix.sim, 50 * FIX_MS);
	FIX_CHECK(&fix, weft_goal_comm_destroy(fix.rank[1].goal, fix.rank[1].comm) == 0);
	sim_run_for(fix.sim, 2000 * FIX_MS);
	FIX_CHECK(&fix, !weft_goal_test(fix.rank[0].goal, run[0]));
	run[2] = goal_fix_start(&fix, 2, 0);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[0], &result));
	FIX_CHECK(&fix, result.status == HW_GOAL_OK);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 2, run[2], NULL));
	goal_fix_end(&fix);
}

/* Ranks are watched only while another one waits for them. */
static void nobody_is_watched_afterwards(void)
{
	struct goal_fix fix;
	struct fw_nic *fw;
	uint32_t run[RANKS], i;

	goal_fix_begin(&fix, 1, RANKS, NULL);
	load(&fix, RANKS - 1, 100);
	run[0] = goal_fix_start(&fix, 0, 0);
	sim_run_for(fix.sim, 100 * FIX_MS);
	fw = sim_nic_fw(sim_nic_at(fix.sim, 0), 0);
	FIX_CHECK(&fix, fw->goal.comms[0].any_recvs == RANKS - 1);
	FIX_CHECK(&fix, fw->goal.comms[0].any_watched == RANKS - 1);
	for (i = 1; i < RANKS; i++)
		run[i] = goal_fix_start(&fix, i, 0);
	for (i = 0; i < RANKS; i++)
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], NULL));
	sim_run_for(fix.sim, 100 * FIX_MS);
	FIX_CHECK(&fix, fw->goal.comms[0].any_recvs == 0 && fw->goal.comms[0].any_watched == 0);
	FIX_CHECK(&fix, !fw_timer_is_set(&fw->goal.comms[0].any_timer));
	goal_fix_end(&fix);
}

/* An unexpected message that cannot be kept fails its run at both ends; the next run is whole. */
static void the_pool_is_gone(void)
{
	uint32_t late;

	for (late = 0; late < 2; late++) {
		struct weft_goal_result result;
		struct goal_fix fix;
		uint32_t run[2], i;

		goal_fix_begin(&fix, 1, 2, NULL);
		for (i = 0; i < 2; i++) {
			struct goal_graph *g = goal_graph_new(i, 2);
			uint32_t gate = 0;

			/* The receive waits for a message behind the first one. */
			if (i)
				gate = goal_fix_recv(g, goal_fix_mem(&fix, 1, 0, 4), 0, 7);
			if (i)
				goal_fix_after(
				    g, gate,
				    goal_fix_recv(g, goal_fix_mem(&fix, 1, 0, 1000), 0, 0));
			else
				goal_fix_send(g, goal_fix_mem(&fix, 0, 0, 1000), 1, 0);
			if (!i)
				goal_fix_send(g, goal_fix_mem(&fix, 0, 0, 4), 1, 7);
			goal_fix_recv(g, goal_fix_mem(&fix, i, 0, 4), 1 - i, 9);
			goal_fix_load(&fix, i, g);
		}
		FIX_CHECK(&fix, weft_dereg_mr(fix.rank[1].pool) == 0);
		run[0] = goal_fix_start(&fix, 0, 0);
		if (late)
			sim_run_for(fix.sim, FIX_MS);
		run[1] = goal_fix_start(&fix, 1, 0);
		for (i = 0; i < 2; i++) {
			FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
			FIX_CHECK(&fix, result.status == HW_GOAL_MEMORY && result.rank == 1);
		}
		FIX_CHECK(&fix, sim_nic_stat(sim_nic_at(fix.sim, 1), "goal_pool_faults") == 1);
		goal_fix_end(&fix);
	}
}

/* Rank 0 sends, and rank 1 receives, `count` small messages. */
static void load_small(struct goal_fix *fix, uint32_t count)
{
	uint32_t i, k;

	for (i = 0; i < 2; i++) {
		struct goal_graph *g = goal_graph_new(i, 2);

		for (k = 0; k < count; k++)
			if (i)
				goal_fix_recv(g, goal_fix_mem(fix, 1, 0, 8), 0, k);
			else
				goal_fix_send(g, goal_fix_mem(fix, 0, 0, 8), 1, k);
		goal_fix_load(fix, i, g);
	}
}

/*
 * A small send ends when it is copied, while its process has few of them on the way. Beyond that it
 * ends when it is acknowledged: a rank that only sends would else fill the table.
 */
static void who_only_sends_does_not_run_away(void)
{
	enum {
		SENDS = 1000,
		RUNS_AHEAD = GOAL_MAX_AHEAD / SENDS,
		MORE = 2,
	};
	uint32_t run[RUNS_AHEAD + MORE], i;
	struct weft_goal_result result;
	const struct fw_nic *fw;
	struct goal_fix fix;

	goal_fix_begin(&fix, 1, 2, &(struct goal_fix_attr){.pool_bytes = 1 << 20});
	load_small(&fix, SENDS);
	FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
	sim_run_for(fix.sim, FIX_MS);
	fw = sim_nic_fw(sim_nic_at(fix.sim, 0), 0);
	FIX_CHECK(&fix, !fw->goal.sends.used);
	sim_nic_pause(sim_nic_at(fix.sim, 1), 20 * FIX_MS);
	for (i = 0; i < RUNS_AHEAD + MORE; i++) {
		run[i] = goal_fix_start(&fix, 0, 0);
		FIX_CHECK(&fix, i >= RUNS_AHEAD || (goal_fix_wait(&fix, 0, run[i], &result) &&
						    result.status == HW_GOAL_OK));
	}
	sim_run_for(fix.sim, 5 * FIX_MS);
	FIX_CHECK(&fix, fw->goal.runs.used == MORE);
	for (i = 0; i < RUNS_AHEAD + MORE; i++) {
		uint32_t theirs = goal_fix_start(&fix, 1, 0);

		FIX_CHECK(&fix,
			  goal_fix_wait(&fix, 1, theirs, &result) && result.status == HW_GOAL_OK);
	}
	for (i = RUNS_AHEAD; i < RUNS_AHEAD + MORE; i++)
		FIX_CHECK(&fix,
			  goal_fix_wait(&fix, 0, run[i], &result) && result.status == HW_GOAL_OK);
	goal_fix_end(&fix);
}

/*
 * A process ends whose messages are more than the NIC keeps for their receivers: they are freed, in
 * turns, and the process is gone.
 */
static void who_ends_with_very_many_messages(void)
{
	enum {
		SENDS = GOAL_MAX_SENDS / 4 + 1000,
	};
	struct goal_fix fix;
	struct fw_nic *fw;

	goal_fix_begin(&fix, 1, 2, NULL);
	load_small(&fix, SENDS);
	sim_nic_pause(sim_nic_at(fix.sim, 1), 100 * FIX_MS);
	(void)goal_fix_start(&fix, 0, 0);
	sim_run_for(fix.sim, 40 * FIX_MS);
	fw = sim_nic_fw(sim_nic_at(fix.sim, 0), 0);
	FIX_CHECK(&fix, fw->goal.sends.used > GOAL_MAX_SENDS / 4);
	sim_proc_kill(fix.rank[0].proc);
	sim_run_for(fix.sim, 40 * FIX_MS);
	FIX_CHECK(&fix, !fw->goal.sends.used);
	FIX_CHECK(&fix, fw_list_empty(&fw->slices.leaving));
	goal_fix_end(&fix);
}

UT_MAIN("sim/goal_lost", UT(a_receive_from_any_ends_with_a_rank),
	UT(a_sender_that_dies_in_the_middle), UT(who_leaves_is_not_lost),
	UT(nobody_is_watched_afterwards), UT(the_pool_is_gone),
	UT(who_only_sends_does_not_run_away), UT(who_ends_with_very_many_messages))
