/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives that messages of reliable and of connected QPs have taken and not yet completed.
 *
 * A Send takes its receive when its first packet arrives, in any order. On an RC QP receives must
 * complete in the order in which they were posted, so an early message makes the messages before it
 * take their receives too (the MSN counts messages that take a receive). On an RD QP, which serves
 * many peers, and on an XRC QP, which serves many SRQs, the order of taking is that of arrival.
 * Calls rq.c, cq.c.
 */
#include "nic_fw/fw_nic.h"

/*
 * A QP of RD or XRC may have open messages of many peers: a hash finds them by the peer's QP and
 * ours. A QP of RC has few (RECV_MSN_AHEAD), in their order.
 */
static bool is_hashed(const struct fw_qp *qp)
{
	return qp->type == HW_QPT_RD || qp->type == HW_QPT_XRC_RECV;
}

/* Returns the chain of a flow of messages. */
static uint32_t *chain(struct fw_nic *nic, const struct fw_qp *qp, uint32_t src_ip,
		       uint32_t src_qpn)
{
	return &nic->host.recv_hash[fw_hash_keyed(&nic->hash_key, src_ip, src_qpn, qp->qpn) %
				    FW_HASH_SIZE];
}

static void hash(struct fw_nic *nic, struct recv_msg *msg)
{
	uint32_t *head = chain(nic, msg->qp, msg->src_ip, msg->src_qpn);

	fw_chain_add(head, &msg->hash_next, fw_pool_index(&nic->host.recv_msgs, msg));
}

static void recv_unhash(struct fw_nic *nic, struct recv_msg *msg)
{
	fw_chain_del(chain(nic, msg->qp, msg->src_ip, msg->src_qpn), msg,
		     fw_pool_table(&nic->host.recv_msgs), hash_next);
}

/* True if the message is of this flow, and of the session's present life. */
static bool recv_is_of(const struct recv_msg *msg, const struct fw_qp *qp,
		       const struct rdmap_seg *pkt)
{
	return msg->qp == qp && msg->src_qpn == pkt->src_qpn && msg->src_ip == pkt->src_ip &&
	       (qp->type != HW_QPT_RD || !pkt->peer || msg->life == pkt->peer->life);
}

struct recv_msg *recv_find(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt)
{
	struct recv_msg *msg;
	struct fw_list *pos;

	if (fw_list_empty(&qp->recv_msgs))
		return NULL;
	if (is_hashed(qp)) {
		fw_chain_for_each (msg, *chain(nic, qp, pkt->src_ip, pkt->src_qpn),
				   fw_pool_table(&nic->host.recv_msgs), hash_next)
			if (msg->msn == pkt->msn && recv_is_of(msg, qp, pkt))
				return msg;
		return NULL;
	}
	fw_list_for_each (pos, &qp->recv_msgs) {
		msg = FW_CONTAINER(pos, struct recv_msg, qp_node);
		if (msg->msn == pkt->msn && recv_is_of(msg, qp, pkt))
			return msg;
	}
	return NULL;
}

void recv_cqe_of_srq(struct hw_cqe *cqe, const struct fw_srq *srq)
{
	if (!srq)
		return;
	cqe->flags |= HW_CQE_F_XRC;
	cqe->sq_index = srq->index;
}

/* Returns the SRQ that an XRC request names, which was checked; NULL: the QP is of another kind. */
static struct fw_srq *srq_of(struct fw_nic *nic, const struct fw_qp *qp,
			     const struct rdmap_seg *pkt)
{
	return qp->type == HW_QPT_XRC_RECV ? xrc_srq(nic, qp, pkt->qkey) : NULL;
}

/* Gets a context in the share of the QP's user; NULL: none. */
static struct recv_msg *recv_get(struct fw_nic *nic, const struct fw_qp *qp)
{
	const struct fw_account *user = nic->host.clients[qp->client].share->user;

	if (!share_pool_may(&nic->host.recv_msgs, user->recv_msgs)) {
		FW_COUNT(nic, recv_msgs_share_refused);
		return NULL;
	}
	return fw_pool_get(&nic->host.recv_msgs);
}

/* Enters the message of pkt. */
static void recv_enter(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		       uint32_t msn, struct fw_srq *srq, struct recv_msg *msg)
{
	msg->qp = qp;
	msg->srq = srq;
	msg->tag = NULL;
	msg->src_ip = pkt->src_ip;
	msg->src_qpn = pkt->src_qpn;
	msg->src_shard = pkt->src_shard;
	msg->msn = msn;
	msg->begun = false;
	msg->serial = ++nic->host.recv_serial;
	msg->done = 0;
	msg->life = pkt->peer ? pkt->peer->life : 0;
	fw_list_add_tail(&qp->recv_msgs, &msg->qp_node);
	fw_list_init(&msg->peer_node);
	if (srq)
		fw_list_add_tail(&srq->open_recvs, &msg->peer_node);
	else if (pkt->peer && qp->type == HW_QPT_RD)
		fw_list_add_tail(&pkt->peer->recvs, &msg->peer_node);
	if (is_hashed(qp))
		hash(nic, msg);
	qp->msgs_open++;
	nic->host.clients[qp->client].share->user->recv_msgs++;
}

enum rdmap_result recv_open(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			    struct tag_arrival *tag, struct recv_msg **out)
{
	struct recv_msg *msg = recv_get(nic, qp);

	if (!msg)
		return RDMAP_DROP;
	recv_enter(nic, qp, pkt, pkt->msn, NULL, msg);
	msg->tag = tag;
	msg->begun = true;
	*out = msg;
	return RDMAP_OK;
}

static enum rdmap_result recv_take(struct fw_nic *nic, struct fw_qp *qp,
				   const struct rdmap_seg *pkt, uint32_t msn, struct recv_msg **out)
{
	struct fw_srq *srq = srq_of(nic, qp, pkt);
	struct recv_msg *msg = recv_get(nic, qp);

	if (!msg)
		return RDMAP_DROP;
	switch (srq ? rq_take_srq(nic, srq, &msg->recv) : rq_take(nic, qp, &msg->recv)) {
	case RQ_OK:
		break;
	case RQ_EMPTY:
		fw_pool_put(&nic->host.recv_msgs, msg);
		return RDMAP_REFUSE;
	case RQ_BAD:
		/* The message that meets it completes it as malformed: no SGE, no room. */
		msg->recv.num_sge = 0;
		msg->recv.bytes = 0;
		break;
	}
	recv_enter(nic, qp, pkt, msn, srq, msg);
	*out = msg;
	return RDMAP_OK;
}

/*
 * RD, XRC: takes over the receive of the latest message of the same flow that came before its turn.
 * That message cannot be delivered while this one is refused, so its receive serves this one, and
 * it is refused in its turn. Otherwise a process that posts the next receive only after this
 * message would wait for ever.
 */
static struct recv_msg *recv_take_over(struct fw_nic *nic, struct fw_qp *qp,
				       const struct rdmap_seg *pkt)
{
	const struct fw_srq *srq = srq_of(nic, qp, pkt);
	struct recv_msg *latest = NULL, *msg;

	fw_chain_for_each (msg, *chain(nic, qp, pkt->src_ip, pkt->src_qpn),
			   fw_pool_table(&nic->host.recv_msgs), hash_next)
		if (recv_is_of(msg, qp, pkt) && msg->srq == srq && seq_lt(pkt->msn, msg->msn) &&
		    (!latest || seq_lt(latest->msn, msg->msn)))
			latest = msg;
	if (latest) {
		latest->msn = pkt->msn;
		latest->serial = ++nic->host.recv_serial;
		latest->done = 0;
	}
	return latest;
}

enum rdmap_result recv_begin(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			     bool in_order, struct recv_msg **msg)
{
	enum rdmap_result result = RDMAP_ERROR;

	if (qp->type != HW_QPT_RC) {
		result = recv_take(nic, qp, pkt, pkt->msn, msg);
		if (result == RDMAP_REFUSE && in_order && is_hashed(qp)) {
			*msg = recv_take_over(nic, qp, pkt);
			if (*msg)
				result = RDMAP_OK;
		}
	} else if (pkt->msn - qp->rx_msn_taken <= RECV_MSN_AHEAD && pkt->msn != qp->rx_msn_taken) {
		do {
			result = recv_take(nic, qp, pkt, qp->rx_msn_taken + 1, msg);
			if (result == RDMAP_OK)
				qp->rx_msn_taken++;
		} while (result == RDMAP_OK && qp->rx_msn_taken != pkt->msn);
	}
	if (result == RDMAP_OK)
		(*msg)->begun = true;
	return result;
}

void recv_end(struct fw_nic *nic, struct fw_qp *qp, struct recv_msg *msg)
{
	fw_list_del(&msg->qp_node);
	fw_list_del(&msg->peer_node);
	if (is_hashed(qp))
		recv_unhash(nic, msg);
	qp->msgs_open--;
	nic->host.clients[qp->client].share->user->recv_msgs--;
	fw_pool_put(&nic->host.recv_msgs, msg);
}

static void abort_one(struct fw_nic *nic, struct recv_msg *msg, enum hw_status status)
{
	struct fw_qp *qp = msg->qp;
	struct hw_cqe cqe = {
	    .wr_id = msg->recv.wr_id,
	    .qpn = qp->qpn,
	    .src_qpn = msg->src_qpn,
	    .src_ip = msg->src_ip,
	    .status = (uint8_t)status,
	    .opcode = HW_CQE_RECV,
	};
	const struct fw_srq *srq = msg->srq;

	if (msg->tag) {
		struct tag_arrival *tag = msg->tag;

		recv_end(nic, qp, msg);
		rdmap_up.tag_abort(nic, tag, status);
		return;
	}
	recv_end(nic, qp, msg);
	recv_cqe_of_srq(&cqe, srq);
	fw_trace(nic, TRACE_CQE, qp->qpn, cqe.wr_id, status);
	(void)cq_post(nic, srq ? srq->cq : qp->recv_cq, &cqe);
}

void recv_abort(struct fw_nic *nic, struct recv_msg *msg, enum hw_status status)
{
	abort_one(nic, msg, status);
}

bool recv_forget_srq(struct fw_nic *nic, struct fw_srq *srq)
{
	srq->ending = true;
	while (!fw_list_empty(&srq->open_recvs)) {
		struct recv_msg *msg =
		    FW_CONTAINER(srq->open_recvs.next, struct recv_msg, peer_node);

		if (!slice_take(nic, 1))
			return false;
		recv_end(nic, msg->qp, msg);
	}
	return true;
}

bool recv_flush_step(struct fw_nic *nic, struct fw_qp *qp)
{
	while (!fw_list_empty(&qp->recv_msgs)) {
		struct recv_msg *msg = FW_CONTAINER(qp->recv_msgs.next, struct recv_msg, qp_node);

		if (!slice_take(nic, 1))
			return false;
		if (qp->state == HW_QPS_ERR || msg->tag)
			abort_one(nic, msg, HW_STATUS_WR_FLUSH_ERR);
		else
			recv_end(nic, qp, msg);
	}
	return true;
}

static void recv_abort_run(struct fw_nic *nic)
{
	struct fw_list *aborted = &nic->slices.aborted;

	while (!fw_list_empty(aborted) && slice_take(nic, 1))
		abort_one(nic, FW_CONTAINER(aborted->next, struct recv_msg, peer_node),
			  HW_STATUS_REM_ABORT_ERR);
}

void recv_abort_slice(struct fw_nic *nic)
{
	if (fw_list_empty(&nic->slices.aborted))
		return;
	nic->turn_did |= FW_DID_FLUSH;
	recv_abort_run(nic);
}

void recv_abort_peer(struct fw_nic *nic, struct recv_peer *peer)
{
	peer->life++;
	if (fw_list_empty(&peer->recvs))
		return;
	fw_list_splice_tail(&nic->slices.aborted, &peer->recvs);
	slice_wait(&nic->slices, SLICE_ABORT);
	recv_abort_run(nic);
}

void recv_cancel(struct fw_nic *nic, struct fw_qp *qp, const struct recv_peer *peer,
		 uint32_t src_qpn, uint32_t first_ssn, uint32_t last_ssn)
{
	struct fw_list given_up;
	struct recv_msg *msg;

	/*
	 * The chain has the latest first; receives complete in the order in which they were taken.
	 */
	fw_list_init(&given_up);
	fw_chain_for_each (msg, *chain(nic, qp, peer->ip, src_qpn),
			   fw_pool_table(&nic->host.recv_msgs), hash_next) {
		if (msg->qp != qp || msg->src_ip != peer->ip || msg->src_qpn != src_qpn ||
		    msg->src_shard != peer->shard || msg->life != peer->life ||
		    msg->msn - first_ssn > last_ssn - first_ssn)
			continue;
		fw_list_del(&msg->peer_node);
		fw_list_add_tail(given_up.next, &msg->peer_node);
	}
	while (!fw_list_empty(&given_up))
		abort_one(nic, FW_CONTAINER(given_up.next, struct recv_msg, peer_node),
			  HW_STATUS_REM_ABORT_ERR);
}
