/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocols of message passing; see mp.h. Calls libweft.
 *
 * Numbers in a wr_id name the completed object: a slot that was sent from, a slot that was received
 * into, the RDMA of a request, or a header that was sent inline. Headers come from the partner, a
 * process of this program; their content is checked all the same, to detect defects.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/mp.h"

enum {
	TYPE_EAGER = 1,
	TYPE_RTS,
	TYPE_CTS,
	TYPE_FIN,

	ID_SHIFT = 16,
	ID_SEND_SLOT = 1,
	ID_RECV_SLOT,
	ID_RDMA,
	ID_INLINE,

	MP_POLL_MAX = 32,
	MP_LOOK_TURNS = 4096, /* polls between reads of the clock */
	MP_SLEEP_MS = 100,
};

static uint64_t wr_id(uint32_t kind, uint32_t index)
{
	return (uint64_t)kind << ID_SHIFT | index;
}

static uint8_t *slot_at(const struct mp *mp, uint32_t slot)
{
	return mp->slots.p + slot * mp->stride;
}

int mp_post_slot(struct mp *mp, uint32_t slot)
{
	struct weft_sge sge = {(uintptr_t)slot_at(mp, slot), (uint32_t)mp->stride,
			       mp->slots.mr->lkey};
	struct weft_recv_wr wr = {
	    .wr_id = wr_id(ID_RECV_SLOT, slot), .sg_list = &sge, .num_sge = 1};
	int rc = weft_post_recv(mp->qp, &wr, NULL);

	return rc ? fail("posting a receive: %s", strerror(-rc)) : 0;
}

static int post(struct mp *mp, struct weft_send_wr *wr)
{
	int rc;

	wr->flags |= WEFT_SEND_SIGNALED;
	rc = weft_post_send(mp->qp, wr, NULL);
	if (rc)
		return fail("posting a request: %s", strerror(-rc));
	mp->sends++;
	return 0;
}

static int send_head(struct mp *mp, const struct mp_head *head)
{
	struct weft_sge sge = {(uintptr_t)head, sizeof(*head), 0};
	struct weft_send_wr wr = {.wr_id = wr_id(ID_INLINE, 0),
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_INLINE};

	return post(mp, &wr);
}

static int rdma(struct mp *mp, enum weft_wr_opcode opcode, struct mp_req *req, uint64_t bytes,
		const struct mp_head *head)
{
	struct weft_sge sge = {(uintptr_t)req->buf, (uint32_t)bytes, req->mr->lkey};
	struct weft_send_wr wr = {.wr_id = wr_id(ID_RDMA, (uint32_t)(req - mp->req)),
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .remote_addr = head->addr,
				  .rkey = head->rkey};

	return post(mp, &wr);
}

static struct mp_req *take_req(struct mp *mp, void *buf, uint64_t bytes, bool recv)
{
	for (uint32_t i = 0; i < MP_REQS; i++) {
		if (mp->req[i].used)
			continue;
		mp->req[i] =
		    (struct mp_req){.used = true, .recv = recv, .buf = buf, .bytes = bytes};
		return &mp->req[i];
	}
	fail("more than %d requests at once", MP_REQS);
	return NULL;
}

/* The request that a header names; NULL after an error message if there is none. */
static struct mp_req *find_req(struct mp *mp, uint32_t index, bool recv)
{
	if (index < MP_REQS && mp->req[index].used && mp->req[index].recv == recv)
		return &mp->req[index];
	fail("the partner refers to request %u, which does not exist", index);
	return NULL;
}

static int register_buf(struct mp *mp, struct mp_req *req, int access)
{
	req->mr = weft_reg_mr_cached(mp->cache, req->buf, req->bytes, access);
	return req->mr ? 0
		       : fail("cannot register %llu bytes: %s", (unsigned long long)req->bytes,
			      strerror(errno));
}

static void finish(struct mp_req *req)
{
	if (req->mr)
		weft_release_mr(req->mr);
	req->mr = NULL;
	req->done = true;
}

/* ---- receiving --------------------------------------------------------------------------------
 */

/* A message and its receive match. */
static int deliver(struct mp *mp, struct mp_req *req, const struct mp_head *head,
		   const uint8_t *data)
{
	struct mp_head cts;

	if (head->bytes > req->bytes)
		return fail("%llu bytes came for a receive of %llu",
			    (unsigned long long)head->bytes, (unsigned long long)req->bytes);
	req->bytes = head->bytes;
	if (head->type == TYPE_EAGER) {
		memcpy(req->buf, data, head->bytes);
		finish(req);
		return 0;
	}
	req->back = head->from;
	if (mp->cfg.proto == MP_GET)
		return register_buf(mp, req, WEFT_ACCESS_LOCAL_WRITE) ||
			       rdma(mp, WEFT_WR_READ, req, head->bytes, head)
			   ? -1
			   : 0;
	if (register_buf(mp, req, WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE))
		return -1;
	cts = (struct mp_head){.type = TYPE_CTS,
			       .from = head->from,
			       .back = (uint32_t)(req - mp->req),
			       .rkey = req->mr->rkey,
			       .addr = (uintptr_t)req->buf,
			       .bytes = head->bytes};
	return send_head(mp, &cts);
}

static int keep_early(struct mp *mp, const struct mp_head *head, const uint8_t *data)
{
	uint64_t bytes = head->type == TYPE_EAGER ? head->bytes : 0;
	struct mp_early *e = malloc(sizeof(*e) + bytes);

	if (!e)
		return fail("out of memory for messages without a receive");
	e->next = NULL;
	e->head = *head;
	memcpy(e->data, data, bytes);
	*mp->early_end = e;
	mp->early_end = &e->next;
	mp->unexpected++;
	return 0;
}

static int take_message(struct mp *mp, const struct mp_head *head, const uint8_t *data)
{
	struct mp_req *req = mp->posted;

	if (!req)
		return keep_early(mp, head, data);
	mp->posted = req->next;
	if (!mp->posted)
		mp->posted_end = &mp->posted;
	return deliver(mp, req, head, data);
}

/* Handles a message in a slot, and posts the slot again. */
static int take_slot(struct mp *mp, uint32_t slot, uint32_t bytes)
{
	const uint8_t *data = slot_at(mp, slot) + sizeof(struct mp_head);
	struct mp_head head;
	struct mp_req *req;
	int rc = -1;

	if (bytes < sizeof(head))
		return fail("a message of %u bytes is none", bytes);
	memcpy(&head, slot_at(mp, slot), sizeof(head));
	switch (head.type) {
	case TYPE_EAGER:
		if (head.bytes != bytes - sizeof(head))
			return fail("a message of %llu bytes has %u",
				    (unsigned long long)head.bytes, bytes);
		rc = take_message(mp, &head, data);
		break;
	case TYPE_RTS:
		rc = take_message(mp, &head, data);
		break;
	case TYPE_CTS:
		req = find_req(mp, head.from, false);
		if (!req)
			break;
		req->back = head.back;
		rc = rdma(mp, WEFT_WR_WRITE, req, req->bytes, &head);
		/* It follows the data on the same queue pair, so it arrives after it. */
		head = (struct mp_head){.type = TYPE_FIN, .from = head.back, .back = 1};
		rc = rc || send_head(mp, &head) ? -1 : 0;
		break;
	case TYPE_FIN:
		req = find_req(mp, head.from, head.back);
		if (req)
			finish(req);
		rc = req ? 0 : -1;
		break;
	default:
		return fail("a message of type %u", head.type);
	}
	return rc ? rc : mp_post_slot(mp, slot);
}

/* The RDMA of a request is done: we have read, or the partner's memory was written. */
static int take_rdma(struct mp *mp, struct mp_req *req)
{
	struct mp_head fin = {.type = TYPE_FIN, .from = req->back};

	finish(req);
	return req->recv ? send_head(mp, &fin) : 0;
}

int mp_progress(struct mp *mp)
{
	struct weft_wc wc[MP_POLL_MAX];
	int n = weft_poll_cq(mp->end.cq, MP_POLL_MAX, wc), i;

	if (n < 0)
		return fail("polling: %s", strerror(-n));
	for (i = 0; i < n; i++) {
		uint32_t index = (uint32_t)(wc[i].wr_id & ((1 << ID_SHIFT) - 1));

		if (wc[i].status != WEFT_WC_SUCCESS)
			return fail("a request of %s failed: %s (%s)", mp->end.context->name,
				    weft_wc_status_str(wc[i].status),
				    weft_vendor_err_str(wc[i].vendor_err));
		mp->sends -= wc[i].opcode < WEFT_WC_RECV;
		switch (wc[i].wr_id >> ID_SHIFT) {
		case ID_SEND_SLOT:
			mp->free_slot[mp->free_slots++] = index;
			if (mp->slot_req[index])
				finish(mp->slot_req[index]);
			mp->slot_req[index] = NULL;
			break;
		case ID_RECV_SLOT:
			if (take_slot(mp, index, wc[i].bytes))
				return -1;
			break;
		case ID_RDMA:
			if (take_rdma(mp, &mp->req[index]))
				return -1;
			break;
		default: /* a header: its bytes were copied when it was posted */
			break;
		}
	}
	return n;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static int sleep_on(struct mp *mp)
{
	struct pollfd p = {.fd = mp->end.channel->fd, .events = POLLIN};
	int rc = weft_req_notify_cq(mp->end.cq, false);

	if (rc)
		return fail("arming the completion queue: %s", strerror(-rc));
	if (poll(&p, 1, MP_SLEEP_MS) < 0 && errno != EINTR)
		return fail("poll: %s", strerror(errno));
	rc = weft_get_cq_event(mp->end.channel, NULL, NULL);
	if (!rc)
		weft_ack_cq_events(mp->end.cq, 1);
	return rc && rc != -EAGAIN ? fail("completion events: %s", strerror(-rc)) : 0;
}

/* Makes progress until *flag, or, where flag is NULL, until there is a slot to send from. */
static int until(struct mp *mp, const bool *flag)
{
	uint64_t since = 0, turns = 0, now;
	int n;

	while (flag ? !*flag : !mp->free_slots) {
		n = mp_progress(mp);
		if (n < 0)
			return -1;
		if (n) {
			since = 0;
			continue;
		}
		if (mp->cfg.block) {
			if (sleep_on(mp))
				return -1;
		} else if (++turns % MP_LOOK_TURNS) {
			continue;
		}
		now = clock_now_ns();
		since = since ? since : now;
		if ((double)(now - since) > mp->o->timeout_s * 1e9)
			return fail("nothing came for %g s: gave up", mp->o->timeout_s);
	}
	return 0;
}

int mp_wait(struct mp *mp, struct mp_req *req)
{
	if (until(mp, &req->done))
		return -1;
	req->used = false;
	return 0;
}

/* ---- sending ----------------------------------------------------------------------------------
 */

static int send_eager(struct mp *mp, struct mp_req *req)
{
	struct mp_head head = {.type = TYPE_EAGER, .bytes = req->bytes};
	struct weft_sge sge = {.bytes = (uint32_t)(sizeof(head) + req->bytes),
			       .lkey = mp->slots.mr->lkey};
	struct weft_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = WEFT_WR_SEND};
	uint32_t slot;

	if (!mp->free_slots && until(mp, NULL))
		return -1;
	slot = mp->free_slot[--mp->free_slots];
	memcpy(slot_at(mp, slot), &head, sizeof(head));
	memcpy(slot_at(mp, slot) + sizeof(head), req->buf, req->bytes);
	sge.addr = (uintptr_t)slot_at(mp, slot);
	wr.wr_id = wr_id(ID_SEND_SLOT, slot);
	if (sge.bytes <= mp->inline_bytes)
		wr.flags = WEFT_SEND_INLINE;
	if (post(mp, &wr))
		return -1;
	/* As in MPI, an eager send is done when it is copied. */
	if (mp->cfg.sync)
		mp->slot_req[slot] = req;
	else
		finish(req);
	return 0;
}

struct mp_req *mp_isend(struct mp *mp, const void *buf, uint64_t bytes)
{
	union {
		const void *from;
		void *to;
	} p = {.from = buf};
	struct mp_req *req = take_req(mp, p.to, bytes, false);
	struct mp_head head = {.type = TYPE_RTS, .bytes = bytes};
	int rc;

	if (!req)
		return NULL;
	if (bytes <= mp->cfg.eager_bytes)
		return send_eager(mp, req) ? NULL : req;
	rc = register_buf(mp, req, mp->cfg.proto == MP_GET ? WEFT_ACCESS_REMOTE_READ : 0);
	if (rc)
		return NULL;
	head.from = (uint32_t)(req - mp->req);
	head.addr = (uintptr_t)buf;
	head.rkey = req->mr->rkey;
	return send_head(mp, &head) ? NULL : req;
}

struct mp_req *mp_irecv(struct mp *mp, void *buf, uint64_t bytes)
{
	struct mp_req *req = take_req(mp, buf, bytes, true);
	struct mp_early *e;
	int rc;

	/* Earlier arrivals are handled first, as in an MPI library's receive. */
	if (!req || mp_progress(mp) < 0)
		return NULL;
	e = mp->early;
	if (!e) {
		*mp->posted_end = req;
		mp->posted_end = &req->next;
		return req;
	}
	mp->early = e->next;
	if (!mp->early)
		mp->early_end = &mp->early;
	rc = deliver(mp, req, &e->head, e->data);
	free(e);
	return rc ? NULL : req;
}

int mp_send(struct mp *mp, const void *buf, uint64_t bytes)
{
	struct mp_req *req = mp_isend(mp, buf, bytes);

	return req ? mp_wait(mp, req) : -1;
}

int mp_recv(struct mp *mp, void *buf, uint64_t bytes)
{
	struct mp_req *req = mp_irecv(mp, buf, bytes);

	return req ? mp_wait(mp, req) : -1;
}
