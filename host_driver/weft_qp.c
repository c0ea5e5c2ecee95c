/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: create, modify, query, destroy.
 *
 * weft_post.c posts. Calls the channel; nic_fw/host/qp.c and qp_cmd.c are the NIC's side, which
 * decides which changes are legal. The attributes are those of IBA 11.2.5.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host_driver/weft_db.h"
#include "host_driver/weft_eq.h"
#include "host_driver/weft_tag_priv.h"

enum {
	UD_SETTLE_PAUSES = 2000, /* 0.1 ms each */
};

static uint32_t round_up_pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n && p < 1u << 31)
		p <<= 1;
	return p;
}

/* Returns the number of slots of a send queue for cap; 0: beyond the device's limit. */
static uint32_t sq_slots(const struct weft_qp_cap *cap)
{
	uint32_t data = cap->max_send_sge * (uint32_t)sizeof(struct hw_sge);
	uint64_t need;

	if (data < cap->max_inline_bytes)
		data = cap->max_inline_bytes;
	need = (uint64_t)(cap->max_send_wr ? cap->max_send_wr : 1) * hw_sq_slots(data);
	return need <= HW_MAX_SQ_SLOTS ? round_up_pow2((uint32_t)need) : 0;
}

static int check_init(const struct weft_ctx *ctx, const struct weft_qp_init_attr *attr)
{
	const struct hw_resp_device *d = &ctx->device;
	const struct weft_qp_cap *cap = &attr->cap;

	if (attr->type == WEFT_QPT_XRC_RECV)
		return attr->xrcd ? 0 : -EINVAL;
	if (!attr->send_cq || !attr->recv_cq || attr->send_cq->context != &ctx->pub ||
	    attr->recv_cq->context != &ctx->pub || (attr->srq && attr->srq->context != &ctx->pub) ||
	    attr->flags & ~(uint32_t)(WEFT_QP_F_SQ_SIG_ALL | WEFT_QP_F_UD_LONG |
				      WEFT_QP_F_BLOCK_SELF_MCAST_LB | WEFT_QP_F_NO_PEER_ERROR))
		return -EINVAL;
	if (cap->max_send_wr > d->max_wr || cap->max_recv_wr > d->max_wr ||
	    cap->max_send_sge > d->max_sge || cap->max_recv_sge > d->max_sge ||
	    cap->max_inline_bytes > d->max_inline_bytes || !sq_slots(cap))
		return -EINVAL;
	return 0;
}

static void fill_create(struct hw_cmd_create_qp *c, const struct weft_pd *pd,
			const struct weft_qp_init_attr *attr, bool tagged)
{
	c->type = (uint32_t)attr->type;
	if (attr->type == WEFT_QPT_XRC_RECV) {
		c->srq = HW_SRQ_NONE;
		c->xrcd = attr->xrcd->handle;
		return;
	}
	c->pd = pd->handle;
	c->send_cq = attr->send_cq->handle;
	c->recv_cq = attr->recv_cq->handle;
	c->srq = attr->srq ? attr->srq->handle : HW_SRQ_NONE;
	c->sq_slots = sq_slots(&attr->cap);
	c->max_send_wr = attr->cap.max_send_wr;
	c->max_recv_wr = attr->srq ? 0 : attr->cap.max_recv_wr;
	c->max_send_sge = attr->cap.max_send_sge;
	c->max_recv_sge = attr->srq ? 0 : attr->cap.max_recv_sge;
	c->max_inline_bytes = attr->cap.max_inline_bytes;
	c->flags = attr->flags | (tagged ? HW_QP_F_TAGGED : 0);
}

/* Returns true if an answer holds what posting relies on: sizes within the contract's limits. */
static bool is_sound(const struct weft_qp_obj *qp, const struct hw_resp_create_qp *r)
{
	return r->max_send_sge <= HW_MAX_SGE && r->max_recv_sge <= HW_MAX_SGE &&
	       r->max_inline_bytes <= HW_MAX_INLINE_BYTES && r->sq_slots &&
	       !(r->sq_slots & (r->sq_slots - 1)) && r->max_send_wr <= r->sq_slots &&
	       !(r->rq_entries & (r->rq_entries - 1)) && (!qp->tag || r->rq_entries) &&
	       (!r->rq_entries || r->max_recv_wr <= r->rq_entries);
}

static bool is_as_promised(const struct weft_qp_obj *qp, const struct hw_resp_create_qp *r)
{
	return r->sq_slots == qp->sq.slots && r->rq_entries == qp->rq.entries &&
	       (!r->rq_entries || r->rq_stride_bytes == qp->rq.stride_bytes);
}

/* Promises it rings of the context's stock, if their sizes are known and small enough. */
static void lend(struct weft_ctx *ctx, struct weft_qp_obj *qp, struct hw_cmd_create_qp *c)
{
	uint32_t entries = c->max_recv_wr ? round_up_pow2(c->max_recv_wr) : 0;
	uint32_t stride_bytes = hw_rq_stride_bytes(c->max_recv_sge);

	if (qp->tag || c->type == WEFT_QPT_XRC_RECV ||
	    !weft_ring_promise(ctx, c->sq_slots * HW_SQ_SLOT_BYTES, entries * stride_bytes))
		return;
	c->flags |= HW_QP_F_LENT;
	qp->lent = true;
	qp->sq.slots = c->sq_slots;
	qp->rq.entries = entries;
	qp->rq.stride_bytes = stride_bytes;
}

/*
 * Maps the rings and allocates their host-side records. Returns 0 or a negative errno; frees
 * nothing on failure.
 */
static int map_queues(struct weft_ctx *ctx, struct weft_qp_obj *qp,
		      const struct hw_resp_create_qp *r)
{
	struct weft_sq *sq = &qp->sq;
	struct weft_rq *rq = &qp->rq;
	uint32_t stride_bytes;

	if (qp->pub.type == WEFT_QPT_XRC_RECV)
		return 0;
	if (!is_sound(qp, r))
		return -EPROTO;
	qp->record = weft_ctx_bar(ctx, r->record_offset, sizeof(*qp->record));
	if (!qp->record)
		return -EPROTO;
	sq->wr_mask = round_up_pow2(r->max_send_wr ? r->max_send_wr : 1) - 1;
	if (qp->lent)
		return is_as_promised(qp, r) ? 0 : -EPROTO;
	sq->slots = r->sq_slots;
	sq->ring = weft_ctx_bar(ctx, r->sq_offset, (uint64_t)sq->slots * HW_SQ_SLOT_BYTES);
	if (!sq->ring)
		return -EPROTO;
	sq->wr = calloc((size_t)sq->wr_mask + 1, sizeof(*sq->wr));
	sq->wr_of_slot = calloc(sq->slots, sizeof(*sq->wr_of_slot));
	if (!sq->wr || !sq->wr_of_slot)
		return -ENOMEM;
	if (qp->pub.srq || !r->rq_entries)
		return 0;
	rq->entries = r->rq_entries;
	rq->stride_bytes = r->rq_stride_bytes;
	rq->ring = weft_ctx_bar(ctx, r->rq_offset, (uint64_t)rq->entries * rq->stride_bytes);
	stride_bytes =
	    qp->tag ? hw_tag_stride_bytes(r->max_recv_sge) : hw_rq_stride_bytes(r->max_recv_sge);
	if (!rq->ring || rq->stride_bytes < stride_bytes)
		return -EPROTO;
	/* The wr_ids of a tagged endpoint's operations are in its tables. */
	if (qp->tag)
		return 0;
	rq->wr_id = calloc(rq->entries, sizeof(*rq->wr_id));
	return rq->wr_id ? 0 : -ENOMEM;
}

static void set_refs(struct weft_qp_obj *qp, uint32_t delta)
{
	if (qp->pub.type == WEFT_QPT_XRC_RECV)
		return;
	weft_container_of(qp->pub.send_cq, struct weft_cq_obj, pub)->refs += delta;
	weft_container_of(qp->pub.recv_cq, struct weft_cq_obj, pub)->refs += delta;
	if (qp->pub.srq)
		weft_container_of(qp->pub.srq, struct weft_srq_obj, pub)->refs += delta;
}

int weft_qp_publish(struct weft_ctx *ctx, struct weft_qp_obj *qp)
{
	int rc;

	pthread_mutex_lock(&ctx->lock);
	rc = weft_table_set(&ctx->qps, qp->pub.qpn, qp);
	if (rc == 0) {
		weft_link_add(&ctx->qp_list, &qp->node);
		set_refs(qp, 1);
	}
	pthread_mutex_unlock(&ctx->lock);
	return rc;
}

struct weft_qp_obj *weft_qp_new(struct weft_context *context, struct weft_pd *pd,
				const struct weft_qp_init_attr *attr)
{
	struct weft_qp_obj *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->pub.context = context;
	qp->pub.pd = pd;
	/* An XRC_RECV queue pair has no queues, whatever the program names. */
	if (attr->type != WEFT_QPT_XRC_RECV) {
		qp->pub.send_cq = attr->send_cq;
		qp->pub.recv_cq = attr->recv_cq;
		qp->pub.srq = attr->srq;
	}
	qp->pub.type = attr->type;
	qp->pub.flags = attr->flags;
	qp->pub.user = attr->user;
	qp->pub.xrcd = attr->xrcd;
	qp->state = WEFT_QPS_RESET;
	weft_link_init(&qp->node);
	return qp;
}

struct weft_qp *weft_create_qp(struct weft_pd *pd, struct weft_qp_init_attr *attr)
{
	return weft_qp_create(pd, attr, NULL);
}

struct weft_qp *weft_qp_create(struct weft_pd *pd, struct weft_qp_init_attr *attr,
			       struct weft_tag *tag)
{
	struct weft_context *context = pd ? pd->context : attr->xrcd ? attr->xrcd->context : NULL;
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_resp resp;
	struct weft_qp_obj *qp;
	struct weft_ctx *ctx;
	int rc = -EINVAL;

	if (context && (pd || attr->type == WEFT_QPT_XRC_RECV))
		rc = check_init(weft_ctx_of(context), attr);
	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	ctx = weft_ctx_of(context);
	qp = weft_qp_new(context, pd, attr);
	if (!qp)
		return NULL;
	qp->tag = tag;
	fill_create(&cmd.u.create_qp, pd, attr, tag);
	lend(ctx, qp, &cmd.u.create_qp);
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc == 0) {
		const struct hw_resp_create_qp *r = &resp.u.create_qp;

		qp->pub.qpn = r->qpn;
		qp->pub.cap.max_send_wr = r->max_send_wr;
		qp->pub.cap.max_recv_wr = r->max_recv_wr;
		qp->pub.cap.max_send_sge = r->max_send_sge;
		qp->pub.cap.max_recv_sge = r->max_recv_sge;
		qp->pub.cap.max_inline_bytes = r->max_inline_bytes;
		rc = map_queues(ctx, qp, r);
		if (rc == 0)
			rc = weft_qp_publish(ctx, qp);
		if (rc < 0)
			(void)weft_ctx_command_obj(ctx, HW_CMD_DESTROY_QP, r->qpn);
	}
	if (rc < 0) {
		qp->tag = NULL;
		weft_qp_free(qp);
		errno = -rc;
		return NULL;
	}
	attr->cap = qp->pub.cap;
	return &qp->pub;
}

void weft_qp_free(struct weft_qp_obj *qp)
{
	weft_link_del(&qp->node);
	if (qp->tag)
		weft_tag_free(qp->tag);
	if (qp->lent) {
		weft_ring_leave(qp);
	} else {
		free(qp->sq.wr);
		free(qp->sq.wr_of_slot);
		free(qp->rq.wr_id);
	}
	free(qp);
}

void weft_qp_saw_error(struct weft_qp_obj *qp)
{
	/* On this doorbell the NIC flushes requests that were posted after its error. */
	if (!__atomic_exchange_n(&qp->in_error, true, __ATOMIC_ACQ_REL))
		weft_qp_ring(qp);
}

void weft_qp_ring(struct weft_qp_obj *qp)
{
	struct weft_ctx *ctx = weft_ctx_of(qp->pub.context);

	if (qp->record && weft_ctx_state(ctx) == WEFT_CTX_LIVE)
		weft_db_ring(ctx, &qp->record->rung, HW_DB_ENTRY(HW_DB_SQ, qp->pub.qpn));
}

/*
 * Moves to RESET: the NIC drops all posted requests before it answers, and both sides continue from
 * that index. All locks are held across the command, so that the index is unique.
 */
static int modify_to_reset(struct weft_qp_obj *qp, struct hw_cmd *cmd)
{
	struct weft_cq_obj *send_cq = weft_container_of(qp->pub.send_cq, struct weft_cq_obj, pub);
	struct weft_cq_obj *recv_cq = weft_container_of(qp->pub.recv_cq, struct weft_cq_obj, pub);
	struct hw_cmd_resp resp;
	int rc;

	weft_cq_lock_pair(send_cq, recv_cq);
	weft_lock_take(&qp->sq.lock);
	weft_lock_take(&qp->rq.lock);
	rc = weft_ctx_command(weft_ctx_of(qp->pub.context), cmd, -1, &resp, NULL);
	if (rc == 0) {
		weft_cq_purge(send_cq, qp);
		if (recv_cq != send_cq)
			weft_cq_purge(recv_cq, qp);
		qp->sq.tail = qp->sq.head;
		qp->sq.wr_tail = qp->sq.wr_head;
		__atomic_store_n(&qp->rq.tail, qp->rq.head, __ATOMIC_RELEASE);
		__atomic_store_n(&qp->in_error, false, __ATOMIC_RELEASE);
		__atomic_store_n(&qp->state, WEFT_QPS_RESET, __ATOMIC_RELEASE);
	}
	weft_lock_give(&qp->rq.lock);
	weft_lock_give(&qp->sq.lock);
	weft_cq_unlock_pair(send_cq, recv_cq);
	return rc;
}

void weft_av_to_hw(struct hw_av *hw, const struct weft_av *av)
{
	memset(hw, 0, sizeof(*hw));
	hw->dst_ip = av->dst_ip;
	hw->flags = av->by_ip ? HW_AV_F_GRH : 0;
	hw->sgid_index = av->sgid_index;
	hw->hop_limit = av->hop_limit;
	hw->traffic_class = av->traffic_class;
}

static void attr_to_hw(struct hw_qp_attr *hw, const struct weft_qp_attr *attr)
{
	hw->state = (uint32_t)attr->state;
	hw->cur_state = (uint32_t)attr->cur_state;
	hw->access = attr->access;
	hw->qkey = attr->qkey;
	hw->path_mtu = attr->path_mtu_bytes;
	hw->dst_qpn = attr->dst_qpn;
	hw->sq_psn = attr->sq_psn;
	hw->rq_psn = attr->rq_psn;
	weft_av_to_hw(&hw->av, &attr->av);
	hw->timeout = attr->timeout;
	hw->retry_cnt = attr->retry_cnt;
	hw->rnr_retry = attr->rnr_retry;
	hw->min_rnr_timer = attr->min_rnr_timer;
	hw->max_rd_atomic = attr->max_rd_atomic;
	hw->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	hw->en_sqd_async_notify = attr->en_sqd_async_notify;
	hw->pkey_index = attr->pkey_index;
	hw->port = attr->port;
	hw->transport = (uint8_t)attr->transport;
}

static void attr_from_hw(struct weft_qp_attr *attr, const struct hw_qp_attr *hw)
{
	memset(attr, 0, sizeof(*attr));
	attr->state = (enum weft_qp_state)hw->state;
	attr->cur_state = (enum weft_qp_state)hw->cur_state;
	attr->access = hw->access;
	attr->qkey = hw->qkey;
	attr->path_mtu_bytes = hw->path_mtu;
	attr->dst_qpn = hw->dst_qpn;
	attr->sq_psn = hw->sq_psn;
	attr->rq_psn = hw->rq_psn;
	attr->av.dst_ip = hw->av.dst_ip;
	attr->av.by_ip = hw->av.flags & HW_AV_F_GRH ? 1 : 0;
	attr->av.sgid_index = hw->av.sgid_index;
	attr->av.hop_limit = hw->av.hop_limit;
	attr->av.traffic_class = hw->av.traffic_class;
	attr->timeout = hw->timeout;
	attr->retry_cnt = hw->retry_cnt;
	attr->rnr_retry = hw->rnr_retry;
	attr->min_rnr_timer = hw->min_rnr_timer;
	attr->max_rd_atomic = hw->max_rd_atomic;
	attr->max_dest_rd_atomic = hw->max_dest_rd_atomic;
	attr->en_sqd_async_notify = hw->en_sqd_async_notify;
	attr->sq_draining = hw->sq_draining;
	attr->pkey_index = hw->pkey_index;
	attr->port = hw->port;
	attr->transport = (enum weft_qp_transport)hw->transport;
}

int weft_modify_qp(struct weft_qp *pub, const struct weft_qp_attr *attr, int mask)
{
	struct weft_qp_obj *qp = weft_container_of(pub, struct weft_qp_obj, pub);
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_QP};
	struct hw_cmd_resp resp;
	int rc;

	cmd.u.modify_qp.qpn = pub->qpn;
	cmd.u.modify_qp.mask = (uint32_t)mask;
	attr_to_hw(&cmd.u.modify_qp.attr, attr);
	if (weft_ctx_state(weft_ctx_of(pub->context)) != WEFT_CTX_LIVE)
		return -EIO;
	/* A tagged endpoint lives as long as its memory: it is closed, not reset. */
	if (mask & WEFT_QP_STATE && attr->state == WEFT_QPS_RESET && qp->tag)
		return -EINVAL;
	if (mask & WEFT_QP_STATE && attr->state == WEFT_QPS_RESET && qp->record)
		return modify_to_reset(qp, &cmd);
	rc = weft_ctx_command(weft_ctx_of(pub->context), &cmd, -1, &resp, NULL);
	if (rc < 0 || !(mask & WEFT_QP_STATE))
		return rc;
	__atomic_store_n(&qp->state, (uint32_t)attr->state, __ATOMIC_RELEASE);
	if (attr->state == WEFT_QPS_ERR)
		weft_qp_saw_error(qp);
	return 0;
}

int weft_query_qp(struct weft_qp *pub, struct weft_qp_attr *attr, struct weft_qp_cap *cap)
{
	struct weft_qp_obj *qp = weft_container_of(pub, struct weft_qp_obj, pub);
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_QP, .u.obj.handle = pub->qpn};
	uint32_t before = __atomic_load_n(&qp->state, __ATOMIC_ACQUIRE);
	struct hw_cmd_resp resp;
	int rc;

	rc = weft_ctx_command(weft_ctx_of(pub->context), &cmd, -1, &resp, NULL);
	if (rc < 0)
		return rc;
	attr_from_hw(attr, &resp.u.query_qp.attr);
	/* If another thread has changed the state meanwhile, this answer is outdated. */
	__atomic_compare_exchange_n(&qp->state, &before, (uint32_t)attr->state, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (cap)
		*cap = pub->cap;
	return 0;
}

int weft_qp_to_init(struct weft_qp *pub, uint32_t qkey, uint32_t access)
{
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_INIT, .qkey = qkey, .access = access, .port = 1};
	int mask = WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT | WEFT_QP_QKEY;

	if (pub->type == WEFT_QPT_RD || access)
		mask |= WEFT_QP_ACCESS_FLAGS;
	return weft_modify_qp(pub, &attr, mask);
}

int weft_qp_to_rts(struct weft_qp *pub)
{
	bool rd = pub->type == WEFT_QPT_RD;
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_RTR,
	    .timeout = 19,  /* 12.9 s including retries, the NIC's default: */
	    .retry_cnt = 5, /* a link that is down for 10 s breaks no connection */
	    .rnr_retry = 7,
	    .min_rnr_timer = 12,
	    .max_rd_atomic = 16,
	    .max_dest_rd_atomic = 16,
	};
	int rtr = WEFT_QP_STATE;
	int rts = WEFT_QP_STATE | WEFT_QP_SQ_PSN;
	int rc;

	if (rd) {
		rtr |= WEFT_QP_MAX_DEST_RD_ATOMIC | WEFT_QP_MIN_RNR_TIMER;
		rts |= WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT | WEFT_QP_RNR_RETRY |
		       WEFT_QP_MAX_QP_RD_ATOMIC;
	}
	rc = weft_modify_qp(pub, &attr, rtr);
	attr.state = WEFT_QPS_RTS;
	if (rc == 0)
		rc = weft_modify_qp(pub, &attr, rts);
	return rc;
}

int weft_activate_qp(struct weft_qp *pub, uint32_t qkey, uint32_t access)
{
	int rc;

	if (pub->type != WEFT_QPT_UD && pub->type != WEFT_QPT_RD)
		return -EINVAL;
	rc = weft_qp_to_init(pub, qkey, access);
	return rc < 0 ? rc : weft_qp_to_rts(pub);
}

static void unpublish(struct weft_ctx *ctx, struct weft_qp_obj *qp)
{
	pthread_mutex_lock(&ctx->lock);
	weft_table_clear(&ctx->qps, qp->pub.qpn, qp);
	set_refs(qp, (uint32_t)-1);
	weft_link_del(&qp->node);
	pthread_mutex_unlock(&ctx->lock);
}

/* Clears references to the QP from its CQs. */
static void unpublish_from_cqs(struct weft_ctx *ctx, struct weft_qp_obj *qp)
{
	struct weft_cq_obj *send_cq = weft_container_of(qp->pub.send_cq, struct weft_cq_obj, pub);
	struct weft_cq_obj *recv_cq = weft_container_of(qp->pub.recv_cq, struct weft_cq_obj, pub);

	weft_cq_lock_pair(send_cq, recv_cq);
	weft_cq_purge(send_cq, qp);
	if (recv_cq != send_cq)
		weft_cq_purge(recv_cq, qp);
	unpublish(ctx, qp);
	weft_cq_unlock_pair(send_cq, recv_cq);
}

int weft_destroy_qp(struct weft_qp *pub)
{
	struct weft_qp_obj *qp = weft_container_of(pub, struct weft_qp_obj, pub);
	struct weft_ctx *ctx = weft_ctx_of(pub->context);
	int rc;

	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		return -EIO;
	if (pub->type == WEFT_QPT_XRC_RECV && weft_qp_leave(ctx, qp)) {
		weft_acks_wait(ctx, &qp->async_acks);
		weft_qp_free(qp);
		return 0;
	}
	rc = weft_ctx_command_obj(ctx, HW_CMD_DESTROY_QP, pub->qpn);
	if (rc < 0 && rc != -EIO) {
		if (pub->type == WEFT_QPT_XRC_RECV)
			(void)weft_qp_publish(ctx, qp); /* its table leaf exists */
		return rc;
	}
	weft_eq_purge(&ctx->async_eq, weft_eqe_of_qp, pub->qpn);
	weft_acks_wait(ctx, &qp->async_acks);
	if (qp->record)
		unpublish_from_cqs(ctx, qp);
	else
		unpublish(ctx, qp);
	weft_qp_free(qp);
	return 0;
}

/* Returns true for a UD queue pair in RTS; if only is set, for no other QP. */
static bool is_sending_ud(const struct weft_qp_obj *qp, const struct weft_qp_obj *only)
{
	return (!only || qp == only) && qp->pub.type == WEFT_QPT_UD &&
	       __atomic_load_n(&qp->state, __ATOMIC_ACQUIRE) == WEFT_QPS_RTS;
}

void weft_ud_mark(struct weft_ctx *ctx, struct weft_qp_obj *only)
{
	struct weft_link *at;

	pthread_mutex_lock(&ctx->lock);
	for (at = ctx->qp_list.next; at != &ctx->qp_list; at = at->next) {
		struct weft_qp_obj *qp = weft_container_of(at, struct weft_qp_obj, node);

		if (is_sending_ud(qp, only))
			qp->ud_mark = __atomic_load_n(&qp->record->sq_prod, __ATOMIC_ACQUIRE);
	}
	pthread_mutex_unlock(&ctx->lock);
}

bool weft_ud_is_unread(struct weft_ctx *ctx, const struct weft_qp_obj *only)
{
	bool found = false;
	const struct weft_link *at;

	pthread_mutex_lock(&ctx->lock);
	for (at = ctx->qp_list.next; at != &ctx->qp_list && !found; at = at->next) {
		const struct weft_qp_obj *qp = weft_container_of(at, struct weft_qp_obj, node);

		found = is_sending_ud(qp, only) &&
			(int32_t)(qp->ud_mark - weft_barrier_sq_cons(qp->record)) > 0;
	}
	pthread_mutex_unlock(&ctx->lock);
	return found;
}

uint32_t weft_ud_settle(struct weft_ctx *ctx, struct weft_qp_obj *only)
{
	const struct timespec pause = {.tv_nsec = 100000};
	uint32_t pauses = 0;

	/* The next hop does not respond or the link is down: wait only once. */
	if (__atomic_load_n(&ctx->ud_stuck, __ATOMIC_RELAXED) && weft_ud_is_unread(ctx, only))
		return 0;
	weft_ud_mark(ctx, only);
	while (weft_ctx_state(ctx) == WEFT_CTX_LIVE && weft_ud_is_unread(ctx, only)) {
		if (pauses == UD_SETTLE_PAUSES) {
			__atomic_store_n(&ctx->ud_stuck, true, __ATOMIC_RELAXED);
			return pauses;
		}
		(void)nanosleep(&pause, NULL);
		pauses++;
	}
	if (!only)
		__atomic_store_n(&ctx->ud_stuck, false, __ATOMIC_RELAXED);
	return pauses;
}
