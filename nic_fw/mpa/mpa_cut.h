/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cutting messages into segments, inline: steps that mpa_tx.c and mpa_run.c share. fw_nic.h comes
 * before it.
 */
#ifndef WEFT_FW_MPA_CUT_H
#define WEFT_FW_MPA_CUT_H

#include "nic_fw/fw_nic.h"
#include "nic_fw/mpa/mpa_fpdu.h"

/* Bytes of a segment's ULPDU before its payload. */
static inline uint32_t mpa_cut_header_bytes(const struct mpa_conn *conn, const struct fw_wqe *msg,
					    enum mpa_seg_kind kind)
{
	switch (kind) {
	case MPA_SEG_IMM:
		return (uint32_t)sizeof(struct wire_ddp_untagged) + WIRE_IMMEDIATE_BYTES;
	case MPA_SEG_TERM:
		return (uint32_t)sizeof(struct wire_ddp_untagged) + conn->term_bytes;
	case MPA_SEG_RTR:
		if (conn->param.rtr == WIRE_MPA_RTR_SEND)
			return sizeof(struct wire_ddp_untagged);
		if (conn->param.rtr == WIRE_MPA_RTR_READ)
			return sizeof(struct wire_ddp_untagged) + sizeof(struct wire_read_request);
		return sizeof(struct wire_ddp_tagged);
	case MPA_SEG_DATA:
		break;
	}
	switch ((enum wire_rdmap_opcode)msg->rdmap_opcode) {
	case WIRE_RDMAP_WRITE:
	case WIRE_RDMAP_READ_RESPONSE:
		return sizeof(struct wire_ddp_tagged);
	case WIRE_RDMAP_READ_REQUEST:
		return sizeof(struct wire_ddp_untagged) + sizeof(struct wire_read_request);
	case WIRE_RDMAP_ATOMIC_REQUEST:
		return sizeof(struct wire_ddp_untagged) + sizeof(struct wire_atomic_request);
	case WIRE_RDMAP_ATOMIC_RESPONSE:
		return sizeof(struct wire_ddp_untagged) + sizeof(struct wire_atomic_response);
	case WIRE_RDMAP_SEND:
	case WIRE_RDMAP_SEND_INVALIDATE:
	case WIRE_RDMAP_SEND_SE:
	case WIRE_RDMAP_SEND_SE_INVALIDATE:
	case WIRE_RDMAP_TERMINATE:
	case WIRE_RDMAP_IMMEDIATE:
	case WIRE_RDMAP_IMMEDIATE_SE:
		break;
	}
	return sizeof(struct wire_ddp_untagged);
}

/* Makes the next segment of the stream, of a ULPDU of so many bytes. NULL: there is no memory. */
static inline struct tcp_seg *mpa_cut_seg(struct fw_nic *nic, struct mpa_conn *conn,
					  struct fw_wqe *msg, enum mpa_seg_kind kind,
					  uint32_t ulpdu_bytes)
{
	struct mpa_seg *seg = fw_pool_get(&nic->mpa.segs);
	uint32_t plain = mpa_plain_bytes(ulpdu_bytes);

	if (!seg) {
		mpa_rdmap_starved(nic, conn);
		return NULL;
	}
	memset(seg, 0, sizeof(*seg));
	fw_list_init(&seg->seg.node);
	seg->msg = msg;
	seg->at = conn->tx_bytes;
	seg->kind = (uint8_t)kind;
	seg->ulpdu_bytes = (uint16_t)ulpdu_bytes;
	seg->seg.bytes = mpa_stream_bytes(conn->tx_bytes, plain, conn->param.tx_markers);
	fw_list_add_tail(&conn->segs, &seg->node);
	conn->tx_bytes += seg->seg.bytes;
	conn->tx_unacked++;
	if (msg)
		msg->unacked++;
	FW_COUNT(nic, mpa_tx_fpdus);
	return &seg->seg;
}

/* True if immediate data follow the payload, in an FPDU of their own. */
static inline bool mpa_cut_has_imm(const struct fw_wqe *msg)
{
	return msg->kind == FW_WQE_REQUEST && msg->opcode == HW_WQE_WRITE_IMM;
}

/* Segments of the message were cut, with data bytes of payload; last is the last one. */
static inline void mpa_cut_note(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg,
				uint32_t data, struct tcp_seg *last)
{
	const struct mpa_seg *seg = mpa_seg_of(last);
	bool imm = mpa_cut_has_imm(msg);

	if (!msg->begun_ns)
		msg->begun_ns = nic->now_ns;
	if (seg->kind == MPA_SEG_DATA)
		msg->sent_bytes += data;
	if (seg->kind == MPA_SEG_DATA && imm && msg->sent_bytes == msg->bytes) {
		msg->wrote = true;
	} else if (seg->kind == MPA_SEG_IMM || rdmap_tx_is_self_contained(msg->rdmap_opcode) ||
		   msg->sent_bytes == msg->bytes) {
		fw_list_del(&msg->flow_node);
		msg->state = FW_WQE_SENT;
	}
	/* No data follow at once: the receiver should not delay its acknowledgement. */
	if (fw_list_empty(&conn->out))
		last->flags = TCP_SEG_PSH;
}

#endif /* WEFT_FW_MPA_CUT_H */
