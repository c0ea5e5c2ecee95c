/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private state of a tagged endpoint: its memory, and tables of the requests that the NIC has not
 * completed.
 *
 * Requests of an endpoint complete in any order, long after they have left their queue. Each one
 * that will be completed therefore has a slot of a table, which holds the program's wr_id; the NIC
 * gets the slot's number instead (a token). When the NIC is gone, the tables tell what to flush.
 *
 * weft_tag.c opens and closes, weft_tag_post.c takes slots, weft_tag_done.c gives them back.
 */
#ifndef WEFT_TAG_PRIV_H
#define WEFT_TAG_PRIV_H

#include "host_driver/weft_priv.h"
#include "host_driver/weft_tag.h"

/*
 * A token has this bit set; its low 32 bits are the slot. Requests without a completion on success
 * have no slot, since nothing would free it: their wr_id goes to the NIC as it is.
 */
#define WEFT_TAG_TOKEN (UINT64_C(1) << 63)

static inline bool weft_tag_is_token(uint64_t wr_id)
{
	return wr_id & WEFT_TAG_TOKEN;
}

/* weft_tag_slot.state */
enum {
	WEFT_TAG_FREE = 0,
	WEFT_TAG_USED = 1,
	WEFT_TAG_USED_MULTI = 2, /* freed by the completion that releases the buffer */
};

struct weft_tag_slot {
	uint64_t wr_id;
	uint8_t state;  /* atomic: the release of a slot's content, to the thread that polls */
	uint8_t opcode; /* enum weft_wc_opcode */
	/*
	 * A context's buffer of many messages. seen: completions of its messages that were
	 * taken, less those that there were, once released says that this is known.
	 */
	bool released;
	uint32_t seen;
};
static_assert(sizeof(struct weft_tag_slot) == 16, "an endpoint has many of them");

/*
 * Slots are taken under the lock of the queue and given back under the lock of its CQ. The ring of
 * freed slots is the only thing that both change. Memory is committed as slots are first used.
 * A context gives its own back under shared->lock, since its receives complete in several CQs.
 */
struct weft_tag_slots {
	struct weft_tag_slot *slot;
	uint32_t *freed;  /* ring of slots that were given back; atomic words */
	uint32_t mask;    /* size of both (a power of two) minus 1 */
	uint32_t max;     /* slots in use at the same time, at most the size */
	uint32_t fresh;   /* slots below this one were used before */
	uint32_t taken;   /* freed slots taken again, free-running */
	uint32_t given;   /* slots given back, free-running; atomic */
	uint32_t flushed; /* slots below this one were flushed */
};

/* The part that a context and the endpoints that take its receives have in common. */
struct weft_tag_shared {
	uint32_t refs; /* atomic */
	pthread_mutex_t lock;
	struct weft_tag_slots recvs;
	struct weft_wc *orphans; /* weft_take_tag_orphans() */
	uint32_t num_orphans, max_orphans;
	bool orphans_lost; /* there was no memory for one */
};

struct weft_tag {
	struct weft_tag_ep pub;
	struct weft_mr *pool_mr;
	void *pool;
	struct weft_tag_slots sends;
	/* Receives, peeks and receives of claimed messages; not used beside shared. */
	struct weft_tag_slots recvs;
	struct weft_tag_shared *shared; /* NULL: the endpoint has to do with no context */
	bool context;
};

/* The table of what is posted to it. */
static inline struct weft_tag_slots *weft_tag_recvs(struct weft_tag *tag)
{
	return tag->shared ? &tag->shared->recvs : &tag->recvs;
}

/* ---- weft_tag.c */

/* Frees an endpoint whose QP is being freed, and its memory, without notifying the NIC. */
void weft_tag_free(struct weft_tag *tag);

/* ---- weft_tag_context.c */

/* Makes what a context shares, or takes part in it. 0 or -ENOMEM, -EINVAL. */
int weft_tag_shared_init(struct weft_tag *tag, const struct weft_tag_attr *attr,
			 uint32_t max_recvs);
void weft_tag_shared_put(struct weft_tag *tag);
/*
 * Keeps a completion of a receive of the context for weft_take_tag_orphans(): the endpoint at which
 * it came is closed. Under the CQ's lock.
 */
void weft_tag_orphan(struct weft_qp_obj *qp, const struct hw_cqe *cqe);

/* ---- weft_tag_done.c */

/* Returns 0 or -ENOMEM. max: slots in use at the same time. */
int weft_tag_slots_init(struct weft_tag_slots *slots, uint32_t max);
void weft_tag_slots_free(struct weft_tag_slots *slots);
/*
 * Under the queue's lock: stores the token of the next free slot; returns false if there is none.
 * weft_tag_slot_take() then fills that slot, unless the request could not be posted.
 */
bool weft_tag_slot_next(const struct weft_tag_slots *slots, uint64_t *token);
void weft_tag_slot_take(struct weft_tag_slots *slots, uint64_t token, uint64_t wr_id,
			enum weft_wc_opcode opcode, bool multi);
/*
 * Converts a completion of a tagged endpoint and gives its slot back. False: there is nothing to
 * report. Under the CQ's lock.
 */
bool weft_tag_fill(struct weft_qp_obj *qp, const struct hw_cqe *cqe, struct weft_wc *wc);
/* The same, and takes note of an error of the endpoint. */
bool weft_tag_take(struct weft_qp_obj *qp, const struct hw_cqe *cqe, struct weft_wc *wc);
/*
 * The NIC is gone: completes up to max of the requests in the tables whose completions go to cq.
 * Returns their number. Under cq->lock.
 */
int weft_tag_flush(struct weft_qp_obj *qp, const struct weft_cq *cq, int max, struct weft_wc *wc);

#endif /* WEFT_TAG_PRIV_H */
