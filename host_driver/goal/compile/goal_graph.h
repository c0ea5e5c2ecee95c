/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A graph of operations under construction, and the compiler to the NIC's format.
 *
 * goal_graph.c collects vertices and edges. goal_compile.c lays out memory and writes the schedule
 * (shared_defs/goal_format.h). This code does not depend on a NIC: a compiled schedule names its
 * buffers by slots, which libgoal_sched.c registers and binds. A graph may be used by one thread at
 * a time.
 */
#ifndef WEFT_GOAL_GRAPH_H
#define WEFT_GOAL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/goal_format.h"
#include "shared_defs/goal_op.h"

#define GOAL_NO_VERTEX UINT32_MAX

enum {
	GOAL_WINDOW_SHIFT = 44,
};

/* A contiguous piece of a buffer. */
struct goal_mem {
	uintptr_t at; /* address, or offset into the scratchpad */
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
	uint32_t first_mem[3]; /* in graph->mems; LOCAL: a, b, result; others: the first */
	uint32_t num_mems[3];
};

struct goal_dep {
	uint32_t from, to;
	bool start; /* true: to waits for the start of from, not its end */
};

/* Operations of users that are registered on a communicator. */
struct goal_user_ops {
	uint32_t num;
	struct goal_user_op {
		uint32_t number; /* at the NIC */
		uint32_t mark;
		uint32_t elem_bytes;
		uint8_t digest[32];
	} op[GOAL_OPS_PER_COMM];
};
/* From this one on, operations of a graph are those of users. */
#define GOAL_USER_FIRST 64u

/*
 * Returns the bytes of an element for an operation; 0: an operation, or a width of its elements in
 * bits, that does not exist. Width 0: the user's operation knows.
 */
uint32_t goal_user_elem_bytes(const struct goal_user_ops *ops, uint32_t op, uint32_t width);

struct goal_graph {
	uint32_t rank, num_ranks;
	struct goal_vertex *vertices;
	uint32_t num_vertices, max_vertices;
	struct goal_mem *mems;
	uint32_t num_mems, max_mems;
	struct goal_dep *deps;
	uint32_t num_deps, max_deps;
	const struct goal_user_ops *user_ops; /* that vertices may name; NULL: none */
	uint64_t scratch_bytes;
	uint32_t num_cpus;
	bool near; /* all ranks share a built-in switch; for the choice of an algorithm alone */
	/* Each window of 2^GOAL_WINDOW_SHIFT addresses is one buffer, and becomes one slot. */
	bool windows;
	bool failed; /* out of memory or a limit was exceeded: the graph can only be freed */
};

/* Returns NULL when memory is exhausted. */
struct goal_graph *goal_graph_new(uint32_t rank, uint32_t num_ranks);
void goal_graph_free(struct goal_graph *graph);

/*
 * Each adds a vertex and returns its number or a negative errno: -EINVAL for an invalid rank, tag,
 * operation or length, -ENOMEM, or -EOVERFLOW beyond GOAL_FORMAT_MAX_OPS. mems are copied. The peer
 * of a multicast is the root; MCAST_SEND requires it to be the graph's rank.
 */
int64_t goal_graph_msg(struct goal_graph *graph, enum goal_insn_kind kind,
		       const struct goal_mem *mems, uint32_t num_mems, uint32_t peer, uint32_t tag);
/* op: a goal_local, or GOAL_USER_FIRST and more: the type is not looked at then. */
int64_t goal_graph_local(struct goal_graph *graph, uint32_t op, enum goal_type type, uint32_t width,
			 uint64_t count, const struct goal_mem *const mems[3],
			 const uint32_t num_mems[3]);
int64_t goal_graph_calc(struct goal_graph *graph, uint64_t ns, uint32_t cpu);
int64_t goal_graph_nop(struct goal_graph *graph);
/*
 * Makes to wait for the end, or the start, of from. -EINVAL: no such vertex, or both are the same.
 */
int goal_graph_requires(struct goal_graph *graph, uint32_t from, uint32_t to, bool start);

/* A buffer of the process that a compiled schedule uses. Slots refer to these ranges. */
struct goal_range {
	uintptr_t addr;
	uint64_t bytes;
	uint32_t access; /* GOAL_SLOT_* */
};

struct goal_code {
	uint8_t *bytes;
	uint64_t num_bytes;
	struct goal_range *ranges; /* one per slot */
	uint32_t num_ranges;
};

/*
 * Compiles a graph. eager_bytes is the communicator's eager limit, from which the bytes of
 * unexpected messages follow. Returns 0; -EINVAL for a cycle or a scratchpad reference beyond its
 * size; -ENOMEM; -EOVERFLOW beyond the format's limits. *vertex is the vertex at fault, or
 * GOAL_NO_VERTEX.
 */
int goal_compile(const struct goal_graph *graph, uint64_t eager_bytes, struct goal_code *code,
		 uint32_t *vertex);
void goal_code_free(struct goal_code *code);
/* Computes the CRC32C that goal_header.crc32c holds. */
uint32_t goal_code_crc(const uint8_t *bytes, uint64_t num_bytes);

#endif /* WEFT_GOAL_GRAPH_H */
