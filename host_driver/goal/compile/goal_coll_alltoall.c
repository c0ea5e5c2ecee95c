/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall algorithms.
 *
 * Thakur, Rabenseifner and Gropp (2005), 4.2; Bruck et al. (1997). For an in-place call the blocks
 * are copied to the scratchpad first.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TAG_DATA = 0,
};

/* All receives are posted at the start. A round's send waits for the send of the previous round. */
static void pairwise(struct goal_coll *c, struct goal_mem in)
{
	uint32_t p = c->size, step, send, recv, last_send = GOAL_NO_VERTEX;
	uint32_t last_recv = GOAL_NO_VERTEX;

	(void)goal_coll_copy(c, goal_coll_block(c, in, c->rank),
			     goal_coll_block(c, c->out, c->rank));
	for (step = 1; step < p; step++) {
		uint32_t to = (c->rank + step) % p, from = (c->rank + p - step) % p;

		recv = goal_coll_recv(c, goal_coll_block(c, c->out, from), from, TAG_DATA);
		send = goal_coll_send(c, goal_coll_block(c, in, to), to, TAG_DATA);
		goal_coll_after(c, last_send, send);
		goal_coll_after(c, last_recv, send);
		last_send = send;
		last_recv = recv;
	}
}

/*
 * Block i, counted from this rank, must travel i ranks. It takes the steps that correspond to the
 * bits of i, lowest bit first. Its last step puts it at its final place. Before that it alternates
 * between two places, so a round never overwrites a block that the same round sends.
 */
struct bruck {
	struct goal_mem in;
	struct goal_mem place[2];
	struct goal_mem *mems; /* the blocks sent in one round, half of all */
};

/* Returns the place of block i before the step of this bit. */
static struct goal_mem before_step(const struct goal_coll *c, const struct bruck *b, uint32_t i,
				   uint32_t bit)
{
	uint32_t steps = (uint32_t)__builtin_popcount(i & (bit - 1));

	if (!steps)
		return goal_coll_block(c, b->in, (uint32_t)(((uint64_t)c->rank + i) % c->size));
	return goal_coll_block(c, b->place[steps % 2], i);
}

static struct goal_mem behind_step(const struct goal_coll *c, const struct bruck *b, uint32_t i,
				   uint32_t bit)
{
	uint32_t steps = (uint32_t)__builtin_popcount(i & (bit - 1)) + 1;

	if (i < 2 * (uint64_t)bit)
		return goal_coll_block(c, c->out, (c->rank + c->size - i) % c->size);
	return goal_coll_block(c, b->place[steps % 2], i);
}

static void bruck_step(struct goal_coll *c, const struct bruck *b, uint32_t bit)
{
	uint32_t to = (uint32_t)(((uint64_t)c->rank + bit) % c->size);
	uint32_t from = (c->rank + c->size - bit) % c->size;
	uint32_t i, num = 0;

	for (i = bit; i < c->size; i++)
		if (i & bit)
			b->mems[num++] = before_step(c, b, i, bit);
	(void)goal_coll_sendv(c, b->mems, num, to, TAG_DATA);
	num = 0;
	for (i = bit; i < c->size; i++)
		if (i & bit)
			b->mems[num++] = behind_step(c, b, i, bit);
	(void)goal_coll_recvv(c, b->mems, num, from, TAG_DATA);
}

static void bruck(struct goal_coll *c, struct goal_mem in)
{
	struct bruck b = {.in = in};
	uint32_t bit;

	b.mems = malloc(c->size * sizeof(*b.mems));
	if (!b.mems) {
		goal_coll_fail(c, -ENOMEM);
		return;
	}
	b.place[0] = goal_coll_scratch(c, c->in.bytes);
	b.place[1] = goal_coll_scratch(c, c->in.bytes);
	(void)goal_coll_copy(c, goal_coll_block(c, in, c->rank),
			     goal_coll_block(c, c->out, c->rank));
	for (bit = 1; bit && bit < c->size; bit *= 2)
		bruck_step(c, &b, bit);
	free(b.mems);
}

void goal_coll_alltoall(struct goal_coll *c)
{
	struct goal_mem in = c->in;

	if (in.at == c->out.at && c->size > 1) {
		in = goal_coll_scratch(c, c->in.bytes);
		(void)goal_coll_copy(c, c->in, in);
	}
	if (c->alg == GOAL_ALG_PAIRWISE)
		pairwise(c, in);
	else
		bruck(c, in);
}
