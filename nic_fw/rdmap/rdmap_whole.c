/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMAP, receiving: Sends of one segment, in their turn.
 *
 * Nothing of such a message is left when it has been delivered, so it needs no context (recv.c).
 * rdmap_rx_whole() takes the usual case alone: a receive is posted, and its first SGE has room in
 * mapped memory. It declines every other case before it has changed anything; rdmap_rx.c then
 * carries the segment out, or finds its error. Calls rq.c, mem.c, ddp_rx.c;
 * tag_whole.c for tagged endpoints. RFC 5040 5, RFC 5041 5.
 */
#include "nic_fw/fw_nic.h"

/* True if the segment is the whole of a Send that has only to be delivered. */
static bool is_whole_send(const struct rdmap_seg *pkt)
{
	return (pkt->opcode == WIRE_RDMAP_SEND || pkt->opcode == WIRE_RDMAP_SEND_SE) && pkt->last &&
	       !pkt->mo && !(pkt->flags & WIRE_DGRAM_F_RESPONSE);
}

/* True if the QP's next receive is for this message. */
static bool rdmap_whole_is_next(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt)
{
	if (qp->type == HW_QPT_RC)
		return pkt->msn == qp->rx_msn_taken + 1 && rdmap_rx_is_due(qp, pkt->msn);
	if (qp->type != HW_QPT_RD)
		return false;
	/* It may have taken a receive in an earlier try. */
	pkt->msn = pkt->ssn;
	return !recv_find(nic, qp, pkt);
}

bool rdmap_rx_whole(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt)
{
	struct fw_recv recv;
	struct fw_mem mem;

	if (!qp || !is_whole_send(pkt) || !rdmap_rx_is_expected(qp, pkt) ||
	    !rdmap_whole_is_next(nic, qp, pkt) || llp_is_refused(nic, qp, pkt))
		return false;
	if (qp->tag)
		return rdmap_up.tag_whole(nic, qp, pkt);
	if (rq_look(nic, qp, &recv) != RQ_OK || pkt->msg_bytes > recv.bytes)
		return false;
	if (pkt->data_bytes &&
	    (pkt->data_bytes > recv.sge[0].bytes ||
	     mem_check(nic, recv.pd, 0, recv.sge[0].lkey, recv.sge[0].addr, pkt->data_bytes,
		       HW_ACCESS_LOCAL_WRITE, &mem) != HW_VENDOR_ERR_NONE ||
	     !mem.ptr))
		return false;
	if (qp->type == HW_QPT_RC) {
		qp_heard(nic, qp);
		qp->rx_msn_taken++;
	}
	fw_trace(nic, TRACE_DDP_RX, qp->qpn, pkt->msn, pkt->mo);
	rq_taken(nic, qp);
	if (pkt->data_bytes)
		(void)ddp_place_segment(nic, &mem, 0, pkt);
	fw_trace(nic, TRACE_RDMAP_RX, qp->qpn, pkt->opcode, pkt->data_bytes);
	qp->rx_msn_delivered = pkt->msn;
	rdmap_complete(nic, qp, pkt, recv.wr_id, NULL, HW_CQE_RECV, HW_STATUS_SUCCESS);
	return true;
}
