/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver and its peers of weft-bench srq: opened, connected, closed; see srq.h. Calls libweft
 * and srq_pool.c.
 */
#include "tools/weft-bench/srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CQ_ENTRIES = 8192, /* more than can be in flight */
};

/* First exchange of the partners, before the QPNs. */
struct hello {
	uint32_t ip;
	uint32_t rkey;
	uint64_t control;
};

static int open_memory(struct srq_end *e)
{
	const struct opts *o = e->c->o;
	size_t count = e->receiver ? (size_t)e->peers * o->recvs : SRQ_SLOTS;

	if (end_mem_open(&e->end, &e->control, END_MEM_WEFT, SRQ_CTL_BYTES,
			 WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE))
		return -1;
	if (e->receiver && e->shared)
		return srq_pool_open(&e->pool, e->end.pd, SRQ_TARGET, SRQ_LIMIT, o->size);
	return end_mem_open(&e->end, &e->mem, END_MEM_WEFT, count * o->size,
			    WEFT_ACCESS_LOCAL_WRITE);
}

/* One of the queue pairs; the last has receives of its own everywhere. */
static int open_qp(struct srq_end *e, uint32_t i)
{
	bool last = i == e->peers, shares = e->receiver && e->shared && !last;
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RC, .srq = shares ? e->pool.srq : NULL};

	init.cap.max_send_wr = e->receiver ? 16 : e->peers <= 16 ? 1024 : 64;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	init.cap.max_inline_bytes = SRQ_PING_BYTES;
	if (!shares)
		init.cap.max_recv_wr = e->receiver && !last ? e->c->o->recvs : SRQ_PING_RECVS;
	e->qp[i] = end_qp(&e->end, &init);
	if (!e->qp[i])
		return -1;
	e->peer_at[e->qp[i]->qpn & UINT16_MAX] = (uint16_t)i;
	return 0;
}

static int post_receives(struct srq_end *e)
{
	uint64_t count = (uint64_t)e->peers * e->c->o->recvs, id;
	uint32_t slot;

	for (id = 0; e->receiver && !e->shared && id < count; id++)
		if (srq_end_give(e, id))
			return -1;
	for (slot = 0; slot < SRQ_PING_RECVS; slot++)
		if (srq_end_post_ping(e, e->qp[e->peers], slot) ||
		    (!e->receiver && srq_end_post_ping(e, e->qp[0], SRQ_PING_RECVS + slot)))
			return -1;
	return 0;
}

static int connect_all(struct srq_end *e)
{
	struct hello mine = {.ip = e->end.port.ip,
			     .rkey = e->control.mr->rkey,
			     .control = (uintptr_t)e->control.p},
		     theirs;
	uint32_t num = e->peers + 1, i;
	uint32_t *qpns = calloc(2 * (size_t)num, sizeof(*qpns));
	struct weft_av av;
	int rc;

	if (!qpns)
		return fail("no memory for %u queue pairs", num);
	for (i = 0; i < num; i++)
		qpns[i] = e->qp[i]->qpn;
	rc = crew_exchange(e->c, &mine, &theirs, sizeof(mine)) ||
		     crew_exchange(e->c, qpns, qpns + num, num * sizeof(*qpns))
		 ? -1
		 : 0;
	e->partner_control = theirs.control;
	e->partner_rkey = theirs.rkey;
	av = weft_av_ip(theirs.ip);
	for (i = 0; i < num && !rc; i++)
		rc = end_connect_rc(e->qp[i], &av, qpns[num + i], WEFT_QP_TRANSPORT_RD,
				    e->end.attr.max_rd_atomic, END_TIMEOUT);
	free(qpns);
	return rc;
}

int srq_end_open(struct srq_end *e, struct crew *c, bool shared)
{
	uint32_t i;

	memset(e, 0, sizeof(*e));
	e->c = c;
	e->receiver = !c->rank;
	e->shared = shared;
	e->peers = c->o->peers;
	e->qp = calloc(e->peers + 1, sizeof(struct weft_qp *));
	e->peer_at = calloc(UINT16_MAX + 1, sizeof(*e->peer_at));
	if (!e->qp || !e->peer_at)
		return fail("no memory for %u queue pairs", e->peers + 1);
	if (end_open(&e->end, crew_device(c)) || end_open_cq(&e->end, CQ_ENTRIES, false) ||
	    open_memory(e))
		return -1;
	for (i = 0; i <= e->peers; i++)
		if (open_qp(e, i))
			return -1;
	if (connect_all(e) || post_receives(e))
		return -1;
	crew_barrier(c);
	return 0;
}

void srq_end_close(struct srq_end *e)
{
	/* Neither closes while the other may still send. */
	crew_barrier(e->c);
	srq_pool_stop(&e->pool);
	end_close(&e->end);
	end_mem_free(&e->control);
	end_mem_free(&e->mem);
	if (e->receiver && e->shared)
		srq_pool_close(&e->pool);
	free(e->qp);
	free(e->peer_at);
}

uint8_t *srq_end_at(struct srq_end *e, uint64_t wr_id)
{
	if (wr_id & SRQ_ID_CONTROL)
		return e->control.p + SRQ_CTL_PING + (wr_id & ~SRQ_ID_CONTROL) * SRQ_CTL_STRIDE;
	if (e->shared)
		return srq_pool_at(&e->pool, wr_id);
	return e->mem.p + wr_id * e->c->o->size;
}

int srq_end_post_ping(struct srq_end *e, struct weft_qp *qp, uint32_t slot)
{
	uint64_t id = SRQ_ID_CONTROL | slot;
	struct weft_sge sge = {(uintptr_t)srq_end_at(e, id), SRQ_CTL_STRIDE, e->control.mr->lkey};
	struct weft_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};
	int rc = weft_post_recv(qp, &wr, NULL);

	return rc ? fail("posting a receive: %s", strerror(-rc)) : 0;
}

int srq_end_give(struct srq_end *e, uint64_t wr_id)
{
	const struct opts *o = e->c->o;
	struct weft_sge sge = {(uintptr_t)srq_end_at(e, wr_id), o->size, 0};
	struct weft_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	int rc;

	if (e->shared)
		return srq_pool_give(&e->pool, wr_id);
	sge.lkey = e->mem.mr->lkey;
	rc = weft_post_recv(e->qp[wr_id / o->recvs], &wr, NULL);
	return rc ? fail("posting a receive: %s", strerror(-rc)) : 0;
}

int srq_end_poll(struct srq_end *e, int max, struct weft_wc *wc)
{
	int n = weft_poll_cq(e->end.cq, max, wc), i;
	uint32_t taken = 0;

	if (n < 0)
		return fail("polling: %s", strerror(-n));
	for (i = 0; i < n; i++) {
		if (wc[i].status != WEFT_WC_SUCCESS)
			return fail("a request failed: %s (%s)", weft_wc_status_str(wc[i].status),
				    weft_vendor_err_str(wc[i].vendor_err));
		taken += wc[i].opcode >= WEFT_WC_RECV && !(wc[i].wr_id & SRQ_ID_CONTROL);
	}
	if (e->shared && e->receiver && taken)
		srq_pool_taken(&e->pool, taken);
	return n;
}
