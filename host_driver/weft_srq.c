/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: create, modify, query, destroy.
 *
 * weft_post.c posts. Calls the channel; nic_fw/host/rq.c and srq.c are the NIC's side.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/weft_eq.h"

static int map_ring(struct weft_ctx *ctx, struct weft_srq_obj *srq, const struct hw_resp_srq *r)
{
	srq->record = weft_ctx_bar(ctx, r->record_offset, sizeof(*srq->record));
	srq->ring = weft_ctx_bar(ctx, r->ring_offset, (uint64_t)r->entries * r->stride_bytes);
	srq->entries = r->entries;
	srq->stride_bytes = r->stride_bytes;
	srq->max_wr = r->max_wr;
	srq->max_sge = r->max_sge;
	srq->pub.handle = r->srq;
	srq->pub.srqn = r->srqn;
	if (!srq->record || !srq->ring || !r->entries || (r->entries & (r->entries - 1)) ||
	    r->max_wr > r->entries || r->max_sge > HW_MAX_SGE ||
	    r->stride_bytes < hw_rq_stride_bytes(r->max_sge))
		return -EPROTO;
	return 0;
}

static int publish(struct weft_ctx *ctx, struct weft_srq_obj *srq)
{
	int rc;

	pthread_mutex_lock(&ctx->lock);
	rc = weft_table_set(&ctx->srqs, srq->pub.handle, srq);
	if (rc == 0) {
		weft_link_add(&ctx->srq_list, &srq->node);
		if (srq->pub.cq)
			weft_container_of(srq->pub.cq, struct weft_cq_obj, pub)->refs++;
	}
	pthread_mutex_unlock(&ctx->lock);
	return rc;
}

/* xrcd and cq: both set for an XRC SRQ, otherwise NULL. */
static struct weft_srq *create(struct weft_pd *pd, struct weft_xrcd *xrcd, struct weft_cq *cq,
			       struct weft_srq_attr *attr)
{
	struct weft_ctx *ctx = weft_ctx_of(pd->context);
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_SRQ};
	struct hw_cmd_resp resp;
	struct weft_srq_obj *srq;
	int rc;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	weft_mutex_init(&srq->lock);
	weft_link_init(&srq->node);
	srq->pub.context = pd->context;
	srq->pub.pd = pd;
	srq->pub.xrcd = xrcd;
	srq->pub.cq = cq;
	cmd.u.srq.pd = pd->handle;
	cmd.u.srq.max_wr = attr->max_wr;
	cmd.u.srq.max_sge = attr->max_sge;
	if (xrcd) {
		cmd.u.srq.flags = HW_SRQ_F_XRC;
		cmd.u.srq.xrcd = xrcd->handle;
		cmd.u.srq.cq = cq->handle;
	}
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc == 0) {
		rc = map_ring(ctx, srq, &resp.u.srq);
		if (rc == 0)
			rc = publish(ctx, srq);
		if (rc < 0)
			(void)weft_ctx_command_obj(ctx, HW_CMD_DESTROY_SRQ, resp.u.srq.srq);
	}
	if (rc < 0) {
		weft_srq_free(srq);
		errno = -rc;
		return NULL;
	}
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->limit = 0;
	return &srq->pub;
}

struct weft_srq *weft_create_srq(struct weft_pd *pd, struct weft_srq_attr *attr)
{
	return create(pd, NULL, NULL, attr);
}

struct weft_srq *weft_create_xrc_srq(struct weft_pd *pd, struct weft_xrcd *xrcd, struct weft_cq *cq,
				     struct weft_srq_attr *attr)
{
	if (!xrcd || !cq || xrcd->context != pd->context || cq->context != pd->context) {
		errno = EINVAL;
		return NULL;
	}
	return create(pd, xrcd, cq, attr);
}

void weft_srq_free(struct weft_srq_obj *srq)
{
	weft_link_del(&srq->node);
	pthread_mutex_destroy(&srq->lock);
	free(srq);
}

int weft_modify_srq(struct weft_srq *pub, const struct weft_srq_attr *attr, int mask)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_SRQ};
	struct hw_cmd_resp resp;

	if (mask & WEFT_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (mask & ~WEFT_SRQ_LIMIT)
		return -EINVAL;
	cmd.u.srq.srq = pub->handle;
	cmd.u.srq.limit = attr->limit;
	cmd.u.srq.mask = (uint32_t)mask;
	return weft_ctx_command(weft_ctx_of(pub->context), &cmd, -1, &resp, NULL);
}

int weft_query_srq(struct weft_srq *pub, struct weft_srq_attr *attr)
{
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_SRQ};
	struct hw_cmd_resp resp;
	int rc;

	cmd.u.srq.srq = pub->handle;
	rc = weft_ctx_command(weft_ctx_of(pub->context), &cmd, -1, &resp, NULL);
	if (rc < 0)
		return rc;
	attr->max_wr = resp.u.srq.max_wr;
	attr->max_sge = resp.u.srq.max_sge;
	attr->limit = resp.u.srq.limit;
	return 0;
}

int weft_destroy_srq(struct weft_srq *pub)
{
	struct weft_srq_obj *srq = weft_container_of(pub, struct weft_srq_obj, pub);
	struct weft_cq_obj *cq =
	    pub->cq ? weft_container_of(pub->cq, struct weft_cq_obj, pub) : NULL;
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	pthread_mutex_lock(&ctx->lock);
	rc = srq->refs ? -EBUSY : 0;
	pthread_mutex_unlock(&ctx->lock);
	if (rc < 0)
		return rc;
	rc = weft_ctx_command_obj(ctx, HW_CMD_DESTROY_SRQ, pub->handle);
	if (rc < 0 && rc != -EIO)
		return rc;
	weft_eq_purge(&ctx->async_eq, weft_eqe_of_srq, pub->handle);
	weft_acks_wait(ctx, &srq->async_acks);
	if (cq) {
		pthread_mutex_lock(&cq->lock);
		weft_cq_purge_srq(cq, pub->handle);
		pthread_mutex_unlock(&cq->lock);
	}
	pthread_mutex_lock(&ctx->lock);
	if (cq)
		cq->refs--;
	weft_table_clear(&ctx->srqs, pub->handle, srq);
	weft_srq_free(srq);
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}
