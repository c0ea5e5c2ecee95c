/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs that fail: every rank is notified in bounded time, nothing is left behind, the next run and
 * other communicators go on.
 */
#include "nic_fw/fw_nic.h"
#include "tests/sim/goal_fix.h"

/* Each rank waits for one message of the previous one; rank 0's comes from the last. */
static void ring_load(struct goal_fix *fix, uint32_t rank, uint64_t bytes, uint64_t room)
{
	struct goal_graph *g = goal_graph_new(rank, fix->num);

	goal_fix_send(g, goal_fix_mem(fix, rank, 0, bytes), (rank + 1) % fix->num, 0);
	goal_fix_recv(g, goal_fix_mem(fix, rank, 32768, room), (rank + fix->num - 1) % fix->num, 0);
	goal_fix_load(fix, rank, g);
}

static void ring(struct goal_fix *fix, uint64_t bytes, uint64_t room)
{
	uint32_t i;

	for (i = 0; i < fix->num; i++)
		ring_load(fix, i, bytes, room);
}

/* Each rank exchanges messages with every other, so no rank finishes without all. */
static void all_to_all(struct goal_fix *fix, uint64_t bytes)
{
	uint32_t i, k;

	for (i = 0; i < fix->num; i++) {
		struct goal_graph *g = goal_graph_new(i, fix->num);

		for (k = 0; k < fix->num; k++) {
			if (k == i)
				continue;
			goal_fix_send(g, goal_fix_mem(fix, i, 0, bytes), k, 0);
			goal_fix_recv(g, goal_fix_mem(fix, i, 32768, bytes), k, 0);
		}
		goal_fix_load(fix, i, g);
	}
}

static void a_time_out_is_everybodys(void)
{
	struct weft_goal_result late;
	struct goal_fix fix;
	uint32_t run[4], i;

	goal_fix_begin(&fix, 1, 4, NULL);
	ring(&fix, 100, 100);
	/* Rank 3 is not there yet: ranks 1 and 2 are done, rank 0 waits and times out. */
	for (i = 0; i < 3; i++)
		run[i] = goal_fix_start(&fix, i, i ? 0 : 2 * FIX_MS);
	for (i = 0; i < 3; i++) {
		struct weft_goal_result result;

		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == (i ? HW_GOAL_OK : HW_GOAL_TIMEOUT));
	}
	/* Rank 3 comes too late and gets the error. */
	sim_run_for(fix.sim, FIX_MS);
	run[3] = goal_fix_start(&fix, 3, 0);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 3, run[3], &late));
	FIX_CHECK(&fix, late.status == HW_GOAL_TIMEOUT && late.rank == 0);
	goal_fix_end(&fix);
}

static void a_message_too_long(void)
{
	static const uint64_t sizes[] = {5, 5000, 200000};
	uint32_t n;

	for (n = 0; n < 3; n++) {
		struct goal_fix_attr attr = {.bytes = 1 << 20, .eager_bytes = 8192};
		struct goal_fix fix;
		uint32_t run[2], i, late;

		for (late = 0; late < 2; late++) {
			goal_fix_begin(&fix, n + 1, 2, &attr);
			for (i = 0; i < 2; i++) {
				struct goal_graph *g = goal_graph_new(i, 2);

				if (i)
					goal_fix_recv(g, goal_fix_mem(&fix, i, 0, sizes[n] - 1), 0,
						      0);
				else
					goal_fix_send(g, goal_fix_mem(&fix, i, 0, sizes[n]), 1, 0);
				/* Keeps both from finishing before the other has failed. */
				if (i)
					goal_fix_send(g, goal_fix_mem(&fix, i, 0, 1), 0, 9);
				else
					goal_fix_recv(g, goal_fix_mem(&fix, i, 0, 1), 1, 8);
				goal_fix_load(&fix, i, g);
			}
			run[0] = goal_fix_start(&fix, 0, 0);
			if (late)
				sim_run_for(fix.sim, FIX_MS);
			run[1] = goal_fix_start(&fix, 1, 0);
			goal_fix_all_have(&fix, run, 2, HW_GOAL_TRUNCATED);
			goal_fix_end(&fix);
		}
	}
}

static void a_rank_that_dies(void)
{
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct goal_fix_attr attr = {.faults = seed % 2 ? "loss=2,dup,reorder" : NULL};
		struct goal_fix fix;
		uint32_t run[5], i;

		goal_fix_begin(&fix, seed, 5, &attr);
		all_to_all(&fix, 20000);
		FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
		for (i = 0; i < 5; i++)
			if (i != 2)
				run[i] = goal_fix_start(&fix, i, 0);
		sim_run_for(fix.sim, 200000);
		if (seed < 3)
			sim_proc_kill(fix.rank[2].proc);
		else
			sim_nic_kill(sim_nic_at(fix.sim, 2));
		goal_fix_all_have(&fix, (uint32_t[]){run[0], run[1], 0, run[3], run[4]}, 2,
				  HW_GOAL_PEER_LOST);
		goal_fix_end(&fix);
	}
}

static struct fw_client *client_of(struct goal_fix *fix, uint32_t rank)
{
	struct fw_nic *nic = sim_nic_fw(sim_nic_at(fix->sim, rank), 0);
	uint32_t i;

	for (i = 0; i < HW_MAX_CLIENTS; i++)
		if (nic->host.clients[i].used && !fw_list_empty(&nic->host.clients[i].goal_comms))
			return &nic->host.clients[i];
	return NULL;
}

/*
 * A process that exits loses all its memory at once, while its runs end in later turns. Missing
 * memory in between is reported as the end of the rank, not as a fault of a buffer.
 */
static void memory_of_a_rank_that_leaves(void)
{
	struct weft_goal_result result = {.status = HW_GOAL_STATUSES};
	struct fw_client *leaving;
	struct goal_fix fix;
	uint32_t run[2], i;

	goal_fix_begin(&fix, 1, 2, NULL);
	for (i = 0; i < 2; i++) {
		struct goal_graph *g = goal_graph_new(i, 2);

		if (i)
			goal_fix_after(g, goal_fix_recv(g, goal_fix_mem(&fix, 1, 0, 1000), 0, 0),
				       goal_fix_send(g, goal_fix_mem(&fix, 1, 0, 1000), 0, 1));
		else
			goal_fix_after(g, goal_fix_send(g, goal_fix_mem(&fix, 0, 0, 1000), 1, 0),
				       goal_fix_recv(g, goal_fix_mem(&fix, 0, 0, 1000), 1, 1));
		goal_fix_load(&fix, i, g);
	}
	FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
	leaving = client_of(&fix, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(leaving);
	run[1] = goal_fix_start(&fix, 1, 0);
	sim_run_for(fix.sim, FIX_MS);
	leaving->closing = true;
	run[0] = goal_fix_start(&fix, 0, 0);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[0], &result));
	FIX_CHECK(&fix, result.status == HW_GOAL_PEER_LOST && result.rank == 1);
	leaving->closing = false;
	goal_fix_end(&fix);
}

/* Counts the links over which the end of that run, or of a later one, was sent. */
static uint32_t num_told(const struct fw_nic *nic, uint32_t instance)
{
	uint32_t n = 0, i;

	for (i = 0; i < nic->goal.comm_ids.high; i++) {
		const struct goal_comm *comm = &nic->goal.comms[i];
		const struct fw_list *pos;

		if (!comm->used)
			continue;
		fw_list_for_each (pos, &comm->all_links)
			n += FW_CONTAINER(pos, const struct goal_link, node)->abort_mark > instance;
	}
	return n;
}

/* Rank 0 exchanges messages with all ranks, which exchange none with each other. */
static void hub_and_spokes(struct goal_fix *fix)
{
	struct goal_fix_attr attr = {.ranks_per_nic = 1};
	uint32_t i;

	goal_fix_begin(fix, 1, GOAL_FIX_RANKS, &attr);
	for (i = 0; i < fix->num; i++) {
		struct goal_graph *g = goal_graph_new(i, fix->num);
		uint32_t k;

		for (k = i ? 0 : 1; k < (i ? 1 : fix->num); k++) {
			goal_fix_send(g, goal_fix_mem(fix, i, 0, 100), k, 0);
			goal_fix_recv(g, goal_fix_mem(fix, i, 32768, 100), k, 0);
		}
		goal_fix_load(fix, i, g);
	}
	FIX_CHECK(fix, goal_fix_run(fix, NULL) == HW_GOAL_OK);
}

/* All of them are notified, a few in each turn of the notifying NIC. */
static void a_rank_of_many_dies(void)
{
	uint32_t run[GOAL_FIX_RANKS], told = 0, i;
	const struct fw_nic *nic;
	struct goal_fix fix;

	hub_and_spokes(&fix);
	run[0] = goal_fix_start(&fix, 0, 0);
	sim_run_for(fix.sim, FIX_MS);
	nic = sim_nic_fw(sim_nic_at(fix.sim, 0), 0);
	sim_proc_kill(fix.rank[0].proc);
	/* 64 units of a command, 16 of a turn; 8 for each rank. */
	for (i = 0; i < 2000; i++) {
		uint32_t now = num_told(nic, 0);

		FIX_CHECK(&fix, now < told || now - told <= 64 / 8);
		told = now;
		sim_run_for(fix.sim, 100);
	}
	for (i = 1; i < fix.num; i++) {
		struct weft_goal_result result = {.status = HW_GOAL_STATUSES};

		run[i] = goal_fix_start(&fix, i, 0);
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_PEER_LOST && result.rank == 0);
	}
	goal_fix_end(&fix);
}

/*
 * Watches the notifications of a run's end: 64 units of a command, 16 of a turn; 8 for each rank.
 */
static void told_in_turns(struct goal_fix *fix, uint32_t instance, uint32_t ranks)
{
	const struct fw_nic *nic = sim_nic_fw(sim_nic_at(fix->sim, 0), 0);
	uint32_t told = num_told(nic, instance), i;

	for (i = 0; i < 40000 && told < ranks; i++) {
		uint32_t now = num_told(nic, instance);

		FIX_CHECK(fix, now < told || now - told <= 16 / 8 + 1);
		told = now;
		sim_run_for(fix->sim, 100);
	}
	FIX_CHECK(fix, told == ranks);
}

/* A run of very many ranks fails, or never begins since one of them has failed. */
static void a_run_of_many_fails(void)
{
	uint32_t run[GOAL_FIX_RANKS], i;
	struct weft_goal_result result;
	struct goal_fix fix;

	hub_and_spokes(&fix);
	run[0] = goal_fix_start(&fix, 0, FIX_MS);
	told_in_turns(&fix, 1, fix.num - 1);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[0], &result));
	FIX_CHECK(&fix, result.status == HW_GOAL_TIMEOUT && result.rank == 0);
	for (i = 1; i < fix.num; i++) {
		run[i] = goal_fix_start(&fix, i, 0);
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_TIMEOUT && result.rank == 0);
	}
	run[1] = goal_fix_start(&fix, 1, FIX_MS);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 1, run[1], &result));
	sim_run_for(fix.sim, FIX_MS);
	run[0] = goal_fix_start(&fix, 0, 0);
	told_in_turns(&fix, 2, fix.num - 2);
	FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[0], &result));
	FIX_CHECK(&fix, result.status == HW_GOAL_TIMEOUT && result.rank == 1);
	for (i = 2; i < fix.num; i++) {
		run[i] = goal_fix_start(&fix, i, 0);
		FIX_CHECK(&fix, goal_fix_wait(&fix, i, run[i], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_TIMEOUT && result.rank == 1);
	}
	FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
	goal_fix_end(&fix);
}

/*
 * A rank that only sends to the dead rank, and waits for no other, is notified of the death, too.
 */
static void a_receiver_that_dies(void)
{
	uint32_t how;

	for (how = 0; how < 3; how++) {
		struct goal_fix_attr attr = {.bytes = 1 << 20};
		struct goal_fix fix;
		uint32_t run[2], i;

		goal_fix_begin(&fix, 1, 2, &attr);
		for (i = 0; i < 2; i++) {
			struct goal_graph *g = goal_graph_new(i, 2);

			if (i)
				goal_fix_recv(g, goal_fix_mem(&fix, i, 0, 100000), 0, 0);
			else
				goal_fix_send(g, goal_fix_mem(&fix, i, 0, 100000), 1, 0);
			goal_fix_load(&fix, i, g);
		}
		run[0] = goal_fix_start(&fix, 0, 0);
		run[1] = goal_fix_start(&fix, 1, 0);
		sim_run_for(fix.sim, 15000);
		if (!how)
			sim_proc_kill(fix.rank[1].proc);
		else if (how == 1)
			sim_nic_kill(sim_nic_at(fix.sim, 1));
		else
			sim_nic_restart(sim_nic_at(fix.sim, 1));
		goal_fix_all_have(&fix, run, 1, HW_GOAL_PEER_LOST);
		goal_fix_end(&fix);
	}
}

static void cancel(void)
{
	struct goal_fix fix;
	uint32_t run[3], i;

	goal_fix_begin(&fix, 1, 3, NULL);
	for (i = 0; i < 3; i++) {
		struct goal_graph *g = goal_graph_new(i, 3);

		/* No rank sends. */
		goal_fix_recv(g, goal_fix_mem(&fix, i, 0, 10), (i + 1) % 3, 0);
		goal_fix_load(&fix, i, g);
		run[i] = goal_fix_start(&fix, i, 0);
	}
	sim_run_for(fix.sim, 5 * FIX_MS);
	FIX_CHECK(&fix, weft_goal_cancel(fix.rank[1].goal, run[1]) == 0);
	goal_fix_all_have(&fix, run, 3, HW_GOAL_CANCELED);
	/* The run is over: nothing to cancel. */
	ring(&fix, 10, 10);
	FIX_CHECK(&fix, goal_fix_run(&fix, NULL) == HW_GOAL_OK);
	goal_fix_end(&fix);
}

static void division_by_zero(void)
{
	struct goal_fix fix;
	uint32_t run[2], i;

	goal_fix_begin(&fix, 1, 2, NULL);
	for (i = 0; i < 2; i++) {
		struct goal_graph *g = goal_graph_new(i, 2);
		struct goal_mem a = goal_fix_mem(&fix, i, 0, 64), b = goal_fix_mem(&fix, i, 64, 64);
		const struct goal_mem *mems[3] = {&a, &b, &a};
		const uint32_t nums[3] = {1, 1, 1};

		goal_fix_recv(g, goal_fix_mem(&fix, i, 128, 4), 1 - i, 1);
		if (!i)
			FIX_REQUIRE(&fix, goal_graph_local(g, GOAL_LOCAL_DIV, GOAL_TYPE_SINT, 32,
							   16, mems, nums) >= 0);
		else
			goal_fix_send(g, a, 0, 2);
		goal_fix_load(&fix, i, g);
		run[i] = goal_fix_start(&fix, i, 0);
	}
	goal_fix_all_have(&fix, run, 2, HW_GOAL_DIVIDE);
	goal_fix_end(&fix);
}

static void memory_that_is_gone(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20};
	struct goal_fix fix;
	uint32_t run[2];

	goal_fix_begin(&fix, 1, 2, &attr);
	ring(&fix, 20000, 20000);
	FIX_CHECK(&fix, weft_dereg_mr(fix.rank[1].mr) == 0);
	run[0] = goal_fix_start(&fix, 0, 0);
	run[1] = goal_fix_start(&fix, 1, 0);
	goal_fix_all_have(&fix, run, 2, HW_GOAL_MEMORY);
	goal_fix_end(&fix);
}

/* More unexpected messages than the pool holds, ahead of the one that would be received. */
static void the_pool_is_too_small(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20, .pool_bytes = 8192};
	struct goal_graph *a = goal_graph_new(0, 2), *b = goal_graph_new(1, 2);
	struct goal_fix fix;
	uint32_t run[2], gate, last, i;

	goal_fix_begin(&fix, 1, 2, &attr);
	last = goal_fix_send(a, goal_fix_mem(&fix, 0, 0, 4), 1, 7);
	gate = goal_fix_recv(b, goal_fix_mem(&fix, 1, 0, 4), 0, 7);
	for (i = 0; i < 32; i++) {
		goal_fix_after(a, goal_fix_send(a, goal_fix_mem(&fix, 0, 1024 * i, 1000), 1, 0),
			       last);
		goal_fix_after(b, gate,
			       goal_fix_recv(b, goal_fix_mem(&fix, 1, 1024 * i, 1000), 0, 0));
	}
	goal_fix_load(&fix, 0, a);
	goal_fix_load(&fix, 1, b);
	run[0] = goal_fix_start(&fix, 0, 0);
	run[1] = goal_fix_start(&fix, 1, 0);
	goal_fix_all_have(&fix, run, 2, HW_GOAL_UNEXPECTED);
	goal_fix_end(&fix);
}

/* A late receiver stops its senders, and nothing is lost. */
static void back_pressure(void)
{
	struct goal_fix_attr attr = {.bytes = 1 << 20, .pool_bytes = 65536, .faults = "loss=1"};
	struct goal_fix fix;
	uint32_t run[8][2], i;

	goal_fix_begin(&fix, 1, 2, &attr);
	for (i = 0; i < 2; i++) {
		struct goal_graph *g = goal_graph_new(i, 2);

		if (i)
			goal_fix_recv(g, goal_fix_mem(&fix, i, 0, 30000), 0, 0);
		else
			goal_fix_send(g, goal_fix_mem(&fix, i, 0, 30000), 1, 0);
		goal_fix_load(&fix, i, g);
	}
	for (i = 0; i < 8; i++)
		run[i][0] = goal_fix_start(&fix, 0, 0);
	sim_run_for(fix.sim, 3000 * FIX_MS);
	for (i = 0; i < 8; i++) {
		struct weft_goal_result result;

		run[i][1] = goal_fix_start(&fix, 1, 0);
		FIX_CHECK(&fix, goal_fix_wait(&fix, 1, run[i][1], &result));
		FIX_CHECK(&fix, result.status == HW_GOAL_OK);
	}
	for (i = 0; i < 8; i++)
		FIX_CHECK(&fix, goal_fix_wait(&fix, 0, run[i][0], NULL));
	goal_fix_end(&fix);
}

UT_MAIN("sim/goal_fail", UT(a_time_out_is_everybodys), UT(a_message_too_long), UT(a_rank_that_dies),
	UT(memory_of_a_rank_that_leaves), UT(a_rank_of_many_dies), UT(a_run_of_many_fails),
	UT(a_receiver_that_dies), UT(cancel), UT(division_by_zero), UT(memory_that_is_gone),
	UT(the_pool_is_too_small), UT(back_pressure))
