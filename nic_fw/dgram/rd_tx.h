/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RD, sending: the parts that packets (rd_tx.c) and bundles of messages (rd_bundle.c) share.
 *
 * Inline, as each is a few instructions of every message. ARCHITECTURE.md "RD in one page".
 */
#ifndef WEFT_FW_RD_TX_H
#define WEFT_FW_RD_TX_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "nic_fw/fw_nic.h"

enum {
	RD_HDR_BYTES = UDP_TX_HDR_BYTES + sizeof(struct wire_dgram) + sizeof(struct wire_rd),
};
static_assert(RD_HDR_BYTES + RDMAP_HDR_MAX <= FW_TX_HDR_BYTES, "headers fit the frame");

/* The CRC32C covers all pieces from the UDP header, the second one, to the last. */
static inline void rd_tx_seal(struct fw_tx_frame *frame)
{
	frame->seg[1].flags |= FW_TX_F_CRC_BEGIN;
	frame->seg[frame->num_seg - 1].flags |= FW_TX_F_CRC_END;
}

/* Fills in what all messages from one QP to another have in common. */
static inline void rd_tx_common(struct wire_dgram *dgram, const struct fw_wqe *msg)
{
	dgram->dst_qpn = be32_put(msg->dst_qpn);
	dgram->src_qpn = be32_put(msg->src_qpn);
	dgram->qkey = be32_put(msg->qkey);
	dgram->incarnation = be16_put(msg->incarnation);
	if (!wqe_is_request(msg))
		dgram->flags |= WIRE_DGRAM_F_RESPONSE;
}

/* Fills in imm, which is 0, of a packet that may be the last of its message; returns its flags. */
static inline uint8_t rd_tx_imm(const struct fw_wqe *msg, bool last, struct be32 *imm)
{
	if (msg->kind == FW_WQE_TERMINATE) {
		memcpy(imm, &msg->imm_inv, sizeof(*imm));
		return 0;
	}
	if (!last || msg->kind != FW_WQE_REQUEST ||
	    (msg->opcode != HW_WQE_SEND_IMM && msg->opcode != HW_WQE_WRITE_IMM))
		return 0;
	memcpy(imm, &msg->imm_inv, sizeof(*imm));
	return (uint8_t)(WIRE_DGRAM_F_IMM |
			 (msg->flags & HW_WQE_F_SOLICITED ? WIRE_DGRAM_F_SOLICITED : 0));
}

/* Returns how many packets of those that may leave, budget at most, the session may send now. */
static inline uint32_t rd_tx_most(const struct rd_session *s, uint32_t budget)
{
	uint32_t n = budget, room = WIRE_RD_WINDOW - (s->tx_psn - s->tx_una);

	n = n < room ? n : room;
	room = s->cwnd - s->sent;
	n = n < room ? n : room;
	room = (uint8_t)(s->credit_limit - s->credit_used);
	return n < room ? n : room;
}

/* Fills the slot of a new packet, which has the payload of a message from offset on. */
static inline void rd_tx_fill_slot(struct fw_nic *nic, struct rd_session *s, struct fw_wqe *msg,
				   uint32_t psn, uint32_t offset, uint16_t distance)
{
	uint32_t left = msg->bytes - offset;

	s->tx->slot[psn % WIRE_RD_WINDOW] = (struct rd_slot){
	    .sent_ns = nic->now_ns,
	    .first_sent = fw_moment_now(nic),
	    .msg = msg,
	    .flow = msg->flow,
	    .offset = offset,
	    .bytes = rdmap_tx_is_self_contained(msg->rdmap_opcode) ? left
		     : left < s->segment_bytes                     ? left
								   : s->segment_bytes,
	    .flow_distance = distance,
	    .state = RD_SLOT_SENT,
	    .row = 1,
	};
}

/* Notes that so many packets of a message have left, with bytes of it. */
static inline void rd_tx_note(const struct fw_nic *nic, struct rd_flow *flow, struct fw_wqe *msg,
			      uint32_t packets, uint32_t bytes)
{
	msg->unacked += packets;
	if (!msg->begun_ns) {
		msg->begun_ns = nic->now_ns;
		if (msg->kind == FW_WQE_REQUEST)
			flow->begun_ssn = msg->ssn;
	}
	msg->refused = false;
	msg->sent_bytes += bytes;
	if (msg->sent_bytes == msg->bytes)
		msg->state = FW_WQE_SENT;
}

/* So many packets of the flow have left, from tx_psn on. */
static inline void rd_tx_advance(const struct fw_nic *nic, struct rd_session *s,
				 struct rd_flow *flow, uint32_t packets)
{
	if (s->tx_psn == s->tx_una) {
		s->rto_base_ns = nic->now_ns;
		s->tlp_sent = false;
	}
	s->tx_psn += packets;
	s->sent += packets;
	flow->outstanding += packets;
	flow->last_psn = s->tx_psn - 1;
}

#endif /* WEFT_FW_RD_TX_H */
