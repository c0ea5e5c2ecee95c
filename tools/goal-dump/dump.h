/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to the files of goal-dump: trace files, the plan of a picture, its writers.
 *
 * main.c parses the command line. trace.c reads and prints traces, plan.c collects the operations
 * of all ranks (plan_pairs.c: which message belongs to which receive), dot.c writes them as a
 * graph. timeline.c lays the traces of all ranks side by side for svg.c and events.c. A function
 * that returns -1 has printed the reason on standard error.
 */
#ifndef WEFT_GOAL_DUMP_H
#define WEFT_GOAL_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host_driver/goal/compile/goal_set.h"
#include "host_driver/goal/file/goal_trace_file.h"
#include "shared_defs/goal_format.h"

/* Prints "goal-dump: NAME: ...". Returns -1. */
int dump_fail(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads a whole file, "-": standard input. NULL after a message. The caller frees the bytes. */
uint8_t *dump_read(const char *path, size_t *bytes);

/* ---- traces --------------------------------------------------------------------------------- */

/* A trace file in memory, checked: entries and schedule lie within it. */
struct trace {
	const char *name;
	uint8_t *memory;
	struct goal_trace_header header;
	const struct hw_goal_trace *entries;
	const uint8_t *schedule; /* plan_add_code() checks it */
};

bool trace_is(const uint8_t *bytes, size_t num);
/* Takes the bytes of a file: trace_free() frees them, also after -1. */
int trace_take(struct trace *trace, const char *name, uint8_t *bytes, size_t num);
void trace_free(struct trace *trace);
/* One line for each point. */
void trace_print(const struct trace *trace, FILE *out);

/* ---- plans ---------------------------------------------------------------------------------- */

struct plan_op {
	uint8_t kind; /* goal_insn_kind */
	uint8_t sub, type, width;
	uint32_t rank, vertex;
	uint32_t peer, tag;
	uint64_t amount;
};

struct plan_dep {
	uint32_t from, to; /* to waits for from; indices of operations */
	bool start;        /* for its start (irequires), not its end */
};

struct plan_pair {
	uint32_t send, recv;
};

struct plan_rank {
	uint32_t rank, first_op, num_ops;
	bool wild; /* some receive names no source or no tag */
};

/* Operations of all ranks. A receive of a wild rank has no pair: its message is found at run time.
 */
struct plan {
	uint32_t num_ranks; /* of the communicator; 0: nothing was added yet */
	struct plan_rank *ranks;
	size_t num, ranks_room;
	struct plan_op *ops;
	size_t num_ops, ops_room;
	struct plan_dep *deps;
	size_t num_deps, deps_room;
	struct plan_pair *pairs;
	size_t num_pairs;
	bool lines; /* vertices are the lines l1, l2, ... of a text */
};

/* Adds the schedules of all ranks. */
int plan_add_set(struct plan *plan, const char *name, const struct goal_set *set);
/* Adds a compiled schedule, of one rank. Its bytes are checked. */
int plan_add_code(struct plan *plan, const char *name, const uint8_t *code, size_t num);
/* All are added: sorts the ranks and finds the pairs. */
int plan_finish(struct plan *plan);
int plan_find_pairs(struct plan *plan);
void plan_free(struct plan *plan);

enum {
	PLAN_TEXT = 96, /* room for the texts below */
};
/* One word for the kind: "send", "recv", "local", "calc", "mcast", "mrecv", "join". */
const char *plan_kind(const struct plan_op *op);
/* Its colour, as "#rrggbb". */
const char *plan_colour(const struct plan_op *op);
/* "send to 1", "add", "calc" ... */
void plan_short(const struct plan_op *op, char text[PLAN_TEXT]);
/* Its amount: "64 bytes, tag 0", "8 uint64", "20 ns"; "" of a join. */
void plan_amount(const struct plan_op *op, char text[PLAN_TEXT]);

/* Graphviz' text. */
void dot_write(const struct plan *plan, FILE *out);

/* ---- timelines ------------------------------------------------------------------------------ */

#define TIME_NONE UINT64_MAX

/* When an operation passed which point, in ns from the picture's begin; TIME_NONE: it did not. */
struct bar {
	uint64_t at[HW_GOAL_POINT_COUNT]; /* hw_goal_point: the first time */
	uint64_t end;                     /* of the operation, or of the run that ended before */
	uint64_t last;                    /* end, or a later acknowledgment */
	uint32_t again;                   /* packets that were sent again */
	uint32_t row;                     /* of its rank; no two bars of a row overlap */
};

struct again {
	uint32_t op;
	uint64_t ns;
};

struct lane {
	const struct trace *trace;
	uint64_t start, finish; /* of the run */
	uint32_t rows;
};

struct timeline {
	struct plan plan;
	struct lane *lanes; /* one for each rank of the plan */
	struct bar *bars;   /* one for each operation of the plan */
	struct again *agains;
	size_t num_agains;
	uint64_t end_ns;
};

enum {
	/* A bar takes at least the whole time by this of its row: svg.c can show no less. */
	TIMELINE_LEAST = 300,
};

/*
 * The traces of one run, of different ranks; the timeline refers to them. align: each rank begins
 * at 0, for NICs whose clocks differ.
 */
int timeline_make(struct timeline *t, const struct trace *traces, size_t num, bool align);
void timeline_free(struct timeline *t);
/* Returns 0, or -1. */
int svg_write(const struct timeline *t, FILE *out);
/* Trace-event JSON, one object. */
void events_write(const struct timeline *t, FILE *out);

#endif /* WEFT_GOAL_DUMP_H */
