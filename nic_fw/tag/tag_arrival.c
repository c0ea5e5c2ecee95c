/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages at the receiver, from the first packet to the completion of their receive.
 *
 * A message without a receive lies in the endpoint's pool: memory of the process, whose records
 * are the NIC's. When a receive takes it, it is copied there, some of them in each turn. A message
 * that finds its receive on arrival never touches the pool. Calls tag_rdv.c for messages that are
 * to be read, cq.c. docs/tagged.md.
 */
#include "nic_fw/fw_nic.h"

/* How many more messages the endpoint may have. */
static uint64_t tag_arrival_room(const struct fw_nic *nic, const struct tag_ep *ep)
{
	const struct fw_client *owner = &nic->host.clients[ep->qp->client];
	uint64_t left = HW_TAG_MAX_UNEXPECTED - ep->num_arrivals;
	uint64_t share = tag_share_free(&nic->tag.arrivals, owner->tag_arrivals_held,
					owner->share->user->tag_arrivals);

	return left < share ? left : share;
}

struct tag_arrival *tag_arrival_new(struct fw_nic *nic, struct tag_ep *ep)
{
	struct fw_client *owner = &nic->host.clients[ep->qp->client];
	struct fw_account *user = owner->share->user;
	struct tag_arrival *a;

	if (!tag_arrival_room(nic, ep)) {
		FW_COUNT(nic, tag_arrivals_share_refused);
		return NULL;
	}
	/* Where no place is free there is no room, either. */
	a = fw_pool_get(&nic->tag.arrivals);
	assert(a);
	memset(a, 0, sizeof(*a));
	a->ep = ep;
	a->block = BUDDY_NONE;
	a->state = TAG_EARLY;
	fw_list_init(&a->node);
	fw_list_add_tail(&ep->in_state[TAG_EARLY], &a->node);
	ep->num_arrivals++;
	owner->tag_arrivals_held++;
	user->tag_arrivals++;
	return a;
}

bool tag_arrival_book(struct fw_nic *nic, struct tag_arrival *a, const struct rdmap_seg *pkt)
{
	struct tag_share *share;

	if (a->share)
		return true;
	share = tag_share_get(nic, a->ep, pkt->src_ip, pkt->src_qpn);
	if (!share)
		return false;
	/* It has its place already. */
	if (!tag_share_may(share, TAG_HELD_MSGS, 1, tag_arrival_room(nic, a->ep) + 1)) {
		tag_share_put(nic, share);
		FW_COUNT(nic, tag_peer_held_back);
		return false;
	}
	tag_share_take(share, TAG_HELD_MSGS, 1);
	a->share = share;
	return true;
}

void tag_arrival_set_envelope(struct tag_arrival *a, const struct rdmap_seg *pkt,
			      const struct wire_tag *env)
{
	a->enveloped = true;
	a->kind = env->kind;
	a->flags = env->flags;
	a->bytes = be32_get(env->bytes);
	a->data = be64_get(env->data);
	a->stag = be32_get(env->stag);
	a->handle = be32_get(env->handle);
	a->match.key = (struct tag_key){
	    .src_ip = pkt->src_ip,
	    .src_qpn = pkt->src_qpn,
	    .tag = env->flags & WIRE_TAG_F_MSG ? 0 : be64_get(env->tag),
	    .msg = env->flags & WIRE_TAG_F_MSG,
	};
	a->solicited = pkt->opcode == WIRE_RDMAP_SEND_SE;
}

/* The message waits to be read, and its peer for its turn. */
static void wait_in_turn(struct tag_ep *ep, struct tag_arrival *a)
{
	fw_list_add_tail(&a->share->waiting, &a->node);
	if (fw_list_linked(&a->share->reader))
		return;
	fw_list_add_tail(&ep->readers, &a->share->reader);
	ep->num_readers++;
}

static void leave_state(struct tag_ep *ep, struct tag_arrival *a)
{
	switch ((enum tag_arrival_state)a->state) {
	case TAG_UNEXPECTED:
		tag_match_remove_msg(&ep->rx->match, &a->match);
		break;
	case TAG_CLAIMED:
		ep->num_claimed--;
		break;
	case TAG_READING:
		ep->num_reading--;
		tag_share_give(a->share, TAG_HELD_READS, 1);
		break;
	case TAG_WAITING:
		fw_list_del(&a->node);
		if (!fw_list_empty(&a->share->waiting))
			return;
		fw_list_del(&a->share->reader);
		ep->num_readers--;
		return;
	case TAG_EARLY:
	case TAG_ARRIVING:
	case TAG_COPYING:
	case TAG_OWING:
	case TAG_ARRIVAL_STATES:
		break;
	}
	fw_list_del(&a->node);
}

void tag_arrival_set_state(struct tag_arrival *a, enum tag_arrival_state state)
{
	struct tag_ep *ep = a->ep;

	leave_state(ep, a);
	a->claim = 0;
	a->state = (uint8_t)state;
	switch (state) {
	case TAG_UNEXPECTED:
		tag_match_add_msg(&ep->rx->match, &a->match);
		fw_list_add_tail(&ep->in_state[state], &a->node);
		break;
	case TAG_CLAIMED:
		ep->num_claimed++;
		fw_list_add_tail(&ep->in_state[state], &a->node);
		break;
	case TAG_READING:
		ep->num_reading++;
		tag_share_take(a->share, TAG_HELD_READS, 1);
		fw_list_add_tail(&ep->in_state[state], &a->node);
		break;
	case TAG_WAITING:
		wait_in_turn(ep, a);
		break;
	case TAG_EARLY:
	case TAG_ARRIVING:
	case TAG_COPYING:
	case TAG_OWING:
		fw_list_add_tail(&ep->in_state[state], &a->node);
		break;
	case TAG_ARRIVAL_STATES:
		break;
	}
}

static void free_block(struct tag_arrival *a)
{
	struct tag_ep *ep = a->ep;

	if (a->block == BUDDY_NONE)
		return;
	tag_share_give(a->share, TAG_HELD_BYTES, buddy_free(&ep->pool, a->block));
	a->block = BUDDY_NONE;
	if (ep->pool.bytes - ep->pool.used >= ep->pool_low_bytes &&
	    ep->pool.used <= ep->pool.bytes / 2)
		ep->low_reported = false;
}

void tag_arrival_free(struct fw_nic *nic, struct tag_arrival *a)
{
	struct fw_client *owner = &nic->host.clients[a->ep->qp->client];

	assert(!a->recv && !a->arriving);
	tag_arrival_set_state(a, TAG_EARLY);
	fw_list_del(&a->node);
	free_block(a);
	if (a->share) {
		tag_share_give(a->share, TAG_HELD_MSGS, 1);
		tag_share_put(nic, a->share);
	}
	a->ep->num_arrivals--;
	owner->tag_arrivals_held--;
	owner->share->user->tag_arrivals--;
	fw_pool_put(&nic->tag.arrivals, a);
}

static void report_pool_low(struct fw_nic *nic, struct tag_ep *ep)
{
	if (ep->low_reported || !ep->pool_low_bytes)
		return;
	ep->low_reported = true;
	eq_async(nic, ep->qp->client, HW_EVENT_TAG_POOL_LOW, ep->qp->qpn);
}

bool tag_arrival_store(struct fw_nic *nic, struct tag_arrival *a, uint32_t bytes)
{
	struct tag_ep *ep = a->ep;

	if (!bytes || a->block != BUDDY_NONE)
		return true;
	if (tag_share_may(a->share, TAG_HELD_BYTES, buddy_round(bytes),
			  ep->pool.bytes - ep->pool.used))
		a->block = buddy_alloc(&ep->pool, bytes);
	if (a->block == BUDDY_NONE) {
		ep->pool_refused++;
		FW_COUNT(nic, tag_pool_full);
		report_pool_low(nic, ep);
		return false;
	}
	tag_share_take(a->share, TAG_HELD_BYTES, buddy_block_bytes(&ep->pool, a->block));
	if (ep->pool.bytes - ep->pool.used < ep->pool_low_bytes)
		report_pool_low(nic, ep);
	return true;
}

/* ---- completion -------------------------------------------------------------------------- */

void tag_arrival_cqe(const struct tag_arrival *a, struct hw_cqe *cqe)
{
	cqe->qpn = a->ep->qp->qpn;
	cqe->imm_inv = a->bytes;
	cqe->src_ip = a->match.key.src_ip;
	cqe->src_qpn = a->match.key.src_qpn;
	cqe->record_to = a->match.key.tag;
	if (a->flags & WIRE_TAG_F_DATA) {
		cqe->flags |= HW_CQE_F_IMM;
		cqe->record_map = a->data;
	}
}

/* The completion comes last: a full CQ ends the endpoint and all its messages. */
static void tag_arrival_finish(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status,
			       enum hw_vendor_err vendor_err, bool reply)
{
	struct tag_posted *posted = a->recv;
	struct tag_ep *ep = a->ep;
	struct fw_qp *qp = ep->qp;
	struct hw_cqe cqe = {
	    .wr_id = posted->recv.wr_id,
	    .bytes = status == HW_STATUS_SUCCESS ? a->room : 0,
	    .status = (uint8_t)status,
	    .opcode = HW_CQE_TRECV,
	    .vendor_err = vendor_err,
	    .sq_index = (uint32_t)a->offset,
	};
	enum hw_status reply_status = status;
	struct tag_report report;

	tag_arrival_cqe(a, &cqe);
	if (a->solicited)
		cqe.flags |= HW_CQE_F_SOLICITED;
	if (status == HW_STATUS_SUCCESS) {
		qp->rx_msgs++;
		qp->rx_bytes += a->room;
		if (a->room < a->bytes)
			cqe.status = HW_STATUS_LOC_LEN_ERR;
	} else {
		reply_status = HW_STATUS_REM_OP_ERR;
	}
	report = tag_posted_release(nic, posted, &cqe);
	a->recv = NULL;
	if (reply && a->handle)
		tag_rdv_reply(nic, a, reply_status);
	else
		tag_arrival_free(nic, a);
	tag_posted_report(nic, ep, &cqe, &report);
}

void tag_arrival_complete(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status,
			  enum hw_vendor_err vendor_err)
{
	tag_arrival_finish(nic, a, status, vendor_err, true);
}

void tag_arrival_drop(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status)
{
	if (a->arriving) {
		a->discarded = true;
		tag_arrival_set_state(a, TAG_CLAIMED);
		return;
	}
	if (a->handle)
		tag_rdv_reply(nic, a, status);
	else
		tag_arrival_free(nic, a);
}

/*
 * The rest of the message will not come: its session has ended, its sender has cancelled it, or the
 * endpoint ends. The sender needs no notice, or gets a
 * Terminate.
 */
void tag_arrival_abort(struct fw_nic *nic, struct tag_arrival *a, enum hw_status status)
{
	a->arriving = NULL;
	if (a->recv)
		tag_arrival_finish(nic, a, status, HW_VENDOR_ERR_NONE, false);
	else
		tag_arrival_free(nic, a);
}

/* ---- receives ---------------------------------------------------------------------------- */

/* Gives the message its part of the receive, which may be shorter. */
static void reserve(struct fw_nic *nic, struct tag_arrival *a, struct tag_posted *posted)
{
	if (posted->peer)
		tag_rtr_matched(nic, a, posted);
	a->recv = posted;
	a->offset = posted->used;
	a->room = tag_posted_reserve(posted, a->bytes);
}

bool tag_arrival_take(struct fw_nic *nic, struct tag_arrival *a, struct tag_posted *posted)
{
	bool more;

	reserve(nic, a, posted);
	more = posted->open;
	switch ((enum wire_tag_kind)a->kind) {
	case WIRE_TAG_EAGER:
		if (a->arriving)
			tag_arrival_set_state(a, TAG_ARRIVING);
		else
			tag_arrival_copy(nic, a);
		break;
	case WIRE_TAG_RTS:
		tag_rdv_start(nic, a);
		break;
	case WIRE_TAG_PUT:
		tag_arrival_complete(nic, a, (enum hw_status)a->status, HW_VENDOR_ERR_NONE);
		break;
	case WIRE_TAG_DONE:
	case WIRE_TAG_RTR:
	case WIRE_TAG_NACK:
	case WIRE_TAG_KINDS:
		break;
	}
	return more;
}

/* Copies the message out of the pool; at most HW_TAG_MAX_EAGER_BYTES. False: a page is busy. */
static bool tag_arrival_copy_out(struct fw_nic *nic, struct tag_arrival *a, enum hw_vendor_err *err)
{
	const struct fw_recv *recv = &a->recv->recv;
	const struct tag_ep *ep = a->ep;
	struct fw_rx_frame frame;
	struct eth_cursor cursor;
	struct fw_mem mem;

	*err = mem_check(nic, ep->qp->pd, 0, ep->pool_stag, ep->pool_addr + a->block, a->room,
			 HW_ACCESS_LOCAL_WRITE, &mem);
	if (*err != HW_VENDOR_ERR_NONE)
		return true;
	if (!mem.ptr) {
		*err = HW_VENDOR_ERR_HOST_FAULT;
		return true;
	}
	frame.seg[0] = (struct fw_rx_seg){mem.ptr, a->room};
	frame.num_seg = 1;
	frame.bytes = a->room;
	eth_cursor_init(&cursor, &frame, 0, a->room);
	nic->host.mem_busy = false;
	*err = ddp_place_sges(nic, recv->pd, recv->sge, recv->num_sge, a->offset, &cursor);
	return !(*err == HW_VENDOR_ERR_HOST_FAULT && nic->host.mem_busy);
}

/* False: it waits for a later turn. */
static bool copy_now(struct fw_nic *nic, struct tag_arrival *a)
{
	uint32_t cost = a->room < TAG_COPY_LEAST ? TAG_COPY_LEAST : a->room;
	enum hw_vendor_err err = HW_VENDOR_ERR_NONE;

	if (!nic->tag.copy_left || fw_dear_spent(nic))
		return false;
	nic->tag.copy_left -= cost < nic->tag.copy_left ? cost : nic->tag.copy_left;
	if (a->room && !tag_arrival_copy_out(nic, a, &err))
		return false;
	tag_arrival_complete(nic, a, wqe_status_of(err), err);
	return true;
}

void tag_arrival_copy(struct fw_nic *nic, struct tag_arrival *a)
{
	struct tag_ep *ep = a->ep;
	bool first = fw_list_empty(&ep->in_state[TAG_COPYING]);

	tag_arrival_set_state(a, TAG_COPYING);
	if (!first || !copy_now(nic, a))
		tag_ep_work(nic, ep);
}

void tag_arrival_copy_run(struct fw_nic *nic, struct tag_ep *ep)
{
	while (tag_ep_is_live(ep) && !fw_list_empty(&ep->in_state[TAG_COPYING])) {
		struct tag_arrival *a =
		    FW_CONTAINER(ep->in_state[TAG_COPYING].next, struct tag_arrival, node);

		if (!copy_now(nic, a)) {
			tag_ep_work(nic, ep);
			return;
		}
	}
}

/* ---- the end of the endpoint --------------------------------------------------------------- */

static bool flush_one(struct fw_nic *nic, struct tag_arrival *a)
{
	if (!slice_take(nic, 1))
		return false;
	if (a->recv)
		tag_arrival_finish(nic, a, HW_STATUS_WR_FLUSH_ERR, HW_VENDOR_ERR_NONE, true);
	else
		tag_arrival_drop(nic, a, HW_STATUS_REM_ABORT_ERR);
	return true;
}

/* Messages that are still arriving ended with their recv_msg, and reads with their request. */
bool tag_arrival_flush(struct fw_nic *nic, struct tag_ep *ep)
{
	static const uint8_t states[] = {TAG_CLAIMED, TAG_COPYING, TAG_UNEXPECTED};
	uint32_t i;

	for (i = 0; i < sizeof(states); i++)
		while (!fw_list_empty(&ep->in_state[states[i]]))
			if (!flush_one(nic, FW_CONTAINER(ep->in_state[states[i]].next,
							 struct tag_arrival, node)))
				return false;
	while (!fw_list_empty(&ep->readers)) {
		struct tag_share *share = FW_CONTAINER(ep->readers.next, struct tag_share, reader);

		if (!flush_one(nic, FW_CONTAINER(share->waiting.next, struct tag_arrival, node)))
			return false;
	}
	return tag_rdv_reply_flush(nic, ep);
}
