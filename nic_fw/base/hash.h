/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash tables with chains: their function, their walk, insertion and removal.
 *
 * Heads, and the link in each entry, hold the next entry's number in its table + 1, so that a
 * zeroed arena is an empty hash table. A table of entries is an array, or fw_pool_table(). Chains
 * are short: each user bounds its entries, and hashes them with a key of the instance, since peers
 * and processes choose what they are found by. Lemire, Kaser: Strongly universal string hashing is
 * fast, 2014.
 */
#ifndef WEFT_FW_HASH_H
#define WEFT_FW_HASH_H

#include <assert.h>
#include <stdint.h>

#include "nic_fw/base/walk.h"

/* Mixes three numbers, without a secret: a choice of numbers is a choice of the result. */
static inline uint32_t fw_hash(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t h = (uint64_t)a * 0x9e3779b97f4a7c15u;

	h ^= (uint64_t)b * 0xc2b2ae3d27d4eb4fu;
	h ^= (uint64_t)c * 0x165667b19e3779f9u;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(h >> 32);
}

/* The key of an instance's hash tables; drawn by keyed.c. */
struct fw_hash_key {
	uint64_t word[6];
};

/*
 * Hashes the key of an entry. Any two keys meet in a chain with the chance of random numbers: a
 * number is multiplied by a secret and the high half of the sum is taken, so no choice of keys is
 * better than another (multilinear hashing).
 */
static inline uint32_t fw_hash_keyed5(const struct fw_hash_key *key, uint32_t a, uint32_t b,
				      uint32_t c, uint32_t d, uint32_t e)
{
	const uint64_t *word = key->word;

	return (uint32_t)((word[0] + word[1] * a + word[2] * b + word[3] * c + word[4] * d +
			   word[5] * e) >>
			  32);
}

static inline uint32_t fw_hash_keyed(const struct fw_hash_key *key, uint32_t a, uint32_t b,
				     uint32_t c)
{
	return fw_hash_keyed5(key, a, b, c, 0, 0);
}

/* Walks the entries of a chain; the loop may not remove any. next: the member that links them. */
#define fw_chain_for_each(entry, head, table, next)                                                \
	for (uint32_t chain_at = (head);                                                           \
	     chain_at && ((entry) = (table), (entry) += chain_at - 1, 1);                          \
	     chain_at = (entry)->next, FW_WALK_STEP())

/* Puts an entry first; link: its own, number: its place in the table. */
static inline void fw_chain_add(uint32_t *head, uint32_t *link, uint32_t number)
{
	*link = *head;
	*head = number + 1;
}

/* Takes an entry out of its chain. */
#define fw_chain_del(head, entry, table, next)                                                     \
	do {                                                                                       \
		__typeof__(entry) chain_table = (table);                                           \
		uint32_t *chain_link = (head);                                                     \
		uint32_t chain_number = (uint32_t)((entry)-chain_table) + 1;                       \
                                                                                                   \
		while (*chain_link != chain_number) {                                              \
			assert(*chain_link);                                                       \
			FW_WALK_STEP();                                                            \
			chain_link = &chain_table[*chain_link - 1].next;                           \
		}                                                                                  \
		*chain_link = (entry)->next;                                                       \
	} while (0)

#endif /* WEFT_FW_HASH_H */
