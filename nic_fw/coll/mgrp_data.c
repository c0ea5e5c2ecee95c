/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of a root: from the process's memory into the ring, and to all members, singly and as
 * runs (net/eth_run.c).
 *
 * Packets that leave together lie in one block of the ring, payload behind payload, so that they
 * are one piece of a frame, and of its copies. Ports read a run in the ring (FW_TX_F_BORROW), which
 * is settled before the block is freed. Each packet of a run keeps its number, and every rule of
 * groups holds for it; repairs are single frames. Calls edp.c, goal_buf.c. docs/wire-group.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	OVERHEAD = sizeof(struct wire_edp) + sizeof(struct wire_mgrp) + sizeof(struct wire_goal) +
		   WIRE_EDP_CRC_BYTES,
};

/* ---- blocks --------------------------------------------------------------------------------- */

/* Returns the payload of a packet, and its header in *wire. */
static const uint8_t *mgrp_data_payload(const struct mgrp_slot *slot, struct wire_goal *wire)
{
	memcpy(wire, slot->block, sizeof(*wire));
	if (slot->at) {
		uint64_t skip = (uint64_t)slot->at * be32_get(wire->piece_bytes);

		wire->offset = be64_put(be64_get(wire->offset) + skip);
		wire->piece_bytes = be32_put(slot->bytes - (uint32_t)sizeof(*wire));
		return slot->block + sizeof(*wire) + skip;
	}
	return slot->block + sizeof(*wire);
}

void mgrp_data_show(const struct mgrp_slot *slot, struct wire_goal *wire, struct fw_rx_frame *frame)
{
	const uint8_t *payload = mgrp_data_payload(slot, wire);

	*frame = (struct fw_rx_frame){
	    .seg = {{(const uint8_t *)wire, sizeof(*wire)},
		    {payload, slot->bytes - (uint32_t)sizeof(*wire)}},
	    .num_seg = 2,
	    .bytes = slot->bytes,
	};
}

void mgrp_data_keep(const struct fw_nic *nic, struct mgrp_space *space, uint32_t psn,
		    uint8_t *block, uint32_t n, uint32_t bytes)
{
	uint32_t left = bytes - (uint32_t)sizeof(struct wire_goal), i;
	uint32_t segment = be32_get(((const struct wire_goal *)(const void *)block)->piece_bytes);

	for (i = 0; i < n; i++) {
		struct mgrp_slot *slot = mgrp_slot(space, psn + i);
		uint32_t payload = i + 1 < n ? segment : left;

		slot->block = block;
		slot->at = (uint8_t)i;
		slot->ends = i + 1 == n;
		slot->lent = false;
		slot->repaired = false;
		slot->sent_ns = nic->now_ns;
		slot->bytes = (uint32_t)sizeof(struct wire_goal) + payload;
		space->ring_bytes += slot->bytes;
		left -= payload;
	}
}

void mgrp_data_put(struct fw_nic *nic, const struct mgrp_space *space, const struct mgrp_slot *slot,
		   uint32_t bytes, struct fw_tx_frame *frame)
{
	struct wire_goal *wire = (struct wire_goal *)(void *)(frame->hdr + MGRP_HDR_BYTES);
	const uint8_t *payload = mgrp_data_payload(slot, wire);

	eth_tx_hdr_more(frame, sizeof(*wire));
	if (!bytes)
		return;
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = payload,
	    .bytes = bytes,
	    .client = nic->goal.comms[space->comm].client,
	    .kind = FW_TX_MEM,
	};
}

/*
 * Reads up to bytes of the message: fewer where its buffer is in so many pieces that their copies
 * would take more than a turn. Returns their number; 0: memory is not there, or not now.
 */
static uint32_t read_some(struct fw_nic *nic, struct goal_send *send, uint8_t *dst, uint32_t bytes)
{
	struct goal_cursor *cursor = &send->cursor;
	uint64_t start = cursor->offset;
	uint32_t done = 0, n = 0;

	while (done < bytes && !(n && fw_dear_spent(nic))) {
		struct goal_span span;

		if (!goal_cursor_next(nic, send->run, cursor, bytes - done, 0, &span) ||
		    !mem_read(nic, &span.mem, 0, dst + done, (uint32_t)span.bytes)) {
			goal_cursor_seek(send->run->schedule, cursor, start);
			return 0;
		}
		done += (uint32_t)span.bytes;
		if (++n % FW_DEAR_STRETCHES == 0)
			fw_dear_add(nic, 1);
	}
	return done;
}

/*
 * Copies up to n packets of room bytes of the message into a block. Returns the bytes of payload in
 * it, of whole packets where they are more than one; the block is *block. NULL: no memory for it.
 * Returns 0, and the block is freed: memory of the process is not there, or not now.
 */
static uint32_t fill_block(struct fw_nic *nic, struct goal_send *send, uint32_t n, uint32_t room,
			   uint8_t **block)
{
	uint64_t offset = send->cursor.offset, left = send->bytes - offset;
	uint32_t bytes = left < n * room ? (uint32_t)left : n * room, got;
	struct wire_goal *wire;

	*block = goal_heap_alloc(nic, send->run->client, sizeof(*wire) + bytes);
	if (!*block)
		return 0;
	wire = (struct wire_goal *)(void *)*block;
	memset(wire, 0, sizeof(*wire));
	wire->type = WIRE_GOAL_EAGER;
	wire->instance = be32_put(send->key.instance);
	wire->tag = be32_put(send->key.tag);
	wire->count = be32_put(send->key.count);
	wire->bytes = be64_put(send->bytes);
	wire->offset = be64_put(offset);
	got = bytes ? read_some(nic, send, *block + sizeof(*wire), bytes) : 0;
	if (bytes && !got) {
		goal_heap_free(nic, send->run->client, *block);
		return 0;
	}
	if (got < bytes && got > room) {
		got -= got % room;
		goal_cursor_seek(send->run->schedule, &send->cursor, offset + got);
	}
	wire->piece_bytes = be32_put(got < room ? got : room);
	return got;
}

/* ---- the next packets ----------------------------------------------------------------------- */

bool mgrp_data_is_next(const struct mgrp_space *space)
{
	return !fw_list_empty(&space->queue) && space->next - space->low < MGRP_WINDOW &&
	       space->ring_bytes < MGRP_WINDOW_BYTES && !space->slow;
}

static uint32_t mgrp_data_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Returns how many packets the next run has at most. The rest of a message is divided evenly: two
 * runs that are shorter than a burst (FW_BURST) are taken in one turn.
 */
static uint32_t even_length(uint64_t left, uint32_t room)
{
	uint64_t packets = (left - 1) / room + 1;
	uint32_t most = mgrp_data_least(FW_RUN_BYTES / room, FW_RUN_MAX);
	uint64_t runs = (packets - 1) / most + 1;

	return (uint32_t)((packets - 1) / runs + 1);
}

/* Returns how many of the next packets, of room bytes, may leave as a run; 1: none. */
static uint32_t mgrp_data_run_length(struct fw_nic *nic, const struct mgrp_space *space,
				     const struct goal_send *send, uint32_t room, uint32_t units)
{
	const struct goal_comm *comm = &nic->goal.comms[space->comm];
	uint64_t left = send->bytes - send->cursor.offset;
	uint32_t whole = (uint32_t)sizeof(struct wire_goal) + room, n;

	if (!nic->port.tx_run || left <= room)
		return 1;
	n = mgrp_data_least(even_length(left, room), units * ETH_TX_UNIT_BYTES / room);
	n = mgrp_data_least(n, MGRP_WINDOW - (space->next - space->low));
	/* As many as would leave one by one. */
	n = mgrp_data_least(n, (MGRP_WINDOW_BYTES - 1 - space->ring_bytes) / whole + 1);
	n = mgrp_data_least(n, nic->net.tx_allow / (uint32_t)(space->to_wire + space->to_loop));
	if (n > 1 && space->to_wire)
		n = mgrp_data_least(n, nic->port.tx_run(nic->port.ctx, comm->group.mac));
	if (n > 1 && space->to_loop)
		n = mgrp_data_least(n, nic->port.tx_run(nic->port.ctx, nic->config.mac));
	return n ? n : 1;
}

/*
 * Copies the next packets of the first message into the ring, up to n. Returns how many; 0: not
 * now, or not at all.
 */
static uint32_t make_packets(struct fw_nic *nic, struct mgrp_space *space, struct goal_send *send,
			     uint32_t n, uint32_t room)
{
	struct goal_run *run = send->run;
	uint8_t *block;
	uint32_t got = fill_block(nic, send, n, room, &block);

	/* The first packet of a run that cannot be made may be. */
	if (n > 1 && !got) {
		n = 1;
		got = fill_block(nic, send, n, room, &block);
	}
	if (!block) {
		/* Acknowledgements will free memory; if none are due, memory will not come. */
		if (space->low == space->next)
			goal_run_fault(nic, run, HW_GOAL_RESOURCES, run->comm->rank, send->op);
		return 0;
	}
	if (got || !send->bytes) {
		n = got ? (got - 1) / room + 1 : 1;
		mgrp_data_keep(nic, space, space->next, block, n,
			       (uint32_t)sizeof(struct wire_goal) + got);
		return n;
	}
	space->slow = nic->host.mem_busy;
	if (space->slow)
		goal_slow_comm(nic, run->comm, NULL);
	else
		goal_run_fault(nic, run, HW_GOAL_MEMORY, run->comm->rank, send->op);
	return 0;
}

/*
 * Sends n packets of a block, from psn on, to the wire, or (loop) to the ranks on this NIC. Without
 * room in the port they are lost like any other.
 */
static void send_data(struct fw_nic *nic, struct mgrp_space *space, uint32_t psn, uint32_t n,
		      bool loop)
{
	const struct goal_comm *comm = &nic->goal.comms[space->comm];
	const struct mgrp_slot *slot = mgrp_slot(space, psn);
	uint32_t segment = slot->bytes - (uint32_t)sizeof(struct wire_goal);
	uint32_t end = mgrp_slot(space, psn + n - 1)->bytes - (uint32_t)sizeof(struct wire_goal);
	struct wire_mgrp *wire;
	struct fw_tx_frame *frame =
	    mgrp_tx_begin(nic, space, comm->group.mac, 0, WIRE_MGRP_DATA, WIRE_MGRP_ALL, &wire);

	if (!frame)
		return;
	if (loop)
		frame->flags |= FW_TX_LOOP;
	wire->psn = be32_put(psn);
	mgrp_data_put(nic, space, slot, (n - 1) * segment + end, frame);
	if (n > 1) {
		frame->run = (uint16_t)n;
		frame->run_bytes = (uint16_t)segment;
		frame->flags |= FW_TX_F_BORROW;
		mgrp_slot(space, psn + n - 1)->lent = true;
	}
	(void)edp_tx_end(nic, frame, false);
	if (!loop)
		FW_ADD(nic, mgrp_tx_data, n);
}

bool mgrp_data_send(struct fw_nic *nic, struct mgrp_space *space, uint32_t units)
{
	uint32_t room = space->frame_bytes - (uint32_t)OVERHEAD, n;
	struct goal_send *send;

	if (!mgrp_data_is_next(space) || eth_tx_room(nic) < 2)
		return false;
	send = FW_CONTAINER(space->queue.next, struct goal_send, link_node);
	n = make_packets(nic, space, send, mgrp_data_run_length(nic, space, send, room, units),
			 room);
	/* Memory comes back with acknowledgements; a run with a fault ends in its own step. */
	if (!n)
		return false;
	if (space->to_wire)
		send_data(nic, space, space->next, n, false);
	if (space->to_loop)
		send_data(nic, space, space->next, n, true);
	space->next += n;
	space->high = space->requested = space->next;
	if (send->cursor.offset == send->bytes) {
		struct goal_run *run = send->run;
		uint32_t op = send->op;

		goal_send_free(nic, send);
		goal_run_trace(nic, run, HW_GOAL_POINT_MSG_SENT, op);
		goal_step_finish_op(nic, run, op);
	}
	mgrp_taken(nic, space);
	mgrp_advance(nic, space);
	return true;
}

/* ---- headers of runs ------------------------------------------------------------------------- */

/* The headers as they lie in a frame. */
struct run_hdr {
	struct wire_eth eth;
	struct wire_edp edp;
	struct wire_mgrp mgrp;
	struct wire_goal goal;
};
static_assert(offsetof(struct run_hdr, goal) == MGRP_HDR_BYTES, "no padding");
static_assert(sizeof(struct run_hdr) <= FW_TX_HDR_BYTES, "headers fit the frame");

static void mgrp_data_run_packet(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	struct run_hdr *h = (void *)hdr;
	uint32_t less = eth_run_less_bytes(i, run);

	h->edp.bytes = be16_put((uint16_t)(be16_get(h->edp.bytes) - less));
	h->mgrp.psn = be32_put(be32_get(h->mgrp.psn) + i);
	h->goal.offset = be64_put(be64_get(h->goal.offset) + (uint64_t)i * run->segment_bytes);
	h->goal.piece_bytes = be32_put(be32_get(h->goal.piece_bytes) - less);
}

static void mgrp_data_run_step(uint8_t *hdr, uint32_t segment_bytes)
{
	struct run_hdr *h = (void *)hdr;

	h->mgrp.psn = be32_put(be32_get(h->mgrp.psn) + 1);
	h->goal.offset = be64_put(be64_get(h->goal.offset) + segment_bytes);
}

const struct eth_run_kind mgrp_data_run_kind = {
    .least_bytes = sizeof(struct run_hdr),
    .front_at = offsetof(struct run_hdr, edp),
    .back_at = offsetof(struct run_hdr, mgrp.psn),
    .packet = mgrp_data_run_packet,
    .step = mgrp_data_run_step,
};
