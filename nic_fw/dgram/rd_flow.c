/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of RD: the messages of one (QP, peer QP, class) in order.
 *
 * Requests and responses are separate flows, so that a refused request cannot delay the response
 * that its peer waits for. Packets of a flow name their predecessor (flow_distance). When a packet
 * is refused, all behind it are refused too. The flow then stops until every PSN is accounted for,
 * waits for the RNR timer, and starts again from the refused message with new PSNs. rd_fail.c has
 * failures and limits. Calls wqe_done.c. ARCHITECTURE.md "RD in one page".
 */
#include "nic_fw/fw_nic.h"

static uint32_t *rd_flow_bucket(struct fw_nic *nic, const struct fw_qp *qp,
				const struct rd_session *session, uint32_t dst_qpn, bool response)
{
	uint32_t h = fw_hash_keyed(&nic->hash_key, (uint32_t)(uintptr_t)qp,
				   session->index << 1 | response, dst_qpn);

	return &nic->rd.flow_hash[h % FW_HASH_SIZE];
}

void rd_flow_ready(struct fw_nic *nic, struct rd_flow *flow)
{
	/* Nothing is left to do for most messages of a burst. */
	if (fw_list_linked(&flow->ready_node) && fw_list_linked(&flow->session->ready_node))
		return;
	if (!rd_flow_may_send(nic, flow))
		return;
	if (!fw_list_linked(&flow->ready_node))
		fw_list_add_tail(&flow->session->flows, &flow->ready_node);
	rd_session_ready(nic, flow->session);
}

void rd_flow_rnr_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct rd_flow *flow = FW_CONTAINER(timer, struct rd_flow, rnr_timer);

	flow->backing_off = false;
	rd_flow_ready(nic, flow);
}

/* True if new messages go to the flow. Responses of an ending one are not sent, others need not
 * wait. */
static bool rd_flow_is_of(const struct rd_flow *flow, const struct fw_qp *qp,
			  const struct rd_session *session, uint32_t dst_qpn, bool response)
{
	return flow->qp == qp && flow->session == session && flow->dst_qpn == dst_qpn &&
	       flow->response == response && !(response && rd_flow_is_ending(flow));
}

static struct rd_flow *flow_find(struct fw_nic *nic, const struct fw_qp *qp,
				 const struct rd_session *session, uint32_t dst_qpn, bool response)
{
	struct rd_flow *flow = nic->rd.flow_found;

	if (flow && rd_flow_is_of(flow, qp, session, dst_qpn, response))
		return flow;
	fw_chain_for_each (flow, *rd_flow_bucket(nic, qp, session, dst_qpn, response),
			   fw_pool_table(&nic->rd.flows), hash_next)
		if (rd_flow_is_of(flow, qp, session, dst_qpn, response)) {
			nic->rd.flow_found = flow;
			return flow;
		}
	return NULL;
}

bool rd_flow_is_terminating(struct fw_nic *nic, const struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	const struct rd_session *session;
	const struct rd_flow *flow;
	const struct fw_list *pos;
	uint32_t looks = 0;

	if (!nic->rdmap.terminates)
		return false;
	session = rd_session_find(nic, pkt->src_ip,
				  (uint8_t)(pkt->src_qpn >> 16 & (WIRE_DGRAM_SHARDS - 1)));
	flow = session ? flow_find(nic, qp, session, pkt->src_qpn, true) : NULL;
	if (!flow)
		return false;
	fw_list_for_each (pos, &flow->msgs) {
		const struct fw_wqe *msg = FW_CONTAINER(pos, struct fw_wqe, flow_node);

		/* A peer that acknowledges nothing gets no further ones. */
		if (++looks == RD_ANSWERS || (msg->kind == FW_WQE_TERMINATE &&
					      msg->ssn == pkt->ssn && msg->src_qpn == pkt->dst_qpn))
			return true;
	}
	return false;
}

static struct rd_flow *flow_get(struct fw_nic *nic, struct fw_qp *qp, struct rd_session *session,
				uint32_t dst_qpn, bool response)
{
	struct rd_flow *flow = flow_find(nic, qp, session, dst_qpn, response);
	struct fw_client *owner = &nic->host.clients[qp->client];
	uint32_t *head;

	/* Requests of an ending flow complete before those after it are sent. */
	if (flow && rd_flow_is_ending(flow) && !rd_ending_stays(nic, flow))
		return NULL;
	if (flow)
		return flow;
	if (!response && (!fw_pool_has_share(&nic->rd.flows, owner->flows_held) ||
			  !share_pool_may(&nic->rd.flows, owner->share->user->flows))) {
		FW_COUNT(nic, rd_flows_share_refused);
		return NULL;
	}
	flow = fw_pool_get(&nic->rd.flows);
	if (!flow)
		return NULL;
	if (!response) {
		owner->flows_held++;
		owner->share->user->flows++;
	}
	memset(flow, 0, sizeof(*flow));
	flow->qp = qp;
	flow->session = session;
	flow->dst_qpn = dst_qpn;
	flow->response = response;
	flow->life = session->recv.life;
	flow->look_serial = session->look_serial;
	flow->since = fw_moment_now(nic);
	fw_list_init(&flow->msgs);
	fw_list_init(&flow->behind);
	fw_list_init(&flow->ready_node);
	fw_list_init(&flow->done_node);
	fw_timer_init(&flow->rnr_timer, FW_TIMER_RD_RNR);
	fw_list_add_tail(&qp->flows, &flow->qp_node);
	fw_list_add_tail(&session->all_flows, &flow->session_node);
	head = rd_flow_bucket(nic, qp, session, dst_qpn, response);
	fw_chain_add(head, &flow->hash_next, fw_pool_index(&nic->rd.flows, flow));
	return flow;
}

void rd_flow_free(struct fw_nic *nic, struct rd_flow *flow)
{
	assert(rd_flow_is_empty(flow));
	fw_chain_del(rd_flow_bucket(nic, flow->qp, flow->session, flow->dst_qpn, flow->response),
		     flow, fw_pool_table(&nic->rd.flows), hash_next);
	if (nic->rd.flow_found == flow)
		nic->rd.flow_found = NULL;
	if (!flow->response) {
		nic->host.clients[flow->qp->client].flows_held--;
		nic->host.clients[flow->qp->client].share->user->flows--;
	}
	fw_timer_cancel(&nic->timers, &flow->rnr_timer);
	fw_list_del(&flow->qp_node);
	fw_list_del(&flow->session_node);
	fw_list_del(&flow->ready_node);
	fw_list_del(&flow->done_node);
	fw_pool_put(&nic->rd.flows, flow);
}

/*
 * True while its QP or session is about to end the flow, which takes turns: no packet of it may be
 * sent in between. Memory of an ending process is out of reach already, and slots with inline data
 * are the process's.
 */
static bool is_stopped(const struct fw_nic *nic, const struct rd_flow *flow)
{
	const struct fw_qp *qp = flow->qp;

	if (rd_flow_is_ending(flow))
		return true;
	/* In SQE only the send queue has failed. */
	if (qp->flushing && !(flow->response && qp->state == HW_QPS_SQE))
		return true;
	return qp != nic->host.null_qp && !qp_is_live(nic, qp);
}

bool rd_flow_may_resend(const struct fw_nic *nic, const struct rd_flow *flow)
{
	return !is_stopped(nic, flow);
}

bool rd_flow_may_send(const struct fw_nic *nic, const struct rd_flow *flow)
{
	/* A flow whose packets did not get through sends one packet at a time. */
	return flow->next && !flow->refused && !flow->backing_off &&
	       !(flow->withdrawals && flow->outstanding) && !is_stopped(nic, flow);
}

bool rd_flow_send(struct fw_nic *nic, struct fw_wqe *msg)
{
	uint8_t shard = (uint8_t)(msg->dst_qpn >> 16 & (WIRE_DGRAM_SHARDS - 1));
	struct rd_session *session = rd_session_find(nic, msg->dst_ip, shard);
	struct rd_flow *flow;

	/* An answer to a peer is charged to no share: the peer's HELLO made the session. */
	if (!session)
		session = wqe_is_request(msg)
			      ? share_session_get(nic, msg->qp->client, msg->dst_ip, shard)
			      : rd_session_get(nic, msg->dst_ip, shard);
	if (!session)
		return false;
	if (session->foreign && wqe_is_request(msg))
		rd_share_leave(nic, session);
	/* Runs before the flow exists: a session that was idle for long is opened anew. */
	rd_session_start(nic, session);
	flow = flow_get(nic, msg->qp, session, msg->dst_qpn, !wqe_is_request(msg));
	if (!flow)
		return false;
	msg->flow = flow;
	msg->state = FW_WQE_QUEUED;
	fw_list_add_tail(&flow->msgs, &msg->flow_node);
	if (!flow->next)
		flow->next = msg;
	fw_trace(nic, TRACE_RDMAP_TX, msg->src_qpn, msg->wr_id, msg->bytes);
	rd_flow_ready(nic, flow);
	return true;
}

void rd_flow_complete_front(struct fw_nic *nic, struct rd_flow *flow)
{
	struct fw_qp *qp = flow->qp;
	uint32_t n;

	for (n = 0; !fw_list_empty(&flow->msgs); n++) {
		struct fw_wqe *msg = FW_CONTAINER(flow->msgs.next, struct fw_wqe, flow_node);

		if (msg->state != FW_WQE_RESPONSE || !msg->answered)
			break;
		if (n && !slice_take_done(nic)) {
			if (!fw_list_linked(&flow->done_node))
				fw_list_add_tail(&qp->done_flows, &flow->done_node);
			wqe_done_later(nic, qp);
			return;
		}
		fw_list_del(&msg->flow_node);
		flow->rnr_tries = 0;
		flow->error_tries = 0;
		uint32_t state = qp->state;

		if (msg->kind == FW_WQE_REQUEST)
			wqe_complete(nic, msg, (enum hw_status)msg->status,
				     (enum hw_vendor_err)msg->vendor_err);
		else
			wqe_end(nic, msg, (enum hw_status)msg->status,
				(enum hw_vendor_err)msg->vendor_err);
		/* A failure may have flushed the QP and all its flows. */
		if (qp->state != state)
			return;
	}
	if (rd_flow_is_empty(flow) && !flow->outstanding)
		rd_flow_free(nic, flow);
}

void rd_flow_complete(struct fw_nic *nic, struct fw_qp *qp)
{
	while (!fw_list_empty(&qp->done_flows)) {
		struct fw_list *node = qp->done_flows.next;

		if (!slice_take(nic, 1)) {
			wqe_done_later(nic, qp);
			return;
		}
		fw_list_del(node);
		rd_flow_complete_front(nic, FW_CONTAINER(node, struct rd_flow, done_node));
	}
}

void rd_flow_settle(struct fw_nic *nic, struct rd_flow *flow)
{
	rd_flow_ready(nic, flow);
	rd_flow_complete_front(nic, flow);
}

struct fw_wqe *rd_flow_next(const struct rd_flow *flow, const struct fw_wqe *msg)
{
	const struct fw_list *pos;

	for (pos = msg->flow_node.next; pos != &flow->msgs; pos = pos->next) {
		struct fw_wqe *next = FW_CONTAINER(pos, struct fw_wqe, flow_node);

		/* A terminated message keeps its place and is not sent again. */
		if (next->state == FW_WQE_QUEUED)
			return next;
	}
	return NULL;
}

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

/* A message ends. */
static void forget_refused(struct rd_flow *flow, const struct fw_wqe *msg)
{
	if (flow->first_refused != msg)
		return;
	flow->first_refused = NULL;
	flow->refused_ended = true;
}

/* Removes every reference to a message, or to the whole flow, from the send window. */
static void void_slots(struct rd_session *s, const struct fw_wqe *msg, const struct rd_flow *flow)
{
	uint32_t psn;

	if (!s->tx)
		return;
	for (psn = s->tx_una; psn != s->tx_psn; psn++) {
		struct rd_slot *slot = &s->tx->slot[psn % WIRE_RD_WINDOW];

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
	void_slots(flow->session, msg, NULL);
	forget_refused(flow, msg);
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

void rd_flow_acked(struct fw_nic *nic, struct rd_slot *slot)
{
	struct rd_flow *flow = slot->flow;
	struct fw_wqe *msg = slot->msg;

	slot->flow = NULL;
	slot->msg = NULL;
	if (!flow)
		return;
	flow->outstanding--;
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
		msg->unacked--;
		if (msg->state == FW_WQE_SENT && !msg->unacked && !msg->refused) {
			msg->state = FW_WQE_RESPONSE;
			if (!wqe_is_request(msg) || !wqe_has_answer(msg))
				msg->answered = true;
		}
	}
	account(nic, flow);
}

void rd_flow_refused(struct fw_nic *nic, struct rd_slot *slot, uint32_t rnr_ns)
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

void rd_flow_response(struct fw_nic *nic, struct fw_wqe *msg)
{
	msg->answered = true;
	if (msg->flow)
		rd_flow_complete_front(nic, msg->flow);
}

void rd_flow_remove(struct fw_nic *nic, struct fw_wqe *msg)
{
	struct rd_flow *flow = msg->flow;

	(void)nic;
	if (msg->unacked)
		void_slots(flow->session, msg, NULL);
	forget_refused(flow, msg);
	if (flow->resume_msg == msg)
		flow->resume_msg = NULL;
	if (flow->next == msg)
		flow->next = rd_flow_next(flow, msg);
	fw_list_del(&msg->flow_node);
	msg->unacked = 0;
}

/* Returns the message of the number that has packets in flight; NULL: none. */
static struct fw_wqe *find_in_window(const struct rd_flow *flow, uint32_t ssn)
{
	const struct rd_session *s = flow->session;
	uint32_t psn;

	for (psn = s->tx_una; s->tx && psn != s->tx_psn; psn++) {
		const struct rd_slot *slot = &s->tx->slot[psn % WIRE_RD_WINDOW];

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
void rd_flow_terminated(struct fw_nic *nic, struct fw_qp *qp, uint32_t src_ip, uint32_t src_qpn,
			uint32_t ssn, enum hw_status status)
{
	uint8_t shard = (uint8_t)(src_qpn >> 16 & (WIRE_DGRAM_SHARDS - 1));
	const struct rd_session *session = rd_session_find(nic, src_ip, shard);
	struct rd_flow *flow = session ? flow_find(nic, qp, session, src_qpn, false) : NULL;
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

void rd_flow_cut(struct rd_flow *flow, struct fw_wqe *msg)
{
	struct rd_session *s = flow->session;
	uint32_t psn;

	for (psn = s->tx_una; s->tx && psn != s->tx_psn; psn++) {
		struct rd_slot *slot = &s->tx->slot[psn % WIRE_RD_WINDOW];

		if (slot->flow == flow && slot->msg && seq_lt(msg->ssn, slot->msg->ssn))
			slot->msg = NULL;
	}
	if (flow->next && seq_lt(msg->ssn, flow->next->ssn))
		flow->next = NULL;
	if (flow->resume_msg && seq_lt(msg->ssn, flow->resume_msg->ssn))
		flow->resume_msg = NULL;
	if (flow->first_refused && seq_lt(msg->ssn, flow->first_refused->ssn))
		forget_refused(flow, flow->first_refused);
	fw_list_cut_behind(&flow->behind, &flow->msgs, &msg->flow_node);
}

void rd_flow_stop(struct fw_nic *nic, struct rd_flow *flow)
{
	if (flow->qp->type == HW_QPT_RD && flow->session->state == RD_OPEN)
		rd_cancel_flow(nic, flow);
	if (flow->outstanding)
		void_slots(flow->session, NULL, flow);
	fw_timer_cancel(&nic->timers, &flow->rnr_timer);
}

/* Ends a flow: its PSNs in flight become void, its messages go to the list. */
static void detach(struct fw_nic *nic, struct rd_flow *flow, struct fw_list *msgs)
{
	rd_flow_stop(nic, flow);
	fw_list_splice_tail(msgs, &flow->msgs);
	fw_list_splice_tail(msgs, &flow->behind);
	rd_flow_free(nic, flow);
}

/* In SQE only the send queue has failed: peers still get their answers. */
static struct rd_flow *flow_to_flush(const struct fw_qp *qp)
{
	const struct fw_list *pos;

	fw_list_for_each (pos, &qp->flows) {
		struct rd_flow *flow = FW_CONTAINER(pos, struct rd_flow, qp_node);

		if (!flow->response || qp->state != HW_QPS_SQE)
			return flow;
	}
	return NULL;
}

bool rd_flush_due(const struct fw_qp *qp)
{
	return flow_to_flush(qp) != NULL;
}

bool rd_flush_flow(struct fw_nic *nic, struct fw_qp *qp)
{
	struct rd_flow *flow = flow_to_flush(qp);

	if (!flow || !slice_take(nic, FW_SLICE_FLOW_UNITS))
		return false;
	if (rd_flow_is_ending(flow))
		return rd_ending_flush(nic, flow);
	detach(nic, flow, &qp->flush_msgs);
	return true;
}
