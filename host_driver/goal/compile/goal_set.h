/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of GOAL schedules in memory, one per rank, and how readers build one.
 *
 * Readers (goal_text.c, goal_bin.c) call goal_build_*(), which checks what every format has in
 * common: peers, limits, no circle of dependencies. Consumers (goal_text_write.c, the tools)
 * walk the arrays. Operations of all ranks stand in one array, rank after rank, in the order of
 * the file; dependencies are lists of successors, compressed (CSR). Nothing here keeps state of
 * its own: different sets may be used by different threads.
 */
#ifndef WEFT_GOAL_SET_H
#define WEFT_GOAL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GOAL_ANY       UINT32_MAX       /* source of a receive, tag: any */
#define GOAL_NO_OP     UINT32_MAX       /* no index of an operation */
#define GOAL_MAX_RANKS (1u << 22)       /* of a set */
#define GOAL_MAX_OPS   (UINT32_MAX - 1) /* of a set; as many dependencies */
#define GOAL_MAX_TAG   (UINT32_MAX - 1)
#define GOAL_MAX_CPU   255 /* of cpu and of nic */

/* In the order in which operations that become ready together are started. */
enum goal_kind {
	GOAL_OP_SEND,
	GOAL_OP_RECV,
	GOAL_OP_CALC,
};

/* What an operation waits for in another: that it has ended (requires), or started (irequires). */
enum goal_wait {
	GOAL_WAIT_END,
	GOAL_WAIT_START,
	GOAL_NUM_WAITS,
};

struct goal_op {
	uint64_t size; /* bytes of a message; ns of a calc */
	uint32_t peer; /* send: destination; recv: source or GOAL_ANY; calc: 0 */
	uint32_t tag;  /* or GOAL_ANY; calc: 0 */
	uint32_t line; /* of the text that it comes from; 0: none */
	uint8_t kind;  /* enum goal_kind */
	uint8_t cpu;
	uint8_t nic; /* calc: 0 */
	uint8_t reserved;
};

_Static_assert(sizeof(struct goal_op) == 24, "one line of cache holds two and a half");

/* op's successors are target[first[op]] up to, not including, target[first[op + 1]], ascending. */
struct goal_edges {
	uint32_t *first; /* num_ops + 1 */
	uint32_t *target;
};

struct goal_set {
	uint32_t num_ranks;
	uint32_t num_ops;
	uint32_t *rank_first; /* num_ranks + 1: rank r has the operations from rank_first[r] on */
	struct goal_op *ops;
	struct goal_edges edges[GOAL_NUM_WAITS];
	uint32_t *num_waits; /* per operation: dependencies of both kinds */
};

/* What is wrong, for people: "FILE:LINE: ...", without a newline. */
struct goal_error {
	char text[320];
};

/* Sets err to "NAME:LINE: ..."; line 0 leaves the number out. Returns -EINVAL. */
int goal_error_at(struct goal_error *err, const char *name, uint64_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets err for lack of memory. Returns -ENOMEM. */
int goal_error_memory(struct goal_error *err, const char *name);

struct goal_pair {
	uint32_t op;     /* waits for */
	uint32_t prereq; /* this one */
};

struct goal_pairs {
	struct goal_pair *pair;
	size_t num, room;
};

/* A set that is being read. */
struct goal_build {
	const char *name; /* of the file, for errors */
	struct goal_error *err;
	uint32_t *rank_first;
	size_t num_ranks, ranks_room;
	struct goal_op *ops;
	size_t num_ops, ops_room;
	struct goal_pairs pairs[GOAL_NUM_WAITS];
};

/* name and err must outlive the build. Every failure below has set err. */
void goal_build_init(struct goal_build *build, const char *name, struct goal_error *err);
/* Begins the next rank: 0, 1, ... Returns 0, -EINVAL (too many) or -ENOMEM. */
int goal_build_rank(struct goal_build *build) __attribute__((warn_unused_result));
/* Appends to the rank begun last. Returns as goal_build_rank(). */
int goal_build_op(struct goal_build *build, const struct goal_op *op)
    __attribute__((warn_unused_result));
/* op waits for prereq; both are indices into build->ops, of one rank. Returns as goal_build_rank().
 */
int goal_build_wait(struct goal_build *build, enum goal_wait wait, uint32_t op, uint32_t prereq)
    __attribute__((warn_unused_result));
/*
 * Checks peers and that no operation waits for itself, and fills set. The build is empty
 * afterwards, set too if it fails. Returns 0, -EINVAL or -ENOMEM.
 */
int goal_build_finish(struct goal_build *build, struct goal_set *set)
    __attribute__((warn_unused_result));
/* Drops what was built. An empty build may be dropped. */
void goal_build_drop(struct goal_build *build);

void goal_set_free(struct goal_set *set);

/* The rank that operation op belongs to. */
uint32_t goal_set_rank(const struct goal_set *set, uint32_t op);

/* "send", "recv", "calc" */
const char *goal_kind_str(enum goal_kind kind);

#endif /* WEFT_GOAL_SET_H */
