/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of RD: the messages of one (QP, peer QP, class) in order.
 *
 * Requests and responses are separate flows, so that a refused request cannot delay the response
 * that its peer waits for. Packets of a flow name their predecessor (flow_distance). When a packet
 * is refused, all behind it are refused too. rd_outcome.c has acknowledgements and refusals,
 * rd_fail.c failures and limits. Calls wqe_done.c. ARCHITECTURE.md "RD in one page".
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

struct rd_flow *rd_flow_find(struct fw_nic *nic, const struct fw_qp *qp,
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
	flow = session ? rd_flow_find(nic, qp, session, pkt->src_qpn, true) : NULL;
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
	struct rd_flow *flow = rd_flow_find(nic, qp, session, dst_qpn, response);
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
	return rd_flow_has_next(flow) && !is_stopped(nic, flow);
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

void rd_flow_unsend(struct fw_nic *nic, struct fw_wqe *msg)
{
	struct rd_flow *flow = msg->flow;

	assert(flow->response && msg->state == FW_WQE_QUEUED && !msg->begun_ns && !msg->unacked);
	rd_flow_remove(nic, msg);
	wqe_free(nic, msg);
	if (rd_flow_is_empty(flow) && !flow->outstanding)
		rd_flow_free(nic, flow);
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
	FW_WALK_STEP();
	if (msg->unacked)
		rd_outcome_void(flow->session, msg, NULL);
	rd_outcome_forget(flow, msg);
	if (flow->resume_msg == msg)
		flow->resume_msg = NULL;
	if (flow->next == msg)
		flow->next = rd_flow_next(flow, msg);
	fw_list_del(&msg->flow_node);
	msg->unacked = 0;
}

void rd_flow_cut(struct rd_flow *flow, struct fw_wqe *msg)
{
	struct rd_session *s = flow->session;
	uint32_t psn;

	for (psn = s->tx_una; s->tx && psn != s->tx_psn; psn++) {
		struct rd_slot *slot = rd_slot_at(s, psn);

		if (slot->flow == flow && slot->msg && seq_lt(msg->ssn, slot->msg->ssn))
			slot->msg = NULL;
	}
	if (flow->next && seq_lt(msg->ssn, flow->next->ssn))
		flow->next = NULL;
	if (flow->resume_msg && seq_lt(msg->ssn, flow->resume_msg->ssn))
		flow->resume_msg = NULL;
	if (flow->first_refused && seq_lt(msg->ssn, flow->first_refused->ssn))
		rd_outcome_forget(flow, flow->first_refused);
	fw_list_cut_behind(&flow->behind, &flow->msgs, &msg->flow_node);
}

void rd_flow_stop(struct fw_nic *nic, struct rd_flow *flow)
{
	if (flow->qp->type == HW_QPT_RD && flow->session->state == RD_OPEN)
		rd_cancel_flow(nic, flow);
	if (flow->outstanding)
		rd_outcome_void(flow->session, NULL, flow);
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
