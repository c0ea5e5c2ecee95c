/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload "verbs": processes and their objects.
 *
 * Each process has two PDs, mapped and unmapped memory, regions of both PDs with different rights
 * separated by unregistered bytes, three CQs (a small one, one with events), possibly an SRQ, and
 * QPs of every type. Calls libweft and sim_host.c.
 */
#include "sim_harness/wl/sim_wl_verbs.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_REMOTE (WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_REMOTE_ATOMIC)
#define ALL_ACCESS (ALL_REMOTE | WEFT_ACCESS_LOCAL_WRITE)

enum {
	AREA_BYTES_MIN = 320 * 1024,
	AREA_BYTES_MAX = 640 * 1024,
	MAX_MSG_BYTES = 200000,
};

static int make_areas(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	bool first = wv_below(wv, 2);
	uint32_t i;

	for (i = 0; i < WV_AREAS; i++) {
		struct wv_area *area = &proc->area[i];

		area->proc = proc;
		area->bytes = wv_range(wv, AREA_BYTES_MIN, AREA_BYTES_MAX) & ~4095u;
		area->mem = sim_mem_alloc(proc->proc, area->bytes, first == !i);
		if (!area->mem)
			return -ENOMEM;
		sim_prng_fill(&wv->prng, area->mem, area->bytes);
		area->shadow = sim_shadow_new(area->mem, area->bytes);
		assert(area->shadow);
		if (sim_get_config(wv->sim)->borrow)
			sim_shadow_wear(area->shadow);
	}
	for (i = 0; i < WV_COUNTERS; i++) {
		struct wv_counter *counter = &proc->counter[i];
		size_t at = (WV_WORDS + i) * 8;

		memcpy(&counter->base, proc->area[0].mem + at, sizeof(counter->base));
		counter->hold = sim_shadow_hold(proc->area[0].shadow, at, 8, SIM_HOLD_ANY, NULL);
	}
	return 0;
}

static int add_mr(struct wv_proc *proc, uint32_t i, uint32_t area, size_t begin, size_t end,
		  uint32_t pd, uint32_t access, bool own_iova)
{
	struct wv_mr *mr = &proc->mr[i];

	mr->area = &proc->area[area];
	mr->offset = begin;
	mr->bytes = end - begin;
	mr->access = access;
	mr->pd = pd;
	mr->iova = (uintptr_t)mr->area->mem + begin;
	if (own_iova)
		mr->iova = (sim_prng_next(&proc->wv->prng) >> 4 & ~UINT64_C(7)) + begin % 8;
	if (access & WEFT_ACCESS_ZERO_BASED)
		mr->iova = 0;
	mr->mr =
	    weft_reg_mr_iova(proc->pd[pd], mr->area->mem + begin, mr->bytes, mr->iova, (int)access);
	return mr->mr ? 0 : -errno;
}

/* Creates regions with unregistered bytes between and around them. */
static int make_mrs(struct wv_proc *proc)
{
	size_t a = proc->area[0].bytes, b = proc->area[1].bytes;
	int rc = add_mr(proc, 0, 0, 0, a * 3 / 4 - 37, 0, ALL_ACCESS | WEFT_ACCESS_MW_BIND, false);

	if (!rc)
		rc = add_mr(proc, 1, 0, a * 3 / 4, a - 3, 0,
			    WEFT_ACCESS_REMOTE_READ | WEFT_ACCESS_LOCAL_WRITE, false);
	if (!rc)
		rc = add_mr(proc, 2, 1, 131, b / 2 - 51, 1, ALL_ACCESS | WEFT_ACCESS_MW_BIND, true);
	if (!rc)
		rc = add_mr(proc, 3, 1, b / 2, b * 5 / 8 - 1, 1, 0, false);
	if (!rc)
		rc = add_mr(proc, 4, 1, b * 5 / 8, b * 7 / 8 - 9, 0,
			    ALL_ACCESS | WEFT_ACCESS_ZERO_BASED | WEFT_ACCESS_MW_BIND, false);
	if (!rc)
		rc = add_mr(proc, 5, 1, b * 7 / 8, b - 64, 0, 0, true);
	return rc;
}

static int make_cqs(struct wv_proc *proc)
{
	static const uint32_t entries[WV_CQS] = {512, 256, 24};
	struct wv *wv = proc->wv;
	uint32_t i;

	for (i = 0; i < WV_CQS; i++) {
		struct wv_cq *cq = &proc->cq[i];

		if (i == 1 || !wv_below(wv, 4)) {
			cq->channel = weft_create_comp_channel(proc->context, wv_below(wv, 8));
			if (!cq->channel)
				return -errno;
			cq->eq = ++proc->channels;
		}
		cq->cq = weft_create_cq(proc->context, entries[i], cq->channel, cq);
		if (!cq->cq)
			return -errno;
		if (cq->channel && !wv_below(wv, 3)) {
			uint32_t usecs = wv_range(wv, 1, 60);
			uint16_t count = (uint16_t)wv_range(wv, 1, 8);

			if (weft_modify_cq(cq->cq, count, usecs))
				return -EPROTO;
		}
	}
	return 0;
}

/* Sets the messages that a receive queue accepts, and the number of receives to keep posted. */
static void size_rq(struct wv_proc *proc, struct wv_rq *rq, uint32_t type, uint32_t flags)
{
	static const struct {
		uint32_t msg_bytes, wanted;
	} kinds[] = {{64, 24}, {1100, 24}, {5000, 16}, {17000, 6}, {66000, 2}};
	struct wv *wv = proc->wv;
	uint32_t k = wv_below(wv, 5);

	if (type == WEFT_QPT_UD && !(flags & WEFT_QP_F_UD_LONG))
		k = wv_below(wv, 2);
	/* At least one receive can always be posted, in reserved memory. */
	while (!wv_reserve(proc, rq, kinds[k].msg_bytes + WV_GRH_BYTES) && k)
		k--;
	rq->msg_bytes = kinds[k].msg_bytes;
	rq->wanted = wv_range(wv, 1, kinds[k].wanted);
	rq->max_wr = rq->wanted + wv_below(wv, 8);
	rq->max_sge = wv_range(wv, 1, 4);
	rq->sloppy = !wv_below(wv, 5);
}

int wv_srq_new(struct wv_proc *proc)
{
	struct wv_rq *rq = &proc->srq[0];
	struct weft_srq_attr attr = {0};

	memset(rq, 0, sizeof(*rq));
	size_rq(proc, rq, WEFT_QPT_RD, 0);
	rq->wanted = rq->wanted < 4 ? 4 : rq->wanted;
	rq->max_wr = rq->wanted + 4;
	attr.max_wr = rq->max_wr;
	attr.max_sge = rq->max_sge;
	rq->cq = &proc->cq[0];
	rq->srq = weft_create_srq(proc->pd[0], &attr);
	return rq->srq ? 0 : -errno;
}

static void remember_qp(struct wv *wv, struct wv_qp *qp)
{
	if (wv->num_qps == wv->max_qps) {
		wv->max_qps = wv->max_qps ? wv->max_qps * 2 : 64;
		wv->qps = realloc(wv->qps, wv->max_qps * sizeof(*wv->qps));
		assert(wv->qps);
	}
	wv->qps[wv->num_qps++] = &qp->model;
}

/* Numbers are reused: packets to a destroyed QP may reach the new one. */
static void meet_former(struct wv *wv, const struct wv_qp *qp)
{
	uint32_t i;

	for (i = 0; i < wv->num_qps; i++) {
		if (wv->qps[i]->type != WEFT_QPT_UD && wv->qps[i]->qpn == qp->model.qpn &&
		    wv->qps[i]->ip == qp->model.ip)
			sim_model_widen(wv->qps, wv->num_qps, wv->qps[i],
					SIM_MAY(REM_OP_ERR) | SIM_MAY(REM_INV_REQ_ERR));
	}
}

struct wv_qp *wv_qp_new(struct wv_proc *proc, enum weft_qp_type type, uint32_t flags, uint32_t pd)
{
	struct wv *wv = proc->wv;
	struct wv_qp *qp = calloc(1, sizeof(*qp));
	struct weft_qp_init_attr init = {.type = type, .flags = flags};
	bool shared = proc->has_srq && !pd && type != WEFT_QPT_UD && wv_below(wv, 2);

	assert(qp && proc->num_qp < WV_QPS);
	qp->proc = proc;
	qp->pd = pd;
	qp->scq = &proc->cq[wv_below(wv, WV_CQS)];
	qp->rcq = shared ? proc->srq[0].cq : &proc->cq[wv_below(wv, 2)];
	qp->own_rq.pd = pd;
	size_rq(proc, &qp->own_rq, type, flags);
	qp->own_rq.cq = qp->rcq;
	qp->own_rq.model.strict = type != WEFT_QPT_RD;
	qp->rq = shared ? &proc->srq[0] : &qp->own_rq;
	init.send_cq = qp->scq->cq;
	init.recv_cq = qp->rcq->cq;
	init.srq = shared ? qp->rq->srq : NULL;
	if (!wv_below(wv, 4))
		init.flags |= WEFT_QP_F_SQ_SIG_ALL;
	init.cap.max_send_wr = wv_range(wv, 4, WV_MAX_WR);
	init.cap.max_recv_wr = shared ? 0 : qp->own_rq.max_wr;
	init.cap.max_send_sge = wv_range(wv, 1, WV_SGES);
	init.cap.max_recv_sge = shared ? 0 : qp->own_rq.max_sge;
	init.cap.max_inline_bytes = wv_below(wv, WV_INLINE_BYTES);
	qp->qp = weft_create_qp(proc->pd[pd], &init);
	if (!qp->qp) {
		free(qp);
		return NULL;
	}
	if (!shared)
		qp->own_rq.max_wr = init.cap.max_recv_wr;
	qp->model.type = type;
	qp->model.qpn = qp->qp->qpn;
	qp->model.ip = sim_nic_ip(proc->nic);
	qp->model.grh = type == WEFT_QPT_UD && !(flags & WEFT_QP_F_UD_LONG);
	qp->model.rq = &qp->rq->model;
	qp->max_send_bytes = MAX_MSG_BYTES;
	if (type == WEFT_QPT_UD)
		qp->max_send_bytes =
		    flags & WEFT_QP_F_UD_LONG ? proc->max_ud_long_bytes : proc->max_ud_bytes;
	qp->state = WV_IDLE;
	meet_former(wv, qp);
	remember_qp(wv, qp);
	proc->qp[proc->num_qp++] = qp;
	return qp;
}

/* RD and UD: activates from RESET. */
int wv_qp_activate(struct wv_qp *qp)
{
	struct wv *wv = qp->proc->wv;
	struct weft_qp_attr attr = {0};
	int rc;

	qp->qkey = (uint32_t)sim_prng_next(&wv->prng) & 0x7fffffff;
	qp->access = wv_below(wv, 6) ? ALL_REMOTE : WEFT_ACCESS_REMOTE_READ;
	rc = weft_activate_qp(qp->qp, qp->qkey, qp->access);
	if (rc || qp->model.type != WEFT_QPT_RD)
		return rc;
	attr.min_rnr_timer = (uint8_t)wv_range(wv, 1, 8);
	attr.max_rd_atomic = (uint8_t)wv_range(wv, 1, 16);
	attr.max_dest_rd_atomic = (uint8_t)wv_range(wv, 1, 16);
	attr.timeout = qp->short_retry ? 8 : 14;
	attr.retry_cnt = qp->short_retry ? 2 : 7;
	/* Requests fail while their frames are under way, and borrow their memory. */
	if (qp->short_retry && sim_get_config(wv->sim)->borrow) {
		attr.timeout = 5;
		attr.retry_cnt = 0;
	}
	attr.rnr_retry = qp->short_rnr ? (uint8_t)wv_below(wv, 7) : 7;
	return weft_modify_qp(qp->qp, &attr,
			      WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT | WEFT_QP_RNR_RETRY |
				  WEFT_QP_MIN_RNR_TIMER | WEFT_QP_MAX_QP_RD_ATOMIC |
				  WEFT_QP_MAX_DEST_RD_ATOMIC);
}

static int connect_end(struct wv_qp *qp, const struct wv_qp *peer, uint32_t sq_psn, uint32_t rq_psn)
{
	struct wv *wv = qp->proc->wv;
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT, .port = 1};
	int rc, transport = qp->esp ? WEFT_QP_TRANSPORT : 0;

	qp->access = wv_below(wv, 6) ? ALL_REMOTE : WEFT_ACCESS_REMOTE_READ;
	attr.access = qp->access;
	attr.transport = WEFT_QP_TRANSPORT_ESP;
	rc = weft_modify_qp(qp->qp, &attr,
			    WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
				WEFT_QP_ACCESS_FLAGS | transport);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR,
				     .path_mtu_bytes = 4096,
				     .dst_qpn = peer->model.qpn,
				     .rq_psn = rq_psn,
				     .max_dest_rd_atomic = (uint8_t)wv_range(wv, 1, 16),
				     .min_rnr_timer = (uint8_t)wv_range(wv, 1, 8)};
	attr.av = weft_av_ip(sim_nic_ip(peer->proc->nic));
	if (!rc)
		rc = weft_modify_qp(qp->qp, &attr,
				    WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU |
					WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN |
					WEFT_QP_MAX_DEST_RD_ATOMIC | WEFT_QP_MIN_RNR_TIMER);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .sq_psn = sq_psn,
				     .max_rd_atomic = (uint8_t)wv_range(wv, 1, 16)};
	if (!rc)
		rc = weft_modify_qp(qp->qp, &attr,
				    WEFT_QP_STATE | WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT |
					WEFT_QP_RNR_RETRY | WEFT_QP_SQ_PSN |
					WEFT_QP_MAX_QP_RD_ATOMIC);
	return rc;
}

int wv_rc_connect(struct wv_qp *a, struct wv_qp *b)
{
	uint32_t psn_a = (uint32_t)sim_prng_next(&a->proc->wv->prng) & 0xffffff;
	uint32_t psn_b = (uint32_t)sim_prng_next(&a->proc->wv->prng) & 0xffffff;
	int rc;

	a->peer = b;
	b->peer = a;
	rc = connect_end(a, b, psn_a, psn_b);
	if (!rc)
		rc = connect_end(b, a, psn_b, psn_a);
	if (!rc) {
		a->state = b->state = WV_LIVE;
		a->broken = b->broken = false;
	}
	return rc;
}

int wv_rc_pair(struct wv *wv)
{
	struct wv_proc *p = wv->slot[wv_below(wv, wv->num_slots)];
	struct wv_proc *q = wv->slot[wv_below(wv, wv->num_slots)];
	struct wv_qp *a, *b;

	if (!p || !q || p->num_qp + 2 > WV_QPS || q->num_qp + 2 > WV_QPS)
		return 0;
	a = wv_qp_new(p, WEFT_QPT_RC, 0, 0);
	b = a ? wv_qp_new(q, WEFT_QPT_RC, 0, wv_below(wv, 3) ? 0 : 1) : NULL;
	if (!b)
		return -errno;
	a->esp = b->esp = wv->esp && wv_below(wv, 2);
	return wv_rc_connect(a, b);
}

static int make_qps(struct wv_proc *proc)
{
	struct wv *wv = proc->wv;
	uint32_t i, n = wv_range(wv, 1, 3);

	for (i = 0; i < n + 2; i++) {
		bool ud = i >= n, is_long = ud && i > n;
		struct wv_qp *qp =
		    wv_qp_new(proc, ud ? WEFT_QPT_UD : WEFT_QPT_RD, is_long ? WEFT_QP_F_UD_LONG : 0,
			      wv_below(wv, 4) ? 0 : 1);
		int rc;

		if (!qp)
			return -errno;
		qp->short_retry = !ud && !wv_below(wv, 8);
		qp->short_rnr = !ud && !wv_below(wv, 6);
		rc = wv_qp_activate(qp);
		if (rc)
			return rc;
		qp->state = WV_LIVE;
	}
	return 0;
}

static void interrupted(void *ctx, struct sim_proc *sim_proc, uint32_t eq)
{
	struct wv_proc *proc = ctx;
	uint32_t i;

	(void)sim_proc;
	if (!eq)
		proc->async_irqs++;
	for (i = 0; eq && i < WV_CQS; i++) {
		if (proc->cq[i].eq == eq)
			proc->cq[i].interrupted = true;
	}
}

static int open_proc(struct wv_proc *proc)
{
	const struct weft_av av = weft_av_qpn();
	struct weft_device_attr device;
	uint32_t i;

	proc->proc = sim_proc_new(proc->nic, "verbs");
	proc->context = sim_open(proc->proc);
	if (!proc->context)
		return -errno;
	sim_proc_on_irq(proc->proc, interrupted, proc);
	if (weft_query_device(proc->context, &device))
		return -EIO;
	proc->max_ud_bytes = device.max_ud_bytes;
	proc->max_ud_long_bytes = device.max_ud_long_bytes;
	for (i = 0; i < WV_PDS; i++) {
		proc->pd[i] = weft_alloc_pd(proc->context);
		if (!proc->pd[i])
			return -errno;
		proc->ah[i] = weft_create_ah(proc->pd[i], &av);
		if (!proc->ah[i])
			return -errno;
	}
	return 0;
}

int wv_proc_start(struct wv *wv, uint32_t slot)
{
	struct wv_proc *proc = calloc(1, sizeof(*proc));
	int rc;

	assert(proc);
	proc->wv = wv;
	proc->nic = sim_nic_at(wv->sim, slot % wv->num_nics);
	proc->slot = slot;
	proc->next = wv->procs;
	wv->procs = proc;
	rc = open_proc(proc);
	if (!rc)
		rc = make_areas(proc);
	if (!rc)
		rc = make_mrs(proc);
	if (!rc)
		rc = wv_mws_new(proc);
	if (!rc)
		rc = make_cqs(proc);
	proc->has_srq = wv_below(wv, 2);
	if (!rc && proc->has_srq)
		rc = wv_srq_new(proc);
	if (!rc)
		rc = make_qps(proc);
	if (rc)
		wv_proc_end(proc);
	else
		wv->slot[slot] = proc;
	return rc;
}

void wv_proc_end(struct wv_proc *proc)
{
	if (proc->wv->slot[proc->slot] == proc)
		proc->wv->slot[proc->slot] = NULL;
	proc->dead = true;
	if (proc->context)
		weft_close_device(proc->context);
	proc->context = NULL;
}

void wv_proc_free(struct wv_proc *proc)
{
	uint32_t i;

	wv_proc_end(proc);
	for (i = 0; i < WV_AREAS; i++)
		sim_shadow_free(proc->area[i].shadow);
	for (i = 0; i < WV_COUNTERS; i++)
		free(proc->counter[i].seen);
	free(proc);
}
