/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints: the tables of outstanding requests, and their completions.
 *
 * weft_tag_post.c takes slots; weft_poll.c passes completions here and returns them to the program.
 * shared_defs/hw_tag.h describes the entries, docs/tagged.md the messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/weft_tag_priv.h"

int weft_tag_slots_init(struct weft_tag_slots *slots, uint32_t max)
{
	uint32_t size = 1;

	while (size < max)
		size <<= 1;
	memset(slots, 0, sizeof(*slots));
	slots->mask = size - 1;
	slots->max = max;
	slots->slot = calloc(size, sizeof(*slots->slot));
	slots->freed = calloc(size, sizeof(*slots->freed));
	return slots->slot && slots->freed ? 0 : -ENOMEM;
}

void weft_tag_slots_free(struct weft_tag_slots *slots)
{
	free(slots->slot);
	free(slots->freed);
}

/* Returns the next slot to take, or max if all are in use. */
static uint32_t next_slot(const struct weft_tag_slots *slots)
{
	if (slots->taken != __atomic_load_n(&slots->given, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&slots->freed[slots->taken & slots->mask], __ATOMIC_RELAXED);
	return slots->fresh;
}

bool weft_tag_slot_next(const struct weft_tag_slots *slots, uint64_t *token)
{
	uint32_t number = next_slot(slots);

	*token = WEFT_TAG_TOKEN | number;
	return number < slots->max;
}

void weft_tag_slot_take(struct weft_tag_slots *slots, uint64_t token, uint64_t wr_id,
			enum weft_wc_opcode opcode, bool multi)
{
	uint32_t number = (uint32_t)token;
	struct weft_tag_slot *slot = &slots->slot[number];

	if (number == slots->fresh)
		slots->fresh++;
	else
		slots->taken++;
	slot->wr_id = wr_id;
	slot->opcode = (uint8_t)opcode;
	slot->released = false;
	slot->seen = 0;
	__atomic_store_n(&slot->state, (uint8_t)(multi ? WEFT_TAG_USED_MULTI : WEFT_TAG_USED),
			 __ATOMIC_RELEASE);
}

static void slot_give(struct weft_tag_slots *slots, uint32_t number)
{
	uint32_t given = slots->given;

	__atomic_store_n(&slots->slot[number].state, (uint8_t)WEFT_TAG_FREE, __ATOMIC_RELAXED);
	__atomic_store_n(&slots->freed[given & slots->mask], number, __ATOMIC_RELAXED);
	__atomic_store_n(&slots->given, given + 1, __ATOMIC_RELEASE);
}

/* Returns true if the completion is the last one of its request. */
static bool ends(uint32_t state, const struct hw_cqe *cqe)
{
	return state == WEFT_TAG_USED || cqe->flags & HW_CQE_F_RELEASED;
}

/* Returns the wr_id of the completed request, and frees its slot. */
static uint64_t wr_id_of(struct weft_tag_slots *slots, const struct hw_cqe *cqe)
{
	uint32_t number = (uint32_t)cqe->wr_id;
	uint64_t wr_id;
	uint32_t state;

	if (!weft_tag_is_token(cqe->wr_id) || number > slots->mask)
		return cqe->wr_id;
	state = __atomic_load_n(&slots->slot[number].state, __ATOMIC_ACQUIRE);
	wr_id = slots->slot[number].wr_id;
	if (state != WEFT_TAG_FREE && ends(state, cqe))
		slot_give(slots, number);
	return wr_id;
}

/*
 * The same of a context. Its completions wait in several CQs: the one that is taken last of all
 * releases a buffer of many messages. False: that was not known when the NIC released it, and
 * nothing else is to be said. Under shared->lock.
 */
static bool settle_shared(struct weft_tag_slots *slots, const struct hw_cqe *cqe,
			  struct weft_wc *wc)
{
	uint32_t number = (uint32_t)cqe->wr_id;
	struct weft_tag_slot *slot;
	uint32_t state;

	wc->wr_id = cqe->wr_id;
	if (!weft_tag_is_token(cqe->wr_id) || number > slots->mask)
		return true;
	slot = &slots->slot[number];
	state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
	wc->wr_id = slot->wr_id;
	if (state != WEFT_TAG_USED_MULTI) {
		if (state == WEFT_TAG_USED)
			slot_give(slots, number);
		return true;
	}
	if (cqe->flags & HW_CQE_F_RELEASED) {
		slot->released = true;
		slot->seen -= cqe->imm_inv;
		wc->msg_bytes = 0;
	} else {
		slot->seen++;
	}
	if (slot->released && !slot->seen) {
		wc->flags |= WEFT_WC_RELEASED;
		slot_give(slots, number);
		return true;
	}
	wc->flags &= ~(uint32_t)WEFT_WC_RELEASED;
	return !(cqe->flags & HW_CQE_F_RELEASED) || cqe->status != HW_STATUS_SUCCESS;
}

bool weft_tag_fill(struct weft_qp_obj *qp, const struct hw_cqe *cqe, struct weft_wc *wc)
{
	struct weft_tag *tag = qp->tag;
	bool send = cqe->opcode == HW_CQE_TSEND, report = true;

	wc->timestamp_ns = cqe->timestamp_ns;
	wc->status = (enum weft_wc_status)cqe->status;
	wc->opcode = (enum weft_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->bytes = cqe->bytes;
	wc->qpn = cqe->qpn;
	wc->src_qpn = cqe->src_qpn;
	wc->src_ip = cqe->src_ip;
	wc->flags = cqe->flags;
	wc->imm = 0;
	wc->inv_stag = 0;
	wc->offset = send ? 0 : cqe->sq_index;
	wc->msg_bytes = cqe->imm_inv;
	wc->tag = cqe->record_to;
	wc->data = cqe->record_map;
	if (!send && tag->shared) {
		pthread_mutex_lock(&tag->shared->lock);
		report = settle_shared(&tag->shared->recvs, cqe, wc);
		pthread_mutex_unlock(&tag->shared->lock);
	} else {
		wc->wr_id = wr_id_of(send ? &tag->sends : &tag->recvs, cqe);
	}
	return report;
}

bool weft_tag_take(struct weft_qp_obj *qp, const struct hw_cqe *cqe, struct weft_wc *wc)
{
	if (cqe->status == HW_STATUS_WR_FLUSH_ERR && cqe->vendor_err != HW_VENDOR_ERR_CANCELED)
		weft_qp_saw_error(qp);
	return weft_tag_fill(qp, cqe, wc);
}

/* Under the locks of CQ and queue. */
static int flush(struct weft_qp_obj *qp, struct weft_tag_slots *slots, int max, struct weft_wc *wc)
{
	int n = 0;

	for (; n < max && slots->flushed < slots->fresh; slots->flushed++) {
		struct weft_tag_slot *slot = &slots->slot[slots->flushed];

		if (slot->state == WEFT_TAG_FREE)
			continue;
		weft_fill_flush(&wc[n], qp, slot->wr_id, (enum weft_wc_opcode)slot->opcode);
		if (slot->state == WEFT_TAG_USED_MULTI)
			wc[n].flags = WEFT_WC_RELEASED;
		n++;
		slot_give(slots, slots->flushed);
	}
	return n;
}

int weft_tag_flush(struct weft_qp_obj *qp, const struct weft_cq *cq, int max, struct weft_wc *wc)
{
	struct weft_tag *tag = qp->tag;
	int n = 0;

	if (qp->pub.send_cq == cq) {
		weft_lock_take(&qp->sq.lock);
		n += flush(qp, &tag->sends, max, wc);
		weft_lock_give(&qp->sq.lock);
	}
	if (qp->pub.recv_cq == cq) {
		weft_lock_take(&qp->rq.lock);
		if (tag->context)
			pthread_mutex_lock(&tag->shared->lock);
		n += flush(qp, tag->context ? &tag->shared->recvs : &tag->recvs, max - n, wc + n);
		if (tag->context)
			pthread_mutex_unlock(&tag->shared->lock);
		weft_lock_give(&qp->rq.lock);
	}
	return n;
}
