/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incoming messages, and the receives that take them.
 *
 * esp_rx.c delivers each packet of a stream in order. Payload goes straight into the receive's
 * buffer, or into the pool while no receive waits for it. Nothing from a peer is trusted: lengths,
 * offsets and sinks are compared with the receive's own. Calls goal_match.c, goal_buf.c and
 * goal_step.c. ESPGOAL 4.2.2; docs/collectives.md "Messages".
 */
#include "nic_fw/fw_nic.h"

/* A packet's header in host order. */
struct msg_in {
	struct goal_link *link; /* NULL: a multicast */
	struct goal_comm *comm;
	struct goal_key4 key;
	uint8_t type;
	uint64_t bytes, offset;
	uint32_t sink;
	uint32_t piece_bytes;
	struct eth_cursor payload;
	bool later; /* the turn has done enough */
};

/*
 * Accepts a stream only from the station that the communicator lists for the rank, and only once.
 */
bool goal_msg_expects(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac)
{
	const struct goal_comm *comm = goal_comm_find(nic, key->key, key->key2, key->local);

	return comm && !comm->closing && key->remote < comm->num_ranks &&
	       key->remote != comm->rank && comm->links[key->remote] == FW_NONE &&
	       !memcmp(comm->peers[key->remote].mac, mac, WIRE_MAC_BYTES) &&
	       esp_may(nic, comm->client);
}

void *goal_msg_accept(struct fw_nic *nic, const struct esp_key *key, struct esp_stream *stream)
{
	struct goal_comm *comm = goal_comm_find(nic, key->key, key->key2, key->local);

	return comm && !comm->closing ? goal_link_accept(nic, comm, key->remote, stream) : NULL;
}

/* ---- placement ------------------------------------------------------------------------------- */

/* True if writes to the receive's buffer may be dear: not mapped, or in pieces. */
static bool goal_msg_rx_is_dear(const struct goal_recv *recv)
{
	return recv->run->unmapped ||
	       GOAL_REF_SLOT(recv->run->schedule->ops[recv->op].buf[0]) == GOAL_SLOT_PIECES;
}

/* Writes n bytes at the receive's cursor, or the first of them. False: as below. */
static bool place_some(struct fw_nic *nic, struct goal_recv *recv, struct msg_in *in,
		       const uint8_t *data, uint32_t n, uint32_t *stretches)
{
	bool dear = goal_msg_rx_is_dear(recv);
	struct goal_span span;

	for (; n; data += span.bytes, n -= (uint32_t)span.bytes) {
		uint64_t offset = recv->cursor.offset;

		in->later = dear && fw_dear_waits(nic, recv->run->unmapped);
		if (in->later || !goal_cursor_next(nic, recv->run, &recv->cursor, n,
						   HW_ACCESS_LOCAL_WRITE, &span))
			return false;
		if (!goal_take_put(nic, recv->run, recv->op, &span.mem, data,
				   (uint32_t)span.bytes)) {
			goal_cursor_seek(recv->run->schedule, &recv->cursor, offset);
			return false;
		}
		recv->received += span.bytes;
		recv->partial = true;
		recv->partial_run = in->payload.frame->run > 1;
		if (++*stretches % FW_DEAR_STRETCHES == 0)
			fw_dear_add(nic, 1);
	}
	return true;
}

/*
 * Returns the next bytes of the packet that are together. Memory that is not mapped takes a copy
 * for each stretch, not for each piece of the frame: these are joined.
 */
static const uint8_t *goal_msg_rx_next(struct fw_nic *nic, const struct goal_recv *recv,
				       struct eth_cursor *payload, uint32_t *n)
{
	if (!recv->run->unmapped || payload->frame->num_seg == 1)
		return eth_cursor_next(payload, UINT32_MAX, n);
	*n = payload->left < FW_SCRATCH_BYTES ? payload->left : FW_SCRATCH_BYTES;
	eth_cursor_copy(payload, nic->scratch, *n);
	return nic->scratch;
}

/*
 * Places the packet, or what is left of it. False: the memory is not there, or not now, or the turn
 * has done enough (in->later); what was placed stays (recv->partial).
 */
static bool goal_msg_rx_place(struct fw_nic *nic, struct goal_recv *recv, struct msg_in *in)
{
	uint64_t skip = recv->received - in->offset;
	uint32_t stretches = 0;

	while (in->payload.left) {
		uint32_t n, old;
		const uint8_t *data = goal_msg_rx_next(nic, recv, &in->payload, &n);

		old = skip < n ? (uint32_t)skip : n;
		skip -= old;
		if (!place_some(nic, recv, in, data + old, n - old, &stretches))
			return false;
	}
	recv->partial = false;
	return true;
}

bool goal_unexp_mem(struct fw_nic *nic, const struct goal_unexp *unexp, uint64_t offset,
		    uint64_t bytes, struct fw_mem *mem)
{
	const struct goal_comm *comm = &nic->goal.comms[unexp->comm];
	const struct goal_pool_region *region = &comm->regions[unexp->region];

	nic->host.mem_busy = false;
	return mem_check(nic, comm->pd, 0, region->stag, region->addr + unexp->offset + offset,
			 bytes, HW_ACCESS_LOCAL_WRITE, mem) == HW_VENDOR_ERR_NONE;
}

static bool goal_msg_rx_store(struct fw_nic *nic, struct goal_unexp *unexp, struct msg_in *in)
{
	struct fw_mem mem = {.ptr = NULL};
	uint32_t bytes = in->payload.left;

	if (unexp->region == FW_NONE)
		mem.ptr = unexp->small + unexp->received;
	else if (bytes && !goal_unexp_mem(nic, unexp, unexp->received, bytes, &mem))
		return false;
	in->later = !mem.ptr && bytes && fw_dear_waits(nic, true);
	if (in->later || !mem_write_frame(nic, &mem, 0, &in->payload, bytes))
		return false;
	unexp->received += bytes;
	return true;
}

void goal_msg_rx_finish(struct fw_nic *nic, struct goal_recv *recv)
{
	struct goal_run *run = recv->run;
	uint32_t op = recv->op;

	goal_recv_free(nic, recv);
	FW_COUNT(nic, goal_msgs_rx);
	goal_step_finish_op(nic, run, op);
}

/* ---- packets -------------------------------------------------------------------------------- */

static bool goal_msg_rx_parse(const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes,
			      struct msg_in *in)
{
	struct eth_cursor cursor;
	struct wire_goal wire;

	if (bytes < sizeof(wire))
		return false;
	eth_cursor_init(&cursor, frame, offset, bytes);
	eth_cursor_copy(&cursor, &wire, sizeof(wire));
	in->type = wire.type;
	in->key.instance = be32_get(wire.instance);
	in->key.tag = be32_get(wire.tag);
	in->key.count = be32_get(wire.count);
	in->bytes = be64_get(wire.bytes);
	in->offset = be64_get(wire.offset);
	in->sink = be32_get(wire.sink);
	in->piece_bytes = be32_get(wire.piece_bytes);
	in->payload = cursor;
	/* A run is one long piece. */
	if (frame->run > 1 && in->piece_bytes == frame->run_bytes)
		in->piece_bytes = cursor.left;
	return in->piece_bytes == cursor.left;
}

static enum esp_verdict malformed(struct fw_nic *nic)
{
	FW_COUNT(nic, goal_malformed);
	return ESP_TAKEN;
}

/* A page of the process must come first: the packet is offered again. */
static enum esp_verdict slow(struct fw_nic *nic, const struct msg_in *in)
{
	if (!in->link)
		mgrp_space_find(nic, in->comm, in->key.rank)->blocked_instance = in->key.instance;
	goal_slow_comm(nic, in->comm, in->link);
	return ESP_FULL;
}

/* The turn has done enough: the stream, or the group, goes on in a later one. */
static enum esp_verdict later(struct fw_nic *nic, const struct msg_in *in)
{
	if (!in->link) {
		mgrp_space_find(nic, in->comm, in->key.rank)->blocked_instance = in->key.instance;
		goal_slow_group(nic, in->comm);
	}
	return ESP_FULL;
}

/* True if the piece follows what was received, or is the one of which a part was placed. */
static bool follows(const struct goal_recv *recv, const struct msg_in *in)
{
	uint64_t old = recv->received - in->offset;

	return in->bytes == recv->bytes && in->offset <= recv->received &&
	       (!old || (recv->partial && old < in->piece_bytes)) &&
	       in->piece_bytes <= recv->bytes - in->offset;
}

/* True if the piece was placed with the run of which it was a part, before that had to wait. */
static bool was_placed(const struct goal_recv *recv, const struct msg_in *in)
{
	return recv->partial && recv->partial_run && in->bytes == recv->bytes &&
	       in->offset <= recv->received && in->piece_bytes <= recv->received - in->offset;
}

/* Handles a further piece for a matched receive. */
static enum esp_verdict piece(struct fw_nic *nic, struct goal_recv *recv, struct msg_in *in)
{
	struct goal_run *run = recv->run;

	if (was_placed(recv, in))
		return ESP_TAKEN;
	if (!follows(recv, in))
		return malformed(nic);
	if (!goal_msg_rx_place(nic, recv, in)) {
		if (in->later)
			return later(nic, in);
		if (nic->host.mem_busy)
			return slow(nic, in);
		goal_run_fail(nic, run, HW_GOAL_MEMORY, run->comm->rank, recv->op);
	} else if (recv->received == recv->bytes)
		goal_msg_rx_finish(nic, recv);
	return ESP_TAKEN;
}

/* Joins a message with its receive. False: it is too long, and the run has failed. */
static bool match(struct fw_nic *nic, struct goal_recv *recv, const struct msg_in *in)
{
	struct goal_run *run = recv->run;

	if (in->bytes > run->schedule->ops[recv->op].amount) {
		goal_run_fail(nic, run, goal_run_truncated(run, recv->op, in->bytes),
			      run->comm->rank, recv->op);
		return false;
	}
	goal_recv_matched(nic, recv, in->link, in->bytes);
	goal_run_trace(nic, run, HW_GOAL_POINT_MSG_MATCHED, recv->op);
	return true;
}

/* The pool is memory of the client and is gone: the run that needs the message fails. */
static void pool_fault(struct fw_nic *nic, const struct msg_in *in)
{
	struct goal_run *run = goal_run_find(nic, in->comm, in->key.instance);

	FW_COUNT(nic, goal_pool_faults);
	if (run)
		goal_run_fail(nic, run, HW_GOAL_MEMORY, in->comm->rank, FW_NONE);
	else
		goal_comm_note_abort(in->comm, in->key.instance, HW_GOAL_MEMORY, in->comm->rank,
				     (struct goal_lengths){0, 0});
}

static enum esp_verdict pool_full(struct fw_nic *nic, const struct msg_in *in)
{
	if (in->link)
		goal_stall_link(nic, in->link, in->key.instance);
	else
		goal_stall_group(nic, in->comm, in->key.rank, in->key.instance);
	return ESP_FULL;
}

/*
 * A large multicast waits in the ring of its space, and with it the root, until its receive starts.
 * That may take any time, unless the receive waits for messages behind the multicast. Other large
 * messages are announced first.
 */
static bool is_too_large_to_keep(const struct msg_in *in)
{
	return in->bytes > in->comm->eager_bytes && !(in->key.group && in->comm->stall.keep_large);
}

static enum esp_verdict too_large_to_keep(struct fw_nic *nic, const struct msg_in *in)
{
	return in->key.group ? pool_full(nic, in) : malformed(nic);
}

static enum esp_verdict eager(struct fw_nic *nic, struct msg_in *in)
{
	struct goal_unexp *unexp;
	struct goal_recv *recv;

	recv = goal_match_arrival(nic, in->comm, &in->key);
	if (recv) {
		if (!in->offset)
			goal_run_trace(nic, recv->run, HW_GOAL_POINT_MSG_ARRIVED, recv->op);
		if (!recv->matched && !match(nic, recv, in))
			return ESP_TAKEN;
		if (!recv->source)
			return piece(nic, recv, in);
	}
	unexp = recv ? recv->source : goal_unexp_find(nic, in->comm, &in->key);
	if (!unexp) {
		if (in->offset || in->piece_bytes > in->bytes)
			return malformed(nic);
		if (is_too_large_to_keep(in))
			return too_large_to_keep(nic, in);
		unexp = goal_unexp_new(nic, in->comm, &in->key, in->bytes, false);
		if (!unexp)
			return pool_full(nic, in);
		if (in->bytes > in->comm->eager_bytes)
			in->comm->stall.keep_large = false;
		unexp->link = in->link;
		goal_trace_arrived(nic, in->comm, in->key.instance);
		FW_COUNT(nic, goal_unexpected);
	}
	if (unexp->header || in->bytes != unexp->bytes || in->offset != unexp->received ||
	    in->piece_bytes > unexp->bytes - unexp->received)
		return malformed(nic);
	if (goal_msg_rx_store(nic, unexp, in)) {
		/* Its rank may close now: all is here, though not yet at its place. */
		if (recv && unexp->received == unexp->bytes)
			goal_recv_await_over(nic, recv);
		return ESP_TAKEN;
	}
	if (in->later)
		return later(nic, in);
	if (nic->host.mem_busy)
		return slow(nic, in);
	pool_fault(nic, in);
	return ESP_TAKEN;
}

/* A large message waits at its source until its receive is announced. */
static enum esp_verdict header(struct fw_nic *nic, struct msg_in *in)
{
	struct goal_recv *recv = goal_match_arrival(nic, in->comm, &in->key);
	struct goal_unexp *unexp;

	if (in->piece_bytes)
		return malformed(nic);
	if (recv) {
		struct goal_run *run = recv->run;
		uint32_t op = recv->op;

		goal_run_trace(nic, run, HW_GOAL_POINT_MSG_ARRIVED, op);
		if (!recv->matched && !match(nic, recv, in))
			return ESP_TAKEN;
		if (!goal_msg_announce(nic, recv, in->link))
			goal_run_fail(nic, run, HW_GOAL_RESOURCES, run->comm->rank, op);
		return ESP_TAKEN;
	}
	if (goal_unexp_find(nic, in->comm, &in->key))
		return malformed(nic);
	unexp = goal_unexp_new(nic, in->comm, &in->key, in->bytes, true);
	if (!unexp)
		return pool_full(nic, in);
	unexp->link = in->link;
	goal_trace_arrived(nic, in->comm, in->key.instance);
	return ESP_TAKEN;
}

static enum esp_verdict announce(struct fw_nic *nic, struct msg_in *in)
{
	struct goal_send *send = goal_send_find(nic, in->link, &in->key);
	enum hw_goal_status status;

	if (send && send->kind == GOAL_SEND_WAITING) {
		struct goal_run *run = send->run;
		uint32_t op = send->op;

		/*
		 * The message is too long for the receive: the receiver has the header, and fails
		 * the run.
		 */
		if (in->bytes < send->bytes)
			return ESP_TAKEN;
		status = goal_msg_send_announced(nic, send, run, op, in->sink);
		if (status != HW_GOAL_OK)
			goal_run_fail(nic, run, status, run->comm->rank, op);
		return ESP_TAKEN;
	}
	/*
	 * The announcement came before its send. If it is dropped here, the sender's header
	 * requests it again.
	 */
	if (send || in->link->announced >= GOAL_MAX_ANNOUNCED)
		return ESP_TAKEN;
	send = goal_send_new(nic, in->link->client, in->link, GOAL_SEND_ANNOUNCED, WIRE_GOAL_DATA,
			     &in->key);
	if (!send)
		return ESP_TAKEN;
	send->bytes = in->bytes;
	send->sink = in->sink;
	in->link->announced++;
	fw_list_add_tail(&in->comm->announced, &send->run_node);
	goal_send_hash(nic, send);
	return ESP_TAKEN;
}

static enum esp_verdict goal_msg_rx_data(struct fw_nic *nic, struct msg_in *in)
{
	uint32_t index = in->sink & 0xffffff;
	struct goal_recv *recv;

	if (index >= nic->goal.recvs.high)
		return malformed(nic);
	recv = fw_pool_at(&nic->goal.recvs, index);
	/* A free context has no run. */
	if (!recv->run || recv->generation != in->sink >> 24 || recv->run->comm != in->comm ||
	    recv->key.instance != in->key.instance || recv->key.rank != in->key.rank ||
	    recv->key.tag != in->key.tag || recv->key.count != in->key.count)
		return malformed(nic);
	if (!in->offset)
		goal_run_trace(nic, recv->run, HW_GOAL_POINT_MSG_ARRIVED, recv->op);
	if (!recv->matched && !match(nic, recv, in))
		return ESP_TAKEN;
	return piece(nic, recv, in);
}

static enum esp_verdict aborted(struct fw_nic *nic, struct msg_in *in)
{
	struct goal_run *run = goal_run_find(nic, in->comm, in->key.instance);
	const struct goal_lengths lengths = {in->bytes, in->offset};
	enum hw_goal_status status = HW_GOAL_PEER_LOST;

	if (in->key.tag && in->key.tag < HW_GOAL_STATUSES)
		status = (enum hw_goal_status)in->key.tag;
	in->link->abort_mark = in->key.instance + 1;
	if (run) {
		run->lengths = lengths;
		goal_run_fail(nic, run, status, in->key.count, FW_NONE);
	} else {
		goal_comm_note_abort(in->comm, in->key.instance, status, in->key.count, lengths);
	}
	return ESP_TAKEN;
}

enum esp_verdict goal_msg_receive(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				  uint32_t offset, uint32_t bytes)
{
	struct msg_in in = {.link = ctx};

	in.key.rank = in.link->rank;
	/* Empty: the sender's run failed while the message was in flight; an ABORT follows. */
	if (!bytes || in.link->comm == FW_NONE)
		return ESP_TAKEN;
	in.comm = &nic->goal.comms[in.link->comm];
	/* The communicator exists only to repair multicasts. */
	if (in.comm->closing)
		return ESP_TAKEN;
	goal_stall_moved(in.comm);
	if (!goal_msg_rx_parse(frame, offset, bytes, &in) || in.bytes > GOAL_MAX_MSG_BYTES)
		return malformed(nic);
	if (in.type == WIRE_GOAL_LEFT) {
		goal_link_left(nic, in.link, in.key.instance);
		return ESP_TAKEN;
	}
	if (!goal_run_is_current(nic, in.comm, in.key.instance)) {
		FW_COUNT(nic, goal_late);
		return ESP_TAKEN;
	}
	switch ((enum wire_goal_type)in.type) {
	case WIRE_GOAL_EAGER:
		return eager(nic, &in);
	case WIRE_GOAL_HEADER:
		return header(nic, &in);
	case WIRE_GOAL_ANNOUNCE:
		return announce(nic, &in);
	case WIRE_GOAL_DATA:
		return goal_msg_rx_data(nic, &in);
	case WIRE_GOAL_ABORT:
		return aborted(nic, &in);
	case WIRE_GOAL_LEFT:
	case WIRE_GOAL_TYPES:
		break;
	}
	return malformed(nic);
}

enum esp_verdict goal_group_receive(struct fw_nic *nic, struct goal_comm *comm, uint32_t root,
				    const struct fw_rx_frame *frame, uint32_t offset,
				    uint32_t bytes)
{
	struct msg_in in = {.comm = comm, .key = {.rank = root, .group = true}};

	if (comm->closing)
		return ESP_TAKEN;
	goal_stall_moved(comm);
	if (!goal_msg_rx_parse(frame, offset, bytes, &in) || in.bytes > GOAL_MAX_MSG_BYTES ||
	    in.type != WIRE_GOAL_EAGER)
		return malformed(nic);
	if (!goal_run_is_current(nic, comm, in.key.instance)) {
		FW_COUNT(nic, goal_late);
		return ESP_TAKEN;
	}
	return eager(nic, &in);
}

/* ---- receives ------------------------------------------------------------------------------- */

/* The message came in part, as a whole, or only its header. */
enum hw_goal_status goal_recv_unexpected(struct fw_nic *nic, struct goal_run *run, uint32_t index,
					 struct goal_unexp *unexp)
{
	struct goal_recv *recv;
	bool ok, whole = !unexp->header && unexp->received == unexp->bytes;

	if (unexp->bytes > run->schedule->ops[index].amount)
		return goal_run_truncated(run, index, unexp->bytes);
	/* The rest will not come. */
	if (!whole && unexp->link && !unexp->link->stream)
		return HW_GOAL_PEER_LOST;
	recv = goal_recv_new(nic, run, index);
	if (!recv)
		return HW_GOAL_RESOURCES;
	recv->key = unexp->key;
	goal_recv_matched(nic, recv, whole ? NULL : unexp->link, unexp->bytes);
	goal_recv_hash(nic, recv);
	goal_run_trace(nic, run, HW_GOAL_POINT_MSG_MATCHED, index);
	if (unexp->header) {
		struct goal_link *link = unexp->link;

		goal_unexp_free(nic, unexp);
		return goal_msg_announce(nic, recv, link) ? HW_GOAL_OK : HW_GOAL_RESOURCES;
	}
	if (unexp->keeping || !goal_take_is_short(nic, run, index, unexp, unexp->received)) {
		goal_take_begin(nic, recv, unexp);
		return HW_GOAL_OK;
	}
	ok = goal_take_at_once(nic, recv, unexp);
	if (!ok && nic->host.mem_busy) {
		/* The message stays where it is until the receive is started again. */
		goal_recv_free(nic, recv);
		return GOAL_NOT_NOW;
	}
	goal_unexp_free(nic, unexp);
	if (!ok)
		return HW_GOAL_MEMORY;
	if (whole)
		goal_msg_rx_finish(nic, recv);
	return HW_GOAL_OK;
}

enum hw_goal_status goal_msg_recv(struct fw_nic *nic, struct goal_run *run, uint32_t index)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_key4 key = {run->instance, op->peer, op->tag, op->count, false};
	struct goal_unexp *unexp = goal_match_recv(nic, run->comm, run->schedule, &key);
	struct goal_recv *recv;
	struct goal_link *link;

	if (unexp)
		return goal_recv_unexpected(nic, run, index, unexp);
	recv = goal_recv_new(nic, run, index);
	if (!recv)
		return HW_GOAL_RESOURCES;
	if (run->schedule->wildcards)
		goal_wild_await(nic, recv);
	else
		goal_recv_hash(nic, recv);
	if (goal_self_recv(nic, recv))
		return HW_GOAL_OK;
	if (op->peer == run->comm->rank)
		return HW_GOAL_OK;
	if (op->peer == GOAL_RANK_ANY) {
		goal_recv_await_any(nic, recv);
		/* A stream that is full may hold just this message. */
		goal_comm_unblock(nic, run->comm);
		return HW_GOAL_OK;
	}
	link = goal_link_get(nic, run->comm, op->peer);
	if (!link)
		return HW_GOAL_PEER_LOST;
	goal_recv_await(nic, recv, link);
	/* A stream that is full may hold just this message. */
	goal_comm_unblock(nic, run->comm);
	if (run->schedule->wildcards || op->amount <= run->comm->eager_bytes)
		return HW_GOAL_OK;
	return goal_msg_announce(nic, recv, recv->link) ? HW_GOAL_OK : HW_GOAL_RESOURCES;
}
