/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the workload "rc_tcp" share: sim_wl_tcp.c (data), sim_wl_tcp_cm.c (connections,
 * start and end), sim_wl_tcp_die.c (deaths, resets and other sudden ends).
 */
#ifndef WEFT_SIM_WL_TCP_H
#define WEFT_SIM_WL_TCP_H

#include "host_driver/weft_cm.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	WT_LINKS = 2,  /* that a process begins */
	WT_HALVES = 4, /* of a process: those, and as many that others begin */
	WT_SLOTS = 4,  /* requests of a half under way */
	WT_RECVS = 12,
	WT_MSG_BYTES = 16384,
	WT_NO_EP = -1, /* half->ep: it was destroyed, or never made */
};

/* Where a half's memory begins for what, in messages; of the process's buffer. */
enum wt_area {
	WT_AREA_SRC = 0,
	WT_AREA_SINK = WT_AREA_SRC + WT_SLOTS, /* of the peer's Writes */
	WT_AREA_READ = WT_AREA_SINK + WT_SLOTS,
	WT_AREA_CONST = WT_AREA_READ + WT_SLOTS, /* what the peer reads */
	WT_AREA_RECV = WT_AREA_CONST + 1,
	WT_HALF_SLOTS = WT_AREA_RECV + WT_RECVS,
};

enum wt_kind {
	WT_RECV,
	WT_SEND,
	WT_WRITE,
	WT_READ,
	WT_KINDS
};

enum wt_state {
	WT_NONE,
	WT_ASKED, /* active: the request is on its way; passive: accepted */
	WT_UP,
	WT_OVER, /* requests are flushed, then it is NONE */
};

struct wt_actor;

struct wt_half {
	struct wt_actor *actor;
	struct wt_half *peer;
	struct weft_qp *qp;
	enum wt_state state;
	uint32_t link, side; /* side 0 begins it */
	uint32_t place;      /* among the process's halves */
	uint32_t ep;
	uint32_t attempt;        /* the same for both halves of a connection */
	bool leaving;            /* a side has ended it: what is under way may fail */
	uint32_t seq, write_seq; /* sent */
	uint32_t received;       /* messages */
	uint32_t busy;           /* a bit per slot */
	uint32_t sink_held;      /* slots that hold a Write that was not looked at */
	uint32_t read_bytes[WT_SLOTS];
	uint32_t sends, recvs;       /* posted, not completed */
	uint16_t port;               /* side 0: its port of TCP */
	bool hit;                    /* a reset was forged for it: it may end */
	bool widow;                  /* the peer's process has died */
	uint64_t up_ns;              /* since when it is ready; 0: it is not, or was counted */
	bool failed[2];              /* a request has failed, a receive; none succeeds behind it */
	uint32_t posted[2], done[2]; /* their numbers, and which is due next */
	uint64_t forgotten;          /* attempts before this one, + 1, need not be completed */
	uint64_t peer_addr;          /* of the peer's memory, and its key: they outlive the peer */
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
	uint32_t num_links; /* of each process */
	struct wt_actor *actors;
	uint32_t ups;           /* halves that were ready for some round trips */
	struct wt_half *halves; /* two of each connection, its beginner's first */
	uint32_t num_halves;
	uint64_t completions, seen; /* and with messages, when last looked */
	uint32_t idle;              /* steps in which nothing has completed, at the end */
	struct sim_prng prng;
	/* sim_wl_tcp_die.c */
	bool chaos;
	struct sim_prng chaos_prng;
	uint32_t reset_ppm;     /* of segments */
	struct sim_nic *doomed; /* somebody on it dies at the next step */
	enum sim_fault_event doom;
	bool damage; /* somebody has died, was reset, or went without a word */
};

/* ---- sim_wl_tcp.c */

/* Where slot of an area is in the process's buffer. */
size_t wt_offset(const struct wt_half *half, enum wt_area area, uint32_t slot);
int wt_post_recv(struct wt_half *half, uint32_t slot);
/* Posts something on a half that is up, if there is room. */
void wt_work(struct wt_half *half);
/* Takes what has completed. */
void wt_poll(struct wt_actor *actor);

/* ---- sim_wl_tcp_cm.c */

struct wt *wt_of(const struct sim_run *run);
/* A frame was damaged: what it made of a connection is not known. */
bool wt_corrupted(const struct sim_run *run);
/* Whether requests of this half may fail. */
bool wt_may_break(const struct wt_half *half);
void wt_failed(struct wt_half *half, const char *what, int rc);
/* The process begins, or begins anew. 0 or -errno. */
int wt_actor_start(struct sim_run *run, struct wt_actor *actor);

/* ---- sim_wl_tcp_die.c */

void wt_die_start(struct sim_run *run);
/* Deaths that are due, and births. */
void wt_die_step(struct sim_run *run);
/* One side ends a connection in one of the ways that there are, whatever is under way. */
void wt_leave(struct wt_half *half);
/* What was posted so far on its queue pair, or is in its completion queue, is not looked at. */
void wt_forget(struct wt_half *half);

#endif /* WEFT_SIM_WL_TCP_H */
