/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the workload tag: endpoints of tagged messages, their slots of memory, posting and
 * completions.
 *
 * sim_wl_tag.c	processes come, fail and go; the run's beginning and end
 * sim_wl_tag_post.c	draws sends and operations, and posts them
 * sim_wl_tag_done.c	takes completions, and compares them with the model and with every byte
 */
#ifndef WEFT_SIM_WL_TAG_H
#define WEFT_SIM_WL_TAG_H

#include "host_driver/weft_tag.h"
#include "sim_harness/sim_tag_model.h"
#include "sim_harness/wl/sim_workload.h"

enum {
	WT_NICS = 12,
	WT_SENDS = 24,
	WT_RECVS = 40,
	WT_DRAINS = 8, /* receives for anything, at the end of a run */
	WT_RECV_SLOTS = WT_RECVS + WT_DRAINS,
	WT_PIECES = 512, /* messages of a MULTI buffer */
	WT_SGES = 4,
	WT_SLOT_BYTES = 73728,
	WT_MAX_BYTES = 70000,
	WT_INLINE_BYTES = 192,
	WT_MASKS = 12,
	WT_WAYS = 3, /* endpoints of a process that take the receives of one context */
	/* Tags with a number of the message have this bit and 15 bits of it above WT_ID_SHIFT. */
	WT_ID_SHIFT = 48,
	WT_ID_MARK = 0x8000,
};

/* wr_id: slots; a send without completion carries its message. */
#define WT_WR_RECV     UINT64_C(1000)
#define WT_WR_SILENT   (UINT64_C(1) << 62)
#define WT_ID_OF(msg)  ((uint64_t)(msg)->pair->index << 32 | (msg)->number)
#define WT_TAG_ID_MASK (UINT64_C(0xffff) << WT_ID_SHIFT)

/* An endpoint that messages go to and come from. */
struct wt_way {
	struct weft_tag_ep *ep;
	struct sim_tag_end *end;
};

struct wt_send {
	bool busy;
	struct weft_tag_ep *ep;
	struct sim_tag_msg *msg;
	struct weft_mr *mr; /* its own, which may be deregistered in use; NULL */
};

enum wt_kind {
	WT_RECV,
	WT_MULTI,
	WT_PEEK,
	WT_CLAIM,
	WT_DISCARD,
	WT_CLAIMED, /* receives what CLAIM claimed */
};

/* A message in a MULTI buffer. */
struct wt_piece {
	uint32_t offset, bytes;
	struct sim_tag_msg *msg;
};

struct wt_recv {
	bool busy;
	enum wt_kind kind;
	struct sim_tag_op *op;
	struct sim_tag_msg *claimed;
	struct weft_mr *mr;
	uint32_t number; /* weft_tag_cancel() */
	uint32_t capacity;
	uint32_t min_free;
	uint32_t fed; /* MULTI: bytes of messages that the model knows of */
	bool full;    /* MULTI: a message was longer than what was left */
	bool torn;    /* MULTI: a message failed, and left a hole */
	/* MULTI: it is used up, and empty messages that it took are still under way: the last of
	 * them releases it. */
	bool owed;
	uint32_t num_pieces;
	struct wt_piece piece[WT_PIECES]; /* that it does not know of yet */
};

/* A process with one endpoint, or a context and endpoints that take its receives. */
struct wt_actor {
	struct wt *wt;
	uint32_t index;
	struct sim_nic *nic;
	struct sim_proc *proc; /* NULL: dead */
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_cq *cq;
	struct weft_ah *ah;
	struct weft_mr *mr;
	uint8_t *buf;
	/* Where receives are posted. */
	struct weft_tag_ep *ep;
	struct sim_tag_end *end;
	uint32_t num_ways;
	struct wt_way ways[WT_WAYS]; /* the same, or the context's endpoints */
	struct weft_tag_attr like;   /* of these */
	bool failed;                 /* the endpoint is in ERR */
	bool unmapped;               /* its memory is not mapped */
	bool frail;                  /* deregisters memory in use */
	bool unsure;                 /* its NIC has started anew */
	uint32_t sends_busy, recvs_busy;
	struct wt_send send[WT_SENDS];
	struct wt_recv recv[WT_RECV_SLOTS];
};

struct wt {
	struct sim_run *run;
	struct sim *sim;
	struct sim_prng prng;
	struct sim_tag_model model;
	uint32_t num_nics, num_actors;
	struct wt_actor *actors;
	/* Some messages say who they are in their bytes alone. */
	bool sparse;
	uint32_t masks;     /* of the list of masks */
	uint32_t tags;      /* small tags */
	uint32_t tag_ids;   /* messages so far whose tag has a number */
	uint32_t max_recvs; /* of WT_RECVS */
	uint32_t long_one_in;
	bool contexts; /* some processes have one */
	uint32_t chaos_ppm, death_ppm;
	bool fault_due, restart_due;
	uint32_t fault_nic;
	bool progress;
	uint64_t idle_ns, stop_ns;
	bool nic_restarted[WT_NICS];
};

static inline uint32_t wt_below(struct wt *wt, uint32_t bound)
{
	return (uint32_t)sim_prng_below(&wt->prng, bound);
}

static inline bool wt_one_in(struct wt *wt, uint32_t n)
{
	return !sim_prng_below(&wt->prng, n);
}

static inline bool wt_failed(const struct wt *wt)
{
	return wt->run->failure[0];
}

static inline const struct wt_way *wt_draw_way(struct wt_actor *a)
{
	return &a->ways[a->num_ways > 1 ? wt_below(a->wt, a->num_ways) : 0];
}

static inline uint8_t *wt_send_buf(struct wt_actor *a, uint32_t slot)
{
	return a->buf + (size_t)slot * WT_SLOT_BYTES;
}

static inline uint8_t *wt_recv_buf(struct wt_actor *a, uint32_t slot)
{
	return wt_send_buf(a, WT_SENDS + slot);
}

/* ---- sim_wl_tag_post.c */

/* Posts a message to a peer, if a slot is free. */
void wt_post_send(struct wt_actor *a, struct wt_actor *peer);
/* Posts a receive or a peek, if a slot is free. */
void wt_post_op(struct wt_actor *a);
/* Receives what a peek has claimed, or drops it. */
void wt_post_claimed(struct wt_actor *a, struct sim_tag_op *op, struct sim_tag_msg *msg,
		     uint32_t claim);
/* Posts receives for anything. */
void wt_post_drains(struct wt_actor *a);
void wt_cancel(struct wt_actor *a, uint32_t slot);
/* Deregisters the memory of some request. */
void wt_deregister(struct wt_actor *a);
/* The first bytes of a message, and all others. */
bool wt_content_ok(struct wt *wt, const struct sim_tag_msg *msg, const uint8_t *data,
		   uint32_t bytes);

/* ---- sim_wl_tag_done.c */

/* Takes all completions. */
void wt_reap(struct wt_actor *a);
/* An endpoint of the context was closed: takes what it had not polled, and forgets its sends. */
void wt_way_closed(struct wt_actor *a, const struct weft_tag_ep *ep);

#endif /* WEFT_SIM_WL_TAG_H */
