/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the workloads rd_mix and rd_send.
 *
 * 	sim_wl_rd.c		processes, their steps and their windows; start and end
 * 	sim_wl_rd_post.c	draws requests, and posts them
 * 	sim_wl_rd_done.c	takes completions, and compares every byte with the shadow
 */
#ifndef WEFT_SIM_WL_RD_H
#define WEFT_SIM_WL_RD_H

#include "sim_harness/wl/sim_wl_actor.h"

enum {
	RD_PARAM_TYPED = 0,
	RD_PEERS = 4, /* number of processes to which each one writes */
	RD_SLOTS = 4, /* per window; one operation at a time in each */
	RD_SLOT_BYTES = 24576,
	RD_WINDOW_BYTES = RD_SLOTS * RD_SLOT_BYTES,
	RD_RECVS = 16,
	RD_WR_RECV = 1000, /* wr_id of the first receive */
	RD_BEFORE = 0xee,
};

struct rd_op {
	bool busy;
	enum sim_op kind;
	uint32_t bytes;
	uint32_t at; /* offset in the slot */
	uint64_t add, compare, swap;
	bool typed; /* an atomic of WEFT_WR_ATOMIC: */
	uint8_t atomic_op, atomic_type;
};

/* State of an initiator for one peer. */
struct rd_target {
	uint32_t index; /* index of the peer */
	struct weft_ah *ah;
	uint8_t *shadow; /* RD_WINDOW_BYTES */
	uint32_t seq;    /* two-sided messages posted */
	struct rd_op op[RD_SLOTS];
};

struct rd_actor {
	struct sim_run *run;
	struct sim_end end;
	uint32_t index;
	uint32_t num_targets;
	bool events;
	bool trusts_events; /* does not poll again after arming */
	bool step_due;
	struct rd_target target[RD_PEERS];
	uint32_t expect[RD_PEERS]; /* next number from the d-th initiator */
	struct sim_prng prng;
	struct sim_prng atomics; /* operations, types and operands of typed atomics */
	uint32_t under_way;
};

struct rd_state {
	bool sends_only;
	uint32_t num;
	struct rd_actor *actors;
};

/* Layout of a process's buffer. */
static inline size_t rd_window_offset(uint32_t d)
{
	return (size_t)d * RD_WINDOW_BYTES;
}

static inline size_t rd_stage_offset(uint32_t t, uint32_t slot)
{
	return rd_window_offset(RD_PEERS) + (size_t)(t * RD_SLOTS + slot) * RD_SLOT_BYTES;
}

static inline size_t rd_recv_offset(uint32_t r)
{
	return rd_stage_offset(RD_PEERS, 0) + (size_t)r * RD_SLOT_BYTES;
}

/* sim_wl_rd_post.c. Posts one request to a peer, unless the queue is full. */
void wl_rd_post(struct rd_actor *a, uint32_t target, uint32_t slot);

/* sim_wl_rd_done.c */
void wl_rd_done(struct rd_actor *a, const struct weft_wc *wc);

#endif /* WEFT_SIM_WL_RD_H */
