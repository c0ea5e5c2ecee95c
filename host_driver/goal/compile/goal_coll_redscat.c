/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter algorithms, for blocks of equal and of different sizes.
 *
 * Thakur, Rabenseifner and Gropp (2005), 4.3. The input is not modified, except that an in-place
 * result overwrites its beginning.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

enum {
	TAG_DATA = 0,
	TAG_EXTRA = 1,

	PLACES = 3,
};

/* Where block i begins; i may be the number of ranks. */
static uint64_t start(const struct goal_coll *c, uint32_t i)
{
	return c->starts ? c->starts[i] : i * c->bytes;
}

static struct goal_mem blocks(const struct goal_coll *c, struct goal_mem whole, uint32_t first,
			      uint32_t num)
{
	return goal_coll_part(whole, start(c, first), start(c, first + num) - start(c, first));
}

static struct goal_mem block(const struct goal_coll *c, struct goal_mem whole, uint32_t i)
{
	return blocks(c, whole, i, 1);
}

/* A place for the block that is received in a step. */
static struct goal_mem place_of(const struct goal_coll *c, struct goal_mem places, uint32_t step,
				uint32_t i)
{
	return goal_coll_part(places, (step % PLACES) * c->bytes, start(c, i + 1) - start(c, i));
}

/* Block i accumulates its sum on the way from rank i + 1 around to rank i. */
static void ring(struct goal_coll *c)
{
	uint32_t p = c->size, next = (c->rank + 1) % p, before = (c->rank + p - 1) % p, step;
	struct goal_mem places = goal_coll_scratch(c, PLACES * c->bytes);
	struct goal_mem sum = block(c, c->in, before);

	for (step = 0; step + 1 < p; step++) {
		uint32_t in = (before + p - step + p - 1) % p;
		struct goal_mem theirs = place_of(c, places, step, in);
		struct goal_mem result = step + 2 < p ? theirs : c->out;

		(void)goal_coll_send(c, sum, next, TAG_DATA);
		(void)goal_coll_recv(c, theirs, before, TAG_DATA);
		(void)goal_coll_combine(c, theirs, block(c, c->in, in), result);
		sum = result;
	}
}

/*
 * Each round exchanges with the ranks at one distance. A round's send waits for the previous
 * round's send.
 */
static void pairwise(struct goal_coll *c)
{
	struct goal_mem places = goal_coll_scratch(c, PLACES * c->bytes);
	struct goal_mem sum = block(c, c->in, c->rank), to;
	uint32_t p = c->size, step, send, last = GOAL_NO_VERTEX;

	/* An in-place result would overwrite a block that is not yet sent. */
	to = c->out.at == c->in.at ? goal_coll_scratch(c, c->out.bytes) : c->out;
	for (step = 1; step < p; step++) {
		struct goal_mem theirs = place_of(c, places, step, c->rank);
		uint32_t peer = (c->rank + step) % p, from = (c->rank + p - step) % p;

		send = goal_coll_send(c, block(c, c->in, peer), peer, TAG_DATA);
		goal_coll_after(c, last, send);
		last = send;
		(void)goal_coll_recv(c, theirs, from, TAG_DATA);
		(void)goal_coll_combine(c, sum, theirs, to);
		sum = to;
	}
	if (to.scratch)
		(void)goal_coll_copy(c, to, c->out);
}

/*
 * Blocks of ranks first to first + num - 1, plus the blocks of the ranks beyond the power of two
 * that follow them.
 */
static uint32_t group(const struct goal_coll *c, struct goal_mem whole, uint32_t power,
		      uint32_t first, uint32_t num, struct goal_mem mem[2])
{
	uint32_t extra = c->size - power, with = 0;

	if (first < extra)
		with = num < extra - first ? num : extra - first;
	mem[0] = blocks(c, whole, first, num);
	if (with)
		mem[1] = blocks(c, whole, first + power, with);
	return with ? 2 : 1;
}

static void combine(struct goal_coll *c, bool lower, struct goal_mem theirs, struct goal_mem mine,
		    struct goal_mem result)
{
	(void)goal_coll_combine(c, lower ? theirs : mine, lower ? mine : theirs, result);
}

static void halve(struct goal_coll *c, uint32_t power, struct goal_mem sums, struct goal_mem place,
		  struct goal_mem acc)
{
	struct goal_mem mem[2], mine[2], result[2];
	uint32_t mask, num, i;

	for (mask = power / 2; mask; mask /= 2) {
		uint32_t peer = c->rank ^ mask;
		uint32_t low = c->rank & ~(mask - 1);

		num = group(c, sums, power, peer & ~(mask - 1), mask, mem);
		(void)goal_coll_sendv(c, mem, num, peer, TAG_DATA);
		num = group(c, place, power, low, mask, mem);
		(void)goal_coll_recvv(c, mem, num, peer, TAG_DATA);
		(void)group(c, sums, power, low, mask, mine);
		(void)group(c, acc, power, low, mask, result);
		for (i = 0; i < num; i++)
			combine(c, peer < c->rank, mem[i], mine[i], result[i]);
		sums = acc;
	}
}

static void halving(struct goal_coll *c)
{
	uint32_t power = goal_coll_pow2(c->size), extra = c->rank + power;
	struct goal_mem sums = c->in, place, acc;

	if (c->rank >= power) {
		(void)goal_coll_send(c, c->in, c->rank - power, TAG_EXTRA);
		(void)goal_coll_recv(c, c->out, c->rank - power, TAG_EXTRA);
		return;
	}
	place = goal_coll_scratch(c, c->in.bytes);
	acc = goal_coll_scratch(c, c->in.bytes);
	if (extra < c->size) {
		(void)goal_coll_recv(c, place, extra, TAG_EXTRA);
		(void)goal_coll_combine(c, c->in, place, acc);
		sums = acc;
	}
	halve(c, power, sums, place, acc);
	if (extra < c->size)
		(void)goal_coll_send(c, block(c, acc, extra), extra, TAG_EXTRA);
	(void)goal_coll_copy(c, block(c, acc, c->rank), c->out);
}

void goal_coll_reduce_scatter(struct goal_coll *c)
{
	if (c->size == 1)
		(void)goal_coll_copy(c, c->in, c->out);
	else if (c->alg == GOAL_ALG_RING)
		ring(c);
	else if (c->alg == GOAL_ALG_PAIRWISE)
		pairwise(c);
	else
		halving(c);
}
