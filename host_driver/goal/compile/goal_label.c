/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash table of the labels of one rank.
 *
 * The hash is SipHash-1-3 with a secret key, so no file can force all labels into one bucket (J.-P.
 * Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012).
 */
#include "host_driver/goal/compile/goal_label.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host_driver/goal/compile/goal_set.h"

struct goal_label {
	uint64_t hash;
	const char *name;
	uint64_t bytes;
	uint32_t op;
	uint32_t stamp;
};

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static uint64_t hash_of(const struct goal_labels *labels, const char *name, size_t bytes)
{
	uint64_t v[4] = {
	    labels->key[0] ^ 0x736f6d6570736575ull,
	    labels->key[1] ^ 0x646f72616e646f6dull,
	    labels->key[0] ^ 0x6c7967656e657261ull,
	    labels->key[1] ^ 0x7465646279746573ull,
	};
	uint64_t word;
	size_t i;

	for (i = 0; i + 8 <= bytes; i += 8) {
		memcpy(&word, name + i, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	word = (uint64_t)bytes << 56;
	memcpy(&word, name + i, bytes - i); /* the last byte keeps the length */
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	for (i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void goal_labels_init(struct goal_labels *labels)
{
	*labels = (struct goal_labels){.stamp = 1};
	/* Without randomness the table still works, with a known key. */
	if (getrandom(labels->key, sizeof(labels->key), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(labels->key))
		labels->key[0] = (uint64_t)(uintptr_t)labels;
}

void goal_labels_drop(struct goal_labels *labels)
{
	free(labels->table);
	goal_labels_init(labels);
}

void goal_labels_clear(struct goal_labels *labels)
{
	/* There are fewer ranks than stamps. */
	labels->stamp++;
	labels->num = 0;
}

/* Returns the slot of the name, or the empty slot for it. The table always has empty slots. */
static struct goal_label *place(const struct goal_labels *labels, uint64_t hash, const char *name,
				size_t bytes)
{
	for (size_t i = hash & (labels->room - 1);; i = (i + 1) & (labels->room - 1)) {
		struct goal_label *l = &labels->table[i];

		if (l->stamp != labels->stamp ||
		    (l->hash == hash && l->bytes == bytes && !memcmp(l->name, name, bytes)))
			return l;
	}
}

static int grow_table(struct goal_labels *labels)
{
	struct goal_labels bigger = *labels;

	bigger.room = labels->room ? labels->room * 2 : 64;
	bigger.table = calloc(bigger.room, sizeof(*bigger.table));
	if (!bigger.table)
		return -1;
	for (size_t i = 0; i < labels->room; i++) {
		const struct goal_label *l = &labels->table[i];

		if (l->stamp == labels->stamp)
			*place(&bigger, l->hash, l->name, l->bytes) = *l;
	}
	free(labels->table);
	*labels = bigger;
	return 0;
}

uint32_t goal_labels_add(struct goal_labels *labels, const char *name, size_t bytes, uint32_t op)
{
	uint64_t hash = hash_of(labels, name, bytes);
	struct goal_label *l;

	if (labels->num >= labels->room / 2 && grow_table(labels))
		return GOAL_NO_OP;
	l = place(labels, hash, name, bytes);
	if (l->stamp == labels->stamp)
		return l->op;
	*l = (struct goal_label){hash, name, bytes, op, labels->stamp};
	labels->num++;
	return op;
}

uint32_t goal_labels_find(const struct goal_labels *labels, const char *name, size_t bytes)
{
	const struct goal_label *l;

	if (!labels->num)
		return GOAL_NO_OP;
	l = place(labels, hash_of(labels, name, bytes), name, bytes);
	return l->stamp == labels->stamp ? l->op : GOAL_NO_OP;
}
