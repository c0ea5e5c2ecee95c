/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiles a graph into a schedule (shared_defs/goal_format.h).
 *
 * Buffers of the process become slots; buffers that overlap, or that are adjacent and used alike,
 * share one slot. Edges become lists of dependents in compressed form (CSR). Messages with equal
 * keys are numbered in the order in which they were added, which is the order on which both ends of
 * a message agree. Cycles are detected here so that the error can name an operation; the NIC checks
 * again.
 */
#include "host_driver/goal/compile/goal_graph.h"
#include "lib/crc32c.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory --------------------------------------------------------------------------------- */

static int by_addr(const void *a, const void *b)
{
	const struct goal_range *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void note(struct goal_range *ranges, uint32_t *count, const struct goal_graph *graph,
		 const struct goal_vertex *v, uint32_t buf, uint32_t access)
{
	uint32_t i;

	for (i = 0; i < v->num_mems[buf]; i++) {
		const struct goal_mem *mem = &graph->mems[v->first_mem[buf] + i];

		if (!mem->scratch)
			ranges[(*count)++] = (struct goal_range){mem->at, mem->bytes, access};
	}
}

/* Joins ranges that overlap and, when touching is set, adjacent ranges with equal access. */
static uint32_t merge(struct goal_range *ranges, uint32_t count, bool touching)
{
	uint32_t kept = 0, i;

	for (i = 0; i < count; i++) {
		struct goal_range *last = kept ? &ranges[kept - 1] : NULL;
		uint64_t end = ranges[i].addr + ranges[i].bytes;
		uint64_t last_end = last ? last->addr + last->bytes : 0;

		if (last && (ranges[i].addr < last_end || (touching && ranges[i].addr == last_end &&
							   ranges[i].access == last->access))) {
			if (end > last_end)
				last->bytes = end - last->addr;
			last->access |= ranges[i].access;
			continue;
		}
		ranges[kept++] = ranges[i];
	}
	return kept;
}

/* Joins the ranges of each window to one that begins where the window does. */
static uint32_t join_windows(struct goal_range *ranges, uint32_t count)
{
	uint32_t kept = 0, i;

	for (i = 0; i < count; i++) {
		uintptr_t base = ranges[i].addr >> GOAL_WINDOW_SHIFT << GOAL_WINDOW_SHIFT;
		uint64_t bytes = ranges[i].addr + ranges[i].bytes - base;
		uint32_t access = ranges[i].access;

		if (kept && ranges[kept - 1].addr == base)
			access |= ranges[--kept].access;
		ranges[kept++] = (struct goal_range){base, bytes, access};
	}
	return kept;
}

/*
 * Collects every range of process memory that an operation names, sorted and merged. Overlapping
 * ranges are merged first: only then is the combined access of each range known.
 */
static int find_ranges(const struct goal_graph *graph, struct goal_code *code)
{
	struct goal_range *ranges = malloc(((size_t)graph->num_mems + 1) * sizeof(*ranges));
	uint32_t count = 0, i;

	if (!ranges)
		return -ENOMEM;
	for (i = 0; i < graph->num_vertices; i++) {
		const struct goal_vertex *v = &graph->vertices[i];

		switch ((enum goal_insn_kind)v->kind) {
		case GOAL_INSN_SEND:
		case GOAL_INSN_MCAST_SEND:
			note(ranges, &count, graph, v, 0, GOAL_SLOT_READ);
			break;
		case GOAL_INSN_RECV:
		case GOAL_INSN_MCAST_RECV:
			note(ranges, &count, graph, v, 0, GOAL_SLOT_WRITE);
			break;
		case GOAL_INSN_LOCAL:
			note(ranges, &count, graph, v, 0, GOAL_SLOT_READ);
			note(ranges, &count, graph, v, 1, GOAL_SLOT_READ);
			note(ranges, &count, graph, v, 2, GOAL_SLOT_WRITE);
			break;
		case GOAL_INSN_CALC:
		case GOAL_INSN_NOP:
		case GOAL_INSN_KINDS:
			break;
		}
	}
	if (count)
		qsort(ranges, count, sizeof(*ranges), by_addr);
	code->ranges = ranges;
	code->num_ranges = merge(ranges, merge(ranges, count, false), true);
	if (graph->windows)
		code->num_ranges = join_windows(ranges, code->num_ranges);
	return code->num_ranges > GOAL_MAX_SLOTS ? -EOVERFLOW : 0;
}

static uint64_t ref_of(const struct goal_code *code, const struct goal_mem *mem)
{
	uint32_t low = 0, high = code->num_ranges;

	if (mem->scratch)
		return GOAL_REF(GOAL_SLOT_SCRATCH, mem->at);
	/* The last range that begins at or before the address contains it. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (code->ranges[middle].addr <= mem->at)
			low = middle;
		else
			high = middle;
	}
	return GOAL_REF(low, mem->at - code->ranges[low].addr);
}

/* ---- layout --------------------------------------------------------------------------------- */

struct layout {
	const struct goal_graph *graph;
	struct goal_header header;
	struct goal_insn *ops;
	struct goal_edge *edges;
	struct goal_piece *pieces;
	uint32_t next_piece;
};

static uint32_t count_pieces(const struct goal_graph *graph)
{
	uint32_t count = 0, i, k;

	for (i = 0; i < graph->num_vertices; i++)
		for (k = 0; k < 3; k++)
			if (graph->vertices[i].num_mems[k] > 1)
				count += graph->vertices[i].num_mems[k];
	return count;
}

static int make_header(struct layout *l, struct goal_code *code)
{
	struct goal_header *h = &l->header;

	h->magic = GOAL_FORMAT_MAGIC;
	h->version = GOAL_FORMAT_VERSION;
	h->header_bytes = sizeof(*h);
	h->rank = l->graph->rank;
	h->num_ranks = l->graph->num_ranks;
	h->num_slots = code->num_ranges;
	h->num_ops = l->graph->num_vertices;
	h->num_edges = l->graph->num_deps;
	h->num_pieces = count_pieces(l->graph);
	h->num_cpus = l->graph->num_cpus;
	h->scratch_bytes = l->graph->scratch_bytes;
	h->slots_offset = sizeof(*h);
	h->ops_offset = h->slots_offset + h->num_slots * sizeof(struct goal_slot);
	h->edges_offset = h->ops_offset + h->num_ops * sizeof(struct goal_insn);
	h->pieces_offset =
	    (h->edges_offset + h->num_edges * sizeof(struct goal_edge) + 7) & ~UINT64_C(7);
	h->total_bytes = h->pieces_offset + h->num_pieces * sizeof(struct goal_piece);
	code->num_bytes = h->total_bytes;
	code->bytes = calloc(1, h->total_bytes);
	if (!code->bytes)
		return -ENOMEM;
	l->ops = (struct goal_insn *)(void *)(code->bytes + h->ops_offset);
	l->edges = (struct goal_edge *)(void *)(code->bytes + h->edges_offset);
	l->pieces = (struct goal_piece *)(void *)(code->bytes + h->pieces_offset);
	return 0;
}

static bool mem_fits(const struct goal_graph *graph, const struct goal_mem *mem)
{
	return !mem->scratch ||
	       (mem->at <= graph->scratch_bytes && mem->bytes <= graph->scratch_bytes - mem->at);
}

static int buffer(struct layout *l, const struct goal_code *code, const struct goal_vertex *v,
		  uint32_t buf, uint64_t *ref)
{
	const struct goal_mem *mems = &l->graph->mems[v->first_mem[buf]];
	uint32_t i;

	for (i = 0; i < v->num_mems[buf]; i++)
		if (!mem_fits(l->graph, &mems[i]))
			return -ERANGE;
	if (!v->num_mems[buf]) {
		*ref = GOAL_REF(GOAL_SLOT_SCRATCH, 0);
	} else if (v->num_mems[buf] == 1) {
		*ref = ref_of(code, &mems[0]);
	} else {
		*ref = GOAL_REF_PIECES(l->next_piece, v->num_mems[buf]);
		for (i = 0; i < v->num_mems[buf]; i++)
			l->pieces[l->next_piece++] =
			    (struct goal_piece){ref_of(code, &mems[i]), mems[i].bytes};
	}
	return 0;
}

static int write_ops(struct layout *l, const struct goal_code *code, uint32_t *vertex)
{
	uint32_t i, k;
	int rc;

	for (i = 0; i < l->graph->num_vertices; i++) {
		const struct goal_vertex *v = &l->graph->vertices[i];
		struct goal_insn *op = &l->ops[i];

		op->kind = v->kind;
		op->sub = v->sub;
		op->type = v->type;
		op->width = v->width;
		op->peer = v->peer;
		op->tag = v->tag;
		op->amount = v->amount;
		for (k = 0; k < 3; k++) {
			rc = buffer(l, code, v, k, &op->buf[k]);
			if (rc < 0) {
				*vertex = i;
				return rc;
			}
		}
	}
	return 0;
}

/* Counting sort of the edges by their source, start edges first. */
static int write_edges(struct layout *l)
{
	const struct goal_graph *graph = l->graph;
	uint32_t *fill = calloc((size_t)graph->num_vertices * 2 + 1, sizeof(*fill));
	uint32_t i, next = 0;

	if (!fill)
		return -ENOMEM;
	for (i = 0; i < graph->num_deps; i++) {
		const struct goal_dep *dep = &graph->deps[i];

		l->ops[dep->to].deps++;
		if (dep->start)
			l->ops[dep->from].num_start_edges++;
		else
			l->ops[dep->from].num_edges++;
	}
	for (i = 0; i < graph->num_vertices; i++) {
		l->ops[i].first_edge = next;
		fill[2 * i] = next;
		next += l->ops[i].num_start_edges;
		fill[2 * i + 1] = next;
		next += l->ops[i].num_edges;
		l->header.num_roots += !l->ops[i].deps;
	}
	for (i = 0; i < graph->num_deps; i++)
		l->edges[fill[2 * graph->deps[i].from + !graph->deps[i].start]++].target =
		    graph->deps[i].to;
	free(fill);
	return 0;
}

/* Kahn's algorithm. A vertex that remains is part of a cycle or depends on one. */
static int find_circle(const struct layout *l, uint32_t *vertex)
{
	uint32_t count = l->graph->num_vertices, head = 0, tail = 0, i;
	uint32_t *order = malloc(((size_t)count * 2 + 1) * sizeof(*order));
	uint32_t *degree;

	if (!order)
		return -ENOMEM;
	degree = order + count;
	for (i = 0; i < count; i++) {
		degree[i] = l->ops[i].deps;
		if (!degree[i])
			order[tail++] = i;
	}
	while (head < tail) {
		const struct goal_insn *op = &l->ops[order[head++]];

		for (i = 0; i < op->num_start_edges + op->num_edges; i++) {
			uint32_t target = l->edges[op->first_edge + i].target;

			if (--degree[target] == 0)
				order[tail++] = target;
		}
	}
	for (i = 0; i < count && tail < count; i++)
		if (degree[i])
			*vertex = i;
	free(order);
	return tail < count ? -ELOOP : 0;
}

/* ---- numbers of messages -------------------------------------------------------------------- */

struct key {
	uint32_t peer, tag, kind, next;
};

static uint32_t number(struct key *keys, uint64_t mask, const struct goal_insn *op)
{
	uint64_t h = ((uint64_t)op->peer << 32 ^ (uint64_t)op->tag << 3 ^ op->kind) *
		     UINT64_C(0x9e3779b97f4a7c15);
	struct key *key;

	for (h >>= 20;; h++) {
		key = &keys[h & mask];
		if (!key->next ||
		    (key->peer == op->peer && key->tag == op->tag && key->kind == op->kind))
			break;
	}
	key->peer = op->peer;
	key->tag = op->tag;
	key->kind = op->kind;
	return key->next++;
}

/* Counts the receives of one root's multicasts. Returns the number before this one. */
static uint32_t number_of_root(struct key *keys, uint64_t mask, const struct goal_insn *op)
{
	const struct goal_insn any = {.kind = op->kind, .peer = op->peer, .tag = GOAL_TAG_ANY};

	return number(keys, mask, &any);
}

/*
 * Bytes of a message that may arrive before its receive is posted. A message beyond the eager limit
 * waits at its sender until the receive requests it. A multicast cannot wait when its root sends
 * several: it would block the following ones, whose receives may be posted first.
 */
static uint64_t unexpected(struct key *keys, uint64_t mask, const struct goal_insn *op,
			   uint64_t eager_bytes)
{
	if (op->amount <= eager_bytes ||
	    (op->kind == GOAL_INSN_MCAST_RECV && number_of_root(keys, mask, op) > 1))
		return op->amount;
	return eager_bytes;
}

static int write_counts(struct layout *l, uint64_t eager_bytes)
{
	uint64_t size = 2;
	struct key *keys;
	uint32_t i;

	while (size < 4 * (uint64_t)l->header.num_ops)
		size *= 2;
	keys = calloc(size, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (i = 0; i < l->header.num_ops; i++)
		if (l->ops[i].kind == GOAL_INSN_MCAST_RECV)
			(void)number_of_root(keys, size - 1, &l->ops[i]);
	for (i = 0; i < l->header.num_ops; i++) {
		struct goal_insn *op = &l->ops[i];

		if (op->kind != GOAL_INSN_SEND && op->kind != GOAL_INSN_RECV &&
		    op->kind != GOAL_INSN_MCAST_SEND && op->kind != GOAL_INSN_MCAST_RECV)
			continue;
		op->count = number(keys, size - 1, op);
		if (op->kind != GOAL_INSN_RECV && op->kind != GOAL_INSN_MCAST_RECV)
			continue;
		l->header.unexpected_msgs++;
		l->header.unexpected_bytes += unexpected(keys, size - 1, op, eager_bytes);
	}
	free(keys);
	return 0;
}

/* ---- all together --------------------------------------------------------------------------- */

/* The field of the CRC itself counts as 0. */
uint32_t goal_code_crc(const uint8_t *bytes, uint64_t num_bytes)
{
	static const uint8_t field[4];
	const size_t at = offsetof(struct goal_header, crc32c), end = at + sizeof(field);
	uint32_t crc = crc32c_update(CRC32C_INIT, bytes, num_bytes < at ? num_bytes : at);

	if (num_bytes > at)
		crc = crc32c_update(crc, field, num_bytes < end ? num_bytes - at : sizeof(field));
	if (num_bytes > end)
		crc = crc32c_update(crc, bytes + end, num_bytes - end);
	return ~crc;
}

static void write_slots(struct goal_code *code, const struct goal_header *header)
{
	struct goal_slot *slots = (struct goal_slot *)(void *)(code->bytes + header->slots_offset);
	uint32_t i;

	for (i = 0; i < code->num_ranges; i++)
		slots[i] = (struct goal_slot){.bytes = code->ranges[i].bytes,
					      .access = code->ranges[i].access};
}

int goal_compile(const struct goal_graph *graph, uint64_t eager_bytes, struct goal_code *code,
		 uint32_t *vertex)
{
	struct layout l = {.graph = graph};
	int rc;

	memset(code, 0, sizeof(*code));
	*vertex = GOAL_NO_VERTEX;
	if (graph->failed)
		return -ENOMEM;
	if (!graph->num_vertices || graph->scratch_bytes > GOAL_MAX_SCRATCH_BYTES)
		return -EINVAL;
	rc = find_ranges(graph, code);
	if (rc == 0)
		rc = make_header(&l, code);
	if (rc == 0)
		rc = write_ops(&l, code, vertex);
	if (rc == 0)
		rc = write_edges(&l);
	if (rc == 0)
		rc = find_circle(&l, vertex);
	if (rc == 0)
		rc = write_counts(&l, eager_bytes);
	if (rc < 0) {
		goal_code_free(code);
		return rc;
	}
	write_slots(code, &l.header);
	memcpy(code->bytes, &l.header, sizeof(l.header));
	return 0;
}

void goal_code_free(struct goal_code *code)
{
	free(code->bytes);
	free(code->ranges);
	memset(code, 0, sizeof(*code));
}
