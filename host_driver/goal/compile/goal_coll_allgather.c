/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather algorithms.
 *
 * The ESPGOAL paper, 5.1 and 5.2; Thakur, Rabenseifner and Gropp (2005), 4.1. Every block is
 * received directly at its final place. Blocks that are not contiguous in the buffer are sent as
 * two pieces, so Bruck's algorithm needs no rotation afterwards.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

enum {
	TAG_DATA = 0,
	TAG_EXTRA = 1,
};

static void ring(struct goal_coll *c)
{
	uint32_t p = c->size, next = (c->rank + 1) % p, before = (c->rank + p - 1) % p, step;

	for (step = 0; step + 1 < p; step++) {
		struct goal_mem mem = goal_coll_block(c, c->out, (c->rank + p - step) % p);

		(void)goal_coll_send(c, step ? mem : c->in, next, TAG_DATA);
		(void)goal_coll_recv(c, goal_coll_block(c, c->out, (before + p - step) % p), before,
				     TAG_DATA);
	}
}

/* After each round a rank holds twice as many of the blocks that follow its own. */
static void bruck(struct goal_coll *c)
{
	struct goal_mem mem[2];
	uint32_t have, num, pieces;

	for (have = 1; have < c->size; have += num) {
		uint32_t above = (uint32_t)(((uint64_t)c->rank + have) % c->size);

		num = have < c->size - have ? have : c->size - have;
		pieces = goal_coll_blocks(c, c->out, c->rank, num, mem);
		if (num == 1)
			mem[0] = c->in;
		(void)goal_coll_sendv(c, mem, pieces, (c->rank + c->size - have) % c->size,
				      TAG_DATA);
		pieces = goal_coll_blocks(c, c->out, above, num, mem);
		(void)goal_coll_recvv(c, mem, pieces, above, TAG_DATA);
	}
}

/*
 * Blocks of ranks first to first + num - 1, plus the blocks of the extra ranks that reported to
 * them.
 */
static uint32_t group(const struct goal_coll *c, uint32_t power, uint32_t first, uint32_t num,
		      struct goal_mem mem[2])
{
	uint32_t extra = c->size - power, with = 0;

	if (first < extra)
		with = num < extra - first ? num : extra - first;
	mem[0] = goal_coll_part(c->out, first * c->bytes, num * c->bytes);
	mem[1] = goal_coll_part(c->out, (first + power) * c->bytes, with * c->bytes);
	return with ? 2 : 1;
}

static void doubling(struct goal_coll *c)
{
	uint32_t power = goal_coll_pow2(c->size), mask, extra = c->rank + power;
	struct goal_mem mem[2];

	if (c->rank >= power) {
		extra = c->rank - power;
		(void)goal_coll_send(c, c->in, extra, TAG_EXTRA);
		mem[0] = goal_coll_part(c->out, 0, c->rank * c->bytes);
		mem[1] = goal_coll_part(c->out, (c->rank + 1) * c->bytes,
					(c->size - c->rank - 1) * c->bytes);
		(void)goal_coll_recvv(c, mem, 2, extra, TAG_EXTRA);
		return;
	}
	if (extra < c->size)
		(void)goal_coll_recv(c, goal_coll_block(c, c->out, extra), extra, TAG_EXTRA);
	for (mask = 1; mask < power; mask *= 2) {
		uint32_t peer = c->rank ^ mask, num;

		num = group(c, power, c->rank & ~(mask - 1), mask, mem);
		(void)goal_coll_sendv(c, mem, num, peer, TAG_DATA);
		num = group(c, power, peer & ~(mask - 1), mask, mem);
		(void)goal_coll_recvv(c, mem, num, peer, TAG_DATA);
	}
	if (extra < c->size) {
		mem[0] = goal_coll_part(c->out, 0, extra * c->bytes);
		mem[1] = goal_coll_part(c->out, (extra + 1) * c->bytes,
					(c->size - extra - 1) * c->bytes);
		(void)goal_coll_sendv(c, mem, 2, extra, TAG_EXTRA);
	}
}

void goal_coll_allgather(struct goal_coll *c)
{
	(void)goal_coll_copy(c, c->in, goal_coll_block(c, c->out, c->rank));
	if (c->alg == GOAL_ALG_RING)
		ring(c);
	else if (c->alg == GOAL_ALG_BRUCK)
		bruck(c);
	else
		doubling(c);
}
