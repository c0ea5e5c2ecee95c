/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A graph of operations while it is being built, and the compiler to the NIC's format.
 *
 * goal_graph.c collects vertices and edges, goal_compile.c lays out memory and writes the schedule
 * (shared_defs/goal_format.h). Used by goal_api.c (goal.h), goal_coll*.c and tools/goal-run. Knows
 * nothing of NICs: a compiled schedule names its buffers by slots, which goal_sched.c
 * registers and binds. A graph belongs to one thread at a time.
 */
#ifndef WEFT_GOAL_GRAPH_H
#define WEFT_GOAL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/goal_format.h"

#define GOAL_NO_VERTEX UINT32_MAX

/* A contiguous piece of a buffer. */
struct goal_mem {
	uintptr_t at; /* address, or offset in the scratchpad */
	uint64_t bytes;
	bool scratch;
};

struct goal_vertex {
	uint8_t kind; /* enum goal_insn_kind */
	uint8_t sub;
	uint8_t type;
	uint8_t width;
	uint32_t peer, tag;
	uint64_t amount;
	uint32_t first_mem[3]; /* of graph->mems; LOCAL: a, b, result; else the first alone */
	uint32_t num_mems[3];
};

struct goal_dep {
	uint32_t from, to;
	bool start; /* to waits for from's start, not its end */
};

struct goal_graph {
	uint32_t rank, num_ranks;
	struct goal_vertex *vertices;
	uint32_t num_vertices, max_vertices;
	struct goal_mem *mems;
	uint32_t num_mems, max_mems;
	struct goal_dep *deps;
	uint32_t num_deps, max_deps;
	uint64_t scratch_bytes;
	uint32_t num_cpus;
	bool failed; /* out of memory, or a limit: it can only be freed */
};

/* NULL: out of memory. */
struct goal_graph *goal_graph_new(uint32_t rank, uint32_t num_ranks);
void goal_graph_free(struct goal_graph *graph);

/*
 * Each adds a vertex and returns its number, or a negative errno: -EINVAL for a rank, tag,
 * operation or length that cannot be, -ENOMEM, -EOVERFLOW beyond GOAL_FORMAT_MAX_OPS. mems are
 * copied. peer of multicasts: the root, which of MCAST_SEND is the graph's rank.
 */
int64_t goal_graph_msg(struct goal_graph *graph, enum goal_insn_kind kind,
		       const struct goal_mem *mems, uint32_t num_mems, uint32_t peer, uint32_t tag);
int64_t goal_graph_local(struct goal_graph *graph, enum goal_local op, enum goal_type type,
			 uint32_t width, uint64_t count, const struct goal_mem *const mems[3],
			 const uint32_t num_mems[3]);
int64_t goal_graph_calc(struct goal_graph *graph, uint64_t ns, uint32_t cpu);
int64_t goal_graph_nop(struct goal_graph *graph);
/* to waits for from's end, or its start. -EINVAL: no such vertex, or a vertex and itself. */
int goal_graph_requires(struct goal_graph *graph, uint32_t from, uint32_t to, bool start);

/* A buffer of the process that a compiled schedule uses: what a slot stands for. */
struct goal_range {
	uintptr_t addr;
	uint64_t bytes;
	uint32_t access; /* GOAL_SLOT_* */
};

struct goal_code {
	uint8_t *bytes;
	uint64_t num_bytes;
	struct goal_range *ranges; /* of the slots */
	uint32_t num_ranges;
};

/*
 * Compiles. eager_bytes: the communicator's limit, for what may be unexpected. 0; -EINVAL: a
 * circle, or a scratchpad reference beyond its size; -ENOMEM; -EOVERFLOW: more than the format
 * holds. *vertex is the one at fault, GOAL_NO_VERTEX.
 */
int goal_compile(const struct goal_graph *graph, uint64_t eager_bytes, struct goal_code *code,
		 uint32_t *vertex);
void goal_code_free(struct goal_code *code);
/* The CRC32C that goal_header.crc32c holds. */
uint32_t goal_code_crc(const uint8_t *bytes, uint64_t num_bytes);

#endif /* WEFT_GOAL_GRAPH_H */
