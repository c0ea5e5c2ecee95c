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
	uint32_t state;  /* atomic: the release of a slot's content, to the thread that polls */
	uint32_t opcode; /* enum weft_wc_opcode */
};

/*
 * Slots are taken under the lock of the queue and given back under the lock of its CQ. The ring of
 * freed slots is the only thing that both change. Memory is committed as slots are first used.
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

struct weft_tag {
	struct weft_tag_ep pub;
	struct weft_mr *pool_mr;
	void *pool;
	struct weft_tag_slots sends;
	struct weft_tag_slots recvs; /* receives, peeks and receives of claimed messages */
};

/* ---- weft_tag.c */

/* Frees an endpoint whose QP is being freed, and its memory, without notifying the NIC. */
void weft_tag_free(struct weft_tag *tag);

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
/* Converts a completion of a tagged endpoint and gives its slot back. Under the CQ's lock. */
void weft_tag_take(struct weft_qp_obj *qp, const struct hw_cqe *cqe, struct weft_wc *wc);
/*
 * The NIC is gone: completes up to max of the requests in the tables whose completions go to cq.
 * Returns their number. Under cq->lock.
 */
int weft_tag_flush(struct weft_qp_obj *qp, const struct weft_cq *cq, int max, struct weft_wc *wc);

#endif /* WEFT_TAG_PRIV_H */
