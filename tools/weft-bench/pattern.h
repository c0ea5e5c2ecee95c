/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a message, made from its sequence number, so that every received byte can be checked
 * and an earlier message's bytes are not mistaken for this one's.
 *
 * Every word depends on the number and its place, and a receiver wipes what it has compared, so
 * that no byte of an earlier message passes for one of a later. With stamps (--stamps, for rows of
 * bandwidth) only the first word of each KiB of a message above PATTERN_SMALL_BYTES depends on the
 * number; the others depend on the slot (number modulo slots), so that a sender that reuses its
 * slots writes one word in 128 per message, and nothing is wiped. The receiver compares every byte
 * in both cases.
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

/* Stamps from now on, or full patterns, the default. Both ends must agree. Before any message. */
void pattern_use_stamps(bool stamps);

/* Makes all of message seq. p is 8-aligned. */
void pattern_fill(uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots);

/* The same for a p that holds an earlier message of the same slot and length. */
void pattern_refill(uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots);

/*
 * Checks that p holds message seq, all of it. Returns bytes if so, else the place of the
 * difference.
 */
size_t pattern_check(const uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots);

/* The same where each byte may be of message other, too, which has the same place. Slow. */
size_t pattern_check_two(const uint8_t *p, size_t bytes, uint64_t seq, uint64_t other,
			 uint32_t slots);

/* Wipes the place of a message that was compared; not with stamps. */
void pattern_wipe(uint8_t *p, size_t bytes);

/* The number in message p; its low bytes where it is shorter than 8. */
uint64_t pattern_seq(const uint8_t *p, size_t bytes);

#endif /* WEFT_BENCH_PATTERN_H */
