/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA Writes and Reads on the endpoint's queue pair. A Write with data for the peer's completion
 * queue is followed by a message that carries it (wf_op.c). fi_rma(3).
 */
#include "host_driver/fabric/fi_weft.h"

#include <sched.h>

/* The parameters of all calls. */
struct rma {
	const struct iovec *iov;
	void **desc;
	size_t count;
	fi_addr_t addr;
	uint64_t remote, key;
	uint64_t data;
	void *context;
	bool read;
};

/* Fills in the pieces. 0 or a negative errno. */
static int fill_sges(struct wf_qp *qp, const struct rma *rma, uint64_t flags, size_t bytes,
		     struct weft_sge *sge, struct weft_send_wr *wr, struct wf_hold *hold)
{
	uint32_t n = 0;
	size_t i;
	int rc;

	if (!rma->read && bytes <= qp->ep->qp->cap.max_inline_bytes) {
		for (i = 0; i < rma->count; i++) {
			if (rma->iov[i].iov_len)
				sge[n++] = (struct weft_sge){(uintptr_t)rma->iov[i].iov_base,
							     (uint32_t)rma->iov[i].iov_len, 0};
		}
		wr->flags |= WEFT_SEND_INLINE;
		wr->num_sge = n;
		return 0;
	}
	if (flags & FI_INJECT)
		return -FI_EMSGSIZE;
	rc = wf_mr_sges(qp->domain, rma->iov, rma->desc, rma->count,
			rma->read ? WF_USE_RECV : WF_USE_SEND, sge, hold);
	if (rc >= 0)
		wr->num_sge = (uint32_t)rc;
	return rc < 0 ? rc : 0;
}

/*
 * Posts the message behind a Write. The queue becomes free by itself, and the Write cannot be taken
 * back, so a full queue is waited for.
 */
static int post_note(struct wf_qp *qp, const struct wf_peer *peer, const struct rma *rma,
		     size_t bytes, uint64_t wr_id, bool signaled)
{
	struct weft_tag_send_wr wr = {.wr_id = wr_id,
				      .flags = WEFT_TAG_DATA | WEFT_TAG_INLINE |
					       (signaled ? 0 : WEFT_TAG_UNSIGNALED),
				      .ah = peer->ah,
				      .dst_qpn = peer->addr.qpn,
				      .tag = WF_NOTE_TAG | bytes,
				      .data = rma->data};
	int rc;

	while ((rc = weft_tag_send(qp->ep, &wr)) == -ENOMEM)
		sched_yield();
	return rc;
}

static ssize_t wf_rma(struct wf_ep *ep, const struct rma *rma, uint64_t flags)
{
	struct wf_qp *qp = ep->qp;
	enum wf_count count = rma->read ? WF_READS : WF_WRITES;
	bool note = flags & FI_REMOTE_CQ_DATA;
	struct weft_sge sge[WF_IOV];
	struct weft_send_wr wr = {.sg_list = sge,
				  .opcode = rma->read ? WEFT_WR_READ : WEFT_WR_WRITE,
				  .rkey = (uint32_t)rma->key,
				  .remote_addr = rma->remote,
				  .qkey = UINT32_C(1) << 31};
	struct wf_hold hold = {.count = 0};
	const struct wf_peer *peer;
	struct wf_op *op = NULL;
	size_t i, bytes = 0;
	int rc;

	if (!qp->ep)
		return wf_not_open(qp);
	peer = wf_av_peer(qp->av, rma->addr);
	if (!peer || rma->count > WF_IOV || (note && rma->read))
		return -FI_EINVAL;
	if (rma->key > UINT32_MAX)
		return -FI_EKEYREJECTED;
	for (i = 0; i < rma->count; i++)
		bytes += rma->iov[i].iov_len;
	if (bytes > qp->max_msg_bytes)
		return -FI_EMSGSIZE;
	rc = fill_sges(qp, rma, flags, bytes, sge, &wr, &hold);
	if (rc)
		return rc;
	wr.ah = peer->ah;
	wr.dst_qpn = peer->addr.qpn;
	wr.wr_id = (uintptr_t)&qp->silent;
	if (wf_op_needed(qp, count, flags, &hold)) {
		op = wf_op_get(qp, qp->tx_cq, note ? 2 : 1);
		if (!op) {
			wf_mr_release(qp->domain, &hold, 0);
			return -FI_EAGAIN;
		}
		op->context = rma->context;
		op->buf = NULL;
		op->flags = FI_RMA | (rma->read ? FI_READ : FI_WRITE);
		op->count = (uint8_t)count;
		op->silent = !(flags & FI_COMPLETION);
		if (hold.count)
			op->hold = hold;
		wr.wr_id = (uintptr_t)op;
		wr.flags |= WEFT_SEND_SIGNALED;
	}
	rc = weft_post_send(qp->ep->qp, &wr, NULL);
	if (rc) {
		if (op)
			wf_op_drop(op);
		return wf_post_result(rc);
	}
	return note ? post_note(qp, peer, rma, bytes, wr.wr_id, op != NULL) : 0;
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			uint64_t addr, uint64_t key, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {buf, len};
	struct rma rma = {&iov, &desc, 1, src_addr, addr, key, 0, context, true};

	return wf_rma(ep, &rma, wf_ep_tx_flags(ep) & ~FI_REMOTE_CQ_DATA & ~FI_INJECT);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct rma rma = {iov, desc, count, src_addr, addr, key, 0, context, true};

	return wf_rma(ep, &rma, wf_ep_tx_flags(ep) & ~FI_REMOTE_CQ_DATA & ~FI_INJECT);
}

/* Translates the calls with flags. */
static ssize_t rma_msg(struct wf_ep *ep, const struct fi_msg_rma *msg, uint64_t flags, bool read)
{
	struct rma rma = {msg->msg_iov, msg->desc, msg->iov_count, msg->addr, 0, 0, msg->data,
			  msg->context, read};
	size_t i, bytes = 0;

	if (msg->rma_iov_count > 1 || !msg->rma_iov_count)
		return -FI_EINVAL;
	for (i = 0; i < msg->iov_count; i++)
		bytes += msg->msg_iov[i].iov_len;
	if (bytes != msg->rma_iov[0].len)
		return -FI_EINVAL;
	rma.remote = msg->rma_iov[0].addr;
	rma.key = msg->rma_iov[0].key;
	return wf_rma(ep, &rma, wf_ep_tx_msg_flags(ep, flags));
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(container_of(fid, struct wf_ep, fid), msg, flags, true);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct rma rma = {&iov, &desc, 1, dest_addr, addr, key, 0, context, false};

	return wf_rma(ep, &rma, wf_ep_tx_flags(ep) & ~FI_REMOTE_CQ_DATA);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct rma rma = {iov, desc, count, dest_addr, addr, key, 0, context, false};

	return wf_rma(ep, &rma, wf_ep_tx_flags(ep) & ~FI_REMOTE_CQ_DATA);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(container_of(fid, struct wf_ep, fid), msg, flags, false);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr,
			  uint64_t addr, uint64_t key)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct rma rma = {&iov, NULL, 1, dest_addr, addr, key, 0, NULL, false};

	return wf_rma(container_of(fid, struct wf_ep, fid), &rma, FI_INJECT);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     void *context)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct rma rma = {&iov, &desc, 1, dest_addr, addr, key, data, context, false};

	return wf_rma(ep, &rma, wf_ep_tx_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};
	struct rma rma = {&iov, NULL, 1, dest_addr, addr, key, data, NULL, false};

	return wf_rma(container_of(fid, struct wf_ep, fid), &rma, FI_INJECT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma wf_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_readmsg,
    .write = rma_write,
    .writev = rma_writev,
    .writemsg = rma_writemsg,
    .inject = rma_inject,
    .writedata = rma_writedata,
    .injectdata = rma_injectdata,
};
