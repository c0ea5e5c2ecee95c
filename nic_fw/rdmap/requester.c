/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of a queue pair whose stream carries them in order: which is the oldest, and its end.
 *
 * Calls wqe_done.c, and the transport through llp.h. RFC 5040 5.5, 6.8; IBA 10.8.5, 10.10.2.3.
 */
#include "nic_fw/fw_nic.h"

static bool is_unanswered(const struct fw_wqe *msg)
{
	return msg->streamed && !msg->answered;
}

struct fw_wqe *requester_oldest(struct fw_qp *qp)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &qp->wqes) {
		struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, qp_node);

		if (is_unanswered(msg))
			return msg;
	}
	return NULL;
}

struct fw_wqe *requester_oldest_read(struct fw_qp *qp)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &qp->reads) {
		struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, read_node);

		if (is_unanswered(msg))
			return msg;
	}
	return NULL;
}

struct fw_wqe *requester_find(struct fw_qp *qp, uint32_t ssn)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &qp->wqes) {
		struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, qp_node);

		if (is_unanswered(msg) && msg->ssn == ssn)
			return msg;
	}
	return NULL;
}

/* Completes finished requests at the front of the queue, in order. */
static void requester_complete(struct fw_nic *nic, struct fw_qp *qp)
{
	const struct llp_ops *llp = qp->llp;

	while (!fw_list_empty(&qp->wqes)) {
		struct fw_wqe *msg = FW_CONTAINER(qp->wqes.next, struct fw_wqe, qp_node);
		uint32_t state = qp->state;

		/*
		 * Without the acknowledgement the stream may send the request again, although its
		 * answer has come.
		 */
		if (!msg->streamed || !msg->answered ||
		    (msg->status == HW_STATUS_SUCCESS && msg->state != FW_WQE_RESPONSE))
			break;
		if (llp->let_go)
			llp->let_go(msg);
		wqe_complete(nic, msg, (enum hw_status)msg->status,
			     (enum hw_vendor_err)msg->vendor_err);
		/* A failure has flushed the QP and ended its streams. */
		if (qp->state != state)
			return;
	}
	if (llp->advanced)
		llp->advanced(nic, qp);
}

void requester_acked(struct fw_nic *nic, struct fw_wqe *msg)
{
	msg->state = FW_WQE_RESPONSE;
	if (!wqe_has_answer(msg))
		msg->answered = true;
	requester_complete(nic, msg->qp);
}

void requester_answered(struct fw_nic *nic, struct fw_wqe *msg)
{
	msg->answered = true;
	requester_complete(nic, msg->qp);
}

void requester_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
		    enum hw_vendor_err vendor_err)
{
	struct fw_qp *qp = msg->qp;

	msg->answered = true;
	msg->status = (uint8_t)status;
	msg->vendor_err = vendor_err;
	qp->sq_failing = true;
	requester_complete(nic, qp);
}

void requester_lost(struct fw_nic *nic, struct fw_qp *qp, enum hw_status status)
{
	struct fw_wqe *msg;
	struct fw_list *pos;

	fw_list_for_each (pos, &qp->wqes) {
		msg = FW_CONTAINER(pos, struct fw_wqe, qp_node);
		if (msg->streamed && msg->answered)
			msg->state = FW_WQE_RESPONSE;
	}
	msg = requester_oldest(qp);
	if (msg)
		requester_fail(nic, msg, status, HW_VENDOR_ERR_NONE);
	else
		requester_complete(nic, qp);
}
