/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends that arrive at a tagged endpoint: matching in the order of their flow, placement.
 *
 * The first packet of a message holds its envelope. When its turn has come, the message takes a
 * posted receive, and its bytes go there; or memory of the pool. A packet before its turn goes to
 * the pool, because no receive may be taken for it yet. Envelopes without data are carried out in
 * their turn only. Everything in an envelope is the peer's word. Calls tag_match.c, ddp_rx.c,
 * recv.c. docs/tagged.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	ENVELOPE = sizeof(struct wire_tag),
};
static_assert((uint32_t)ENVELOPE <= (uint32_t)RDMAP_HELD_BYTES, "an early envelope can be held");

static enum rdmap_result tag_rx_error_of(struct rdmap_error *error, uint8_t layer_etype,
					 uint8_t code)
{
	error->layer_etype = layer_etype;
	error->code = code;
	return RDMAP_ERROR;
}

static enum rdmap_result tag_rx_malformed(struct fw_nic *nic, struct rdmap_error *error)
{
	FW_COUNT(nic, tag_malformed);
	return tag_rx_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
}

/* True if the fields that its kind uses are in range, and the others 0. */
static bool is_sound(const struct rdmap_seg *pkt, const struct wire_tag *env)
{
	bool response = pkt->flags & WIRE_DGRAM_F_RESPONSE;
	bool alone = pkt->msg_bytes == ENVELOPE && pkt->data_bytes == ENVELOPE && pkt->last;
	uint32_t bytes = be32_get(env->bytes), handle = be32_get(env->handle);
	bool sink = be32_get(env->stag) & STAG_SINK_FLAG;

	if (env->reserved || env->flags & ~WIRE_TAG_F_ALL)
		return false;
	switch (env->kind) {
	case WIRE_TAG_EAGER:
		return !response && bytes <= HW_TAG_MAX_EAGER_BYTES &&
		       pkt->msg_bytes == ENVELOPE + bytes &&
		       !(env->flags & WIRE_TAG_F_SYNC) == !handle;
	case WIRE_TAG_RTS:
		return !response && alone && handle && sink && !(env->flags & WIRE_TAG_F_SYNC) &&
		       bytes <= HW_MAX_MSG_BYTES;
	case WIRE_TAG_DONE:
		return response && alone && env->status < HW_STATUS_CODES;
	case WIRE_TAG_RTR:
		return alone && sink && response == !env->status &&
		       env->status <= WIRE_TAG_RTR_WITHDRAWN;
	case WIRE_TAG_PUT:
		return !response && alone && sink && env->status < HW_STATUS_CODES &&
		       bytes <= HW_MAX_MSG_BYTES;
	case WIRE_TAG_NACK:
		return alone && sink;
	default:
		return false;
	}
}

/* A receive to which an earlier endpoint has begun to write takes no message of the next one. */
static struct tag_recv *tag_rx_find(struct fw_nic *nic, struct tag_ep *ep,
				    const struct tag_key *key)
{
	struct tag_recv *recv;

	while ((recv = tag_match_find_recv(&ep->rx->match, key)) &&
	       tag_rtr_is_written(FW_CONTAINER(recv, struct tag_posted, match)))
		tag_rtr_lose(nic, ep, FW_CONTAINER(recv, struct tag_posted, match));
	return recv;
}

/*
 * The message's turn has come: takes the first receive that fits, or enters the message as
 * unexpected. False: it needs a place, or memory of the pool, and there is none for its peer.
 */
static bool tag_rx_match(struct fw_nic *nic, struct tag_ep *ep, struct tag_arrival *a,
			 const struct rdmap_seg *pkt)
{
	struct tag_recv *recv = tag_rx_find(nic, ep, &a->match.key);

	if (recv) {
		tag_peer_took(nic, ep, pkt);
		ep->matched_posted++;
		FW_COUNT(nic, tag_matched_posted);
		(void)tag_arrival_take(nic, a, FW_CONTAINER(recv, struct tag_posted, match));
		return true;
	}
	if (!tag_arrival_book(nic, a, pkt) ||
	    (a->kind == WIRE_TAG_EAGER && !tag_arrival_store(nic, a, a->bytes)))
		return false;
	tag_peer_took(nic, ep, pkt);
	FW_COUNT(nic, tag_unexpected);
	tag_arrival_set_state(a, TAG_UNEXPECTED);
	return true;
}

/* Finds the context of an eager message, or makes it. */
static enum rdmap_result open_eager(struct fw_nic *nic, struct fw_qp *qp,
				    const struct rdmap_seg *pkt, struct recv_msg **out,
				    struct rdmap_error *error)
{
	struct recv_msg *msg = recv_find(nic, qp, pkt);
	struct tag_arrival *a;

	if (!msg) {
		/* The message failed already. */
		if (llp_is_refused(nic, qp, pkt))
			return tag_rx_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
		a = tag_arrival_new(nic, qp->tag);
		if (!a)
			return RDMAP_REFUSE;
		if (recv_open(nic, qp, pkt, a, &msg) != RDMAP_OK) {
			tag_arrival_free(nic, a);
			return RDMAP_DROP;
		}
		a->bytes = pkt->msg_bytes - ENVELOPE;
		a->arriving = msg;
	}
	*out = msg;
	return RDMAP_OK;
}

/* Gives back the context of a message that was refused before it was matched. */
static void forget(struct fw_nic *nic, struct fw_qp *qp, struct recv_msg *msg)
{
	struct tag_arrival *a = msg->tag;

	recv_end(nic, qp, msg);
	a->arriving = NULL;
	tag_arrival_free(nic, a);
}

/* Places bytes of the message at offset: in its receive, or in the pool. */
static enum hw_vendor_err place(struct fw_nic *nic, const struct tag_arrival *a, uint32_t offset,
				struct eth_cursor *cursor)
{
	const struct tag_ep *ep = a->ep;
	enum hw_vendor_err err;
	struct fw_mem mem;

	if (a->block == BUDDY_NONE) {
		const struct fw_recv *recv = &a->recv->recv;

		/* A receive that is too short takes the beginning. */
		if (offset >= a->room)
			return HW_VENDOR_ERR_NONE;
		if (cursor->left > a->room - offset)
			cursor->left = a->room - offset;
		return ddp_place_sges(nic, recv->pd, recv->sge, recv->num_sge, a->offset + offset,
				      cursor);
	}
	err = mem_check(nic, ep->qp->pd, 0, ep->pool_stag, ep->pool_addr + a->block + offset,
			cursor->left, HW_ACCESS_LOCAL_WRITE, &mem);
	if (err != HW_VENDOR_ERR_NONE)
		return err;
	return ddp_place_mem(nic, &mem, 0, cursor) ? HW_VENDOR_ERR_NONE : HW_VENDOR_ERR_HOST_FAULT;
}

static enum rdmap_result place_eager(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				     const struct wire_tag *env, bool in_order,
				     struct rdmap_error *error)
{
	uint32_t head = pkt->mo ? 0 : ENVELOPE, bytes = pkt->data_bytes - head;
	uint32_t offset = pkt->mo ? pkt->mo - ENVELOPE : 0;
	enum rdmap_result result;
	struct eth_cursor cursor;
	enum hw_vendor_err err;
	struct tag_arrival *a;
	struct recv_msg *msg;
	bool booked;

	result = open_eager(nic, qp, pkt, &msg, error);
	if (result != RDMAP_OK)
		return result;
	a = msg->tag;
	booked = a->share;
	pkt->recv_serial = msg->serial;
	/* All segments describe the same message. */
	if (pkt->msg_bytes - ENVELOPE != a->bytes || bytes > a->bytes || offset > a->bytes - bytes)
		return tag_rx_malformed(nic, error);
	if (env && !a->enveloped)
		tag_arrival_set_envelope(a, pkt, env);
	/* A message of one packet that finds its receive now holds nothing. */
	if (!(env && in_order && pkt->last) && !tag_arrival_book(nic, a, pkt)) {
		forget(nic, qp, msg);
		return RDMAP_REFUSE;
	}
	if (env && in_order && a->state == TAG_EARLY && !tag_rx_match(nic, qp->tag, a, pkt)) {
		forget(nic, qp, msg);
		return RDMAP_REFUSE;
	}
	if (!bytes)
		return RDMAP_OK;
	if (a->state == TAG_EARLY && !tag_arrival_store(nic, a, a->bytes)) {
		/* It counts as lost; in its turn it may find a receive. */
		if (!booked && !msg->done)
			forget(nic, qp, msg);
		return RDMAP_REFUSE;
	}
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset + head, bytes);
	err = place(nic, a, offset, &cursor);
	if (err == HW_VENDOR_ERR_NONE)
		return RDMAP_OK;
	if (err == HW_VENDOR_ERR_HOST_FAULT && nic->host.mem_busy)
		return RDMAP_DROP;
	return tag_rx_error_of(error, RDMAP_OPERATION, WIRE_TERM_OP_UNSPECIFIED);
}

enum rdmap_result tag_rx_place(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
			       bool in_order, struct rdmap_error *error)
{
	struct eth_cursor cursor;
	struct wire_tag env;

	pkt->msn = pkt->ssn;
	if (pkt->opcode != WIRE_RDMAP_SEND && pkt->opcode != WIRE_RDMAP_SEND_SE)
		return tag_rx_malformed(nic, error);
	if (pkt->msg_bytes < ENVELOPE || (pkt->mo ? pkt->mo : pkt->data_bytes) < ENVELOPE)
		return tag_rx_malformed(nic, error);
	if (pkt->mo) {
		if (pkt->flags & WIRE_DGRAM_F_RESPONSE ||
		    pkt->msg_bytes - ENVELOPE > HW_TAG_MAX_EAGER_BYTES)
			return tag_rx_malformed(nic, error);
		return place_eager(nic, qp, pkt, NULL, in_order, error);
	}
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, ENVELOPE);
	eth_cursor_copy(&cursor, &env, ENVELOPE);
	if (!is_sound(pkt, &env))
		return tag_rx_malformed(nic, error);
	/* Other kinds act in their turn. */
	return env.kind == WIRE_TAG_EAGER ? place_eager(nic, qp, pkt, &env, in_order, error)
					  : RDMAP_OK;
}

/* ---- delivery ------------------------------------------------------------------------------ */

static enum rdmap_result finish_eager(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				      struct rdmap_error *error)
{
	struct recv_msg *msg = recv_find(nic, qp, pkt);
	struct tag_arrival *a;

	if (msg && !pkt->mo)
		msg->done = 0;
	/* The message was given up: the peer repeats it as a whole. */
	if (!msg || msg->serial != pkt->recv_serial || msg->done != pkt->mo)
		return RDMAP_REFUSE;
	a = msg->tag;
	if (!a->enveloped)
		return tag_rx_malformed(nic, error);
	if (a->state == TAG_EARLY && !tag_rx_match(nic, qp->tag, a, pkt)) {
		forget(nic, qp, msg);
		return RDMAP_REFUSE;
	}
	msg->done += pkt->data_bytes;
	if (!pkt->last)
		return RDMAP_OK;
	if (msg->done != pkt->msg_bytes)
		return tag_rx_malformed(nic, error);
	recv_end(nic, qp, msg);
	a->arriving = NULL;
	if (a->discarded)
		tag_arrival_drop(nic, a, HW_STATUS_SUCCESS);
	else if (!a->recv)
		return RDMAP_OK; /* it waits for its receive */
	else if (a->block != BUDDY_NONE)
		tag_arrival_copy(nic, a);
	else
		tag_arrival_complete(nic, a, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	return RDMAP_OK;
}

static enum rdmap_result finish_rts(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				    const struct wire_tag *env, struct rdmap_error *error)
{
	struct recv_msg *early = recv_find(nic, qp, pkt);
	struct tag_arrival *a;

	if (early) {
		/* Packets of it came early; then its sender was refused, and made it an RTS. */
		if (early->tag->state != TAG_EARLY)
			return tag_rx_malformed(nic, error);
		forget(nic, qp, early);
	}
	a = tag_arrival_new(nic, qp->tag);
	if (!a)
		return RDMAP_REFUSE;
	tag_arrival_set_envelope(a, pkt, env);
	/* Also if it has a receive: until it is read it stands in the way of others. */
	if (!tag_arrival_book(nic, a, pkt)) {
		tag_arrival_free(nic, a);
		return RDMAP_REFUSE;
	}
	(void)tag_rx_match(nic, qp->tag, a, pkt);
	return RDMAP_OK;
}

enum rdmap_result tag_rx_finish(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt,
				const uint8_t *held, struct rdmap_error *error)
{
	enum rdmap_result result;
	struct eth_cursor cursor;
	struct wire_tag env;

	/* The QP may be another one since the packet was placed. */
	if (pkt->mo || pkt->data_bytes != ENVELOPE)
		return finish_eager(nic, qp, pkt, error);
	if (pkt->msg_bytes < ENVELOPE)
		return tag_rx_malformed(nic, error);
	if (held) {
		memcpy(&env, held, ENVELOPE);
	} else {
		eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, ENVELOPE);
		eth_cursor_copy(&cursor, &env, ENVELOPE);
	}
	/* Its bytes may have changed since, if they lie in memory of a process of this machine. */
	if (!is_sound(pkt, &env))
		return tag_rx_malformed(nic, error);
	switch ((enum wire_tag_kind)env.kind) {
	case WIRE_TAG_EAGER:
		return finish_eager(nic, qp, pkt, error);
	case WIRE_TAG_RTS:
		return finish_rts(nic, qp, pkt, &env, error);
	case WIRE_TAG_DONE:
		tag_send_done(nic, qp, pkt, &env);
		return RDMAP_OK;
	case WIRE_TAG_RTR:
		return tag_rtr_rx(nic, qp, pkt, &env);
	case WIRE_TAG_NACK:
		tag_rtr_nack(nic, qp, pkt, &env);
		return RDMAP_OK;
	case WIRE_TAG_PUT:
		result = tag_rtr_put(nic, qp, pkt, &env);
		return result == RDMAP_ERROR ? tag_rx_malformed(nic, error) : result;
	case WIRE_TAG_KINDS:
		break;
	}
	return tag_rx_malformed(nic, error);
}
