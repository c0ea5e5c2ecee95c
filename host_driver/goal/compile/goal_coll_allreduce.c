/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce algorithms.
 *
 * Thakur, Rabenseifner and Gropp (2005), 4.5; Patarasuk and Yuan (2009) for the ring. Where an
 * algorithm needs a power of two, each rank beyond it first gives its vector to a partner and
 * receives the result from that partner last. The operand of the lower ranks is always the left
 * one, so all ranks compute the same bits.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

enum {
	TAG_DATA = 0,
	TAG_GATHER = 1,
	TAG_EXTRA = 2,
};

static void combine_with(struct goal_coll *c, bool lower, struct goal_mem theirs,
			 struct goal_mem mine, struct goal_mem result)
{
	if (lower)
		(void)goal_coll_combine(c, theirs, mine, result);
	else
		(void)goal_coll_combine(c, mine, theirs, result);
}

/*
 * Folds the ranks beyond the power of two into their partners. Returns the place of the folded
 * vector.
 */
static struct goal_mem fold(struct goal_coll *c, uint32_t power, struct goal_mem place)
{
	if (c->rank >= power) {
		(void)goal_coll_send(c, c->in, c->rank - power, TAG_EXTRA);
		(void)goal_coll_recv(c, c->out, c->rank - power, TAG_EXTRA);
		return c->out;
	}
	if (c->rank + power >= c->size)
		return c->in;
	(void)goal_coll_recv(c, place, c->rank + power, TAG_EXTRA);
	(void)goal_coll_combine(c, c->in, place, c->out);
	return c->out;
}

static void unfold(struct goal_coll *c, uint32_t power)
{
	if (c->rank + power < c->size)
		(void)goal_coll_send(c, c->out, c->rank + power, TAG_EXTRA);
}

static void doubling(struct goal_coll *c)
{
	uint32_t power = goal_coll_pow2(c->size), mask, round = 0;
	struct goal_mem place[2] = {goal_coll_scratch(c, c->bytes), goal_coll_scratch(c, c->bytes)};
	struct goal_mem sum = fold(c, power, place[1]);

	if (c->rank >= power)
		return;
	for (mask = 1; mask < power; mask *= 2) {
		uint32_t peer = c->rank ^ mask;
		struct goal_mem theirs = place[round++ % 2];

		(void)goal_coll_send(c, sum, peer, TAG_DATA);
		(void)goal_coll_recv(c, theirs, peer, TAG_DATA);
		combine_with(c, peer < c->rank, theirs, sum, c->out);
		sum = c->out;
	}
	unfold(c, power);
}

/*
 * Part i accumulates its sum on the way from rank i around to rank i - 1, then goes around once
 * more.
 */
static void ring(struct goal_coll *c)
{
	uint32_t p = c->size, next = (c->rank + 1) % p, before = (c->rank + p - 1) % p, step;
	uint64_t part_bytes = goal_coll_split(c, c->out, 0, 1, p).bytes;
	struct goal_mem place[2] = {goal_coll_scratch(c, part_bytes),
				    goal_coll_scratch(c, part_bytes)};

	for (step = 0; step + 1 < p; step++) {
		uint32_t out = (c->rank + p - step) % p, in = (before + p - step) % p;
		struct goal_mem result = goal_coll_split(c, c->out, in, 1, p);
		struct goal_mem theirs = goal_coll_part(place[step % 2], 0, result.bytes);

		(void)goal_coll_send(c, goal_coll_split(c, step ? c->out : c->in, out, 1, p), next,
				     TAG_DATA);
		(void)goal_coll_recv(c, theirs, before, TAG_DATA);
		(void)goal_coll_combine(c, theirs, goal_coll_split(c, c->in, in, 1, p), result);
	}
	for (step = 0; step + 1 < p; step++) {
		uint32_t out = (next + p - step) % p, in = (c->rank + p - step) % p;

		(void)goal_coll_send(c, goal_coll_split(c, c->out, out, 1, p), next, TAG_GATHER);
		(void)goal_coll_recv(c, goal_coll_split(c, c->out, in, 1, p), before, TAG_GATHER);
	}
}

/*
 * Recursive halving reduces until each rank holds the sum of one part; doubling then gathers the
 * parts.
 */
static void rabenseifner(struct goal_coll *c)
{
	uint32_t power = goal_coll_pow2(c->size), mask;
	struct goal_mem place = goal_coll_scratch(c, c->bytes);
	struct goal_mem sum = fold(c, power, place);

	if (c->rank >= power)
		return;
	for (mask = power / 2; mask; mask /= 2) {
		uint32_t peer = c->rank ^ mask;
		uint32_t mine = c->rank & ~(mask - 1), theirs = peer & ~(mask - 1);
		struct goal_mem part = goal_coll_split(c, place, mine, mask, power);

		(void)goal_coll_send(c, goal_coll_split(c, sum, theirs, mask, power), peer,
				     TAG_DATA);
		(void)goal_coll_recv(c, part, peer, TAG_DATA);
		combine_with(c, peer < c->rank, part, goal_coll_split(c, sum, mine, mask, power),
			     goal_coll_split(c, c->out, mine, mask, power));
		sum = c->out;
	}
	for (mask = 1; mask < power; mask *= 2) {
		uint32_t peer = c->rank ^ mask;
		uint32_t mine = c->rank & ~(mask - 1), theirs = peer & ~(mask - 1);

		(void)goal_coll_send(c, goal_coll_split(c, c->out, mine, mask, power), peer,
				     TAG_GATHER);
		(void)goal_coll_recv(c, goal_coll_split(c, c->out, theirs, mask, power), peer,
				     TAG_GATHER);
	}
	unfold(c, power);
}

/* The sum goes up a tree to rank 0, which multicasts it to all ranks. */
static void multicast(struct goal_coll *c)
{
	c->root = 0;
	goal_coll_reduce_binomial(c);
	(void)goal_coll_multicast(c, c->out, c->root, TAG_GATHER);
}

void goal_coll_allreduce(struct goal_coll *c)
{
	if (c->size == 1)
		(void)goal_coll_copy(c, c->in, c->out);
	else if (c->alg == GOAL_ALG_RECURSIVE_DOUBLING)
		doubling(c);
	else if (c->alg == GOAL_ALG_RING)
		ring(c);
	else if (c->alg == GOAL_ALG_MULTICAST)
		multicast(c);
	else
		rabenseifner(c);
}
