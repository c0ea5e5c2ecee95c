/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of flows of RD, in slices: their session has ended, or their peer does not answer.
 *
 * One session may serve all requests of a shard. When it ends it opens anew at once, and its flows
 * wait in rd_session.ended. They are of an earlier life of the session: they send nothing, and no
 * new request joins them. Each is looked at in a later turn. A flow of which the peer has received
 * nothing returns to the session and is sent anew; at once if its QP has a new request for it. All
 * other flows go to rd_session.failing, where one request after another completes. New requests of
 * the QP to that destination wait until then, so that completions stay in order. A flow that fails
 * alone goes there directly (rd_fail.c). Calls rd_flow.c, wqe_done.c, slice.c.
 */
#include "nic_fw/fw_nic.h"

static void wait_for_turn(struct fw_nic *nic, struct rd_session *s)
{
	if (!fw_list_linked(&s->ending_node))
		fw_list_add_tail(&nic->rd.ending, &s->ending_node);
	slice_wait(&nic->slices, SLICE_FLOWS);
}

void rd_ending_session(struct fw_nic *nic, struct rd_session *s, enum hw_status status,
		       enum hw_vendor_err vendor_err, uint64_t since_ns)
{
	if (fw_list_empty(&s->all_flows))
		return;
	/* Flows of an earlier end that wait still: no request may be carried out twice. */
	if (fw_list_empty(&s->ended) || s->end_since_ns < since_ns)
		s->end_since_ns = since_ns;
	s->end_status = (uint8_t)status;
	s->end_vendor_err = (uint8_t)vendor_err;
	fw_list_splice_tail(&s->ended, &s->all_flows);
	fw_list_splice_tail(&nic->rd.stopped, &s->flows);
	wait_for_turn(nic, s);
}

/* Notes that its messages shall complete; it has nothing in flight any more. */
static void begin_to_fail(struct rd_flow *flow, enum hw_status status,
			  enum hw_vendor_err vendor_err)
{
	flow->failing = true;
	flow->end_status = (uint8_t)status;
	flow->end_vendor_err = (uint8_t)vendor_err;
	flow->next = NULL;
	flow->outstanding = 0;
	fw_list_del(&flow->ready_node);
	fw_list_del(&flow->done_node);
	fw_list_del(&flow->session_node);
	fw_list_add_tail(&flow->session->failing, &flow->session_node);
}

void rd_ending_flow(struct fw_nic *nic, struct rd_flow *flow, enum hw_status status,
		    enum hw_vendor_err vendor_err)
{
	assert(!rd_flow_is_ending(flow));
	rd_flow_stop(nic, flow);
	begin_to_fail(flow, status, vendor_err);
	wait_for_turn(nic, flow->session);
}

/*
 * True if a peer that lost its state before this time can have carried out nothing of the flow.
 * Messages are sent in order, so only those of one window can have begun without an answer.
 */
static bool is_untouched(const struct rd_flow *flow, uint64_t since_ns)
{
	const struct fw_list *pos;

	if (flow->response || since_ns == UINT64_MAX)
		return false;
	fw_list_for_each (pos, &flow->msgs) {
		const struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, flow_node);

		if (msg->state == FW_WQE_RESPONSE || (msg->begun_ns && msg->begun_ns <= since_ns))
			return false;
		if (!msg->begun_ns)
			break;
	}
	return true;
}

/* No sent packet of it has reached the peer: everything is sent anew. */
static void rewind_flow(struct fw_nic *nic, struct rd_flow *flow)
{
	struct fw_list *pos;

	flow->outstanding = 0;
	flow->since = fw_moment_now(nic);
	flow->refused = false;
	flow->backing_off = false;
	flow->withdrew = false;
	flow->withdrawals = 0;
	flow->first_refused = NULL;
	flow->refused_ended = false;
	flow->resume_msg = NULL;
	flow->stuck.ns = 0;
	fw_timer_cancel(&nic->timers, &flow->rnr_timer);
	fw_list_for_each (pos, &flow->msgs) {
		struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, flow_node);

		if (!msg->begun_ns)
			break;
		msg->sent_bytes = 0;
		msg->unacked = 0;
		msg->begun_ns = 0;
		msg->refused = false;
		msg->state = FW_WQE_QUEUED;
	}
	flow->next = FW_CONTAINER(flow->msgs.next, struct fw_wqe, flow_node);
	if (flow->next->state != FW_WQE_QUEUED)
		flow->next = rd_flow_next(flow, flow->next);
}

bool rd_ending_stays(struct fw_nic *nic, struct rd_flow *flow)
{
	struct rd_session *s = flow->session;

	if (flow->failing || fw_list_empty(&flow->msgs) || fw_list_linked(&flow->done_node) ||
	    !is_untouched(flow, s->end_since_ns))
		return false;
	/* Runs before the session has the flow: one that was idle for long is opened anew. */
	rd_session_start(nic, s);
	fw_list_del(&flow->ready_node);
	fw_list_del(&flow->session_node);
	fw_list_add_tail(&s->all_flows, &flow->session_node);
	flow->life = s->recv.life;
	rewind_flow(nic, flow);
	rd_flow_ready(nic, flow);
	return true;
}

/* A request behind a failed one: it waits in the send queue to be flushed. */
static void let_go(struct fw_wqe *msg)
{
	msg->flow = NULL;
	msg->unacked = 0;
}

/* Completes the first message of a failing flow, or frees the flow. False: no units. */
static bool fail_step(struct fw_nic *nic, struct rd_flow *flow)
{
	enum hw_vendor_err vendor_err = (enum hw_vendor_err)flow->end_vendor_err;
	enum hw_status status = (enum hw_status)flow->end_status;
	struct fw_wqe *msg;

	if (rd_flow_is_empty(flow)) {
		rd_flow_free(nic, flow);
		return true;
	}
	if (!slice_take(nic, 1))
		return false;
	if (fw_list_empty(&flow->msgs)) {
		let_go(FW_CONTAINER(fw_list_take(&flow->behind), struct fw_wqe, flow_node));
		return true;
	}
	msg = FW_CONTAINER(fw_list_take(&flow->msgs), struct fw_wqe, flow_node);
	msg->unacked = 0;
	/*
	 * A message that the peer has answered keeps its own status, unless the peer had still to
	 * match it.
	 */
	if (msg->state == FW_WQE_RESPONSE && msg->answered &&
	    !(msg->tag_handle && msg->kind == FW_WQE_REQUEST && msg->status == HW_STATUS_SUCCESS)) {
		status = (enum hw_status)msg->status;
		vendor_err = HW_VENDOR_ERR_NONE;
	}
	/* The flow may be gone after this: the QP may be flushed. */
	if (msg->kind != FW_WQE_REQUEST) {
		wqe_end(nic, msg, status, vendor_err);
		return true;
	}
	/* The flow may be gone after this: the QP may be flushed. */
	if (msg->state != FW_WQE_DONE)
		wqe_complete(nic, msg, status, vendor_err);
	return true;
}

static void look_at(struct fw_nic *nic, struct rd_flow *flow)
{
	const struct rd_session *s = flow->session;

	/* Messages that are over say nothing of the rest. The flow may be gone after this. */
	if (fw_list_linked(&flow->done_node)) {
		fw_list_del(&flow->done_node);
		rd_flow_complete_front(nic, flow);
		return;
	}
	if (!rd_ending_stays(nic, flow))
		begin_to_fail(flow, (enum hw_status)s->end_status,
			      (enum hw_vendor_err)s->end_vendor_err);
}

static struct rd_flow *first(struct fw_list *flows)
{
	return FW_CONTAINER(flows->next, struct rd_flow, session_node);
}

/* Returns false when nothing is left of the session, or no units. */
static bool step(struct fw_nic *nic, struct rd_session *s)
{
	if (!fw_list_empty(&s->failing))
		return fail_step(nic, first(&s->failing));
	if (fw_list_empty(&s->ended))
		return rd_fail_step(nic, s);
	if (!slice_take(nic, FW_SLICE_FLOW_UNITS))
		return false;
	look_at(nic, first(&s->ended));
	return true;
}

bool rd_ending_flush(struct fw_nic *nic, struct rd_flow *flow)
{
	struct fw_qp *qp = flow->qp;

	assert(qp->flushing);
	if (!flow->failing)
		begin_to_fail(flow, HW_STATUS_WR_FLUSH_ERR, HW_VENDOR_ERR_NONE);
	/* A request that ends waits in the send queue to be flushed in its place. */
	while (!rd_flow_is_empty(flow))
		if (!fail_step(nic, flow))
			return false;
	rd_flow_free(nic, flow);
	return true;
}

void rd_ending_run(struct fw_nic *nic)
{
	struct fw_list *node;

	while ((node = fw_list_pop(&nic->rd.ending))) {
		struct rd_session *s = FW_CONTAINER(node, struct rd_session, ending_node);

		fw_list_add_tail(&nic->rd.ending, node);
		while (step(nic, s))
			;
		if (!fw_list_empty(&s->ended) || !fw_list_empty(&s->failing) || s->look_for)
			return;
		fw_list_del(&s->ending_node);
	}
}

void rd_ending_look(struct fw_nic *nic, struct rd_session *s)
{
	wait_for_turn(nic, s);
	rd_ending_run(nic);
}

bool rd_ending_pending(const struct fw_nic *nic)
{
	return !fw_list_empty(&nic->rd.ending);
}

void rd_ending_slice(struct fw_nic *nic)
{
	if (!rd_ending_pending(nic))
		return;
	nic->turn_did |= FW_DID_FLUSH;
	rd_ending_run(nic);
}
