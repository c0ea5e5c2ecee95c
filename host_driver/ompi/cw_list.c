/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of blocks: the calls whose blocks differ in size, type or place.
 *
 * A buffer whose entries follow each other without gaps is used where it is. Another one is packed,
 * entry by entry: displacements may lead anywhere, also into other allocations, and a gap is not
 * the NIC's to touch. What a rank cannot describe makes it break the run, since the others do not
 * know of it. Calls cw_type.c.
 */
#include <limits.h>
#include <stdlib.h>

#include "host_driver/ompi/cw.h"

bool cw_lists_begin(struct cw_call *call, struct cw_lists *lists, uint32_t num_sends,
		    uint32_t num_recvs)
{
	size_t num = (size_t)num_sends + num_recvs;

	*lists = (struct cw_lists){.num_sends = num_sends, .num_recvs = num_recvs};
	call->mc.unequal = true;
	lists->sends = calloc(num + 1, sizeof(*lists->sends));
	call->mc.broken = !lists->sends;
	lists->recvs = lists->sends ? lists->sends + num_sends : NULL;
	return lists->sends;
}

/* Returns the end of the entry's memory if it is contiguous and begins at from (NULL: anywhere). */
static char *end_of(const struct cw_entry *e, const char *from, char **begin)
{
	ptrdiff_t true_lb, true_extent;
	char *at;

	if (!ompi_datatype_is_contiguous_memory_layout(e->type, e->count))
		return NULL;
	(void)ompi_datatype_get_true_extent(e->type, &true_lb, &true_extent);
	at = (char *)e->user + true_lb;
	if (from && at != from)
		return NULL;
	*begin = at;
	return at + cw_type_bytes(e->type, e->count);
}

/* True if the entries lie one behind another. */
static bool are_dense(const struct cw_entry *entries, uint32_t num, char **begin)
{
	char *end = NULL, *at;
	uint32_t i;

	*begin = NULL;
	for (i = 0; i < num; i++) {
		if (!cw_type_bytes(entries[i].type, entries[i].count))
			continue;
		end = end_of(&entries[i], end, &at);
		if (!end)
			return false;
		if (!*begin)
			*begin = at;
	}
	return true;
}

/* Sets the side to the entries; bytes[i]: of entry i, 0 where it is no message; at[i]: its place.
 */
static bool set_side(struct cw_side *side, const struct cw_entry *entries, uint32_t num, bool copy,
		     int64_t *bytes, int64_t *at)
{
	bool dense;
	char *begin;
	uint32_t i;

	*side = (struct cw_side){.addr = NULL};
	dense = are_dense(entries, num, &begin) && !copy;
	if (!dense) {
		side->parts = calloc(num, sizeof(*side->parts));
		if (!side->parts)
			return false;
	}
	for (i = 0; i < num; i++) {
		const struct cw_entry *e = &entries[i];
		uint64_t n = cw_type_bytes(e->type, e->count);

		at[i] = (int64_t)side->bytes;
		bytes[i] = e->rank < 0 ? 0 : (int64_t)n;
		if (dense)
			side->bytes += n;
		else if (bytes[i]) {
			side->parts[side->num_parts++] =
			    (struct cw_part){e->user, e->count, e->type};
			side->bytes += n;
		}
	}
	side->addr = dense ? begin : NULL;
	return true;
}

/* All sends are of the first entry's buffer. */
static bool set_one(struct cw_side *side, const struct cw_entry *entries, uint32_t num,
		    int64_t *bytes, int64_t *at)
{
	uint32_t i;

	if (num && !cw_side_set(side, entries->user, entries->count, entries->type))
		return false;
	for (i = 0; i < num; i++) {
		bytes[i] = entries[i].rank < 0 ? 0 : (int64_t)side->bytes;
		at[i] = 0;
	}
	return true;
}

/* Puts the blocks in order; in rounds, round i is that of the rank i above, or below. */
static void put(GOAL_Block *blocks, const struct cw_entry *entries, uint32_t num, uint32_t rank,
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

/* Fills the call's sides and list; false: no memory. */
static bool make(struct cw_call *call, const struct cw_lists *lists, uint32_t rank)
{
	uint32_t sends = lists->num_sends, recvs = lists->num_recvs,
		 most = sends > recvs ? sends : recvs;
	int64_t *bytes = calloc(2 * (size_t)most + 1, sizeof(*bytes)), *at = bytes + most;
	GOAL_Block *blocks = calloc((size_t)sends + recvs + 1, sizeof(*blocks));
	bool ok = bytes && blocks;

	if (ok && lists->one_send)
		ok = set_one(&call->send, lists->sends, sends, bytes, at);
	else if (ok)
		ok = set_side(&call->send, lists->sends, sends, lists->copy, bytes, at);
	if (ok) {
		put(blocks, lists->sends, sends, rank, lists->rounds, bytes, at);
		ok = set_side(&call->recv, lists->recvs, recvs, false, bytes, at);
	}
	if (ok)
		put(blocks + sends, lists->recvs, recvs, rank, -lists->rounds, bytes, at);
	free(bytes);
	call->list = blocks;
	call->mc.goal.sends = blocks;
	call->mc.goal.recvs = blocks ? blocks + sends : NULL;
	return ok;
}

void cw_lists_end(struct cw_call *call, struct cw_lists *lists, uint32_t rank)
{
	call->mc.goal.num_sends = (int)lists->num_sends;
	call->mc.goal.num_recvs = (int)lists->num_recvs;
	call->mc.goal.alg = lists->rounds ? GOAL_ALG_PAIRWISE : GOAL_ALG_LINEAR;
	call->mc.broken = !make(call, lists, rank);
	if (call->mc.broken)
		call->send.num_parts = call->recv.num_parts = 0;
	call->mc.large_bytes =
	    call->send.bytes > call->recv.bytes ? call->send.bytes : call->recv.bytes;
	free(lists->sends);
}
