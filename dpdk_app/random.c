/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ChaCha20 generator; calls getrandom(2) once, at the start.
 *
 * The block function is RFC 8439 2.3. The first words of the blocks generated at a time become the
 * next key, and output is erased once delivered (Bernstein, "Fast-key-erasure random-number
 * generators", 2017): a later disclosure of the state does not reveal earlier numbers.
 */
#include "dpdk_app/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

enum {
	DOUBLE_ROUNDS = 10,
};

static uint32_t rotl(uint32_t x, uint32_t bits)
{
	return x << bits | x >> (32 - bits);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*a += *b;
	*d = rotl(*d ^ *a, 16);
	*c += *d;
	*b = rotl(*b ^ *c, 12);
	*a += *b;
	*d = rotl(*d ^ *a, 8);
	*c += *d;
	*b = rotl(*b ^ *c, 7);
}

void random_block(const uint32_t state[RANDOM_BLOCK_WORDS], uint32_t out[RANDOM_BLOCK_WORDS])
{
	uint32_t x[RANDOM_BLOCK_WORDS];
	uint32_t i, k;

	memcpy(x, state, sizeof(x));
	for (i = 0; i < DOUBLE_ROUNDS; i++) {
		for (k = 0; k < 4; k++)
			quarter_round(&x[k], &x[4 + k], &x[8 + k], &x[12 + k]);
		for (k = 0; k < 4; k++)
			quarter_round(&x[k], &x[4 + (k + 1) % 4], &x[8 + (k + 2) % 4],
				      &x[12 + (k + 3) % 4]);
	}
	for (i = 0; i < RANDOM_BLOCK_WORDS; i++)
		out[i] = x[i] + state[i];
}

/* The nonce may stay 0, because no key is used twice. */
static void refill(struct random *random)
{
	uint32_t state[RANDOM_BLOCK_WORDS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
	uint32_t i;

	memcpy(&state[4], random->key, sizeof(random->key));
	for (i = 0; i < RANDOM_BLOCKS; i++) {
		state[12] = i;
		random_block(state, &random->out[i * RANDOM_BLOCK_WORDS]);
	}
	memcpy(random->key, random->out, sizeof(random->key));
	explicit_bzero(random->out, sizeof(random->key));
	explicit_bzero(state, sizeof(state));
	random->left = RANDOM_BLOCKS * RANDOM_BLOCK_WORDS - RANDOM_KEY_WORDS;
}

void random_init_key(struct random *random, const uint32_t key[RANDOM_KEY_WORDS])
{
	memset(random, 0, sizeof(*random));
	memcpy(random->key, key, sizeof(random->key));
}

int random_init(struct random *random)
{
	uint32_t key[RANDOM_KEY_WORDS];

	/* getrandom(2) returns up to 256 bytes completely once the kernel's generator is seeded. */
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return errno ? -errno : -EIO;
	random_init_key(random, key);
	explicit_bzero(key, sizeof(key));
	return 0;
}

uint64_t random_next(struct random *random)
{
	uint32_t *word;
	uint64_t value;

	if (random->left < 2)
		refill(random);
	word = &random->out[RANDOM_BLOCKS * RANDOM_BLOCK_WORDS - random->left];
	value = (uint64_t)word[0] << 32 | word[1];
	word[0] = word[1] = 0;
	random->left -= 2;
	return value;
}
