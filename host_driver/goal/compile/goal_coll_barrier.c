/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers. A message of one byte says that its sender, and every rank it has received from, has
 * entered.
 *
 * ESPGOAL 5.1, 5.2 and 5.4. In its recursive doubling, the ranks beyond the
 * power of two may leave before the others have entered, and the reverse. Here a rank beyond it
 * reports first and is released after the last round. Receives wait for nothing, so a message
 * always finds its receive. A send waits for all receives of earlier rounds, transitively through
 * the previous send.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

enum {
	TAG_ROUND = 0,
	TAG_ENTER = 1,
	TAG_LEAVE = 2,
};

struct rounds {
	uint32_t send, recv; /* vertices of the last round */
};

static void send_after(struct goal_coll *c, struct rounds *r, uint32_t to, uint32_t tag)
{
	uint32_t send =
	    goal_coll_send(c, goal_coll_part((struct goal_mem){0, 0, true}, 0, 1), to, tag);

	goal_coll_after(c, r->recv, send);
	goal_coll_after_start(c, r->send, send);
	r->send = send;
}

static void recv_next(struct goal_coll *c, struct rounds *r, uint32_t from, uint32_t tag)
{
	r->recv = goal_coll_recv(c, goal_coll_scratch(c, 1), from, tag);
}

static void dissemination(struct goal_coll *c, struct rounds *r)
{
	uint64_t distance;

	for (distance = 1; distance < c->size; distance *= 2) {
		send_after(c, r, (uint32_t)((c->rank + distance) % c->size), TAG_ROUND);
		recv_next(c, r, (uint32_t)((c->rank + c->size - distance) % c->size), TAG_ROUND);
	}
}

static void recursive_doubling(struct goal_coll *c, struct rounds *r)
{
	uint32_t power = goal_coll_pow2(c->size), mask;

	if (c->rank >= power) {
		send_after(c, r, c->rank - power, TAG_ENTER);
		recv_next(c, r, c->rank - power, TAG_LEAVE);
		return;
	}
	if (c->rank + power < c->size)
		recv_next(c, r, c->rank + power, TAG_ENTER);
	for (mask = 1; mask < power; mask *= 2) {
		send_after(c, r, c->rank ^ mask, TAG_ROUND);
		recv_next(c, r, c->rank ^ mask, TAG_ROUND);
	}
	if (c->rank + power < c->size)
		send_after(c, r, c->rank + power, TAG_LEAVE);
}

void goal_coll_barrier(struct goal_coll *c)
{
	struct rounds r = {GOAL_NO_VERTEX, GOAL_NO_VERTEX};

	(void)goal_coll_scratch(c, 1); /* the byte that messages carry */
	if (c->alg == GOAL_ALG_RECURSIVE_DOUBLING)
		recursive_doubling(c, &r);
	else
		dissemination(c, &r);
}
