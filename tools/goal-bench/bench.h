/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of goal-bench share. main.c parses the options, ranks.c makes the ranks and brings
 * their figures together, and one mode runs in each of them: coll.c, pingpong.c, single.c,
 * overlap.c. All stand on goal.h and goal_coll.h alone, as a user's program would.
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

/* Seen by all ranks that one goal-bench started, to check that barriers are such. */
struct shared {
	struct {
		uint32_t round; /* of the barrier that the rank has entered last */
		uint32_t pad[15];
	} entered[BENCH_MAX_RANKS];
	uint32_t turns; /* taken by all ranks together */
};

struct bench {
	int (*mode)(struct bench *b);
	/* options */
	int ranks; /* to start */
	int nics;  /* that they share, the first ones; 0: all there are */
	int iters; /* 0: as many as seconds hold */
	double seconds;
	int threads; /* of the multiplication; 0: the CPUs that the process may use */
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
/* The same about the thread's last error of libgoal. */
int bench_goal_fail(const char *what);

/* Starts b->ranks processes, or is one of a launcher's; runs b->mode in each. The exit status. */
int ranks_run(struct bench *b);
/* GOAL_Run and GOAL_Wait of b->sync. */
int ranks_sync(struct bench *b);
/* count numbers of each rank behind each other into all at rank 0. */
int ranks_gather(const double *mine, int count, double *all);
/* 0, or -1 when one of the ranks says -1; all ranks call it. */
int ranks_agree(struct bench *b, int rc);
/* How many iterations fill b->seconds when one takes us at this rank; the same at all ranks. */
int ranks_iters(struct bench *b, double us, int least, int most);

int coll_run(struct bench *b);
GOAL_Schedule coll_schedule(const struct spec *spec, const void *send, void *recv);
int pingpong_run(struct bench *b);
int start_run(struct bench *b);
int localop_run(struct bench *b);
int turns_run(struct bench *b);
int overlap_run(struct bench *b);
int matmul_bench_run(struct bench *b);

#endif /* WEFT_GOAL_BENCH_BENCH_H */
