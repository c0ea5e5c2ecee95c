/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/mgrp_tx.c, mgrp_space.c: the root of a reliable group: its packets, its window, what
 * children lack; probes and requests that are repeated; neighbours that are gone; notes.
 */
#include "tests/nic_fw/coll/mgrp_fix.h"

enum {
	CHILDREN = 7, /* of a root of 100 ranks */
	/* Headers of a packet, with the CRC32C, without Ethernet's. */
	OVERHEAD = sizeof(struct wire_edp) + sizeof(struct wire_mgrp) + sizeof(struct wire_goal) +
		   WIRE_EDP_CRC_BYTES,
	ROOM = HW_MIN_MTU - OVERHEAD, /* of a packet before all MTUs are known */
};

/* The first operation is a multicast of so many bytes. */
static struct goal_run *multicast(uint64_t bytes)
{
	prepare(false);
	memory.code.ops[SHORT] = receive(RANK, 6, (uint32_t)bytes, GOAL_REF(0, 0));
	memory.code.ops[SHORT].kind = GOAL_INSN_MCAST_SEND;
	memory.code.ops[SHORT].first_edge = 0;
	memory.code.ops[SHORT].num_edges = 1;
	load(false);
	memcpy(memory.slot, bytes_of, SLOT_BYTES);
	num_sent = 0;
	ut.port.sent = keep_sent;
	return start();
}

static uint32_t sent_of(uint8_t type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < num_sent; i++)
		n += sent[i].wire.type == type;
	return n;
}

/* A child of this root reports. */
static void child_reports(uint32_t child, uint32_t own, uint32_t ack, uint16_t mtu)
{
	const struct mgrp_space *s = space(RANK);
	struct note g = {.type = WIRE_MGRP_STATUS,
			 .src = s->child[child].rank,
			 .dst = RANK,
			 .root = RANK,
			 .epoch = s->epoch,
			 .base = s->base,
			 .psn = ack,
			 .own = own,
			 .mtu = mtu};

	group_arrives(&g);
}

static void all_report(uint32_t psn, uint16_t mtu)
{
	for (uint32_t i = 0; i < CHILDREN; i++)
		child_reports(i, psn, psn, mtu);
}

/* The message is cut into packets that all members take, each with its place in it. */
static void packets(void)
{
	struct goal_run *run = multicast(3 * ROOM + 5);
	struct mgrp_space *s = space(RANK);
	uint32_t base = s->base, i;
	struct wire_goal goal;

	CU_ASSERT_EQUAL(s->parent, FW_NONE);
	CU_ASSERT_EQUAL(s->num_children, CHILDREN);
	CU_ASSERT_TRUE(s->to_wire);
	CU_ASSERT_FALSE(s->to_loop);
	CU_ASSERT_EQUAL_FATAL(sent_of(WIRE_MGRP_DATA), 4);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(be32_get(sent[i].wire.psn), base + i);
		CU_ASSERT_EQUAL(be32_get(sent[i].wire.base), base);
		CU_ASSERT_EQUAL(be32_get(sent[i].wire.epoch), s->epoch);
		CU_ASSERT_EQUAL(be32_get(sent[i].wire.root), RANK);
		CU_ASSERT_EQUAL(be32_get(sent[i].wire.dst_rank), WIRE_MGRP_ALL);
		CU_ASSERT(memcmp(sent[i].dst, comm->group.mac, 6) == 0);
		CU_ASSERT_FALSE(sent[i].flags & FW_TX_LOOP);
		memcpy(&goal, sent[i].data, sizeof(goal));
		CU_ASSERT_EQUAL(goal.type, WIRE_GOAL_EAGER);
		CU_ASSERT_EQUAL(be32_get(goal.instance), run->instance);
		CU_ASSERT_EQUAL(be32_get(goal.tag), 6);
		CU_ASSERT_EQUAL(be64_get(goal.bytes), 3 * ROOM + 5);
		CU_ASSERT_EQUAL(be64_get(goal.offset), i * ROOM);
		CU_ASSERT_EQUAL(be32_get(goal.piece_bytes), i < 3 ? ROOM : 5);
		CU_ASSERT_EQUAL(sent[i].n,
				sizeof(goal) + be32_get(goal.piece_bytes) + WIRE_EDP_CRC_BYTES);
		CU_ASSERT(memcmp(sent[i].data + sizeof(goal), bytes_of + i * ROOM, 5) == 0);
	}
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_data, 4);
	CU_ASSERT_EQUAL(s->next, base + 4);
	CU_ASSERT_EQUAL(s->high, base + 4);
	CU_ASSERT_EQUAL(s->requested, base + 4);
	CU_ASSERT_EQUAL(s->low, base);
	CU_ASSERT_EQUAL(s->ring_bytes, 4 * sizeof(goal) + 3 * ROOM + 5);
	/* The buffer is free with the last packet: THEN has begun. */
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	for (i = 0; i < CHILDREN; i++)
		CU_ASSERT_TRUE(s->child[i].awaiting);
	/* The window moves with the slowest child. */
	for (i = 1; i < CHILDREN; i++)
		child_reports(i, base + 4, base + 4, 0);
	CU_ASSERT_EQUAL(s->low, base);
	child_reports(0, base + 4, base + 3, 0);
	CU_ASSERT_EQUAL(s->low, base + 3);
	CU_ASSERT_TRUE(s->child[0].awaiting);
	CU_ASSERT_FALSE(mgrp_drained(comm));
	child_reports(0, base + 4, base + 4, 0);
	CU_ASSERT_EQUAL(s->low, base + 4);
	CU_ASSERT_EQUAL(s->ring_bytes, 0);
	CU_ASSERT_FALSE(s->child[0].awaiting);
	CU_ASSERT_TRUE(mgrp_drained(comm));
	/* A packet that was not sent is with no child. */
	child_reports(0, base + 5, base + 4, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_statuses_stale, 1);
	end();
}

/* A message without bytes is a packet. */
static void an_empty_message(void)
{
	struct goal_run *run = multicast(0);

	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_DATA), 1);
	CU_ASSERT_EQUAL(sent[0].n, sizeof(struct wire_goal) + WIRE_EDP_CRC_BYTES);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	end();
}

/* Frames become as large as all members take once all have said it, and no smaller. */
static void frame_lengths(void)
{
	struct mgrp_space *s;
	uint32_t i;

	(void)multicast(10);
	s = space(RANK);
	CU_ASSERT_EQUAL(s->frame_bytes, HW_MIN_MTU);
	for (i = 0; i + 1 < CHILDREN; i++)
		child_reports(i, s->next, s->next, (uint16_t)(1490 + i));
	CU_ASSERT_EQUAL(s->frame_bytes, HW_MIN_MTU);
	child_reports(i, s->next, s->next, 9000);
	CU_ASSERT_EQUAL(s->frame_bytes, 1490);
	child_reports(0, s->next, s->next, 9000);
	CU_ASSERT_EQUAL(s->frame_bytes, 1491);
	child_reports(1, s->next, s->next, HW_MIN_MTU);
	CU_ASSERT_EQUAL(s->frame_bytes, HW_MIN_MTU);
	child_reports(1, s->next, s->next, HW_MIN_MTU - 1);
	CU_ASSERT_EQUAL(s->frame_bytes, HW_MIN_MTU);
	for (i = 0; i < CHILDREN; i++)
		child_reports(i, s->next, s->next, 9000);
	CU_ASSERT_EQUAL(s->frame_bytes, 1500);
	end();
}

/* The root stops at the window's bytes and packets, and goes on with reports. */
static void window(void)
{
	struct goal_run *run;
	struct mgrp_space *s;
	uint32_t base;

	run = multicast(SLOT_BYTES);
	s = space(RANK);
	base = s->base;
	CU_ASSERT_EQUAL(s->next, base + (SLOT_BYTES + ROOM - 1) / ROOM);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	all_report(s->next, 0);
	CU_ASSERT_EQUAL(s->low, s->next);
	/* The next one finds the ring full of packets. */
	base = s->next;
	s->low -= MGRP_WINDOW;
	s->ring_bytes += MGRP_WINDOW_BYTES - 1;
	(void)start_in(1, false);
	CU_ASSERT_EQUAL(s->next, base);
	/* One is free, and a byte of the bytes: then they are full. */
	s->low++;
	mgrp_ready(ut.nic, s);
	turns(2);
	CU_ASSERT_EQUAL(s->next, base + 1);
	CU_ASSERT_EQUAL(s->low, base);
	/* Reports make room, and let the rest go. */
	s->ring_bytes -= MGRP_WINDOW_BYTES - 1;
	CU_ASSERT_FALSE(fw_list_linked(&s->ready_node));
	all_report(base + 1, 0);
	CU_ASSERT_TRUE(fw_list_linked(&s->ready_node));
	turns(2);
	CU_ASSERT_EQUAL(s->next, base + (SLOT_BYTES + ROOM - 1) / ROOM);
	end();
}

/* A child that is silent is asked, after the round trip that was measured, and ever more rarely. */
static void silent_children(void)
{
	struct mgrp_space *s;
	struct mgrp_child *c;
	uint64_t wait_ns = MGRP_FIRST_RTO_NS;
	uint32_t i;

	(void)multicast(10);
	s = space(RANK);
	c = &s->child[0];
	for (i = 1; i < CHILDREN; i++)
		child_reports(i, s->next, s->next, 0);
	/* The first report measured nearly nothing. */
	CU_ASSERT(s->rtt.srtt_ns > 0 && s->rtt.srtt_ns < MGRP_MIN_RTO_NS);
	s->rtt = (struct fw_rtt){0};
	num_sent = 0;
	for (i = 0; i < 8; i++) {
		uint64_t most = wait_ns < MGRP_MAX_RTO_NS ? wait_ns : MGRP_MAX_RTO_NS;

		fw_ut_poll(&ut, c->from_ns + most - 1 - ut.now_ns);
		CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), i);
		fw_ut_poll(&ut, 1);
		CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), i + 1);
		CU_ASSERT_EQUAL(c->probes, i + 1);
		wait_ns *= 2;
	}
	CU_ASSERT_EQUAL(be32_get(sent[0].wire.dst_rank), c->rank);
	CU_ASSERT_EQUAL(be32_get(sent[0].wire.psn), s->next);
	CU_ASSERT(memcmp(sent[0].dst, memory.peers[c->rank].mac, 6) == 0);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_probes, 8);
	/* It answers, and has nothing new: it is held back. */
	child_reports(0, s->base, s->base, 0);
	CU_ASSERT_EQUAL(c->probes, 0);
	CU_ASSERT_EQUAL(c->answers, 1);
	CU_ASSERT_EQUAL(s->rtt.srtt_ns, 0);
	/* It has the packet, and waits for its children: four times as long. */
	child_reports(0, s->next, s->base, 0);
	CU_ASSERT_EQUAL(c->answers, 0);
	CU_ASSERT_EQUAL(c->from_ns, ut.nic->now_ns);
	s->rtt = (struct fw_rtt){0};
	mgrp_timer_update(ut.nic, s);
	num_sent = 0;
	fw_ut_poll(&ut, 4 * MGRP_FIRST_RTO_NS - 1);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 0);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 1);
	child_reports(0, s->next, s->next, 0);
	fw_ut_poll(&ut, 10 * MGRP_MAX_RTO_NS);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 1);
	end();
}

/* A child that was silent for long, or computed, has the packet: the next probe follows soon. */
static void an_answer_shortens_the_wait(void)
{
	struct mgrp_space *s;
	uint32_t answers, i;

	for (answers = 0; answers < 2; answers++) {
		(void)multicast(10);
		s = space(RANK);
		for (i = 1; i < CHILDREN; i++)
			child_reports(i, s->next, s->next, 0);
		s->rtt = (struct fw_rtt){0};
		/* Otherwise a report that no probe asked for would be measured. */
		mgrp_slot(s, s->base)->repaired = true;
		while (s->child[0].probes < 8)
			fw_ut_poll(&ut, MGRP_MAX_RTO_NS);
		if (answers) {
			child_reports(0, s->base, s->base, 0);
			s->child[0].answers = 8;
			fw_ut_poll(&ut, 3 * MGRP_FIRST_RTO_NS);
		}
		child_reports(0, s->next, s->base, 0);
		CU_ASSERT_EQUAL(s->child[0].answers, 0);
		num_sent = 0;
		fw_ut_poll(&ut, 4 * MGRP_FIRST_RTO_NS - 1);
		CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 0);
		fw_ut_poll(&ut, 1);
		CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 1);
		end();
	}
}

/* A link that opens late: its child is asked at once. */
static void links_that_open(void)
{
	struct mgrp_space *s;
	struct mgrp_child *c;
	uint64_t before_ns;

	(void)multicast(10);
	s = space(RANK);
	c = &s->child[2];
	mgrp_link_opened(ut.nic, comm, c->rank);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 0);
	fw_ut_poll(&ut, MGRP_FIRST_RTO_NS);
	fw_ut_poll(&ut, 2 * MGRP_FIRST_RTO_NS);
	CU_ASSERT_EQUAL(c->probes, 2);
	num_sent = 0;
	mgrp_link_opened(ut.nic, comm, STRANGER);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 0);
	c->answers = 3;
	before_ns = s->timer.deadline_ns;
	mgrp_link_opened(ut.nic, comm, c->rank);
	/* It is asked again after the first wait, before the others. */
	CU_ASSERT_TRUE(s->timer.deadline_ns < before_ns);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_PROBE), 1);
	CU_ASSERT_EQUAL(be32_get(sent[0].wire.dst_rank), c->rank);
	CU_ASSERT_EQUAL(c->probes, 1);
	CU_ASSERT_EQUAL(c->answers, 0);
	end();
}

/* Nothing is awaited of a child that is gone, and nothing kept for it alone. */
static void neighbours_are_gone(void)
{
	struct mgrp_space *s;
	uint32_t i;

	(void)multicast(10);
	s = space(RANK);
	CU_ASSERT_EQUAL(mgrp_lost(ut.nic, s, 0), FW_NONE);
	for (i = 0; i + 1 < CHILDREN; i++)
		child_reports(i, s->next, s->next, 1400);
	CU_ASSERT_EQUAL(s->low, s->base);
	CU_ASSERT_TRUE(mgrp_keeps(s));
	(void)lose(s->child[CHILDREN - 1].rank, ESP_END_LOST);
	CU_ASSERT_TRUE(s->child[CHILDREN - 1].gone);
	CU_ASSERT_FALSE(s->child[CHILDREN - 1].awaiting);
	CU_ASSERT_FALSE(s->child[0].gone);
	CU_ASSERT_EQUAL(s->low, s->next);
	CU_ASSERT_EQUAL(s->frame_bytes, 1400);
	CU_ASSERT_EQUAL(mgrp_lost(ut.nic, s, 0), s->child[CHILDREN - 1].rank);
	child_reports(CHILDREN - 1, s->next, s->next, 1400);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_statuses_stale, 1);
	for (i = 0; i + 1 < CHILDREN; i++) {
		CU_ASSERT_TRUE(mgrp_keeps(s));
		(void)lose(s->child[i].rank, ESP_END_CLOSED);
	}
	CU_ASSERT_FALSE(mgrp_keeps(s));
	end();
	/* A member whose parent is gone asks it for nothing. */
	begin_group();
	data(BASE);
	data(BASE + 2);
	turns(2);
	(void)lose(ROOT, ESP_END_LOST);
	CU_ASSERT_TRUE(space(ROOT)->parent_gone);
	num_sent = 0;
	turns(10);
	fw_ut_poll(&ut, MGRP_MAX_RTO_NS);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_STATUS), 0);
	CU_ASSERT_EQUAL(mgrp_lost(ut.nic, space(ROOT), 0), ROOT);
	end();
}

/* An operation that needs a lost neighbour fails its run at once: nothing would wake it. */
static void begins_without_a_neighbour(void)
{
	uint32_t lost, i;

	(void)multicast(10);
	lost = space(RANK)->child[1].rank;
	(void)lose(lost, ESP_END_LOST);
	turns(10);
	num_sent = 0;
	(void)start_in(1, false);
	for (i = 0; i < 100 && record[1].done != serial; i++)
		turns(1);
	CU_ASSERT_EQUAL(record[1].done, serial);
	CU_ASSERT_EQUAL(record[1].status, HW_GOAL_PEER_LOST);
	CU_ASSERT_EQUAL(record[1].rank, lost);
	CU_ASSERT_EQUAL(record[1].op, SHORT);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_DATA), 0);
	end();
}

/* A member that is early waits for its parent, whose loss would be noticed. */
static void waits_for_its_parent(void)
{
	const struct goal_link *link;
	struct goal_run *run;

	prepare(false);
	memory.code.ops[SHORT] = receive(ROOT, 6, 16, GOAL_REF(1, 0));
	memory.code.ops[SHORT].kind = GOAL_INSN_MCAST_RECV;
	memory.code.ops[SHORT].first_edge = 0;
	memory.code.ops[SHORT].num_edges = 1;
	load(false);
	ut.port.sent = keep_sent;
	run = start();
	CU_ASSERT_EQUAL(run->fault, HW_GOAL_OK);
	CU_ASSERT_EQUAL(run->remaining, OPS);
	link = goal_link_at(ut.nic, comm, space(ROOT)->parent);
	CU_ASSERT_PTR_NOT_NULL_FATAL(link);
	CU_ASSERT_EQUAL(link->awaiting, 1);
	(void)lose(space(ROOT)->parent, ESP_END_LOST);
	ends_with(HW_GOAL_PEER_LOST, space(ROOT)->parent, FW_NONE);
	end();
}

/* A request without an answer is repeated, with waits that double, for all that is missing. */
static void requests(void)
{
	uint64_t wait_ns = MGRP_FIRST_RTO_NS, asked_ns;
	struct mgrp_space *s;
	struct note g;

	begin_group();
	data(BASE);
	s = space(ROOT);
	status(LEFT_CHILD, BASE + 1, BASE + 1);
	status(RIGHT_CHILD, BASE + 1, BASE + 1);
	data(BASE + 3);
	status(LEFT_CHILD, BASE + 1, BASE + 1);
	fw_ut_poll(&ut, 1);
	asked_ns = ut.now_ns;
	CU_ASSERT_EQUAL(s->request_ns, asked_ns);
	for (uint32_t i = 0; i < 4; i++, wait_ns *= 2) {
		num_sent = 0;
		fw_ut_poll(&ut, asked_ns + wait_ns - 1 - ut.now_ns);
		CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_STATUS), 0);
		fw_ut_poll(&ut, 1);
		fw_ut_poll(&ut, 1);
		CU_ASSERT_EQUAL_FATAL(sent_of(WIRE_MGRP_STATUS), 1);
		for (uint32_t k = 0; k < num_sent; k++) {
			if (sent[k].wire.type != WIRE_MGRP_STATUS)
				continue;
			CU_ASSERT_EQUAL(be32_get(sent[k].wire.from), BASE + 1);
			CU_ASSERT_EQUAL(be64_get(sent[k].wire.missing), 3);
		}
		CU_ASSERT_EQUAL(s->retries, i + 1);
		asked_ns = s->request_ns;
		CU_ASSERT(asked_ns <= ut.now_ns && asked_ns + 2 > ut.now_ns);
	}
	/* An answer to a repeated request measures nothing, and ends the waits. */
	g = note_of(WIRE_MGRP_REPAIR, ROOT, BASE + 1);
	group_arrives(&g);
	CU_ASSERT_EQUAL(s->retries, 0);
	CU_ASSERT_EQUAL(s->request_rtt.srtt_ns, 0);
	end();
}

static void notes(void)
{
	struct mgrp_note note = {.type = WIRE_MGRP_ASK,
				 .rank = 9,
				 .question = 0x11223344,
				 .instance = 77,
				 .changes = 99,
				 .ranks = 0x0102030405060708,
				 .held = 0x1112131415161718,
				 .stops = 0x2122232425262728};

	begin_group();
	num_sent = 0;
	CU_ASSERT_TRUE(mgrp_note_send(ut.nic, comm, &note));
	note.type = WIRE_MGRP_TELL;
	note.moves = true;
	CU_ASSERT_TRUE(mgrp_note_send(ut.nic, comm, &note));
	turns(1);
	CU_ASSERT_EQUAL_FATAL(num_sent, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct wire_mgrp *w = &sent[i].wire;

		CU_ASSERT_EQUAL(w->type, i ? WIRE_MGRP_TELL : WIRE_MGRP_ASK);
		CU_ASSERT(memcmp(sent[i].dst, memory.peers[9].mac, 6) == 0);
		CU_ASSERT_EQUAL(be32_get(w->root), RANK);
		CU_ASSERT_EQUAL(be32_get(w->dst_rank), 9);
		CU_ASSERT_EQUAL(be32_get(w->epoch), 0x11223344);
		CU_ASSERT_EQUAL(be32_get(w->base), i ? 99 : 77);
		CU_ASSERT_EQUAL(be16_get(w->mtu), i);
		CU_ASSERT_EQUAL(be32_get(w->psn), 0x15161718);
		CU_ASSERT_EQUAL(be32_get(w->own), 0x11121314);
		CU_ASSERT_EQUAL(be32_get(w->from), 0x25262728);
		CU_ASSERT_EQUAL(be32_get(w->from2), 0x21222324);
		CU_ASSERT_EQUAL(be64_get(w->missing), 0x0102030405060708);
		CU_ASSERT_EQUAL(sent[i].n, WIRE_EDP_CRC_BYTES);
	}
	end();
}

/* A communicator whose members lack packets stays for so long, or until they have them. */
static void ends_when_drained(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_DESTROY};
	struct hw_cmd unload = {.op = HW_CMD_GOAL_UNLOAD};
	struct hw_cmd_resp resp;
	uint64_t begun_ns;

	for (uint32_t drained = 0; drained < 2; drained++) {
		goal_run_fail(ut.nic, multicast(10), HW_GOAL_CANCELED, RANK, FW_NONE);
		turns(100);
		unload.u.goal_load.schedule = schedule;
		CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &unload, &resp), 0);
		cmd.u.goal_comm.comm = (uint32_t)(comm - ut.nic->goal.comms);
		CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
		begun_ns = ut.nic->now_ns;
		CU_ASSERT_TRUE(comm->used && comm->closing);
		CU_ASSERT_FALSE(mgrp_drained(comm));
		CU_ASSERT_EQUAL(comm->end_timer.deadline_ns, begun_ns + MGRP_DRAIN_NS);
		/* The process has nothing of it any more. */
		CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EINVAL);
		if (drained)
			all_report(space(RANK)->next, 0);
		else
			fw_ut_poll(&ut, begun_ns + MGRP_DRAIN_NS - ut.now_ns - 1);
		for (uint32_t i = 0; i < 100 && comm->used; i++)
			fw_ut_poll(&ut, FW_SOON_NS);
		CU_ASSERT_FALSE(comm->used);
		CU_ASSERT_EQUAL(ut.nic->mgrp.spaces.used, 0);
		CU_ASSERT_EQUAL(drained, ut.now_ns < begun_ns + MGRP_DRAIN_NS);
		end();
	}
}

/* The memory of a packet is not there now, or gone. */
static void memory_of_a_packet(void)
{
	struct goal_run *run;

	prepare(false);
	memory.code.ops[SHORT] = receive(RANK, 6, 100, GOAL_REF(0, 0));
	memory.code.ops[SHORT].kind = GOAL_INSN_MCAST_SEND;
	memory.code.ops[SHORT].first_edge = 0;
	memory.code.ops[SHORT].num_edges = 1;
	load(true);
	ut.port.host_busy = true;
	ut.port.sent = keep_sent;
	num_sent = 0;
	run = start();
	CU_ASSERT_TRUE(space(RANK)->slow);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_DATA), 0);
	CU_ASSERT_EQUAL(space(RANK)->ring_bytes, 0);
	CU_ASSERT_EQUAL(run->remaining, OPS);
	ut.port.host_busy = false;
	turns(3000);
	CU_ASSERT_EQUAL(sent_of(WIRE_MGRP_DATA), 1);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	ut.port.host_fault = true;
	(void)start_in(1, false);
	turns(100);
	CU_ASSERT_EQUAL(record[1].done, serial);
	CU_ASSERT_EQUAL(record[1].status, HW_GOAL_MEMORY);
	CU_ASSERT_EQUAL(record[1].op, SHORT);
	ut.port.host_fault = false;
	end();
}

UT_MAIN("nic_fw/coll/mgrp_tx", UT(packets), UT(an_empty_message), UT(frame_lengths), UT(window),
	UT(silent_children), UT(an_answer_shortens_the_wait), UT(links_that_open),
	UT(neighbours_are_gone), UT(begins_without_a_neighbour), UT(waits_for_its_parent),
	UT(requests), UT(notes), UT(ends_when_drained), UT(memory_of_a_packet))
