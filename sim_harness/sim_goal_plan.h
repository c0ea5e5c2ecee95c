/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random schedules with known results, for the workload goal.
 *
 * A program is a set of operations of several ranks, in an order that respects all dependencies.
 * Each operation writes its own cell. Sequential execution therefore yields the bytes that the NICs
 * must produce in whatever order they execute the operations.
 */
#ifndef WEFT_SIM_GOAL_PLAN_H
#define WEFT_SIM_GOAL_PLAN_H

#include "host_driver/goal/compile/goal_graph.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	GP_RANKS = 8,
	GP_OPS = 48, /* per rank */
	GP_EVENTS = 160,
	GP_INPUTS = 2, /* cells that the host fills before each run */
	GP_INPUT_BYTES = 32768,
	GP_POOL_BYTES = 256, /* minimum eager limit of the workload */
	GP_GUARD = 0xee,     /* content of the other cells before a run */
};

enum gp_kind {
	GP_SEND,
	GP_RECV,
	GP_RECV_ANY, /* one of a group: the group's cells receive its messages in any order */
	GP_LOCAL,
	GP_MCAST_SEND,
	GP_MCAST_RECV,
};

struct gp_op {
	enum gp_kind kind;
	enum goal_local local;
	uint32_t peer, tag;
	uint32_t cell;  /* cell written; SEND: cell read */
	uint32_t a, b;  /* LOCAL: cells read */
	uint32_t bytes; /* length of the message or the result */
	uint32_t from;  /* RECV, MCAST_RECV: the sender's cell */
	uint32_t dep[3];
	bool dep_start[3];
	uint32_t num_deps;
};

struct gp_cell {
	uint32_t at, bytes; /* position in the rank's buffer */
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
/* Returns the rank's graph for its buffer. */
struct goal_graph *gp_graph(const struct gp *gp, uint32_t rank, const uint8_t *buf);
/* Initialises the rank's buffer for the run with this seed. */
void gp_fill(const struct gp *gp, uint32_t rank, uint64_t seed, uint8_t *buf);
/* Returns NULL if the buffer is correct after the run, otherwise an error message. */
const char *gp_check(const struct gp *gp, uint32_t rank, uint64_t seed, const uint8_t *buf);

#endif /* WEFT_SIM_GOAL_PLAN_H */
