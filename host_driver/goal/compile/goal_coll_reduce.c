/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce and scan algorithms, inclusive and exclusive.
 *
 * Thakur, Rabenseifner and Gropp (2005), 4.4; Kogge and Stone (1973) for the scan. Received data
 * waits in a few scratchpad places that are used in turn. Some messages can thus arrive before they
 * are combined, without memory for all of them.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

enum {
	TAG_DATA = 0,

	MIN_PLACES = 2,
};
#define PLACES_BYTES UINT64_C(1048576)

struct places {
	struct goal_mem all;
	uint64_t bytes;
	uint32_t num, next;
};

static struct places make_places(struct goal_coll *c, uint32_t wanted)
{
	struct places p = {.bytes = c->bytes, .num = wanted};

	if (c->bytes && p.num > MIN_PLACES && p.num > PLACES_BYTES / c->bytes)
		p.num = (uint32_t)(PLACES_BYTES / c->bytes);
	if (p.num < MIN_PLACES && wanted >= MIN_PLACES)
		p.num = MIN_PLACES;
	p.all = goal_coll_scratch(c, p.num * c->bytes);
	return p;
}

static struct goal_mem next_place(struct places *p)
{
	return goal_coll_part(p->all, (p->next++ % p->num) * p->bytes, p->bytes);
}

/* ((0 op 1) op 2) ... */
static void reduce_linear(struct goal_coll *c)
{
	struct goal_mem own = c->in, left, right;
	struct places places;
	uint32_t i;

	if (c->rank != c->root) {
		(void)goal_coll_send(c, c->in, c->root, TAG_DATA);
		return;
	}
	if (c->size == 1) {
		(void)goal_coll_copy(c, c->in, c->out);
		return;
	}
	/* For an in-place call the root's contribution lies at the start of the result. */
	if (own.at == c->out.at && c->rank > 1) {
		own = goal_coll_scratch(c, c->bytes);
		(void)goal_coll_copy(c, c->in, own);
	}
	places = make_places(c, c->size - 1);
	left = own;
	for (i = 0; i < c->size; i++) {
		right = i == c->root ? own : next_place(&places);
		if (i != c->root)
			(void)goal_coll_recv(c, right, i, TAG_DATA);
		if (i)
			(void)goal_coll_combine(c, left, right, c->out);
		left = i ? c->out : right;
	}
}

void goal_coll_reduce_binomial(struct goal_coll *c)
{
	uint32_t v = goal_coll_relative(c), lowest = goal_coll_lowest(c, v), mask, children = 0;
	struct goal_mem sum = c->in, to = c->out;
	struct places places;

	for (mask = 1; mask < lowest && goal_coll_subtree(c, v, mask); mask *= 2)
		children++;
	places = make_places(c, children);
	if (v && children)
		to = goal_coll_scratch(c, c->bytes);
	for (mask = 1; mask < lowest && goal_coll_subtree(c, v, mask); mask *= 2) {
		struct goal_mem mem = next_place(&places);

		(void)goal_coll_recv(c, mem, goal_coll_absolute(c, v + mask), TAG_DATA);
		(void)goal_coll_combine(c, sum, mem, to);
		sum = to;
	}
	if (v)
		(void)goal_coll_send(c, sum, goal_coll_absolute(c, v - lowest), TAG_DATA);
	else if (!children)
		(void)goal_coll_copy(c, c->in, c->out);
}

void goal_coll_reduce(struct goal_coll *c)
{
	if (c->alg == GOAL_ALG_LINEAR)
		reduce_linear(c);
	else
		goal_coll_reduce_binomial(c);
}

static void scan_linear(struct goal_coll *c)
{
	if (c->rank) {
		struct goal_mem mem = goal_coll_scratch(c, c->bytes);

		(void)goal_coll_recv(c, mem, c->rank - 1, TAG_DATA);
		(void)goal_coll_combine(c, mem, c->in, c->out);
	} else {
		(void)goal_coll_copy(c, c->in, c->out);
	}
	if (c->rank + 1 < c->size)
		(void)goal_coll_send(c, c->out, c->rank + 1, TAG_DATA);
}

/* After each round a rank holds the combination of twice as many ranks up to its own. */
static void scan_doubling(struct goal_coll *c)
{
	struct places places = make_places(c, MIN_PLACES);
	struct goal_mem sum = c->in;
	uint64_t distance;

	for (distance = 1; distance < c->size; distance *= 2) {
		if (c->rank + distance < c->size)
			(void)goal_coll_send(c, sum, (uint32_t)(c->rank + distance), TAG_DATA);
		if (distance <= c->rank) {
			struct goal_mem mem = next_place(&places);

			(void)goal_coll_recv(c, mem, (uint32_t)(c->rank - distance), TAG_DATA);
			(void)goal_coll_combine(c, mem, sum, c->out);
			sum = c->out;
		}
	}
	if (!c->rank)
		(void)goal_coll_copy(c, c->in, c->out);
}

void goal_coll_scan(struct goal_coll *c)
{
	if (c->alg == GOAL_ALG_LINEAR)
		scan_linear(c);
	else
		scan_doubling(c);
}

/* The vector that is sent on includes this rank's, the result does not. */
static void exscan_linear(struct goal_coll *c)
{
	bool last = c->rank + 1 == c->size;
	struct goal_mem before = c->out, sum = c->in;

	if (c->rank && !last) {
		before = goal_coll_scratch(c, c->bytes);
		sum = goal_coll_scratch(c, c->bytes);
	}
	if (c->rank)
		(void)goal_coll_recv(c, before, c->rank - 1, TAG_DATA);
	if (last)
		return;
	if (c->rank)
		(void)goal_coll_combine(c, before, c->in, sum);
	(void)goal_coll_send(c, sum, c->rank + 1, TAG_DATA);
	if (c->rank)
		(void)goal_coll_copy(c, before, c->out);
}

/* As scan_doubling(), with a second sum that leaves this rank's vector out. */
static void exscan_doubling(struct goal_coll *c)
{
	struct places places = make_places(c, MIN_PLACES);
	struct goal_mem acc = goal_coll_scratch(c, c->bytes), sum = c->in;
	uint64_t distance;

	/* A result in place would overwrite the vector before it is combined. */
	if (c->rank && c->in.at == c->out.at) {
		(void)goal_coll_copy(c, c->in, acc);
		sum = acc;
	}
	for (distance = 1; distance < c->size; distance *= 2) {
		if (c->rank + distance < c->size)
			(void)goal_coll_send(c, sum, (uint32_t)(c->rank + distance), TAG_DATA);
		if (distance <= c->rank) {
			struct goal_mem mem = next_place(&places);

			(void)goal_coll_recv(c, mem, (uint32_t)(c->rank - distance), TAG_DATA);
			if (distance == 1)
				(void)goal_coll_copy(c, mem, c->out);
			else
				(void)goal_coll_combine(c, mem, c->out, c->out);
			if (c->rank + 2 * distance < c->size) {
				(void)goal_coll_combine(c, mem, sum, acc);
				sum = acc;
			}
		}
	}
}

void goal_coll_exscan(struct goal_coll *c)
{
	if (c->alg == GOAL_ALG_LINEAR)
		exscan_linear(c);
	else
		exscan_doubling(c);
}
