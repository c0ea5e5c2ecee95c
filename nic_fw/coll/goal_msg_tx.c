/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of messages on an ESP stream: header and payload, singly and as runs (net/eth_run.c).
 *
 * stream/esp_tx.c requests them. Each packet of a run keeps its number, and every rule of ESP holds
 * for it; the headers of a run are those of its first packet, with the flags of the last one's end.
 * Payload is read where the process has it, also by the receiver (FW_TX_F_BORROW): a run that gives
 * memory back while packets are under way has them copied first (goal_msg.c). Calls goal_buf.c.
 * docs/wire-esp.md.
 */
#include "nic_fw/fw_nic.h"

static void add_mem(struct fw_tx_frame *frame, const uint8_t *mem, uint32_t bytes, uint32_t client)
{
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = mem,
	    .bytes = bytes,
	    .client = (uint16_t)client,
	    .kind = FW_TX_MEM,
	};
}

/* Adds payload [offset, offset + bytes) of a message, as pieces of memory. False: it is gone. */
static bool add_payload(struct fw_nic *nic, struct goal_send *send, uint64_t offset, uint32_t bytes,
			struct fw_tx_frame *frame)
{
	struct goal_span span;

	if (!bytes)
		return true;
	if (send->kind == GOAL_SEND_SMALL) {
		add_mem(frame, send->small + offset, bytes, send->client);
		return true;
	}
	if (!send->run)
		return false;
	if (send->staged) {
		add_mem(frame, send->staged + offset, bytes, send->client);
		return true;
	}
	goal_cursor_seek(send->run->schedule, &send->cursor, offset);
	for (; bytes; bytes -= (uint32_t)span.bytes) {
		if (!goal_cursor_next(nic, send->run, &send->cursor, bytes, 0, &span) ||
		    !span.mem.ptr || frame->num_seg >= FW_TX_SEGS_MAX - 1)
			return false;
		add_mem(frame, span.mem.ptr, (uint32_t)span.bytes, send->run->client);
	}
	return true;
}

bool goal_msg_lends(const struct goal_send *send)
{
	return send->run && send->kind != GOAL_SEND_SMALL && !send->staged;
}

static void put_header(const struct goal_send *send, uint64_t offset, uint32_t bytes,
		       struct wire_goal *wire)
{
	memset(wire, 0, sizeof(*wire));
	wire->type = send->type;
	wire->instance = be32_put(send->key.instance);
	wire->tag = be32_put(send->key.tag);
	wire->count = be32_put(send->key.count);
	wire->bytes = be64_put(send->bytes);
	wire->offset = be64_put(send->type == WIRE_GOAL_ABORT ? send->room_bytes : offset);
	wire->sink = be32_put(send->sink);
	wire->piece_bytes = be32_put(bytes);
}

int goal_msg_fill(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i, uint32_t max,
		  struct fw_tx_frame *frame, uint32_t hdr_offset)
{
	struct goal_send *send = goal_send_of(xfer);
	struct wire_goal *wire = (struct wire_goal *)(void *)(frame->hdr + hdr_offset);
	bool carries = send->type == WIRE_GOAL_EAGER || send->type == WIRE_GOAL_DATA;
	uint64_t offset = carries ? (uint64_t)i * send->piece_bytes : 0;
	uint64_t left = carries ? send->bytes - offset : 0;
	uint32_t bytes = left < send->piece_bytes ? (uint32_t)left : send->piece_bytes;

	(void)ctx;
	assert(sizeof(*wire) + bytes <= max);
	put_header(send, offset, bytes, wire);
	eth_tx_hdr(frame, hdr_offset, sizeof(*wire), 0);
	if (!add_payload(nic, send, offset, bytes, frame)) {
		if (send->run)
			goal_run_fault(nic, send->run, HW_GOAL_MEMORY, send->run->comm->rank,
				       send->op);
		return -FW_EFAULT;
	}
	if (goal_msg_lends(send))
		frame->flags |= FW_TX_F_BORROW;
	return (int)(sizeof(*wire) + bytes);
}

/* A fault is found when the packets are sent one by one. */
bool goal_msg_fill_run(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i,
		       uint32_t packets, struct fw_tx_frame *frame, uint32_t hdr_offset)
{
	struct goal_send *send = goal_send_of(xfer);
	uint64_t offset = (uint64_t)i * send->piece_bytes, left = send->bytes - offset;
	uint64_t whole = (uint64_t)packets * send->piece_bytes;

	(void)ctx;
	if (!goal_msg_lends(send))
		return false;
	put_header(send, offset, send->piece_bytes,
		   (struct wire_goal *)(void *)(frame->hdr + hdr_offset));
	eth_tx_hdr_more(frame, sizeof(struct wire_goal));
	frame->run_bytes = (uint16_t)send->piece_bytes;
	frame->flags |= FW_TX_F_BORROW;
	return add_payload(nic, send, offset, (uint32_t)(left < whole ? left : whole), frame);
}

/* ---- headers of runs ------------------------------------------------------------------------- */

/* The headers as they lie in a frame. */
struct run_hdr {
	struct wire_eth eth;
	struct wire_edp edp;
	struct wire_esp esp;
	struct wire_goal goal;
};
static_assert(offsetof(struct run_hdr, goal) == ESP_HDR_BYTES, "no padding");
static_assert(sizeof(struct run_hdr) <= FW_TX_HDR_BYTES, "headers fit the frame");

static void goal_msg_run_packet(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	struct run_hdr *h = (void *)hdr;
	uint32_t less = eth_run_less_bytes(i, run);

	h->edp.bytes = be16_put((uint16_t)(be16_get(h->edp.bytes) - less));
	h->esp.seq = be32_put(be32_get(h->esp.seq) + i);
	if (i)
		h->esp.flags &= (uint8_t)~WIRE_ESP_TXS;
	if (i + 1 < run->packets)
		h->esp.flags &= (uint8_t) ~(WIRE_ESP_TXR | WIRE_ESP_TXF);
	h->goal.offset = be64_put(be64_get(h->goal.offset) + (uint64_t)i * run->segment_bytes);
	h->goal.piece_bytes = be32_put(be32_get(h->goal.piece_bytes) - less);
}

static void goal_msg_run_step(uint8_t *hdr, uint32_t segment_bytes)
{
	struct run_hdr *h = (void *)hdr;

	h->esp.seq = be32_put(be32_get(h->esp.seq) + 1);
	h->goal.offset = be64_put(be64_get(h->goal.offset) + segment_bytes);
}

const struct eth_run_kind goal_msg_run_kind = {
    .least_bytes = sizeof(struct run_hdr),
    .front_at = offsetof(struct run_hdr, edp),
    .back_at = offsetof(struct run_hdr, esp),
    .packet = goal_msg_run_packet,
    .step = goal_msg_run_step,
};
