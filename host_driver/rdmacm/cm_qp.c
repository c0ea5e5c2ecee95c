/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs and shared receive queues of identifiers, and the attributes negotiated by the
 * handshake.
 *
 * Calls libibverbs. rdma_create_qp(3).
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/rdmacm/cm.h"

static uint8_t limited(uint8_t depth, const struct cm_id *id)
{
	return depth < id->dev->max_rd_atomic ? depth : id->dev->max_rd_atomic;
}

static int init_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->pkey_index = 0;
	attr->port_num = CM_PORT_NUM;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (cm_is_ud(id)) {
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return 0;
	}
	attr->qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask |= IBV_QP_ACCESS_FLAGS;
	return 0;
}

static int rtr_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	uint32_t mtu = id->dev->mtu, ip;
	uint16_t port;
	int err;

	*mask = IBV_QP_STATE;
	if (cm_is_ud(id))
		return 0;
	err = cm_addr_get(&id->pub.route.addr.dst_addr, &ip, &port);
	if (err)
		return cm_error(EINVAL);
	cm_ah_attr(id, ip, &attr->ah_attr);
	attr->path_mtu = cm_mtu(id->peer.mtu && id->peer.mtu < mtu ? id->peer.mtu : mtu);
	/* Over TCP the peer's QPN is unknown; 0 selects TCP in ibv_modify_qp(). */
	attr->dest_qp_num = id->over_tcp ? 0 : id->peer.qpn;
	attr->rq_psn = id->peer.psn;
	attr->max_dest_rd_atomic = limited(id->responder_resources, id);
	attr->min_rnr_timer = CM_MIN_RNR_TIMER;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return 0;
}

static int rts_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->sq_psn = id->local_psn;
	if (cm_is_ud(id))
		return 0;
	attr->timeout = id->ack_timeout;
	attr->retry_cnt = id->retry_count < CM_RETRY_COUNT ? id->retry_count : CM_RETRY_COUNT;
	attr->rnr_retry =
	    id->peer.rnr_retry_count < CM_RETRY_COUNT ? id->peer.rnr_retry_count : CM_RETRY_COUNT;
	attr->max_rd_atomic = limited(id->initiator_depth, id);
	*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

CM_API int rdma_init_qp_attr(struct rdma_cm_id *pub, struct ibv_qp_attr *attr, int *mask)
{
	struct cm_id *id = cm_id_of(pub);

	if (!id->dev)
		return cm_error(EINVAL);
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		return init_attr(id, attr, mask);
	case IBV_QPS_RTR:
		return rtr_attr(id, attr, mask);
	case IBV_QPS_RTS:
		return rts_attr(id, attr, mask);
	case IBV_QPS_RESET:
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
	case IBV_QPS_ERR:
	case IBV_QPS_UNKNOWN:
		break;
	}
	return cm_error(EINVAL);
}

static int to_state(struct cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask, rc;

	if (rdma_init_qp_attr(&id->pub, &attr, &mask) < 0)
		return -1;
	rc = ibv_modify_qp(qp, &attr, mask);
	return rc ? cm_error(rc) : 0;
}

int cm_qp_connect(struct cm_id *id)
{
	struct ibv_qp *qp = id->pub.qp;

	return to_state(id, qp, IBV_QPS_RTR) < 0 ? -1 : to_state(id, qp, IBV_QPS_RTS);
}

/* Flushes requests that were posted before a connection that failed. */
void cm_qp_fail(struct cm_id *id)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (id->pub.qp && !cm_is_ud(id))
		(void)ibv_modify_qp(id->pub.qp, &attr, IBV_QP_STATE);
}

/* ---- queues --------------------------------------------------------------------------------- */

static void cq_destroy(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq)
		(void)ibv_destroy_cq(*cq);
	if (*channel)
		(void)ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

/* The CQs of an XRC SRQ are destroyed with it. */
static void cqs_destroy(struct rdma_cm_id *id)
{
	if (id->qp_type == IBV_QPT_XRC_RECV && id->srq)
		return;
	cq_destroy(&id->send_cq, &id->send_cq_channel);
	cq_destroy(&id->recv_cq, &id->recv_cq_channel);
}

static int cq_create(struct rdma_cm_id *id, uint32_t entries, struct ibv_cq **cq,
		     struct ibv_comp_channel **channel)
{
	if (!entries || *cq)
		return 0;
	*channel = ibv_create_comp_channel(id->verbs);
	if (*channel)
		*cq = ibv_create_cq(id->verbs, (int)entries, id, *channel, 0);
	return *cq ? 0 : -1;
}

static int cqs_create(struct rdma_cm_id *id, uint32_t send, uint32_t recv)
{
	int err;

	if (cq_create(id, recv, &id->recv_cq, &id->recv_cq_channel) == 0 &&
	    cq_create(id, send, &id->send_cq, &id->send_cq_channel) == 0)
		return 0;
	err = errno;
	cqs_destroy(id);
	return cm_error(err);
}

static int qp_ready(struct cm_id *id, struct ibv_qp *qp)
{
	if (to_state(id, qp, IBV_QPS_INIT) < 0)
		return -1;
	if (!cm_is_ud(id))
		return 0;
	return to_state(id, qp, IBV_QPS_RTR) < 0 ? -1 : to_state(id, qp, IBV_QPS_RTS);
}

static int check_attr(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (id->qp || !id->verbs)
		return cm_error(EINVAL);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		if (!id->pd)
			return cm_error(EINVAL);
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->pd;
	} else if (id->verbs != attr->pd->context) {
		return cm_error(EINVAL);
	}
	if ((id->recv_cq && attr->recv_cq && id->recv_cq != attr->recv_cq) ||
	    (id->send_cq && attr->send_cq && id->send_cq != attr->send_cq))
		return cm_error(EINVAL);
	return 0;
}

/* An XRC target belongs to a domain: the library's own if the program gives none. */
static int set_xrcd(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (id->qp_type != IBV_QPT_XRC_RECV ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd))
		return 0;
	attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	attr->xrcd = cm_device_xrcd(cm_id_of(id)->dev);
	return attr->xrcd ? 0 : -1;
}

CM_API int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;
	int err;

	if (check_attr(id, attr) < 0 || set_xrcd(id, attr) < 0)
		return -1;
	if (cqs_create(id, attr->send_cq ? 0 : attr->cap.max_send_wr,
		       attr->recv_cq ? 0 : attr->cap.max_recv_wr) < 0)
		return -1;
	if (!attr->send_cq)
		attr->send_cq = id->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->recv_cq;
	if (id->srq && !attr->srq)
		attr->srq = id->srq;
	qp = ibv_create_qp_ex(id->verbs, attr);
	if (qp && qp_ready(cm_id_of(id), qp) == 0) {
		if (qp->pd)
			id->pd = qp->pd;
		id->qp = qp;
		return 0;
	}
	err = errno;
	if (qp)
		(void)ibv_destroy_qp(qp);
	cqs_destroy(id);
	return cm_error(err);
}

CM_API int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {0};
	int rc;

	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd ? pd : id->pd;
	rc = rdma_create_qp_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return rc;
}

CM_API void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (id->qp)
		(void)ibv_destroy_qp(id->qp);
	id->qp = NULL;
	cqs_destroy(id);
}

/* Sets the domain and the completion queue of an XRC SRQ. */
static int set_srq_xrc(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd)
		attr->xrcd = cm_device_xrcd(cm_id_of(id)->dev);
	if (!attr->xrcd)
		return -1;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
		if (cqs_create(id, 0, attr->attr.max_wr) < 0)
			return -1;
		attr->cq = id->recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

CM_API int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (id->srq || !id->verbs || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return cm_error(EINVAL);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		if (!id->pd)
			return cm_error(EINVAL);
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	if (attr->srq_type == IBV_SRQT_XRC && set_srq_xrc(id, attr) < 0)
		return -1;
	id->srq = ibv_create_srq_ex(id->verbs, attr);
	if (!id->srq)
		return -1;
	if (!id->pd)
		id->pd = attr->pd;
	return 0;
}

CM_API int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
	    .srq_context = attr->srq_context,
	    .attr = attr->attr,
	    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | (pd ? IBV_SRQ_INIT_ATTR_PD : 0),
	    .srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
	    .pd = pd,
	};
	int rc = rdma_create_srq_ex(id, &ex);

	attr->attr = ex.attr;
	return rc;
}

CM_API void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq)
		(void)ibv_destroy_srq(id->srq);
	id->srq = NULL;
	cqs_destroy(id);
}
