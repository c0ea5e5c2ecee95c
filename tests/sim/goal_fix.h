/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a communicator in the simulator: one process each, on NICs of their own or shared.
 *
 * Used by tests/sim/goal_*_ut.c; built on host_driver/weft_goal.h and goal_graph.h. A failed check
 * prints the seed.
 */
#ifndef WEFT_TESTS_GOAL_FIX_H
#define WEFT_TESTS_GOAL_FIX_H

#include "host_driver/goal/compile/goal_graph.h"
#include "host_driver/weft_goal.h"
#include "shared_defs/hw_goal.h"
#include "tests/sim/sim_fix.h"

enum {
	GOAL_FIX_RANKS = 64,
	GOAL_FIX_SCHEDULES = 64,
};

struct goal_fix_rank {
	struct sim_proc *proc;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_goal *goal;
	struct weft_mr *mr, *pool;
	uint8_t *buf;
	uint32_t comm;
	uint32_t schedule;
};

struct goal_fix {
	struct sim *sim;
	uint32_t num;
	size_t bytes; /* bytes of each rank's buffer */
	uint32_t eager_bytes;
	struct goal_fix_rank rank[GOAL_FIX_RANKS];
};

struct goal_fix_attr {
	const char *faults;
	uint32_t ranks_per_nic; /* 1 */
	size_t bytes;           /* 64 KiB */
	size_t pool_bytes;      /* 256 KiB */
	uint32_t eager_bytes;   /* default */
	uint32_t num_shards;    /* 1 */
	bool unmapped;
	bool in_pieces; /* every frame is received in several segments; else some are */
	bool borrow;    /* payload from 1 KiB on stays in the sender's memory under way */
	bool wrap_soon; /* sequence numbers begin shortly before they wrap */
};

void goal_fix_begin(struct goal_fix *fix, uint64_t seed, uint32_t ranks,
		    const struct goal_fix_attr *attr);
void goal_fix_end(struct goal_fix *fix);

/* A piece of the rank's buffer, or of the scratchpad. */
struct goal_mem goal_fix_mem(const struct goal_fix *fix, uint32_t rank, size_t offset,
			     uint64_t bytes);
struct goal_mem goal_fix_scratch(uint64_t offset, uint64_t bytes);

/* Adds a message or a dependency; asserts success. */
uint32_t goal_fix_send(struct goal_graph *g, struct goal_mem mem, uint32_t to, uint32_t tag);
uint32_t goal_fix_recv(struct goal_graph *g, struct goal_mem mem, uint32_t from, uint32_t tag);
void goal_fix_after(struct goal_graph *g, uint32_t first, uint32_t then);

/* Compiles and loads a rank's graph, and frees it; its schedule is rank[].schedule then. */
void goal_fix_load(struct goal_fix *fix, uint32_t rank, struct goal_graph *graph);

/* Starts the loaded schedules of all ranks, waits for all, returns the first failed status. */
enum hw_goal_status goal_fix_run(struct goal_fix *fix, struct weft_goal_result *results);
/* The two halves of that: start at one rank; wait for a run. */
uint32_t goal_fix_start(struct goal_fix *fix, uint32_t rank, uint64_t timeout_ns);
bool goal_fix_wait(struct goal_fix *fix, uint32_t rank, uint32_t run,
		   struct weft_goal_result *result);

/* Waits for the runs of all ranks but one; each must have that status. */
void goal_fix_all_have(struct goal_fix *fix, const uint32_t *run, uint32_t but,
		       enum hw_goal_status status);

#endif /* WEFT_TESTS_GOAL_FIX_H */
