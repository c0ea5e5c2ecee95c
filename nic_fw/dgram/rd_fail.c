/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures of messages and flows whose peer does not answer.
 *
 * Timeout and retry count are the QP's (IBA 9.7.6.1.3), so only the flows whose limit is reached
 * fail; the session and the others go on. A session may have very many flows, so they are looked
 * at in slices. Calls rd_ending.c, rd_flow.c and wqe_done.c.
 */
#include "nic_fw/fw_nic.h"

/* Ends one message with a status; the rest of the flow continues, except later requests of RC. */
void rd_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
		 enum hw_vendor_err vendor_err)
{
	struct rd_flow *flow = msg->flow;
	const struct fw_qp *qp = flow->qp;
	uint32_t state = qp->state;

	if (qp->type == HW_QPT_RD && flow->session->state == RD_OPEN)
		rd_cancel_msg(nic, msg);
	/*
	 * A connection's request fails here, and no later request is carried out (IBA 10.10.2.3).
	 * The later ones wait in the send queue for their turn, and are flushed.
	 */
	if (qp_is_rc(qp) && msg->kind == FW_WQE_REQUEST)
		rd_flow_cut(flow, msg);
	rd_flow_remove(nic, msg);
	if (rd_flow_is_empty(flow) && !flow->outstanding) {
		rd_flow_free(nic, flow);
		flow = NULL;
	}
	if (msg->kind != FW_WQE_REQUEST)
		wqe_end(nic, msg, status, vendor_err);
	else
		wqe_complete_in_order(nic, msg, status, vendor_err);
	/* Messages behind it may be complete. A failed QP has no flows any more. */
	if (flow && qp->state == state)
		rd_flow_settle(nic, flow);
}

void rd_flow_fail(struct fw_nic *nic, struct rd_flow *flow, enum hw_status status,
		  enum hw_vendor_err vendor_err)
{
	rd_ending_flow(nic, flow, status, vendor_err);
	rd_ending_run(nic);
}

/* Its peer does not answer; rd_ending_run() fails its messages. */
static void give_up(struct fw_nic *nic, struct rd_flow *flow)
{
	FW_COUNT(nic, retry_exceeded);
	rd_ending_flow(nic, flow, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
}

/*
 * A message that waits for a response is acknowledged and cannot be sent again. It is given up only
 * when a peer that is reachable again would send a new HELLO.
 */
static uint64_t flow_limit_ns(const struct rd_flow *flow)
{
	return flow->response ? RD_STALE_NS : qp_limit_ns(flow->qp);
}

bool rd_flow_is_over_limit(const struct fw_nic *nic, const struct rd_flow *flow)
{
	return flow->stuck.ns && fw_waited(nic, &flow->stuck, flow_limit_ns(flow));
}

/*
 * Returns the time since when a flow with nothing in flight waits for a packet without a message
 * that the peer does not acknowledge: the later of the two beginnings. NULL: it does not wait for
 * one.
 */
static const struct fw_moment *blocked_since(const struct rd_session *session,
					     const struct rd_flow *flow)
{
	const struct rd_slot *oldest;

	if (!session->tx || session->tx_una == session->tx_psn || !flow->next ||
	    flow->outstanding || flow->refused || flow->backing_off)
		return NULL;
	oldest = rd_slot_oldest(session);
	if (oldest->msg)
		return NULL;
	return oldest->first_sent.ns > flow->since.ns ? &oldest->first_sent : &flow->since;
}

/*
 * True if some of the QP's retries were made, however long the round trips look. When cores wait
 * for their processor, the first retry may come later than the end of the limit.
 */
static bool was_retried(const struct rd_session *session, const struct rd_slot *slot)
{
	uint32_t want = slot->flow->qp->attr.retry_cnt;

	if (want > RD_LIMIT_TRIES)
		want = RD_LIMIT_TRIES;
	return slot->state == RD_SLOT_HELD ||
	       (uint32_t)session->tlp_sent + session->backoff + slot->tries >= want;
}

/* True if the flow waits for longer than its limit, with nothing of it in flight or stuck. */
static bool has_waited(const struct fw_nic *nic, const struct rd_session *session,
		       const struct rd_flow *flow)
{
	/*
	 * Before the session is open nothing is in flight, and messages wait since their flow
	 * began.
	 */
	bool open = session->state == RD_OPEN && session->confirmed;
	const struct fw_moment *since = open ? blocked_since(session, flow) : &flow->since;

	return (since && fw_waited(nic, since, flow_limit_ns(flow))) ||
	       rd_flow_is_over_limit(nic, flow);
}

/*
 * Fails the flow if only responses are awaited and its QP's limit is reached, while the peer has
 * been silent since the probe. Returns true if the flow goes on to await responses.
 */
static bool rd_fail_awaiting(struct fw_nic *nic, const struct rd_session *session,
			     struct rd_flow *flow)
{
	bool silent = session->probe.ns && session->ts_echo_ns < session->probe.ns &&
		      nic->now_ns - session->probe.ns >= RD_SILENT_NS;

	if (flow->response || flow->outstanding || (flow->next && !rd_lacks_credit(session)))
		return false;
	if (!silent || !fw_waited(nic, &session->probe, qp_limit_ns(flow->qp)))
		return !flow->next;
	give_up(nic, flow);
	return false;
}

/*
 * Detects a request that the peer acknowledged but never received, because a forger acknowledged it
 * in the peer's name, or used its PSN. Answers come in the flow's order, so none behind it comes
 * either.
 */
static void look_for_answer(struct rd_flow *flow)
{
	const struct fw_wqe *first;

	if (flow->response || fw_list_empty(&flow->msgs))
		return;
	first = FW_CONTAINER(flow->msgs.next, struct fw_wqe, flow_node);
	if (first->state == FW_WQE_RESPONSE && first->ssn == flow->look_ssn &&
	    first->read_bytes == flow->look_bytes) {
		flow->looks++;
		return;
	}
	flow->look_ssn = first->ssn;
	flow->look_bytes = first->read_bytes;
	flow->looks = 0;
}

/* ---- the flows of a session, some in a turn ---------------------------------------------------
 */

enum {
	LOOK_LIMITS = 0x01,
	LOOK_AWAITING = 0x02,
	LOOK_ANSWERS = 0x04,
	LOOKS_PER_UNIT = 4,
};

static void rd_fail_look_at(struct fw_nic *nic, struct rd_session *session, struct rd_flow *flow)
{
	if (session->look_for & LOOK_ANSWERS) {
		look_for_answer(flow);
		if (flow->looks >= LLP_ANSWER_LOOKS) {
			give_up(nic, flow);
			return;
		}
	}
	if (session->look_for & LOOK_LIMITS && has_waited(nic, session, flow)) {
		give_up(nic, flow);
		return;
	}
	if (session->look_for & LOOK_AWAITING)
		session->look_left |= rd_fail_awaiting(nic, session, flow);
}

static void rd_fail_begin(struct rd_session *session)
{
	session->look_for = session->look_next;
	session->look_next = 0;
	session->look_left = false;
	session->look_serial++;
}

bool rd_fail_step(struct fw_nic *nic, struct rd_session *session)
{
	uint32_t i;

	if (!session->look_for || !slice_take(nic, 1))
		return false;
	for (i = 0; i < LOOKS_PER_UNIT; i++) {
		struct rd_flow *flow =
		    FW_CONTAINER(session->all_flows.next, struct rd_flow, session_node);

		/* Flows that were looked at, and new ones, are behind the others. */
		if (fw_list_empty(&session->all_flows) ||
		    flow->look_serial == session->look_serial) {
			if (session->look_for & LOOK_AWAITING)
				session->awaits = session->look_left;
			rd_fail_begin(session);
			return true;
		}
		flow->look_serial = session->look_serial;
		fw_list_del(&flow->session_node);
		fw_list_add_tail(&session->all_flows, &flow->session_node);
		rd_fail_look_at(nic, session, flow);
	}
	return true;
}

/* A look that is under way goes on, and the next one follows it. */
static void rd_fail_look(struct fw_nic *nic, struct rd_session *session, uint8_t what)
{
	if (fw_list_empty(&session->all_flows)) {
		session->awaits = false;
	} else {
		session->look_next |= what;
		if (!session->look_for)
			rd_fail_begin(session);
	}
	rd_ending_look(nic, session);
}

bool rd_flow_check_awaiting(struct fw_nic *nic, struct rd_session *session)
{
	rd_fail_look(nic, session, LOOK_AWAITING);
	return (session->look_for | session->look_next) & LOOK_AWAITING || session->awaits;
}

void rd_flow_check_answers(struct fw_nic *nic, struct rd_session *session)
{
	rd_fail_look(nic, session, LOOK_ANSWERS);
}

void rd_flow_check_limits(struct fw_nic *nic, struct rd_session *session)
{
	uint32_t psn;

	for (psn = session->tx_una; session->tx && psn != session->tx_psn; psn++) {
		const struct rd_slot *slot = rd_slot_at(session, psn);

		if (slot->state != RD_SLOT_ACKED && slot->msg && slot->flow &&
		    was_retried(session, slot) &&
		    fw_waited(nic, &slot->first_sent, flow_limit_ns(slot->flow)))
			give_up(nic, slot->flow);
	}
	rd_fail_look(nic, session, LOOK_LIMITS);
}
