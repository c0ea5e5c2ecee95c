/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a measurement of tagged messages: opened, connected, posting, waiting; see tag.h.
 * Calls libweft.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/clock.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/tag.h"

enum {
	INLINE_BYTES = 64,
	SEND_WR = 512,
	RECV_WR = 1024,
	LOOK_POLLS = 4096, /* polls between reads of the clock */
	SLEEP_MS = 100,
};

static int open_queues(struct tag_end *e)
{
	struct weft_tag_attr attr = {.cap = {.max_send_wr = SEND_WR,
					     .max_recv_wr = RECV_WR,
					     .max_send_sge = 1,
					     .max_recv_sge = 1,
					     .max_inline_bytes = INLINE_BYTES},
				     .access = e->cfg.access,
				     .qkey = BENCH_QKEY,
				     .eager_bytes = e->cfg.eager_bytes};

	if (end_open_cq(&e->end, TAG_CQ_ENTRIES, e->cfg.block))
		return -1;
	attr.send_cq = attr.recv_cq = e->end.cq;
	e->ep = weft_open_tag_ep(e->end.pd, &attr);
	return e->ep ? 0 : fail("no tagged endpoint: %s", strerror(errno));
}

static int meet(struct tag_end *e)
{
	uint32_t mine[2] = {e->end.port.ip, e->ep->qp->qpn}, theirs[2];
	struct weft_av av;

	if (crew_exchange(e->c, mine, theirs, sizeof(mine)))
		return -1;
	e->peer_ip = theirs[0];
	e->peer_qpn = theirs[1];
	av = weft_av_ip(e->peer_ip);
	e->ah = weft_create_ah(e->end.pd, &av);
	return e->ah ? 0 : fail("no address handle: %s", strerror(errno));
}

int tag_open(struct tag_end *e, struct crew *c, const struct tag_config *cfg)
{
	memset(e, 0, sizeof(*e));
	e->c = c;
	e->cfg = *cfg;
	return end_open(&e->end, crew_device(c)) || open_queues(e) || meet(e) ? -1 : 0;
}

void tag_close(struct tag_end *e)
{
	/* Both ends have finished; closing the context frees all objects. */
	crew_barrier(e->c);
	end_close(&e->end);
}

int tag_alloc(struct tag_end *e, struct end_mem *b, size_t bytes)
{
	enum end_mem_kind kind = (enum end_mem_kind)e->c->o->mem;

	/* From the kernel, so that each buffer has pages of its own. */
	if (kind == END_MEM_MALLOC)
		kind = END_MEM_PRIVATE;
	if (end_mem_open(&e->end, b, kind, bytes ? bytes : 1, WEFT_ACCESS_LOCAL_WRITE))
		return -1;
	memset(b->p, 0x5a, b->bytes);
	return 0;
}

void tag_free(struct end_mem *b)
{
	if (!b->mr || !weft_dereg_mr(b->mr))
		end_mem_free(b);
}

/* Counts a completion. */
static int take(struct tag_end *e, const struct weft_wc *wc)
{
	bool canceled = wc->vendor_err == WEFT_VENDOR_ERR_CANCELED;

	if (wc->status != WEFT_WC_SUCCESS && !canceled)
		return fail("%s of %u bytes: %s (%s)", weft_wc_opcode_str(wc->opcode), wc->bytes,
			    weft_wc_status_str(wc->status), weft_vendor_err_str(wc->vendor_err));
	if (wc->opcode == WEFT_WC_TSEND) {
		e->sends--;
		if (wc->wr_id)
			--*(uint32_t *)(uintptr_t)wc->wr_id;
	} else {
		e->recvs--;
		e->last_recv = *wc;
	}
	return 0;
}

static int sleep_for_event(struct tag_end *e)
{
	struct pollfd pfd = {.fd = e->end.channel->fd, .events = POLLIN};
	struct weft_cq *cq;

	(void)poll(&pfd, 1, SLEEP_MS);
	if (weft_get_cq_event(e->end.channel, &cq, NULL) == 0)
		weft_ack_cq_events(cq, 1);
	return 0;
}

/* Takes one completion; armed: an empty queue has been armed, so the wait may sleep. */
static int await_one(struct tag_end *e)
{
	uint64_t start_ns = 0, polls = 0;
	bool armed = false;
	struct weft_wc wc;
	int n;

	while ((n = weft_poll_cq(e->end.cq, 1, &wc)) == 0) {
		if (e->cfg.block && armed) {
			sleep_for_event(e);
			armed = false;
		} else if (e->cfg.block) {
			n = weft_req_notify_cq(e->end.cq, false);
			if (n)
				return fail("arming the completion queue: %s", strerror(-n));
			armed = true;
		}
		if (!e->cfg.block && ++polls % LOOK_POLLS)
			continue;
		if (!start_ns)
			start_ns = clock_now_ns();
		if ((double)(clock_now_ns() - start_ns) > e->c->o->timeout_s * 1e9)
			return fail("nothing completed for %g s (%u sends, %u receives are open)",
				    e->c->o->timeout_s, e->sends, e->recvs);
	}
	if (n < 0)
		return fail("polling: %s", strerror(-n));
	return take(e, &wc);
}

int tag_wait_sends(struct tag_end *e, uint32_t left)
{
	while (e->sends > left)
		if (await_one(e))
			return -1;
	return 0;
}

int tag_wait_open(struct tag_end *e, const uint32_t *open)
{
	while (*open)
		if (await_one(e))
			return -1;
	return 0;
}

int tag_wait_recvs(struct tag_end *e, uint32_t left)
{
	while (e->recvs > left)
		if (await_one(e))
			return -1;
	return 0;
}

int tag_wait_recv(struct tag_end *e)
{
	return tag_wait_recvs(e, e->recvs - 1);
}

int tag_wait_canceled(struct tag_end *e)
{
	if (tag_wait_recv(e))
		return -1;
	return e->last_recv.vendor_err == WEFT_VENDOR_ERR_CANCELED
		   ? 0
		   : fail("a message came to a receive that nobody sends to");
}

int tag_isend_sge(struct tag_end *e, const struct weft_sge *sge, uint64_t tag, uint32_t *open)
{
	bool may_inline = sge->bytes <= e->ep->qp->cap.max_inline_bytes && !e->c->o->no_inline;
	struct weft_tag_send_wr wr = {.wr_id = (uintptr_t)open,
				      .sg_list = sge,
				      .num_sge = sge->bytes ? 1 : 0,
				      .flags = may_inline ? WEFT_TAG_INLINE : 0,
				      .ah = e->ah,
				      .dst_qpn = e->peer_qpn,
				      .tag = tag};
	int rc;

	/* Full: room comes when the peer's NIC has acknowledged. */
	while ((rc = weft_tag_send(e->ep, &wr)) == -ENOMEM && e->sends)
		if (await_one(e))
			return -1;
	e->sends += rc == 0;
	if (rc == 0 && open)
		++*open;
	return rc ? fail("posting a send: %s", strerror(-rc)) : 0;
}

int tag_isend(struct tag_end *e, const struct end_mem *b, size_t offset, size_t bytes, uint64_t tag,
	      uint32_t *open)
{
	struct weft_sge sge = {(uintptr_t)b->p + offset, (uint32_t)bytes, b->mr->lkey};

	return tag_isend_sge(e, &sge, tag, open);
}

int tag_irecv_sge(struct tag_end *e, const struct weft_sge *sge, uint64_t tag, uint64_t wr_id,
		  uint32_t *number)
{
	struct weft_tag_recv_wr wr = {.wr_id = wr_id,
				      .sg_list = sge,
				      .num_sge = sge->bytes ? 1 : 0,
				      .src_ip = e->peer_ip,
				      .src_qpn = e->peer_qpn,
				      .tag = tag};
	uint64_t start_ns = clock_now_ns();
	int rc;

	/* The NIC takes operations out of the queue by itself. */
	while ((rc = weft_tag_recv(e->ep, &wr, number)) == -ENOMEM)
		if ((double)(clock_now_ns() - start_ns) > e->c->o->timeout_s * 1e9)
			break;
	e->recvs += rc == 0;
	return rc ? fail("posting a receive: %s", strerror(-rc)) : 0;
}

int tag_irecv(struct tag_end *e, const struct end_mem *b, size_t offset, size_t bytes, uint64_t tag,
	      uint64_t wr_id, uint32_t *number)
{
	struct weft_sge sge = {(uintptr_t)b->p + offset, (uint32_t)bytes, b->mr->lkey};

	return tag_irecv_sge(e, &sge, tag, wr_id, number);
}

int tag_icancel(struct tag_end *e, uint32_t number)
{
	uint64_t start_ns = clock_now_ns();
	int rc;

	while ((rc = weft_tag_cancel(e->ep, number)) == -ENOMEM)
		if ((double)(clock_now_ns() - start_ns) > e->c->o->timeout_s * 1e9)
			break;
	return rc ? fail("cancelling a receive: %s", strerror(-rc)) : 0;
}

int tag_check(const struct tag_end *e, const uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots)
{
	size_t at;

	if (e->last_recv.bytes != bytes || e->last_recv.msg_bytes != bytes)
		return fail("message %llu of %zu bytes came with %u of %u bytes",
			    (unsigned long long)seq, bytes, e->last_recv.bytes,
			    e->last_recv.msg_bytes);
	at = pattern_check(p, bytes, seq, slots);
	return at == bytes ? 0
			   : fail("message %llu of %zu bytes is wrong at byte %zu",
				  (unsigned long long)seq, bytes, at);
}

int tag_tell(const struct tag_end *e, uint64_t word)
{
	return send(e->c->partner_fd, &word, sizeof(word), MSG_NOSIGNAL) == sizeof(word)
		   ? 0
		   : fail("the partner of rank %d has ended", e->c->rank);
}

int tag_hear(const struct tag_end *e, uint64_t *word)
{
	return recv(e->c->partner_fd, word, sizeof(*word), MSG_WAITALL) == sizeof(*word)
		   ? 0
		   : fail("the partner of rank %d has ended", e->c->rank);
}
