/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints: open, close, query.
 *
 * An endpoint is an RD queue pair with HW_QP_F_TAGGED, a pool of memory for unexpected messages,
 * and tables of outstanding requests (weft_tag_priv.h). Calls weft_qp.c, weft_alloc.c and the
 * channel; nic_fw/tag is the NIC's side. docs/tagged.md.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_driver/weft_tag_priv.h"

enum {
	DEFAULT_SEND_WR = 256,
	DEFAULT_RECV_WR = 512,
	DEFAULT_SGE = 4,
	DEFAULT_INLINE_BYTES = 192,
	DEFAULT_POOL_BYTES = 64 << 20,
	POOL_UNIT_BYTES = 4096,
};

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

static void fill_init(struct weft_qp_init_attr *init, const struct weft_tag_attr *attr)
{
	const struct weft_qp_cap *cap = &attr->cap;

	*init = (struct weft_qp_init_attr){
	    .type = WEFT_QPT_RD,
	    .send_cq = attr->send_cq,
	    .recv_cq = attr->recv_cq,
	    .user = attr->user,
	    .cap = {.max_send_wr = or_default(cap->max_send_wr, DEFAULT_SEND_WR),
		    .max_recv_wr = or_default(cap->max_recv_wr, DEFAULT_RECV_WR),
		    .max_send_sge = or_default(cap->max_send_sge, DEFAULT_SGE),
		    .max_recv_sge = or_default(cap->max_recv_sge, DEFAULT_SGE),
		    .max_inline_bytes = or_default(cap->max_inline_bytes, DEFAULT_INLINE_BYTES)},
	};
}

/* Allocates and registers the pool. Its pages are committed when the NIC first uses them. */
static int make_pool(struct weft_tag *tag, struct weft_pd *pd, uint64_t bytes)
{
	if (bytes > SIZE_MAX - POOL_UNIT_BYTES)
		return -ENOMEM;
	bytes = (bytes + POOL_UNIT_BYTES - 1) / POOL_UNIT_BYTES * POOL_UNIT_BYTES;
	tag->pub.pool_bytes = bytes;
	tag->pool = weft_alloc(pd->context, bytes);
	if (!tag->pool)
		return -errno;
	tag->pool_mr = weft_reg_mr(pd, tag->pool, bytes, WEFT_ACCESS_LOCAL_WRITE);
	return tag->pool_mr ? 0 : -errno;
}

static int command_open(const struct weft_tag *tag, const struct weft_tag_attr *attr)
{
	static const uint32_t flags[] = {
	    [WEFT_TAG_ANNOUNCE_ADAPTIVE] = 0,
	    [WEFT_TAG_ANNOUNCE_NEVER] = HW_TAG_OPEN_F_NO_ANNOUNCE,
	    [WEFT_TAG_ANNOUNCE_ALWAYS] = HW_TAG_OPEN_F_ANNOUNCE_ALWAYS,
	};
	struct hw_cmd cmd = {.op = HW_CMD_TAG_OPEN};
	struct hw_cmd_resp resp;

	cmd.u.tag_open = (struct hw_cmd_tag_open){
	    .qpn = tag->pub.qp->qpn,
	    .pool_stag = tag->pool_mr ? tag->pool_mr->lkey : 0,
	    .pool_addr = (uintptr_t)tag->pool,
	    .pool_bytes = tag->pub.pool_bytes,
	    .pool_low_bytes = attr->pool_low_bytes,
	    .eager_bytes = tag->pub.eager_bytes,
	    .flags = flags[attr->announce],
	};
	if (attr->context)
		cmd.u.tag_open.flags |= HW_TAG_OPEN_F_CONTEXT;
	if (attr->receives_of) {
		cmd.u.tag_open.flags |= HW_TAG_OPEN_F_MEMBER;
		cmd.u.tag_open.context_qpn = attr->receives_of->qp->qpn;
	}
	return weft_ctx_command(weft_ctx_of(tag->pub.qp->context), &cmd, -1, &resp, NULL);
}

static int open_qp(struct weft_tag *tag, struct weft_pd *pd, struct weft_tag_attr *attr)
{
	struct weft_qp_init_attr init;
	int rc;

	fill_init(&init, attr);
	tag->pub.qp = weft_qp_create(pd, &init, tag);
	if (!tag->pub.qp)
		return -errno;
	attr->cap = init.cap;
	rc = weft_qp_to_init(tag->pub.qp, attr->qkey, attr->access);
	if (rc == 0)
		rc = command_open(tag, attr);
	/* No peer reaches a context in INIT. */
	return rc < 0 || attr->context ? rc : weft_qp_to_rts(tag->pub.qp);
}

/* A weftd without tagged endpoints knows neither the flag (EINVAL) nor the command. */
static bool is_too_old(struct weft_ctx *ctx)
{
	return weft_ctx_command_obj(ctx, HW_CMD_TAG_QUERY, 0) == -EOPNOTSUPP;
}

struct weft_tag_ep *weft_open_tag_ep(struct weft_pd *pd, struct weft_tag_attr *attr)
{
	struct weft_tag *tag;
	int rc = 0;

	if (attr->eager_bytes > HW_TAG_MAX_EAGER_BYTES ||
	    (unsigned int)attr->announce > WEFT_TAG_ANNOUNCE_ALWAYS) {
		errno = EINVAL;
		return NULL;
	}
	tag = calloc(1, sizeof(*tag));
	if (!tag)
		return NULL;
	tag->pub.user = attr->user;
	tag->pub.eager_bytes = or_default(attr->eager_bytes, HW_TAG_DEFAULT_EAGER_BYTES);
	rc = weft_tag_slots_init(&tag->sends,
				 HW_TAG_MAX_OPEN_SENDS +
				     or_default(attr->cap.max_send_wr, DEFAULT_SEND_WR));
	if (rc == 0)
		rc = weft_tag_shared_init(tag, attr,
					  HW_TAG_MAX_POSTED +
					      or_default(attr->cap.max_recv_wr, DEFAULT_RECV_WR));
	if (rc == 0 && !attr->context)
		rc = make_pool(tag, pd, attr->pool_bytes ? attr->pool_bytes : DEFAULT_POOL_BYTES);
	if (rc == 0)
		rc = open_qp(tag, pd, attr);
	if (rc == -EINVAL && is_too_old(weft_ctx_of(pd->context)))
		rc = -EOPNOTSUPP;
	if (rc < 0) {
		weft_close_tag_ep(&tag->pub);
		errno = -rc;
		return NULL;
	}
	return &tag->pub;
}

static void free_parts(struct weft_tag *tag)
{
	weft_free(tag->pool, tag->pub.pool_bytes);
	weft_tag_slots_free(&tag->sends);
	weft_tag_slots_free(&tag->recvs);
	weft_tag_shared_put(tag);
	free(tag);
}

void weft_tag_free(struct weft_tag *tag)
{
	/* weft_close_tag_ep() keeps the memory, which the NIC uses until the QP is gone. */
	if (!tag->pub.qp)
		return;
	if (tag->pool_mr)
		weft_mr_free(weft_container_of(tag->pool_mr, struct weft_mr_obj, pub));
	free_parts(tag);
}

void weft_close_tag_ep(struct weft_tag_ep *ep)
{
	struct weft_tag *tag = weft_container_of(ep, struct weft_tag, pub);
	struct weft_qp *qp = ep->qp;

	if (qp) {
		if (weft_ctx_state(weft_ctx_of(qp->context)) == WEFT_CTX_FORKED)
			return;
		ep->qp = NULL;
		if (weft_destroy_qp(qp) < 0) {
			/* The NIC may still use the memory, which then ends with the context. */
			ep->qp = qp;
			return;
		}
	}
	/* The pool is unmapped only if the NIC has let go of it, or is gone. */
	if (tag->pool_mr && weft_dereg_mr(tag->pool_mr) < 0)
		return;
	free_parts(tag);
}

int weft_query_tag_ep(struct weft_tag_ep *ep, struct weft_tag_stats *stats)
{
	struct hw_cmd cmd = {.op = HW_CMD_TAG_QUERY, .u.obj.handle = ep->qp->qpn};
	const struct hw_resp_tag_query *r;
	struct hw_cmd_resp resp;
	int rc;

	rc = weft_ctx_command(weft_ctx_of(ep->qp->context), &cmd, -1, &resp, NULL);
	if (rc < 0)
		return rc;
	r = &resp.u.tag_query;
	*stats = (struct weft_tag_stats){
	    .posted = r->posted,
	    .unexpected = r->unexpected,
	    .open_sends = r->open_sends,
	    .claimed = r->claimed,
	    .pool_bytes = r->pool_bytes,
	    .pool_used_bytes = r->pool_used_bytes,
	    .matched_posted = r->matched_posted,
	    .matched_unexpected = r->matched_unexpected,
	    .rendezvous = r->rendezvous,
	    .announced = r->announced,
	    .announced_used = r->announced_used,
	    .pool_refused = r->pool_refused,
	};
	return 0;
}
