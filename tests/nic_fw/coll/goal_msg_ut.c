/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_msg.c, goal_msg_tx.c, goal_stage.c: messages that a rank sends: where their
 * bytes lie, when an operation is over, and what each packet has. goal_msg_lost_ut.c has those
 * of lost ranks and of runs that end.
 */
#include "tests/nic_fw/coll/goal_send_fix.h"

#include "nic_fw/coll/goal_msg_tx.h"

static struct fw_tx_frame frame;

/* Fills packet i of a message; returns what goal_msg_fill() does. */
static int packet_of(struct goal_send *send, uint32_t i)
{
	memset(&frame, 0, sizeof(frame));
	return goal_msg_fill(ut.nic, send->link, &send->xfer, i,
			     payload_most() + (uint32_t)sizeof(struct wire_goal), &frame,
			     ESP_HDR_BYTES);
}

static struct wire_goal header(void)
{
	struct wire_goal wire;

	memcpy(&wire, frame.hdr + ESP_HDR_BYTES, sizeof(wire));
	CU_ASSERT_EQUAL(frame.seg[0].kind, FW_TX_HDR);
	CU_ASSERT_EQUAL(frame.seg[0].addr, ESP_HDR_BYTES);
	CU_ASSERT_EQUAL(frame.seg[0].bytes, sizeof(wire));
	return wire;
}

/* True if the payload of the frame is these bytes, all in memory of the NIC or mapped. */
static bool carries(const uint8_t *want, uint32_t bytes)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < frame.num_seg; i++) {
		if (frame.seg[i].kind != FW_TX_MEM || at + frame.seg[i].bytes > bytes ||
		    memcmp(frame.seg[i].mem, want + at, frame.seg[i].bytes) != 0)
			return false;
		at += frame.seg[i].bytes;
	}
	return at == bytes;
}

/* Short payload is copied, so the operation is over when the message is queued. */
static void small_messages(void)
{
	struct goal_send *send;
	struct goal_run *run;

	prepare(false);
	make_send(SHORT, GOAL_SMALL_BYTES, GOAL_REF(0, 8));
	make_send(EAGER, GOAL_SMALL_BYTES + 1, GOAL_REF(0, 500));
	make_send(SCATTER, 0, GOAL_REF(0, 0));
	load(false);
	fill_memory();
	run = start();
	send = message_of(SHORT);
	CU_ASSERT_PTR_NOT_NULL_FATAL(send);
	CU_ASSERT_EQUAL(send->kind, GOAL_SEND_SMALL);
	CU_ASSERT_PTR_NULL(send->run);
	CU_ASSERT_EQUAL(send->op, FW_NONE);
	CU_ASSERT_FALSE(fw_list_linked(&send->run_node));
	CU_ASSERT_EQUAL(send->xfer.packets, 1);
	CU_ASSERT_EQUAL(send->piece_bytes, payload_most());
	memset(memory.slot, 0, 400);
	CU_ASSERT_EQUAL(packet_of(send, 0), sizeof(struct wire_goal) + GOAL_SMALL_BYTES);
	CU_ASSERT(carries(bytes_of + 8, GOAL_SMALL_BYTES));
	CU_ASSERT_FALSE(frame.flags & FW_TX_F_BORROW);
	CU_ASSERT_EQUAL(frame.seg[1].client, client);
	/* One byte more, and the payload stays where it is. */
	send = message_of(EAGER);
	CU_ASSERT_EQUAL(send->kind, GOAL_SEND_EAGER);
	CU_ASSERT_PTR_EQUAL(send->run, run);
	CU_ASSERT_EQUAL(send->op, EAGER);
	CU_ASSERT_EQUAL(packet_of(send, 0), sizeof(struct wire_goal) + GOAL_SMALL_BYTES + 1);
	CU_ASSERT_PTR_EQUAL(frame.seg[1].mem, memory.slot + 500);
	CU_ASSERT_TRUE(frame.flags & FW_TX_F_BORROW);
	CU_ASSERT_EQUAL(frame.seg[1].client, client);
	/* A message without bytes has one packet. */
	send = message_of(SCATTER);
	CU_ASSERT_EQUAL(send->xfer.packets, 1);
	CU_ASSERT_EQUAL(packet_of(send, 0), sizeof(struct wire_goal));
	CU_ASSERT_EQUAL(frame.num_seg, 1);
	/* SHORT and SCATTER are over, and THEN has begun. */
	CU_ASSERT_EQUAL(run->remaining, OPS - 2);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_tx, 4);
	end();
}

/* So is that of a few pieces, unless they may take long: those of memory that is not mapped. */
static void small_pieces(void)
{
	uint32_t unmapped;

	for (unmapped = 0; unmapped < 2; unmapped++) {
		struct goal_send *send;

		prepare(unmapped);
		make_send(SHORT, 4 * PIECE_BYTES, GOAL_REF_PIECES(0, 4));
		make_send(SCATTER, 4 * PIECE_BYTES, GOAL_REF(0, 8));
		load(unmapped);
		fill_memory();
		(void)start();
		send = message_of(SHORT);
		CU_ASSERT_PTR_NOT_NULL_FATAL(send);
		CU_ASSERT_EQUAL(send->kind, unmapped ? GOAL_SEND_EAGER : GOAL_SEND_SMALL);
		send = message_of(SCATTER);
		CU_ASSERT_PTR_NOT_NULL_FATAL(send);
		CU_ASSERT_EQUAL(send->kind, GOAL_SEND_SMALL);
		end();
	}
}

/* A process with many messages on the way awaits the ACKs of further ones. */
static void many_messages_ahead(void)
{
	struct goal_run *run;
	uint32_t *held;

	prepare(false);
	make_send(SHORT, 10, GOAL_REF(0, 8));
	make_send(EAGER, 10, GOAL_REF(0, 8));
	load(false);
	held = &ut.nic->host.clients[client].goal_held[GOAL_TABLE_SENDS];
	/* SHORT is the last one ahead. */
	*held += GOAL_MAX_AHEAD - 1;
	run = start();
	*held -= GOAL_MAX_AHEAD - 1;
	CU_ASSERT_PTR_NULL(message_of(SHORT)->run);
	CU_ASSERT_EQUAL(message_of(EAGER)->kind, GOAL_SEND_SMALL);
	CU_ASSERT_PTR_EQUAL(message_of(EAGER)->run, run);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	end();
}

/* Each packet says where its piece lies, and the last one is shorter. */
static void packets_of_a_message(void)
{
	struct goal_send *send;
	struct wire_goal wire;
	uint32_t most, i;

	prepare(false);
	make_send(EAGER, 2000, GOAL_REF(0, 100));
	memory.code.ops[EAGER].count = 0;
	load(false);
	fill_memory();
	(void)start();
	send = message_of(EAGER);
	most = payload_most();
	CU_ASSERT(most > 1000 && most < 2000);
	CU_ASSERT_EQUAL(send->xfer.packets, 2);
	for (i = 2; i--;) { /* also backwards, as repetitions are */
		uint32_t bytes = i ? 2000 - most : most;

		CU_ASSERT_EQUAL(packet_of(send, i), sizeof(wire) + bytes);
		CU_ASSERT(carries(bytes_of + 100 + i * most, bytes));
		wire = header();
		CU_ASSERT_EQUAL(wire.type, WIRE_GOAL_EAGER);
		CU_ASSERT_EQUAL(be32_get(wire.instance), comm->next_instance - 1);
		CU_ASSERT_EQUAL(be32_get(wire.tag), TAG + EAGER);
		CU_ASSERT_EQUAL(be32_get(wire.count), 0);
		CU_ASSERT_EQUAL(be64_get(wire.bytes), 2000);
		CU_ASSERT_EQUAL(be64_get(wire.offset), i * most);
		CU_ASSERT_EQUAL(be32_get(wire.sink), 0);
		CU_ASSERT_EQUAL(be32_get(wire.piece_bytes), bytes);
	}
	/* Both as a run. */
	memset(&frame, 0, sizeof(frame));
	eth_tx_hdr(&frame, 0, ESP_HDR_BYTES, 0);
	CU_ASSERT_TRUE(
	    goal_msg_fill_run(ut.nic, send->link, &send->xfer, 0, 2, &frame, ESP_HDR_BYTES));
	CU_ASSERT_EQUAL(frame.run_bytes, most);
	CU_ASSERT(carries(bytes_of + 100, 2000));
	CU_ASSERT_TRUE(frame.flags & FW_TX_F_BORROW);
	CU_ASSERT_EQUAL(frame.seg[0].bytes, ESP_HDR_BYTES + sizeof(wire));
	memcpy(&wire, frame.hdr + ESP_HDR_BYTES, sizeof(wire));
	CU_ASSERT_EQUAL(be32_get(wire.piece_bytes), most);
	CU_ASSERT_EQUAL(be64_get(wire.offset), 0);
	/* The memory is gone: the run fails, and what is left is sent without payload. */
	ut.nic->goal.schedules[schedule].binds[0].stag ^= 1;
	CU_ASSERT_EQUAL(packet_of(send, 0), -FW_EFAULT);
	ends_with(HW_GOAL_MEMORY, RANK, EAGER);
	CU_ASSERT_PTR_NULL(send->run);
	CU_ASSERT_EQUAL(packet_of(send, 0), -FW_EFAULT);
	CU_ASSERT_FALSE(goal_msg_lends(send));
	end();
}

/* Whole packets, one byte less and one more. */
static void numbers_of_packets(void)
{
	static const int32_t more[] = {-1, 0, 1};

	for (uint32_t i = 0; i < 6; i++) {
		uint32_t most, packets = 1 + i / 3;

		prepare(false);
		comm->eager_bytes = SLOT_BYTES;
		most = payload_most();
		make_send(EAGER, packets * most + (uint32_t)more[i % 3], GOAL_REF(0, 0));
		load(false);
		(void)start();
		CU_ASSERT_EQUAL(message_of(EAGER)->xfer.packets, packets + (more[i % 3] > 0));
		CU_ASSERT_EQUAL(message_of(EAGER)->kind, GOAL_SEND_EAGER);
		end();
	}
}

/* Few pieces are sent where they are; many short ones are copied first, in steps of the run. */
static void pieces_of_memory(void)
{
	struct goal_send *send;

	prepare(false);
	make_send(SHORT, 10 * PIECE_BYTES, GOAL_REF_PIECES(0, 10));
	make_send(EAGER, PIECES * PIECE_BYTES, GOAL_REF_PIECES(0, PIECES));
	load(false);
	fill_memory();
	(void)start();
	send = message_of(SHORT);
	CU_ASSERT_PTR_NULL(send->staged);
	CU_ASSERT_EQUAL(packet_of(send, 0), sizeof(struct wire_goal) + 10 * PIECE_BYTES);
	CU_ASSERT_EQUAL(frame.num_seg, 1 + 10);
	for (uint32_t i = 0; i < 10; i++)
		CU_ASSERT_PTR_EQUAL(frame.seg[1 + i].mem, memory.slot + 2048 + 2 * i * PIECE_BYTES);
	send = message_of(EAGER);
	CU_ASSERT_PTR_NOT_NULL_FATAL(send->staged);
	CU_ASSERT_FALSE(send->staging);
	CU_ASSERT_EQUAL(send->staged_bytes, PIECES * PIECE_BYTES);
	for (uint32_t i = 0; i < PIECES; i++)
		CU_ASSERT(memcmp(send->staged + i * PIECE_BYTES,
				 bytes_of + 2048 + 2 * i * PIECE_BYTES, PIECE_BYTES) == 0);
	CU_ASSERT_EQUAL(packet_of(send, 0), sizeof(struct wire_goal) + PIECES * PIECE_BYTES);
	CU_ASSERT_EQUAL(frame.num_seg, 2);
	CU_ASSERT_PTR_EQUAL(frame.seg[1].mem, send->staged);
	CU_ASSERT_FALSE(frame.flags & FW_TX_F_BORROW);
	CU_ASSERT_FALSE(goal_msg_lends(send));
	/* A copy makes no runs. */
	CU_ASSERT_FALSE(
	    goal_msg_fill_run(ut.nic, send->link, &send->xfer, 0, 1, &frame, ESP_HDR_BYTES));
	end();
}

/* Sixteen pieces go into a frame whatever their length; beyond them each must be long. */
static void limits_of_pieces(void)
{
	static const struct {
		uint32_t pieces;
		int32_t first, middle, last; /* bytes beyond the least length */
		bool staged;
	} row[] = {{16, -80, -80, -80, false}, {17, 0, 0, 0, false}, {17, -1, 0, 0, true},
		   {17, 0, 0, -1, true},       {17, 0, -1, 0, true}, {18, 5, 5, 0, false}};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int32_t least;
		uint32_t bytes = 0;

		prepare(false);
		/* So long that fourteen of them fill a packet. */
		least = (int32_t)(payload_most() / 14);
		for (uint32_t k = 0; k < row[i].pieces; k++) {
			int32_t n = least + (k == 0                  ? row[i].first
					     : k + 1 < row[i].pieces ? row[i].middle
								     : row[i].last);

			memory.code.pieces[k] =
			    (struct goal_piece){GOAL_REF(0, 200 * k), (uint32_t)n};
			bytes += (uint32_t)n;
		}
		memory.code.ops[SCATTER] =
		    (struct goal_insn){.kind = GOAL_INSN_NOP, .first_edge = 1};
		make_send(EAGER, bytes, GOAL_REF_PIECES(0, row[i].pieces));
		load(false);
		(void)start();
		CU_ASSERT_EQUAL(message_of(EAGER)->staged != NULL, row[i].staged);
		end();
	}
}

/* Memory that is not mapped is copied when it is there; what follows keeps its place behind it. */
static void copies_and_their_order(void)
{
	struct goal_send *send;
	struct goal_run *run;
	const struct fw_list *at;
	uint32_t i;

	prepare(false);
	make_send(SHORT, 700, GOAL_REF(0, 0));
	make_send(EAGER, 100, GOAL_REF(1, 0));
	make_send(SCATTER, LARGE_BYTES, GOAL_REF(0, 1000));
	load(true);
	fill_memory();
	ut.port.host_busy = true;
	run = start();
	turns(400);
	CU_ASSERT_EQUAL(run->remaining, OPS);
	CU_ASSERT_TRUE(fw_list_empty(&link_to(TO)->stream->queue));
	CU_ASSERT_TRUE(message_of(SHORT)->staging && message_of(EAGER)->staging);
	CU_ASSERT_TRUE(message_of(SCATTER)->staging);
	CU_ASSERT_EQUAL(queued(TO, WIRE_GOAL_HEADER), 0);
	ut.port.host_busy = false;
	turns(2000);
	CU_ASSERT_FALSE(message_of(SHORT)->staging || message_of(EAGER)->staging);
	send = message_of(SHORT);
	CU_ASSERT_EQUAL(send->kind, GOAL_SEND_EAGER);
	CU_ASSERT_EQUAL(packet_of(send, 0), sizeof(struct wire_goal) + 700);
	CU_ASSERT(carries(bytes_of, 700));
	send = message_of(EAGER);
	CU_ASSERT_EQUAL(packet_of(send, 0), sizeof(struct wire_goal) + 100);
	CU_ASSERT(carries(bytes_of + 77, 100));
	CU_ASSERT_EQUAL(queued(TO, WIRE_GOAL_HEADER), 1);
	at = link_to(TO)->stream->queue.next;
	for (i = 0; i < 3; i++, at = at->next)
		CU_ASSERT_EQUAL(goal_send_of(FW_CONTAINER(at, struct esp_xfer, node))->key.tag,
				TAG + i);
	/* Each message is counted once, however often it began. */
	CU_ASSERT_EQUAL(ut.nic->counters.goal_msgs_tx, 4);
	end();
}

/* A short message behind a copy keeps its place, too, though its bytes are with the NIC. */
static void short_ones_behind_a_copy(void)
{
	const struct fw_list *at;
	struct goal_send *first, *second;

	prepare(false);
	make_send(SHORT, PIECES * PIECE_BYTES, GOAL_REF_PIECES(0, PIECES));
	make_send(EAGER, 10, GOAL_REF(0, 0));
	load(false);
	(void)start();
	first = message_of(SHORT);
	second = message_of(EAGER);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	CU_ASSERT_PTR_NOT_NULL(first->staged);
	CU_ASSERT_EQUAL(second->kind, GOAL_SEND_SMALL);
	CU_ASSERT_FALSE(first->staging || second->staging);
	at = link_to(TO)->stream->queue.next;
	CU_ASSERT_PTR_EQUAL(at, &first->xfer.node);
	CU_ASSERT_PTR_EQUAL(at->next, &second->xfer.node);
	end();
}

/* The memory of a copy is gone: the run fails with the operation. */
static void copy_fails(void)
{
	prepare(false);
	make_send(EAGER, 700, GOAL_REF(0, 0));
	load(true);
	ut.port.host_fault = true;
	(void)start_in(0, false);
	ends_with(HW_GOAL_MEMORY, RANK, EAGER);
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].goal_held[GOAL_TABLE_RECVS], 0);
	ut.port.host_fault = false;
	end();
}

static void acknowledged(struct goal_send *send)
{
	fw_list_del(&send->xfer.node);
	goal_msg_ops.sent(ut.nic, send->link, &send->xfer, true);
}

/* An operation is over when its message is acknowledged. */
static void acknowledgements(void)
{
	struct goal_run *run;
	uint32_t used;

	prepare(false);
	make_send(SHORT, 700, GOAL_REF(0, 0));
	make_send(EAGER, 10, GOAL_REF(0, 0));
	load(false);
	run = start();
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	used = ut.nic->goal.sends.used;
	acknowledged(message_of(EAGER));
	turns(2);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	acknowledged(message_of(SHORT));
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, used - 2);
	turns(2);
	CU_ASSERT_EQUAL(run->remaining, OPS - 2);
	end();
}

/* A message that waits for its announcement is awaited; with it it is sent like any other. */
static void large_messages(void)
{
	struct wire_goal wire;
	struct goal_send *send;
	struct goal_run *run;
	struct packet p;

	begin();
	fill_memory();
	run = start();
	send = sent_by(SEND);
	CU_ASSERT_EQUAL(send->kind, GOAL_SEND_WAITING);
	CU_ASSERT_TRUE(send->awaited);
	/* SCATTER awaits the rank, too. */
	CU_ASSERT_EQUAL(link_to(2)->awaiting, 2);
	CU_ASSERT_EQUAL(queued(2, WIRE_GOAL_HEADER), 1);
	p = piece_of(WIRE_GOAL_ANNOUNCE, 2, 5, LARGE_BYTES + 100, 0, 0);
	p.sink = 0xabcdef01;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(link_to(2)->awaiting, 1);
	CU_ASSERT_FALSE(send->awaited || send->hashed);
	CU_ASSERT_EQUAL(send->xfer.packets, 3);
	CU_ASSERT_EQUAL(packet_of(send, 2), sizeof(wire) + LARGE_BYTES - 2 * send->piece_bytes);
	CU_ASSERT(
	    carries(bytes_of + 4096 + 2 * send->piece_bytes, LARGE_BYTES - 2 * send->piece_bytes));
	wire = header();
	CU_ASSERT_EQUAL(wire.type, WIRE_GOAL_DATA);
	CU_ASSERT_EQUAL(be32_get(wire.sink), 0xabcdef01);
	CU_ASSERT_EQUAL(be64_get(wire.bytes), LARGE_BYTES);
	acknowledged(send);
	turns(2);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	end();
}

/* An announcement that came first is used up by a short message, and is none of a longer one. */
static void announcements_that_do_not_count(void)
{
	struct packet p;

	prepare(false);
	make_send(EAGER, 700, GOAL_REF(0, 0));
	make_send(SCATTER, LARGE_BYTES, GOAL_REF(0, 0));
	load(false);
	(void)link_to(TO);
	p = piece_of(WIRE_GOAL_ANNOUNCE, TO, TAG + EAGER, 700, 0, 0);
	p.instance++;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p.tag = TAG + SCATTER;
	p.bytes = LARGE_BYTES - 1;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(link_to(TO)->announced, 2);
	(void)start();
	CU_ASSERT_EQUAL(link_to(TO)->announced, 0);
	CU_ASSERT(fw_list_empty(&comm->announced));
	CU_ASSERT_EQUAL(message_of(EAGER)->kind, GOAL_SEND_EAGER);
	CU_ASSERT_EQUAL(queued(TO, WIRE_GOAL_EAGER), 1);
	CU_ASSERT_EQUAL(message_of(SCATTER)->kind, GOAL_SEND_WAITING);
	CU_ASSERT_EQUAL(queued(TO, WIRE_GOAL_HEADER), 1);
	end();
}

/* Fields of messages without payload; without a stream such a message is lost. */
static void control_messages(void)
{
	struct goal_abort abort = {7, HW_GOAL_TRUNCATED, 9, {100, 50}};
	struct goal_link *link;
	struct wire_goal wire;
	struct goal_recv *recv;
	struct goal_key4 key;

	begin();
	link = link_to(TO);
	goal_msg_abort(ut.nic, link, &abort);
	CU_ASSERT_EQUAL(packet_of(FW_CONTAINER(link->sends.prev, struct goal_send, link_node), 0),
			sizeof(wire));
	wire = header();
	CU_ASSERT_EQUAL(wire.type, WIRE_GOAL_ABORT);
	CU_ASSERT_EQUAL(be32_get(wire.instance), 7);
	CU_ASSERT_EQUAL(be32_get(wire.tag), HW_GOAL_TRUNCATED);
	CU_ASSERT_EQUAL(be32_get(wire.count), 9);
	CU_ASSERT_EQUAL(be64_get(wire.bytes), 100);
	CU_ASSERT_EQUAL(be64_get(wire.offset), 50);
	CU_ASSERT_EQUAL(be32_get(wire.piece_bytes), 0);
	CU_ASSERT_TRUE(goal_msg_left(ut.nic, link, 12));
	CU_ASSERT_EQUAL(packet_of(FW_CONTAINER(link->sends.prev, struct goal_send, link_node), 0),
			sizeof(wire));
	wire = header();
	CU_ASSERT_EQUAL(wire.type, WIRE_GOAL_LEFT);
	CU_ASSERT_EQUAL(be32_get(wire.instance), 12);
	CU_ASSERT_EQUAL(be64_get(wire.offset), 0);
	(void)start_in(0, true);
	key = (struct goal_key4){comm->next_instance - 1, 0, 10, 0, false};
	recv = goal_recv_find(ut.nic, comm, &key);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
	link = link_to(0);
	CU_ASSERT_EQUAL(packet_of(FW_CONTAINER(link->sends.prev, struct goal_send, link_node), 0),
			sizeof(wire));
	wire = header();
	CU_ASSERT_EQUAL(wire.type, WIRE_GOAL_ANNOUNCE);
	CU_ASSERT_EQUAL(be32_get(wire.tag), 10);
	CU_ASSERT_EQUAL(be64_get(wire.bytes), LARGE_BYTES);
	CU_ASSERT_EQUAL(be32_get(wire.sink), (uint32_t)recv->generation << 24 |
						 fw_pool_index(&ut.nic->goal.recvs, recv));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_aborts_lost, 0);
	link = lose(TO, ESP_END_LOST);
	goal_msg_abort(ut.nic, link, &abort);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_aborts_lost, 1);
	CU_ASSERT_FALSE(goal_msg_left(ut.nic, link, 12));
	end();
}

static uint32_t points(enum hw_goal_point point, uint32_t op)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < TRACE_ENTRIES; i++)
		found += memory.trace[i].ns && memory.trace[i].point == point &&
			 memory.trace[i].op == op;
	return found;
}

static void traces(void)
{
	prepare(false);
	make_send(SHORT, 10, GOAL_REF(0, 0));
	make_send(EAGER, 700, GOAL_REF(0, 0));
	load(false);
	CU_ASSERT_PTR_NOT_NULL_FATAL(start_in(0, true));
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_SENT, SHORT), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_SENT, EAGER), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_ANNOUNCED, LARGE), 1);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_MSG_SENT, SEND), 0);
	goal_msg_ops.passed(ut.nic, &message_of(EAGER)->xfer, ESP_POINT_FIRST);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_PACKET_FIRST, EAGER), 1);
	goal_msg_ops.passed(ut.nic, &message_of(SHORT)->xfer, ESP_POINT_FIRST);
	CU_ASSERT_EQUAL(points(HW_GOAL_POINT_PACKET_FIRST, SHORT), 1);
	end();
}

UT_MAIN("nic_fw/coll/goal_msg", UT(small_messages), UT(small_pieces), UT(many_messages_ahead),
	UT(packets_of_a_message), UT(numbers_of_packets), UT(pieces_of_memory),
	UT(limits_of_pieces), UT(copies_and_their_order), UT(short_ones_behind_a_copy),
	UT(copy_fails), UT(acknowledgements), UT(large_messages),
	UT(announcements_that_do_not_count), UT(control_messages), UT(traces))
