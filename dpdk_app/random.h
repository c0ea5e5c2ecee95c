/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers that nobody can foresee, without system calls: ChaCha20 with a key of the
 * kernel's.
 *
 * STags, first sequence numbers, epochs, cookies' keys and names of connections are drawn from
 * these; a stranger sees many of them, and shall learn no other from them. Each instance belongs to
 * one thread.
 */
#ifndef WEFT_RANDOM_H
#define WEFT_RANDOM_H

#include <stdint.h>

enum {
	RANDOM_KEY_WORDS = 8,
	RANDOM_BLOCK_WORDS = 16,
	RANDOM_BLOCKS = 8, /* made at a time */
};

struct random {
	uint32_t key[RANDOM_KEY_WORDS];
	uint32_t out[RANDOM_BLOCKS * RANDOM_BLOCK_WORDS];
	uint32_t left; /* words at the end of out that were not given out yet */
};

/* Takes a key from the kernel, waiting until that has one. 0 or a negative errno. */
int random_init(struct random *random);
/* With a key of the caller's: the same numbers each time. */
void random_init_key(struct random *random, const uint32_t key[RANDOM_KEY_WORDS]);
uint64_t random_next(struct random *random);

/* The block function (RFC 8439 2.3): state is constants, key, counter and nonce. Pure. */
void random_block(const uint32_t state[RANDOM_BLOCK_WORDS], uint32_t out[RANDOM_BLOCK_WORDS]);

#endif /* WEFT_RANDOM_H */
