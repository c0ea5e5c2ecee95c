/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of schedules for weft-bench stages. Calls weft_goal.h.
 */
#ifndef WEFT_BENCH_STAGES_GOAL_H
#define WEFT_BENCH_STAGES_GOAL_H

#include "host_driver/weft_goal.h"
#include "tools/weft-bench/bench.h"

#define STAGES_POOL_BYTES ((size_t)1 << 20)

struct stages_rank {
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_goal *goal;
	struct weft_mr *mr;
	void *pool;
	uint32_t comm, schedule;
};

struct stages_goal {
	uint32_t ranks; /* 1: local operations; 2: messages between o->device and o->device2 */
	struct stages_rank rank[2];
};

/* 0, or -1 after an error message; stages_goal_close() closes it in either case. */
int stages_goal_open(struct stages_goal *g, const struct opts *o, uint32_t ranks);
/* Runs the schedules repeatedly for this time. 0 or -1. */
int stages_goal_run(struct stages_goal *g, double seconds);
void stages_goal_close(struct stages_goal *g);

#endif /* WEFT_BENCH_STAGES_GOAL_H */
