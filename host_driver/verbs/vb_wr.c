/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ibv_wr_*() functions: build requests between ibv_wr_start() and ibv_wr_complete().
 *
 * wr_start takes the builder's lock; wr_complete and wr_abort release it. The requests are posted
 * as one list with one doorbell. If an error occurred or the list does not fit, wr_complete()
 * returns it and nothing is posted (ibv_wr_post(3)). Calls weft_post.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/verbs/vb.h"
#include "host_driver/weft_priv.h"

static struct vb_qp *of(struct ibv_qp_ex *ex)
{
	return VB_OF(ex, struct vb_qp, ex);
}

static void fail(struct vb_builder *b, int err)
{
	if (!b->err)
		b->err = err;
}

/* Returns the request that setters modify; NULL: none, or an error occurred. */
static struct weft_send_wr *current(struct vb_builder *b)
{
	if (!b->err && !b->num_wr)
		fail(b, EINVAL);
	return b->err ? NULL : &b->wr[b->num_wr - 1];
}

static struct weft_send_wr *begin(struct ibv_qp_ex *ex, enum weft_wr_opcode opcode)
{
	struct vb_builder *b = of(ex)->builder;
	struct weft_send_wr *w;

	if (b->num_wr == b->max_wr)
		fail(b, ENOMEM);
	if (b->err)
		return NULL;
	w = &b->wr[b->num_wr];
	*w = (struct weft_send_wr){
	    .wr_id = ex->wr_id,
	    .opcode = opcode,
	    .flags = (ex->wr_flags & IBV_SEND_SIGNALED ? WEFT_SEND_SIGNALED : 0) |
		     (ex->wr_flags & IBV_SEND_SOLICITED ? WEFT_SEND_SOLICITED : 0) |
		     (ex->wr_flags & IBV_SEND_FENCE ? WEFT_SEND_FENCE : 0)};
	if (b->num_wr)
		b->wr[b->num_wr - 1].next = w;
	b->num_wr++;
	return w;
}

static struct weft_send_wr *begin_rdma(struct ibv_qp_ex *ex, enum weft_wr_opcode opcode,
				       uint32_t rkey, uint64_t remote_addr)
{
	struct weft_send_wr *w = begin(ex, opcode);

	if (w) {
		w->rkey = rkey;
		w->remote_addr = remote_addr;
	}
	return w;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin(ex, WEFT_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	struct weft_send_wr *w = begin(ex, WEFT_WR_SEND_IMM);

	if (w)
		w->imm = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct weft_send_wr *w = begin(ex, WEFT_WR_SEND_INV);

	if (w)
		w->inv_stag = rkey;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, WEFT_WR_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	struct weft_send_wr *w = begin_rdma(ex, WEFT_WR_WRITE_IMM, rkey, remote_addr);

	if (w)
		w->imm = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, WEFT_WR_READ, rkey, remote_addr);
}

static void wr_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
		       uint64_t swap)
{
	struct weft_send_wr *w = begin_rdma(ex, WEFT_WR_CMP_SWAP, rkey, remote_addr);

	if (w) {
		w->compare_add = compare;
		w->swap = swap;
	}
}

static void wr_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	struct weft_send_wr *w = begin_rdma(ex, WEFT_WR_FETCH_ADD, rkey, remote_addr);

	if (w)
		w->compare_add = add;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct weft_send_wr *w = begin(ex, WEFT_WR_LOCAL_INV);

	if (w)
		w->inv_stag = rkey;
}

/* Reserves SGEs for the current request. On failure returns NULL and sets the builder's error. */
static struct weft_sge *sges(struct vb_builder *b, size_t n)
{
	struct weft_send_wr *w = current(b);
	struct weft_sge *at;

	if (!w)
		return NULL;
	if (n > b->max_sge || b->num_sge + n > (size_t)b->max_sge * b->max_wr) {
		fail(b, EINVAL);
		return NULL;
	}
	at = &b->sge[b->num_sge];
	b->num_sge += (uint32_t)n;
	w->sg_list = at;
	w->num_sge = (uint32_t)n;
	return at;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct vb_builder *b = of(ex)->builder;
	struct weft_send_wr *w = begin(ex, WEFT_WR_BIND_MW);
	struct weft_sge *sge = w ? sges(b, 1) : NULL;

	if (!sge)
		return;
	if (mw->type != IBV_MW_TYPE_2 || info->length > UINT32_MAX) {
		fail(b, EINVAL);
		return;
	}
	*sge = (struct weft_sge){.addr = info->addr,
				 .bytes = (uint32_t)info->length,
				 .lkey = info->mr ? info->mr->lkey : 0};
	w->rkey = rkey;
	w->mw_access = vb_mw_rights(info->mw_access_flags);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct weft_sge *at = sges(of(ex)->builder, n);

	if (at && n)
		memcpy(at, list, n * sizeof(*at));
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sge);
}

/* The caller may reuse the data on return, so a copy is kept until wr_complete(). */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct vb_builder *b = of(ex)->builder;
	struct weft_sge *sge = sges(b, 1);
	uint8_t *at = b->inline_data + b->inline_bytes;
	size_t bytes = 0;

	if (!sge)
		return;
	for (size_t i = 0; i < n; i++) {
		if (list[i].length > b->max_inline_bytes - bytes) {
			fail(b, ENOMEM);
			return;
		}
		if (list[i].length)
			memcpy(at + bytes, list[i].addr, list[i].length);
		bytes += list[i].length;
	}
	*sge = (struct weft_sge){.addr = (uintptr_t)at, .bytes = (uint32_t)bytes};
	b->inline_bytes += (uint32_t)bytes;
	b->wr[b->num_wr - 1].flags |= WEFT_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct weft_send_wr *w = current(of(ex)->builder);

	if (!w)
		return;
	w->ah = vb_ah_of(ah)->weft;
	w->dst_qpn = qpn;
	w->qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct weft_send_wr *w = current(of(ex)->builder);

	if (w)
		w->qkey = srqn;
}

/* No weft QP supports these operations: a call is a program error, which wr_complete() returns. */
static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	fail(of(ex)->builder, EINVAL);
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	(void)rkey;
	(void)remote_addr;
	(void)atomic_wr;
	fail(of(ex)->builder, EINVAL);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct vb_builder *b = of(ex)->builder;

	pthread_mutex_lock(&b->lock);
	b->err = 0;
	b->num_wr = b->num_sge = b->inline_bytes = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct vb_qp *qp = of(ex);
	struct vb_builder *b = qp->builder;
	int rc = -b->err;

	if (rc == 0 && b->num_wr)
		rc = weft_post_send_whole(qp->weft, b->wr);
	pthread_mutex_unlock(&b->lock);
	return -rc;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&of(ex)->builder->lock);
}

static void fill(struct ibv_qp_ex *ex)
{
	ex->wr_atomic_cmp_swp = wr_cmp_swp;
	ex->wr_atomic_fetch_add = wr_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_send_tso = wr_send_tso;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_write = wr_atomic_write;
}

bool vb_wr_init(struct vb_qp *qp)
{
	const struct weft_qp_cap *cap = &qp->weft->cap;
	struct vb_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return false;
	b->max_wr = cap->max_send_wr ? cap->max_send_wr : 1;
	b->max_sge = cap->max_send_sge ? cap->max_send_sge : 1;
	b->max_inline_bytes = cap->max_inline_bytes;
	b->wr = calloc(b->max_wr, sizeof(*b->wr));
	b->sge = calloc((size_t)b->max_wr * b->max_sge, sizeof(*b->sge));
	b->inline_data = calloc((size_t)b->max_wr + 1, b->max_inline_bytes + 1);
	pthread_mutex_init(&b->lock, NULL);
	qp->builder = b;
	if (!b->wr || !b->sge || !b->inline_data) {
		vb_wr_free(qp);
		return false;
	}
	fill(&qp->ex);
	return true;
}

void vb_wr_free(struct vb_qp *qp)
{
	struct vb_builder *b = qp->builder;

	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b->wr);
	free(b->sge);
	free(b->inline_data);
	free(b);
	qp->builder = NULL;
}
