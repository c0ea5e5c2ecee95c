/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations shared by the files of the workload "rc_tcp": sim_wl_tcp.c (data), sim_wl_tcp_cm.c
 * (connections, start and end), sim_wl_tcp_die.c (deaths, resets and other abrupt ends).
 */
#ifndef WEFT_SIM_WL_TCP_H
#define WEFT_SIM_WL_TCP_H

#include "host_driver/weft_cm.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	WT_LINKS = 2,  /* connections that a process initiates */
	WT_HALVES = 4, /* per process: those, and as many initiated by others */
	WT_SLOTS = 4,  /* outstanding requests per half */
	WT_RECVS = 12,
	WT_MSG_BYTES = 16384,
	WT_WORD_BYTES = 64, /* distance of the words that atomics change */
	WT_NO_EP = -1,      /* half->ep: destroyed or never created */
};

/* Start of each area of a half in the process's buffer, in messages. */
enum wt_area {
	WT_AREA_SRC = 0,
	WT_AREA_SINK = WT_AREA_SRC + WT_SLOTS, /* target of the peer's Writes */
	WT_AREA_READ = WT_AREA_SINK + WT_SLOTS,
	WT_AREA_CONST = WT_AREA_READ + WT_SLOTS, /* source of the peer's Reads */
	WT_AREA_RECV = WT_AREA_CONST + 1,
	WT_HALF_SLOTS = WT_AREA_RECV + WT_RECVS,
};

enum wt_kind {
	WT_RECV,
	WT_SEND,
	WT_WRITE,
	WT_READ,
	WT_ATOMIC,
	WT_KINDS
};

enum wt_state {
	WT_NONE,
	WT_ASKED, /* active: the request was sent; passive: accepted */
	WT_UP,
	WT_OVER, /* requests are being flushed; NONE follows */
};

struct wt_actor;

struct wt_half {
	struct wt_actor *actor;
	struct wt_half *peer;
	struct weft_qp *qp;
	enum wt_state state;
	uint32_t link, side; /* side 0 initiates */
	uint32_t place;      /* index among the process's halves */
	uint32_t ep;
	uint32_t attempt;        /* equal for both halves of a connection */
	bool leaving;            /* a side has ended it: outstanding requests may fail */
	uint32_t seq, write_seq; /* messages sent */
	uint32_t received;       /* messages */
	uint32_t busy;           /* one bit per slot */
	uint32_t sink_held;      /* slots with a Write that was not checked yet */
	uint32_t read_bytes[WT_SLOTS];
	/* Writes with immediate data under way, by message number. */
	uint32_t imm_slot[WT_RECVS], imm_bytes[WT_RECVS];
	bool atomic; /* one at a time, so that its result is known */
	uint64_t operand, compare;
	uint64_t word, next_word; /* value of the peer's word, and after the atomic under way */
	uint32_t sends, recvs;    /* posted, not completed */
	uint16_t port;            /* side 0: its TCP port */
	bool hit;                 /* a reset was forged for it: it may end */
	bool widow;               /* the peer's process has died */
	uint64_t up_ns;           /* time since it is ready; 0: not ready, or already counted */
	bool failed[2];           /* a request or a receive has failed; none may succeed after it */
	uint32_t posted[2], done[2]; /* their numbers, and the next one due */
	uint64_t forgotten;          /* attempts before this one, + 1, need not complete */
	uint64_t peer_addr; /* address and key of the peer's memory, which outlive the peer */
	uint32_t peer_rkey;
};

struct wt_actor {
	struct sim_run *run;
	struct sim_end end;
	struct weft_comp_channel *channel;
	struct wt_half *half[WT_HALVES]; /* NULL: fewer NICs */
	struct sim_prng prng;
	uint32_t index;
	uint32_t listener;
	bool dead;
	uint64_t reborn_ns;
};

struct wt {
	uint32_t num;
	uint32_t num_links; /* per process */
	struct wt_actor *actors;
	uint32_t ups;           /* halves that were ready for some round trips */
	struct wt_half *halves; /* two per connection, the initiator's first */
	uint32_t num_halves;
	uint64_t completions, seen; /* values of completions and messages at the last check */
	uint32_t idle;              /* steps without a completion, at the end */
	struct sim_prng prng;
	bool ext; /* Writes with immediate data, and atomics */
	struct sim_prng ext_prng;
	/* sim_wl_tcp_die.c */
	bool chaos;
	struct sim_prng chaos_prng;
	uint32_t reset_ppm;     /* per segment */
	struct sim_nic *doomed; /* a process on it dies at the next step */
	enum sim_fault_event doom;
	bool damage; /* a process died, or a connection was reset or abandoned */
};

/* ---- sim_wl_tcp.c */

/* Returns the offset of a slot of an area in the process's buffer. */
size_t wt_offset(const struct wt_half *half, enum wt_area area, uint32_t slot);
/* Likewise of the word that the peer's atomics change, behind all areas. */
size_t wt_word_offset(const struct wt_half *half);
int wt_post_recv(struct wt_half *half, uint32_t slot);
/* Posts requests on an established half if there is room. */
void wt_work(struct wt_half *half);
/* Takes completions. */
void wt_poll(struct wt_actor *actor);

/* ---- sim_wl_tcp_cm.c */

struct wt *wt_of(const struct sim_run *run);
/* Returns true if a frame was corrupted: its effect on a connection is unknown. */
bool wt_corrupted(const struct sim_run *run);
/* Returns true if requests of this half may fail. */
bool wt_may_break(const struct wt_half *half);
void wt_failed(struct wt_half *half, const char *what, int rc);
/* Starts or restarts the process. Returns 0 or -errno. */
int wt_actor_start(struct sim_run *run, struct wt_actor *actor);

/* ---- sim_wl_tcp_die.c */

void wt_die_start(struct sim_run *run);
/* Handles pending deaths and restarts. */
void wt_die_step(struct sim_run *run);
/* One side ends a connection in a random way, whatever is outstanding. */
void wt_leave(struct wt_half *half);

#endif /* WEFT_SIM_WL_TCP_H */
