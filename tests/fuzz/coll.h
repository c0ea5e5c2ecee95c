/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator of two processes, one on each NIC, with schedules to run.
 *
 * Used by frames.c, whose runs must end under all forgeries, and by good.c, whose runs must succeed
 * and move the right bytes.
 */
#ifndef WEFT_TESTS_FUZZ_COLL_H
#define WEFT_TESTS_FUZZ_COLL_H

#include "tests/fuzz/sched.h"

enum {
	COLL_RECORDS = 8,
	COLL_SCHEDULES = 6,
	COLL_EAGER_BYTES = 2048,
	/* offsets in the memory that an end provides */
	COLL_STAGE_AT = 0, /* objects that commands name */
	COLL_POOL_AT = 4096,
	COLL_POOL_BYTES = 4096,
	COLL_SLOT_AT = 8192,
};

struct coll_end {
	struct w_proc *p;
	uint32_t pd;
	uint32_t stag[SCHED_SLOTS];  /* memory of both slots */
	uint8_t *mem;                /* in the region of stag[0] */
	uint8_t *other;              /* slot 1, in the region of stag[1] */
	uint32_t bytes[SCHED_SLOTS]; /* bytes of the slots */
	uint32_t comm;
	uint64_t runs_offset;
	uint32_t schedule[COLL_SCHEDULES];
	uint32_t serial[COLL_RECORDS]; /* number of the last run; 0: none */
};

struct coll {
	uint64_t key;
	struct coll_end end[2];
};

/* The caller sets p, pd, stag, mem, other, bytes and key; makes the rest, and runs all once. */
void coll_begin(struct coll *coll);
/* Loads schedule seed as number k of that end, in place of the old one; returns a status. */
int coll_load(struct coll *coll, uint32_t e, uint32_t k, uint32_t seed);
/* Starts schedule k at an end with a free record; false: there is none. */
bool coll_start(struct coll *coll, uint32_t e, uint32_t k, uint64_t timeout_ns);
int coll_cancel(struct coll *coll, uint32_t e, uint32_t record);
struct hw_goal_run *coll_record(const struct coll *coll, uint32_t e, uint32_t record);
/* True if every run of a live process has ended. */
bool coll_idle(const struct coll *coll);

#endif /* WEFT_TESTS_FUZZ_COLL_H */
