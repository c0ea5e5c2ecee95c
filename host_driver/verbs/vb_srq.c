/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues. Called by programs; calls weft_srq.c. XRC and tag matching are refused.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/verbs/vb.h"

static_assert((int)WEFT_SRQ_MAX_WR == IBV_SRQ_MAX_WR && (int)WEFT_SRQ_LIMIT == IBV_SRQ_LIMIT, "");

VB_API struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct weft_srq_attr attr = {.max_wr = init->attr.max_wr, .max_sge = init->attr.max_sge};
	struct vb_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return vb_null(ENOMEM);
	srq->weft = weft_create_srq(vb_pd_of(pd)->weft, &attr);
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

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *ex)
{
	struct ibv_srq_init_attr init = {.srq_context = ex->srq_context, .attr = ex->attr};
	struct ibv_srq *srq;

	if (!(ex->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !ex->pd || ex->pd->context != context)
		return vb_null(EINVAL);
	if (ex->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && ex->srq_type != IBV_SRQT_BASIC)
		return vb_null(EOPNOTSUPP);
	srq = ibv_create_srq(ex->pd, &init);
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

static int get_srq_num(struct ibv_srq *srq, uint32_t *num)
{
	*num = srq->handle;
	return 0;
}

void vb_srq_ops(struct vb_context *c)
{
	c->verbs.context.ops.post_srq_recv = vb_post_srq_recv;
	c->verbs.create_srq_ex = create_srq_ex;
	c->verbs.get_srq_num = get_srq_num;
}
