/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announced receives: RTR, PUT, NACK, and when to announce.
 *
 * The receiver announces a long receive to the only peer that it may match. An RTR names the last
 * message of that peer that has come. The peer keeps it if it has sent none since, and otherwise
 * answers NACK, which counts as a message in that order: so no RTR is kept that was sent before a
 * NACK of an earlier one arrived. Each message takes the first kept RTR that fits, a long one to
 * write to it, a short one unused, as the receiver will match it. How many are used decides whether
 * more are sent (Rashti and Afsahi 3.3, 3.6). Calls tag_peer.c, llp.h. docs/tagged.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	USAGE_FIRST = 8, /* outcomes before the first judgement */
	USAGE_SPAN = 32, /* from so many on older ones count less */
	USAGE_NUM = 4,   /* announcements go on while NUM of DEN are used */
	USAGE_DEN = 5,
};

/* ---- the receiver ------------------------------------------------------------------------ */

static struct rd_session *tag_rtr_session(struct fw_nic *nic, uint32_t ip, uint32_t qpn)
{
	return rd_session_find(nic, ip, (uint8_t)(qpn >> 16 & (WIRE_DGRAM_SHARDS - 1)));
}

static uint32_t sink_of(const struct fw_nic *nic, const struct tag_posted *posted)
{
	return STAG_SINK_FLAG | (uint32_t)posted->generation << TAG_POSTED_BITS |
	       fw_pool_index(&nic->tag.posteds, posted);
}

/* Returns the announced receive that a handle names, for messages of that source; NULL. */
static struct tag_posted *find(struct fw_nic *nic, const struct tag_ep *ep, uint32_t src_ip,
			       uint32_t src_qpn, uint32_t handle)
{
	uint32_t index = handle & (TAG_MAX_POSTEDS - 1);
	struct tag_posted *posted = fw_pool_at(&nic->tag.posteds, index);

	if (index >= nic->tag.posteds.high || !posted->announced ||
	    sink_of(nic, posted) != handle || posted->peer->ep != ep ||
	    posted->peer->ip != src_ip || posted->peer->qpn != src_qpn)
		return NULL;
	return posted;
}

/* Notes whether an announcement was used, or would have been. */
static void judge(struct tag_peer *peer, bool used)
{
	peer->outcomes++;
	peer->used += used;
	if (peer->outcomes >= USAGE_FIRST &&
	    !(peer->ep->open_flags & HW_TAG_OPEN_F_ANNOUNCE_ALWAYS))
		peer->quiet = peer->used * USAGE_DEN < peer->outcomes * USAGE_NUM;
	if (peer->outcomes >= USAGE_SPAN) {
		peer->outcomes /= 2;
		peer->used /= 2;
	}
}

/* The receive is announced no more. */
static void withdraw(struct fw_nic *nic, struct tag_posted *posted)
{
	struct tag_peer *peer = posted->peer;

	posted->announced = false;
	fw_list_del(&posted->peer_node);
	peer->num_announced--;
	if (posted->posted)
		tag_match_set_announced(&peer->ep->match, &posted->match, false);
	if (posted->canceling)
		tag_send_free(nic, posted->canceling);
	posted->canceling = NULL;
}

static void unwatch(struct tag_posted *posted)
{
	posted->watched = false;
	posted->peer->num_watched--;
}

bool tag_rtr_is_written(const struct tag_posted *posted)
{
	return fw_list_linked(&posted->written);
}

/* The receive ends: nobody will complete what was written to it, or it was cancelled. */
static void end(struct fw_nic *nic, struct tag_posted *posted)
{
	if (tag_rtr_is_written(posted))
		tag_posted_withdraw(nic, posted->ep, posted, HW_STATUS_REM_ABORT_ERR,
				    HW_VENDOR_ERR_NONE);
	else
		tag_posted_withdraw(nic, posted->ep, posted, HW_STATUS_WR_FLUSH_ERR,
				    HW_VENDOR_ERR_CANCELED);
}

/* The peer will not use the receive: it stays as an ordinary one, or ends if that is wanted. */
static void give_back(struct fw_nic *nic, struct tag_posted *posted)
{
	bool canceling = posted->canceling != NULL;

	withdraw(nic, posted);
	if (canceling || tag_rtr_is_written(posted))
		end(nic, posted);
}

void tag_rtr_post(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted, bool may)
{
	const struct tag_want *want = &posted->match.want;
	struct tag_peer *peer;
	struct fw_wqe like = {.kind = FW_WQE_TAG_REPLY, .tag_kind = WIRE_TAG_RTR};

	if (want->any_src || posted->flags & HW_TAG_F_MULTI ||
	    posted->recv.bytes <= ep->eager_bytes || ep->open_flags & HW_TAG_OPEN_F_NO_ANNOUNCE ||
	    tag_ep_is_context(ep))
		return;
	peer = tag_peer_find(nic, ep, want->key.src_ip, want->key.src_qpn);
	if (!peer || !peer->taken)
		return;
	if (peer->quiet) {
		posted->watched = true;
		posted->peer = peer;
		peer->num_watched++;
		posted->since_ns = nic->now_ns;
		return;
	}
	if (!may || peer->num_announced >= TAG_RTRS)
		return;
	posted->generation =
	    (uint16_t)((posted->generation + 1 +
			(nic->port.random64(nic->port.ctx) >> 32) % (TAG_SINKS - 1)) %
		       TAG_SINKS);
	like.src_qpn = ep->qp->qpn;
	like.dst_ip = peer->ip;
	like.dst_qpn = peer->qpn;
	like.qkey = ep->qp->qkey;
	like.tag_flags = want->key.msg ? WIRE_TAG_F_MSG : 0;
	like.tag_value = want->key.tag;
	like.tag_data = want->ignore;
	like.tag_bytes = posted->recv.bytes < HW_MAX_MSG_BYTES ? (uint32_t)posted->recv.bytes
							       : (uint32_t)HW_MAX_MSG_BYTES;
	like.tag_stag = sink_of(nic, posted);
	like.tag_handle = peer->taken_ssn;
	if (tag_rdv_send_reply(nic, ep->qp, &like) != TAG_REPLIED)
		return;
	posted->announced = true;
	posted->peer = peer;
	fw_list_add_tail(&peer->announced, &posted->peer_node);
	peer->num_announced++;
	tag_match_set_announced(&ep->match, &posted->match, true);
	ep->announced++;
	FW_COUNT(nic, tag_announced);
}

void tag_rtr_matched(struct fw_nic *nic, const struct tag_arrival *a, struct tag_posted *posted)
{
	const struct rd_session *session;
	struct tag_peer *peer = posted->peer;

	fw_list_del(&posted->written);
	if (posted->announced) {
		bool used = a->kind == WIRE_TAG_PUT;

		withdraw(nic, posted);
		judge(peer, used);
		if (used) {
			posted->peer->ep->announced_used++;
			FW_COUNT(nic, tag_announced_used);
		} else {
			FW_COUNT(nic, tag_announced_dropped);
		}
	} else if (posted->watched) {
		/* An RTR would have met the sender before this message if there was time for it. */
		session = tag_rtr_session(nic, peer->ip, peer->qpn);
		judge(peer, a->kind == WIRE_TAG_RTS && session &&
				nic->now_ns - posted->since_ns >= session->rtt.srtt_ns);
		unwatch(posted);
	} else {
		fw_list_del(&posted->peer_node);
	}
}

void tag_rtr_unpost(struct fw_nic *nic, struct tag_posted *posted)
{
	fw_list_del(&posted->written);
	if (posted->announced)
		withdraw(nic, posted);
	else if (posted->watched)
		unwatch(posted);
	else
		fw_list_del(&posted->peer_node);
}

enum rdmap_result tag_rtr_put(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			      const struct wire_tag *env)
{
	struct tag_posted *posted =
	    find(nic, qp->tag, pkt->src_ip, pkt->src_qpn, be32_get(env->stag));
	struct tag_arrival *a;

	if (!posted) {
		FW_COUNT(nic, tag_stale);
		/* A sender that reports a failure needs no notice of it. */
		return env->status ? RDMAP_OK : RDMAP_ERROR;
	}
	a = tag_arrival_new(nic, qp->tag);
	if (!a)
		return RDMAP_REFUSE;
	tag_arrival_set_envelope(a, pkt, env);
	a->handle = 0;
	a->status = env->status ? HW_STATUS_REM_OP_ERR : HW_STATUS_SUCCESS;
	qp->tag->matched_posted++;
	FW_COUNT(nic, tag_matched_posted);
	(void)tag_arrival_take(nic, a, posted);
	return RDMAP_OK;
}

void tag_rtr_nack(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		  const struct wire_tag *env)
{
	struct tag_posted *posted =
	    find(nic, qp->tag, pkt->src_ip, pkt->src_qpn, be32_get(env->stag));

	/* A response comes from an endpoint that has ended, and is no message in their order. */
	if (!(pkt->flags & WIRE_DGRAM_F_RESPONSE))
		tag_peer_took(nic, qp->tag, pkt);
	/* The session may be another one. */
	if (!posted || !posted->announced)
		return;
	judge(posted->peer, false);
	FW_COUNT(nic, tag_announced_dropped);
	give_back(nic, posted);
}

/* The peer begins to write to the receive: from now on the end of its session ends it. */
static void tag_rtr_begin(struct fw_nic *nic, struct tag_posted *posted,
			  const struct rdmap_seg *pkt)
{
	struct rd_session *session = tag_rtr_session(nic, pkt->src_ip, pkt->src_qpn);

	if (!session)
		return;
	fw_list_add_tail(&session->tag_written, &posted->written);
	rd_timer_watch(nic, session);
}

enum rdmap_result tag_rtr_write(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				bool in_order, struct rdmap_error *error)
{
	struct tag_posted *posted = find(nic, qp->tag, pkt->src_ip, pkt->src_qpn, pkt->stag);
	struct eth_cursor cursor;
	enum hw_vendor_err err;

	error->layer_etype = RDMAP_PROTECTION;
	error->code = WIRE_TERM_PROT_INVALID_STAG;
	if (!posted) {
		FW_COUNT(nic, tag_stale);
		return RDMAP_ERROR;
	}
	if (pkt->to > posted->recv.bytes || pkt->data_bytes > posted->recv.bytes - pkt->to) {
		error->code = WIRE_TERM_PROT_BASE_BOUNDS;
		return RDMAP_ERROR;
	}
	if (!tag_rtr_is_written(posted))
		tag_rtr_begin(nic, posted, pkt);
	nic->host.mem_busy = false;
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	err = ddp_place_sges(nic, posted->recv.pd, posted->recv.sge, posted->recv.num_sge, pkt->to,
			     &cursor);
	if (err == HW_VENDOR_ERR_NONE)
		return RDMAP_OK;
	if (err == HW_VENDOR_ERR_HOST_FAULT && nic->host.mem_busy)
		return RDMAP_DROP;
	/* The receive's memory has gone: no PUT may complete it. */
	if (in_order)
		tag_posted_withdraw(nic, qp->tag, posted, wqe_status_of(err), err);
	return RDMAP_ERROR;
}

/* ---- requests of the NIC's own: NACK, and an RTR that is withdrawn ------------------------- */

/*
 * Sends an envelope in the flow of requests. False: no memory, or the peer has taken too few NACKs.
 * *ssn: its number.
 */
static bool tag_rtr_send_control(struct fw_nic *nic, struct fw_qp *qp, uint32_t ip, uint32_t qpn,
				 uint8_t kind, uint8_t status, uint32_t handle, uint32_t *ssn)
{
	bool nack = kind == WIRE_TAG_NACK;
	struct fw_wqe *wqe;

	if (nack && !rd_notice_may(nic, ip, qpn)) {
		FW_COUNT(nic, tag_notices_held_back);
		return false;
	}
	wqe = wqe_alloc(nic, qp, nack ? FW_WQE_TAG_NACK : FW_WQE_TAG_SEND);
	if (!wqe)
		return false;
	wqe->rdmap_opcode = WIRE_RDMAP_SEND;
	wqe->dst_ip = ip;
	wqe->dst_qpn = qpn;
	wqe->qkey = qp->qkey;
	wqe->bytes = sizeof(struct wire_tag);
	wqe->ssn = qp->ssn + 1;
	wqe->msn = wqe->ssn;
	wqe->tag_kind = kind;
	wqe->tag_status = status;
	wqe->tag_stag = handle;
	wqe->tag_handle = handle;
	if (!llp_send(nic, wqe)) {
		wqe_free(nic, wqe);
		return false;
	}
	if (nack)
		rd_notice_charge(nic, wqe);
	*ssn = ++qp->ssn;
	return true;
}

enum tag_rtr_cancel tag_rtr_cancel(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted)
{
	struct rd_session *session;
	struct tag_send *send;
	uint32_t ssn;

	/* It may have been announced in an earlier life of the session. */
	if (!posted->announced || !tag_peer_find(nic, ep, posted->peer->ip, posted->peer->qpn) ||
	    !posted->announced)
		return tag_rtr_is_written(posted) ? TAG_RTR_ASKED : TAG_RTR_FREE;
	if (posted->canceling)
		return TAG_RTR_ASKED;
	session = tag_rtr_session(nic, posted->peer->ip, posted->peer->qpn);
	send = tag_send_new(nic, ep);
	if (!send)
		return TAG_RTR_RETRY;
	if (!tag_rtr_send_control(nic, ep->qp, posted->peer->ip, posted->peer->qpn, WIRE_TAG_RTR,
				  WIRE_TAG_RTR_WITHDRAWN, sink_of(nic, posted), &ssn)) {
		tag_send_free(nic, send);
		return TAG_RTR_RETRY;
	}
	/* Until the answer comes the peer must be alive, as with an open send. */
	send->cancels = sink_of(nic, posted);
	fw_list_add_tail(&session->tag_sends, &send->peer_node);
	rd_timer_watch(nic, session);
	posted->canceling = send;
	return TAG_RTR_ASKED;
}

void tag_rtr_cancel_over(struct fw_nic *nic, struct tag_ep *ep, uint32_t handle)
{
	struct tag_posted *posted = fw_pool_at(&nic->tag.posteds, handle & (TAG_MAX_POSTEDS - 1));

	assert(posted->announced && posted->canceling && posted->peer->ep == ep);
	give_back(nic, posted);
}

void tag_rtr_control_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status)
{
	struct tag_ep *ep = wqe->qp->tag;
	struct tag_posted *posted;
	struct fw_wqe like;

	/*
	 * Flushed with its queue pair: the peer still waits for the answer to the RTR that it
	 * withdrew. Without memory it waits until the session ends.
	 */
	if (wqe->tag_kind == WIRE_TAG_NACK && status == HW_STATUS_WR_FLUSH_ERR &&
	    wqe->qp != nic->host.null_qp) {
		like = *wqe;
		like.kind = FW_WQE_TAG_NOTICE;
		like.tag_handle = 0;
		(void)tag_rdv_send_reply(nic, nic->host.null_qp, &like);
		return;
	}
	/* The peer that got the request is gone, and will not use the receive. */
	if (status == HW_STATUS_SUCCESS || wqe->tag_kind != WIRE_TAG_RTR || !ep)
		return;
	posted = find(nic, ep, wqe->dst_ip, wqe->dst_qpn, wqe->tag_handle);
	if (posted && posted->canceling)
		give_back(nic, posted);
}

/* ---- the sender -------------------------------------------------------------------------- */

static void free_rtr(struct fw_nic *nic, struct tag_peer *peer, struct tag_rtr *rtr)
{
	fw_list_del(&rtr->node);
	peer->num_rtrs--;
	tag_share_give(peer->share, TAG_HELD_RTRS, 1);
	fw_pool_put(&nic->tag.rtrs, rtr);
}

/* Keeps an RTR. False: it must be answered. */
static bool tag_rtr_keep(struct fw_nic *nic, struct tag_peer *peer, const struct wire_tag *env)
{
	struct tag_rtr *rtr;

	if (env->status || !peer || !peer->sent || peer->sent_ssn != be32_get(env->handle) ||
	    peer->num_rtrs >= TAG_RTRS ||
	    !tag_share_may(peer->share, TAG_HELD_RTRS, 1, nic->tag.rtrs.max - nic->tag.rtrs.used))
		return false;
	/* Where no place is free no peer has a share, either. */
	rtr = fw_pool_get(&nic->tag.rtrs);
	assert(rtr);
	*rtr = (struct tag_rtr){
	    .tag = be64_get(env->tag),
	    .ignore = be64_get(env->data),
	    .bytes = be32_get(env->bytes),
	    .stag = be32_get(env->stag),
	    .msg = env->flags & WIRE_TAG_F_MSG,
	};
	fw_list_add_tail(&peer->rtrs, &rtr->node);
	peer->num_rtrs++;
	tag_share_take(peer->share, TAG_HELD_RTRS, 1);
	return true;
}

enum rdmap_result tag_rtr_rx(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			     const struct wire_tag *env)
{
	struct tag_peer *peer = tag_peer_find(nic, qp->tag, pkt->src_ip, pkt->src_qpn);
	struct fw_list *pos;
	uint32_t ssn;

	if (tag_rtr_keep(nic, peer, env))
		return RDMAP_OK;
	if (!tag_rtr_send_control(nic, qp, pkt->src_ip, pkt->src_qpn, WIRE_TAG_NACK, 0,
				  be32_get(env->stag), &ssn))
		return RDMAP_REFUSE;
	if (!peer)
		peer = tag_peer_get(nic, qp->tag, pkt->src_ip, pkt->src_qpn);
	if (!peer)
		return RDMAP_OK;
	peer->sent = true;
	peer->sent_ssn = ssn;
	if (!env->status)
		return RDMAP_OK;
	fw_list_for_each (pos, &peer->rtrs) {
		struct tag_rtr *rtr = FW_CONTAINER(pos, struct tag_rtr, node);

		if (rtr->stag == be32_get(env->stag)) {
			free_rtr(nic, peer, rtr);
			break;
		}
	}
	return RDMAP_OK;
}

/* Writes the message to an announced receive, and makes wqe the PUT behind it. */
static bool put(struct fw_nic *nic, struct fw_wqe *wqe, const struct tag_rtr *rtr)
{
	struct fw_wqe *write = wqe_alloc(nic, wqe->qp, FW_WQE_TAG_WRITE);
	uint32_t i;

	if (!write)
		return false;
	if (!wqe_extend(nic, write, wqe->num_sge)) {
		wqe_free(nic, write);
		return false;
	}
	write->opcode = HW_WQE_WRITE;
	write->rdmap_opcode = WIRE_RDMAP_WRITE;
	write->num_sge = wqe->num_sge;
	for (i = 0; i < wqe->num_sge; i++)
		wqe_set_sge(nic, write, i, wqe_sge(nic, wqe, i));
	write->bytes = wqe->bytes < rtr->bytes ? wqe->bytes : rtr->bytes;
	write->rkey = rtr->stag;
	write->dst_ip = wqe->dst_ip;
	write->dst_qpn = wqe->dst_qpn;
	write->qkey = wqe->qkey;
	/* Its number is that of the request; the request, which follows, gets the next one. */
	write->ssn = wqe->ssn;
	write->msn = wqe->ssn;
	write->tag_handle = fw_pool_index(&nic->host.wqes, wqe) + 1;
	if (!llp_send(nic, write)) {
		wqe_free(nic, write);
		return false;
	}
	wqe->ssn = ++wqe->qp->ssn;
	wqe->msn = wqe->ssn;
	wqe->tag_kind = WIRE_TAG_PUT;
	wqe->tag_bytes = wqe->bytes;
	wqe->tag_handle = 0;
	wqe->tag_stag = rtr->stag;
	wqe->bytes = sizeof(struct wire_tag);
	return true;
}

enum tag_rtr_use tag_rtr_send(struct fw_nic *nic, struct fw_wqe *wqe, bool is_long)
{
	struct tag_ep *ep = wqe->qp->tag;
	struct tag_peer *peer = tag_peer_get(nic, ep, wqe->dst_ip, wqe->dst_qpn);
	bool msg = wqe->tag_flags & WIRE_TAG_F_MSG;
	struct fw_list *pos;

	if (!peer)
		return TAG_RTR_NONE;
	fw_list_for_each (pos, &peer->rtrs) {
		struct tag_rtr *rtr = FW_CONTAINER(pos, struct tag_rtr, node);

		if (rtr->msg != msg || (!msg && (wqe->tag_value ^ rtr->tag) & ~rtr->ignore))
			continue;
		if (is_long && !put(nic, wqe, rtr))
			return TAG_RTR_LATER;
		free_rtr(nic, peer, rtr);
		if (is_long)
			return TAG_RTR_PUT;
		break;
	}
	peer->sent = true;
	peer->sent_ssn = wqe->ssn;
	return TAG_RTR_NONE;
}

void tag_rtr_write_ended(struct fw_nic *nic, const struct fw_wqe *write, enum hw_status status)
{
	struct fw_wqe *wqe = fw_pool_at(&nic->host.wqes, write->tag_handle - 1);

	/* The PUT follows it in the flow and notifies the peer. */
	if (status != HW_STATUS_SUCCESS)
		wqe->tag_status = (uint8_t)status;
}

void tag_rtr_forget(struct fw_nic *nic, struct tag_peer *peer)
{
	while (!fw_list_empty(&peer->rtrs))
		free_rtr(nic, peer, FW_CONTAINER(peer->rtrs.next, struct tag_rtr, node));
	while (!fw_list_empty(&peer->announced)) {
		struct tag_posted *posted =
		    FW_CONTAINER(peer->announced.next, struct tag_posted, peer_node);
		bool canceling = posted->canceling != NULL;

		withdraw(nic, posted);
		if (!canceling)
			continue;
		/* Not now: a caller may have found it, or may not bear the end of the endpoint. */
		fw_list_add_tail(&peer->ep->given_back, &posted->peer_node);
		tag_ep_work(nic, peer->ep);
	}
}

void tag_rtr_run(struct fw_nic *nic, struct tag_ep *ep)
{
	while (tag_ep_is_live(ep) && !fw_list_empty(&ep->given_back))
		end(nic, FW_CONTAINER(ep->given_back.next, struct tag_posted, peer_node));
}

void tag_rtr_lose(struct fw_nic *nic, struct tag_ep *ep, struct tag_posted *posted)
{
	if (posted->announced)
		withdraw(nic, posted);
	tag_match_unpost(&ep->match, &posted->match);
	posted->posted = false;
	/* Not now: the caller may not bear the end of the endpoint. */
	fw_list_del(&posted->peer_node);
	fw_list_add_tail(&ep->given_back, &posted->peer_node);
	tag_ep_work(nic, ep);
}

void tag_rtr_peer_down(struct fw_nic *nic, struct fw_list *written)
{
	fw_list_splice_tail(&nic->tag.lost, written);
}

void tag_rtr_slice(struct fw_nic *nic)
{
	while (!fw_list_empty(&nic->tag.lost) && slice_take(nic, 1)) {
		nic->turn_did |= FW_DID_FLUSH;
		end(nic, FW_CONTAINER(nic->tag.lost.next, struct tag_posted, written));
	}
}
