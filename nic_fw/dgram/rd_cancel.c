/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancellation: messages that end at their sender in the middle, and the receives they had taken.
 *
 * A Send takes its receive with its first packet. When the sender's QP dies, or gives up, before
 * the last one, no packet would ever complete that receive. The sender therefore names the messages
 * in a packet of the session, which is as reliable as any other and belongs to no QP. The receiver
 * acts on it when it has all PSNs before it, because late packets of the dead messages could take a
 * receive again. It completes their receives with REM_ABORT_ERR. RC does not need this: a QP
 * belongs to one peer there and ends with it. Calls recv.c. docs/wire-format.md, "Cancellation".
 */
#include "nic_fw/fw_nic.h"

/* True if a peer may hold a receive for it. */
static bool holds_a_receive(const struct fw_wqe *msg)
{
	return msg->kind == FW_WQE_REQUEST && msg->begun_ns && !msg->answered &&
	       (msg->opcode == HW_WQE_SEND || msg->opcode == HW_WQE_SEND_IMM ||
		msg->opcode == HW_WQE_SEND_INV || msg->opcode == HW_WQE_TSEND);
}

static void send(struct fw_nic *nic, const struct fw_wqe *of, uint32_t first_ssn, uint32_t last_ssn)
{
	struct fw_wqe *msg = wqe_alloc(nic, nic->host.null_qp, FW_WQE_CANCEL);

	/* Without a context the receive stays taken until its QP is reset or the session ends. */
	if (!msg)
		return;
	msg->dst_ip = of->dst_ip;
	msg->dst_qpn = of->dst_qpn;
	msg->src_qpn = of->src_qpn;
	msg->cancel_first_ssn = first_ssn;
	msg->ssn = last_ssn;
	if (!rd_flow_send(nic, msg))
		wqe_free(nic, msg);
	else
		FW_COUNT(nic, rd_cancels_tx);
}

/* Messages of a flow whose receives are taken, by number. */
struct range {
	const struct fw_wqe *of; /* one of them; NULL: none */
	uint32_t first, last;
};

static void widen(struct range *range, const struct fw_wqe *msg)
{
	if (!holds_a_receive(msg))
		return;
	if (!range->of || (int32_t)(msg->ssn - range->first) < 0)
		range->first = msg->ssn;
	if (!range->of || (int32_t)(msg->ssn - range->last) > 0)
		range->last = msg->ssn;
	range->of = msg;
}

/*
 * A flow may have thousands of messages that wait for the answer of an earlier one, and thousands
 * that were never sent. A peer may hold a receive only for messages that have packets in flight,
 * and for those that were begun and wait to be sent again. The range from the first of these to the
 * last may contain messages that the peer has completed: a cancellation does not affect them.
 */
void rd_cancel_flow(struct fw_nic *nic, const struct rd_flow *flow)
{
	const struct fw_wqe *msg = flow->first_refused ? flow->first_refused : flow->next;
	const struct rd_session *s = flow->session;
	struct range range = {.of = NULL};
	uint32_t psn, looks = 0;

	if (flow->response)
		return;
	for (psn = s->tx_una; s->tx && psn != s->tx_psn; psn++) {
		const struct rd_slot *slot = rd_slot_at(s, psn);

		if (slot->flow == flow && slot->msg)
			widen(&range, slot->msg);
	}
	for (; msg && msg->begun_ns && looks < RD_CANCEL_LOOKS; looks++) {
		const struct fw_list *next = msg->flow_node.next;

		widen(&range, msg);
		msg = next == &flow->msgs ? NULL : FW_CONTAINER(next, struct fw_wqe, flow_node);
	}
	/*
	 * The walk reached its limit, or refused messages have left the list: the range covers all
	 * messages that the queue may have begun.
	 */
	if (looks == RD_CANCEL_LOOKS || flow->refused_ended) {
		range.of = FW_CONTAINER(flow->msgs.next, struct fw_wqe, flow_node);
		if (fw_list_empty(&flow->msgs) || !range.of->begun_ns)
			return;
		range.last = flow->begun_ssn;
		range.first = range.last - flow->qp->sq_mask;
	}
	if (range.of)
		send(nic, range.of, range.first, range.last);
}

void rd_cancel_msg(struct fw_nic *nic, const struct fw_wqe *msg)
{
	if (holds_a_receive(msg))
		send(nic, msg, msg->ssn, msg->ssn);
}

void rd_cancel_put(const struct fw_wqe *msg, struct wire_rd_cancel *cancel)
{
	*cancel = (struct wire_rd_cancel){
	    .dst_qpn = be32_put(msg->dst_qpn),
	    .src_qpn = be32_put(msg->src_qpn),
	    .first_ssn = be32_put(msg->cancel_first_ssn),
	    .last_ssn = be32_put(msg->ssn),
	};
}

void rd_cancel_rx(struct fw_nic *nic, const struct rd_session *s,
		  const struct wire_rd_cancel *cancel)
{
	struct fw_qp *qp = qp_find_live(nic, be32_get(cancel->dst_qpn));

	FW_COUNT(nic, rd_cancels_rx);
	if (qp && qp->type == HW_QPT_RD)
		recv_cancel(nic, qp, &s->recv, be32_get(cancel->src_qpn),
			    be32_get(cancel->first_ssn), be32_get(cancel->last_ssn));
}
