/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derives the dependencies between a collective's operations from the memory that they read and
 * write.
 *
 * goal_coll_*.c add operations in a sequence that is correct when executed one by one. For each
 * range of memory this file keeps the last writer and the readers since then. A reader waits for
 * the writer. A writer waits for the readers, or for the last writer when there are none. All edges
 * lead from earlier to later operations, so no cycle can arise. Calls goal_graph.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/compile/goal_coll_build.h"

void goal_coll_fail(struct goal_coll *c, int error)
{
	if (!c->error)
		c->error = error;
}

static bool grow(struct goal_coll *c, void **array, uint32_t *max, uint32_t need, size_t bytes)
{
	uint32_t want = *max ? *max : 64;
	void *bigger;

	if (c->error || need <= *max)
		return !c->error;
	while (want < need && want <= UINT32_MAX / 2)
		want *= 2;
	bigger = want < need ? NULL : realloc(*array, want * bytes);
	if (!bigger) {
		goal_coll_fail(c, -ENOMEM);
		return false;
	}
	*array = bigger;
	*max = want;
	return true;
}

/* ---- edges ---------------------------------------------------------------------------------- */

static void add_edge(struct goal_coll *c, uint32_t first, uint32_t then, bool start)
{
	int rc;

	if (c->error || first == GOAL_NO_VERTEX || then == GOAL_NO_VERTEX || first == then)
		return;
	rc = goal_graph_requires(c->graph, first, then, start);
	if (rc < 0)
		goal_coll_fail(c, rc);
}

void goal_coll_after_start(struct goal_coll *c, uint32_t first, uint32_t then)
{
	add_edge(c, first, then, true);
}

void goal_coll_after(struct goal_coll *c, uint32_t first, uint32_t then)
{
	uint32_t had = c->max_waits;

	if (first == GOAL_NO_VERTEX || then == GOAL_NO_VERTEX ||
	    !grow(c, (void **)&c->waits, &c->max_waits, c->graph->num_vertices, sizeof(*c->waits)))
		return;
	memset(c->waits + had, 0, (c->max_waits - had) * sizeof(*c->waits));
	if (c->waits[first] == then + 1)
		return;
	c->waits[first] = then + 1;
	add_edge(c, first, then, false);
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool insert(struct goal_coll *c, struct goal_coll_map *map, uint32_t at,
		   struct goal_coll_stretch stretch)
{
	if (!grow(c, (void **)&map->stretches, &map->max, map->num + 1, sizeof(stretch)))
		return false;
	memmove(&map->stretches[at + 1], &map->stretches[at], (map->num - at) * sizeof(stretch));
	map->stretches[at] = stretch;
	map->num++;
	return true;
}

/*
 * Splits a range in two. Both halves may share one list of readers, because lists grow only at the
 * head.
 */
static bool cut(struct goal_coll *c, struct goal_coll_map *map, uint32_t at, uint64_t where)
{
	struct goal_coll_stretch upper = map->stretches[at];

	upper.low = where;
	if (!insert(c, map, at + 1, upper))
		return false;
	map->stretches[at].high = where;
	return true;
}

static uint32_t first_beyond(const struct goal_coll_map *map, uint64_t low)
{
	uint32_t from = 0, to = map->num;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (map->stretches[middle].high <= low)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void use_stretch(struct goal_coll *c, struct goal_coll_stretch *s, uint32_t vertex,
			bool write)
{
	uint32_t i;

	if (!write) {
		goal_coll_after(c, s->writer, vertex);
		if (!grow(c, (void **)&c->reads, &c->max_reads, c->num_reads + 1,
			  sizeof(*c->reads)))
			return;
		c->reads[c->num_reads] = (struct goal_coll_read){vertex, s->readers};
		s->readers = c->num_reads++;
		return;
	}
	if (s->readers == GOAL_NO_VERTEX)
		goal_coll_after(c, s->writer, vertex);
	for (i = s->readers; i != GOAL_NO_VERTEX; i = c->reads[i].next)
		if (c->reads[i].vertex != vertex)
			goal_coll_after(c, c->reads[i].vertex, vertex);
	s->writer = vertex;
	s->readers = GOAL_NO_VERTEX;
}

static void use(struct goal_coll *c, const struct goal_mem *mem, uint32_t vertex, bool write)
{
	struct goal_coll_map *map = &c->map[mem->scratch];
	uint64_t low = mem->at, high = low + mem->bytes;
	uint32_t first = first_beyond(map, low), i;

	if (first < map->num && map->stretches[first].low < low) {
		if (!cut(c, map, first, low))
			return;
		first++;
	}
	for (i = first; low < high; i++) {
		struct goal_coll_stretch fresh = {low, high, GOAL_NO_VERTEX, GOAL_NO_VERTEX};

		if (i < map->num && map->stretches[i].low < high)
			fresh.high = map->stretches[i].low;
		if (fresh.high > low && !insert(c, map, i, fresh))
			return;
		if (map->stretches[i].high > high && !cut(c, map, i, high))
			return;
		use_stretch(c, &map->stretches[i], vertex, write);
		low = map->stretches[i].high;
	}
	/* Joins ranges that one operation wrote. */
	if (write && i > first + 1) {
		map->stretches[first].high = map->stretches[i - 1].high;
		memmove(&map->stretches[first + 1], &map->stretches[i],
			(map->num - i) * sizeof(*map->stretches));
		map->num -= i - first - 1;
	}
}

/* ---- operations ----------------------------------------------------------------------------- */

static uint32_t added(struct goal_coll *c, int64_t rc)
{
	if (rc >= 0)
		return (uint32_t)rc;
	goal_coll_fail(c, (int)rc);
	return GOAL_NO_VERTEX;
}

static uint32_t message(struct goal_coll *c, enum goal_insn_kind kind, const struct goal_mem *mems,
			uint32_t num, uint32_t peer, uint32_t tag)
{
	uint32_t vertex, i;
	uint64_t bytes = 0;

	for (i = 0; i < num; i++)
		bytes += mems[i].bytes;
	if (!bytes || c->error)
		return GOAL_NO_VERTEX;
	vertex = added(c, goal_graph_msg(c->graph, kind, mems, num, peer, tag));
	for (i = 0; i < num && !c->error; i++)
		use(c, &mems[i], vertex, kind == GOAL_INSN_RECV || kind == GOAL_INSN_MCAST_RECV);
	return vertex;
}

uint32_t goal_coll_sendv(struct goal_coll *c, const struct goal_mem *mems, uint32_t num,
			 uint32_t to, uint32_t tag)
{
	return message(c, GOAL_INSN_SEND, mems, num, to, tag);
}

uint32_t goal_coll_recvv(struct goal_coll *c, const struct goal_mem *mems, uint32_t num,
			 uint32_t from, uint32_t tag)
{
	return message(c, GOAL_INSN_RECV, mems, num, from, tag);
}

uint32_t goal_coll_send(struct goal_coll *c, struct goal_mem mem, uint32_t to, uint32_t tag)
{
	return message(c, GOAL_INSN_SEND, &mem, 1, to, tag);
}

uint32_t goal_coll_recv(struct goal_coll *c, struct goal_mem mem, uint32_t from, uint32_t tag)
{
	return message(c, GOAL_INSN_RECV, &mem, 1, from, tag);
}

uint32_t goal_coll_multicast(struct goal_coll *c, struct goal_mem mem, uint32_t root, uint32_t tag)
{
	return message(c, c->rank == root ? GOAL_INSN_MCAST_SEND : GOAL_INSN_MCAST_RECV, &mem, 1,
		       root, tag);
}

static uint32_t local(struct goal_coll *c, uint32_t op, enum goal_type type, uint32_t width,
		      uint32_t elem_bytes, const struct goal_mem *const mems[3])
{
	const uint32_t nums[3] = {1, 1, 1};
	uint32_t vertex, i;

	if (!mems[2]->bytes || c->error)
		return GOAL_NO_VERTEX;
	vertex = added(c, goal_graph_local(c->graph, op, type, width, mems[2]->bytes / elem_bytes,
					   mems, nums));
	for (i = 0; i < 3 && !c->error; i++)
		if (mems[i])
			use(c, mems[i], vertex, i == 2);
	return vertex;
}

uint32_t goal_coll_copy(struct goal_coll *c, struct goal_mem from, struct goal_mem to)
{
	const struct goal_mem *const mems[3] = {&from, NULL, &to};

	if (from.at == to.at && from.scratch == to.scratch)
		return GOAL_NO_VERTEX;
	return local(c, GOAL_LOCAL_COPY, GOAL_TYPE_UINT, 8, 1, mems);
}

uint32_t goal_coll_combine(struct goal_coll *c, struct goal_mem a, struct goal_mem b,
			   struct goal_mem result)
{
	const struct goal_mem *const mems[3] = {&a, &b, &result};

	return local(c, (uint32_t)c->call->op, (enum goal_type)c->call->type, c->call->width,
		     (uint32_t)c->elem_bytes, mems);
}
