/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload cost: its state, and what a path provides. See sim_wl_cost.c.
 */
#ifndef WEFT_SIM_WL_COST_H
#define WEFT_SIM_WL_COST_H

#include "sim_harness/wl/sim_workload.h"

enum {
	COST_TURN_MAX = 256,
	COST_WR_RECV = 1 << 16, /* wr_id of the first receive */
};

enum cost_op {
	COST_UD,
	COST_RD_SEND,
	COST_RD_WRITE,
	COST_TCP_SEND,
	COST_TAGGED,
	COST_GOAL_MSG,
	COST_GOAL_LOCAL,
	COST_TCP_WRITE,
	COST_OPS
};

struct cost;

/* One way of sending. The calls return 0 or a negative errno. */
struct cost_path {
	enum weft_qp_type type;
	bool inactive; /* its queue pairs are brought up, or not used, by open() */
	int (*open)(struct cost *c);
	int (*post)(struct cost *c);   /* one round: receives, then requests */
	uint32_t sends, recvs;         /* completions of each message at its sender, its receiver */
	bool (*over)(struct cost *c);  /* the round is over; NULL: all completions have come */
	void (*close)(struct cost *c); /* before the contexts are closed; NULL: nothing to do */
};

struct cost {
	struct sim_run *run;
	const struct cost_path *path;
	struct sim_end from, to;
	struct weft_ah *ah;
	uint32_t turn;  /* messages of a round */
	uint32_t bytes; /* of a message */
	uint64_t rounds;
	uint32_t sent, received; /* completions of this round */
	bool under_way;
	/* COST_TAGGED */
	struct weft_tag_ep *tag[2];
	/* COST_GOAL_*: by rank */
	struct weft_goal *goal[2];
	uint32_t comm[2], schedule[2], goal_run[2];
	uint32_t ranks;
};

/* sim_wl_cost_tag.c, sim_wl_cost_goal.c, sim_wl_cost_tcp.c */
extern const struct cost_path cost_tagged;
extern const struct cost_path cost_goal_msg;
extern const struct cost_path cost_goal_local;
int cost_tcp_open(struct cost *c);

/* Return the place of message i at its sender, at its receiver. */
struct weft_sge cost_from(const struct cost *c, uint32_t i);
struct weft_sge cost_to(const struct cost *c, uint32_t i);

#endif /* WEFT_SIM_WL_COST_H */
