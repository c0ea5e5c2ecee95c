/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram endpoints (FI_EP_DGRAM): a UD queue pair each. The NIC cuts messages of up to 64 KiB
 * into frames and drops those that arrive in part, that find no receive, or that are too long for
 * it. Nothing precedes the data in a buffer.
 *
 * Requests, memory and completions are those of all endpoints (wf_send.c, wf_op.c, wf_cq.c).
 * fi_endpoint(3), fi_msg(3); docs/wire-format.md has the datagrams.
 */
#include "host_driver/fabric/fi_weft.h"

#include <arpa/inet.h>
#include <string.h>

int wf_dgram_open(struct wf_qp *qp)
{
	struct weft_qp_init_attr attr = {
	    .type = WEFT_QPT_UD,
	    .flags = WEFT_QP_F_UD_LONG | WEFT_QP_F_NO_PEER_ERROR,
	    .send_cq = qp->tx_cq->cq,
	    .recv_cq = qp->rx_cq->cq,
	    .cap = {qp->tx_size, qp->rx_size, WF_IOV, WF_IOV, WF_INJECT_BYTES},
	    .user = qp};

	qp->ud = weft_create_qp(qp->domain->pd, &attr);
	return qp->ud ? weft_activate_qp(qp->ud, WF_QKEY, 0) : -errno;
}

void wf_dgram_close(struct wf_qp *qp)
{
	wf_expect(weft_destroy_qp(qp->ud), "datagram endpoint");
	qp->ud = NULL;
}

void wf_dgram_resume(struct wf_qp *qp)
{
	const struct weft_qp_attr attr = {.state = WEFT_QPS_RTS};
	int rc = weft_modify_qp(qp->ud, &attr, WEFT_QP_STATE);

	if (rc && rc != -EIO)
		WF_WARN(FI_LOG_EP_DATA, "datagram endpoint: sending does not resume: %s\n",
			strerror(-rc));
}

/* Fills in the destination: a peer, or a group that the endpoint has joined. */
static bool find_way(struct wf_qp *qp, fi_addr_t addr, struct weft_send_wr *wr)
{
	const struct wf_peer *peer = wf_av_peer(qp->av, addr);

	if (peer) {
		wr->ah = peer->ah;
		wr->dst_qpn = peer->addr.qpn;
		return true;
	}
	wr->ah = wf_mc_way(qp, addr);
	wr->dst_qpn = WEFT_MCAST_QPN;
	return wr->ah != NULL;
}

ssize_t wf_dgram_send(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags)
{
	struct wf_qp *qp = ep->qp;
	struct wf_outgoing out;
	struct weft_send_wr wr = {.sg_list = out.sge, .opcode = WEFT_WR_SEND, .qkey = WF_QKEY};
	int rc;

	if (!qp->ud)
		return -FI_EOPBADSTATE;
	/* No peer acknowledges a datagram. */
	if (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE))
		return -FI_EBADFLAGS;
	if (msg->count > WF_IOV || !find_way(qp, msg->addr, &wr))
		return -FI_EINVAL;
	rc = wf_send_prepare(qp, msg, flags, qp->ud->cap.max_inline_bytes, &out);
	if (rc)
		return rc;
	if (flags & FI_REMOTE_CQ_DATA) {
		wr.opcode = WEFT_WR_SEND_IMM;
		wr.imm = htonl((uint32_t)msg->data);
	}
	wr.flags = (out.in_line ? WEFT_SEND_INLINE : 0) | (out.op ? WEFT_SEND_SIGNALED : 0);
	wr.num_sge = out.num_sge;
	wr.wr_id = out.wr_id;
	rc = weft_post_send(qp->ud, &wr, NULL);
	if (rc && out.op)
		wf_op_drop(out.op);
	return wf_post_result(rc);
}

ssize_t wf_dgram_recv(struct wf_ep *ep, const struct wf_msg *msg, uint64_t flags)
{
	struct wf_qp *qp = ep->qp;
	struct weft_sge sge[WF_IOV];
	struct weft_recv_wr wr = {.sg_list = sge};
	struct wf_op *op;
	int rc;

	if (!qp->ud)
		return -FI_EOPBADSTATE;
	if (flags & (FI_MULTI_RECV | FI_PEEK | FI_CLAIM | FI_DISCARD))
		return -FI_EBADFLAGS;
	rc = wf_recv_prepare(qp, msg, flags, WF_USE_RECV, sge, &wr.num_sge, &op);
	if (rc)
		return rc;
	wr.wr_id = (uintptr_t)op;
	rc = weft_post_recv(qp->ud, &wr, NULL);
	if (rc)
		wf_op_drop(op);
	return wf_post_result(rc);
}
