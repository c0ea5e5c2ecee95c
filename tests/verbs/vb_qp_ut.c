/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/verbs/vb_qp.c: creation of queue pairs, their states, queried attributes.
 */
#include <stdio.h>

#include "tests/verbs/vb_fix.h"

static struct ibv_qp_init_attr plain(struct vbf_end *e, enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){.send_cq = e->cq,
					 .recv_cq = e->cq,
					 .cap = {VBF_WR, VBF_WR, VBF_SGE, VBF_SGE, VBF_INLINE},
					 .qp_type = type};
}

static void create(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	struct vbf f;

	vbf_open(&f);
	init = plain(&f.a, IBV_QPT_RC);
	init.qp_context = &f;
	init.sq_sig_all = 1;
	VBF_NEED(qp = ibv_create_qp(f.a.pd, &init));
	CU_ASSERT(init.cap.max_send_wr >= VBF_WR && init.cap.max_recv_wr >= VBF_WR);
	CU_ASSERT(init.cap.max_send_sge >= VBF_SGE && init.cap.max_inline_data >= VBF_INLINE);
	CU_ASSERT(qp->context == f.a.ctx && qp->pd == f.a.pd && qp->qp_context == &f);
	CU_ASSERT(qp->send_cq == f.a.cq && qp->recv_cq == f.a.cq && !qp->srq);
	CU_ASSERT(qp->state == IBV_QPS_RESET && qp->qp_type == IBV_QPT_RC && qp->qp_num);
	memset(&init, 0xff, sizeof(init));
	VBF_OK(ibv_query_qp(qp, &attr, 0, &init));
	CU_ASSERT(attr.qp_state == IBV_QPS_RESET && init.sq_sig_all == 1 && init.qp_context == &f);
	CU_ASSERT(init.cap.max_recv_wr >= VBF_WR && init.qp_type == IBV_QPT_RC);
	CU_ASSERT_PTR_NULL(ibv_qp_to_qp_ex(qp));
	CU_ASSERT_EQUAL(ibv_dealloc_pd(f.a.pd), EBUSY);
	CU_ASSERT_EQUAL(ibv_destroy_cq(f.a.cq), EBUSY);
	VBF_OK(ibv_destroy_qp(qp));
	init = plain(&f.a, IBV_QPT_RC);
	init.send_cq = NULL;
	VBF_NULL(ibv_create_qp(f.a.pd, &init), EINVAL);
	init = plain(&f.a, IBV_QPT_UD);
	init.recv_cq = NULL;
	VBF_NULL(ibv_create_qp(f.a.pd, &init), EINVAL);
	/* a CQ of another context */
	init = plain(&f.a, IBV_QPT_RC);
	init.recv_cq = f.b.cq;
	VBF_NULL(ibv_create_qp(f.a.pd, &init), EINVAL);
	init = plain(&f.a, IBV_QPT_XRC_RECV);
	VBF_NULL(ibv_create_qp(f.a.pd, &init), EINVAL);
	init = plain(&f.a, IBV_QPT_RAW_PACKET);
	VBF_NULL(ibv_create_qp(f.a.pd, &init), EOPNOTSUPP);
	init = plain(&f.a, IBV_QPT_DRIVER);
	VBF_NULL(ibv_create_qp(f.a.pd, &init), EOPNOTSUPP);
	vbf_close(&f);
}

static struct ibv_qp *create_ex(struct vbf_end *e, enum ibv_qp_type type, uint64_t ops,
				uint32_t mask, uint32_t flags)
{
	struct ibv_qp_init_attr_ex init = {.send_cq = e->cq,
					   .recv_cq = e->cq,
					   .cap = {VBF_WR, VBF_WR, VBF_SGE, VBF_SGE, VBF_INLINE},
					   .qp_type = type,
					   .comp_mask = mask,
					   .pd = e->pd,
					   .create_flags = flags,
					   .send_ops_flags = ops};

	return ibv_create_qp_ex(e->ctx, &init);
}

static void create_extended(void)
{
	const uint32_t pd = IBV_QP_INIT_ATTR_PD, ops = pd | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;
	struct vbf f;

	vbf_open(&f);
	VBF_NEED(qp = create_ex(&f.a, IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_READ, ops, 0));
	VBF_NEED(ibv_qp_to_qp_ex(qp));
	VBF_OK(ibv_destroy_qp(qp));
	VBF_NEED(qp = create_ex(&f.a, IBV_QPT_UD, 0, pd | IBV_QP_INIT_ATTR_CREATE_FLAGS,
				IBV_QP_CREATE_BLOCK_SELF_MCAST_LB));
	CU_ASSERT_PTR_NULL(ibv_qp_to_qp_ex(qp));
	VBF_OK(ibv_destroy_qp(qp));
	/* operations that the type lacks */
	VBF_NULL(create_ex(&f.a, IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE, ops, 0), EOPNOTSUPP);
	VBF_NULL(create_ex(&f.a, IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ, ops, 0), EOPNOTSUPP);
	VBF_NULL(create_ex(&f.a, IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, ops, 0),
		 EOPNOTSUPP);
	VBF_NULL(create_ex(&f.a, IBV_QPT_RC, IBV_QP_EX_WITH_TSO, ops, 0), EOPNOTSUPP);
	VBF_NULL(create_ex(&f.a, IBV_QPT_RC, UINT64_C(1) << 63, ops, 0), EOPNOTSUPP);
	VBF_NULL(create_ex(&f.a, IBV_QPT_RC, 0, 0, 0), EINVAL);
	VBF_NULL(create_ex(&f.a, IBV_QPT_RC, 0, pd | IBV_QP_INIT_ATTR_RX_HASH, 0), EOPNOTSUPP);
	VBF_NULL(create_ex(&f.a, IBV_QPT_RC, 0, pd | IBV_QP_INIT_ATTR_CREATE_FLAGS,
			   IBV_QP_CREATE_SCATTER_FCS),
		 EOPNOTSUPP);
	vbf_close(&f);
}

/* ---- states -------------------------------------------------------------------------------- */

/* Attributes that IBA 11.2.5.2 requires for a transition; 0: only the state. */
static int needed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to)
{
	bool rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;

	if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR && !ud)
		return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
		return IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						 IBV_QP_MAX_QP_RD_ATOMIC
					   : 0);
	return 0;
}

static bool legal(enum ibv_qp_state from, enum ibv_qp_state to)
{
	static const uint8_t table[IBV_QPS_ERR + 1] = {
	    [IBV_QPS_RESET] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_INIT,
	    [IBV_QPS_INIT] =
		1 << IBV_QPS_RESET | 1 << IBV_QPS_INIT | 1 << IBV_QPS_RTR | 1 << IBV_QPS_ERR,
	    [IBV_QPS_RTR] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_RTS | 1 << IBV_QPS_ERR,
	    [IBV_QPS_RTS] =
		1 << IBV_QPS_RESET | 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD | 1 << IBV_QPS_ERR,
	    [IBV_QPS_SQD] =
		1 << IBV_QPS_RESET | 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD | 1 << IBV_QPS_ERR,
	    [IBV_QPS_ERR] = 1 << IBV_QPS_RESET | 1 << IBV_QPS_ERR,
	};

	return table[from] >> to & 1;
}

static struct ibv_qp_attr all_attrs(const struct vbf_end *peer, enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){.qp_state = to,
				    .port_num = 1,
				    .qkey = VBF_QKEY,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = 1,
				    .max_dest_rd_atomic = 1,
				    .max_rd_atomic = 1,
				    .min_rnr_timer = 1,
				    .timeout = 10,
				    .ah_attr = vbf_way(peer)};
}

static struct ibv_qp *in_state(struct vbf *f, enum ibv_qp_type type, enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
						IBV_QPS_SQD};
	struct ibv_qp *qp = vbf_qp(&f->a, type, NULL);
	struct ibv_qp_attr attr;

	VBF_NEED(qp);
	if (state == IBV_QPS_ERR) {
		attr = all_attrs(&f->b, IBV_QPS_INIT);
		VBF_OK(ibv_modify_qp(qp, &attr,
				     IBV_QP_STATE | needed(type, IBV_QPS_RESET, IBV_QPS_INIT)));
		attr.qp_state = IBV_QPS_ERR;
		VBF_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
		return qp;
	}
	for (size_t i = 0; qp->state != state && i < 4; i++) {
		attr = all_attrs(&f->b, way[i]);
		VBF_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | needed(type, qp->state, way[i])));
	}
	CU_ASSERT_EQUAL_FATAL(qp->state, state);
	return qp;
}

static const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
					   IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};

/* Each state to each state, with the required attributes, then with each required bit missing. */
static void transitions(enum ibv_qp_type type)
{
	struct vbf f;

	vbf_open(&f);
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 6; j++) {
			int need = needed(type, states[i], states[j]);
			struct ibv_qp_attr attr = all_attrs(&f.b, states[j]), now;
			struct ibv_qp *qp = in_state(&f, type, states[i]);
			struct ibv_qp_init_attr init;
			int rc;

			for (int bit = 1; bit && bit <= need; bit <<= 1)
				if (need & bit)
					CU_ASSERT_EQUAL(
					    ibv_modify_qp(qp, &attr, IBV_QP_STATE | (need & ~bit)),
					    EINVAL);
			CU_ASSERT_EQUAL(qp->state, states[i]);
			rc = ibv_modify_qp(qp, &attr, IBV_QP_STATE | need);
			CU_ASSERT_EQUAL(rc, legal(states[i], states[j]) ? 0 : EINVAL);
			if ((rc == 0) != legal(states[i], states[j]))
				printf("\n    type %d, %d to %d: %d", (int)type, (int)states[i],
				       (int)states[j], rc);
			CU_ASSERT_EQUAL(qp->state, rc ? states[i] : states[j]);
			VBF_OK(ibv_query_qp(qp, &now, IBV_QP_STATE, &init));
			CU_ASSERT_EQUAL(now.qp_state, qp->state);
			VBF_OK(ibv_destroy_qp(qp));
		}
	vbf_close(&f);
}

static void transitions_rc(void)
{
	transitions(IBV_QPT_RC);
}

static void transitions_uc(void)
{
	transitions(IBV_QPT_UC);
}

static void transitions_ud(void)
{
	transitions(IBV_QPT_UD);
}

/* Values and masks that no transition accepts. */
static void modify_refuses(void)
{
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;
	struct vbf f;
	int need;

	vbf_open(&f);
	qp = in_state(&f, IBV_QPT_RC, IBV_QPS_INIT);
	need = IBV_QP_STATE | needed(IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR);
	attr = all_attrs(&f.b, IBV_QPS_RTR);
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | IBV_QP_ALT_PATH), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | IBV_QP_PATH_MIG_STATE), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | IBV_QP_CAP), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | IBV_QP_RATE_LIMIT), EOPNOTSUPP);
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | 1 << 30), EOPNOTSUPP);
	/* not required here */
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | IBV_QP_SQ_PSN), EINVAL);
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | IBV_QP_QKEY), EINVAL);
	attr.path_mtu = (enum ibv_mtu)0;
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need), EINVAL);
	attr.path_mtu = (enum ibv_mtu)6;
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need), EINVAL);
	attr = all_attrs(&f.b, IBV_QPS_RTR);
	memset(&attr.ah_attr.grh.dgid, 0x77, 16);
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need), EINVAL);
	attr = all_attrs(&f.b, IBV_QPS_RTR);
	attr.cur_qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, need | IBV_QP_CUR_STATE), EINVAL);
	attr.qp_state = (enum ibv_qp_state)7;
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	attr.port_num = 2;
	CU_ASSERT_EQUAL(ibv_modify_qp(qp, &attr, IBV_QP_PORT), EINVAL);
	CU_ASSERT_EQUAL(qp->state, IBV_QPS_INIT);
	VBF_OK(ibv_destroy_qp(qp));
	vbf_close(&f);
}

static void query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *a, *b;
	struct vbf f;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	VBF_OK(ibv_query_qp(a, &attr, IBV_QP_STATE, &init));
	CU_ASSERT(attr.qp_state == IBV_QPS_RTS && attr.cur_qp_state == IBV_QPS_RTS);
	CU_ASSERT(attr.path_mtu == IBV_MTU_1024 && attr.dest_qp_num == b->qp_num);
	CU_ASSERT(attr.sq_psn == 7 && attr.rq_psn == 7 && attr.qp_access_flags == VBF_REMOTE);
	CU_ASSERT(attr.timeout == 10 && attr.retry_cnt == 3 && attr.rnr_retry == 3);
	CU_ASSERT(attr.max_rd_atomic == 4 && attr.max_dest_rd_atomic == 4);
	CU_ASSERT(attr.port_num == 1 && attr.min_rnr_timer == 1 && !attr.sq_draining);
	CU_ASSERT(attr.ah_attr.is_global && attr.ah_attr.port_num == 1);
	CU_ASSERT(memcmp(&attr.ah_attr.grh.dgid, &f.b.gid, sizeof(f.b.gid)) == 0);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

/* To ERR: all posted requests are flushed, in order. To RESET: none is. */
static void flushes(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *a, *b;
	struct ibv_wc wc;
	struct vbf f;

	vbf_open(&f);
	vbf_pair(&f, &a, &b);
	VBF_OK(vbf_recv(a, vbf_sge(&f.a, 0, 8)));
	VBF_OK(vbf_recv(a, vbf_sge(&f.a, 0, 8)));
	VBF_OK(ibv_modify_qp(a, &attr, IBV_QP_STATE));
	VBF_OK(vbf_recv(a, vbf_sge(&f.a, 0, 8)));
	VBF_OK(vbf_post(a, IBV_WR_SEND, vbf_sge(&f.a, 0, 8), 0, 0));
	for (int i = 0; i < 4; i++) {
		wc = vbf_wait(&f, f.a.cq);
		CU_ASSERT(wc.status == IBV_WC_WR_FLUSH_ERR && wc.qp_num == a->qp_num);
	}
	VBF_OK(vbf_recv(b, vbf_sge(&f.b, 0, 8)));
	attr.qp_state = IBV_QPS_RESET;
	VBF_OK(ibv_modify_qp(b, &attr, IBV_QP_STATE));
	CU_ASSERT(vbf_silent(&f, f.b.cq));
	CU_ASSERT_EQUAL(vbf_post(b, IBV_WR_SEND, vbf_sge(&f.b, 0, 8), 0, 0), EINVAL);
	VBF_OK(ibv_destroy_qp(a));
	VBF_OK(ibv_destroy_qp(b));
	vbf_close(&f);
}

static void groups(void)
{
	union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 9, 9, 9}}, unicast = group;
	struct ibv_qp *ud, *rc;
	struct vbf f;

	vbf_open(&f);
	unicast.raw[12] = 10;
	ud = in_state(&f, IBV_QPT_UD, IBV_QPS_RTS);
	rc = in_state(&f, IBV_QPT_RC, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(ibv_attach_mcast(rc, &group, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_attach_mcast(ud, &unicast, 0), EINVAL);
	CU_ASSERT_EQUAL(ibv_detach_mcast(ud, &group, 0), EINVAL);
	VBF_OK(ibv_attach_mcast(ud, &group, 0));
	VBF_OK(ibv_attach_mcast(ud, &group, 0xc000));
	VBF_OK(ibv_detach_mcast(ud, &group, 0));
	CU_ASSERT_EQUAL(ibv_detach_mcast(ud, &group, 0), EINVAL);
	VBF_OK(ibv_destroy_qp(ud));
	VBF_OK(ibv_destroy_qp(rc));
	vbf_close(&f);
}

/* No Send is posted in RTR: a server may go to RTS when its peer's first message arrives. */
static void communication_established(void)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC};
	struct ibv_async_event event;
	struct ibv_qp *a, *b;
	struct vbf f;

	vbf_open(&f);
	for (int i = 0; i < 2; i++) {
		VBF_NEED(a = vbf_qp(&f.a, types[i], NULL));
		VBF_NEED(b = vbf_qp(&f.b, types[i], NULL));
		vbf_connect(a, &f.b, b->qp_num);
		for (int k = 0; k < 2; k++) {
			VBF_OK(vbf_to_init(b, 0));
			VBF_OK(vbf_recv(b, vbf_sge(&f.b, 0, 64)));
			VBF_OK(vbf_recv(b, vbf_sge(&f.b, 0, 64)));
			VBF_OK(vbf_to_rtr(b, &f.a, a->qp_num));
			CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_SEND, vbf_sge(&f.a, 0, 64), 0, 0),
					IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(vbf_wait(&f, f.b.cq).status, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL_FATAL(ibv_get_async_event(f.b.ctx, &event), 0);
			CU_ASSERT_EQUAL(event.event_type, IBV_EVENT_COMM_EST);
			CU_ASSERT_PTR_EQUAL(event.element.qp, b);
			ibv_ack_async_event(&event);
			VBF_OK(vbf_to_rts(b));
			CU_ASSERT_EQUAL(vbf_status(&f, a, IBV_WR_SEND, vbf_sge(&f.a, 0, 64), 0, 0),
					IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(vbf_wait(&f, f.b.cq).status, IBV_WC_SUCCESS);
			for (int e = 0; e < 2; e++) {
				const struct vbf_end *end = e ? &f.b : &f.a;

				sim_proc_set_nonblocking(end->proc, true);
				CU_ASSERT_EQUAL(ibv_get_async_event(end->ctx, &event), -1);
				CU_ASSERT_EQUAL(errno, EAGAIN);
				sim_proc_set_nonblocking(end->proc, false);
			}
			/* Again after a reset, as a new connection. */
			VBF_OK(ibv_modify_qp(b, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET},
					     IBV_QP_STATE));
			VBF_OK(ibv_modify_qp(a, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET},
					     IBV_QP_STATE));
			vbf_connect(a, &f.b, b->qp_num);
		}
		VBF_OK(ibv_destroy_qp(a));
		VBF_OK(ibv_destroy_qp(b));
	}
	vbf_close(&f);
}

UT_MAIN("verbs/vb_qp", UT(create), UT(create_extended), UT(transitions_rc), UT(transitions_uc),
	UT(transitions_ud), UT(modify_refuses), UT(query), UT(flushes), UT(groups),
	UT(communication_established))
