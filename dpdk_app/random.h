/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unpredictable random numbers without system calls: ChaCha20 with a key from the kernel.
 *
 * STags, initial sequence numbers, epochs, cookie keys and connection names are drawn from these. A
 * stranger sees many of them and must not be able to predict others. Each instance belongs to one
 * thread.
 */
#ifndef WEFT_RANDOM_H
#define WEFT_RANDOM_H

#include <stdint.h>

enum {
	RANDOM_KEY_WORDS = 8,
	RANDOM_BLOCK_WORDS = 16,
	RANDOM_BLOCKS = 8, /* generated at a time */
};

struct random {
	uint32_t key[RANDOM_KEY_WORDS];
	uint32_t out[RANDOM_BLOCKS * RANDOM_BLOCK_WORDS];
	uint32_t left; /* words at the end of out that are not delivered yet */
};

/* Gets a key from the kernel; waits until one is available. Returns 0 or a negative errno. */
int random_init(struct random *random);
/* Uses the caller's key: the sequence is reproducible. */
void random_init_key(struct random *random, const uint32_t key[RANDOM_KEY_WORDS]);
uint64_t random_next(struct random *random);

/* The block function (RFC 8439 2.3). state: constants, key, counter and nonce. Pure. */
void random_block(const uint32_t state[RANDOM_BLOCK_WORDS], uint32_t out[RANDOM_BLOCK_WORDS]);

#endif /* WEFT_RANDOM_H */
