/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole BAR scribbled by a thread while the firmware runs: see scribble.c.
 */
#ifndef WEFT_TESTS_FUZZ_SCRIBBLE_H
#define WEFT_TESTS_FUZZ_SCRIBBLE_H

#include <stdint.h>

struct scribble_result {
	uint64_t turns, messages, words, lives;
};

/* Runs once in a program. Aborts at a find. */
struct scribble_result scribble(uint64_t seed, uint32_t seconds);

#endif /* WEFT_TESTS_FUZZ_SCRIBBLE_H */
