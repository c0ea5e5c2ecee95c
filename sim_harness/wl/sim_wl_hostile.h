/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations shared by the files of the workload "hostile": sim_wl_hostile.c (the workload,
 * honest processes), sim_wl_hostile_cm.c (processes that misuse connections), sim_wl_hostile_qp.c
 * (their queue pairs).
 */
#ifndef WEFT_SIM_WL_HOSTILE_H
#define WEFT_SIM_WL_HOSTILE_H

#include "host_driver/weft_cm.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	ROGUE_PAGE = 4096,
	/* The window lies within pages of checked memory. */
	ROGUE_WINDOW_AT = ROGUE_PAGE + 24,
	ROGUE_WINDOW_BYTES = 4 * ROGUE_PAGE - 56,
	ROGUE_WATCHED_BYTES = 6 * ROGUE_PAGE,
	ROGUE_SLOT_BYTES = 8192,
	ROGUE_SLOTS = 8,
	ROGUE_EPS = 8,
	ROGUE_QPS = 4,
	ROGUE_DEPTH = 8, /* per queue */
	/*
	 * The buffer: targets of reads and sources of writes, shared; then one place for each Send
	 * and each receive of each queue pair, with room for its offset.
	 */
	ROGUE_MSG_BYTES = ROGUE_SLOT_BYTES + 8 * ROGUE_SLOTS,
	ROGUE_SENDS_AT = ROGUE_SLOTS * ROGUE_SLOT_BYTES,
	ROGUE_RECVS_AT = ROGUE_SENDS_AT + ROGUE_QPS * ROGUE_DEPTH * ROGUE_MSG_BYTES,
	ROGUE_MEM_BYTES = ROGUE_RECVS_AT + ROGUE_QPS * ROGUE_DEPTH * ROGUE_MSG_BYTES,
};

/*
 * A message that was sent: its length, the tag of its connection (0: TCP), and whether a receive
 * has had it.
 */
struct rogue_msg {
	uint32_t bytes;
	uint16_t tag;
	bool received;
};

struct rogue_qp {
	struct weft_qp *qp;
	uint32_t life; /* generation of this slot: requests of earlier ones are ignored */
	uint32_t posted[2], ended[2]; /* requests, receives */
	uint32_t peer;                /* NIC of the current or intended peer */
	size_t recv_at[ROGUE_DEPTH];  /* places of the receives, by number */
	/* Tags of what the current connection over datagrams sends and receives; 0: none. */
	uint16_t tag_tx, tag_rx;
	bool tcp;
};

struct rogue {
	struct sim_run *run;
	struct rogues *others;
	struct sim_end end;
	struct weft_comp_channel *channel;
	struct sim_prng prng;
	uint32_t index, lives;
	uint64_t reborn_ns; /* for a dead process: time of its replacement */
	bool dead;
	struct rogue_qp qp[ROGUE_QPS];
	uint32_t ep[ROGUE_EPS];    /* endpoint number + 1; 0: none */
	uint32_t ep_qp[ROGUE_EPS]; /* slot of the queue pair to connect */
	uint8_t *watched, *copy;
	struct weft_mr *window;
	uint64_t window_addr; /* also used by the others after its death */
	uint32_t window_rkey;
	struct rogue_msg *msg; /* by serial number, of all its lives */
	uint32_t msgs, msgs_room;
};

struct rogues {
	struct sim_run *run;
	uint32_t num;
	struct rogue *all;
};

/* ---- sim_wl_hostile_cm.c */

/* Starts one per NIC. Returns 0 or -errno; *rogues must be freed in both cases. */
int rogues_start(struct sim_run *run, struct rogues **rogues);
/*
 * After the run has stopped: returns true if all posted requests have ended and the connections are
 * destroyed.
 */
bool rogues_quiet(const struct rogues *rogues);
/* Checks that no byte outside the windows has changed. */
void rogues_check(const struct rogues *rogues);
void rogues_close(struct rogues *rogues);
void rogues_free(struct rogues *rogues);

/* ---- sim_wl_hostile_qp.c: at is the slot of a queue pair */

static inline uint32_t rogue_below(struct rogue *r, uint32_t n)
{
	return (uint32_t)sim_prng_below(&r->prng, n);
}

/* Creates a queue pair; on false the run has failed. */
bool rogue_qp_new(struct rogue *r, uint32_t at);
/* Ignores the requests posted so far. */
void rogue_qp_forget(struct rogue_qp *q);
void rogue_qp_gone(struct rogue *r, uint32_t at);
void rogue_qp_state(struct rogue *r, uint32_t at, enum weft_qp_state state);
void rogue_post_recv(struct rogue *r, uint32_t at);
void rogue_post_send(struct rogue *r, uint32_t at);
/*
 * Moves the queue pair from RESET towards RTS, over TCP or as ev requires, as far as its state
 * permits.
 */
void rogue_qp_ready(struct rogue *r, uint32_t at, const struct hw_resp_cm_event *ev);
/* Takes completions. */
void rogue_poll(struct rogue *r);

#endif /* WEFT_SIM_WL_HOSTILE_H */
