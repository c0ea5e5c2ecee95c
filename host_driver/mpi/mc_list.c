/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of blocks: the calls whose blocks differ in size, type or place.
 *
 * A buffer whose entries follow each other without gaps is used where it is. Another one is packed,
 * entry by entry: displacements may lead anywhere, also into other allocations, and a gap is not
 * the NIC's to touch. What a rank cannot describe makes it break the run, since the others do not
 * know of it. Calls mc_rules.c.
 */
#include <stdlib.h>

#include "host_driver/mpi/mc.h"

bool mc_lists_left(struct mc_call *call, enum mc_form form, const struct mc_comm *comm)
{
	if (comm->left != MC_TAKEN)
		call->reason = comm->left;
	else if (!mc_rules_take(call->coll, form, comm->ranks, UINT64_MAX))
		call->reason = MC_REASON_RULE;
	return call->reason != MC_TAKEN;
}

bool mc_lists_begin(struct mc_call *call, struct mc_lists *lists, uint32_t num_sends,
		    uint32_t num_recvs)
{
	size_t num = (size_t)num_sends + num_recvs;

	*lists = (struct mc_lists){.num_sends = num_sends, .num_recvs = num_recvs};
	call->unequal = true;
	lists->sends = calloc(num + 1, sizeof(*lists->sends));
	call->broken = !lists->sends;
	lists->recvs = lists->sends ? lists->sends + num_sends : NULL;
	return lists->sends;
}

bool mc_lists_begin_near(struct mc_call *call, struct mc_lists *lists,
			 const struct mc_neighbors *near)
{
	uint32_t i;

	if (!mc_lists_begin(call, lists, near->num_to, near->num_from))
		return false;
	for (i = 0; i < near->num_from; i++) {
		lists->recvs[i].rank = near->from[i];
		lists->recvs[i].tag = near->cartesian ? (int)i : 0;
	}
	for (i = 0; i < near->num_to; i++) {
		lists->sends[i].rank = near->to[i];
		lists->sends[i].tag = near->cartesian ? (int)i ^ 1 : 0;
	}
	return true;
}

/* True if the entries lie one behind another. */
static bool are_dense(const struct mc_entry *entries, uint32_t num, char **begin)
{
	char *end = NULL;
	uint32_t i;

	*begin = NULL;
	for (i = 0; i < num; i++) {
		if (!entries[i].bytes)
			continue;
		if (!entries[i].at || (end && entries[i].at != end))
			return false;
		if (!*begin)
			*begin = entries[i].at;
		end = entries[i].at + entries[i].bytes;
	}
	return true;
}

/* Sets the side to the entries; bytes[i]: of entry i, 0 where it is no message; at[i]: its place.
 */
static bool set_side(struct mc_side *side, const struct mc_entry *entries, uint32_t num, bool copy,
		     int64_t *bytes, int64_t *at)
{
	bool dense;
	char *begin;
	uint32_t i;

	*side = (struct mc_side){.addr = NULL};
	dense = are_dense(entries, num, &begin) && !copy;
	if (!dense) {
		side->parts = calloc(num, sizeof(*side->parts));
		if (!side->parts)
			return false;
	}
	for (i = 0; i < num; i++) {
		const struct mc_entry *e = &entries[i];

		at[i] = (int64_t)side->bytes;
		bytes[i] = e->rank < 0 ? 0 : (int64_t)e->bytes;
		if (dense)
			side->bytes += e->bytes;
		else if (bytes[i]) {
			side->parts[side->num_parts++] = e->part;
			side->bytes += e->bytes;
		}
	}
	side->addr = dense ? begin : NULL;
	return true;
}

/* All sends are of the side's one buffer. */
static void set_one(const struct mc_side *side, const struct mc_entry *entries, uint32_t num,
		    int64_t *bytes, int64_t *at)
{
	uint32_t i;

	for (i = 0; i < num; i++) {
		bytes[i] = entries[i].rank < 0 ? 0 : (int64_t)side->bytes;
		at[i] = 0;
	}
}

/* Puts the blocks in order; in rounds, round i is that of the rank i above, or below. */
static void put(GOAL_Block *blocks, const struct mc_entry *entries, uint32_t num, uint32_t rank,
		int step, const int64_t *bytes, const int64_t *at)
{
	uint32_t i;

	for (i = 0; i < num; i++) {
		uint32_t place = i;

		if (step > 0)
			place = (i + num - rank) % num;
		else if (step < 0)
			place = (rank + num - i) % num;
		blocks[place] = (GOAL_Block){.rank = bytes[i] ? entries[i].rank : (int)rank,
					     .tag = entries[i].tag,
					     .offset = at[i],
					     .bytes = bytes[i]};
	}
}

/* Fills the sides and the list of blocks; NULL: no memory. */
static GOAL_Block *make(const struct mc_lists *lists, uint32_t rank, struct mc_side *send,
			struct mc_side *recv)
{
	uint32_t sends = lists->num_sends, recvs = lists->num_recvs,
		 most = sends > recvs ? sends : recvs;
	int64_t *bytes = calloc(2 * (size_t)most + 1, sizeof(*bytes)), *at = bytes + most;
	GOAL_Block *blocks = calloc((size_t)sends + recvs + 1, sizeof(*blocks));
	bool ok = bytes && blocks;

	if (ok && lists->one_send)
		set_one(send, lists->sends, sends, bytes, at);
	else if (ok)
		ok = set_side(send, lists->sends, sends, lists->copy, bytes, at);
	if (ok) {
		put(blocks, lists->sends, sends, rank, lists->rounds, bytes, at);
		ok = set_side(recv, lists->recvs, recvs, false, bytes, at);
	}
	if (ok)
		put(blocks + sends, lists->recvs, recvs, rank, -lists->rounds, bytes, at);
	free(bytes);
	if (ok)
		return blocks;
	free(blocks);
	return NULL;
}

void *mc_lists_end(struct mc_call *call, struct mc_lists *lists, uint32_t rank,
		   struct mc_side *send, struct mc_side *recv)
{
	GOAL_Block *blocks = call->broken ? NULL : make(lists, rank, send, recv);

	call->broken = !blocks;
	call->goal.num_sends = (int)lists->num_sends;
	call->goal.num_recvs = (int)lists->num_recvs;
	call->goal.alg = lists->rounds ? GOAL_ALG_PAIRWISE : GOAL_ALG_LINEAR;
	call->goal.sends = blocks;
	call->goal.recvs = blocks ? blocks + lists->num_sends : NULL;
	if (call->broken)
		send->num_parts = recv->num_parts = 0;
	call->large_bytes = send->bytes > recv->bytes ? send->bytes : recv->bytes;
	free(lists->sends);
	return blocks;
}
