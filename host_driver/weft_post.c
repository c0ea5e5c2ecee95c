/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting: writes work requests into the rings.
 *
 * Each request is checked, built in a local buffer and copied to the ring once. The index is
 * published and the doorbell rung once for the whole list (weft_db.h). nic_fw/host/wqe.c and
 * nic_fw/host/rq.c read the rings. docs/host-interface.md, "Work queues". The method is that of
 * rdma-core's EFA provider.
 */
#include <errno.h>
#include <string.h>

#include "host_driver/weft_db.h"
#include "host_driver/weft_post.h"
#include "shared_defs/hw_atomic.h"

_Static_assert(sizeof(struct weft_sge) == sizeof(struct hw_sge), "copied as a whole");
_Static_assert(offsetof(struct weft_sge, bytes) == offsetof(struct hw_sge, bytes), "");
_Static_assert(offsetof(struct weft_sge, lkey) == offsetof(struct hw_sge, lkey), "");
_Static_assert((int)WEFT_ATOMIC_MSWAP == (int)HW_ATOMIC_OPS - 1 &&
		   (int)WEFT_ATOMIC_DOUBLE == (int)HW_ATOMIC_TYPES - 1,
	       "the same numbers");

#define OP(op) (1u << WEFT_WR_##op)
#define RELIABLE                                                                                   \
	(OP(WRITE) | OP(WRITE_IMM) | OP(READ) | OP(FETCH_ADD) | OP(CMP_SWAP) | OP(LOCAL_INV) |     \
	 OP(BIND_MW))

/* Opcodes that are valid for a QP; the NIC reports those that it does not support. */
static uint32_t legal_opcodes(const struct weft_qp *qp)
{
	uint32_t sends = OP(SEND) | OP(SEND_IMM) | OP(SEND_INV);

	/* The peers of a tagged endpoint take each Send for an envelope. */
	if (weft_container_of(qp, const struct weft_qp_obj, pub)->tag)
		sends = 0;
	switch (qp->type) {
	case WEFT_QPT_UD:
		return OP(SEND) | OP(SEND_IMM) | OP(WRITE_RECORD);
	case WEFT_QPT_UC:
		return sends | OP(WRITE) | OP(WRITE_IMM) | OP(LOCAL_INV) | OP(BIND_MW);
	case WEFT_QPT_RC:
	case WEFT_QPT_XRC_SEND:
		return sends | RELIABLE;
	case WEFT_QPT_RD:
		return sends | RELIABLE | OP(ATOMIC);
	case WEFT_QPT_XRC_RECV:
		break;
	}
	return 0;
}

static bool may_inline(enum weft_wr_opcode opcode)
{
	return (OP(SEND) | OP(SEND_IMM) | OP(SEND_INV) | OP(WRITE) | OP(WRITE_IMM) |
		OP(WRITE_RECORD)) >>
		   opcode &
	       1;
}

static int check_send(const struct weft_qp *qp, const struct weft_send_wr *wr)
{
	const uint32_t flags =
	    WEFT_SEND_SIGNALED | WEFT_SEND_SOLICITED | WEFT_SEND_FENCE | WEFT_SEND_INLINE;
	bool local = wr->opcode == WEFT_WR_LOCAL_INV || wr->opcode == WEFT_WR_BIND_MW;

	if ((uint32_t)wr->opcode > WEFT_WR_ATOMIC || !(legal_opcodes(qp) >> wr->opcode & 1) ||
	    wr->flags & ~flags)
		return -EINVAL;
	if (!local && (qp->type == WEFT_QPT_UD || qp->type == WEFT_QPT_RD) && !wr->ah)
		return -EINVAL;
	if (wr->opcode == WEFT_WR_ATOMIC &&
	    !hw_atomic_is_valid(HW_ATOMIC_CODE(wr->atomic_op, wr->atomic_type)))
		return -EINVAL;
	if (wr->flags & WEFT_SEND_INLINE)
		return may_inline(wr->opcode) ? 0 : -EINVAL;
	return wr->num_sge <= qp->cap.max_send_sge ? 0 : -EINVAL;
}

/* Copies inline data after the control slot. Returns its length, or -EINVAL if it is too long. */
static int build_inline(union weft_sq_build *build, const struct weft_sge *sg_list,
			uint32_t num_sge, uint32_t max)
{
	uint8_t *at = build->bytes + sizeof(build->ctrl);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < num_sge; i++) {
		const struct weft_sge *sge = &sg_list[i];

		if (sum + sge->bytes > max)
			return -EINVAL;
		if (sge->bytes)
			memcpy(at + sum, (const void *)(uintptr_t)sge->addr, sge->bytes);
		sum += sge->bytes;
	}
	return (int)sum;
}

int weft_sq_data(union weft_sq_build *build, const struct weft_qp *qp,
		 const struct weft_sge *sg_list, uint32_t num_sge, bool is_inline)
{
	struct hw_sq_wqe *w = &build->ctrl;
	uint32_t data_bytes, slots;
	int n;

	if (is_inline) {
		n = build_inline(build, sg_list, num_sge, qp->cap.max_inline_bytes);
		if (n < 0)
			return n;
		data_bytes = (uint32_t)n;
	} else {
		data_bytes = num_sge * (uint32_t)sizeof(struct hw_sge);
		if (data_bytes)
			memcpy(build->bytes + sizeof(*w), sg_list, data_bytes);
	}
	slots = hw_sq_slots(data_bytes);
	/* Clears padding, so that stack content does not reach the ring. */
	memset(build->bytes + sizeof(*w) + data_bytes, 0,
	       (slots - 1) * HW_SQ_SLOT_BYTES - data_bytes);
	w->slots = (uint8_t)slots;
	w->num_sge = is_inline ? 0 : (uint8_t)num_sge;
	w->inline_bytes = is_inline ? data_bytes : 0;
	return (int)slots;
}

/* Fills build. Returns its number of slots, or -EINVAL. */
static int build_send(union weft_sq_build *build, const struct weft_qp *qp,
		      const struct weft_send_wr *wr)
{
	struct hw_sq_wqe *w = &build->ctrl;
	int slots = weft_sq_data(build, qp, wr->sg_list, wr->num_sge, wr->flags & WEFT_SEND_INLINE);

	if (slots < 0)
		return slots;
	w->opcode = (uint8_t)wr->opcode;
	w->flags = (uint8_t)wr->flags;
	w->imm_inv = 0;
	if (wr->opcode == WEFT_WR_SEND_IMM || wr->opcode == WEFT_WR_WRITE_IMM)
		w->imm_inv = wr->imm;
	else if (wr->opcode == WEFT_WR_SEND_INV || wr->opcode == WEFT_WR_LOCAL_INV)
		w->imm_inv = wr->inv_stag;
	w->wr_id = wr->wr_id;
	w->ah = wr->ah ? wr->ah->handle : 0;
	w->dst_qpn = wr->dst_qpn;
	w->qkey = wr->qkey;
	w->remote_addr = wr->remote_addr;
	w->rkey = wr->rkey;
	w->mw_access = wr->opcode == WEFT_WR_ATOMIC ? HW_ATOMIC_CODE(wr->atomic_op, wr->atomic_type)
						    : wr->mw_access;
	w->compare_add = wr->compare_add;
	w->swap = wr->swap;
	return slots;
}

void weft_sq_retire(struct weft_qp_obj *qp)
{
	struct weft_sq *sq = &qp->sq;
	uint32_t cons = weft_barrier_sq_cons(qp->record);

	while (sq->wr_tail != sq->wr_head) {
		const struct weft_sq_wr *wr = &sq->wr[sq->wr_tail & sq->wr_mask];
		/*
		 * A polled completion implies that the NIC is done with the slots: it wrote the CQE
		 * afterwards.
		 */
		bool done = wr->signaled ? __atomic_load_n(&wr->done, __ATOMIC_ACQUIRE) == wr->end
					 : (int32_t)(cons - wr->end) >= 0;

		if (!done)
			break;
		sq->tail = wr->end;
		sq->wr_tail++;
	}
}

static bool has_room(const struct weft_qp_obj *qp, uint32_t slots)
{
	const struct weft_sq *sq = &qp->sq;

	return sq->slots - (sq->head - sq->tail) >= slots &&
	       sq->wr_head - sq->wr_tail < qp->pub.cap.max_send_wr;
}

static void copy_slots(struct weft_sq *sq, const union weft_sq_build *build, uint32_t slots)
{
	uint32_t at = sq->head & (sq->slots - 1);
	uint32_t first = sq->slots - at < slots ? sq->slots - at : slots;

	memcpy(sq->ring + (size_t)at * HW_SQ_SLOT_BYTES, build->bytes,
	       (size_t)first * HW_SQ_SLOT_BYTES);
	if (first < slots)
		memcpy(sq->ring, build->bytes + (size_t)first * HW_SQ_SLOT_BYTES,
		       (size_t)(slots - first) * HW_SQ_SLOT_BYTES);
}

int weft_sq_put(struct weft_qp_obj *qp, const union weft_sq_build *build, bool signaled)
{
	struct weft_sq *sq = &qp->sq;
	uint32_t slots = build->ctrl.slots;
	struct weft_sq_wr *entry;

	if (!has_room(qp, slots)) {
		weft_sq_retire(qp);
		if (!has_room(qp, slots))
			return -ENOMEM;
	}
	if (!sq->ring)
		weft_ring_take_sq(qp);
	copy_slots(sq, build, slots);
	sq->head += slots;
	entry = &sq->wr[sq->wr_head & sq->wr_mask];
	entry->end = sq->head;
	entry->slots = (uint8_t)slots;
	entry->signaled = signaled;
	__atomic_store_n(&sq->wr_of_slot[(sq->head - 1) & (sq->slots - 1)], sq->wr_head,
			 __ATOMIC_RELAXED);
	sq->wr_head++;
	return 0;
}

/* Writes one unpublished request into the ring. Under sq->lock. */
static int post_one(struct weft_qp_obj *qp, const struct weft_send_wr *wr)
{
	union weft_sq_build build;
	int rc;

	rc = check_send(&qp->pub, wr);
	if (rc == 0)
		rc = build_send(&build, &qp->pub, wr);
	if (rc < 0)
		return rc;
	return weft_sq_put(qp, &build,
			   wr->flags & WEFT_SEND_SIGNALED || qp->pub.flags & WEFT_QP_F_SQ_SIG_ALL);
}

bool weft_sq_may_send(uint32_t state)
{
	return state == WEFT_QPS_RTS || state == WEFT_QPS_SQD || state == WEFT_QPS_SQE ||
	       state == WEFT_QPS_ERR;
}

/* whole: posts either the whole list or nothing. */
static int post_list(struct weft_qp *pub, const struct weft_send_wr *wr, bool whole,
		     const struct weft_send_wr **bad_wr)
{
	struct weft_qp_obj *qp = weft_container_of(pub, struct weft_qp_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	struct weft_sq *sq = &qp->sq;
	uint32_t before, wr_before;
	int rc = 0;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED) {
		rc = -EIO;
	} else {
		weft_lock_take(&sq->lock);
		before = sq->head;
		wr_before = sq->wr_head;
		if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
			rc = -EIO;
		else if (!weft_sq_may_send(__atomic_load_n(&qp->state, __ATOMIC_ACQUIRE)))
			rc = -EINVAL;
		while (rc == 0 && wr) {
			rc = post_one(qp, wr);
			if (rc == 0)
				wr = wr->next;
		}
		/* An unpublished request is not visible to the NIC. */
		if (rc < 0 && whole) {
			sq->head = before;
			sq->wr_head = wr_before;
		}
		if (sq->head != before) {
			weft_barrier_sq_publish(qp->record, sq->head);
			weft_db_ring(ctx, &qp->record->rung, HW_DB_ENTRY(HW_DB_SQ, pub->qpn));
		}
		weft_lock_give(&sq->lock);
	}
	if (rc < 0 && bad_wr)
		*bad_wr = wr;
	return rc;
}

int weft_post_send(struct weft_qp *qp, const struct weft_send_wr *wr,
		   const struct weft_send_wr **bad_wr)
{
	return post_list(qp, wr, false, bad_wr);
}

int weft_post_send_whole(struct weft_qp *qp, const struct weft_send_wr *wr)
{
	return post_list(qp, wr, true, NULL);
}

/* Writes one receive request into its slot of a ring. */
static void build_recv(uint8_t *at, const struct weft_recv_wr *wr)
{
	struct hw_rq_wqe w = {.wr_id = wr->wr_id, .num_sge = wr->num_sge};

	memcpy(at, &w, sizeof(w));
	if (wr->num_sge)
		memcpy(at + sizeof(w), wr->sg_list, wr->num_sge * sizeof(struct hw_sge));
}

static int post_recv_one(struct weft_qp_obj *qp, const struct weft_recv_wr *wr)
{
	struct weft_rq *rq = &qp->rq;
	uint32_t tail = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE);
	uint32_t slot = rq->head & (rq->entries - 1);

	if (!rq->entries || wr->num_sge > qp->pub.cap.max_recv_sge || qp->tag)
		return -EINVAL;
	if (rq->head - tail >= qp->pub.cap.max_recv_wr)
		return -ENOMEM;
	if (!rq->ring)
		weft_ring_take_rq(qp);
	build_recv(rq->ring + (size_t)slot * rq->stride_bytes, wr);
	rq->wr_id[slot] = wr->wr_id;
	__atomic_store_n(&rq->head, rq->head + 1, __ATOMIC_RELEASE);
	return 0;
}

int weft_post_recv(struct weft_qp *pub, const struct weft_recv_wr *wr,
		   const struct weft_recv_wr **bad_wr)
{
	struct weft_qp_obj *qp = weft_container_of(pub, struct weft_qp_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	struct weft_rq *rq = &qp->rq;
	uint32_t before;
	int rc = 0;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED) {
		rc = -EIO;
	} else {
		weft_lock_take(&rq->lock);
		before = rq->head;
		if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
			rc = -EIO;
		else if (__atomic_load_n(&qp->state, __ATOMIC_ACQUIRE) == WEFT_QPS_RESET)
			rc = -EINVAL;
		while (rc == 0 && wr) {
			rc = post_recv_one(qp, wr);
			if (rc == 0)
				wr = wr->next;
		}
		if (rq->head != before) {
			weft_barrier_rq_publish(&qp->record->rq_prod, rq->head);
			/*
			 * The NIC checks the receives of a live QP when a message arrives, but
			 * never those of a dead one.
			 */
			if (__atomic_load_n(&qp->in_error, __ATOMIC_ACQUIRE))
				weft_qp_ring(qp);
		}
		weft_lock_give(&rq->lock);
	}
	if (rc < 0 && bad_wr)
		*bad_wr = wr;
	return rc;
}

static int post_srq_one(struct weft_srq_obj *srq, const struct weft_recv_wr *wr)
{
	uint32_t slot = srq->head & (srq->entries - 1);

	if (wr->num_sge > srq->max_sge)
		return -EINVAL;
	/* R2: the NIC has copied the requests before cons. */
	if (srq->head - weft_barrier_rq_cons(&srq->record->cons) >= srq->max_wr)
		return -ENOMEM;
	build_recv(srq->ring + (size_t)slot * srq->stride_bytes, wr);
	srq->head++;
	return 0;
}

int weft_post_srq_recv(struct weft_srq *pub, const struct weft_recv_wr *wr,
		       const struct weft_recv_wr **bad_wr)
{
	struct weft_srq_obj *srq = weft_container_of(pub, struct weft_srq_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	uint32_t before;
	int rc = 0;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED) {
		rc = -EIO;
	} else {
		pthread_mutex_lock(&srq->lock);
		before = srq->head;
		if (weft_ctx_state(ctx) != WEFT_CTX_LIVE)
			rc = -EIO;
		while (rc == 0 && wr) {
			rc = post_srq_one(srq, wr);
			if (rc == 0)
				wr = wr->next;
		}
		if (srq->head != before)
			weft_barrier_rq_publish(&srq->record->prod, srq->head);
		pthread_mutex_unlock(&srq->lock);
	}
	if (rc < 0 && bad_wr)
		*bad_wr = wr;
	return rc;
}
