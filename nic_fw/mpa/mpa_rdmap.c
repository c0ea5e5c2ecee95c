/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over TCP: a queue pair's messages on its connection.
 *
 * llp.h passes messages to send; mpa_tx.c and mpa_ddp.c report their results; mpa_conn.c reports
 * the beginning and the end of a connection. mpa_run() is a stage of fw_poll(). Calls wqe_done.c,
 * qp.c, mpa_conn.c, tcp.h. A request is complete when TCP has acknowledged its last byte, a read or
 * an atomic when it is answered, each in its turn. RFC 5040 5, 6; RFC 5041 6.
 */
#include "nic_fw/fw_nic.h"

#define RETRY_NS UINT64_C(100000) /* delay of a retry after a lack of memory */

/* ---- completions ----------------------------------------------------------------------------- */

/*
 * Detaches an ended request from its segments, which may still be unacknowledged but cannot be sent
 * again.
 */
static void mpa_rdmap_let_go(struct fw_wqe *msg)
{
	struct mpa_conn *conn = msg->qp->mpa;
	struct fw_list *pos;

	if (!conn || (!msg->unacked && msg->status == HW_STATUS_SUCCESS))
		return;
	/* It has no segments then, and no faults. */
	if (conn->rest)
		return;
	if (conn->fault_msg == msg)
		conn->fault_msg = NULL;
	if (!msg->unacked)
		return;
	fw_list_for_each (pos, &conn->segs) {
		struct mpa_seg *seg = FW_CONTAINER(pos, struct mpa_seg, node);

		if (seg->msg == msg)
			seg->msg = NULL;
	}
	msg->unacked = 0;
}

void mpa_rdmap_acked(struct fw_nic *nic, struct fw_wqe *msg, bool ok)
{
	if (msg->kind != FW_WQE_REQUEST) {
		wqe_free(nic, msg);
		return;
	}
	if (!ok)
		return; /* the end of the connection determines its status */
	requester_acked(nic, msg);
}

static void mpa_rdmap_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
			       enum hw_vendor_err vendor_err)
{
	if (msg->kind == FW_WQE_REQUEST) {
		requester_fail(nic, msg, status, vendor_err);
		return;
	}
	/* The response was queued just now: no segment of it exists. */
	assert(!msg->unacked);
	wqe_free(nic, msg);
}

void mpa_rdmap_terminated(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status)
{
	requester_refused(nic, msg, status);
}

/* ---- out ------------------------------------------------------------------------------------- */

bool mpa_rdmap_send(struct fw_nic *nic, struct fw_wqe *msg)
{
	struct mpa_conn *conn = msg->qp->mpa;
	struct tcp_flow *flow;

	/* Without a connection no requests are fetched (wqe.c), and its end ends the QP. */
	if (!conn)
		return false;
	flow = mpa_flow(nic, conn);
	msg->state = FW_WQE_QUEUED;
	msg->streamed = true;
	/* Each queue has its own MSN (RFC 5041 5.3); QN 0 was counted where the WQE was made. */
	if (msg->kind == FW_WQE_REQUEST && wqe_has_answer(msg))
		msg->msn = ++conn->tx_msn_read;
	else if (msg->kind == FW_WQE_ATOMIC_RESPONSE)
		msg->msn = ++conn->tx_msn_atomic;
	fw_list_add_tail(&conn->out, &msg->flow_node);
	fw_trace(nic, TRACE_RDMAP_TX, msg->src_qpn, msg->wr_id, msg->bytes);
	if (flow)
		tcp_push(nic, flow);
	return true;
}

static void add_fault(struct fw_nic *nic, struct mpa_conn *conn)
{
	conn->faulty = true;
	if (!fw_list_linked(&conn->node))
		fw_list_add_tail(&nic->mpa.faults, &conn->node);
}

void mpa_rdmap_fault(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg,
		     enum hw_vendor_err err)
{
	if (conn->faulty)
		return;
	conn->fault_msg = msg;
	conn->fault_err = (uint8_t)err;
	add_fault(nic, conn);
}

void mpa_rdmap_broken(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg)
{
	if (conn->broken)
		return;
	conn->fault_msg = msg;
	conn->fault_err = HW_VENDOR_ERR_HOST_FAULT;
	conn->broken = true;
	add_fault(nic, conn);
}

/* The region under a read response is gone: the request that it answers is at fault. */
static void response_fault(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_wqe *msg,
			   enum hw_vendor_err err)
{
	const struct rdmap_error error = {
	    WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION,
	    rdmap_protection_code(err),
	};
	struct {
		struct wire_ddp_untagged ddp;
		struct wire_read_request read;
	} request = {
	    .ddp =
		{
		    .ddp_ctrl = WIRE_DDP_VERSION | WIRE_DDP_LAST,
		    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_READ_REQUEST,
		    .qn = be32_put(WIRE_QN_READ_REQUEST),
		    .msn = be32_put(msg->ssn),
		},
	    .read =
		{
		    .sink_stag = be32_put(msg->rkey),
		    .sink_to = be64_put(msg->remote_addr),
		    .bytes = be32_put(msg->bytes),
		    .src_stag = be32_put(msg->sge[0].lkey),
		    .src_to = be64_put(msg->sge[0].addr),
		},
	};
	const struct fw_rx_frame frame = {
	    .seg = {{(const uint8_t *)&request, sizeof(request)}},
	    .num_seg = 1,
	    .bytes = sizeof(request),
	};
	const struct rdmap_seg pkt = {
	    .frame = &frame,
	    .opcode = WIRE_RDMAP_READ_REQUEST,
	    .ddp_offset = 0,
	    .ulpdu_bytes = sizeof(request),
	};

	mpa_terminate(nic, conn, &pkt, &error);
}

static void run_fault(struct fw_nic *nic, struct mpa_conn *conn)
{
	struct fw_wqe *msg = conn->fault_msg;
	enum hw_vendor_err err = (enum hw_vendor_err)conn->fault_err;

	conn->fault_msg = NULL;
	if (conn->broken) {
		/* The stream cannot go on: no Terminate can follow the hole in it. */
		if (conn->qp && msg && msg->kind == FW_WQE_REQUEST)
			requester_fail(nic, msg, wqe_status_of(err), err);
		if (conn->qp)
			qp_error(nic, conn->qp, HW_EVENT_QP_FATAL);
		if (mpa_flow(nic, conn))
			mpa_abort(nic, conn);
		return;
	}
	/*
	 * All memory of an ending process is gone: nothing is sent until its QP is destroyed, too.
	 */
	if (conn->qp && !qp_is_live(nic, conn->qp))
		return;
	conn->faulty = false;
	if (!msg || !conn->qp)
		return;
	if (msg->kind != FW_WQE_REQUEST) {
		response_fault(nic, conn, msg, err);
		return;
	}
	/* Earlier requests may still be answered; nothing is sent after this one. */
	conn->faulty = true;
	conn->local_error = true;
	requester_fail(nic, msg, wqe_status_of(err), err);
}

void mpa_run(struct fw_nic *nic)
{
	struct fw_list *node;

	while ((node = fw_list_pop(&nic->mpa.faults)))
		run_fault(nic, FW_CONTAINER(node, struct mpa_conn, node));
}

/* ---- the connection's beginning and end ----------------------------------------------------- */

/* Memory that only connections which lacked some have touched. */
static struct fw_timer *retry_timer(const struct fw_nic *nic, const struct mpa_conn *conn)
{
	return &nic->mpa.retries[fw_pool_index(&nic->mpa.conns, conn)];
}

static void cancel_retry(struct fw_nic *nic, struct mpa_conn *conn)
{
	if (conn->retry_due)
		fw_timer_cancel(&nic->timers, retry_timer(nic, conn));
	conn->retry_due = false;
}

void mpa_rdmap_retry_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct mpa_conn *conn = fw_pool_at(&nic->mpa.conns, (uint32_t)(timer - nic->mpa.retries));

	conn->retry_due = false;
	if (!mpa_flow(nic, conn))
		return;
	tcp_push(nic, conn->flow);
	/* Must be the last step: data that the stream held back may end the connection. */
	tcp_resume(nic, conn->flow);
}

void mpa_rdmap_starved(struct fw_nic *nic, struct mpa_conn *conn)
{
	struct fw_timer *timer = retry_timer(nic, conn);

	FW_COUNT(nic, mpa_no_memory);
	if (conn->retry_due)
		return;
	conn->retry_due = true;
	fw_timer_init(timer, FW_TIMER_MPA_RETRY);
	fw_timer_set(&nic->timers, timer, nic->now_ns + RETRY_NS);
}

void mpa_rdmap_init_conn(struct mpa_conn *conn)
{
	fw_list_init(&conn->out);
	fw_list_init(&conn->segs);
	fw_list_init(&conn->node);
	conn->partial = NULL;
	conn->setup = NULL;
	conn->fault_msg = NULL;
	fw_timer_init(&conn->timer, FW_TIMER_MPA);
}

void mpa_rdmap_attached(struct fw_nic *nic, struct mpa_conn *conn)
{
	/* Requests posted meanwhile wait for this (wqe.c). */
	qp_unblock(nic, conn->qp);
}

/* Removes all pointers from the connection to messages of the QP. */
static void forget_messages(struct fw_nic *nic, struct mpa_conn *conn)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &conn->segs) {
		struct mpa_seg *seg = FW_CONTAINER(pos, struct mpa_seg, node);
		struct fw_wqe *msg = seg->msg;

		seg->msg = NULL;
		if (!msg)
			continue;
		msg->unacked--;
		if (!msg->unacked && msg->kind != FW_WQE_REQUEST && msg->state == FW_WQE_SENT)
			wqe_free(nic, msg);
	}
	/* There may be very many: qp_flush.c frees messages that are no requests. */
	fw_list_splice_tail(&conn->qp->flush_msgs, &conn->out);
	conn->fault_msg = NULL;
}

static void mpa_rdmap_stop_qp(struct fw_nic *nic, struct fw_qp *qp)
{
	static const struct rdmap_error local = {
	    WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_CATASTROPHIC,
	    0,
	};
	struct mpa_conn *conn = qp->mpa;

	if (!conn)
		return;
	(void)mpa_flow(nic, conn);
	forget_messages(nic, conn);
	qp->mpa = NULL;
	conn->qp = NULL;
	qp->responder_slots = 0;
	if (conn->partial) {
		fw_list_del(&conn->partial->node);
		mpa_rx_put(nic, conn->partial);
		conn->partial = NULL;
	}
	cancel_retry(nic, conn);
	if (!conn->flow || conn->broken || (conn->state != MPA_FPDU && conn->state != MPA_RTR_WAIT))
		return;
	if (conn->local_error)
		mpa_terminate(nic, conn, NULL, &local);
	else
		mpa_disconnect(nic, conn);
}

static bool mpa_rdmap_is_ready(const struct fw_qp *qp)
{
	return qp->mpa != NULL;
}

static void mpa_rdmap_refuse(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			     const struct rdmap_error *error)
{
	if (qp->mpa)
		mpa_terminate(nic, qp->mpa, pkt, error);
}

const struct llp_ops mpa_llp_ops = {
    .stream = true,
    .is_ready = mpa_rdmap_is_ready,
    .send = mpa_rdmap_send,
    .answered = requester_answered,
    .complete = requester_complete,
    .let_go = mpa_rdmap_let_go,
    .refuse = mpa_rdmap_refuse,
    .msg_fail = mpa_rdmap_msg_fail,
    .stop_qp = mpa_rdmap_stop_qp,
};

void mpa_rdmap_ended(struct fw_nic *nic, struct mpa_conn *conn, enum tcp_end why)
{
	struct fw_qp *qp = conn->qp;

	fw_list_del(&conn->node);
	cancel_retry(nic, conn);
	if (!qp)
		return;
	if ((why == TCP_END_TIMEOUT || why == TCP_END_UNREACHABLE) && requester_oldest(qp)) {
		FW_COUNT(nic, mpa_retry_exceeded);
		requester_lost(nic, qp, HW_STATUS_RETRY_EXC_ERR);
	}
	/*
	 * The process did not request the end, so an event reports it. A FIN is the peer's right.
	 */
	qp_error(nic, qp, why == TCP_END_CLOSED ? HW_EVENT_NONE : HW_EVENT_QP_FATAL);
}

/* ---- rest ------------------------------------------------------------------------------------ */

struct tcp_rest_lent *mpa_rdmap_rest(struct fw_nic *nic, struct tcp_flow *flow, uint32_t number)
{
	struct mpa_conn *conn = flow->ctx;

	(void)nic;
	if (conn->state != MPA_FPDU || conn->setup || !fw_list_empty(&conn->out) ||
	    !fw_list_empty(&conn->segs) || conn->partial || conn->rtr_due ||
	    fw_list_linked(&conn->node) || conn->retry_due || conn->fault_msg ||
	    fw_timer_is_set(&conn->timer))
		return NULL;
	conn->flow = NULL;
	conn->rest = number;
	return &conn->lent;
}

void mpa_rdmap_woken(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_rest_lent *lent)
{
	struct mpa_conn *conn = FW_CONTAINER(lent, struct mpa_conn, lent);

	(void)nic;
	mpa_rdmap_init_conn(conn);
	conn->flow = flow;
	conn->rest = 0;
	flow->ctx = conn;
}
