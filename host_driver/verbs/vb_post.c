/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting: converts lists of ibv_send_wr and ibv_recv_wr to libweft's lists, with one doorbell per
 * batch.
 *
 * Calls weft_post.c, which checks the requests.
 */
#include <errno.h>

#include "host_driver/verbs/vb.h"

static_assert(sizeof(struct weft_sge) == sizeof(struct ibv_sge), "lists of SGEs are passed on");
static_assert(offsetof(struct weft_sge, bytes) == offsetof(struct ibv_sge, length), "");
static_assert(offsetof(struct weft_sge, lkey) == offsetof(struct ibv_sge, lkey), "");

/* Indexed by verbs opcode; later opcodes are not supported. */
static const int8_t opcodes[] = {
    [IBV_WR_RDMA_WRITE] = WEFT_WR_WRITE,
    [IBV_WR_RDMA_WRITE_WITH_IMM] = WEFT_WR_WRITE_IMM,
    [IBV_WR_SEND] = WEFT_WR_SEND,
    [IBV_WR_SEND_WITH_IMM] = WEFT_WR_SEND_IMM,
    [IBV_WR_RDMA_READ] = WEFT_WR_READ,
    [IBV_WR_ATOMIC_CMP_AND_SWP] = WEFT_WR_CMP_SWAP,
    [IBV_WR_ATOMIC_FETCH_AND_ADD] = WEFT_WR_FETCH_ADD,
    [IBV_WR_LOCAL_INV] = WEFT_WR_LOCAL_INV,
    [IBV_WR_BIND_MW] = WEFT_WR_BIND_MW,
    [IBV_WR_SEND_WITH_INV] = WEFT_WR_SEND_INV,
};

enum {
	NUM_OPCODES = sizeof(opcodes) / sizeof(opcodes[0])
};

static uint32_t flags_from(unsigned int flags)
{
	return (flags & IBV_SEND_SIGNALED ? WEFT_SEND_SIGNALED : 0) |
	       (flags & IBV_SEND_SOLICITED ? WEFT_SEND_SOLICITED : 0) |
	       (flags & IBV_SEND_FENCE ? WEFT_SEND_FENCE : 0) |
	       (flags & IBV_SEND_INLINE ? WEFT_SEND_INLINE : 0);
}

/* mr NULL: unbinds the window. */
static void set_bind(struct weft_send_wr *w, struct weft_sge *sge, uint32_t rkey,
		     const struct ibv_mw_bind_info *info)
{
	*sge = (struct weft_sge){.addr = info->addr,
				 .bytes = (uint32_t)info->length,
				 .lkey = info->mr ? info->mr->lkey : 0};
	w->sg_list = sge;
	w->num_sge = 1;
	w->rkey = rkey;
	w->mw_access = vb_mw_rights(info->mw_access_flags);
}

/* The range of a window is passed as an SGE, whose length has 32 bits. */
static int convert(struct ibv_qp *qp, const struct ibv_send_wr *wr, struct weft_send_wr *w,
		   struct weft_sge *bind_sge)
{
	if ((unsigned int)wr->opcode >= NUM_OPCODES || wr->num_sge < 0)
		return -EINVAL;
	*w = (struct weft_send_wr){
	    .wr_id = wr->wr_id,
	    .sg_list = (const struct weft_sge *)wr->sg_list,
	    .num_sge = (uint32_t)wr->num_sge,
	    .opcode = (enum weft_wr_opcode)opcodes[wr->opcode],
	    .flags = flags_from(wr->send_flags),
	    .imm = wr->imm_data,
	    .inv_stag = wr->invalidate_rkey,
	};
	if (wr->opcode == IBV_WR_BIND_MW) {
		if (wr->bind_mw.bind_info.length > UINT32_MAX)
			return -EINVAL;
		set_bind(w, bind_sge, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	} else if (qp->qp_type == IBV_QPT_UD) {
		/* For other opcodes the union holds other members. */
		if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
			return -EINVAL;
		w->ah = wr->wr.ud.ah ? vb_ah_of(wr->wr.ud.ah)->weft : NULL;
		w->dst_qpn = wr->wr.ud.remote_qpn;
		w->qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare_add = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
	} else {
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		w->qkey = wr->qp_type.xrc.remote_srqn;
	return 0;
}

int vb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct weft_qp *weft = vb_qp_of(qp)->weft;
	struct weft_send_wr w[VB_POST_BATCH];
	struct weft_sge bind[VB_POST_BATCH];
	int rc = 0;

	while (wr && rc == 0) {
		struct ibv_send_wr *at = wr;
		const struct weft_send_wr *bad = NULL;
		int n = 0, sent;

		for (; at && n < VB_POST_BATCH; at = at->next, n++) {
			rc = convert(qp, at, &w[n], &bind[n]);
			if (rc < 0)
				break;
			if (n)
				w[n - 1].next = &w[n];
		}
		sent = n ? weft_post_send(weft, w, &bad) : 0;
		if (sent < 0) {
			for (int i = (int)(bad - w); i > 0; i--)
				wr = wr->next;
			rc = sent;
		} else {
			wr = at;
		}
	}
	if (rc < 0 && bad_wr)
		*bad_wr = wr;
	return -rc;
}

static int convert_recv(const struct ibv_recv_wr *wr, struct weft_recv_wr *w)
{
	if (wr->num_sge < 0)
		return -EINVAL;
	*w = (struct weft_recv_wr){.wr_id = wr->wr_id,
				   .sg_list = (const struct weft_sge *)wr->sg_list,
				   .num_sge = (uint32_t)wr->num_sge};
	return 0;
}

/* Posts to qp or srq. */
static int post_recvs(struct weft_qp *qp, struct weft_srq *srq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct weft_recv_wr w[VB_POST_BATCH];
	int rc = 0;

	while (wr && rc == 0) {
		struct ibv_recv_wr *at = wr;
		const struct weft_recv_wr *bad = NULL;
		int n = 0, posted = 0;

		for (; at && n < VB_POST_BATCH; at = at->next, n++) {
			rc = convert_recv(at, &w[n]);
			if (rc < 0)
				break;
			if (n)
				w[n - 1].next = &w[n];
		}
		if (n)
			posted =
			    qp ? weft_post_recv(qp, w, &bad) : weft_post_srq_recv(srq, w, &bad);
		if (posted < 0) {
			for (int i = (int)(bad - w); i > 0; i--)
				wr = wr->next;
			rc = posted;
		} else {
			wr = at;
		}
	}
	if (rc < 0 && bad_wr)
		*bad_wr = wr;
	return -rc;
}

int vb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return post_recvs(vb_qp_of(qp)->weft, NULL, wr, bad_wr);
}

int vb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return post_recvs(NULL, vb_srq_of(srq)->weft, wr, bad_wr);
}

/* The window gets its next key at once; requests posted after this one may use it. */
int vb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct weft_send_wr w = {
	    .wr_id = bind->wr_id, .opcode = WEFT_WR_BIND_MW, .flags = flags_from(bind->send_flags)};
	struct weft_sge sge;
	int rc;

	if (bind->bind_info.length > UINT32_MAX)
		return vb_result(-EINVAL);
	set_bind(&w, &sge, mw->rkey, &bind->bind_info);
	rc = weft_post_send(vb_qp_of(qp)->weft, &w, NULL);
	if (rc == 0)
		mw->rkey = ibv_inc_rkey(mw->rkey);
	return vb_result(rc);
}
