/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outcomes of what a flow of RD sent: packets that the peer acknowledged or refused, and messages
 * that it ended by a Terminate.
 *
 * A refusal stops the flow until every PSN in flight is accounted for. The flow then waits for the
 * RNR timer and starts again from the first refused message. Calls rd_flow.c and rd_fail.c.
 * ARCHITECTURE.md "RD in one page".
 */
#include "nic_fw/fw_nic.h"

/* Returns the PSN of a slot in the window. */
static uint32_t psn_of(const struct rd_session *s, const struct rd_slot *slot)
{
	uint32_t index = (uint32_t)(slot - s->tx->slot);

	return s->tx_una + (index - s->tx_una) % WIRE_RD_WINDOW;
}

/*
 * A packet of the message was refused: it will be sent again. Messages are sent in order, so the
 * lowest PSN names the first of them. Nothing is sent until all PSNs are accounted for.
 */
static void requeue(struct rd_flow *flow, struct fw_wqe *msg, uint32_t psn)
{
	if (!msg->refused) {
		/* Data delivered before a withdrawn packet stay delivered. */
		msg->sent_bytes = msg == flow->resume_msg ? flow->resume_bytes : 0;
		msg->state = FW_WQE_QUEUED;
		msg->refused = true;
	}
	if (flow->first_refused && (int32_t)(psn - flow->first_refused_psn) >= 0)
		return;
	flow->first_refused = msg;
	flow->first_refused_psn = psn;
}

/*
 * Returns the first message to be sent again when the first refused one has ended, by a Terminate.
 * All others have packets in the window, or had when they were refused, so they are among the last
 * that were begun.
 */
static struct fw_wqe *look_for_refused(const struct rd_flow *flow)
{
	const struct fw_list *pos = flow->next ? &flow->next->flow_node : &flow->msgs;
	struct fw_wqe *first = flow->next && flow->next->refused ? flow->next : NULL;
	uint32_t looks;

	for (looks = 0; looks < RD_CANCEL_LOOKS && pos->prev != &flow->msgs; looks++) {
		struct fw_wqe *msg = FW_CONTAINER(pos->prev, struct fw_wqe, flow_node);

		if (msg->state == FW_WQE_QUEUED && msg->refused)
			first = msg;
		pos = pos->prev;
	}
	return first;
}

/* Returns the first message that waits to be sent again; NULL: none. */
static struct fw_wqe *take_first_refused(struct rd_flow *flow)
{
	struct fw_wqe *first = flow->first_refused;

	if (flow->refused_ended)
		first = look_for_refused(flow);
	flow->first_refused = NULL;
	flow->refused_ended = false;
	return first && first->refused ? first : NULL;
}

void rd_outcome_forget(struct rd_flow *flow, const struct fw_wqe *msg)
{
	if (flow->first_refused != msg)
		return;
	flow->first_refused = NULL;
	flow->refused_ended = true;
}

void rd_outcome_void(struct rd_session *s, const struct fw_wqe *msg, const struct rd_flow *flow)
{
	uint32_t psn;

	if (!s->tx)
		return;
	for (psn = s->tx_una; psn != s->tx_psn; psn++) {
		struct rd_slot *slot = rd_slot_at(s, psn);

		if (msg && slot->msg == msg)
			slot->msg = NULL;
		if (flow && slot->flow == flow) {
			if (slot->msg)
				slot->msg->unacked = 0;
			slot->msg = NULL;
			slot->flow = NULL;
		}
	}
}

/* Ends a message that keeps its place, so that completions stay in order. */
static void end_in_place(struct fw_nic *nic, struct rd_flow *flow, struct fw_wqe *msg,
			 enum hw_status status)
{
	rd_outcome_void(flow->session, msg, NULL);
	rd_outcome_forget(flow, msg);
	if (flow->resume_msg == msg)
		flow->resume_msg = NULL;
	if (flow->next == msg) {
		flow->next = rd_flow_next(flow, msg);
		/* The flow waited for this message; the next ones are tried anew. */
		if (flow->backing_off) {
			fw_timer_cancel(&nic->timers, &flow->rnr_timer);
			flow->backing_off = false;
		}
	}
	msg->state = FW_WQE_RESPONSE;
	msg->answered = true;
	msg->refused = false;
	msg->unacked = 0;
	msg->status = (uint8_t)status;
	rd_flow_settle(nic, flow);
}

/* Packets of the flow were withdrawn: waits, longer each time, and then sends one packet. */
static bool back_off_withdrawn(struct fw_nic *nic, struct rd_flow *flow)
{
	uint64_t delay_ns = RD_MIN_RTO_NS << flow->withdrawals;

	if (rd_flow_is_over_limit(nic, flow)) {
		FW_COUNT(nic, retry_exceeded);
		rd_flow_fail(nic, flow, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
		return false;
	}
	if (flow->withdrawals < RD_WITHDRAW_BACKOFF)
		flow->withdrawals++;
	flow->backing_off = true;
	fw_timer_set(&nic->timers, &flow->rnr_timer, nic->now_ns + delay_ns);
	return true;
}

/*
 * Every PSN in flight is accounted for and some were refused: goes back to the first refused
 * message, after the RNR timer. False: the flow failed and is gone.
 */
static bool back_off(struct fw_nic *nic, struct rd_flow *flow)
{
	struct fw_wqe *first = take_first_refused(flow);
	uint64_t delay_ns = flow->rnr_ns;
	bool withdrew = flow->withdrew;

	flow->refused = false;
	flow->withdrew = false;
	flow->resume_msg = NULL;
	flow->rnr_ns = 0;
	if (!first) {
		/* The refused message was terminated meanwhile; the next ones may be sent. */
		rd_flow_ready(nic, flow);
		return true;
	}
	flow->next = first;
	if (withdrew)
		return back_off_withdrawn(nic, flow);
	if (first->opcode == HW_WQE_TSEND && host_up.tag_refused(nic, flow, first)) {
		rd_flow_ready(nic, flow);
		return true;
	}
	FW_COUNT(nic, rd_rnr_backoffs);
	if (!delay_ns) {
		/*
		 * A refusal without a timer is an error; its Terminate is in flight, if one could
		 * be sent.
		 */
		if (flow->error_tries == RD_ERROR_TRIES) {
			FW_COUNT(nic, retry_exceeded);
			rd_flow_fail(nic, flow, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
			return false;
		}
		delay_ns = RD_ERROR_BACKOFF_NS << (flow->error_tries < 9 ? flow->error_tries : 9);
		flow->error_tries++;
	} else if (!flow->response && flow->qp->attr.rnr_retry != 7 &&
		   flow->rnr_tries++ >= flow->qp->attr.rnr_retry) {
		/*
		 * The request fails. A QP of RC fails with it, a QP of RD continues with the next
		 * message.
		 */
		if (flow->qp->type == HW_QPT_RD)
			rd_cancel_msg(nic, first);
		end_in_place(nic, flow, first, HW_STATUS_RNR_RETRY_EXC_ERR);
		return false;
	}
	flow->backing_off = true;
	fw_timer_set(&nic->timers, &flow->rnr_timer, nic->now_ns + delay_ns);
	return true;
}

/* One PSN of the flow left the network. The flow may be freed by it. */
static void account(struct fw_nic *nic, struct rd_flow *flow)
{
	if (flow->refused && !flow->outstanding && !back_off(nic, flow))
		return;
	if (!rd_flow_front_waits(flow))
		rd_flow_complete_front(nic, flow);
}

void rd_outcome_acked(struct fw_nic *nic, struct rd_flow *flow, struct fw_wqe *msg,
		      uint32_t packets)
{
	flow->outstanding -= packets;
	/*
	 * A cancellation is accepted in any order, also behind a refusal, so it proves nothing for
	 * the rest.
	 */
	if (flow->stuck.ns && !flow->refused) {
		/* Packets get through again. */
		flow->stuck.ns = 0;
		flow->withdrawals = 0;
		rd_flow_ready(nic, flow);
	}
	if (msg) {
		msg->unacked -= packets;
		if (msg->state == FW_WQE_SENT && !msg->unacked && !msg->refused) {
			msg->state = FW_WQE_RESPONSE;
			if (!wqe_is_request(msg) || !wqe_has_answer(msg))
				msg->answered = true;
		}
	}
	account(nic, flow);
}

void rd_outcome_refused(struct fw_nic *nic, struct rd_slot *slot, uint32_t rnr_ns)
{
	struct rd_flow *flow = slot->flow;
	struct fw_wqe *msg = slot->msg;
	uint32_t psn;

	slot->flow = NULL;
	slot->msg = NULL;
	if (!flow)
		return;
	flow->outstanding--;
	psn = psn_of(flow->session, slot);
	if (!flow->refused && slot->withdrawn && msg) {
		flow->withdrew = true;
		flow->resume_msg = msg;
		flow->resume_bytes = slot->offset;
		if (!flow->stuck.ns)
			flow->stuck = slot->first_sent;
	}
	flow->refused = true;
	fw_list_del(&flow->ready_node);
	if (rnr_ns > flow->rnr_ns)
		flow->rnr_ns = rnr_ns;
	if (msg) {
		msg->unacked--;
		requeue(flow, msg, psn);
	}
	account(nic, flow);
}

/* Returns the message of the number that has packets in flight; NULL: none. */
static struct fw_wqe *find_in_window(const struct rd_flow *flow, uint32_t ssn)
{
	const struct rd_session *s = flow->session;
	uint32_t psn;

	for (psn = s->tx_una; s->tx && psn != s->tx_psn; psn++) {
		const struct rd_slot *slot = rd_slot_at(s, psn);

		if (slot->flow == flow && slot->msg && slot->msg->ssn == ssn)
			return slot->msg;
	}
	return NULL;
}

/* Likewise that waits to be sent again, wholly or in part. */
static struct fw_wqe *find_refused(const struct rd_flow *flow, uint32_t ssn)
{
	struct fw_wqe *msg = flow->first_refused;
	uint32_t looks;

	if (!msg)
		msg = flow->refused_ended ? look_for_refused(flow) : flow->next;
	for (looks = 0; msg && msg->begun_ns && looks < RD_CANCEL_LOOKS; looks++) {
		const struct fw_list *next = msg->flow_node.next;

		if (msg->ssn == ssn)
			return msg;
		msg = next == &flow->msgs ? NULL : FW_CONTAINER(next, struct fw_wqe, flow_node);
	}
	return NULL;
}

/* Likewise that waits for its answer. */
static struct fw_wqe *find_read(const struct rd_flow *flow, uint32_t ssn)
{
	const struct fw_list *pos;

	fw_list_for_each (pos, &flow->qp->reads) {
		struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, read_node);

		if (msg->flow == flow && msg->ssn == ssn)
			return msg;
	}
	return NULL;
}

/*
 * A queue pair may have thousands of flows, and a flow thousands of messages that wait for an
 * earlier one. A peer can know of those that were begun and have not ended: they are looked for
 * where they are.
 */
void rd_outcome_terminated(struct fw_nic *nic, struct fw_qp *qp, uint32_t src_ip, uint32_t src_qpn,
			   uint32_t ssn, enum hw_status status)
{
	uint8_t shard = (uint8_t)(src_qpn >> 16 & (WIRE_DGRAM_SHARDS - 1));
	const struct rd_session *session = rd_session_find(nic, src_ip, shard);
	struct rd_flow *flow = session ? rd_flow_find(nic, qp, session, src_qpn, false) : NULL;
	struct fw_wqe *msg;

	if (!flow || rd_flow_is_ending(flow))
		return;
	msg = find_in_window(flow, ssn);
	if (!msg)
		msg = find_refused(flow, ssn);
	if (!msg)
		msg = find_read(flow, ssn);
	/* It may be partly sent, or wait to be sent again. */
	if (msg && !msg->answered)
		end_in_place(nic, flow, msg, status);
}
