/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiled schedules out of thin air: one number names a schedule for two ranks.
 *
 * Used by coll.c and evil.c. Raw, without libgoal, so that a target can make all of it wrong;
 * formats: shared_defs/goal_format.h, docs/goal-format.md.
 */
#ifndef WEFT_TESTS_FUZZ_SCHED_H
#define WEFT_TESTS_FUZZ_SCHED_H

#include "tests/fuzz/world.h"

enum {
	SCHED_INSNS = 24,
	SCHED_PIECES = 3,
	SCHED_SCRATCH_BYTES = 4096,
	SCHED_SLOTS = 2,
	SCHED_BYTES = 112 + SCHED_SLOTS * 16 + SCHED_INSNS * (64 + 8) + SCHED_PIECES * 16,
	SCHED_EXCHANGE = 0, /* each rank sends so many bytes of slot 0, and receives behind them */
	SCHED_EXCHANGE_BYTES = 3000,
	SCHED_GROUPS = 0x8000, /* of a seed: with multicasts */
};

/*
 * The part of a rank, 0 or 1; slots of so many bytes. Runs of what both ranks make of the same
 * number come to an end, but for wildcards that took another message. Returns the bytes.
 */
uint32_t sched_build(uint8_t out[SCHED_BYTES], uint32_t rank, uint32_t seed,
		     const uint32_t slot_bytes[SCHED_SLOTS]);

#endif /* WEFT_TESTS_FUZZ_SCHED_H */
