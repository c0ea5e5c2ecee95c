/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of GOAL schedules in memory, one per rank, and the interface by which readers build it.
 *
 * Readers (goal_text.c, goal_bin.c) call goal_build_*(), which checks the rules that all formats
 * share: peers, limits, no cycle of dependencies. Consumers (goal_text_write.c, the tools) walk the
 * arrays. Operations of all ranks are in one array, rank after rank, in file order. Dependencies
 * are lists of successors in compressed form (CSR). The code has no global state: different threads
 * may use different sets.
 */
#ifndef WEFT_GOAL_SET_H
#define WEFT_GOAL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GOAL_ANY       UINT32_MAX       /* any source of a receive, any tag */
#define GOAL_NO_OP     UINT32_MAX       /* no index of an operation */
#define GOAL_MAX_RANKS (1u << 22)       /* per set */
#define GOAL_MAX_OPS   (UINT32_MAX - 1) /* per set; the same limit applies to dependencies */
#define GOAL_MAX_TAG   (UINT32_MAX - 1)
#define GOAL_MAX_CPU   255 /* limit of cpu and of nic */

/* In the order in which operations that become ready at the same time are started. */
enum goal_kind {
	GOAL_OP_SEND,
	GOAL_OP_RECV,
	GOAL_OP_CALC,
};

/*
 * The event of a prerequisite that an operation waits for: its end (requires) or its start
 * (irequires).
 */
enum goal_wait {
	GOAL_WAIT_END,
	GOAL_WAIT_START,
	GOAL_NUM_WAITS,
};

struct goal_op {
	uint64_t size; /* bytes of a message; ns of a calc */
	uint32_t peer; /* send: destination; recv: source or GOAL_ANY; calc: 0 */
	uint32_t tag;  /* or GOAL_ANY; calc: 0 */
	uint32_t line; /* line in the source text; 0: none */
	uint8_t kind;  /* enum goal_kind */
	uint8_t cpu;
	uint8_t nic; /* calc: 0 */
	uint8_t reserved;
};

_Static_assert(sizeof(struct goal_op) == 24, "one line of cache holds two and a half");

/* The successors of op are target[first[op]] to target[first[op + 1] - 1], ascending. */
struct goal_edges {
	uint32_t *first; /* num_ops + 1 */
	uint32_t *target;
};

struct goal_set {
	uint32_t num_ranks;
	uint32_t num_ops;
	/* num_ranks + 1 entries: operations of rank r start at rank_first[r]. */
	uint32_t *rank_first;
	struct goal_op *ops;
	struct goal_edges edges[GOAL_NUM_WAITS];
	uint32_t *num_waits; /* per operation: dependencies of both kinds */
};

/* Error message: "FILE:LINE: ...", without a newline. */
struct goal_error {
	char text[320];
};

/* Sets err to "NAME:LINE: ..."; line 0 omits the number. Returns -EINVAL. */
int goal_error_at(struct goal_error *err, const char *name, uint64_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports exhausted memory in err. Returns -ENOMEM. */
int goal_error_memory(struct goal_error *err, const char *name);

struct goal_pair {
	uint32_t op; /* waits for prereq */
	uint32_t prereq;
};

struct goal_pairs {
	struct goal_pair *pair;
	size_t num, room;
};

/* A set under construction. */
struct goal_build {
	const char *name; /* of the file, for error messages */
	struct goal_error *err;
	uint32_t *rank_first;
	size_t num_ranks, ranks_room;
	struct goal_op *ops;
	size_t num_ops, ops_room;
	struct goal_pairs pairs[GOAL_NUM_WAITS];
};

/* name and err must outlive the build. Every failure below sets err. */
void goal_build_init(struct goal_build *build, const char *name, struct goal_error *err);
/* Begins the next rank: 0, 1, ... Returns 0, -EINVAL (too many) or -ENOMEM. */
int goal_build_rank(struct goal_build *build) __attribute__((warn_unused_result));
/* Appends an operation to the current rank. Returns as goal_build_rank(). */
int goal_build_op(struct goal_build *build, const struct goal_op *op)
    __attribute__((warn_unused_result));
/*
 * Makes op wait for prereq. Both are indices into build->ops, of the same rank. Returns as
 * goal_build_rank().
 */
int goal_build_wait(struct goal_build *build, enum goal_wait wait, uint32_t op, uint32_t prereq)
    __attribute__((warn_unused_result));
/*
 * Checks peers and self-dependencies, and fills set. The build is empty afterwards; on failure set
 * is empty too. Returns 0, -EINVAL or -ENOMEM.
 */
int goal_build_finish(struct goal_build *build, struct goal_set *set)
    __attribute__((warn_unused_result));
/* Frees a build. An empty build may be dropped. */
void goal_build_drop(struct goal_build *build);

void goal_set_free(struct goal_set *set);

/* Returns the rank that operation op belongs to. */
uint32_t goal_set_rank(const struct goal_set *set, uint32_t op);

/* Returns "send", "recv" or "calc". */
const char *goal_kind_str(enum goal_kind kind);

#endif /* WEFT_GOAL_SET_H */
