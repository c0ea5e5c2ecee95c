/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections, receiving: Sends and RDMA Writes of one peer, in order or not at all.
 *
 * Calls recv.c, ddp_rx.c, mem.c, cq.c. A message is delivered when all of its segments came in
 * order. The first segment that is missing, or comes late, ends it silently, and further segments
 * are ignored until the next message begins (IBA 9.8.2.2). The receive that a lost Send had taken
 * serves the next message: it is still the first of its queue. A message without a receive, with
 * one that is too short, or without the access right is dropped (IBA 9.9.3, class E). Memory of
 * this end that cannot be written is its own fault and ends the QP (class A). Data that a lost
 * Write had placed stay there, as verbs require. ud_tx.c sends.
 */
#include "nic_fw/fw_nic.h"

/* Finds the QP of the packet, if the packet is of its connection; otherwise counts the reason. */
static struct fw_qp *uc_rx_find_qp(struct fw_nic *nic, const struct rdmap_seg *pkt)
{
	struct fw_qp *qp = qp_find_live(nic, pkt->dst_qpn);

	if (!qp) {
		FW_DROP(nic, drop_no_qp);
		return NULL;
	}
	if (qp->type != HW_QPT_UC) {
		FW_DROP(nic, drop_qp_type);
		return NULL;
	}
	if (!qp_can_receive(qp)) {
		FW_DROP(nic, drop_qp_state);
		return NULL;
	}
	if (pkt->src_ip != qp->dst_ip || pkt->src_qpn != qp->dst_qpn ||
	    pkt->incarnation != qp->incarnation_rx) {
		FW_DROP(nic, drop_uc_stray);
		return NULL;
	}
	return qp;
}

static bool is_send(const struct rdmap_seg *pkt)
{
	return pkt->opcode == WIRE_RDMAP_SEND || pkt->opcode == WIRE_RDMAP_SEND_SE ||
	       pkt->opcode == WIRE_RDMAP_SEND_INVALIDATE ||
	       pkt->opcode == WIRE_RDMAP_SEND_SE_INVALIDATE;
}

/* Drops the message under way; its receive stays for the next message. */
static void lose(struct fw_nic *nic, struct fw_qp *qp)
{
	if (qp->uc.open)
		FW_COUNT(nic, uc_rx_msgs_lost);
	qp->uc.open = false;
}

/*
 * True if the segment is the expected one: the next of the message under way, or the first of a
 * later message. An old segment changes nothing; a segment ahead of its time reveals a loss.
 */
static bool is_next(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	struct fw_uc_rx *uc = &qp->uc;

	if (uc->begun && pkt->ssn == uc->ssn) {
		if (uc->open && pkt->mo == uc->next_mo && pkt->mo && pkt->opcode == uc->opcode &&
		    pkt->msg_bytes == uc->bytes)
			return true;
		if (pkt->mo > uc->next_mo)
			lose(nic, qp);
		FW_DROP(nic, drop_uc_order);
		return false;
	}
	if (uc->begun && seq_lt(pkt->ssn, uc->ssn)) {
		FW_DROP(nic, drop_uc_order);
		return false;
	}
	lose(nic, qp);
	uc->begun = true;
	uc->ssn = pkt->ssn;
	uc->opcode = pkt->opcode;
	uc->bytes = pkt->msg_bytes;
	uc->next_mo = 0;
	if (pkt->mo) {
		FW_COUNT(nic, uc_rx_msgs_lost);
		FW_DROP(nic, drop_uc_order);
		return false;
	}
	uc->open = true;
	return true;
}

/* Returns the receive of the open message, or a new one; NULL: the message is lost. */
static struct recv_msg *receive_of(struct fw_nic *nic, struct fw_qp *qp,
				   const struct rdmap_seg *pkt)
{
	struct recv_msg *msg;

	if (!fw_list_empty(&qp->recv_msgs))
		return FW_CONTAINER(qp->recv_msgs.next, struct recv_msg, qp_node);
	if (recv_begin(nic, qp, pkt, false, &msg) == RDMAP_OK)
		return msg;
	FW_DROP(nic, drop_uc_no_receive);
	return NULL;
}

/* The QP's own memory is not as it was posted: notifies the process, and ends the QP. */
static void fail_local(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		       struct recv_msg *msg)
{
	FW_DROP(nic, drop_uc_protection);
	rdmap_complete_recv(nic, qp, pkt, msg, HW_CQE_RECV, HW_STATUS_LOC_PROT_ERR);
	qp_error(nic, qp, HW_EVENT_NONE);
}

/* False: the message is lost, or the QP. */
static bool uc_rx_send(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	struct recv_msg *msg = receive_of(nic, qp, pkt);
	enum hw_vendor_err err = HW_VENDOR_ERR_NONE;
	struct eth_cursor cursor;

	if (!msg)
		return false;
	if (pkt->msg_bytes > msg->recv.bytes) {
		FW_DROP(nic, drop_uc_too_long);
		return false;
	}
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	if (pkt->data_bytes)
		err = ddp_place_sges(nic, msg->recv.pd, msg->recv.sge, msg->recv.num_sge, pkt->mo,
				     &cursor);
	/*
	 * The page is not available now: the message is lost, and its receive waits for the next
	 * one.
	 */
	if (err == HW_VENDOR_ERR_HOST_FAULT && nic->host.mem_busy) {
		FW_DROP(nic, drop_uc_busy);
		return false;
	}
	if (err != HW_VENDOR_ERR_NONE) {
		fail_local(nic, qp, pkt, msg);
		return false;
	}
	if (!pkt->last)
		return true;
	if ((pkt->opcode == WIRE_RDMAP_SEND_INVALIDATE ||
	     pkt->opcode == WIRE_RDMAP_SEND_SE_INVALIDATE) &&
	    !guess_mem_invalidate(nic, qp, pkt, qp->pd)) {
		FW_DROP(nic, drop_uc_protection);
		return false;
	}
	rdmap_complete_recv(nic, qp, pkt, msg, HW_CQE_RECV, HW_STATUS_SUCCESS);
	return true;
}

static bool uc_rx_write(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	enum hw_vendor_err err = HW_VENDOR_ERR_ACCESS;
	struct recv_msg *msg;
	struct fw_mem mem;

	if (qp->access & HW_ACCESS_REMOTE_WRITE)
		err = guess_mem_check(nic, qp, pkt, pkt->stag, pkt->to, pkt->data_bytes,
				      HW_ACCESS_REMOTE_WRITE, &mem);
	if (err == HW_VENDOR_ERR_NONE && pkt->data_bytes && !ddp_place_segment(nic, &mem, 0, pkt))
		err = HW_VENDOR_ERR_HOST_FAULT;
	if (err == HW_VENDOR_ERR_HOST_FAULT && nic->host.mem_busy) {
		FW_DROP(nic, drop_uc_busy);
		return false;
	}
	if (err != HW_VENDOR_ERR_NONE) {
		FW_DROP(nic, drop_uc_protection);
		return false;
	}
	if (!pkt->last)
		return true;
	if (!(pkt->flags & WIRE_DGRAM_F_IMM)) {
		qp->rx_msgs++;
		qp->rx_bytes += pkt->msg_bytes;
		return true;
	}
	msg = receive_of(nic, qp, pkt);
	if (msg)
		rdmap_complete_recv(nic, qp, pkt, msg, HW_CQE_RECV_WRITE_IMM, HW_STATUS_SUCCESS);
	return msg != NULL;
}

void uc_rx(struct fw_nic *nic, struct rdmap_seg *pkt)
{
	struct fw_qp *qp;
	bool ok;

	if (!dgram_parse_ddp(pkt) || pkt->mo != pkt->qkey || (pkt->flags && !pkt->last) ||
	    (!is_send(pkt) && pkt->opcode != WIRE_RDMAP_WRITE)) {
		FW_DROP(nic, drop_ddp_malformed);
		return;
	}
	qp = uc_rx_find_qp(nic, pkt);
	if (!qp)
		return;
	qp_heard(nic, qp);
	fw_trace(nic, TRACE_UD_RX, qp->qpn, pkt->src_qpn, pkt->ssn);
	if (!is_next(nic, qp, pkt))
		return;
	ok = is_send(pkt) ? uc_rx_send(nic, qp, pkt) : uc_rx_write(nic, qp, pkt);
	if (!ok) {
		lose(nic, qp);
		return;
	}
	qp->uc.next_mo = pkt->mo + pkt->data_bytes;
	if (pkt->last) {
		qp->uc.open = false;
		FW_COUNT(nic, uc_rx_msgs);
	}
}
