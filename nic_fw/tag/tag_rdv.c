/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rendezvous at the receiver: reads a message whose RTS a receive has taken; replies to senders.
 *
 * The read is a request of the NIC's own in the flow to the sender. When it has ended, the receive
 * completes, and a DONE ends the send. A DONE is of the class of responses, so that no refused
 * request of this endpoint holds it up. A reply that finds no memory waits in the endpoint; one of
 * an endpoint that ends goes from the null QP. Calls llp.h.
 */
#include "nic_fw/fw_nic.h"

/* Sets the SGEs of [offset, offset + bytes) of a receive. False: no memory. */
static bool set_sink(struct fw_nic *nic, struct fw_wqe *wqe, const struct fw_recv *recv,
		     uint64_t offset, uint32_t bytes)
{
	uint32_t i, n = 0;

	if (!wqe_extend(nic, wqe, recv->num_sge))
		return false;
	for (i = 0; i < recv->num_sge && bytes; i++) {
		struct hw_sge sge = recv->sge[i];

		if (offset >= sge.bytes) {
			offset -= sge.bytes;
			continue;
		}
		sge.addr += offset;
		sge.bytes -= (uint32_t)offset;
		offset = 0;
		if (sge.bytes > bytes)
			sge.bytes = bytes;
		bytes -= sge.bytes;
		wqe_set_sge(nic, wqe, n++, &sge);
	}
	wqe->num_sge = (uint8_t)n;
	return true;
}

static bool read_message(struct fw_nic *nic, struct tag_arrival *a)
{
	struct fw_qp *qp = a->ep->qp;
	struct fw_wqe *wqe = wqe_alloc(nic, qp, FW_WQE_TAG_READ);

	if (!wqe)
		return false;
	if (!set_sink(nic, wqe, &a->recv->recv, a->offset, a->room)) {
		wqe_free(nic, wqe);
		return false;
	}
	wqe->opcode = HW_WQE_READ;
	wqe->rdmap_opcode = WIRE_RDMAP_READ_REQUEST;
	wqe->bytes = a->room;
	wqe->rkey = a->handle;
	wqe->remote_addr = a->stag;
	wqe->dst_ip = a->match.key.src_ip;
	wqe->dst_qpn = a->match.key.src_qpn;
	wqe->qkey = qp->qkey;
	wqe->ssn = ++qp->ssn;
	wqe->msn = wqe->ssn;
	wqe->tag_handle = fw_pool_index(&nic->tag.arrivals, a) + 1;
	wqe_sink_draw(nic, wqe);
	fw_list_add_tail(&qp->reads, &wqe->read_node);
	tag_arrival_set_state(a, TAG_READING);
	if (llp_send(nic, wqe))
		return true;
	tag_arrival_set_state(a, TAG_WAITING);
	wqe_free(nic, wqe);
	return false;
}

/* True if its peer may have one more read under way. */
static bool may_read(const struct tag_arrival *a)
{
	return !a->room ||
	       tag_share_may(a->share, TAG_HELD_READS, 1, TAG_READS - a->ep->num_reading);
}

/* False: memory is short. */
static bool tag_rdv_try(struct fw_nic *nic, struct tag_arrival *a)
{
	if (a->room)
		return read_message(nic, a);
	tag_arrival_complete(nic, a, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	return true;
}

/* Each peer that waits is looked at once more. */
static void look_again(struct fw_nic *nic, struct tag_ep *ep)
{
	ep->readers_left = ep->num_readers;
	if (ep->readers_left)
		tag_ep_work(nic, ep);
}

void tag_rdv_start(struct fw_nic *nic, struct tag_arrival *a)
{
	struct tag_share *share = a->share;
	struct tag_ep *ep = a->ep;

	ep->rendezvous++;
	FW_COUNT(nic, tag_rendezvous);
	tag_arrival_set_state(a, TAG_WAITING);
	/* Messages of one peer are read in their order. The end of a read goes on with the others.
	 */
	if (share->waiting.next == &a->node && may_read(a) && !tag_rdv_try(nic, a))
		look_again(nic, ep);
}

void tag_rdv_run(struct fw_nic *nic, struct tag_ep *ep)
{
	uint32_t n;

	for (n = 0; n < TAG_READERS_QUANTUM && ep->readers_left && ep->num_reading < TAG_READS;
	     n++) {
		struct tag_share *share;
		struct tag_arrival *a;

		if (!tag_ep_is_live(ep) || fw_list_empty(&ep->readers))
			return;
		share = FW_CONTAINER(fw_list_take(&ep->readers), struct tag_share, reader);
		fw_list_add_tail(&ep->readers, &share->reader);
		a = FW_CONTAINER(share->waiting.next, struct tag_arrival, node);
		ep->readers_left--;
		if (!may_read(a))
			continue;
		ep->readers_left = ep->num_readers;
		if (!tag_rdv_try(nic, a))
			break;
	}
	if (ep->readers_left && ep->num_reading < TAG_READS)
		tag_ep_work(nic, ep);
}

void tag_rdv_read_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
			enum hw_vendor_err vendor_err)
{
	struct tag_arrival *a = fw_pool_at(&nic->tag.arrivals, wqe->tag_handle - 1);
	struct tag_ep *ep = a->ep;

	assert(a->state == TAG_READING);
	/* Responses of RDMAP with their own memory at fault keep the status of a receive. */
	tag_arrival_complete(nic, a, status, vendor_err);
	look_again(nic, ep);
}

/* ---- replies ------------------------------------------------------------------------------- */

enum tag_reply tag_rdv_send_reply(struct fw_nic *nic, struct fw_qp *from, const struct fw_wqe *like)
{
	bool notice = like->kind == FW_WQE_TAG_NOTICE;
	struct fw_wqe *wqe;

	if (notice && !rd_notice_may(nic, like->dst_ip, like->dst_qpn)) {
		FW_COUNT(nic, tag_notices_held_back);
		return TAG_REPLY_HELD_BACK;
	}
	wqe = wqe_alloc(nic, from, (enum fw_wqe_kind)like->kind);
	if (!wqe)
		return TAG_REPLY_NO_MEMORY;
	wqe->rdmap_opcode = WIRE_RDMAP_SEND;
	wqe->src_qpn = like->src_qpn;
	wqe->dst_ip = like->dst_ip;
	wqe->dst_qpn = like->dst_qpn;
	wqe->qkey = like->qkey;
	wqe->bytes = sizeof(struct wire_tag);
	wqe->ssn = like->tag_handle;
	wqe->msn = like->tag_handle;
	wqe->tag_kind = like->tag_kind;
	wqe->tag_flags = like->tag_flags;
	wqe->tag_stag = like->tag_stag;
	wqe->tag_value = like->tag_value;
	wqe->tag_data = like->tag_data;
	wqe->tag_status = like->tag_status;
	wqe->tag_bytes = like->tag_bytes;
	wqe->tag_handle = like->tag_handle;
	if (!llp_send(nic, wqe)) {
		wqe_free(nic, wqe);
		return TAG_REPLY_NO_MEMORY;
	}
	if (notice)
		rd_notice_charge(nic, wqe);
	return TAG_REPLIED;
}

static enum tag_reply reply(struct fw_nic *nic, const struct tag_arrival *a)
{
	struct fw_qp *qp = a->ep->qp;
	struct fw_wqe like = {
	    .kind = FW_WQE_TAG_NOTICE,
	    .src_qpn = qp->qpn,
	    .dst_ip = a->match.key.src_ip,
	    .dst_qpn = a->match.key.src_qpn,
	    .qkey = qp->qkey,
	    .tag_kind = WIRE_TAG_DONE,
	    .tag_status = a->status,
	    .tag_bytes = a->room,
	    .tag_stag = a->stag,
	    .tag_handle = a->handle,
	};

	/* A reply of a queue pair that ends outlives it. */
	return tag_rdv_send_reply(nic, qp->flushing ? nic->host.null_qp : qp, &like);
}

/* Replies that memory was short for go in the next turn; a peer takes its earlier ones first. */
static void reply_later(struct fw_nic *nic, struct tag_ep *ep, enum tag_reply why)
{
	if (why != TAG_REPLY_HELD_BACK)
		tag_ep_work(nic, ep);
	else if (!fw_timer_is_set(&ep->owing_timer))
		fw_timer_set(&nic->timers, &ep->owing_timer, nic->now_ns + TAG_OWING_NS);
}

void tag_rdv_reply(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status)
{
	struct tag_ep *ep = a->ep;
	enum tag_reply result;

	a->status = (uint8_t)status;
	result = reply(nic, a);
	if (result == TAG_REPLIED) {
		tag_arrival_free(nic, a);
		return;
	}
	tag_arrival_set_state(a, TAG_OWING);
	reply_later(nic, ep, result);
}

void tag_rdv_owing_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	tag_ep_work(nic, FW_CONTAINER(timer, struct tag_ep, owing_timer));
}

/* The replies of one peer that takes none hold up no other's. */
enum tag_reply tag_rdv_reply_run(struct fw_nic *nic, struct tag_ep *ep)
{
	struct fw_list *owing = &ep->in_state[TAG_OWING];
	enum tag_reply result = TAG_REPLIED;
	uint32_t n, sent = 0;

	for (n = 0; n < TAG_OPS_QUANTUM && !fw_list_empty(owing); n++) {
		struct tag_arrival *a = FW_CONTAINER(owing->next, struct tag_arrival, node);

		result = reply(nic, a);
		if (result == TAG_REPLIED) {
			tag_arrival_free(nic, a);
			sent++;
			continue;
		}
		if (result == TAG_REPLY_NO_MEMORY)
			break;
		fw_list_del(&a->node);
		fw_list_add_tail(owing, &a->node);
	}
	if (fw_list_empty(owing))
		return TAG_REPLIED;
	if (sent && result == TAG_REPLY_HELD_BACK)
		result = TAG_REPLIED;
	reply_later(nic, ep, result);
	return result == TAG_REPLY_HELD_BACK ? TAG_REPLY_HELD_BACK : TAG_REPLY_NO_MEMORY;
}

bool tag_rdv_reply_flush(struct fw_nic *nic, struct tag_ep *ep)
{
	struct fw_list *owing = &ep->in_state[TAG_OWING];
	enum tag_reply result = tag_rdv_reply_run(nic, ep);

	if (result != TAG_REPLY_HELD_BACK)
		ep->held_back_ns = 0;
	else if (!ep->held_back_ns)
		ep->held_back_ns = nic->now_ns;
	/* Peers that take nothing do not hold up the end of an endpoint. */
	else if (nic->now_ns - ep->held_back_ns > TAG_OWING_MAX_NS)
		while (!fw_list_empty(owing) && slice_take(nic, 1))
			tag_arrival_free(nic, FW_CONTAINER(owing->next, struct tag_arrival, node));
	if (!fw_list_empty(owing))
		return false;
	fw_timer_cancel(&nic->timers, &ep->owing_timer);
	return true;
}

void tag_rdv_reply_ended(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status)
{
	/*
	 * Flushed with its queue pair: its sender still waits. Without memory it waits until the
	 * session ends.
	 */
	if (status == HW_STATUS_WR_FLUSH_ERR && wqe->kind == FW_WQE_TAG_NOTICE &&
	    wqe->qp != nic->host.null_qp)
		(void)tag_rdv_send_reply(nic, nic->host.null_qp, wqe);
}
