/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable groups, receiving: delivers each packet to each local member in order, and notes the
 * missing ones.
 *
 * Calls goal_group.c with packets in order; the CRC of a frame was checked before. The ring holds
 * packets that come early, packets that come while the layer above is full, and packets that
 * children may request. A member takes a run (net/eth_run.c) as one packet if nothing is missing
 * before it and all of it finds room, and packet by packet otherwise. A frame is accepted only if
 * its sender can know its contents: stations, neighbourhood in the tree and the window are checked.
 * docs/wire-group.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	EDP_OFFSET = sizeof(struct wire_eth),
	MGRP_OFFSET = EDP_OFFSET + sizeof(struct wire_edp),
	DATA_OFFSET = MGRP_OFFSET + sizeof(struct wire_mgrp),
};

/* A frame in host order. */
struct group_in {
	const struct fw_rx_frame *frame;
	const struct wire_eth *eth;
	uint32_t bytes; /* of wire_goal and payload */
	uint8_t type;
	uint16_t mtu;
	uint32_t root, src, dst;
	uint32_t epoch, base, psn, own, from, from2;
	uint64_t missing;
};

/* ---- the ring ------------------------------------------------------------------------------- */

static void copy_block(const struct group_in *in, uint8_t *block)
{
	struct eth_cursor cursor;

	eth_cursor_init(&cursor, in->frame, DATA_OFFSET, in->bytes);
	eth_cursor_copy(&cursor, block, in->bytes);
}

/* Copies a packet into the ring. False: no memory. */
static bool mgrp_rx_store(struct fw_nic *nic, struct mgrp_space *space, const struct group_in *in)
{
	const struct mgrp_slot *slot = mgrp_slot(space, in->psn);
	uint8_t *block;

	block = goal_heap_alloc(nic, space->client, in->bytes);
	if (!block) {
		FW_DROP(nic, drop_mgrp_no_memory);
		return false;
	}
	copy_block(in, block);
	mgrp_data_keep(nic, space, in->psn, block, 1, in->bytes);
	if (slot->wanted) {
		space->wanted = 1;
		mgrp_ready(nic, space);
	}
	return true;
}

/* The packet exists, but found no room: it is requested again after a while. */
static void miss(struct fw_nic *nic, struct mgrp_space *space)
{
	space->requested = space->high;
	space->request_ns = nic->now_ns;
	mgrp_timer_update(nic, space);
}

static void know_of(struct mgrp_space *space, uint32_t end)
{
	if (seq_lt(space->high, end) && end - space->low <= MGRP_WINDOW)
		space->high = end;
}

/* A new gap is requested at the end of this turn. */
static void look_for_gaps(struct fw_nic *nic, struct mgrp_space *space)
{
	if (seq_lt(space->requested, space->next))
		space->requested = space->next;
	while (seq_lt(space->requested, space->high) && mgrp_slot(space, space->requested)->block)
		space->requested++;
	if (seq_lt(space->requested, space->high))
		mgrp_owe(nic, space, true);
}

/* ---- in order ------------------------------------------------------------------------------- */

/* Delivers the packet next, from a frame. False: the layer above has no room. */
static bool mgrp_rx_deliver(struct fw_nic *nic, struct mgrp_space *space,
			    const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	struct goal_comm *comm = &nic->goal.comms[space->comm];

	if (goal_group_receive(nic, comm, space->root, frame, offset, bytes) == ESP_FULL) {
		space->blocked = true;
		if (!fw_list_linked(&space->blocked_node))
			fw_list_add_tail(&comm->group.blocked, &space->blocked_node);
		return false;
	}
	FW_COUNT(nic, mgrp_rx_packets);
	space->next++;
	return true;
}

static void deliver_ring(struct fw_nic *nic, struct mgrp_space *space)
{
	while (seq_lt(space->next, space->high)) {
		const struct mgrp_slot *slot = mgrp_slot(space, space->next);
		struct fw_rx_frame frame;
		struct wire_goal wire;

		if (!slot->block)
			return;
		mgrp_data_show(slot, &wire, &frame);
		if (!mgrp_rx_deliver(nic, space, &frame, 0, slot->bytes))
			return;
	}
}

void mgrp_deliver(struct fw_nic *nic, struct mgrp_space *space)
{
	if (!space->blocked)
		return;
	fw_list_del(&space->blocked_node);
	space->blocked = false;
	deliver_ring(nic, space);
	look_for_gaps(nic, space);
	mgrp_taken(nic, space);
	mgrp_advance(nic, space);
}

/* Takes the awaited packet. False: there is no memory to keep it. */
static bool mgrp_rx_take(struct fw_nic *nic, struct mgrp_space *space, const struct group_in *in)
{
	bool keep = mgrp_keeps(space);

	if (keep && !mgrp_rx_store(nic, space, in))
		return false;
	if (!mgrp_rx_deliver(nic, space, in->frame, DATA_OFFSET, in->bytes))
		return keep || mgrp_rx_store(nic, space, in);
	deliver_ring(nic, space);
	return true;
}

/* A repair has come: others of the same request follow. */
static void answered(const struct fw_nic *nic, struct mgrp_space *space)
{
	if (space->requesting && !space->retries)
		fw_rtt_sample(&space->request_rtt, nic->now_ns - space->request_ns);
	space->requesting = false;
	space->retries = 0;
	space->request_ns = nic->now_ns;
}

static void mgrp_rx_packet(struct fw_nic *nic, struct mgrp_space *space, const struct group_in *in)
{
	bool stored;

	if (in->type == WIRE_MGRP_REPAIR) {
		FW_COUNT(nic, mgrp_rx_repairs);
		answered(nic, space);
	} else {
		FW_COUNT(nic, mgrp_rx_data);
	}
	if (seq_lt(in->psn, space->next) ||
	    (in->psn - space->low < MGRP_WINDOW && mgrp_slot(space, in->psn)->block)) {
		FW_COUNT(nic, mgrp_rx_duplicates);
		return;
	}
	if (in->psn - space->low >= MGRP_WINDOW) {
		FW_DROP(nic, drop_mgrp_window);
		return;
	}
	know_of(space, in->psn + 1);
	if (in->psn == space->next && !space->blocked)
		stored = mgrp_rx_take(nic, space, in);
	else
		stored = mgrp_rx_store(nic, space, in);
	if (!stored)
		miss(nic, space);
	look_for_gaps(nic, space);
	mgrp_taken(nic, space);
	mgrp_advance(nic, space);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* True if the run is all that is new, and its headers are those of a message in such pieces. */
static bool mgrp_rx_is_next(const struct mgrp_space *space, const struct group_in *in)
{
	const struct wire_goal *wire = (const void *)(in->frame->seg[0].data + DATA_OFFSET);

	return space->known && space->epoch == in->epoch && space->base == in->base &&
	       in->psn == space->next && space->high == space->next && !space->blocked &&
	       space->next + in->frame->run - space->low <= MGRP_WINDOW &&
	       be32_get(wire->piece_bytes) == in->frame->run_bytes;
}

/* Takes a run as one packet. False: nothing was done, its packets are taken one by one. */
static bool take_run(struct fw_nic *nic, struct mgrp_space *space, const struct group_in *in)
{
	struct goal_comm *comm = &nic->goal.comms[space->comm];
	uint32_t n = in->frame->run;
	uint8_t *block = NULL;

	if (mgrp_keeps(space)) {
		block = goal_heap_alloc(nic, space->client, in->bytes);
		if (!block)
			return false;
	}
	if (goal_group_receive(nic, comm, space->root, in->frame, DATA_OFFSET, in->bytes) ==
	    ESP_FULL) {
		goal_heap_free(nic, space->client, block);
		return false;
	}
	if (block) {
		copy_block(in, block);
		mgrp_data_keep(nic, space, in->psn, block, n, in->bytes);
	}
	FW_ADD(nic, mgrp_rx_data, n);
	FW_ADD(nic, mgrp_rx_packets, n);
	space->next += n;
	space->high = space->next;
	mgrp_taken(nic, space);
	mgrp_advance(nic, space);
	return true;
}

/* ---- packets of neighbours ------------------------------------------------------------------ */

/* A child requests packets: available ones are sent in this turn, others when they come. */
static void asked_for(struct fw_nic *nic, struct mgrp_space *space, uint32_t child,
		      const struct group_in *in)
{
	bool is_root = space->parent == FW_NONE;
	uint32_t i;

	FW_COUNT(nic, mgrp_rx_nacks);
	for (i = 0; i < WIRE_MGRP_MISSING; i++) {
		uint32_t psn = in->from + i;

		if (!(in->missing >> i & 1) || seq_lt(psn, space->child[child].own) ||
		    psn - space->low >= MGRP_WINDOW || (is_root && !seq_lt(psn, space->next)))
			continue;
		know_of(space, psn + 1);
		mgrp_slot(space, psn)->wanted |= UINT32_C(1) << child;
		if (!mgrp_slot(space, psn)->block)
			continue;
		space->wanted = 1;
		mgrp_ready(nic, space);
	}
}

/*
 * A child that is held back, by a program that computes, answers each probe and has nothing new. It
 * reports by itself when it goes on, so it is asked ever more rarely: if that report is lost, the
 * wait at most doubles.
 */
static void count_answer(struct mgrp_child *child, const struct group_in *in)
{
	if (seq_lt(child->own, in->own) || seq_lt(child->ack, in->psn) || in->missing)
		child->answers = 0;
	else if (child->probes && child->answers < UINT8_MAX)
		child->answers++;
	child->probes = 0;
}

static void rx_status(struct fw_nic *nic, struct mgrp_space *space, const struct group_in *in)
{
	bool is_root = space->parent == FW_NONE;
	struct mgrp_child *child = space->child;
	uint32_t limit = is_root ? space->next - space->low : MGRP_WINDOW;
	bool probed, waited;

	while (child < space->child + space->num_children && child->rank != in->src)
		child++;
	/* The acknowledgement is late: a later one arrived before it. */
	if (child == space->child + space->num_children || child->gone ||
	    in->own - space->low > limit || seq_lt(in->own, in->psn)) {
		FW_COUNT(nic, mgrp_statuses_stale);
		return;
	}
	FW_COUNT(nic, mgrp_rx_statuses);
	if (in->mtu)
		child->mtu = in->mtu;
	probed = child->probes;
	waited = child->probes || child->answers;
	count_answer(child, in);
	if (seq_lt(child->own, in->own)) {
		const struct mgrp_slot *slot = mgrp_slot(space, in->own - 1);

		child->own = in->own;
		if (slot->block && !slot->repaired && !probed)
			fw_rtt_sample(&space->rtt, nic->now_ns - slot->sent_ns);
		know_of(space, in->own);
	}
	if (seq_lt(child->ack, in->psn))
		child->ack = in->psn;
	child->from_ns = nic->now_ns;
	/* Its wait is a short one again; the timer may be set to the end of a long one. */
	if (waited)
		mgrp_timer_update(nic, space);
	if (in->missing)
		asked_for(nic, space, (uint32_t)(child - space->child), in);
	if (!is_root)
		look_for_gaps(nic, space);
	mgrp_advance(nic, space);
}

static void rx_probe(struct fw_nic *nic, struct mgrp_space *space, const struct group_in *in)
{
	FW_COUNT(nic, mgrp_rx_probes);
	know_of(space, in->psn);
	mgrp_owe(nic, space, true);
}

/* ---- members -------------------------------------------------------------------------------- */

static bool is_from(const struct goal_comm *comm, uint32_t rank, const struct group_in *in)
{
	return rank < comm->num_ranks && rank == in->src &&
	       !memcmp(comm->peers[rank].mac, in->eth->src, WIRE_MAC_BYTES);
}

/* True if the frame is for this member; determines its sender. */
static bool is_for(const struct goal_comm *comm, const struct group_in *in)
{
	if (in->root >= comm->num_ranks)
		return false;
	switch ((enum wire_mgrp_type)in->type) {
	case WIRE_MGRP_DATA:
		return in->root != comm->rank && is_from(comm, in->root, in);
	case WIRE_MGRP_REPAIR:
	case WIRE_MGRP_PROBE:
		return in->dst == comm->rank &&
		       is_from(comm, mgrp_parent(comm->num_ranks, in->root, comm->rank), in);
	case WIRE_MGRP_STATUS:
		return in->dst == comm->rank && is_from(comm, in->src, in);
	case WIRE_MGRP_ASK:
	case WIRE_MGRP_TELL:
		return in->dst == comm->rank && in->src != comm->rank && in->root == in->src &&
		       is_from(comm, in->src, in);
	case WIRE_MGRP_TYPES:
		break;
	}
	return false;
}

/* True: a packet of the communicator itself, of none of its spaces. */
static bool is_note(const struct group_in *in)
{
	return in->type == WIRE_MGRP_ASK || in->type == WIRE_MGRP_TELL;
}

static void rx_note(struct fw_nic *nic, struct goal_comm *comm, const struct group_in *in)
{
	const struct mgrp_note note = {
	    .type = in->type,
	    .moves = in->mtu != 0,
	    .rank = in->src,
	    .question = in->epoch,
	    .instance = in->base,
	    .changes = in->base,
	    .held = (uint64_t)in->own << 32 | in->psn,
	    .stops = (uint64_t)in->from2 << 32 | in->from,
	    .ranks = in->missing,
	};

	goal_circle_rx(nic, comm, &note);
}

/* Nothing was delivered under the space's epoch, so the epoch may be an old one. */
static void begin_anew(struct fw_nic *nic, struct mgrp_space *space, const struct group_in *in)
{
	for (; space->known && seq_lt(space->low, space->high); space->low++)
		mgrp_free_block(nic, space, mgrp_slot(space, space->low));
	mgrp_adopt(space, in->epoch, in->base);
}

/* Finds the space of a frame; NULL: none, and the frame is dropped. */
static struct mgrp_space *space_of(struct fw_nic *nic, struct goal_comm *comm,
				   const struct group_in *in)
{
	struct mgrp_space *space = mgrp_space_find(nic, comm, in->root);

	if (!space && in->type != WIRE_MGRP_STATUS && !comm->closing) {
		space = mgrp_space_get(nic, comm, in->root);
		if (!space)
			FW_DROP(nic, drop_mgrp_no_memory);
	}
	if (!space)
		return NULL;
	if (space->known && space->epoch == in->epoch && space->base == in->base)
		return space;
	if (in->type == WIRE_MGRP_STATUS || (space->known && space->next != space->base) ||
	    space->blocked) {
		FW_DROP(nic, drop_mgrp_epoch);
		return NULL;
	}
	begin_anew(nic, space, in);
	return space;
}

static void rx_member(struct fw_nic *nic, struct goal_comm *comm, const struct group_in *in)
{
	struct mgrp_space *space;

	if (is_note(in)) {
		rx_note(nic, comm, in);
		return;
	}
	space = space_of(nic, comm, in);
	if (!space)
		return;
	switch ((enum wire_mgrp_type)in->type) {
	case WIRE_MGRP_DATA:
	case WIRE_MGRP_REPAIR:
		mgrp_rx_packet(nic, space, in);
		return;
	case WIRE_MGRP_STATUS:
		rx_status(nic, space, in);
		return;
	case WIRE_MGRP_PROBE:
		rx_probe(nic, space, in);
		return;
	case WIRE_MGRP_ASK:
	case WIRE_MGRP_TELL:
	case WIRE_MGRP_TYPES:
		break;
	}
}

/* False: the frame is malformed. */
static bool mgrp_rx_parse(const struct fw_rx_frame *frame, uint32_t bytes, struct group_in *in)
{
	const struct wire_mgrp *wire =
	    (const struct wire_mgrp *)(const void *)(frame->seg[0].data + MGRP_OFFSET);
	bool data;

	if (bytes < sizeof(struct wire_edp) + sizeof(*wire) || frame->seg[0].bytes < DATA_OFFSET)
		return false;
	in->frame = frame;
	in->eth = (const struct wire_eth *)frame->seg[0].data;
	in->bytes = bytes - (uint32_t)(sizeof(struct wire_edp) + sizeof(*wire));
	in->type = wire->type;
	in->mtu = be16_get(wire->mtu);
	in->root = be32_get(wire->root);
	in->src = be32_get(wire->src_rank);
	in->dst = be32_get(wire->dst_rank);
	in->epoch = be32_get(wire->epoch);
	in->base = be32_get(wire->base);
	in->psn = be32_get(wire->psn);
	in->own = be32_get(wire->own);
	in->from = be32_get(wire->from);
	in->from2 = be32_get(wire->from2);
	in->missing = be64_get(wire->missing);
	data = in->type == WIRE_MGRP_DATA || in->type == WIRE_MGRP_REPAIR;
	/* Only data for all members go to the group's address. */
	return (in->eth->dst[0] & 1) == (in->type == WIRE_MGRP_DATA) &&
	       (data ? in->bytes >= sizeof(struct wire_goal) : !in->bytes);
}

/* Packets of a run have the fate of those that come one by one. */
static void rx_run(struct fw_nic *nic, struct goal_comm *comm, const struct group_in *in)
{
	struct mgrp_space *space = mgrp_space_find(nic, comm, in->root);
	uint8_t hdr[FW_RX_HDR_BYTES];
	struct fw_rx_frame packet;
	struct group_in one;
	uint32_t i;

	if (space && mgrp_rx_is_next(space, in) && take_run(nic, space, in))
		return;
	for (i = 0; i < in->frame->run; i++) {
		eth_run_cut(in->frame, i, hdr, &packet);
		if (mgrp_rx_parse(&packet, packet.bytes - EDP_OFFSET - WIRE_EDP_CRC_BYTES, &one))
			rx_member(nic, comm, &one);
	}
}

bool mgrp_wants(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const struct wire_mgrp *wire =
	    (const struct wire_mgrp *)(const void *)(frame->seg[0].data + MGRP_OFFSET);

	return frame->seg[0].bytes >= DATA_OFFSET &&
	       mgrp_first_member(nic, be64_get(wire->key), be64_get(wire->key2));
}

void mgrp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t bytes)
{
	const struct wire_mgrp *wire =
	    (const struct wire_mgrp *)(const void *)(frame->seg[0].data + MGRP_OFFSET);
	struct goal_comm *comm, *next;
	struct group_in in;
	bool wanted = false;

	if (!mgrp_rx_parse(frame, bytes, &in)) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	for (comm = mgrp_first_member(nic, be64_get(wire->key), be64_get(wire->key2)); comm;
	     comm = next) {
		next = mgrp_next_member(nic, comm);
		if (!is_for(comm, &in))
			continue;
		wanted = true;
		if (__builtin_expect(frame->run > 1, 0))
			rx_run(nic, comm, &in);
		else
			rx_member(nic, comm, &in);
	}
	if (!wanted) {
		FW_DROP(nic, drop_mgrp_no_member);
		return;
	}
	nic->net.run_taken = frame->run;
}
