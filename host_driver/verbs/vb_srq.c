/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues, including those of XRC. Tag matching is rejected. Calls weft_srq.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/verbs/vb.h"

static_assert((int)WEFT_SRQ_MAX_WR == IBV_SRQ_MAX_WR && (int)WEFT_SRQ_LIMIT == IBV_SRQ_LIMIT, "");

/* xrcd and cq: for an XRC SRQ, otherwise NULL. */
static struct ibv_srq *create(struct ibv_pd *pd, struct ibv_srq_init_attr *init,
			      struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct weft_srq_attr attr = {.max_wr = init->attr.max_wr, .max_sge = init->attr.max_sge};
	struct vb_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return vb_null(ENOMEM);
	srq->weft = xrcd ? weft_create_xrc_srq(vb_pd_of(pd)->weft, vb_xrcd_of(xrcd)->weft,
					       vb_cq_of(cq)->weft, &attr)
			 : weft_create_srq(vb_pd_of(pd)->weft, &attr);
	if (!srq->weft) {
		free(srq);
		return NULL;
	}
	srq->weft->user = srq;
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = init->srq_context;
	srq->ibv.pd = pd;
	srq->ibv.handle = srq->weft->handle;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	init->attr.max_wr = attr.max_wr;
	init->attr.max_sge = attr.max_sge;
	return &srq->ibv;
}

VB_API struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	return create(pd, init, NULL, NULL);
}

/* The other comp_mask bits request tag matching. */
static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *ex)
{
	struct ibv_srq_init_attr init = {.srq_context = ex->srq_context, .attr = ex->attr};
	const uint32_t of_xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	enum ibv_srq_type type =
	    ex->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? ex->srq_type : IBV_SRQT_BASIC;
	struct ibv_srq *srq;

	if (!(ex->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !ex->pd || ex->pd->context != context)
		return vb_null(EINVAL);
	if (type == IBV_SRQT_XRC) {
		if ((ex->comp_mask & of_xrc) != of_xrc || !ex->xrcd || !ex->cq)
			return vb_null(EINVAL);
		srq = create(ex->pd, &init, ex->xrcd, ex->cq);
	} else if (type == IBV_SRQT_BASIC) {
		srq = create(ex->pd, &init, NULL, NULL);
	} else {
		return vb_null(EOPNOTSUPP);
	}
	ex->attr = init.attr;
	return srq;
}

VB_API int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct weft_srq_attr w = {.max_wr = attr->max_wr, .limit = attr->srq_limit};

	return vb_result(weft_modify_srq(vb_srq_of(srq)->weft, &w, mask));
}

VB_API int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct weft_srq_attr w;
	int rc = weft_query_srq(vb_srq_of(srq)->weft, &w);

	if (rc < 0)
		return vb_result(rc);
	attr->max_wr = w.max_wr;
	attr->max_sge = w.max_sge;
	attr->srq_limit = w.limit;
	return 0;
}

VB_API int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct vb_srq *srq = vb_srq_of(ibv);
	int rc = weft_destroy_srq(srq->weft);

	if (rc < 0)
		return vb_result(rc);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	free(srq);
	return 0;
}

/* Only XRC SRQs have numbers that a peer uses. */
static int get_srq_num(struct ibv_srq *srq, uint32_t *num)
{
	uint32_t srqn = vb_srq_of(srq)->weft->srqn;

	if (!srqn)
		return vb_result(-EOPNOTSUPP);
	*num = srqn;
	return 0;
}

void vb_srq_ops(struct vb_context *c)
{
	c->verbs.context.ops.post_srq_recv = vb_post_srq_recv;
	c->verbs.create_srq_ex = create_srq_ex;
	c->verbs.get_srq_num = get_srq_num;
}
