/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the workload "hostile" share: sim_wl_hostile.c (the workload, honest
 * processes), sim_wl_hostile_cm.c (processes that misuse connections), sim_wl_hostile_qp.c (their
 * queue pairs).
 */
#ifndef WEFT_SIM_WL_HOSTILE_H
#define WEFT_SIM_WL_HOSTILE_H

#include "host_driver/weft_cm.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	ROGUE_PAGE = 4096,
	/* The window lies within pages of memory that is watched. */
	ROGUE_WINDOW_AT = ROGUE_PAGE + 24,
	ROGUE_WINDOW_BYTES = 4 * ROGUE_PAGE - 56,
	ROGUE_WATCHED_BYTES = 6 * ROGUE_PAGE,
	ROGUE_SLOT_BYTES = 8192,
	ROGUE_SLOTS = 8,
	ROGUE_EPS = 8,
	ROGUE_QPS = 4,
	ROGUE_DEPTH = 8, /* of each queue */
};

struct rogue_qp {
	struct weft_qp *qp;
	uint32_t life; /* of this place: requests of earlier ones are not looked at */
	uint32_t posted[2], ended[2]; /* requests, receives */
	uint32_t peer;                /* the NIC that it is connected with, or was to be */
};

struct rogue {
	struct sim_run *run;
	struct rogues *others;
	struct sim_end end;
	struct weft_comp_channel *channel;
	struct sim_prng prng;
	uint32_t index, lives;
	uint64_t reborn_ns; /* of one that is dead */
	bool dead;
	struct rogue_qp qp[ROGUE_QPS];
	uint32_t ep[ROGUE_EPS];    /* + 1; 0: none */
	uint32_t ep_qp[ROGUE_EPS]; /* the place of the queue pair that it was to connect */
	uint8_t *watched, *copy;
	struct weft_mr *window;
	uint64_t window_addr; /* for the others, when it is dead as well */
	uint32_t window_rkey;
};

struct rogues {
	struct sim_run *run;
	uint32_t num;
	struct rogue *all;
};

/* ---- sim_wl_hostile_cm.c */

/* One on each NIC. 0 or -errno; *rogues is to be freed in both cases. */
int rogues_start(struct sim_run *run, struct rogues **rogues);
/* All that they posted has ended, and their connections are destroyed; once the run stops. */
bool rogues_quiet(const struct rogues *rogues);
/* No byte has changed that nobody was let into. */
void rogues_check(const struct rogues *rogues);
void rogues_close(struct rogues *rogues);
void rogues_free(struct rogues *rogues);

/* ---- sim_wl_hostile_qp.c: at is the place of a queue pair */

static inline uint32_t rogue_below(struct rogue *r, uint32_t n)
{
	return (uint32_t)sim_prng_below(&r->prng, n);
}

/* There is one afterwards; false: the run has failed. */
bool rogue_qp_new(struct rogue *r, uint32_t at);
/* What it had posted is not looked at any more. */
void rogue_qp_forget(struct rogue_qp *q);
void rogue_qp_gone(struct rogue *r, uint32_t at);
void rogue_qp_state(struct rogue *r, uint32_t at, enum weft_qp_state state);
void rogue_post_recv(struct rogue *r, uint32_t at);
void rogue_post_send(struct rogue *r, uint32_t at);
/* From RESET to RTS, over TCP or as ev says; as far as its state lets it. */
void rogue_qp_ready(struct rogue *r, uint32_t at, const struct hw_resp_cm_event *ev);
/* Takes what has completed. */
void rogue_poll(struct rogue *r);

#endif /* WEFT_SIM_WL_HOSTILE_H */
