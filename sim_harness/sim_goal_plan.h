/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random schedules whose outcome is known beforehand: what the workload goal runs.
 *
 * A program is a set of operations of some ranks in one order that respects every dependency; each
 * operation writes a cell of its own. So carrying them out one after another, on paper, gives the
 * bytes that the NICs must produce in whatever order they go about it. Used by sim_wl_goal.c.
 */
#ifndef WEFT_SIM_GOAL_PLAN_H
#define WEFT_SIM_GOAL_PLAN_H

#include "host_driver/goal/compile/goal_graph.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	GP_RANKS = 8,
	GP_OPS = 48, /* of one rank */
	GP_EVENTS = 160,
	GP_INPUTS = 2, /* cells that the host fills before each run */
	GP_INPUT_BYTES = 32768,
	GP_POOL_BYTES = 256, /* the smallest eager limit of the workload */
	GP_GUARD = 0xee,     /* what the other cells hold before a run */
};

enum gp_kind {
	GP_SEND,
	GP_RECV,
	GP_RECV_ANY, /* one of a group: the cells of the group hold its messages in any order */
	GP_LOCAL,
	GP_MCAST_SEND,
	GP_MCAST_RECV,
};

struct gp_op {
	enum gp_kind kind;
	enum goal_local local;
	uint32_t peer, tag;
	uint32_t cell;  /* written; SEND: read */
	uint32_t a, b;  /* LOCAL: cells read */
	uint32_t bytes; /* of the message, or of the result */
	uint32_t from;  /* RECV, MCAST_RECV: the sender's cell */
	uint32_t dep[3];
	bool dep_start[3];
	uint32_t num_deps;
};

struct gp_cell {
	uint32_t at, bytes; /* in the rank's buffer */
	uint32_t valid;     /* bytes that an operation writes */
	uint32_t writer;    /* operation; UINT32_MAX: the host */
};

struct gp_rank {
	struct gp_op op[GP_OPS];
	struct gp_cell cell[GP_OPS + GP_INPUTS];
	uint32_t num_ops, num_cells, bytes;
};

struct gp_event {
	uint32_t rank, op;
};

struct gp {
	uint32_t num_ranks;
	struct gp_rank rank[GP_RANKS];
	struct gp_event event[GP_EVENTS];
	uint32_t num_events;
};

void gp_draw(struct gp *gp, uint32_t num_ranks, struct sim_prng *prng);
/* The rank's part, with its buffer there. */
struct goal_graph *gp_graph(const struct gp *gp, uint32_t rank, const uint8_t *buf);
/* The rank's buffer before run number n, which seed names. */
void gp_fill(const struct gp *gp, uint32_t rank, uint64_t seed, uint8_t *buf);
/* NULL: the buffer is what it must be after the run; else what is wrong. */
const char *gp_check(const struct gp *gp, uint32_t rank, uint64_t seed, const uint8_t *buf);

#endif /* WEFT_SIM_GOAL_PLAN_H */
