/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast algorithms.
 *
 * The ESPGOAL paper, 5.3; Thakur, Rabenseifner and Gropp (2005), 4.2. All algorithms except the
 * multicast number ranks relative to the root.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

enum {
	TAG_DATA = 0,
	TAG_RING = 1,

	MAX_SEGMENTS = 4096,
};
#define SEGMENT_BYTES UINT64_C(32768)

static void binomial(struct goal_coll *c)
{
	uint32_t v = goal_coll_relative(c), lowest = goal_coll_lowest(c, v), mask;

	if (v)
		(void)goal_coll_recv(c, c->out, goal_coll_absolute(c, v - lowest), TAG_DATA);
	for (mask = lowest / 2; mask; mask /= 2)
		if (goal_coll_subtree(c, v, mask))
			(void)goal_coll_send(c, c->out, goal_coll_absolute(c, v + mask), TAG_DATA);
}

/* Pipeline: a rank forwards a segment as soon as the segment has arrived. */
static void chain(struct goal_coll *c)
{
	uint64_t segment = c->bytes / MAX_SEGMENTS + 1, at;
	uint32_t v = goal_coll_relative(c);

	if (segment < SEGMENT_BYTES)
		segment = SEGMENT_BYTES;
	for (at = 0; at < c->bytes; at += segment) {
		uint64_t left = c->bytes - at;
		struct goal_mem mem = goal_coll_part(c->out, at, left < segment ? left : segment);

		if (v)
			(void)goal_coll_recv(c, mem, goal_coll_absolute(c, v - 1), TAG_DATA);
		if (v + 1 < c->size)
			(void)goal_coll_send(c, mem, goal_coll_absolute(c, v + 1), TAG_DATA);
	}
}

/* Number of parts that a relative rank receives from its parent: those of its subtree. */
static uint32_t parts_of(const struct goal_coll *c, uint32_t v)
{
	uint32_t lowest = goal_coll_lowest(c, v);

	return lowest < c->size - v ? lowest : c->size - v;
}

static bool has_part(const struct goal_coll *c, uint32_t v, uint32_t part)
{
	return part >= v && part - v < parts_of(c, v);
}

/*
 * The root scatters the parts over the tree. A ring then passes each part to the ranks that lack
 * it.
 */
static void scatter_allgather(struct goal_coll *c)
{
	uint32_t v = goal_coll_relative(c), lowest = goal_coll_lowest(c, v), mask, num, step;
	uint32_t p = c->size, next = (v + 1) % p, before = (v + p - 1) % p;

	if (v)
		(void)goal_coll_recv(c, goal_coll_split(c, c->out, v, parts_of(c, v), p),
				     goal_coll_absolute(c, v - lowest), TAG_DATA);
	for (mask = lowest / 2; mask; mask /= 2) {
		num = goal_coll_subtree(c, v, mask);
		if (num)
			(void)goal_coll_send(c, goal_coll_split(c, c->out, v + mask, num, p),
					     goal_coll_absolute(c, v + mask), TAG_DATA);
	}
	for (step = 0; step + 1 < p; step++) {
		uint32_t out = (v + p - step) % p, in = (before + p - step) % p;

		if (!has_part(c, next, out))
			(void)goal_coll_send(c, goal_coll_split(c, c->out, out, 1, p),
					     goal_coll_absolute(c, next), TAG_RING);
		if (!has_part(c, v, in))
			(void)goal_coll_recv(c, goal_coll_split(c, c->out, in, 1, p),
					     goal_coll_absolute(c, before), TAG_RING);
	}
}

void goal_coll_bcast(struct goal_coll *c)
{
	if (c->alg == GOAL_ALG_BINOMIAL)
		binomial(c);
	else if (c->alg == GOAL_ALG_CHAIN)
		chain(c);
	else if (c->alg == GOAL_ALG_MULTICAST)
		(void)goal_coll_multicast(c, c->out, c->root, TAG_DATA);
	else
		scatter_allgather(c);
}
