/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a measurement: posting, polling, waiting; see ep.h.
 */
#include "lib/clock.h"
#include "tools/weft-bench/ep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "tools/weft-bench/pattern.h"

/* Kind of the request of a completion, in the top bits of wr_id. */
enum {
	WRID_DATA = 1,
	WRID_CREDIT = 2,
	WRID_RECV = 3,
	WRID_SHIFT = 56,

	/* Empty polls between two reads of the clock. */
	EP_IDLE_TURNS = 512,
	EP_SLEEP_MS = 50,
};

#define WRID(kind, n) ((uint64_t)(kind) << WRID_SHIFT | (n))

/* Cuts bytes at addr into o->sge pieces. Returns their number. */
static uint32_t split(const struct ep *ep, struct weft_sge *sge, uint64_t addr, uint32_t bytes,
		      uint32_t headroom)
{
	uint32_t num = ep->o->sge, each, i;

	if (num > bytes)
		num = 1;
	each = bytes / num;
	for (i = 0; i < num; i++) {
		sge[i].addr = addr;
		sge[i].bytes = i + 1 < num ? each : bytes - each * (num - 1);
		sge[i].lkey = ep->mem.mr->lkey;
		addr += sge[i].bytes;
	}
	sge[0].addr -= headroom;
	sge[0].bytes += headroom;
	return num;
}

/* The next request of the batch. NULL if a full batch could not be posted. */
static struct weft_send_wr *next_wr(struct ep *ep, uint64_t wr_id)
{
	struct weft_send_wr *wr;

	if (ep->num_wr == EP_BATCH && ep_flush(ep))
		return NULL;
	wr = &ep->wr[ep->num_wr];
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = wr_id;
	wr->sg_list = ep->sge[ep->num_wr++];
	wr->flags = WEFT_SEND_SIGNALED;
	wr->ah = ep->ah;
	wr->dst_qpn = ep->remote.qpn;
	wr->qkey = BENCH_QKEY;
	return wr;
}

/* Offset of a slot in the peer's region, which is laid out as ours. */
static uint64_t remote_tx(const struct ep *ep, uint32_t slot)
{
	return ep->remote.region + (uint64_t)(ep_tx(ep, slot) - ep->mem.p);
}

static void fill_pull(struct ep *ep, struct weft_send_wr *wr, struct weft_sge *sge, uint64_t seq,
		      uint32_t bytes)
{
	const struct opts *o = ep->o;
	uint32_t slot = (uint32_t)(seq % o->window);

	if (o->op == BENCH_READ) {
		/* One slot more at the peer: the same slot here never gets the same bytes twice. */
		wr->opcode = WEFT_WR_READ;
		wr->remote_addr = remote_tx(ep, (uint32_t)(seq % (o->window + 1)));
		wr->num_sge = split(ep, sge, (uintptr_t)ep_rx(ep, slot), bytes, 0);
		return;
	}
	if (o->op == BENCH_PUT) {
		wr->opcode = WEFT_WR_WRITE;
		wr->remote_addr = remote_tx(ep, o->window + 1 + slot);
		wr->num_sge = split(ep, sge, (uintptr_t)ep_tx(ep, slot), bytes, 0);
		wr->flags |= ep->inline_ok ? WEFT_SEND_INLINE : 0;
		return;
	}
	wr->opcode = o->op == BENCH_CAS ? WEFT_WR_CMP_SWAP : WEFT_WR_FETCH_ADD;
	wr->remote_addr = ep->remote.region + EP_CTL_COUNTER;
	wr->compare_add = o->op == BENCH_CAS ? seq : 1;
	wr->swap = seq + 1;
	wr->num_sge = 1;
	sge->addr = (uintptr_t)ep_rx(ep, slot);
	sge->bytes = 8;
	sge->lkey = ep->mem.mr->lkey;
}

int ep_queue(struct ep *ep, uint64_t seq, uint32_t bytes)
{
	const struct opts *o = ep->o;
	uint32_t slot = (uint32_t)(seq % o->window);
	struct weft_send_wr *wr = next_wr(ep, WRID(WRID_DATA, seq));
	struct weft_sge *sge;

	if (!wr)
		return -1;
	sge = ep->sge[ep->num_wr - 1];
	ep->posted++;
	wr->rkey = ep->remote.rkey;
	if (o->op != BENCH_SEND && o->op != BENCH_WRITE) {
		fill_pull(ep, wr, sge, seq, bytes);
		return 0;
	}
	wr->num_sge = split(ep, sge, (uintptr_t)ep_tx(ep, slot), bytes, 0);
	wr->flags |= ep->inline_ok ? WEFT_SEND_INLINE : 0;
	wr->imm = htonl((uint32_t)seq);
	if (o->op == BENCH_WRITE) {
		wr->opcode = o->qp == WEFT_QPT_UD ? WEFT_WR_WRITE_RECORD : WEFT_WR_WRITE_IMM;
		wr->remote_addr = remote_tx(ep, o->window + 1 + slot);
	} else {
		wr->opcode = o->qp == WEFT_QPT_UD ? WEFT_WR_SEND_IMM : WEFT_WR_SEND;
	}
	return 0;
}

int ep_queue_credit(struct ep *ep, uint64_t value)
{
	struct weft_send_wr *wr = next_wr(ep, WRID(WRID_CREDIT, value));
	struct weft_sge *sge;

	if (!wr)
		return -1;
	sge = ep->sge[ep->num_wr - 1];
	/* A place per value, or a later one would overwrite it before the NIC has read it. */
	sge->addr = (uintptr_t)ep->mem.p + EP_CTL_CREDITS + 8 * (value % EP_CTL_CREDIT_SLOTS);
	memcpy(ep->mem.p + EP_CTL_CREDITS + 8 * (value % EP_CTL_CREDIT_SLOTS), &value, 8);
	sge->bytes = 8;
	sge->lkey = ep->mem.mr->lkey;
	wr->num_sge = 1;
	wr->opcode = WEFT_WR_SEND;
	wr->flags |= ep->qp->cap.max_inline_bytes >= 8 ? WEFT_SEND_INLINE : 0;
	ep->extra++;
	return 0;
}

int ep_queue_recv(struct ep *ep, uint32_t slot)
{
	struct weft_recv_wr *rwr;
	uint32_t headroom = 0, bytes = ep->o->size;

	if (ep->num_rwr == EP_BATCH && ep_flush(ep))
		return -1;
	if (ep->o->qp == WEFT_QPT_UD && !(ep->qp->flags & WEFT_QP_F_UD_LONG))
		headroom = EP_GRH_BYTES;
	if (bytes < 8)
		bytes = 8; /* a credit may arrive */
	rwr = &ep->rwr[ep->num_rwr];
	rwr->next = NULL;
	rwr->wr_id = WRID(WRID_RECV, slot);
	rwr->sg_list = ep->rsge[ep->num_rwr];
	rwr->num_sge =
	    split(ep, ep->rsge[ep->num_rwr++], (uintptr_t)ep_rx(ep, slot), bytes, headroom);
	return 0;
}

int ep_flush(struct ep *ep)
{
	uint32_t i;
	int rc = 0;

	if (ep->num_rwr) {
		for (i = 0; i + 1 < ep->num_rwr; i++)
			ep->rwr[i].next = &ep->rwr[i + 1];
		rc = weft_post_recv(ep->qp, ep->rwr, NULL);
		ep->num_rwr = 0;
		if (rc)
			return fail("posting receives: %s", strerror(-rc));
	}
	if (ep->num_wr) {
		for (i = 0; i + 1 < ep->num_wr; i++)
			ep->wr[i].next = &ep->wr[i + 1];
		rc = weft_post_send(ep->qp, ep->wr, NULL);
		ep->num_wr = 0;
		if (rc)
			return fail("posting requests: %s", strerror(-rc));
	}
	return 0;
}

/* The number whose low half an immediate carries, from the previous number. */
static uint64_t full_seq(const struct ep *ep, uint32_t imm)
{
	return ep->last_seq + (uint64_t)(int64_t)(int32_t)(imm - (uint32_t)ep->last_seq);
}

/* Puts slot and number of a received message into the ring. */
static int take_msg(struct ep *ep, const struct weft_wc *wc)
{
	struct ep_msg *msg = &ep->msgs[ep->msg_tail & ep->msg_mask];
	uint32_t slot = (uint32_t)(wc->wr_id & (((uint64_t)1 << WRID_SHIFT) - 1));

	msg->bytes = wc->bytes - (wc->flags & WEFT_WC_F_GRH ? EP_GRH_BYTES : 0);
	msg->nic_ns = wc->timestamp_ns;
	if (wc->opcode == WEFT_WC_RECV_WRITE_RECORD) {
		uint64_t at = wc->record_to - (uintptr_t)ep_rx(ep, 0);

		if (wc->flags & WEFT_WC_F_PARTIAL)
			return 0; /* a lost message */
		slot = (uint32_t)(at / ep->stride);
		if (at % ep->stride || slot >= ep->o->window)
			return fail("a Write-Record to 0x%llx, where no slot begins",
				    (unsigned long long)wc->record_to);
	} else if (wc->opcode == WEFT_WC_RECV_WRITE_IMM) {
		/* The writer's slot, not the receive's. */
		slot = (uint32_t)(full_seq(ep, ntohl(wc->imm)) % ep->o->window);
	}
	msg->slot = slot;
	msg->seq = wc->flags & WEFT_WC_F_IMM ? full_seq(ep, ntohl(wc->imm))
					     : pattern_seq(ep_rx(ep, slot), msg->bytes);
	ep->last_seq = msg->seq;
	ep->msg_tail++;
	return 0;
}

int ep_poll(struct ep *ep)
{
	struct weft_wc wc[EP_POLL_MAX];
	/* Completions for which the ring has no room stay in the queue. */
	uint32_t room = ep->msg_mask + 1 - (ep->msg_tail - ep->msg_head);
	int n, i;

	if (!room)
		return fail("%u messages came and were not taken", ep->msg_mask + 1);
	n = weft_poll_cq(ep->end.cq, room < EP_POLL_MAX ? room : EP_POLL_MAX, wc);
	if (n < 0)
		return fail("polling: %s", strerror(-n));
	if (n)
		ep->first_ns = wc[0].timestamp_ns;
	for (i = 0; i < n; i++) {
		if (wc[i].status != WEFT_WC_SUCCESS)
			return fail("a request of %s failed: %s (%s)", ep->end.context->name,
				    weft_wc_status_str(wc[i].status),
				    weft_vendor_err_str(wc[i].vendor_err));
		if (wc[i].opcode >= WEFT_WC_RECV) {
			if (take_msg(ep, &wc[i]))
				return -1;
		} else if (wc[i].wr_id >> WRID_SHIFT == WRID_CREDIT) {
			ep->extra--;
		} else {
			ep->done++;
		}
	}
	return n;
}

int ep_next(struct ep *ep, struct ep_msg *msg)
{
	if (ep->msg_head == ep->msg_tail)
		return 0;
	*msg = ep->msgs[ep->msg_head++ & ep->msg_mask];
	return 1;
}

/* Arms what is not armed and sleeps until one of the descriptors wakes us. */
static int sleep_on(struct ep_idle *idle)
{
	struct pollfd p[3];
	struct weft_cq *cq;
	nfds_t n = 0;
	int i, rc;

	for (i = 0; i < 2 && idle->ep[i]; i++, n++) {
		struct ep *ep = idle->ep[i];

		if (!ep->armed && (rc = weft_req_notify_cq(ep->end.cq, false)))
			return fail("arming the completion queue: %s", strerror(-rc));
		ep->armed = true;
		p[n] = (struct pollfd){.fd = ep->end.channel->fd, .events = POLLIN};
	}
	if (idle->fd >= 0)
		p[n++] = (struct pollfd){.fd = idle->fd, .events = POLLIN};
	idle->slept_ns = clock_now_ns();
	rc = poll(p, n, EP_SLEEP_MS);
	idle->woken_ns = clock_now_ns();
	if (rc < 0 && errno != EINTR)
		return fail("poll: %s", strerror(errno));
	if (rc > 0 && idle->fd >= 0 && p[n - 1].revents)
		idle->fd_ready = true;
	for (i = 0; rc > 0 && i < 2 && idle->ep[i]; i++) {
		if (!p[i].revents)
			continue;
		rc = weft_get_cq_event(idle->ep[i]->end.channel, &cq, NULL);
		if (rc == -EAGAIN)
			continue;
		if (rc)
			return fail("completion events: %s", strerror(-rc));
		weft_ack_cq_events(cq, 1);
		idle->ep[i]->armed = false;
	}
	return 0;
}

int ep_idle(struct ep_idle *idle, uint64_t *waited_ns)
{
	struct pollfd p = {.fd = idle->fd, .events = POLLIN};
	uint64_t now;

	if (waited_ns)
		*waited_ns = 0;
	if (idle->o->event) {
		if (sleep_on(idle))
			return -1;
	} else if (++idle->turns % EP_IDLE_TURNS) {
		return 0;
	} else if (idle->fd >= 0 && !idle->fd_ready) {
		idle->fd_ready = poll(&p, 1, 0) > 0;
	}
	now = clock_now_ns();
	if (!idle->idle_ns)
		idle->idle_ns = now;
	if (waited_ns)
		*waited_ns = now - idle->idle_ns;
	if ((double)(now - idle->idle_ns) > idle->o->timeout_s * 1e9)
		return fail("nothing came for %g s: gave up", idle->o->timeout_s);
	return 0;
}
