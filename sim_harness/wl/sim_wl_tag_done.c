/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload tag: takes completions and judges them.
 *
 * A received message is identified, then compared with what was posted: source, tag, data, lengths
 * and bytes; bytes of the buffer behind it must be as before. The model judges the match. A failure
 * is right only if something has happened to one of the ends. Calls libweft and sim_tag_model.c.
 */
#include "sim_harness/wl/sim_wl_tag.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static void complain(struct wt_actor *a, const char *what, const struct weft_wc *wc)
{
	sim_run_fail(a->wt->run,
		     "completion: endpoint %u: %s: wr %" PRIu64 ", %s (%s), %u of %u bytes, "
		     "tag 0x%" PRIx64,
		     a->end->index, what, wc->wr_id, weft_wc_status_str(wc->status),
		     weft_vendor_err_str(wc->vendor_err), wc->bytes, wc->msg_bytes, wc->tag);
}

static void judge(struct wt_actor *a, bool right)
{
	if (!right)
		sim_run_fail(a->wt->run, "%s", a->wt->model.why);
}

static void dereg(struct wt_actor *a, struct weft_mr **mr)
{
	if (*mr && weft_dereg_mr(*mr))
		sim_run_fail(a->wt->run, "call: weft_dereg_mr() failed");
	*mr = NULL;
}

static void send_free(struct wt_actor *a, uint32_t slot)
{
	struct wt_send *s = &a->send[slot];

	s->busy = false;
	a->sends_busy--;
	dereg(a, &s->mr);
	/* A NIC that still reads it sends wrong bytes. */
	memset(wt_send_buf(a, slot), 0xdd, s->msg->bytes);
}

static void recv_free(struct wt_actor *a, uint32_t slot)
{
	struct wt_recv *r = &a->recv[slot];

	r->busy = false;
	a->recvs_busy--;
	dereg(a, &r->mr);
}

/* ---- sends */

static bool send_may_fail(const struct wt_actor *a, const struct sim_tag_msg *msg)
{
	return a->failed || sim_tag_pair_unsure(msg->pair);
}

static struct sim_tag_msg *msg_by_id(struct wt *wt, uint64_t id)
{
	uint64_t pair = id >> 32, number = id & UINT32_MAX;

	if (pair >= wt->model.num_pairs || number >= wt->model.pairs[pair]->num_msgs)
		return NULL;
	return wt->model.pairs[pair]->msgs[number];
}

static void send_done(struct wt_actor *a, const struct weft_wc *wc)
{
	struct sim_tag_msg *msg;
	bool silent = wc->wr_id & WT_WR_SILENT;
	bool ok = wc->status == WEFT_WC_SUCCESS;

	if (!silent && (wc->wr_id >= WT_SENDS || !a->send[wc->wr_id].busy)) {
		complain(a, "a send that was not posted", wc);
		return;
	}
	msg = silent ? msg_by_id(a->wt, wc->wr_id & ~WT_WR_SILENT) : a->send[wc->wr_id].msg;
	if (!msg || msg->sent || (silent && ok)) {
		complain(a, "a send completed that must not", wc);
		return;
	}
	if (!ok && !send_may_fail(a, msg))
		complain(a, "a send failed", wc);
	if (ok && wc->bytes != msg->bytes)
		complain(a, "a send says another length", wc);
	/* It was received all the same: its data was gone when the peer's DONE came. */
	sim_tag_msg_sent(&a->wt->model, msg, ok || msg->matched);
	if (!silent)
		send_free(a, (uint32_t)wc->wr_id);
}

/* ---- messages */

static bool has_address(const struct sim_tag_end *end, uint32_t ip, uint32_t qpn)
{
	return end->ip == ip && end->qpn == qpn;
}

/* A message from there to here that was not received, by the number in its tag. */
static struct sim_tag_msg *msg_by_tag(const struct wt_actor *a, const struct weft_wc *wc)
{
	const struct sim_tag_model *model = &a->wt->model;
	uint32_t i, k;

	/* Younger endpoints may have the addresses of those that are gone. */
	for (i = model->num_pairs; i-- > 0;) {
		const struct sim_tag_pair *pair = model->pairs[i];

		if (!has_address(pair->src, wc->src_ip, wc->src_qpn) ||
		    !has_address(pair->dst, a->end->ip, wc->qpn))
			continue;
		for (k = sim_tag_pair_unsure(pair) ? 0 : pair->open; k < pair->num_msgs; k++)
			if (!pair->msgs[k]->matched && !pair->msgs[k]->has_data &&
			    pair->msgs[k]->tag == wc->tag && pair->msgs[k]->bytes == wc->msg_bytes)
				return pair->msgs[k];
	}
	return NULL;
}

/* Source, tag, data and length are those of the message. */
static bool envelope_ok(const struct weft_wc *wc, const struct sim_tag_msg *msg)
{
	const struct sim_tag_end *src = msg->pair->src;

	/* It is reported by the endpoint that it was sent to. */
	return wc->src_ip == src->ip && wc->src_qpn == src->qpn && wc->qpn == msg->pair->dst->qpn &&
	       wc->msg_bytes == msg->bytes && (msg->msg || wc->tag == msg->tag) &&
	       !(wc->flags & WEFT_WC_WITH_DATA) == !msg->has_data;
}

/* The message that a completion reports; NULL: unknown. data: its first bytes; NULL: not known. */
static struct sim_tag_msg *identify(struct wt_actor *a, const struct weft_wc *wc,
				    const uint8_t *data)
{
	struct sim_tag_msg *msg, *named = NULL;
	uint64_t id;

	if (wc->flags & WEFT_WC_WITH_DATA)
		return msg_by_id(a->wt, wc->data);
	/* Messages to an endpoint that is gone may have the same envelope, and arrive here, too. */
	if (data && wc->bytes >= sizeof(id)) {
		memcpy(&id, data, sizeof(id));
		named = msg_by_id(a->wt, id);
	}
	if (named && envelope_ok(wc, named))
		return named;
	msg = wc->tag & WT_TAG_ID_MASK ? msg_by_tag(a, wc) : NULL;
	return msg ? msg : named;
}

/* An endpoint of this process has the address that dst had. */
static bool is_address_of(const struct wt_actor *a, const struct sim_tag_end *dst)
{
	uint32_t i;

	for (i = 0; i < a->num_ways; i++)
		if (has_address(dst, a->end->ip, a->ways[i].end->qpn))
			return true;
	return false;
}

/*
 * Passes a match to the model. A message to an endpoint that is gone may reach the one that has its
 * address now, which says nothing of the order.
 */
static void matched(struct wt_actor *a, struct sim_tag_op *op, struct sim_tag_msg *msg,
		    bool ordered)
{
	const struct sim_tag_end *dst = msg->pair->dst;

	if (dst->rx == a->end) {
		judge(a, sim_tag_op_matched(&a->wt->model, op, msg, ordered));
	} else if (dst->gone && is_address_of(a, dst) && !msg->matched) {
		msg->matched = true;
		sim_tag_msg_lost(&a->wt->model, msg);
		sim_tag_op_failed(&a->wt->model, op);
	} else {
		sim_run_fail(a->wt->run, "match: message %u of endpoint %u to %u reached %u",
			     msg->number, msg->pair->src->index, dst->index, a->end->index);
	}
}

/* ---- receives */

/* True if a message that the operation asks for may fail. */
static bool recv_may_fail(const struct wt_actor *a, const struct wt_recv *r)
{
	uint32_t i;

	if (a->failed || a->end->unsure)
		return true;
	for (i = 0; i < a->end->num_from; i++) {
		const struct sim_tag_pair *pair = a->end->from[i];

		if (sim_tag_pair_unsure(pair) &&
		    (r->op->any_src ||
		     (r->op->src_ip == pair->src->ip && r->op->src_qpn == pair->src->qpn)))
			return true;
	}
	return false;
}

static void check_bytes(struct wt_actor *a, const struct wt_recv *r, uint8_t *buf,
			const struct weft_wc *wc, const struct sim_tag_msg *msg)
{
	uint32_t i, end = r->kind == WT_MULTI ? wc->bytes : r->capacity;

	if (!wt_content_ok(a->wt, msg, buf, wc->bytes))
		sim_run_fail(a->wt->run,
			     "shadow: endpoint %u: message %u of endpoint %u (%u bytes, tag "
			     "0x%" PRIx64 ") has wrong bytes",
			     a->end->index, msg->number, msg->pair->src->index, msg->bytes,
			     msg->tag);
	/* Equal to its own beginning, shifted by one byte: all are alike. */
	i = wc->bytes;
	if (i < end && (buf[i] != 0xee || memcmp(&buf[i], &buf[i + 1], end - i - 1)))
		sim_run_fail(a->wt->run,
			     "shadow: endpoint %u: byte %u behind message %u of endpoint %u (%u "
			     "bytes) has changed",
			     a->end->index, i, msg->number, msg->pair->src->index, msg->bytes);
	a->wt->run->received++;
	a->wt->run->bytes += wc->bytes;
}

/*
 * The model learns of messages in a MULTI buffer in the order of their offsets. An empty one may
 * come when its place is passed.
 */
static void feed(struct wt_actor *a, struct wt_recv *r)
{
	uint32_t i = 0;

	while (i < r->num_pieces && !wt_failed(a->wt)) {
		struct wt_piece piece = r->piece[i];

		if (piece.offset != r->fed && (piece.bytes || piece.offset > r->fed)) {
			i++;
			continue;
		}
		r->num_pieces--;
		memmove(&r->piece[i], &r->piece[i + 1], (r->num_pieces - i) * sizeof(r->piece[0]));
		r->fed += piece.bytes;
		if (r->torn) {
			piece.msg->matched = true;
			sim_tag_msg_lost(&a->wt->model, piece.msg);
		} else {
			matched(a, r->op, piece.msg, piece.bytes > 0);
			r->torn = r->op->failed;
		}
		i = 0;
	}
}

/* The buffer belongs to the process again. */
static void multi_released(struct wt_actor *a, struct wt_recv *r, const struct weft_wc *wc)
{
	if (r->torn) {
		sim_tag_op_failed(&a->wt->model, r->op);
	} else if (r->num_pieces) {
		complain(a, "a buffer was released before all of its messages", wc);
	} else {
		if (!r->full && r->capacity - r->fed >= r->min_free)
			complain(a, "a buffer was released too early", wc);
		judge(a, sim_tag_op_released(&a->wt->model, r->op));
	}
	recv_free(a, (uint32_t)(r - a->recv));
}

static void multi_done(struct wt_actor *a, struct wt_recv *r, const struct weft_wc *wc,
		       struct sim_tag_msg *msg)
{
	uint32_t slot = (uint32_t)(r - a->recv);

	if (wc->offset > r->capacity || wc->bytes > r->capacity - wc->offset ||
	    r->num_pieces == WT_PIECES) {
		complain(a, "a message outside of its buffer", wc);
		return;
	}
	if (r->owed && wc->bytes)
		complain(a, "a message in a buffer that is used up", wc);
	check_bytes(a, r, wt_recv_buf(a, slot) + wc->offset, wc, msg);
	r->full |= wc->status == WEFT_WC_LOC_LEN_ERR;
	if (r->torn) {
		msg->matched = true;
		sim_tag_msg_lost(&a->wt->model, msg);
	} else {
		r->piece[r->num_pieces++] = (struct wt_piece){wc->offset, wc->bytes, msg};
		feed(a, r);
	}
	if (wc->flags & WEFT_WC_RELEASED)
		multi_released(a, r, wc);
	else if (!r->torn && !r->num_pieces && r->capacity - r->fed < r->min_free)
		r->owed = true;
}

/* A message of a MULTI receive failed, or all that is left of it. */
static void multi_failed(struct wt_actor *a, struct wt_recv *r, const struct weft_wc *wc)
{
	struct sim_tag_model *model = &a->wt->model;
	uint32_t i;

	for (i = 0; i < r->num_pieces; i++) {
		r->piece[i].msg->matched = true;
		sim_tag_msg_lost(model, r->piece[i].msg);
	}
	r->num_pieces = 0;
	r->torn = true;
	if (wc->flags & WEFT_WC_RELEASED)
		multi_released(a, r, wc);
}

/* A receive that took no message. */
static void recv_failed(struct wt_actor *a, struct wt_recv *r, const struct weft_wc *wc)
{
	struct sim_tag_model *model = &a->wt->model;
	bool canceled =
	    wc->status == WEFT_WC_WR_FLUSH_ERR && wc->vendor_err == WEFT_VENDOR_ERR_CANCELED;
	struct sim_tag_msg *msg = r->kind == WT_CLAIMED ? r->claimed : identify(a, wc, NULL);

	if (canceled && !a->failed && !r->torn) {
		if (r->num_pieces)
			complain(a, "a buffer was released before all of its messages", wc);
		/* It was out of the queue: a cancellation finds nothing. */
		if (r->owed)
			complain(a, "a buffer that was used up was cancelled", wc);
		judge(a, sim_tag_op_canceled(model, r->op));
		recv_free(a, (uint32_t)(r - a->recv));
		return;
	}
	if (!recv_may_fail(a, r) && !r->torn)
		complain(a, "a receive failed", wc);
	if (msg && !msg->matched && msg->pair->dst->rx == a->end)
		sim_tag_msg_lost(model, msg);
	if (r->kind == WT_MULTI) {
		multi_failed(a, r, wc);
		return;
	}
	sim_tag_op_failed(model, r->op);
	recv_free(a, (uint32_t)(r - a->recv));
}

/* True if neither data nor bytes name the message. */
static bool is_nameless(const struct wt_recv *r, const struct weft_wc *wc)
{
	uint32_t bytes = wc->bytes < r->capacity ? wc->bytes : r->capacity;

	return !(wc->flags & WEFT_WC_WITH_DATA) && bytes < sizeof(uint64_t);
}

static void recv_done(struct wt_actor *a, struct wt_recv *r, const struct weft_wc *wc)
{
	uint32_t slot = (uint32_t)(r - a->recv);
	struct sim_tag_msg *msg;
	uint32_t room = r->capacity;

	if (wc->status != WEFT_WC_SUCCESS && wc->status != WEFT_WC_LOC_LEN_ERR) {
		recv_failed(a, r, wc);
		return;
	}
	/* A context releases a buffer apart. */
	if (r->kind == WT_MULTI && a->ways[0].ep != a->ep && !wc->src_qpn &&
	    wc->flags & WEFT_WC_RELEASED) {
		multi_released(a, r, wc);
		return;
	}
	if (r->kind == WT_MULTI && wc->offset <= room)
		room -= wc->offset;
	msg = identify(a, wc, wt_recv_buf(a, slot) + (r->kind == WT_MULTI ? wc->offset : 0));
	/* Its number in the tag may be all that names it, and counts as received since the claim.
	 */
	if (r->kind == WT_CLAIMED && (!msg || is_nameless(r, wc)))
		msg = r->claimed;
	if (!msg || !envelope_ok(wc, msg) || (r->kind == WT_CLAIMED && msg != r->claimed)) {
		complain(a, "a message that was not sent, or another one", wc);
		return;
	}
	/* A claimed message that is dropped has no room. */
	if (wc->bytes != (msg->bytes < room ? msg->bytes : room) ||
	    (wc->status == WEFT_WC_LOC_LEN_ERR) != (msg->bytes > room)) {
		if (r->kind != WT_CLAIMED || room > 0)
			complain(a, "a message's length", wc);
	}
	if (r->kind == WT_MULTI) {
		multi_done(a, r, wc, msg);
		return;
	}
	check_bytes(a, r, wt_recv_buf(a, slot), wc, msg);
	if (r->kind == WT_RECV)
		matched(a, r->op, msg, true);
	recv_free(a, slot);
}

static void peek_done(struct wt_actor *a, struct wt_recv *r, const struct weft_wc *wc)
{
	struct sim_tag_model *model = &a->wt->model;
	struct sim_tag_op *op = r->op;
	enum wt_kind kind = r->kind;
	bool none =
	    wc->status == WEFT_WC_GENERAL_ERR && wc->vendor_err == WEFT_VENDOR_ERR_NO_MESSAGE;
	struct sim_tag_msg *msg;

	if (none) {
		judge(a, sim_tag_op_none(model, op));
		recv_free(a, (uint32_t)(r - a->recv));
		return;
	}
	if (wc->status != WEFT_WC_SUCCESS) {
		recv_failed(a, r, wc);
		return;
	}
	recv_free(a, (uint32_t)(r - a->recv));
	msg = identify(a, wc, NULL);
	if (!msg) {
		if (!a->wt->sparse)
			complain(a, "a peek at an unknown message", wc);
		sim_tag_op_failed(model, op);
		return;
	}
	if (!envelope_ok(wc, msg))
		complain(a, "a peek at a message that was not sent", wc);
	if (kind == WT_PEEK) {
		if (msg->pair->dst->rx == a->end)
			judge(a, sim_tag_op_saw(model, op, msg));
		else
			sim_tag_op_failed(model, op);
		return;
	}
	matched(a, op, msg, true);
	if (kind == WT_CLAIM && !wt_failed(a->wt) && !a->failed)
		wt_post_claimed(a, op, msg, wc->claim);
}

static void handle(struct wt_actor *a, const struct weft_wc *wc)
{
	uint64_t slot = wc->wr_id - WT_WR_RECV;
	struct wt_recv *r;
	bool peek;

	a->wt->progress = true;
	if (wc->opcode == WEFT_WC_TSEND) {
		send_done(a, wc);
		return;
	}
	r = slot < WT_RECV_SLOTS ? &a->recv[slot] : NULL;
	peek = r && (r->kind == WT_PEEK || r->kind == WT_CLAIM || r->kind == WT_DISCARD);
	if (!r || !r->busy || (wc->opcode == WEFT_WC_TPEEK) != peek ||
	    (!peek && wc->opcode != WEFT_WC_TRECV)) {
		complain(a, "an operation that was not posted", wc);
		return;
	}
	if (peek)
		peek_done(a, r, wc);
	else
		recv_done(a, r, wc);
}

void wt_reap(struct wt_actor *a)
{
	struct weft_wc wc[8];
	int n, i;

	do {
		n = weft_poll_cq(a->cq, 8, wc);
		for (i = 0; i < n && !wt_failed(a->wt); i++)
			handle(a, &wc[i]);
	} while (n > 0 && !wt_failed(a->wt));
}

void wt_way_closed(struct wt_actor *a, const struct weft_tag_ep *ep)
{
	struct weft_wc wc;
	uint32_t i;

	while (!wt_failed(a->wt) && weft_take_tag_orphans(a->ep, 1, &wc) == 1)
		handle(a, &wc);
	for (i = 0; i < WT_SENDS; i++)
		if (a->send[i].busy && a->send[i].ep == ep)
			send_free(a, i);
}
