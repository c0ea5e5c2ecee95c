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
	msg->msn = first_ssn;
	msg->ssn = last_ssn;
	if (!rd_flow_send(nic, msg))
		wqe_free(nic, msg);
	else
		FW_COUNT(nic, rd_cancels_tx);
}

void rd_cancel_msgs(struct fw_nic *nic, const struct fw_list *msgs)
{
	const struct fw_wqe *first = NULL;
	const struct fw_wqe *last = NULL;
	const struct fw_list *pos;

	fw_list_for_each (pos, msgs) {
		const struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, flow_node);

		/* Messages are sent in order, so no later one was begun. */
		if (!msg->begun_ns)
			break;
		if (!holds_a_receive(msg))
			continue;
		last = msg;
		if (!first)
			first = msg;
	}
	if (first)
		send(nic, first, first->ssn, last->ssn);
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
	    .first_ssn = be32_put(msg->msn),
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
