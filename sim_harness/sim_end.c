/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints for workloads and tests; see sim_end.h. Calls only libweft and sim_host.c.
 */
#include "sim_harness/sim_end.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	AH_TRIES = 8, /* ARP may fail when many frames are lost */
};
#define AH_RETRY_NS UINT64_C(1100000000)

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

static int make_buffer(struct sim_end *end, const struct sim_end_attr *attr)
{
	int access = WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
		     WEFT_ACCESS_REMOTE_ATOMIC;

	if (attr->access)
		access = (int)attr->access | WEFT_ACCESS_LOCAL_WRITE;
	end->bytes = attr->bytes ? attr->bytes : 1u << 20;
	end->buf = sim_mem_alloc(end->proc, end->bytes, !attr->unmapped);
	if (!end->buf)
		return -ENOMEM;
	end->mr = weft_reg_mr(end->pd, end->buf, end->bytes, access);
	return end->mr ? 0 : -errno;
}

static int make_queues(struct sim_end *end, const struct sim_end_attr *attr)
{
	struct weft_qp_init_attr init = {.type = attr->type ? attr->type : WEFT_QPT_RD,
					 .flags = attr->qp_flags};
	struct weft_srq_attr srq = {.max_wr = attr->srq_wr,
				    .max_sge = or_default(attr->max_sge, 16)};
	uint32_t wr = or_default(attr->max_wr, 128);

	if (attr->events) {
		end->channel = weft_create_comp_channel(end->context, 0);
		if (!end->channel)
			return -errno;
	}
	end->cq = weft_create_cq(end->context, or_default(attr->cqe, 4 * wr), end->channel, end);
	if (!end->cq)
		return -errno;
	if (attr->srq_wr) {
		end->srq = weft_create_srq(end->pd, &srq);
		if (!end->srq)
			return -errno;
	}
	init.send_cq = init.recv_cq = end->cq;
	init.srq = end->srq;
	init.cap.max_send_wr = wr;
	init.cap.max_recv_wr = end->srq ? 0 : wr;
	init.cap.max_send_sge = or_default(attr->max_sge, 16);
	init.cap.max_recv_sge = end->srq ? 0 : or_default(attr->max_sge, 16);
	init.cap.max_inline_bytes = or_default(attr->max_inline_bytes, 256);
	end->qp = weft_create_qp(end->pd, &init);
	if (!end->qp)
		return -errno;
	if (attr->inactive)
		return 0;
	return weft_activate_qp(end->qp, SIM_END_QKEY,
				attr->access ? attr->access
					     : WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
						   WEFT_ACCESS_REMOTE_ATOMIC);
}

int sim_end_open(struct sim_end *end, struct sim_nic *nic, const struct sim_end_attr *attr)
{
	static const struct sim_end_attr defaults;
	int rc;

	memset(end, 0, sizeof(*end));
	end->sim = sim_nic_sim(nic);
	end->proc = sim_proc_new(nic, "end");
	end->context = sim_open(end->proc);
	if (!end->context)
		return -errno;
	end->pd = weft_alloc_pd(end->context);
	rc = end->pd ? 0 : -errno;
	if (!rc)
		rc = make_buffer(end, attr ? attr : &defaults);
	if (!rc)
		rc = make_queues(end, attr ? attr : &defaults);
	if (rc)
		sim_end_close(end);
	return rc;
}

void sim_end_close(struct sim_end *end)
{
	if (end->context)
		weft_close_device(end->context);
	memset(end, 0, sizeof(*end));
}

void sim_end_kill(struct sim_end *end)
{
	sim_proc_kill(end->proc);
	sim_end_close(end);
}

struct weft_ah *sim_end_ah(struct sim_end *end, const struct sim_nic *peer)
{
	struct weft_av av = weft_av_ip(sim_nic_ip(peer));
	struct weft_ah *ah = NULL;
	int tries;

	for (tries = 0; tries < AH_TRIES && !ah; tries++) {
		/* The NIC remembers a failure for a while. */
		if (tries)
			sim_run_for(end->sim, AH_RETRY_NS);
		ah = weft_create_ah(end->pd, &av);
		if (!ah && errno != ETIMEDOUT && errno != EHOSTUNREACH)
			break;
	}
	return ah;
}

struct weft_sge sim_end_sge(const struct sim_end *end, size_t offset, uint32_t bytes)
{
	return (struct weft_sge){(uintptr_t)end->buf + offset, bytes, end->mr->lkey};
}

int sim_end_recv(struct sim_end *end, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	struct weft_sge sge = sim_end_sge(end, offset, bytes);
	struct weft_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return end->srq ? weft_post_srq_recv(end->srq, &wr, NULL)
			: weft_post_recv(end->qp, &wr, NULL);
}

struct cq_wait {
	struct weft_cq *cq;
	struct weft_wc *wc;
	uint32_t want, got;
};

static bool polled(void *ctx)
{
	struct cq_wait *w = ctx;
	int n = w->want > w->got ? weft_poll_cq(w->cq, (int)(w->want - w->got), w->wc + w->got) : 0;

	assert(n >= 0);
	w->got += (uint32_t)n;
	return w->got >= w->want;
}

static uint32_t sim_cq_wait(struct sim *sim, struct weft_cq *cq, struct weft_wc *wc, uint32_t n,
			    uint64_t limit_ns)
{
	struct cq_wait w = {cq, wc, n, 0};

	sim_run_until(sim, polled, &w, limit_ns);
	return w.got;
}

uint32_t sim_end_wait(struct sim_end *end, struct weft_wc *wc, uint32_t n, uint64_t limit_ns)
{
	return sim_cq_wait(end->sim, end->cq, wc, n, limit_ns);
}
