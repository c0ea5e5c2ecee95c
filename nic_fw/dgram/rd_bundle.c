/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bundles of RD: short messages of one QP to another that leave in one turn share a frame. Headers,
 * checksum, CRC32C and the way of the frame through both NICs are made once for all of them.
 *
 * Each message keeps its PSN and its fate: it is delivered, refused and acknowledged as if it had
 * come alone, and sent again alone. Its bytes are copied when the frame is made, so memory of the
 * process is not read later. Peers that take bundles say so in their HELLOs (rd_hello.c). Calls
 * rdmap_tx.c, wqe_gather.c. docs/wire-format.md "RD: bundles".
 */
#include "nic_fw/dgram/rd_tx.h"
#include "nic_fw/fw_nic.h"

static_assert(RD_BUNDLE_BYTES + RDMAP_HDR_MAX + sizeof(struct wire_rd_part) <= RD_BUNDLE_ROOM,
	      "the headers of a message may be written before it is known to fit");
static_assert(RD_BUNDLE_BYTES + RD_HDR_BYTES + WIRE_DGRAM_CRC_BYTES <= RD_BUNDLE_FLAT,
	      "a frame made here is contiguous there");

/* True if a message may share a frame: it is short, and goes whole. */
static bool is_short(const struct fw_wqe *msg)
{
	return msg->bytes <= RD_BUNDLE_MSG_BYTES && msg->state == FW_WQE_QUEUED &&
	       !msg->sent_bytes && msg->kind != FW_WQE_TERMINATE && msg->kind != FW_WQE_CANCEL;
}

/* Returns the message behind msg if that may share a frame with it; NULL: it is the last one. */
static struct fw_wqe *rd_bundle_next(const struct rd_flow *flow, const struct fw_wqe *msg)
{
	struct fw_wqe *next;

	if (msg->flow_node.next == &flow->msgs)
		return NULL;
	next = FW_CONTAINER(msg->flow_node.next, struct fw_wqe, flow_node);
	/* One header is that of all. */
	return is_short(next) && next->qkey == msg->qkey && next->src_qpn == msg->src_qpn &&
		       next->incarnation == msg->incarnation
		   ? next
		   : NULL;
}

/* Copies payload of a message to dst. False: it cannot be read here. */
static bool copy_payload(struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
			 uint32_t bytes, struct fw_tx_frame *frame, uint8_t *dst)
{
	const uint8_t *data = wqe_data(nic, msg, bytes);
	bool host = false, read;
	uint32_t i;

	if (data) {
		memcpy(dst, data, bytes);
		return true;
	}
	read = wqe_gather(nic, msg, offset, bytes, frame, &host) == HW_VENDOR_ERR_NONE && !host;
	for (i = 0; read && i < frame->num_seg; i++) {
		memcpy(dst, frame->seg[i].mem, frame->seg[i].bytes);
		dst += frame->seg[i].bytes;
	}
	frame->num_seg = 0;
	frame->bytes = 0;
	return read;
}

/*
 * Writes a message to dst, for which room bytes are left. Returns its length; 0: it does not fit,
 * or has to go alone.
 */
static uint32_t put_part(struct fw_nic *nic, const struct fw_wqe *msg, struct fw_tx_frame *frame,
			 uint8_t *dst, uint32_t room)
{
	uint32_t envelope = wqe_envelope_bytes(msg, 0);
	uint32_t data = rdmap_tx_is_self_contained(msg->rdmap_opcode) ? 0 : msg->bytes - envelope;
	struct wire_rd_part *part = (void *)dst;
	uint32_t ddp = rdmap_tx_header(nic, msg, 0, data + envelope, dst + sizeof(*part));

	if (sizeof(*part) + ddp + data > room)
		return 0;
	if (data && !copy_payload(nic, msg, envelope, data, frame, dst + sizeof(*part) + ddp))
		return 0;
	*part = (struct wire_rd_part){
	    .bytes = be16_put((uint16_t)(ddp + data)),
	    .msg_bytes = be32_put(msg->bytes),
	    .ssn = be32_put(msg->ssn),
	};
	part->flags = rd_tx_imm(msg, true, &part->imm);
	return (uint32_t)sizeof(*part) + ddp + data;
}

/* Writes messages of the flow to dst, most at most; returns their number, and their bytes. */
static uint32_t put_parts(struct fw_nic *nic, const struct rd_session *s, struct rd_flow *flow,
			  uint32_t most, struct fw_tx_frame *frame, uint8_t *dst, uint32_t *bytes)
{
	uint32_t room = s->segment_bytes < RD_BUNDLE_BYTES ? s->segment_bytes : RD_BUNDLE_BYTES;
	const struct fw_wqe *msg;
	uint32_t n = 0, part;

	*bytes = 0;
	for (msg = flow->next; msg && n < most; msg = rd_bundle_next(flow, msg), n++) {
		part = put_part(nic, msg, frame, dst + *bytes, room - *bytes);
		if (!part)
			break;
		*bytes += part;
	}
	return n;
}

/* Makes the frame of n messages that are written at body. */
static void make_frame(struct fw_nic *nic, struct rd_session *s, const struct rd_flow *flow,
		       uint32_t n, const uint8_t *body, uint32_t bytes, struct fw_tx_frame *frame)
{
	uint32_t psn = s->tx_psn;
	struct wire_dgram *dgram = (void *)(frame->hdr + UDP_TX_HDR_BYTES);

	rd_tx_headers(nic, s, frame, WIRE_DGRAM_RD_BUNDLE, psn,
		      (uint16_t)(flow->outstanding ? psn - flow->last_psn : 0), bytes);
	s->credit_used += (uint8_t)(n - 1);
	rd_tx_common(dgram, flow->next);
	dgram->msg_bytes = be32_put(n);
	eth_tx_headers(frame, IP_TX_HDR_BYTES, RD_HDR_BYTES - IP_TX_HDR_BYTES, 0);
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = body,
	    .bytes = bytes,
	    .client = (uint16_t)flow->qp->client,
	    .kind = FW_TX_MEM,
	};
	rd_tx_seal(frame);
}

uint32_t rd_bundle_tx(struct fw_nic *nic, struct rd_session *s, struct rd_flow *flow,
		      uint32_t budget)
{
	uint32_t psn = s->tx_psn, most, n, bytes, i;
	struct fw_wqe *msg = flow->next;
	struct fw_tx_frame *frame;
	uint8_t *body;

	if (!is_short(msg) || !rd_bundle_next(flow, msg) || flow->withdrawals)
		return 0;
	most = rd_tx_most(s, budget);
	if (most < WIRE_RD_BUNDLE_LEAST)
		return 0;
	most = most < WIRE_RD_BUNDLE_MAX ? most : WIRE_RD_BUNDLE_MAX;
	frame = eth_tx_begin(nic);
	assert(frame);
	/* No more frames are staged than there are places, and the oldest leaves first. */
	body = nic->rd.bundles + (size_t)nic->rd.next_bundle * RD_BUNDLE_ROOM;
	n = put_parts(nic, s, flow, most, frame, body, &bytes);
	if (n < WIRE_RD_BUNDLE_LEAST)
		return 0;
	nic->rd.next_bundle = (nic->rd.next_bundle + 1) % FW_TX_STAGE;
	for (i = 1; i < n; i++)
		msg = FW_CONTAINER(msg->flow_node.next, struct fw_wqe, flow_node);
	s->more = msg->flow_node.next != &flow->msgs || !fw_list_empty(&s->flows);
	make_frame(nic, s, flow, n, body, bytes, frame);
	msg = flow->next;
	for (i = 0; i < n; i++) {
		uint16_t distance =
		    i ? 1 : (uint16_t)(flow->outstanding ? psn - flow->last_psn : 0);

		rd_tx_fill_slot(nic, s, msg, psn + i, 0, distance);
		rd_tx_note(nic, flow, msg, 1, msg->bytes);
		fw_trace(nic, TRACE_RD_TX, msg->src_qpn, msg->wr_id, psn + i);
		if (i + 1 < n)
			msg = FW_CONTAINER(msg->flow_node.next, struct fw_wqe, flow_node);
	}
	flow->next = msg->flow_node.next != &flow->msgs ? rd_flow_next(flow, msg) : NULL;
	rd_tx_advance(nic, s, flow, n);
	FW_ADD(nic, rd_tx_packets, n);
	FW_COUNT(nic, rd_tx_bundles);
	eth_tx_commit(nic, frame);
	return n;
}

/* ---- in -------------------------------------------------------------------------------------- */

uint32_t rd_bundle_open(struct fw_nic *nic, struct rdmap_seg *pkt, struct fw_rx_frame *flat)
{
	uint32_t n = pkt->msg_bytes, at = pkt->data_offset, end = at + pkt->data_bytes, i;
	const struct fw_rx_frame *frame = pkt->frame;
	struct eth_cursor cursor;

	if (!pkt->dst_qpn || n < WIRE_RD_BUNDLE_LEAST || n > WIRE_RD_BUNDLE_MAX ||
	    end > RD_BUNDLE_FLAT)
		return 0;
	if (frame->seg[0].bytes < end) {
		eth_cursor_init(&cursor, frame, 0, end);
		eth_cursor_copy(&cursor, nic->rd.flat_bundle, end);
		flat->seg[0] = (struct fw_rx_seg){nic->rd.flat_bundle, end};
		flat->num_seg = 1;
		flat->bytes = end;
		flat->flags = frame->flags;
		flat->run = 1;
		pkt->frame = frame = flat;
	}
	for (i = 0; i < n; i++) {
		const struct wire_rd_part *part = (const void *)(frame->seg[0].data + at);
		const uint8_t allowed = WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED;

		if (end - at < sizeof(*part) ||
		    end - at - (uint32_t)sizeof(*part) < be16_get(part->bytes) ||
		    (part->flags & ~allowed) != 0 || part->reserved)
			return 0;
		at += (uint32_t)sizeof(*part) + be16_get(part->bytes);
	}
	return at == end ? n : 0;
}

uint32_t rd_bundle_part(const struct rdmap_seg *pkt, uint32_t at, struct rdmap_seg *part)
{
	const struct wire_rd_part *hdr = (const void *)(pkt->frame->seg[0].data + at);

	*part = *pkt;
	part->flags |= hdr->flags;
	memcpy(&part->imm, &hdr->imm, sizeof(part->imm));
	part->msg_bytes = be32_get(hdr->msg_bytes);
	part->ssn = be32_get(hdr->ssn);
	part->data_offset = at + (uint32_t)sizeof(*hdr);
	part->data_bytes = be16_get(hdr->bytes);
	return part->data_offset + part->data_bytes;
}
