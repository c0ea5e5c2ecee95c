/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": requests under construction.
 *
 * Draws the operation, its length and its memory at both ends, and works out the bytes that it will
 * bring. Calls libweft, sim_shadow.c, sim_wl_verbs_mem.c, sim_wl_verbs_key.c for requests that
 * change keys, and sim_wl_verbs_misuse.c for requests that must fail.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	ID_BYTES = 8,     /* a message begins with its number, if it is long enough */
	NUMBER_BYTES = 4, /* the part that differs within a run */
};

static uint32_t wv_draw_bytes(struct wv *wv, uint32_t max)
{
	static const uint32_t edges[] = {0, 1, 2, 7, 8, 9, 63, 64, 65};
	uint32_t mtu = sim_get_config(wv->sim)->mtu, bytes;

	switch (wv_below(wv, 8)) {
	case 0:
		bytes = edges[wv_below(wv, sizeof(edges) / sizeof(edges[0]))];
		break;
	case 1:
	case 2:
		bytes = wv_below(wv, 257);
		break;
	case 3: /* near one or several packets: headers are within 128 bytes */
		bytes = mtu * wv_range(wv, 1, 4);
		bytes -= wv_below(wv, 130);
		break;
	case 4:
		bytes = max - wv_below(wv, 2);
		break;
	case 5:
		bytes = wv_below(wv, 65537);
		break;
	default:
		bytes = wv_below(wv, 4097);
		break;
	}
	if (bytes > 20000 && wv_below(wv, 6))
		bytes %= 4096;
	return bytes <= max ? bytes : (max ? bytes % max : 0);
}

static bool is_atomic(enum weft_wr_opcode opcode)
{
	return opcode == WEFT_WR_FETCH_ADD || opcode == WEFT_WR_CMP_SWAP;
}

static enum weft_wr_opcode draw_opcode(struct wv *wv, const struct wv_qp *qp,
				       const struct wv_qp *dst)
{
	static const enum weft_wr_opcode reliable[] = {
	    WEFT_WR_SEND, WEFT_WR_SEND,      WEFT_WR_SEND_IMM,  WEFT_WR_WRITE,    WEFT_WR_WRITE,
	    WEFT_WR_READ, WEFT_WR_WRITE_IMM, WEFT_WR_FETCH_ADD, WEFT_WR_CMP_SWAP, WEFT_WR_READ};
	enum weft_wr_opcode opcode;

	if (qp->model.type == WEFT_QPT_UD)
		return wv_below(wv, 2) ? WEFT_WR_SEND : WEFT_WR_SEND_IMM;
	opcode = reliable[wv_below(wv, sizeof(reliable) / sizeof(reliable[0]))];
	if ((opcode == WEFT_WR_WRITE || opcode == WEFT_WR_WRITE_IMM) &&
	    !(dst->access & WEFT_ACCESS_REMOTE_WRITE))
		return WEFT_WR_READ;
	if (is_atomic(opcode) && !(dst->access & WEFT_ACCESS_REMOTE_ATOMIC))
		return WEFT_WR_READ;
	return opcode;
}

/*
 * Takes local memory for op->m.bytes in several pieces. For a sink, op->data is the expected
 * content; a source is used as it is, except for the number at the start of a message.
 */
static bool take_local(struct wv_qp *qp, struct wv_draft *d, bool sink)
{
	struct wv_op *op = d->op;
	struct wv *wv = qp->proc->wv;
	uint32_t max = qp->qp->cap.max_send_sge, left = op->m.bytes, at = 0, n, i;

	n = wv_below(wv, 3) ? 1 : wv_range(wv, 1, max);
	if (!left && wv_below(wv, 2))
		n = 0;
	for (i = 0; i < n; i++) {
		uint32_t piece = i + 1 == n ? left : wv_below(wv, left + 1);
		uint64_t id = op->m.wr_id;
		bool front = !sink && !at && piece, write = sink || front;
		struct wv_mr *mr;
		size_t offset;

		mr = wv_pick(qp->proc, qp->pd, piece, sink ? WEFT_ACCESS_LOCAL_WRITE : 0, write,
			     &offset);
		if (!mr)
			return false;
		if (front)
			sim_shadow_store(mr->area->shadow, offset, &id,
					 piece < ID_BYTES ? piece : ID_BYTES);
		if (!sink)
			memcpy(op->data + at, sim_shadow_at(mr->area->shadow, offset), piece);
		op->local[i] =
		    sim_shadow_hold(mr->area->shadow, offset, piece,
				    sink ? SIM_HOLD_WRITE : SIM_HOLD_READ, op->data + at);
		if (op->local[i])
			op->local[i]->user = op;
		op->local_at[i] = at;
		op->num_local = i + 1;
		d->sge[i] = (struct weft_sge){wv_addr(mr, offset), piece, mr->mr->lkey};
		left -= piece;
		at += piece;
	}
	d->wr.num_sge = n;
	return true;
}

/* Inline data: lkeys are ignored, addresses are virtual, and the memory may change at once. */
static void take_inline(struct wv_qp *qp, struct wv_draft *d)
{
	struct wv_op *op = d->op;
	struct wv *wv = qp->proc->wv;
	uint64_t id = op->m.wr_id;

	sim_prng_fill(&wv->prng, op->data, op->m.bytes);
	memcpy(op->data, &id, op->m.bytes < ID_BYTES ? op->m.bytes : ID_BYTES);
	memcpy(wv->buffer, op->data, op->m.bytes);
	d->sge[0] = (struct weft_sge){(uintptr_t)wv->buffer, op->m.bytes, 0xdeadbeef};
	d->wr.num_sge = op->m.bytes || wv_below(wv, 2) ? 1 : 0;
	d->wr.flags |= WEFT_SEND_INLINE;
	op->scribble = true;
}

static bool take_remote(struct wv_qp *dst, struct wv_draft *d, bool write)
{
	uint32_t access = write ? WEFT_ACCESS_REMOTE_WRITE : WEFT_ACCESS_REMOTE_READ;
	struct wv *wv = dst->proc->wv;
	struct wv_op *op = d->op;
	struct wv_mw *via = NULL;
	struct wv_mr *mr;
	size_t offset;

	if (wv->keys && wv_below(wv, 2))
		via = wv_mw_pick(dst, op->m.bytes, access, write, &offset);
	mr = via ? via->bound.mr : wv_pick(dst->proc, dst->pd, op->m.bytes, access, write, &offset);
	if (!mr)
		return false;
	d->wr.rkey = mr->mr->rkey;
	d->wr.remote_addr = wv_addr(mr, offset);
	if (via) {
		wv_mw_use(op, via);
		d->wr.rkey = via->rkey;
		d->wr.remote_addr = via->bound.base + (offset - via->bound.offset);
	}
	op->rkey = d->wr.rkey;
	if (!write)
		memcpy(op->data, sim_shadow_at(mr->area->shadow, offset), op->m.bytes);
	op->remote = sim_shadow_hold(mr->area->shadow, offset, op->m.bytes,
				     write ? SIM_HOLD_WRITE : SIM_HOLD_READ, op->data);
	if (op->remote)
		op->remote->user = op;
	return true;
}

/*
 * Its result depends on whether earlier requests are executed: it is judged when their results are
 * known, which is at its own completion.
 */
static void brings_anything(struct wv_op *op)
{
	uint32_t i;

	for (i = 0; i < op->num_local; i++) {
		if (op->local[i])
			op->local[i]->kind = SIM_HOLD_ANY;
	}
}

static bool draft_atomic(struct wv_qp *qp, struct wv_qp *dst, struct wv_draft *d)
{
	struct wv_op *op = d->op;
	struct wv *wv = qp->proc->wv;
	struct wv_mr *mr = &dst->proc->mr[0];
	uint32_t index;

	if (dst->pd != mr->pd || !mr->mr)
		return false;
	op->m.bytes = 8;
	op->data = calloc(1, 8);
	d->wr.rkey = mr->mr->rkey;
	if (d->wr.opcode == WEFT_WR_FETCH_ADD && !wv_below(wv, 3)) {
		index = wv_below(wv, WV_COUNTERS);
		d->wr.compare_add = 1;
		d->wr.remote_addr = wv_addr(mr, (WV_WORDS + index) * 8);
		if (!take_local(qp, d, true))
			return false;
		brings_anything(op);
		op->counter = &dst->proc->counter[(d->wr.remote_addr - mr->iova) / 8 - WV_WORDS];
		op->counter->issued++;
		return true;
	}
	op->word = wv_word_take(qp, dst, &index);
	if (!op->word)
		return false;
	op->word->under_way++;
	op->old_value = op->word->value;
	memcpy(op->data, &op->old_value, 8);
	if (!take_local(qp, d, true))
		return false;
	brings_anything(op);
	d->wr.remote_addr = wv_addr(mr, index * 8);
	d->wr.compare_add = sim_prng_next(&wv->prng);
	d->wr.swap = sim_prng_next(&wv->prng);
	if (d->wr.opcode == WEFT_WR_FETCH_ADD) {
		op->word->value += d->wr.compare_add;
	} else {
		if (wv_below(wv, 3))
			d->wr.compare_add = op->old_value;
		if (d->wr.compare_add == op->old_value)
			op->word->value = d->wr.swap;
	}
	return true;
}

void wv_draft_undo(struct wv_op *op)
{
	uint32_t i;

	wv_key_undo(op);
	if (op->word) {
		/* Later drafts on the word were undone before. */
		op->word->value = op->old_value;
		wv_word_done(op, true);
	}
	if (op->counter)
		op->counter->issued--;
	for (i = 0; i < op->num_local; i++)
		sim_shadow_release(op->local[i]);
	if (op->writer)
		op->writer->reader = NULL;
	sim_shadow_release(op->remote);
	op->num_local = 0;
	op->remote = NULL;
	op->word = NULL;
	op->counter = NULL;
}

/* Drafts a Read of the data that the previous request in the batch writes. */
static bool draft_read_back(struct wv_qp *qp, struct wv_draft *d, const struct wv_draft *before)
{
	struct wv_op *op = d->op;

	d->wr.opcode = WEFT_WR_READ;
	op->m.bytes = before->op->m.bytes;
	op->data = malloc(op->m.bytes + 1);
	assert(op->data);
	memcpy(op->data, before->op->data, op->m.bytes);
	if (!take_local(qp, d, true))
		return false;
	brings_anything(op);
	d->wr.rkey = before->wr.rkey;
	d->wr.remote_addr = before->wr.remote_addr;
	op->rkey = d->wr.rkey;
	if (before->op->via)
		wv_mw_use(op, before->op->via);
	op->writer = before->op;
	before->op->reader = op;
	return true;
}

static bool draft_transfer(struct wv_qp *qp, struct wv_qp *dst, struct wv_draft *d)
{
	struct wv *wv = qp->proc->wv;
	struct wv_op *op = d->op;
	enum weft_wr_opcode opcode = d->wr.opcode;
	bool write = opcode == WEFT_WR_WRITE || opcode == WEFT_WR_WRITE_IMM;
	uint32_t max = qp->max_send_bytes;

	if (opcode == WEFT_WR_SEND || opcode == WEFT_WR_SEND_IMM || opcode == WEFT_WR_SEND_INV) {
		if (dst && dst->rq->msg_bytes < max)
			max = dst->rq->msg_bytes;
	}
	op->m.bytes = wv_draw_bytes(wv, max);
	/* Too short for its number, which distinguishes messages. */
	if (opcode == WEFT_WR_SEND && op->m.bytes < NUMBER_BYTES)
		d->wr.opcode = WEFT_WR_SEND_IMM;
	op->data = malloc(op->m.bytes + 1);
	assert(op->data);
	if (opcode == WEFT_WR_READ)
		return take_remote(dst, d, false) && take_local(qp, d, true);
	if (op->m.bytes <= qp->qp->cap.max_inline_bytes && wv_below(wv, 2))
		take_inline(qp, d);
	else if (!take_local(qp, d, false))
		return false;
	return !write || take_remote(dst, d, true);
}

/*
 * Drafts a request that creates or ends a key. *right: it may be posted. Returns false if it is
 * none.
 */
static bool draft_key(struct wv_qp *qp, struct wv_qp *dst, struct wv_draft *d, bool *right)
{
	struct wv *wv = qp->proc->wv;
	struct wv_op *op = d->op;

	if (!wv->keys || qp->model.type == WEFT_QPT_UD || wv_below(wv, 8))
		return false;
	if (!wv_below(wv, 3)) {
		if (!wv_draft_send_inv(dst, op, &d->wr))
			return false;
		*right = draft_transfer(qp, dst, d);
		return true;
	}
	*right = wv_below(wv, 3) ? wv_draft_bind(qp, op, &d->wr, d->sge)
				 : wv_draft_local_inv(qp, op, &d->wr);
	if (!*right)
		return false;
	d->wr.flags = (d->wr.flags & WEFT_SEND_FENCE) | WEFT_SEND_SIGNALED;
	op->m.allowed = SIM_MAY(SUCCESS);
	if (qp->state != WV_LIVE)
		op->m.allowed = SIM_MAY(WR_FLUSH_ERR);
	op->data = calloc(1, 1);
	return true;
}

static void fill_common(struct wv_qp *qp, struct wv_qp *dst, struct wv_draft *d)
{
	struct wv *wv = qp->proc->wv;

	if (!wv_below(wv, 4))
		d->wr.flags |= WEFT_SEND_FENCE;
	if (!wv_below(wv, 4))
		d->wr.flags |= WEFT_SEND_SOLICITED;
	if (wv_below(wv, 3))
		d->wr.flags |= WEFT_SEND_SIGNALED;
	d->wr.imm = ++wv->unique * 0x9e3779b1u;
	d->wr.ah = qp->proc->ah[qp->pd];
	if (dst) {
		d->wr.dst_qpn = dst->model.qpn;
		d->wr.qkey = dst->qkey;
		if (dst->qkey == qp->qkey && wv_below(wv, 2))
			d->wr.qkey = 0x80000000u;
	}
}

bool wv_draft(struct wv_qp *qp, struct wv_qp *dst, struct wv_draft *d, struct wv_draft *before)
{
	struct wv *wv = qp->proc->wv;
	struct wv_op *op = calloc(1, sizeof(*op));
	bool read_back, right;

	assert(op);
	memset(&d->wr, 0, sizeof(d->wr));
	d->op = op;
	d->wr.sg_list = d->sge;
	op->proc = qp->proc;
	op->qp = qp;
	op->dst = dst;
	op->m.wr_id = wv_id(wv, op, false);
	d->wr.wr_id = op->m.wr_id;
	fill_common(qp, dst, d);
	read_back = before && before->wr.opcode == WEFT_WR_WRITE && before->op->m.bytes &&
		    before->op->remote && !before->op->reader &&
		    dst->access & WEFT_ACCESS_REMOTE_READ && wv_below(wv, 2) &&
		    (!before->op->via || before->op->via->bound.access & WEFT_ACCESS_REMOTE_READ);
	op->m.vendor = SIM_ANY_VENDOR;
	op->m.allowed = wv_outcomes(qp, dst);
	if (sim_prng_chance(&wv->prng, wv->misuse_ppm) && wv_misuse(qp, dst, op, &d->wr, d->sge))
		return true;
	d->wr.opcode = draw_opcode(wv, qp, dst);
	if (read_back)
		right = draft_read_back(qp, d, before);
	else if (draft_key(qp, dst, d, &right))
		;
	else if (is_atomic(d->wr.opcode))
		right = draft_atomic(qp, dst, d);
	else
		right = draft_transfer(qp, dst, d);
	if (!right) {
		wv_draft_undo(op);
		wv_id_undo(wv, op->m.wr_id);
		wv_op_free(op);
	}
	return right;
}
