/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: create, modify, query, destroy; multicast groups of UD queue pairs.
 *
 * An RC queue pair that ibv_modify_qp() alone brings to RTS, as in perftest and the pingpong
 * examples, runs over RD. RC, XRC, UC and UD are supported; raw packets, RSS and others are
 * rejected with EOPNOTSUPP. vb_xrc.c opens the QPs of other processes. Calls weft_qp.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/verbs/vb.h"
#include "host_driver/weft_priv.h"

static_assert((int)WEFT_QPS_ERR == IBV_QPS_ERR && (int)WEFT_QPS_SQD == IBV_QPS_SQD, "");
static_assert((int)WEFT_QPT_UD == IBV_QPT_UD && (int)WEFT_QPT_UC == IBV_QPT_UC, "");
static_assert((int)WEFT_QP_DEST_QPN == IBV_QP_DEST_QPN && (int)WEFT_QP_AV == IBV_QP_AV, "");
static_assert((int)WEFT_QP_MIN_RNR_TIMER == IBV_QP_MIN_RNR_TIMER, "");
static_assert((int)WEFT_ACCESS_REMOTE_ATOMIC == IBV_ACCESS_REMOTE_ATOMIC, "");

enum {
	/*
	 * Attributes supported by weft_modify_qp(); the others concern migration, resizing and rate
	 * limits.
	 */
	SERVED_ATTRS = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY |
		       IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |
		       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		       IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
		       IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		       IBV_QP_DEST_QPN,
};

static void cap_from(const struct weft_qp_cap *w, struct ibv_qp_cap *cap)
{
	cap->max_send_wr = w->max_send_wr;
	cap->max_recv_wr = w->max_recv_wr;
	cap->max_send_sge = w->max_send_sge;
	cap->max_recv_sge = w->max_recv_sge;
	cap->max_inline_data = w->max_inline_bytes;
}

enum {
	/*
	 * Inline room of a UD QP that requests inline data; a device may grant more than requested
	 * (IBA 11.2.4.1). UCX 1.13 takes the connection request of its peer for the answer to its
	 * own and reuses its buffer, although the NIC may not have read it yet. Where processes and
	 * NIC share CPUs, a request of 66 bytes was then sent with another message's content, and
	 * UCX aborted. Inline data is copied at posting.
	 */
	UD_INLINE_BYTES = 128,
	INLINE_OF_SGES = 512, /* limit of SGE room used for inline data */
};

static uint32_t inline_bytes(const struct ibv_qp_init_attr *init)
{
	uint64_t room = (uint64_t)init->cap.max_send_sge * sizeof(struct ibv_sge);
	uint32_t asked = init->cap.max_inline_data;

	if (init->qp_type == IBV_QPT_UD && asked && asked < UD_INLINE_BYTES)
		return UD_INLINE_BYTES;
	/* SGE room also holds inline data; some programs request none and rely on that. */
	return asked < room && room <= INLINE_OF_SGES ? (uint32_t)room : asked;
}

/* Creates an XRC target QP: a number and a connection, without queues. */
static struct weft_qp *xrc_recv_new(struct ibv_xrcd *xrcd, struct ibv_qp_init_attr *init,
				    void *user)
{
	struct weft_qp_init_attr attr = {.type = WEFT_QPT_XRC_RECV, .user = user};

	attr.xrcd = vb_xrcd_of(xrcd)->weft;
	init->cap = (struct ibv_qp_cap){0};
	return weft_create_qp(NULL, &attr);
}

static struct weft_qp *make_weft_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
				    uint32_t flags, void *user)
{
	bool xrc = init->qp_type == IBV_QPT_XRC_SEND;
	/* Verbs have no such event: async_fd would become readable without an event to take. */
	uint32_t quiet = init->qp_type == IBV_QPT_UD ? WEFT_QP_F_NO_PEER_ERROR : 0;
	struct weft_qp_init_attr attr = {
	    .type = (enum weft_qp_type)init->qp_type,
	    .flags = flags | quiet | (init->sq_sig_all ? WEFT_QP_F_SQ_SIG_ALL : 0),
	    .send_cq = init->send_cq ? vb_cq_of(init->send_cq)->weft : NULL,
	    .recv_cq = init->recv_cq ? vb_cq_of(init->recv_cq)->weft : NULL,
	    .srq = init->srq ? vb_srq_of(init->srq)->weft : NULL,
	    .cap = {.max_send_wr = init->cap.max_send_wr,
		    .max_recv_wr = xrc ? 0 : init->cap.max_recv_wr,
		    .max_send_sge = init->cap.max_send_sge,
		    .max_recv_sge = xrc ? 0 : init->cap.max_recv_sge,
		    .max_inline_bytes = inline_bytes(init)},
	    .user = user,
	};
	struct weft_qp *qp;

	if (init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UC &&
	    init->qp_type != IBV_QPT_UD && !xrc)
		return vb_null(EOPNOTSUPP);
	if (xrc)
		attr.recv_cq = attr.send_cq; /* an XRC initiator receives nothing */
	if (!attr.send_cq || !attr.recv_cq)
		return vb_null(EINVAL);
	qp = weft_create_qp(vb_pd_of(pd)->weft, &attr);
	if (qp)
		cap_from(&attr.cap, &init->cap);
	return qp;
}

struct vb_qp *vb_qp_alloc(void)
{
	struct vb_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return vb_null(ENOMEM);
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	return qp;
}

void vb_qp_free(struct vb_qp *qp)
{
	vb_wr_free(qp);
	pthread_cond_destroy(&qp->ibv.cond);
	pthread_mutex_destroy(&qp->ibv.mutex);
	free(qp);
}

void vb_qp_fill(struct vb_qp *qp, struct ibv_context *context, const struct ibv_qp_init_attr *init)
{
	qp->sq_sig_all = init->sq_sig_all != 0;
	qp->ibv.context = context;
	qp->ibv.qp_context = init->qp_context;
	qp->ibv.send_cq = init->send_cq;
	qp->ibv.recv_cq = init->recv_cq;
	qp->ibv.srq = init->srq;
	qp->ibv.handle = qp->weft->qpn;
	qp->ibv.qp_num = qp->weft->qpn;
	qp->ibv.state = IBV_QPS_RESET;
	qp->ibv.qp_type = init->qp_type;
}

/* pd NULL: use xrcd. flags: enum weft_qp_flags in addition to those that init implies. */
static struct vb_qp *qp_new(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_qp_init_attr *init,
			    uint32_t flags)
{
	struct vb_qp *qp = vb_qp_alloc();

	if (!qp)
		return NULL;
	qp->weft = pd ? make_weft_qp(pd, init, flags, qp) : xrc_recv_new(xrcd, init, qp);
	if (!qp->weft) {
		vb_qp_free(qp);
		return NULL;
	}
	vb_qp_fill(qp, pd ? pd->context : xrcd->context, init);
	qp->ibv.pd = pd;
	return qp;
}

VB_API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct vb_qp *qp;

	if (init->qp_type == IBV_QPT_XRC_RECV)
		/* Belongs to an XRC domain, not a PD: use ibv_create_qp_ex(). */
		return vb_null(EINVAL);
	qp = qp_new(pd, NULL, init, 0);

	return qp ? &qp->ibv : NULL;
}

static bool send_ops_legal(const struct ibv_qp_init_attr_ex *ex)
{
	const uint64_t datagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t unreliable =
	    datagram | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	    IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	const uint64_t reliable = unreliable | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	bool rc = ex->qp_type == IBV_QPT_RC || ex->qp_type == IBV_QPT_XRC_SEND;
	uint64_t legal = rc ? reliable : ex->qp_type == IBV_QPT_UC ? unreliable : datagram;

	return !(ex->send_ops_flags & ~legal);
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *ex)
{
	uint32_t create = ex->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? ex->create_flags : 0;
	bool no_loop = create & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	bool xrc_recv = ex->qp_type == IBV_QPT_XRC_RECV;
	struct ibv_qp_init_attr init;
	struct vb_qp *qp;

	if (xrc_recv
		? !(ex->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !ex->xrcd ||
		      ex->xrcd->context != context
		: !(ex->comp_mask & IBV_QP_INIT_ATTR_PD) || !ex->pd || ex->pd->context != context)
		return vb_null(EINVAL);
	if (ex->comp_mask &
		~(uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			    IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    create & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB ||
	    (ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && (xrc_recv || !send_ops_legal(ex))))
		return vb_null(EOPNOTSUPP);
	init = (struct ibv_qp_init_attr){.qp_context = ex->qp_context,
					 .send_cq = ex->send_cq,
					 .recv_cq = ex->recv_cq,
					 .srq = ex->srq,
					 .cap = ex->cap,
					 .qp_type = ex->qp_type,
					 .sq_sig_all = ex->sq_sig_all};
	qp = qp_new(xrc_recv ? NULL : ex->pd, ex->xrcd, &init,
		    no_loop ? WEFT_QP_F_BLOCK_SELF_MCAST_LB : 0);
	if (!qp)
		return NULL;
	ex->cap = init.cap;
	if (ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && !vb_wr_init(qp)) {
		ibv_destroy_qp(&qp->ibv);
		return vb_null(ENOMEM);
	}
	return &qp->ibv;
}

/* Returns NULL if it was not created with send_ops_flags. */
VB_API struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct vb_qp *qp = vb_qp_of(ibv);

	return qp->builder ? &qp->ex : NULL;
}

static int attr_from(struct vb_context *c, const struct ibv_qp_attr *attr, int mask,
		     struct weft_qp_attr *w)
{
	*w = (struct weft_qp_attr){
	    .state = (enum weft_qp_state)attr->qp_state,
	    .cur_state = (enum weft_qp_state)attr->cur_qp_state,
	    .access = attr->qp_access_flags,
	    .qkey = attr->qkey,
	    .dst_qpn = attr->dest_qp_num,
	    .sq_psn = attr->sq_psn,
	    .rq_psn = attr->rq_psn,
	    .timeout = attr->timeout,
	    .retry_cnt = attr->retry_cnt,
	    .rnr_retry = attr->rnr_retry,
	    .min_rnr_timer = attr->min_rnr_timer,
	    .max_rd_atomic = attr->max_rd_atomic,
	    .max_dest_rd_atomic = attr->max_dest_rd_atomic,
	    .en_sqd_async_notify = attr->en_sqd_async_notify,
	    .port = attr->port_num,
	    .pkey_index = attr->pkey_index,
	};
	if (mask & IBV_QP_PATH_MTU) {
		if (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)
			return -EINVAL;
		w->path_mtu_bytes = 128U << attr->path_mtu;
	}
	if (mask & IBV_QP_AV && !vb_av_from(c, &attr->ah_attr, &w->av))
		return -EINVAL;
	return 0;
}

/*
 * Ignores the attributes of the other direction for each end of an XRC connection, as the kernel's
 * verbs do.
 */
static int mask_of(const struct ibv_qp *qp, int mask)
{
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	return mask;
}

VB_API int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct weft_qp_attr w;
	int rc;

	mask = mask_of(qp, mask);
	if (mask & ~SERVED_ATTRS)
		return vb_result(-EOPNOTSUPP);
	rc = attr_from(vb_context_of(qp->context), attr, mask, &w);
	/* QPN 0: the connection is rdma_cm's over TCP, which carries no QPN. */
	if (rc == 0 && qp->qp_type == IBV_QPT_RC && mask & IBV_QP_DEST_QPN && !attr->dest_qp_num) {
		w.transport = WEFT_QP_TRANSPORT_TCP;
		mask |= WEFT_QP_TRANSPORT;
	}
	if (rc == 0)
		rc = weft_modify_qp(vb_qp_of(qp)->weft, &w, mask);
	if (rc == 0 && mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return vb_result(rc);
}

static void attr_to(const struct weft_qp_attr *w, struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = (enum ibv_qp_state)w->state;
	attr->cur_qp_state = (enum ibv_qp_state)w->cur_state;
	attr->path_mtu = vb_mtu(w->path_mtu_bytes);
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->qkey = w->qkey;
	attr->rq_psn = w->rq_psn;
	attr->sq_psn = w->sq_psn;
	attr->dest_qp_num = w->dst_qpn;
	attr->qp_access_flags = w->access;
	vb_av_to(&w->av, &attr->ah_attr);
	attr->pkey_index = w->pkey_index;
	attr->en_sqd_async_notify = w->en_sqd_async_notify;
	attr->sq_draining = w->sq_draining;
	attr->max_rd_atomic = w->max_rd_atomic;
	attr->max_dest_rd_atomic = w->max_dest_rd_atomic;
	attr->min_rnr_timer = w->min_rnr_timer;
	attr->port_num = w->port;
	attr->timeout = w->timeout;
	attr->retry_cnt = w->retry_cnt;
	attr->rnr_retry = w->rnr_retry;
}

/* attr_mask is a hint, according to the manual page: all attributes are returned. */
VB_API int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
			struct ibv_qp_init_attr *init)
{
	struct vb_qp *qp = vb_qp_of(ibv);
	struct weft_qp_attr w;
	struct weft_qp_cap cap;
	int rc = weft_query_qp(qp->weft, &w, &cap);

	(void)attr_mask;
	if (rc < 0)
		return vb_result(rc);
	attr_to(&w, attr);
	cap_from(&cap, &attr->cap);
	ibv->state = attr->qp_state;
	*init = (struct ibv_qp_init_attr){.qp_context = ibv->qp_context,
					  .send_cq = ibv->send_cq,
					  .recv_cq = ibv->recv_cq,
					  .srq = ibv->srq,
					  .cap = attr->cap,
					  .qp_type = ibv->qp_type,
					  .sq_sig_all = qp->sq_sig_all};
	return 0;
}

VB_API int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct vb_qp *qp = vb_qp_of(ibv);
	int rc;

	if (ibv->qp_type == IBV_QPT_UD && ibv->state == IBV_QPS_RTS)
		(void)weft_ud_settle(weft_ctx_of(qp->weft->context),
				     weft_container_of(qp->weft, struct weft_qp_obj, pub));
	rc = weft_destroy_qp(qp->weft);

	if (rc < 0)
		return vb_result(rc);
	vb_qp_free(qp);
	return 0;
}

/* UD only. The LID is ignored on Ethernet. */
VB_API int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return vb_result(weft_attach_mcast(vb_qp_of(qp)->weft, gid->raw));
}

VB_API int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return vb_result(weft_detach_mcast(vb_qp_of(qp)->weft, gid->raw));
}

/* Enhanced connection establishment negotiates vendor options; there are none. */
VB_API int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return vb_result(-EOPNOTSUPP);
}

VB_API int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return vb_result(-EOPNOTSUPP);
}

/* The bytes of a Write may become visible in any order before its completion. */
VB_API int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

void vb_qp_ops(struct vb_context *c)
{
	c->verbs.context.ops.post_send = vb_post_send;
	c->verbs.context.ops.post_recv = vb_post_recv;
	c->verbs.create_qp_ex = create_qp_ex;
}
