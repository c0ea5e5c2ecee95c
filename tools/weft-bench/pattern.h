/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a message, made from its sequence number, so that every received byte can be checked
 * and an earlier message's bytes are not mistaken for this one's.
 *
 * Up to PATTERN_SMALL_BYTES every word depends on the number. In longer messages the first word of
 * each KiB does; the others depend on the slot (number modulo slots) and their place, so that a
 * sender that reuses its slots writes one word in 128 per message. The receiver always compares
 * every byte.
 */
#ifndef WEFT_BENCH_PATTERN_H
#define WEFT_BENCH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PATTERN_SMALL_BYTES = 1024,
	PATTERN_STAMP_WORDS = 128,
};

/* Makes all of message seq. p is 8-aligned. */
void pattern_fill(uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots);

/* The same for a p that holds an earlier message of the same slot and length. */
void pattern_refill(uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots);

/*
 * Checks that p holds message seq, all of it. Returns bytes if so, else the place of the
 * difference.
 */
size_t pattern_check(const uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots);

/* The number in message p; its low bytes where it is shorter than 8. */
uint64_t pattern_seq(const uint8_t *p, size_t bytes);

#endif /* WEFT_BENCH_PATTERN_H */
