/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flushes the requests of a queue pair that leaves its working states, in slices.
 *
 * A queue may hold 8,192 requests in either direction: qp_flush() does what the turn has units for,
 * slice.c continues in later turns. In between the QP is in its new state and flushing: no request
 * is fetched, and a request that ends meanwhile waits to be flushed in its place. Order: messages
 * of the transports, requests fetched, requests posted, receives taken, receives posted. Calls each
 * stage that holds state of the QP. IBA 10.3.1 (states), 10.8.4 (flushing).
 */
#include "nic_fw/fw_nic.h"

/* Messages that a transport has released: requests are in the send queue, too. */
static bool flush_msgs(struct fw_nic *nic, struct fw_qp *qp)
{
	while (!fw_list_empty(&qp->flush_msgs)) {
		struct fw_wqe *msg;

		if (!slice_take(nic, 1))
			return false;
		msg = FW_CONTAINER(fw_list_take(&qp->flush_msgs), struct fw_wqe, flow_node);
		msg->flow = NULL;
		msg->streamed = false;
		msg->unacked = 0;
		if (msg->kind == FW_WQE_REQUEST)
			continue;
		if (llp_of(qp)->response_lost && !wqe_is_request(msg))
			llp_of(qp)->response_lost(nic, msg);
		wqe_end(nic, msg, HW_STATUS_WR_FLUSH_ERR, HW_VENDOR_ERR_NONE);
	}
	return true;
}

static bool flush_transport(struct fw_nic *nic, struct fw_qp *qp)
{
	do {
		if (!flush_msgs(nic, qp))
			return false;
	} while (llp_of(qp)->flush_qp && llp_of(qp)->flush_qp(nic, qp));
	/* The last of them may be left for lack of units. */
	return fw_list_empty(&qp->flush_msgs) &&
	       !(llp_of(qp)->flush_qp && llp_of(qp)->flush_due(qp));
}

/* Drops messages that have arrived in part. */
static bool flush_open_receives(struct fw_nic *nic, struct fw_qp *qp)
{
	return llp_of(qp)->flush_receives ? llp_of(qp)->flush_receives(nic, qp)
					  : recv_flush_step(nic, qp);
}

static bool flush_own_receives(struct fw_nic *nic, struct fw_qp *qp)
{
	struct hw_cqe cqe = {
	    .qpn = qp->qpn,
	    .status = HW_STATUS_WR_FLUSH_ERR,
	    .opcode = HW_CQE_RECV,
	};
	struct fw_recv recv;

	if (qp->srq != HW_SRQ_NONE || qp->tag)
		return true;
	while (rq_available(nic, qp)) {
		if (!slice_take(nic, 1))
			return false;
		if (rq_take(nic, qp, &recv) == RQ_EMPTY)
			break;
		cqe.wr_id = recv.wr_id;
		fw_trace(nic, TRACE_CQE, qp->qpn, recv.wr_id, cqe.status);
		(void)cq_post(nic, qp->recv_cq, &cqe);
	}
	return true;
}

/* Returns true when all is flushed. */
static bool flush_step(struct fw_nic *nic, struct fw_qp *qp)
{
	if (!flush_transport(nic, qp) || !wqe_flush_step(nic, qp))
		return false;
	if (qp->state == HW_QPS_SQE)
		return true;
	if (!flush_open_receives(nic, qp) || !slow_atomic_flush_step(nic, qp))
		return false;
	if (qp->tag && !host_up.tag_flush(nic, qp))
		return false;
	if (qp->state == HW_QPS_ERR)
		return flush_own_receives(nic, qp);
	return mem_unbind_step(nic, qp);
}

static void flush_over(struct fw_nic *nic, struct fw_qp *qp)
{
	qp->flushing = false;
	fw_list_del(&qp->flush_node);
	qp->outstanding = 0;
	qp->rd_atomics = 0;
	qp->sq_blocked = false;
	qp->sq_failing = false;
	qp->sq_draining = false;
	qp->sq_flushed = false;
	qp->sq_lost = HW_STATUS_SUCCESS;
	if (qp->state == HW_QPS_SQE)
		return;
	qp->responder_slots = 0;
	qp->rx_msn_taken = 0;
	qp->rx_msn_delivered = 0;
	if (qp->state == HW_QPS_RESET)
		qp_reset_over(qp);
	if (!qp->last_wqe_due)
		return;
	/* No receive of an SRQ is taken for it any more. */
	qp->last_wqe_due = false;
	if (qp->state == HW_QPS_ERR)
		xrc_event(nic, qp, HW_EVENT_QP_LAST_WQE);
}

/*
 * QP_LAST_WQE says that the CQ has all receives which the QP took from its SRQ: the process polls,
 * then moves the QP to RESET, which takes its entries out of the CQ. So the event comes behind
 * entries that wait for a late copy (cq.h), and the flush with it. Receives of an XRC QP are in the
 * CQs of its SRQs, which its RESET leaves alone.
 */
static bool waits_to_report(struct fw_nic *nic, struct fw_qp *qp)
{
	if (!qp->last_wqe_due || qp->state != HW_QPS_ERR || !qp->recv_cq ||
	    cq_settled(nic, qp->recv_cq))
		return false;
	fw_list_del(&qp->flush_node);
	fw_list_add_tail(&qp->recv_cq->late.flushes, &qp->flush_node);
	return true;
}

void qp_flush_run(struct fw_nic *nic, struct fw_qp *qp)
{
	assert(qp->flushing &&
	       (qp->state == HW_QPS_ERR || qp->state == HW_QPS_SQE || qp->state == HW_QPS_RESET));
	/* Posting a completion may fail the QP: the nested flush is not run. */
	if (qp->in_flush)
		return;
	qp->in_flush = true;
	if (flush_step(nic, qp) && !waits_to_report(nic, qp))
		flush_over(nic, qp);
	qp->in_flush = false;
}

void qp_flush(struct fw_nic *nic, struct fw_qp *qp)
{
	qp->flushing = true;
	/* The flush of its state before may be in the list of a CQ. */
	fw_list_del(&qp->flush_node);
	fw_list_add_tail(&nic->slices.flushes, &qp->flush_node);
	slice_wait(&nic->slices, SLICE_FLUSH);
	qp_flush_run(nic, qp);
}

void qp_flush_slice(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.flushes);

	if (!node)
		return;
	/* It goes to the end of the list, and leaves it when its flush is finished. */
	fw_list_add_tail(&nic->slices.flushes, node);
	nic->turn_did |= FW_DID_FLUSH;
	qp_flush_run(nic, FW_CONTAINER(node, struct fw_qp, flush_node));
}
