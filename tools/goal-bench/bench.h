/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to the files of goal-bench. main.c parses the options, ranks.c makes the ranks and
 * collects their figures, and one mode runs in each of them: coll.c, pingpong.c, single.c,
 * overlap.c. All use goal.h and goal_coll.h alone, as a user's program would.
 */
#ifndef WEFT_GOAL_BENCH_BENCH_H
#define WEFT_GOAL_BENCH_BENCH_H

#include <jansson.h>

#include "host_driver/goal/goal_coll.h"
#include "tools/goal-bench/spec.h"

enum {
	BENCH_OK = 0,
	BENCH_FAILED = 1,
	BENCH_USAGE = 2,
	BENCH_MAX_RANKS = 64,
};

/* Shared by all ranks that one goal-bench started, to check that barriers really wait. */
struct shared {
	struct {
		uint32_t round; /* number of the barrier that the rank has entered last */
		uint32_t pad[15];
	} entered[BENCH_MAX_RANKS];
	uint32_t turns; /* taken by all ranks together */
};

struct bench {
	int (*mode)(struct bench *b);
	/* options */
	int ranks; /* ranks to start */
	int nics;  /* NICs that they share, the first ones; 0: all */
	int iters; /* 0: as many as seconds hold */
	double seconds;
	int threads; /* threads of the multiplication; 0: the CPUs that the process may use */
	bool alone;  /* without NICs */
	bool heap;   /* buffers in the brk heap */
	struct spec spec[SPEC_MAX];
	size_t size[SPEC_MAX]; /* pingpong: bytes; matmul: N; localop: bytes */
	int num_specs, num_sizes;
	/* of a rank */
	int rank, size_of_group;
	struct shared *shared; /* NULL: ranks of a launcher */
	GOAL_Schedule sync;    /* a barrier */
	json_t *rows;          /* rank 0: what is printed */
};

/* One line on stderr, -1. */
int bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same with the thread's last error of libgoal. */
int bench_goal_fail(const char *what);

/*
 * Starts b->ranks processes, or joins a launcher's; runs b->mode in each. Returns the exit status.
 */
int ranks_run(struct bench *b);
/* GOAL_Run and GOAL_Wait of b->sync. */
int ranks_sync(struct bench *b);
/* Gathers count numbers of each rank at rank 0, behind each other in all. */
int ranks_gather(const double *mine, int count, double *all);
/* 0, or -1 when one of the ranks gives -1; all ranks call it. */
int ranks_agree(struct bench *b, int rc);
/* Iterations that fill b->seconds when one takes us at this rank; the same at all ranks. */
int ranks_iters(struct bench *b, double us, int least, int most);

int coll_run(struct bench *b);
GOAL_Schedule coll_schedule(const struct spec *spec, const void *send, void *recv);
int pingpong_run(struct bench *b);
int start_run(struct bench *b);
int localop_run(struct bench *b);
int userop_run(struct bench *b);
/* Sets the folder of its programs; false: the path is too long. */
bool userop_folder(const char *path);
int turns_run(struct bench *b);
int overlap_run(struct bench *b);
int matmul_bench_run(struct bench *b);

#endif /* WEFT_GOAL_BENCH_BENCH_H */
