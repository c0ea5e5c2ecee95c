/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outgoing messages: small ones are copied, eager ones are sent from the client's buffer, large
 * ones are sent after their receive has been announced.
 *
 * Calls esp_send(). goal_msg_rx.c receives messages. ESPGOAL 4.2.2; docs/collectives.md "Messages".
 */
#include "nic_fw/fw_nic.h"

enum {
	/* Pieces of memory in one packet; header and CRC32C need the rest. */
	PACKET_PIECES = FW_TX_SEGS_MAX - 4,
};

static uint32_t send_bucket(struct fw_nic *nic, const struct goal_link *link,
			    const struct goal_key4 *key)
{
	return fw_hash_keyed5(&nic->hash_key, link->comm, key->instance, key->rank, key->tag,
			      key->count) %
	       GOAL_HASH_SIZE;
}

struct goal_send *goal_send_new(struct fw_nic *nic, uint32_t client, struct goal_link *link,
				enum goal_send_kind kind, uint8_t type, const struct goal_key4 *key)
{
	struct goal_send *send = goal_take(nic, client, GOAL_TABLE_SENDS);

	if (!send)
		return NULL;
	memset(send, 0, offsetof(struct goal_send, small));
	send->client = (uint16_t)client;
	send->kind = kind;
	send->type = type;
	send->link = link;
	send->key = *key;
	send->op = FW_NONE;
	fw_list_init(&send->xfer.node);
	fw_list_init(&send->run_node);
	fw_list_init(&send->link_node);
	fw_list_init(&send->trace_node);
	fw_list_init(&send->stage_node);
	fw_list_init(&send->self_node);
	if (link)
		fw_list_add_tail(&link->sends, &send->link_node);
	return send;
}

void goal_send_hash(struct fw_nic *nic, struct goal_send *send)
{
	uint32_t *head = &nic->goal.send_hash[send_bucket(nic, send->link, &send->key)];

	fw_chain_add(head, &send->next, fw_pool_index(&nic->goal.sends, send));
	send->hashed = true;
}

static void send_unhash(struct fw_nic *nic, struct goal_send *send)
{
	fw_chain_del(&nic->goal.send_hash[send_bucket(nic, send->link, &send->key)], send,
		     fw_pool_table(&nic->goal.sends), next);
	send->hashed = false;
}

struct goal_send *goal_send_find(struct fw_nic *nic, const struct goal_link *link,
				 const struct goal_key4 *key)
{
	struct goal_send *send;

	fw_chain_for_each (send, nic->goal.send_hash[send_bucket(nic, link, key)],
			   fw_pool_table(&nic->goal.sends), next)
		if (send->link == link && send->key.instance == key->instance &&
		    send->key.tag == key->tag && send->key.count == key->count)
			return send;
	return NULL;
}

void goal_send_free(struct fw_nic *nic, struct goal_send *send)
{
	if (send->hashed)
		send_unhash(nic, send);
	if (send->awaited && send->link)
		goal_link_await(nic, send->link, false);
	if (send->kind == GOAL_SEND_ANNOUNCED)
		goal_send_unannounce(nic, send);
	if (send->staged)
		goal_heap_free(nic, send->client, send->staged);
	if (send->kind == GOAL_SEND_SELF)
		goal_self_taken(send);
	/* A repeated packet may be acknowledged before it leaves. */
	if (send->kind == GOAL_SEND_SMALL)
		eth_tx_forget_mem(nic, send->small, sizeof(send->small));
	/* The list of a stream that has ended has no head any more. */
	fw_list_del(&send->xfer.node);
	fw_list_del(&send->run_node);
	fw_list_del(&send->link_node);
	fw_list_del(&send->trace_node);
	fw_list_del(&send->stage_node);
	goal_give(nic, send->client, GOAL_TABLE_SENDS, send);
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Passes a message to the stream, cut into packets. */
static void goal_msg_queue(struct fw_nic *nic, struct goal_send *send)
{
	struct esp_stream *stream = send->link->stream;

	send->piece_bytes = esp_payload_bytes(stream) - (uint32_t)sizeof(struct wire_goal);
	send->xfer.packets = 1;
	if (send->type == WIRE_GOAL_EAGER || send->type == WIRE_GOAL_DATA)
		send->xfer.packets =
		    send->bytes
			? (uint32_t)((send->bytes + send->piece_bytes - 1) / send->piece_bytes)
			: 1;
	esp_send(nic, stream, &send->xfer);
}

/* The transfer is acknowledged. Those of a stream that ends are goal_lost.c's. */
static void goal_msg_sent(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, bool ok)
{
	struct goal_send *send = goal_send_of(xfer);
	struct goal_run *run = send->run;
	uint32_t op = send->op;

	(void)ctx;
	(void)ok;
	assert(ok);
	goal_send_free(nic, send);
	if (run)
		goal_step_finish_op(nic, run, op);
}

void goal_send_lost(struct fw_nic *nic, struct goal_send *send)
{
	if (send->staging || send->kind == GOAL_SEND_WAITING || send->kind == GOAL_SEND_ANNOUNCED)
		return;
	fw_list_del(&send->xfer.node);
	if (send->kind == GOAL_SEND_SMALL)
		eth_tx_forget_mem(nic, send->small, sizeof(send->small));
	/* Frames under way are not awaited any more. */
	if (goal_msg_lends(send))
		eth_tx_settle(nic);
	/* The run drops it when it ends. */
	if (send->run)
		send->kind = GOAL_SEND_WAITING;
	else
		goal_send_free(nic, send);
}

static void passed(struct fw_nic *nic, struct esp_xfer *xfer, enum esp_point point)
{
	goal_trace_passed(nic, goal_send_of(xfer), point);
}

/* ---- control --------------------------------------------------------------------------------- */

/* Makes a message without payload, not yet queued; NULL: no stream, or no memory. */
static struct goal_send *new_control(struct fw_nic *nic, struct goal_link *link, uint8_t type,
				     const struct goal_key4 *key)
{
	return link->stream ? goal_send_new(nic, link->client, link, GOAL_SEND_CONTROL, type, key)
			    : NULL;
}

static bool send_control(struct fw_nic *nic, struct goal_link *link, uint8_t type,
			 const struct goal_key4 *key, uint64_t bytes, uint32_t sink)
{
	struct goal_send *send = new_control(nic, link, type, key);

	if (!send)
		return false;
	send->bytes = bytes;
	send->sink = sink;
	goal_msg_queue(nic, send);
	return true;
}

/* The sink that identifies a receive in ANNOUNCE and DATA. */
static uint32_t recv_sink(const struct fw_nic *nic, const struct goal_recv *recv)
{
	return (uint32_t)recv->generation << 24 | fw_pool_index(&nic->goal.recvs, recv);
}

bool goal_msg_announce(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link)
{
	uint64_t room = recv->run->schedule->ops[recv->op].amount;

	if (!send_control(nic, link, WIRE_GOAL_ANNOUNCE, &recv->key, room, recv_sink(nic, recv)))
		return false;
	goal_run_trace(nic, recv->run, HW_GOAL_POINT_ANNOUNCED, recv->op);
	return true;
}

void goal_msg_abort(struct fw_nic *nic, struct goal_link *link, const struct goal_abort *abort)
{
	struct goal_key4 key = {abort->instance, link->rank, abort->status, abort->rank, false};
	struct goal_send *send = new_control(nic, link, WIRE_GOAL_ABORT, &key);

	/* Without memory for the message the peers rely on their own timeouts and probes. */
	if (!send) {
		FW_COUNT(nic, goal_aborts_lost);
		return;
	}
	send->bytes = abort->lengths.message_bytes;
	send->room_bytes = abort->lengths.room_bytes;
	goal_msg_queue(nic, send);
}

bool goal_msg_left(struct fw_nic *nic, struct goal_link *link, uint32_t instance)
{
	struct goal_key4 key = {instance, link->rank, 0, 0, false};

	return send_control(nic, link, WIRE_GOAL_LEFT, &key, 0, 0);
}

/* ---- sends ----------------------------------------------------------------------------------- */

/*
 * Decides whether the buffer must be staged. The port can send it in place if it is mapped and has
 * so few pieces that no packet needs more of them than a frame has room for.
 */
static enum hw_goal_status must_stage(struct fw_nic *nic, const struct goal_run *run,
				      const struct goal_insn *op, uint32_t piece_bytes, bool *stage)
{
	struct goal_cursor cursor;
	struct goal_span span;
	uint32_t spans = 0;
	uint64_t left = op->amount;

	/* The copy itself detects memory that is missing. */
	*stage = GOAL_REF_SLOT(op->buf[0]) == GOAL_SLOT_PIECES &&
		 GOAL_REF_COUNT(op->buf[0]) > GOAL_MAX_SPANS;
	if (*stage)
		return HW_GOAL_OK;
	goal_cursor_init(&cursor, op->buf[0]);
	for (; left; left -= span.bytes, spans++) {
		if (!goal_cursor_next(nic, run, &cursor, left, 0, &span))
			return HW_GOAL_MEMORY;
		/*
		 * Pieces must be so long that no packet needs more of them than there is room for.
		 */
		if (!span.mem.ptr ||
		    (spans >= PACKET_PIECES && span.bytes < piece_bytes / (PACKET_PIECES - 2)))
			*stage = true;
	}
	if (*stage || spans <= PACKET_PIECES)
		return HW_GOAL_OK;
	/* The length of the first pieces was not checked. */
	goal_cursor_init(&cursor, op->buf[0]);
	for (left = op->amount; left && spans; left -= span.bytes, spans--) {
		if (!goal_cursor_next(nic, run, &cursor, left, 0, &span))
			return HW_GOAL_MEMORY;
		if (span.bytes < piece_bytes / (PACKET_PIECES - 2))
			*stage = true;
	}
	return HW_GOAL_OK;
}

/* Reserves room for a copy where one is needed; the copy is made in slices. */
static enum hw_goal_status stage(struct fw_nic *nic, struct goal_run *run,
				 const struct goal_insn *op, struct goal_send *send)
{
	bool needed;
	enum hw_goal_status status = must_stage(
	    nic, run, op,
	    esp_payload_bytes(send->link->stream) - (uint32_t)sizeof(struct wire_goal), &needed);

	if (status != HW_GOAL_OK || !needed)
		return status;
	send->staged = goal_heap_alloc(nic, run->client, op->amount);
	return send->staged ? HW_GOAL_OK : HW_GOAL_RESOURCES;
}

/* A message that is copied, of a process that has few of them on the way, is finished when queued.
 */
static bool ends_when_queued(const struct fw_nic *nic, const struct goal_send *send)
{
	return send->kind == GOAL_SEND_SMALL &&
	       nic->host.clients[send->client].goal_held[GOAL_TABLE_SENDS] <= GOAL_MAX_AHEAD;
}

/* Passes the message to the stream. */
static void submit(struct fw_nic *nic, struct goal_run *run, struct goal_send *send)
{
	uint32_t index = send->op;
	bool over = ends_when_queued(nic, send);

	if (over) {
		fw_list_del(&send->run_node);
		send->run = NULL;
		send->op = FW_NONE;
	} else {
		goal_cursor_init(&send->cursor, run->schedule->ops[index].buf[0]);
	}
	goal_trace_send(run, send, index);
	goal_msg_queue(nic, send);
	goal_run_trace(nic, run, HW_GOAL_POINT_MSG_SENT, index);
	if (over)
		goal_step_finish_op(nic, run, index);
}

static bool send_header(struct fw_nic *nic, struct goal_send *send)
{
	return send_control(nic, send->link, WIRE_GOAL_HEADER, &send->key, send->bytes, 0);
}

void goal_msg_staged(struct fw_nic *nic, struct goal_run *run, struct goal_send *send)
{
	if (!send->link->stream)
		goal_run_fault(nic, run, HW_GOAL_PEER_LOST, send->link->rank, send->op);
	else if (send->kind != GOAL_SEND_WAITING)
		submit(nic, run, send);
	else if (!send_header(nic, send))
		goal_run_fault(nic, run, HW_GOAL_RESOURCES, run->comm->rank, send->op);
}

void goal_send_tie(struct goal_run *run, uint32_t index, struct goal_send *send)
{
	send->run = run;
	send->op = index;
	fw_list_add_tail(&run->sends, &send->run_node);
}

static enum hw_goal_status send_from_memory(struct fw_nic *nic, struct goal_run *run,
					    uint32_t index, struct goal_send *send)
{
	enum hw_goal_status status = stage(nic, run, &run->schedule->ops[index], send);

	if (status != HW_GOAL_OK)
		return status;
	goal_send_tie(run, index, send);
	if (send->staged || (send->kind == GOAL_SEND_EAGER && goal_stage_line(run)))
		goal_stage_add(nic, run, send);
	else
		submit(nic, run, send);
	return HW_GOAL_OK;
}

static enum hw_goal_status send_small(struct fw_nic *nic, struct goal_run *run, uint32_t index,
				      struct goal_send *send)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_cursor cursor;

	/* It may be in as many pieces as it has bytes: they are copied in slices. */
	if (run->unmapped && GOAL_REF_SLOT(op->buf[0]) == GOAL_SLOT_PIECES)
		return send_from_memory(nic, run, index, send);
	send->kind = GOAL_SEND_SMALL;
	goal_cursor_init(&cursor, op->buf[0]);
	if (!goal_buf_read(nic, run, &cursor, send->small, op->amount)) {
		if (!nic->host.mem_busy)
			return HW_GOAL_MEMORY;
		/* It is copied when its memory is there, and keeps its place meanwhile. */
		send->kind = GOAL_SEND_EAGER;
		return send_from_memory(nic, run, index, send);
	}
	goal_send_tie(run, index, send);
	if (goal_stage_line(run))
		goal_stage_add(nic, run, send);
	else
		submit(nic, run, send);
	return HW_GOAL_OK;
}

/* The receive was announced, now or before the send started. */
enum hw_goal_status goal_msg_send_announced(struct fw_nic *nic, struct goal_send *send,
					    struct goal_run *run, uint32_t index, uint32_t sink)
{
	enum hw_goal_status status;

	if (send->kind == GOAL_SEND_ANNOUNCED)
		goal_send_unannounce(nic, send);
	if (send->awaited)
		goal_link_await(nic, send->link, false);
	send->awaited = false;
	send_unhash(nic, send);
	/* The header may still be queued; it is no longer needed. */
	fw_list_del(&send->stage_node);
	send->staging = false;
	send->kind = GOAL_SEND_DATA;
	send->type = WIRE_GOAL_DATA;
	send->sink = sink;
	send->bytes = run->schedule->ops[index].amount;
	fw_list_del(&send->run_node);
	status = send_from_memory(nic, run, index, send);
	if (status != HW_GOAL_OK)
		goal_send_free(nic, send);
	return status;
}

static enum hw_goal_status send_large(struct fw_nic *nic, struct goal_run *run, uint32_t index,
				      struct goal_link *link, const struct goal_key4 *key)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_send *send = goal_send_find(nic, link, key);

	if (send && send->bytes >= op->amount) {
		return goal_msg_send_announced(nic, send, run, index, send->sink);
	}
	/* A receive that is too short detects this from the header, and fails its run. */
	if (send)
		goal_send_free(nic, send);
	send = goal_send_new(nic, run->client, link, GOAL_SEND_WAITING, WIRE_GOAL_DATA, key);
	if (!send)
		return HW_GOAL_RESOURCES;
	send->bytes = op->amount;
	goal_send_tie(run, index, send);
	goal_send_hash(nic, send);
	goal_link_await(nic, link, true);
	send->awaited = true;
	if (goal_stage_line(run)) {
		goal_stage_add(nic, run, send);
		return HW_GOAL_OK;
	}
	return send_header(nic, send) ? HW_GOAL_OK : HW_GOAL_RESOURCES;
}

enum hw_goal_status goal_msg_send(struct fw_nic *nic, struct goal_run *run, uint32_t index)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_key4 key = {run->instance, op->peer, op->tag, op->count, false};
	enum hw_goal_status status;
	struct goal_link *link;
	struct goal_send *send;

	if (!run->again)
		FW_COUNT(nic, goal_msgs_tx);
	if (op->peer == run->comm->rank)
		return goal_msg_self(nic, run, index, &key);
	link = goal_link_get(nic, run->comm, op->peer);
	if (!link)
		return HW_GOAL_PEER_LOST;
	if (op->amount > run->comm->eager_bytes)
		return send_large(nic, run, index, link, &key);
	if (link->announced) {
		/*
		 * The message is announced, but short enough to go without: the announcement is
		 * used up.
		 */
		send = goal_send_find(nic, link, &key);
		if (send)
			goal_send_free(nic, send);
	}
	send = goal_send_new(nic, run->client, link, GOAL_SEND_EAGER, WIRE_GOAL_EAGER, &key);
	if (!send)
		return HW_GOAL_RESOURCES;
	send->bytes = op->amount;
	status = op->amount <= GOAL_SMALL_BYTES ? send_small(nic, run, index, send)
						: send_from_memory(nic, run, index, send);
	if (status != HW_GOAL_OK)
		goal_send_free(nic, send);
	return status;
}

/* Detaches the oldest send of a run. */
static void drop_send(struct fw_nic *nic, struct goal_run *run)
{
	struct goal_send *send =
	    FW_CONTAINER(fw_list_take(&run->sends), struct goal_send, run_node);

	/* The stream keeps queued packets, which are sent without payload. */
	if (send->staging || send->kind == GOAL_SEND_WAITING || send->kind == GOAL_SEND_ANNOUNCED ||
	    send->kind == GOAL_SEND_SELF || send->kind == GOAL_SEND_GROUP) {
		goal_send_free(nic, send);
	} else {
		/* Frames under way read memory that the run gives back. */
		if (goal_msg_lends(send))
			eth_tx_settle(nic);
		send->run = NULL;
	}
}

bool goal_msg_trim_run(struct fw_nic *nic, struct goal_run *run)
{
	while (!fw_list_empty(&run->sends)) {
		if (!slice_take(nic, 1))
			return false;
		drop_send(nic, run);
	}
	while (!fw_list_empty(&run->recvs)) {
		if (!slice_take(nic, 1))
			return false;
		goal_recv_free(nic, FW_CONTAINER(run->recvs.next, struct goal_recv, run_node));
	}
	return true;
}

void goal_msg_drop_run(struct fw_nic *nic, struct goal_run *run)
{
	while (!fw_list_empty(&run->sends))
		drop_send(nic, run);
	while (!fw_list_empty(&run->recvs))
		goal_recv_free(nic, FW_CONTAINER(run->recvs.next, struct goal_recv, run_node));
}

/* Runs find their messages: goal_ending.c. */
static bool goal_msg_forgets(const void *ctx)
{
	(void)ctx;
	return true;
}

const struct esp_ops goal_msg_ops = {
    .expects = goal_msg_expects,
    .accept = goal_msg_accept,
    .receive = goal_msg_receive,
    .fill = goal_msg_fill,
    .fill_run = goal_msg_fill_run,
    .opened = goal_msg_opened,
    .sent = goal_msg_sent,
    .passed = passed,
    .ended = goal_msg_ended,
    .forgets = goal_msg_forgets,
};
