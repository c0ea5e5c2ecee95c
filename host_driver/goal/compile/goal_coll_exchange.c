/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges: lists of blocks to be sent and received, of any sizes, with any ranks.
 *
 * The v-variants of gather, scatter, allgather and alltoall and MPI's neighbourhood collectives are
 * such lists. A rank knows only its own, so no other rank can forward its blocks: each goes
 * straight to its receiver. Blocks of 0 bytes are no messages; both ends know them.
 */
#include "host_driver/goal/compile/goal_coll_build.h"

#include <errno.h>
#include <stdlib.h>

static int check_list(const GOAL_Block *blocks, uint32_t num, const void *buf, uint32_t ranks)
{
	uint64_t sum = 0;
	uint32_t i;

	if (num && !blocks)
		return -EINVAL;
	for (i = 0; i < num; i++) {
		const GOAL_Block *b = &blocks[i];

		if (b->rank < 0 || (uint32_t)b->rank >= ranks || b->tag < 0 || b->offset < 0 ||
		    b->bytes < 0 || (uint64_t)b->offset > GOAL_MAX_MSG_BYTES ||
		    (uint64_t)b->bytes > GOAL_MAX_MSG_BYTES - (uint64_t)b->offset ||
		    (b->bytes && !buf))
			return -EINVAL;
		sum += (uint64_t)b->bytes;
		if (sum > GOAL_MAX_MSG_BYTES)
			return -EINVAL;
	}
	return 0;
}

int goal_coll_exchange_check(const struct goal_coll_call *call, uint32_t ranks)
{
	int rc = check_list(call->sends, call->num_sends, call->send, ranks);

	if (call->recv == GOAL_IN_PLACE)
		return -EINVAL;
	return rc ? rc : check_list(call->recvs, call->num_recvs, call->recv, ranks);
}

static struct goal_mem mem_of(struct goal_mem whole, const GOAL_Block *b)
{
	return (struct goal_mem){whole.at + (uintptr_t)b->offset, (uint64_t)b->bytes, false};
}

/* Copies the blocks to be sent, which received ones will overwrite. */
static void stage(struct goal_coll *c, struct goal_mem *from)
{
	uint32_t i;

	for (i = 0; i < c->call->num_sends; i++) {
		struct goal_mem at = mem_of(c->out, &c->call->sends[i]);

		from[i] = goal_coll_scratch(c, at.bytes);
		(void)goal_coll_copy(c, at, from[i]);
	}
}

/* This rank's blocks for itself: each send goes to the next receive of its tag. */
static void copy_own(struct goal_coll *c, const struct goal_mem *from)
{
	const GOAL_Block *sends = c->call->sends, *recvs = c->call->recvs;
	uint8_t *taken = calloc(c->call->num_recvs + (size_t)1, 1);
	uint32_t i, k;

	for (i = 0; taken && i < c->call->num_sends; i++) {
		if ((uint32_t)sends[i].rank != c->rank || !sends[i].bytes)
			continue;
		for (k = 0; k < c->call->num_recvs; k++)
			if ((uint32_t)recvs[k].rank == c->rank && recvs[k].tag == sends[i].tag &&
			    recvs[k].bytes && !taken[k])
				break;
		if (k == c->call->num_recvs || recvs[k].bytes != sends[i].bytes) {
			goal_coll_fail(c, -EINVAL);
			break;
		}
		taken[k] = 1;
		(void)goal_coll_copy(c, from[i], mem_of(c->out, &recvs[k]));
	}
	if (!taken)
		goal_coll_fail(c, -ENOMEM);
	free(taken);
}

static void exchange(struct goal_coll *c, const struct goal_mem *from)
{
	const struct goal_coll_call *call = c->call;
	uint32_t sent = GOAL_NO_VERTEX, received = GOAL_NO_VERTEX, send, recv, i;

	for (i = 0; i < call->num_sends || i < call->num_recvs; i++) {
		const GOAL_Block *out = i < call->num_sends ? &call->sends[i] : NULL;
		const GOAL_Block *in = i < call->num_recvs ? &call->recvs[i] : NULL;

		send = recv = GOAL_NO_VERTEX;
		if (in && (uint32_t)in->rank != c->rank)
			recv = goal_coll_recv(c, mem_of(c->out, in), (uint32_t)in->rank,
					      (uint32_t)in->tag);
		if (out && (uint32_t)out->rank != c->rank)
			send = goal_coll_send(c, from[i], (uint32_t)out->rank, (uint32_t)out->tag);
		if (c->alg == GOAL_ALG_LINEAR)
			continue;
		goal_coll_after(c, sent, send);
		goal_coll_after(c, received, send);
		sent = send == GOAL_NO_VERTEX ? sent : send;
		received = recv == GOAL_NO_VERTEX ? received : recv;
	}
}

void goal_coll_exchange(struct goal_coll *c)
{
	struct goal_mem *from = calloc(c->call->num_sends + (size_t)1, sizeof(*from));
	uint32_t i;

	if (!from) {
		goal_coll_fail(c, -ENOMEM);
		return;
	}
	if (c->call->send == GOAL_IN_PLACE)
		stage(c, from);
	else
		for (i = 0; i < c->call->num_sends; i++)
			from[i] = mem_of(c->in, &c->call->sends[i]);
	copy_own(c, from);
	exchange(c, from);
	free(from);
}
