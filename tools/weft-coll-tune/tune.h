/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-coll-tune: its two files. main.c has the command line, the rules and the output; measure.c
 * the collectives and their times.
 */
#ifndef WEFT_TOOLS_COLL_TUNE_H
#define WEFT_TOOLS_COLL_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TUNE_SIZES = 12, /* as many rules of a collective are allowed, and more */
	TUNE_ITERATIONS = 1000,
};

/* Values of Open MPI's parameter coll_weft_force. */
enum tune_choice {
	TUNE_WEFT = 1,
	TUNE_PREVIOUS = 2,
};

struct tune_coll {
	const char *name;
	bool sized;   /* the time depends on the bytes of a block */
	bool unequal; /* rules do not go by bytes: not all ranks know them */
};
extern const struct tune_coll tune_colls[];
extern const uint32_t tune_num_colls;

/* Seconds; of the slowest rank, median of the iterations. */
struct tune_times {
	double weft, previous;
};

/* False: no memory. room: bytes of a block at most. */
bool tune_begin(size_t room);
void tune_end(void);
/*
 * Measures a collective by both, in turn. Non-blocking: start, computation for as long as the
 * quicker one takes alone, wait.
 */
struct tune_times tune_measure(uint32_t coll, bool nonblocking, size_t bytes, uint32_t iterations);
/* Finds Open MPI's parameter. False: coll/weft is not loaded, or has no NIC (*why). */
bool tune_find(const char **why);

#endif /* WEFT_TOOLS_COLL_TUNE_H */
