/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather and scatter algorithms.
 *
 * The ESPGOAL paper, 5.3 and 5.5. Trees use ranks relative to the root, so the blocks of a subtree
 * are contiguous, except at the root, where they may wrap around into two ranges. At the root
 * blocks go directly to the user's buffer. At other ranks, forwarded blocks are kept in the
 * scratchpad next to the rank's own block.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

enum {
	TAG_DATA = 0,
	TAG_SYNC = 1,
	TAG_REST = 2,
};

static void gather_linear(struct goal_coll *c)
{
	uint32_t i;

	if (c->rank != c->root) {
		(void)goal_coll_send(c, c->in, c->root, TAG_DATA);
		return;
	}
	for (i = 0; i < c->size; i++)
		if (i != c->root)
			(void)goal_coll_recv(c, goal_coll_block(c, c->out, i), i, TAG_DATA);
	(void)goal_coll_copy(c, c->in, goal_coll_block(c, c->out, c->root));
}

/*
 * The root requests data from each rank once its receive for the first segment is posted. It copies
 * its own block after all first segments have arrived.
 */
static void gather_linear_sync(struct goal_coll *c, uint64_t segment)
{
	uint64_t first = c->bytes < segment ? c->bytes : segment;
	struct goal_mem byte = goal_coll_scratch(c, 1);
	uint32_t i, copy, recv, sync;

	if (!c->bytes)
		return;
	if (c->rank != c->root) {
		uint32_t send, rest;

		sync = goal_coll_recv(c, byte, c->root, TAG_SYNC);
		send = goal_coll_send(c, goal_coll_part(c->in, 0, first), c->root, TAG_DATA);
		rest = goal_coll_send(c, goal_coll_part(c->in, first, c->bytes - first), c->root,
				      TAG_REST);
		goal_coll_after(c, sync, send);
		goal_coll_after(c, send, rest);
		return;
	}
	copy = goal_coll_copy(c, c->in, goal_coll_block(c, c->out, c->root));
	for (i = 0; i < c->size; i++) {
		struct goal_mem block = goal_coll_block(c, c->out, i);

		if (i == c->root)
			continue;
		recv = goal_coll_recv(c, goal_coll_part(block, 0, first), i, TAG_DATA);
		sync = goal_coll_send(c, byte, i, TAG_SYNC);
		goal_coll_after_start(c, recv, sync);
		goal_coll_after(
		    c, sync,
		    goal_coll_recv(c, goal_coll_part(block, first, c->bytes - first), i, TAG_REST));
		goal_coll_after(c, recv, copy);
	}
}

/* Scratch memory for the blocks of all ranks below this one. */
static struct goal_mem room_below(struct goal_coll *c, uint32_t v)
{
	uint32_t lowest = goal_coll_lowest(c, v);
	uint32_t below = (lowest < c->size - v ? lowest : c->size - v) - 1;

	return goal_coll_scratch(c, v && below ? below * c->bytes : 0);
}

/*
 * Location of the blocks of relative ranks child to child + num - 1; at the root, the user's
 * buffer.
 */
static uint32_t subtree_mem(const struct goal_coll *c, struct goal_mem user, struct goal_mem below,
			    uint32_t v, uint32_t child, uint32_t num, struct goal_mem pieces[2])
{
	if (v == 0)
		return goal_coll_blocks(c, user, goal_coll_absolute(c, child), num, pieces);
	pieces[0] = goal_coll_part(below, (child - v - 1) * c->bytes, num * c->bytes);
	return 1;
}

static void gather_binomial(struct goal_coll *c)
{
	uint32_t v = goal_coll_relative(c), lowest = goal_coll_lowest(c, v), mask, num, pieces;
	struct goal_mem below = room_below(c, v), mem[2];

	for (mask = 1; mask < lowest; mask *= 2) {
		num = goal_coll_subtree(c, v, mask);
		if (!num)
			break;
		pieces = subtree_mem(c, c->out, below, v, v + mask, num, mem);
		(void)goal_coll_recvv(c, mem, pieces, goal_coll_absolute(c, v + mask), TAG_DATA);
	}
	if (v == 0) {
		(void)goal_coll_copy(c, c->in, goal_coll_block(c, c->out, c->root));
		return;
	}
	mem[0] = c->in;
	mem[1] = below;
	(void)goal_coll_sendv(c, mem, below.bytes ? 2 : 1, goal_coll_absolute(c, v - lowest),
			      TAG_DATA);
}

void goal_coll_gather(struct goal_coll *c)
{
	if (c->alg == GOAL_ALG_LINEAR)
		gather_linear(c);
	else if (c->alg == GOAL_ALG_BINOMIAL)
		gather_binomial(c);
	else
		gather_linear_sync(c, c->alg == GOAL_ALG_LINEAR_SYNC_32K ? 32768 : 1024);
}

static void scatter_linear(struct goal_coll *c)
{
	uint32_t i;

	if (c->rank != c->root) {
		(void)goal_coll_recv(c, c->out, c->root, TAG_DATA);
		return;
	}
	for (i = 1; i < c->size; i++) {
		uint32_t to = goal_coll_absolute(c, i);

		(void)goal_coll_send(c, goal_coll_block(c, c->in, to), to, TAG_DATA);
	}
	(void)goal_coll_copy(c, goal_coll_block(c, c->in, c->root), c->out);
}

/* Sends the largest subtree first because it has the longest path. */
static void scatter_binomial(struct goal_coll *c)
{
	uint32_t v = goal_coll_relative(c), lowest = goal_coll_lowest(c, v), mask, num, pieces;
	struct goal_mem below = room_below(c, v), mem[2];

	if (v) {
		mem[0] = c->out;
		mem[1] = below;
		(void)goal_coll_recvv(c, mem, below.bytes ? 2 : 1,
				      goal_coll_absolute(c, v - lowest), TAG_DATA);
	}
	for (mask = lowest / 2; mask; mask /= 2) {
		num = goal_coll_subtree(c, v, mask);
		if (!num)
			continue;
		pieces = subtree_mem(c, c->in, below, v, v + mask, num, mem);
		(void)goal_coll_sendv(c, mem, pieces, goal_coll_absolute(c, v + mask), TAG_DATA);
	}
	if (v == 0)
		(void)goal_coll_copy(c, goal_coll_block(c, c->in, c->root), c->out);
}

void goal_coll_scatter(struct goal_coll *c)
{
	if (c->alg == GOAL_ALG_LINEAR)
		scatter_linear(c);
	else
		scatter_binomial(c);
}
