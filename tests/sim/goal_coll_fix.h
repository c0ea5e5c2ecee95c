/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective on all ranks of a goal_fix, checked against results computed here.
 *
 * Used by tests/sim/goal_coll_*_ut.c; built on goal_fix.h and goal_coll_build.h. Each rank's buffer
 * has guard bytes around its input and its output; neither they nor the input may change.
 */
#ifndef WEFT_TESTS_GOAL_COLL_FIX_H
#define WEFT_TESTS_GOAL_COLL_FIX_H

#include "host_driver/goal/compile/goal_coll_build.h"
#include "tests/sim/goal_fix.h"

/* A collective of elements of some type; buffers are the fixture's. */
struct coll_case {
	GOAL_Collective coll;
	GOAL_Algorithm alg;
	uint64_t count;
	uint32_t root;
	GOAL_Op op; /* 0 is MAX */
	GOAL_DataType type;
	uint32_t width; /* 0: bytes that are only moved */
	bool in_place;
	uint32_t runs; /* 0: one */
};

/* Bytes of each rank's buffer that blocks of this many bytes need. */
size_t coll_fix_bytes(uint32_t ranks, uint64_t block_bytes);
/* Begins with buffers and pools that are large enough for such blocks; attr may be NULL. */
void coll_fix_begin(struct goal_fix *fix, uint64_t seed, uint32_t ranks, uint64_t block_bytes,
		    const struct goal_fix_attr *attr);
/* Builds, loads, runs, checks, unloads; returns the virtual nanoseconds that the last run took. */
uint64_t coll_fix_run(struct goal_fix *fix, const struct coll_case *cc);

/* The scale of the simulations: 1, or the value of WEFT_COLL_SWEEP. */
uint32_t coll_fix_sweep(void);
/* Next number below limit of a sequence that the seed determines. */
uint32_t coll_fix_draw(uint64_t *state, uint32_t limit);

#endif /* WEFT_TESTS_GOAL_COLL_FIX_H */
