/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload tag: draws messages and operations, and posts them.
 *
 * Half of the receives are drawn for a message that is under way, half of the messages for a
 * receive that waits, so that much matches, early and late. A message says who it is by its data of
 * 8 bytes, by its tag's upper bits, or by its first 8 bytes. Calls libweft and sim_tag_model.c.
 */
#include "sim_harness/wl/sim_wl_tag.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Bits that receives do not compare. Runs use the first 2, 4 or all of them. */
static const uint64_t masks[WT_MASKS] = {
    0,
    UINT64_MAX,
    WT_TAG_ID_MASK,
    WT_TAG_ID_MASK | 1,
    1,
    3,
    7,
    WT_TAG_ID_MASK | 3,
    UINT64_C(1) << 40,
    UINT64_C(1) << 40 | 1,
    WT_TAG_ID_MASK | 7,
    WT_TAG_ID_MASK | UINT64_C(3) << 40,
};

static uint64_t draw_mask(struct wt *wt)
{
	return masks[wt_below(wt, wt->masks)];
}

static uint64_t draw_tag(struct wt *wt)
{
	uint64_t tag = wt_below(wt, wt->tags);

	return wt_one_in(wt, 4) ? tag | UINT64_C(1) << 40 : tag;
}

/* Lengths about the edges: nothing, inline, the eager limit, long ones. */
static uint32_t draw_bytes(struct wt_actor *a)
{
	struct wt *wt = a->wt;

	if (wt_one_in(wt, wt->long_one_in))
		return wt_below(wt, WT_MAX_BYTES + 1);
	switch (wt_below(wt, 8)) {
	case 0:
		return 0;
	case 1:
	case 2:
		return wt_below(wt, 4097);
	case 3:
		return a->ep->eager_bytes - 1 + wt_below(wt, 3);
	default:
		return wt_below(wt, 129);
	}
}

static void fill_content(struct wt *wt, const struct sim_tag_msg *msg, uint8_t *at)
{
	uint64_t id = WT_ID_OF(msg);
	uint32_t skip = msg->bytes >= sizeof(id) ? sizeof(id) : 0;

	memcpy(at, &id, skip);
	sim_pattern(wt->sim, msg->pair->index, 0x746167, msg->number, at + skip, msg->bytes - skip);
}

bool wt_content_ok(struct wt *wt, const struct sim_tag_msg *msg, const uint8_t *data,
		   uint32_t bytes)
{
	uint64_t id = WT_ID_OF(msg);
	uint32_t skip = msg->bytes >= sizeof(id) ? sizeof(id) : 0;

	if (bytes < skip)
		return !memcmp(data, &id, bytes);
	return !memcmp(data, &id, skip) &&
	       sim_pattern_check(wt->sim, msg->pair->index, 0x746167, msg->number, data + skip,
				 bytes - skip);
}

/* Divides a buffer into SGEs, empty ones too. Returns their number. */
static uint32_t make_sges(struct wt *wt, struct weft_sge sge[WT_SGES], const struct weft_mr *mr,
			  const uint8_t *at, uint32_t bytes)
{
	uint32_t n = wt_one_in(wt, 4) ? 1 + wt_below(wt, WT_SGES) : 1, i, piece;

	if (!bytes && wt_one_in(wt, 2))
		return 0;
	for (i = 0; i < n; i++, at += piece, bytes -= piece) {
		piece = i + 1 == n ? bytes : wt_below(wt, bytes + 1);
		sge[i] = (struct weft_sge){(uintptr_t)at, piece, mr->lkey};
	}
	return n;
}

/* The region of a request: the process's, or one of its own. */
static struct weft_mr *draw_mr(struct wt_actor *a, uint8_t *at, struct weft_mr **own)
{
	*own = NULL;
	if (a->frail && wt_one_in(a->wt, 8))
		*own = weft_reg_mr(a->pd, at, WT_SLOT_BYTES,
				   WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_READ |
				       WEFT_ACCESS_REMOTE_WRITE);
	return *own ? *own : a->mr;
}

/* A receive of the peer that waits, and takes messages of this end; NULL. */
static const struct sim_tag_op *waiting_op(struct wt_actor *a, const struct sim_tag_end *src,
					   const struct wt_actor *peer)
{
	uint32_t i = wt_below(a->wt, WT_RECVS), n;

	for (n = 0; n < WT_RECVS; n++, i = (i + 1) % WT_RECVS) {
		const struct wt_recv *r = &peer->recv[i];

		if (r->busy && (r->kind == WT_RECV || r->kind == WT_MULTI) &&
		    (r->op->any_src || (r->op->src_ip == src->ip && r->op->src_qpn == src->qpn)))
			return r->op;
	}
	return NULL;
}

/* Space, tag and identity. */
static void draw_envelope(struct wt_actor *a, struct wt_actor *peer, struct sim_tag_msg *msg)
{
	struct wt *wt = a->wt;
	const struct sim_tag_op *op = wt_one_in(wt, 2) ? waiting_op(a, msg->pair->src, peer) : NULL;
	uint64_t free_bits = op ? op->ignore : UINT64_MAX;

	msg->msg = op ? op->msg : wt_one_in(wt, 8);
	msg->tag = draw_tag(wt);
	if (op && !op->msg)
		msg->tag = (op->tag & ~op->ignore) | (msg->tag & op->ignore);
	if (msg->msg)
		msg->tag = 0;
	if (wt->sparse && msg->bytes >= 8 && !(msg->tag & WT_TAG_ID_MASK) && wt_one_in(wt, 2))
		return;
	if (!msg->msg && !(~free_bits & WT_TAG_ID_MASK) && wt_one_in(wt, 2)) {
		/* No other has it: endpoints that are gone may have had the same addresses. */
		msg->tag = (msg->tag & ~WT_TAG_ID_MASK) |
			   (uint64_t)(wt->tag_ids++ % WT_ID_MARK | WT_ID_MARK) << WT_ID_SHIFT;
		if (wt_one_in(wt, 2))
			return;
	}
	/* A tag that an exact receive copied from another message names that one. */
	msg->has_data = true;
	msg->data = WT_ID_OF(msg);
}

void wt_post_send(struct wt_actor *a, struct wt_actor *peer)
{
	struct wt *wt = a->wt;
	uint32_t slot = wt_below(wt, WT_SENDS);
	const struct wt_way *from = wt_draw_way(a), *to = wt_draw_way(peer);
	struct wt_send *s = &a->send[slot];
	uint8_t *at = wt_send_buf(a, slot);
	struct weft_tag_send_wr wr = {.wr_id = slot, .ah = a->ah, .dst_qpn = to->end->qpn};
	struct weft_sge sge[WT_SGES];
	struct sim_tag_msg *msg;
	struct weft_mr *mr;
	int rc;

	if (s->busy)
		return;
	msg = sim_tag_msg_post(&wt->model, sim_tag_pair_get(&wt->model, from->end, to->end));
	msg->bytes = draw_bytes(a);
	draw_envelope(a, peer, msg);
	msg->sync = wt_one_in(wt, 8);
	fill_content(wt, msg, at);
	wr.flags = (msg->msg ? WEFT_TAG_MSG : 0) | (msg->sync ? WEFT_TAG_SYNC : 0) |
		   (msg->has_data ? WEFT_TAG_DATA : 0);
	if (msg->bytes <= WT_INLINE_BYTES && wt_one_in(wt, 2))
		wr.flags |= WEFT_TAG_INLINE;
	if (wr.flags & WEFT_TAG_INLINE && wt_one_in(wt, 4)) {
		wr.flags |= WEFT_TAG_UNSIGNALED;
		wr.wr_id = WT_WR_SILENT | WT_ID_OF(msg);
	}
	/* Inline data needs no buffer that waits for the match. */
	msg->waits =
	    msg->sync || (msg->bytes > a->ep->eager_bytes && !(wr.flags & WEFT_TAG_INLINE));
	wr.tag = msg->tag;
	wr.data = msg->data;
	wr.sg_list = sge;
	mr = draw_mr(a, at, &s->mr);
	wr.num_sge = make_sges(wt, sge, mr, at, msg->bytes);
	rc = weft_tag_send(from->ep, &wr);
	if (rc) {
		sim_tag_msg_unpost(msg);
		if (s->mr && weft_dereg_mr(s->mr))
			sim_run_fail(wt->run, "call: weft_dereg_mr() failed");
		s->mr = NULL;
		/* The queue is full: try later. */
		if (rc != -ENOMEM)
			sim_run_fail(wt->run, "post: endpoint %u: a send: %s", a->end->index,
				     strerror(-rc));
		return;
	}
	wt->run->done[SIM_OP_SEND]++;
	if (wr.flags & WEFT_TAG_UNSIGNALED)
		return;
	s->busy = true;
	s->ep = from->ep;
	s->msg = msg;
	a->sends_busy++;
}

/* A message to this end that was not received yet; NULL. */
static const struct sim_tag_msg *coming_msg(struct wt_actor *a)
{
	const struct sim_tag_pair *pair;
	uint32_t i;

	if (!a->end->num_from)
		return NULL;
	pair = a->end->from[wt_below(a->wt, a->end->num_from)];
	i = pair->open + wt_below(a->wt, 4);
	return i < pair->num_msgs && !pair->msgs[i]->settled ? pair->msgs[i] : NULL;
}

/* An endpoint of any process. */
static const struct sim_tag_end *draw_end(struct wt *wt)
{
	return wt_draw_way(&wt->actors[wt_below(wt, wt->num_actors)])->end;
}

/* Source, tag, mask and space. */
static void draw_want(struct wt_actor *a, struct sim_tag_op *op, const struct sim_tag_msg *msg)
{
	struct wt *wt = a->wt;
	const struct sim_tag_end *src;

	op->ignore = draw_mask(wt);
	op->any_src = wt_one_in(wt, 3);
	op->tag = msg ? msg->tag : draw_tag(wt);
	op->msg = msg ? msg->msg : wt_one_in(wt, 8);
	src = msg ? msg->pair->src : draw_end(wt);
	op->src_ip = src->ip;
	op->src_qpn = src->qpn;
}

static uint32_t draw_capacity(struct wt_actor *a, const struct sim_tag_msg *msg)
{
	struct wt *wt = a->wt;
	uint32_t bytes = msg ? msg->bytes : draw_bytes(a);

	if (msg && wt_one_in(wt, 8))
		bytes = wt_below(wt, bytes + 1);
	else if (wt_one_in(wt, 2))
		bytes += wt_below(wt, 2048);
	if (bytes > WT_SLOT_BYTES)
		bytes = WT_SLOT_BYTES;
	/* Messages that only their first bytes identify need room for these. */
	return wt->sparse && bytes < 8 ? 8 : bytes;
}

static enum wt_kind draw_kind(struct wt *wt)
{
	switch (wt_below(wt, 24)) {
	case 0:
	case 1:
		return WT_MULTI;
	case 2:
		return WT_PEEK;
	case 3:
		return wt->sparse ? WT_RECV : WT_CLAIM;
	case 4:
		return wt->sparse ? WT_PEEK : WT_DISCARD;
	default:
		return WT_RECV;
	}
}

static uint32_t free_slot(const struct wt_actor *a, uint32_t from, uint32_t to)
{
	while (from < to && a->recv[from].busy)
		from++;
	return from;
}

static void slot_posted(struct wt_actor *a, uint32_t slot, struct sim_tag_op *op)
{
	struct wt_recv *r = &a->recv[slot];

	r->busy = true;
	r->op = op;
	r->fed = 0;
	r->full = r->torn = r->owed = false;
	r->num_pieces = 0;
	a->recvs_busy++;
}

/* Posts the operation of a slot. Returns 0 or -errno. */
static int post(struct wt_actor *a, uint32_t slot, const struct sim_tag_op *op)
{
	struct wt_recv *r = &a->recv[slot];
	struct weft_sge sge[WT_SGES];
	struct weft_tag_recv_wr wr = {.wr_id = WT_WR_RECV + slot,
				      .sg_list = sge,
				      .flags = op->msg ? WEFT_TAG_MSG : 0,
				      .src_ip = op->src_ip,
				      .src_qpn = op->any_src ? WEFT_TAG_ANY_QPN : op->src_qpn,
				      .tag = op->tag,
				      .ignore = op->ignore};
	uint8_t *at = wt_recv_buf(a, slot);

	if (r->kind == WT_CLAIM)
		wr.flags |= WEFT_TAG_CLAIM;
	if (r->kind == WT_DISCARD)
		wr.flags |= WEFT_TAG_DISCARD;
	if (r->kind != WT_RECV && r->kind != WT_MULTI)
		return weft_tag_peek(a->ep, &wr);
	memset(at, 0xee, r->capacity);
	wr.num_sge = make_sges(a->wt, sge, draw_mr(a, at, &r->mr), at, r->capacity);
	if (r->kind == WT_MULTI) {
		wr.flags |= WEFT_TAG_MULTI;
		wr.min_free_bytes = r->min_free;
	}
	return weft_tag_recv(a->ep, &wr, &r->number);
}

void wt_post_op(struct wt_actor *a)
{
	struct wt *wt = a->wt;
	uint32_t slot = free_slot(a, 0, wt->max_recvs);
	const struct sim_tag_msg *msg = wt_one_in(wt, 2) ? coming_msg(a) : NULL;
	struct wt_recv *r = &a->recv[slot];
	struct sim_tag_op *op;
	int rc;

	if (slot == wt->max_recvs)
		return;
	op = sim_tag_op_post(&wt->model, a->end);
	draw_want(a, op, msg);
	r->kind = draw_kind(wt);
	r->mr = NULL;
	op->kind = r->kind == WT_RECV    ? SIM_TAG_RECV
		   : r->kind == WT_MULTI ? SIM_TAG_MULTI
		   : r->kind == WT_PEEK  ? SIM_TAG_PEEK
					 : SIM_TAG_TAKING;
	r->capacity = draw_capacity(a, msg);
	if (r->kind == WT_MULTI) {
		r->capacity = 64 + wt_below(wt, WT_SLOT_BYTES - 64);
		r->min_free = 8 + wt_below(wt, r->capacity);
	}
	rc = post(a, slot, op);
	if (!rc) {
		slot_posted(a, slot, op);
		return;
	}
	sim_tag_op_unpost(op);
	if (r->mr && weft_dereg_mr(r->mr))
		sim_run_fail(wt->run, "call: weft_dereg_mr() failed");
	r->mr = NULL;
	if (rc != -ENOMEM)
		sim_run_fail(wt->run, "post: endpoint %u: a receive: %s", a->end->index,
			     strerror(-rc));
}

void wt_post_claimed(struct wt_actor *a, struct sim_tag_op *op, struct sim_tag_msg *msg,
		     uint32_t claim)
{
	struct wt *wt = a->wt;
	uint32_t slot = free_slot(a, 0, WT_RECV_SLOTS);
	struct wt_recv *r = &a->recv[slot];
	struct weft_sge sge[WT_SGES];
	struct weft_tag_recv_wr wr = {.wr_id = WT_WR_RECV + slot, .sg_list = sge};
	int rc;

	assert(slot < WT_RECV_SLOTS); /* the peek's is free */
	r->kind = WT_CLAIMED;
	r->claimed = msg;
	r->mr = NULL;
	r->capacity = draw_capacity(a, msg);
	memset(wt_recv_buf(a, slot), 0xee, r->capacity);
	if (wt_one_in(wt, 4)) {
		wr.flags = WEFT_TAG_DISCARD;
		r->capacity = 0;
	} else {
		wr.num_sge = make_sges(wt, sge, a->mr, wt_recv_buf(a, slot), r->capacity);
	}
	rc = weft_tag_recv_claimed(a->ep, claim, &wr);
	if (rc)
		sim_run_fail(wt->run, "post: endpoint %u: a claimed message: %s", a->end->index,
			     strerror(-rc));
	else
		slot_posted(a, slot, op);
}

void wt_post_drains(struct wt_actor *a)
{
	uint32_t slot;

	for (slot = WT_RECVS; slot < WT_RECV_SLOTS; slot++) {
		struct wt_recv *r = &a->recv[slot];
		struct sim_tag_op *op;

		if (r->busy)
			continue;
		op = sim_tag_op_post(&a->wt->model, a->end);
		op->kind = SIM_TAG_RECV;
		op->any_src = true;
		op->ignore = UINT64_MAX;
		op->msg = slot % 2;
		r->kind = WT_RECV;
		r->mr = NULL;
		r->capacity = WT_MAX_BYTES;
		if (post(a, slot, op)) {
			sim_tag_op_unpost(op);
			return;
		}
		slot_posted(a, slot, op);
	}
}

void wt_cancel(struct wt_actor *a, uint32_t slot)
{
	struct wt_recv *r = &a->recv[slot];

	if (!r->busy || (r->kind != WT_RECV && r->kind != WT_MULTI))
		return;
	if (!weft_tag_cancel(a->ep, r->number))
		sim_tag_op_cancel(&a->wt->model, r->op);
}

void wt_deregister(struct wt_actor *a)
{
	struct weft_mr **mr = NULL;
	uint32_t i;

	for (i = 0; i < WT_SENDS && !mr; i++)
		if (a->send[i].busy && a->send[i].mr)
			mr = &a->send[i].mr;
	if (!mr || wt_one_in(a->wt, 2))
		for (i = 0; i < WT_RECVS; i++)
			if (a->recv[i].busy && a->recv[i].mr)
				mr = &a->recv[i].mr;
	if (!mr)
		return;
	a->end->unsure = true;
	if (weft_dereg_mr(*mr))
		sim_run_fail(a->wt->run, "call: weft_dereg_mr() failed");
	*mr = NULL;
}
