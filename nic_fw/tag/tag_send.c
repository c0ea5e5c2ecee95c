/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged sends: their envelope, and open sends, which end when the peer reports it.
 *
 * A short message goes with its envelope and completes when it is acknowledged. A long one is an
 * RTS: the peer reads it when it has matched it (tag_source.c) and returns DONE. So does a
 * synchronous message. Such a send is open, and outlives its request in the send queue. Calls cq.c,
 * rd_timer.c. docs/tagged.md, "Eager, rendezvous, announced".
 */
#include "nic_fw/fw_nic.h"

enum {
	GENERATIONS = 1 << (31 - TAG_SEND_BITS),
};

/* The top bit keeps it apart from the STags of regions. */
uint32_t tag_send_handle(const struct fw_nic *nic, const struct tag_send *send)
{
	return STAG_SINK_FLAG | (uint32_t)send->generation << TAG_SEND_BITS |
	       fw_pool_index(&nic->tag.sends, send);
}

static struct tag_send *tag_send_at(struct fw_nic *nic, uint32_t handle)
{
	return fw_pool_at(&nic->tag.sends, handle & (TAG_MAX_SENDS - 1));
}

struct tag_send *tag_send_find(struct fw_nic *nic, const struct fw_qp *qp, uint32_t src_ip,
			       uint32_t src_qpn, uint32_t handle)
{
	struct tag_send *send = tag_send_at(nic, handle);

	if ((handle & (TAG_MAX_SENDS - 1)) >= nic->tag.sends.high || !send->used ||
	    tag_send_handle(nic, send) != handle || send->ep != qp->tag || send->dst_ip != src_ip ||
	    send->dst_qpn != src_qpn)
		return NULL;
	return send;
}

/* NULL: the share of the process is used up. */
struct tag_send *tag_send_new(struct fw_nic *nic, struct tag_ep *ep)
{
	struct fw_client *owner = &nic->host.clients[ep->qp->client];
	struct fw_account *user = owner->share->user;
	uint64_t random = nic->port.random64(nic->port.ctx);
	uint16_t generation;
	struct tag_send *send;

	if (ep->num_sends >= HW_TAG_MAX_OPEN_SENDS ||
	    !fw_pool_has_share(&nic->tag.sends, owner->tag_sends_held) ||
	    !share_pool_may(&nic->tag.sends, user->tag_sends)) {
		FW_COUNT(nic, tag_sends_share_refused);
		return NULL;
	}
	/* Where no place is free nobody has a share, either. */
	send = fw_pool_get(&nic->tag.sends);
	assert(send);
	generation = send->generation;
	memset(send, 0, sizeof(*send));
	send->generation =
	    (uint16_t)((generation + 1 + (uint32_t)(random >> 32) % (GENERATIONS - 1)) %
		       GENERATIONS);
	send->secret = STAG_SINK_FLAG | (uint32_t)random;
	send->ep = ep;
	send->kept = FW_NONE;
	send->used = true;
	fw_list_init(&send->peer_node);
	fw_list_add_tail(&ep->sends, &send->ep_node);
	ep->num_sends++;
	owner->tag_sends_held++;
	user->tag_sends++;
	return send;
}

void tag_send_free(struct fw_nic *nic, struct tag_send *send)
{
	struct fw_client *owner = &nic->host.clients[send->ep->qp->client];

	fw_list_del(&send->ep_node);
	fw_list_del(&send->peer_node);
	if (send->kept != FW_NONE) {
		void *kept = fw_pool_at(&nic->tag.kept, send->kept);

		/* Staged frames may point at it. */
		eth_tx_forget_mem(nic, kept, TAG_KEPT_BYTES);
		fw_pool_put(&nic->tag.kept, kept);
	}
	send->ep->num_sends--;
	owner->tag_sends_held--;
	owner->share->user->tag_sends--;
	send->used = false;
	fw_pool_put(&nic->tag.sends, send);
}

static void make_rts(struct fw_wqe *wqe)
{
	wqe->tag_kind = WIRE_TAG_RTS;
	wqe->tag_flags &= (uint8_t)~WIRE_TAG_F_SYNC;
	wqe->flags &= (uint8_t)~HW_WQE_F_INLINE;
	wqe->bytes = sizeof(struct wire_tag);
}

/* A request that is fetched again has had its part in announcements. */
static enum tag_rtr_use announced(struct fw_nic *nic, struct tag_ep *ep, struct fw_wqe *wqe,
				  bool is_long)
{
	struct tag_peer *peer;

	if (__builtin_expect(!ep->settled, 1))
		return tag_rtr_send(nic, wqe, is_long);
	ep->settled = false;
	if (ep->settled_slot != wqe->sq_slot)
		return tag_rtr_send(nic, wqe, is_long);
	peer = tag_peer_find(nic, ep, wqe->dst_ip, wqe->dst_qpn);
	if (peer && peer->sent)
		peer->sent_ssn = wqe->ssn;
	return TAG_RTR_NONE;
}

bool tag_send_fetched(struct fw_nic *nic, struct fw_wqe *wqe)
{
	struct tag_ep *ep = wqe->qp->tag;
	uint8_t wanted = wqe->tag_flags;
	bool eager = wqe->flags & HW_WQE_F_INLINE || wqe->bytes <= ep->eager_bytes;
	struct tag_send *send = NULL;

	if (!eager || wanted & HW_TSEND_F_SYNC) {
		send = tag_send_new(nic, ep);
		if (!send)
			return false;
		send->wr_id = wqe->wr_id;
		send->bytes = wqe->bytes;
		send->dst_ip = wqe->dst_ip;
		send->dst_qpn = wqe->dst_qpn;
		send->sq_end = wqe->sq_end;
		send->signaled =
		    wqe->flags & HW_WQE_F_SIGNALED || wqe->qp->flags & HW_QP_F_SQ_SIG_ALL;
		wqe->tag_handle = tag_send_handle(nic, send);
		wqe->tag_stag = send->secret;
	}
	wqe->tag_kind = WIRE_TAG_EAGER;
	wqe->tag_bytes = wqe->bytes;
	wqe->tag_flags = (uint8_t)((wanted & HW_TSEND_F_MSG ? WIRE_TAG_F_MSG : 0) |
				   (wanted & HW_TSEND_F_DATA ? WIRE_TAG_F_DATA : 0) |
				   (wanted & HW_TSEND_F_SYNC ? WIRE_TAG_F_SYNC : 0));
	if (wanted & HW_TSEND_F_MSG)
		wqe->tag_value = 0;
	if (!(wanted & HW_TSEND_F_DATA))
		wqe->tag_data = 0;
	/* After all that can fail: it may take an announced receive, once, if it is long. */
	switch (announced(nic, ep, wqe, !eager)) {
	case TAG_RTR_NONE:
		break;
	case TAG_RTR_PUT:
		/* Its acknowledgement reports that it was matched. */
		tag_send_free(nic, send);
		return true;
	case TAG_RTR_LATER:
		tag_send_free(nic, send);
		wqe->tag_handle = 0;
		return false;
	}
	if (eager) {
		wqe->bytes += (uint32_t)sizeof(struct wire_tag);
		return true;
	}
	(void)tag_source_keep(nic, send, wqe); /* of SGEs: cannot fail */
	make_rts(wqe);
	return true;
}

void tag_send_unfetch(struct fw_nic *nic, struct fw_wqe *wqe)
{
	struct tag_ep *ep = wqe->qp->tag;

	if (!wqe->tag_kind)
		return;
	ep->settled = true;
	ep->settled_slot = wqe->sq_slot;
	if (wqe->tag_handle)
		tag_send_free(nic, tag_send_at(nic, wqe->tag_handle));
	wqe->tag_handle = 0;
}

/* Changes an eager message that the peer had no room for. False: it is none, or no memory. */
static bool convert(struct fw_nic *nic, struct fw_wqe *wqe)
{
	struct tag_send *send;

	if (wqe->kind != FW_WQE_REQUEST || wqe->tag_kind != WIRE_TAG_EAGER || wqe->unacked)
		return false;
	if (wqe->tag_handle) {
		send = tag_send_at(nic, wqe->tag_handle);
	} else {
		send = tag_send_new(nic, wqe->qp->tag);
		if (!send)
			return false;
		send->wr_id = wqe->wr_id;
		send->bytes = wqe->tag_bytes;
		send->dst_ip = wqe->dst_ip;
		send->dst_qpn = wqe->dst_qpn;
		send->sq_end = wqe->sq_end;
		send->signaled =
		    wqe->flags & HW_WQE_F_SIGNALED || wqe->qp->flags & HW_QP_F_SQ_SIG_ALL;
	}
	if (!tag_source_keep(nic, send, wqe)) {
		if (!wqe->tag_handle)
			tag_send_free(nic, send);
		return false;
	}
	wqe->tag_handle = tag_send_handle(nic, send);
	wqe->tag_stag = send->secret;
	make_rts(wqe);
	FW_COUNT(nic, tag_converted);
	return true;
}

/*
 * Messages behind it would be refused, too: some of them are changed at once. The rest is sent as
 * it is, since the peer may have room by then.
 */
bool tag_send_refused(struct fw_nic *nic, struct rd_flow *flow, struct fw_wqe *wqe)
{
	uint32_t n;

	if (!convert(nic, wqe))
		return false;
	for (n = 1; n < TAG_REFUSED_BATCH && (wqe = rd_flow_next(flow, wqe)); n++)
		if (!convert(nic, wqe))
			break;
	return true;
}

/* Ends an open send: completes it and frees it. False: the CQ is full. */
static bool tag_send_end(struct fw_nic *nic, struct tag_send *send, enum hw_status status,
			 enum hw_vendor_err vendor_err)
{
	struct fw_qp *qp = send->ep->qp;
	bool report = send->signaled || status != HW_STATUS_SUCCESS;
	struct hw_cqe cqe = {
	    .wr_id = send->wr_id,
	    .bytes = send->bytes,
	    .qpn = qp->qpn,
	    .status = (uint8_t)status,
	    .opcode = HW_CQE_TSEND,
	    .vendor_err = vendor_err,
	    .sq_index = send->sq_end,
	};

	if (send->cancels) {
		uint32_t handle = send->cancels;
		struct tag_ep *ep = send->ep;

		tag_rtr_cancel_over(nic, ep, handle);
		return true;
	}
	/* Frames with its memory may still be under way. */
	if (status != HW_STATUS_SUCCESS)
		eth_tx_settle(nic);
	tag_send_free(nic, send);
	/* In RESET requests end without a completion. */
	if (!report || qp->state == HW_QPS_RESET)
		return true;
	fw_trace(nic, TRACE_CQE, qp->qpn, cqe.wr_id, status);
	return cq_post(nic, qp->send_cq, &cqe);
}

static void end_or_fail(struct fw_nic *nic, struct tag_send *send, enum hw_status status,
			enum hw_vendor_err vendor_err)
{
	struct fw_qp *qp = send->ep->qp;

	if (!tag_send_end(nic, send, status, vendor_err))
		qp_error(nic, qp, HW_EVENT_QP_FATAL);
}

/* A response that is under way uses its memory, as do packets that are not acknowledged. */
static bool is_over(const struct tag_send *send)
{
	return send->acked && send->done && !send->reading;
}

bool tag_send_sent(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
		   enum hw_vendor_err vendor_err)
{
	struct tag_send *send = tag_send_at(nic, wqe->tag_handle);
	struct rd_session *session;

	assert(send->used && tag_send_handle(nic, send) == wqe->tag_handle);
	send->acked = true;
	if (status != HW_STATUS_SUCCESS && !send->done) {
		if (!send->reading)
			return tag_send_end(nic, send, status, vendor_err);
		/* Its memory is being read: it ends with the response. */
		send->done = true;
		send->status = (uint8_t)status;
	}
	if (is_over(send))
		return tag_send_end(nic, send, (enum hw_status)send->status, HW_VENDOR_ERR_NONE);
	session = rd_session_find(nic, send->dst_ip,
				  (uint8_t)(send->dst_qpn >> 16 & (WIRE_DGRAM_SHARDS - 1)));
	if (!session)
		return tag_send_end(nic, send, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	/* The end of the session ends it; probes find out whether the peer is alive. */
	fw_list_add_tail(&session->tag_sends, &send->peer_node);
	rd_timer_watch(nic, session);
	return true;
}

void tag_send_done(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		   const struct wire_tag *env)
{
	struct tag_send *send =
	    tag_send_find(nic, qp, pkt->src_ip, pkt->src_qpn, be32_get(env->handle));

	if (!send || send->secret != be32_get(env->stag) || send->done) {
		FW_COUNT(nic, tag_stale);
		return;
	}
	send->done = true;
	send->status = env->status;
	if (is_over(send))
		end_or_fail(nic, send, (enum hw_status)send->status, HW_VENDOR_ERR_NONE);
}

void tag_source_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status)
{
	struct tag_send *send = tag_send_at(nic, wqe->tag_handle);

	/* It may have ended by the end of its session, or with its queue pair. */
	if (!send->used || tag_send_handle(nic, send) != wqe->tag_handle)
		return;
	send->reading = false;
	if (status == HW_STATUS_LOC_PROT_ERR && send->acked)
		end_or_fail(nic, send, status, HW_VENDOR_ERR_LKEY);
	else if (is_over(send))
		end_or_fail(nic, send, (enum hw_status)send->status, HW_VENDOR_ERR_NONE);
}

void tag_send_peer_down(struct fw_nic *nic, struct fw_list *sends)
{
	fw_list_splice_tail(&nic->tag.downs, sends);
}

void tag_send_slice(struct fw_nic *nic)
{
	while (!fw_list_empty(&nic->tag.downs) && slice_take(nic, 1)) {
		struct tag_send *send =
		    FW_CONTAINER(nic->tag.downs.next, struct tag_send, peer_node);

		nic->turn_did |= FW_DID_FLUSH;
		if (send->done)
			end_or_fail(nic, send, (enum hw_status)send->status, HW_VENDOR_ERR_NONE);
		else
			end_or_fail(nic, send, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	}
}

bool tag_send_flush(struct fw_nic *nic, struct tag_ep *ep)
{
	while (!fw_list_empty(&ep->sends)) {
		struct tag_send *send = FW_CONTAINER(ep->sends.next, struct tag_send, ep_node);

		if (!slice_take(nic, 1))
			return false;
		(void)tag_send_end(
		    nic, send, send->done ? (enum hw_status)send->status : HW_STATUS_WR_FLUSH_ERR,
		    HW_VENDOR_ERR_NONE);
	}
	return true;
}
