/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See vb_fix.h.
 */
#include "tests/verbs/vb_fix.h"

#include <stdio.h>

#define LIMIT_NS (UINT64_C(60) * 1000000000)

static void end_open(struct vbf_end *e, struct sim_nic *nic, const char *name)
{
	struct weft_context *weft;

	memset(e, 0, sizeof(*e));
	e->proc = sim_proc_new(nic, name);
	e->device = calloc(1, sizeof(*e->device));
	VBF_NEED(e->device);
	atomic_init(&e->device->refs, 1);
	snprintf(e->device->ibv.name, sizeof(e->device->ibv.name), "%s", name);
	weft = sim_open(e->proc);
	VBF_NEED(weft);
	VBF_NEED(e->ctx = vb_context_new(e->device, weft));
	VBF_NEED(e->pd = ibv_alloc_pd(e->ctx));
	VBF_NEED(e->channel = ibv_create_comp_channel(e->ctx));
	VBF_NEED(e->cq = ibv_create_cq(e->ctx, 4 * VBF_WR, e, e->channel, 0));
	VBF_NEED(e->buf = sim_mem_alloc(e->proc, VBF_BYTES, true));
	VBF_NEED(e->mr = ibv_reg_mr(e->pd, e->buf, VBF_BYTES, VBF_ALL));
	CU_ASSERT_EQUAL_FATAL(ibv_query_gid(e->ctx, 1, 1, &e->gid), 0);
	sim_proc_set_nonblocking(e->proc, true);
}

static void end_close(struct vbf_end *e)
{
	VBF_OK(ibv_dereg_mr(e->mr));
	VBF_OK(ibv_destroy_cq(e->cq));
	VBF_OK(ibv_destroy_comp_channel(e->channel));
	VBF_OK(ibv_dealloc_pd(e->pd));
	VBF_OK(ibv_close_device(e->ctx));
	vb_device_put(e->device);
}

void vbf_open(struct vbf *f)
{
	VBF_NEED(f->sim = sim_new(NULL, 1));
	end_open(&f->a, sim_nic_new(f->sim), "a");
	end_open(&f->b, sim_nic_new(f->sim), "b");
}

void vbf_close(struct vbf *f)
{
	end_close(&f->a);
	end_close(&f->b);
	sim_free(f->sim);
}

struct ibv_qp *vbf_qp(struct vbf_end *e, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {.send_cq = e->cq,
					.recv_cq = e->cq,
					.srq = srq,
					.cap = {VBF_WR, VBF_WR, VBF_SGE, VBF_SGE, VBF_INLINE},
					.qp_type = type};

	return ibv_create_qp(e->pd, &init);
}

struct ibv_ah_attr vbf_way(const struct vbf_end *to)
{
	return (struct ibv_ah_attr){.is_global = 1,
				    .port_num = 1,
				    .grh = {.dgid = to->gid, .sgid_index = 1, .hop_limit = 64}};
}

int vbf_to_init(struct ibv_qp *qp, unsigned int access)
{
	struct ibv_qp_attr attr = {
	    .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = VBF_QKEY, .qp_access_flags = access};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

int vbf_to_rtr(struct ibv_qp *qp, const struct vbf_end *peer, uint32_t peer_qpn)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer_qpn,
				   .rq_psn = 7,
				   .max_dest_rd_atomic = 4,
				   .min_rnr_timer = 1,
				   .ah_attr = vbf_way(peer)};
	int mask = IBV_QP_STATE;

	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(qp, &attr, mask);
}

int vbf_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				   .sq_psn = 7,
				   .timeout = 10,
				   .retry_cnt = 3,
				   .rnr_retry = 3,
				   .max_rd_atomic = 4};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |=
		    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &attr, mask);
}

void vbf_connect(struct ibv_qp *qp, const struct vbf_end *peer, uint32_t peer_qpn)
{
	VBF_OK(vbf_to_init(qp, VBF_REMOTE));
	VBF_OK(vbf_to_rtr(qp, peer, peer_qpn));
	VBF_OK(vbf_to_rts(qp));
}

void vbf_pair(struct vbf *f, struct ibv_qp **a, struct ibv_qp **b)
{
	VBF_NEED(*a = vbf_qp(&f->a, IBV_QPT_RC, NULL));
	VBF_NEED(*b = vbf_qp(&f->b, IBV_QPT_RC, NULL));
	vbf_connect(*a, &f->b, (*b)->qp_num);
	vbf_connect(*b, &f->a, (*a)->qp_num);
}

struct ibv_sge vbf_sge(const struct vbf_end *e, size_t offset, uint32_t bytes)
{
	return (struct ibv_sge){(uintptr_t)e->buf + offset, bytes, e->mr->lkey};
}

int vbf_post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t remote,
	     uint32_t rkey)
{
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad = NULL;

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(qp, &wr, &bad);
}

int vbf_recv(struct ibv_qp *qp, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1}, *bad = NULL;

	return ibv_post_recv(qp, &wr, &bad);
}

struct one {
	struct ibv_cq *cq;
	struct ibv_wc wc;
};

static bool got_one(void *ctx)
{
	struct one *one = ctx;

	return ibv_poll_cq(one->cq, 1, &one->wc) == 1;
}

struct ibv_wc vbf_wait(struct vbf *f, struct ibv_cq *cq)
{
	struct one one = {.cq = cq};

	CU_ASSERT_FATAL(sim_run_until(f->sim, got_one, &one, LIMIT_NS));
	return one.wc;
}

bool vbf_silent(struct vbf *f, struct ibv_cq *cq)
{
	struct one one = {.cq = cq};

	return !sim_run_until(f->sim, got_one, &one, UINT64_C(1000000000));
}

enum ibv_wc_status vbf_status(struct vbf *f, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
			      struct ibv_sge sge, uint64_t remote, uint32_t rkey)
{
	CU_ASSERT_EQUAL_FATAL(vbf_post(qp, opcode, sge, remote, rkey), 0);
	return vbf_wait(f, qp->send_cq).status;
}
