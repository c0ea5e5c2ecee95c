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

struct fw_wqe *requester_find_read(struct fw_qp *qp, uint32_t ssn)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &qp->reads) {
		struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, read_node);

		if (is_unanswered(msg) && msg->ssn == ssn)
			return msg;
	}
	return NULL;
}

/*
 * Completes finished requests at the front of the queue, in order. Very many may have waited for
 * the first one: those that the turn has no units for complete in later turns.
 */
void requester_complete(struct fw_nic *nic, struct fw_qp *qp)
{
	const struct llp_ops *llp = llp_of(qp);
	uint32_t n;

	for (n = 0; !fw_list_empty(&qp->wqes); n++) {
		struct fw_wqe *msg = FW_CONTAINER(qp->wqes.next, struct fw_wqe, qp_node);
		uint32_t state = qp->state;

		if (!msg->streamed || !wqe_settle(qp, msg))
			break;
		if (n && !slice_take_done(nic)) {
			wqe_done_later(nic, qp);
			break;
		}
		if (llp->let_go)
			llp->let_go(msg);
		wqe_complete(nic, msg, (enum hw_status)msg->status,
			     (enum hw_vendor_err)msg->vendor_err);
		/* A failure has flushed the QP and ended its streams. */
		if (qp->state != state)
			return;
	}
	if (qp->sq_lost && fw_list_empty(&qp->wqes)) {
		qp->sq_lost = HW_STATUS_SUCCESS;
		qp_unblock(nic, qp);
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
	qp->sq_lost = (uint8_t)status;
	requester_complete(nic, qp);
}

void requester_refused(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status)
{
	msg->qp->sq_refused = msg;
	requester_fail(nic, msg, status, HW_VENDOR_ERR_NONE);
}
