/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several processes that measure together, all forked from this one, which itself opens no NIC:
 * base of reg, srq, mpi3 and tag. Ranks 2n and 2n + 1 are partners.
 *
 * The first rank's NIC is --device, its partner's --device2. A rank hands its results over as rows,
 * JSON objects that the parent collects. Functions return 0, or -1 after an error message. A rank
 * that fails ends all others.
 */
#ifndef WEFT_BENCH_CREW_H
#define WEFT_BENCH_CREW_H

#include <jansson.h>
#include <pthread.h>
#include <stddef.h>

#include "tools/weft-bench/bench.h"

enum {
	CREW_MAX = 16,
	CREW_BLOCKS = 5, /* a figure is the median of this many values, with the extremes */
};

struct crew_shared {
	pthread_barrier_t barrier;
	double value[CREW_MAX]; /* one word of each rank, visible to the others */
};

struct crew {
	const struct opts *o;
	int rank;
	int ranks;
	int partner_fd;
	int out_fd;
	struct crew_shared *shared;
};

typedef int (*crew_fn)(struct crew *c, void *arg);

/* Runs fn in each of that many processes. Their rows are appended to rows. */
int crew_run(const struct opts *o, int ranks, crew_fn fn, void *arg, json_t *rows);

/* A part of a mode, which --part names. */
struct crew_part {
	const char *name;
	crew_fn fn;
	int least_ranks, most_ranks; /* doubled from one run to the next */
};

/*
 * Runs the parts of a mode that --part selects, or all, and prints their rows. Returns
 * BENCH_OK or BENCH_FAILED.
 */
int crew_parts(const struct opts *o, const struct crew_part *parts, size_t num);

/* The NIC of this rank. */
const char *crew_device(const struct crew *c);

/* A barrier of all ranks. */
void crew_barrier(struct crew *c);

/* Exchanges data between both partners, who both call it. */
int crew_exchange(struct crew *c, const void *mine, void *theirs, size_t bytes);

/* Sum over all ranks; all call it. */
double crew_sum(struct crew *c, double mine);

/* Takes the reference to row. */
int crew_row(struct crew *c, json_t *row);

/* The median of CREW_BLOCKS values (sorted in place) as name, the extremes as name_min, name_max.
 */
void crew_figure(json_t *row, const char *name, double *blocks);

/* Prints rows: a table for each run of rows with the same fields, names as given. */
void crew_print(const json_t *rows);

#endif /* WEFT_BENCH_CREW_H */
