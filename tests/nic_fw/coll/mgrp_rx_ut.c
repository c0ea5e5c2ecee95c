/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/mgrp_rx.c, mgrp_space.c: a member of a reliable group in the middle of the tree: what
 * it takes, keeps, asks for and reports, number by number.
 */
#include "tests/nic_fw/coll/mgrp_fix.h"

/* The last frame of that type that was sent since the last call; NULL: none. All are forgotten. */
static const struct sent *last_sent(uint8_t type)
{
	static struct sent found;
	bool any = false;

	for (uint32_t i = 0; i < num_sent; i++)
		if (sent[i].wire.type == type) {
			found = sent[i];
			any = true;
		}
	num_sent = 0;
	return any ? &found : NULL;
}

static void tree(void)
{
	uint32_t children[MGRP_MAX_CHILDREN], n, root, rank, i, sum;

	CU_ASSERT_EQUAL(mgrp_parent(100, 97, 97), FW_NONE);
	CU_ASSERT_EQUAL(mgrp_parent(100, 97, 1), 97);
	CU_ASSERT_EQUAL(mgrp_children(100, 97, 1, children), 2);
	CU_ASSERT_EQUAL(children[0], 2);
	CU_ASSERT_EQUAL(children[1], 3);
	CU_ASSERT_EQUAL(mgrp_children(100, 1, 1, children), 7);
	CU_ASSERT_EQUAL(children[6], 65);
	CU_ASSERT_EQUAL(mgrp_children(HW_MAX_GOAL_RANKS, 5, 5, children), 16);
	CU_ASSERT_EQUAL(mgrp_children(1, 0, 0, children), 0);
	/* Each rank but the root is the child of its parent, and of no other. */
	for (n = 1; n < 40; n++)
		for (root = 0; root < n; root += 7) {
			for (rank = 0, sum = 0; rank < n; rank++) {
				uint32_t count = mgrp_children(n, root, rank, children);

				sum += count;
				for (i = 0; i < count; i++)
					CU_ASSERT_EQUAL(mgrp_parent(n, root, children[i]), rank);
			}
			CU_ASSERT_EQUAL(sum, n - 1);
		}
}

/* Packets in order are delivered, and kept as long as a child lacks them. */
static void in_order(void)
{
	struct mgrp_space *s;
	struct note g;

	begin_group();
	data(BASE);
	s = space(ROOT);
	CU_ASSERT_TRUE(s->known);
	CU_ASSERT_EQUAL(s->parent, ROOT);
	CU_ASSERT_EQUAL(s->num_children, 2);
	CU_ASSERT_EQUAL(s->child[0].rank, LEFT_CHILD);
	CU_ASSERT_EQUAL(s->child[1].rank, RIGHT_CHILD);
	data(BASE + 1);
	data(BASE + 2);
	CU_ASSERT_EQUAL(delivered(), 3);
	CU_ASSERT_EQUAL(s->low, BASE);
	CU_ASSERT_EQUAL(s->next, BASE + 3);
	CU_ASSERT_EQUAL(s->high, BASE + 3);
	CU_ASSERT_EQUAL(s->ring_bytes, 3 * (sizeof(struct wire_goal) + 16));
	CU_ASSERT_TRUE(s->child[0].awaiting && s->child[1].awaiting);
	CU_ASSERT_EQUAL(goal_link_at(ut.nic, comm, LEFT_CHILD)->awaiting, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_data, 3);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_packets, 3);
	/* The same again. */
	data(BASE + 1);
	data(BASE);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_duplicates, 2);
	CU_ASSERT_EQUAL(delivered(), 3);
	/* The left child has all, the right one two, and its subtree one. */
	status(LEFT_CHILD, BASE + 3, BASE + 3);
	CU_ASSERT_FALSE(s->child[0].awaiting);
	CU_ASSERT_EQUAL(goal_link_at(ut.nic, comm, LEFT_CHILD)->awaiting, 0);
	CU_ASSERT_EQUAL(s->low, BASE);
	status(RIGHT_CHILD, BASE + 2, BASE + 1);
	CU_ASSERT_EQUAL(s->low, BASE + 1);
	CU_ASSERT_EQUAL(s->child[1].own, BASE + 2);
	CU_ASSERT_EQUAL(s->child[1].ack, BASE + 1);
	CU_ASSERT_TRUE(s->child[1].awaiting);
	CU_ASSERT_EQUAL(s->ring_bytes, 2 * (sizeof(struct wire_goal) + 16));
	CU_ASSERT_PTR_NULL(mgrp_slot(s, BASE)->block);
	CU_ASSERT_PTR_NOT_NULL(mgrp_slot(s, BASE + 1)->block);
	/* An older status takes nothing back. */
	status(RIGHT_CHILD, BASE + 1, BASE + 1);
	CU_ASSERT_EQUAL(s->child[1].own, BASE + 2);
	g = status_of(RIGHT_CHILD, BASE + 3, BASE + 3);
	group_arrives(&g);
	CU_ASSERT_EQUAL(s->low, BASE + 3);
	CU_ASSERT_EQUAL(s->ring_bytes, 0);
	CU_ASSERT_TRUE(mgrp_drained(comm));
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_statuses, 4);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_statuses_stale, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_no_member, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_epoch, 0);
	end();
}

/* A report goes to the parent after 20 us, or at once with sixteen packets. */
static void reports(void)
{
	const struct sent *s;
	struct note g;
	uint32_t i;

	begin_group();
	data(BASE);
	(void)last_sent(0);
	CU_ASSERT_EQUAL(space(ROOT)->ack_timer.deadline_ns, ut.nic->now_ns + MGRP_ACK_NS);
	fw_ut_poll(&ut, MGRP_ACK_NS - 1);
	CU_ASSERT_PTR_NULL(last_sent(WIRE_MGRP_STATUS));
	fw_ut_poll(&ut, 1);
	s = last_sent(WIRE_MGRP_STATUS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT(memcmp(s->dst, memory.peers[ROOT].mac, 6) == 0);
	CU_ASSERT_EQUAL(be32_get(s->wire.dst_rank), ROOT);
	CU_ASSERT_EQUAL(be32_get(s->wire.root), ROOT);
	CU_ASSERT_EQUAL(be32_get(s->wire.epoch), EPOCH);
	CU_ASSERT_EQUAL(be32_get(s->wire.base), BASE);
	CU_ASSERT_EQUAL(be32_get(s->wire.psn), BASE);
	CU_ASSERT_EQUAL(be32_get(s->wire.own), BASE + 1);
	CU_ASSERT_EQUAL(be64_get(s->wire.missing), 0);
	CU_ASSERT_EQUAL(be16_get(s->wire.mtu), 0);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_statuses, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_nacks, 0);
	fw_ut_poll(&ut, MGRP_ACK_NS);
	CU_ASSERT_PTR_NULL(last_sent(WIRE_MGRP_STATUS));
	/* The least MTU at and below this member, once all are known. */
	g = status_of(LEFT_CHILD, BASE + 1, BASE + 1);
	g.mtu = 1400;
	group_arrives(&g);
	g = status_of(RIGHT_CHILD, BASE + 1, BASE + 1);
	g.mtu = 9000;
	group_arrives(&g);
	fw_ut_poll(&ut, MGRP_ACK_NS);
	s = last_sent(WIRE_MGRP_STATUS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(be32_get(s->wire.psn), BASE + 1);
	CU_ASSERT_EQUAL(be16_get(s->wire.mtu), 1400);
	/* Sixteen packets are reported in the same turn. */
	for (i = 1; i < MGRP_ACK_EVERY; i++)
		data(BASE + i);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_PTR_NULL(last_sent(WIRE_MGRP_STATUS));
	data(BASE + i);
	fw_ut_poll(&ut, 1);
	s = last_sent(WIRE_MGRP_STATUS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(be32_get(s->wire.own), BASE + MGRP_ACK_EVERY + 1);
	CU_ASSERT_FALSE(fw_timer_is_set(&space(ROOT)->ack_timer));
	end();
}

/* A gap is asked for at the end of the turn; its repair delivers what came behind it. */
static void gaps(void)
{
	const struct sent *s;
	struct mgrp_space *sp;
	struct note g;

	begin_group();
	data(BASE);
	data(BASE + 2);
	data(BASE + 5);
	sp = space(ROOT);
	CU_ASSERT_EQUAL(delivered(), 1);
	CU_ASSERT_EQUAL(sp->next, BASE + 1);
	CU_ASSERT_EQUAL(sp->high, BASE + 6);
	(void)last_sent(0);
	fw_ut_poll(&ut, 1);
	s = last_sent(WIRE_MGRP_STATUS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(be32_get(s->wire.from), BASE + 1);
	CU_ASSERT_EQUAL(be64_get(s->wire.missing), 0x0d);
	CU_ASSERT_EQUAL(be32_get(s->wire.psn), BASE);
	CU_ASSERT_EQUAL(be32_get(s->wire.own), BASE + 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_nacks, 1);
	CU_ASSERT_EQUAL(sp->requested, BASE + 6);
	CU_ASSERT_TRUE(sp->requesting);
	/* Once, until a while has passed. */
	data(BASE + 6);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_PTR_NULL(last_sent(WIRE_MGRP_STATUS));
	ut.nic->now_ns += 70000;
	g = note_of(WIRE_MGRP_REPAIR, ROOT, BASE + 1);
	group_arrives(&g);
	CU_ASSERT_EQUAL(delivered(), 3);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_repairs, 1);
	CU_ASSERT_FALSE(sp->requesting);
	CU_ASSERT(sp->request_rtt.srtt_ns >= 70000 && sp->request_rtt.srtt_ns < 80000);
	g.psn = BASE + 4;
	g.count = 4;
	group_arrives(&g);
	g.psn = BASE + 3;
	g.count = 3;
	group_arrives(&g);
	CU_ASSERT_EQUAL(delivered(), 7);
	CU_ASSERT_EQUAL(sp->next, BASE + 7);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_packets, 7);
	end();
}

/* More gaps than one STATUS names are named in several. */
static void many_gaps(void)
{
	uint64_t bits = 0;
	uint32_t i, statuses = 0, last = 0;

	begin_group();
	data(BASE);
	for (i = 2; i < 200; i += 2)
		data(BASE + i);
	(void)last_sent(0);
	fw_ut_poll(&ut, 1);
	for (i = 0; i < num_sent; i++) {
		if (sent[i].wire.type != WIRE_MGRP_STATUS)
			continue;
		statuses++;
		CU_ASSERT(!last || be32_get(sent[i].wire.from) - last >= 64);
		last = be32_get(sent[i].wire.from);
		bits += (uint32_t)__builtin_popcountll(be64_get(sent[i].wire.missing));
	}
	CU_ASSERT_EQUAL(bits, 99);
	CU_ASSERT_EQUAL(statuses, 4);
	end();
}

static void window(void)
{
	struct mgrp_space *s;

	begin_group();
	data(BASE);
	s = space(ROOT);
	data(BASE + MGRP_WINDOW);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_window, 1);
	CU_ASSERT_EQUAL(s->high, BASE + 1);
	data(BASE + MGRP_WINDOW - 1);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_window, 1);
	CU_ASSERT_EQUAL(s->high, BASE + MGRP_WINDOW);
	CU_ASSERT_PTR_NOT_NULL(mgrp_slot(s, BASE + MGRP_WINDOW - 1)->block);
	data(BASE + MGRP_WINDOW - 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_duplicates, 1);
	/* It moves with the packets that all below have; a place has nothing of the packet before.
	 */
	mgrp_slot(s, BASE)->repaired = true;
	status(LEFT_CHILD, BASE + 1, BASE + 1);
	status(RIGHT_CHILD, BASE + 1, BASE + 1);
	data(BASE + MGRP_WINDOW);
	CU_ASSERT_EQUAL(s->high, BASE + MGRP_WINDOW + 1);
	CU_ASSERT_PTR_EQUAL(mgrp_slot(s, BASE + MGRP_WINDOW), mgrp_slot(s, BASE));
	CU_ASSERT_FALSE(mgrp_slot(s, BASE)->repaired);
	end();
}

#define REFUSED(counter_, field, value)                                                            \
	do {                                                                                       \
		struct note bad_ = g;                                                              \
		uint64_t before_ = ut.nic->counters.counter_;                                      \
                                                                                                   \
		bad_.field = (value);                                                              \
		group_arrives(&bad_);                                                              \
		CU_ASSERT_EQUAL(ut.nic->counters.counter_, before_ + 1);                           \
	} while (0)

/* A frame counts only from the rank, and the station, that may send it. */
static void senders(void)
{
	struct note g;

	begin_group();
	g = note_of(WIRE_MGRP_DATA, ROOT, BASE);
	REFUSED(drop_mgrp_no_member, src, STRANGER);
	REFUSED(drop_mgrp_no_member, mac, memory.peers[STRANGER].mac);
	REFUSED(drop_mgrp_no_member, root, RANKS);
	REFUSED(drop_mgrp_no_member, root, STRANGER);
	REFUSED(drop_mgrp_no_member, root, RANK);
	REFUSED(drop_mgrp_no_member, type, 0);
	REFUSED(drop_esp_malformed, more, -17);
	CU_ASSERT_PTR_NULL(mgrp_space_find(ut.nic, comm, ROOT));
	group_arrives(&g);
	CU_ASSERT_EQUAL(delivered(), 1);
	g = note_of(WIRE_MGRP_REPAIR, ROOT, BASE + 1);
	g.count = 1;
	REFUSED(drop_mgrp_no_member, src, LEFT_CHILD);
	REFUSED(drop_mgrp_no_member, dst, RANK + 1);
	REFUSED(drop_mgrp_no_member, mac, memory.peers[STRANGER].mac);
	REFUSED(drop_esp_malformed, more, -17);
	CU_ASSERT_EQUAL(delivered(), 1);
	group_arrives(&g);
	CU_ASSERT_EQUAL(delivered(), 2);
	g = note_of(WIRE_MGRP_PROBE, ROOT, BASE + 2);
	REFUSED(drop_mgrp_no_member, src, LEFT_CHILD);
	REFUSED(drop_mgrp_no_member, dst, RANK + 1);
	REFUSED(drop_esp_malformed, more, 1);
	REFUSED(drop_mgrp_no_member, type, WIRE_MGRP_TYPES);
	g = status_of(LEFT_CHILD, BASE + 1, BASE + 1);
	REFUSED(drop_mgrp_no_member, mac, memory.peers[STRANGER].mac);
	REFUSED(drop_mgrp_no_member, dst, RANK + 1);
	g.mac = memory.peers[LEFT_CHILD].mac;
	REFUSED(drop_mgrp_no_member, src, RANKS);
	g.mac = NULL;
	REFUSED(drop_esp_malformed, more, 1);
	REFUSED(mgrp_statuses_stale, src, STRANGER);
	REFUSED(mgrp_statuses_stale, own, BASE + MGRP_WINDOW + 1);
	REFUSED(mgrp_statuses_stale, own, BASE - 1);
	REFUSED(mgrp_statuses_stale, psn, BASE + 2);
	REFUSED(drop_mgrp_epoch, epoch, EPOCH + 1);
	REFUSED(drop_mgrp_epoch, base, BASE + 1);
	CU_ASSERT_EQUAL(space(ROOT)->child[0].own, BASE);
	group_arrives(&g);
	CU_ASSERT_EQUAL(space(ROOT)->child[0].own, BASE + 1);
	/* The space itself has none of a status of a root that is not known. */
	g.root = 95;
	group_arrives(&g);
	CU_ASSERT_PTR_NULL(mgrp_space_find(ut.nic, comm, 95));
	end();
}

/* A question goes from one rank to another, which both of them name. */
static void questions(void)
{
	struct note g;

	begin_group();
	for (uint8_t type = WIRE_MGRP_ASK; type <= WIRE_MGRP_TELL; type++) {
		g = note_of(type, STRANGER, 0);
		g.root = STRANGER;
		REFUSED(drop_mgrp_no_member, dst, RANK + 1);
		REFUSED(drop_mgrp_no_member, root, ROOT);
		REFUSED(drop_mgrp_no_member, src, ROOT);
		REFUSED(drop_mgrp_no_member, mac, memory.peers[ROOT].mac);
		REFUSED(drop_esp_malformed, more, 1);
		/* A rank asks itself nothing. */
		g.root = RANK;
		REFUSED(drop_mgrp_no_member, src, RANK);
		g.root = STRANGER;
		CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_no_member,
				5u * (type - WIRE_MGRP_ASK + 1u));
		group_arrives(&g);
		CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_no_member,
				5u * (type - WIRE_MGRP_ASK + 1u));
		CU_ASSERT_PTR_NULL(mgrp_space_find(ut.nic, comm, STRANGER));
	}
	end();
}

/* Before anything was delivered another incarnation may begin; behind it none. */
static void incarnations(void)
{
	struct mgrp_space *s;
	struct note g;

	begin_group();
	data(BASE + 3);
	s = space(ROOT);
	CU_ASSERT_EQUAL(s->epoch, EPOCH);
	CU_ASSERT(s->ring_bytes > 0);
	g = note_of(WIRE_MGRP_DATA, ROOT, 500);
	g.epoch = EPOCH + 1;
	g.base = 500;
	g.count = 0;
	group_arrives(&g);
	CU_ASSERT_EQUAL(s->epoch, EPOCH + 1);
	CU_ASSERT_EQUAL(s->base, 500);
	CU_ASSERT_EQUAL(s->next, 501);
	CU_ASSERT_EQUAL(s->low, 500);
	CU_ASSERT_EQUAL(s->ring_bytes, sizeof(struct wire_goal) + 16);
	CU_ASSERT_EQUAL(s->child[0].own, 500);
	CU_ASSERT_EQUAL(s->reported_own, 500);
	data(BASE);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_epoch, 1);
	CU_ASSERT_EQUAL(delivered(), 1);
	end();
}

/* A child gets the packets that it lacks: now, or when they come. */
static void repairs(void)
{
	const struct sent *r;
	struct mgrp_space *s;
	struct note g;

	begin_group();
	data(BASE);
	data(BASE + 1);
	s = space(ROOT);
	(void)last_sent(0);
	g = status_of(RIGHT_CHILD, BASE, BASE);
	g.from = BASE;
	g.missing = 0x2;
	group_arrives(&g);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_nacks, 1);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_repairs, 1);
	r = last_sent(WIRE_MGRP_REPAIR);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_EQUAL(be32_get(r->wire.psn), BASE + 1);
	CU_ASSERT_EQUAL(be32_get(r->wire.dst_rank), RIGHT_CHILD);
	CU_ASSERT_EQUAL(be32_get(r->wire.root), ROOT);
	CU_ASSERT(memcmp(r->dst, memory.peers[RIGHT_CHILD].mac, 6) == 0);
	CU_ASSERT_EQUAL(r->n, sizeof(struct wire_goal) + 16 + WIRE_EDP_CRC_BYTES);
	CU_ASSERT(memcmp(r->data + sizeof(struct wire_goal), bytes_of + 1, 16) == 0);
	CU_ASSERT_TRUE(mgrp_slot(s, BASE + 1)->repaired);
	CU_ASSERT_FALSE(mgrp_slot(s, BASE)->repaired);
	CU_ASSERT_EQUAL(mgrp_slot(s, BASE + 1)->wanted, 0);
	/* A packet that is not here is asked for in turn, and passed on when it comes. */
	g.from = BASE + 2;
	g.missing = 0x4;
	group_arrives(&g);
	CU_ASSERT_EQUAL(s->high, BASE + 5);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_repairs, 1);
	r = last_sent(WIRE_MGRP_STATUS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_EQUAL(be32_get(r->wire.from), BASE + 2);
	CU_ASSERT_EQUAL(be64_get(r->wire.missing), 7);
	data(BASE + 4);
	fw_ut_poll(&ut, 1);
	r = last_sent(WIRE_MGRP_REPAIR);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_EQUAL(be32_get(r->wire.psn), BASE + 4);
	/* Packets that it has, or beyond the window, are none of its wants. */
	g.own = BASE + 2;
	g.from = BASE + 1;
	g.missing = 0x1;
	group_arrives(&g);
	g.from = BASE + MGRP_WINDOW;
	group_arrives(&g);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_repairs, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_nacks, 4);
	CU_ASSERT_EQUAL(s->high, BASE + 5);
	end();
}

/* A probe of the parent is answered at once, and tells of packets that did not come. */
static void probes(void)
{
	const struct sent *s;
	struct note g;

	begin_group();
	data(BASE);
	fw_ut_poll(&ut, MGRP_ACK_NS);
	(void)last_sent(0);
	g = note_of(WIRE_MGRP_PROBE, ROOT, BASE + 1);
	group_arrives(&g);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_rx_probes, 1);
	fw_ut_poll(&ut, 1);
	s = last_sent(WIRE_MGRP_STATUS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(be64_get(s->wire.missing), 0);
	g.psn = BASE + 3;
	group_arrives(&g);
	fw_ut_poll(&ut, 1);
	s = last_sent(WIRE_MGRP_STATUS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(be32_get(s->wire.from), BASE + 1);
	CU_ASSERT_EQUAL(be64_get(s->wire.missing), 3);
	g.psn = BASE + MGRP_WINDOW + 1;
	group_arrives(&g);
	CU_ASSERT_EQUAL(space(ROOT)->high, BASE + 3);
	end();
}

/* A packet that finds no memory is asked for again, but not at once: there is none yet. */
static void no_memory_for_a_packet(void)
{
	uint64_t *limit, was;

	begin_group();
	data(BASE);
	fw_ut_poll(&ut, MGRP_ACK_NS);
	limit = &ut.nic->host.clients[client].share->process->limit[HW_SHARE_GOAL];
	was = *limit;
	*limit = 0;
	data(BASE + 1);
	CU_ASSERT_EQUAL(ut.nic->counters.drop_mgrp_no_memory, 1);
	CU_ASSERT_EQUAL(space(ROOT)->next, BASE + 1);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_nacks, 0);
	*limit = was;
	for (uint32_t i = 0; i < 100 && !ut.nic->counters.mgrp_tx_nacks; i++)
		fw_ut_poll(&ut, 1000000);
	CU_ASSERT_EQUAL(ut.nic->counters.mgrp_tx_nacks, 1);
	data(BASE + 1);
	CU_ASSERT_EQUAL(space(ROOT)->next, BASE + 2);
	end();
}

UT_MAIN("nic_fw/coll/mgrp_rx", UT(tree), UT(in_order), UT(reports), UT(gaps), UT(many_gaps),
	UT(no_memory_for_a_packet), UT(window), UT(senders), UT(questions), UT(incarnations),
	UT(repairs), UT(probes))
