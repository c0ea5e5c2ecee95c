/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks over many objects of a process are divided into turns: RESIZE_CQ, event queues that were
 * full, listeners with many requests, next hops with many waiting requests. The work of a turn is
 * counted by its effects; nothing is timed.
 */
#include <arpa/inet.h>

#include "tests/bench/host.h"

enum {
	WAITING = 3000,
	OLD_ENTRIES = 4096,
	NEW_ENTRIES = 8192,
	/* Entries that a turn may write, at four for a unit. */
	ENTRIES_PER_TURN = 4 * FW_SLICE_UNITS,
	MANY_CQS = 600,
	EQ_ENTRIES = 1024,
	EVENTS_PER_TURN = 32,
	REQUESTS = 500,
};

static struct fw_ut ut;

/* ---- RESIZE_CQ */

static bool post(struct fw_cq *cq, uint64_t wr_id)
{
	struct hw_cqe cqe = {.wr_id = wr_id, .opcode = HW_CQE_RECV};

	return cq_post(ut.nic, cq, &cqe);
}

static int resize(const struct fw_cq *cq, uint32_t entries)
{
	struct hw_cmd cmd = {.op = HW_CMD_RESIZE_CQ, .u.cq = {.cq = cq->index, .entries = entries}};
	struct hw_cmd_resp resp;

	return host_cmd(ut.nic, 0, &cmd, &resp);
}

static struct fw_cq *waiting_cq(void)
{
	struct fw_cq *cq;
	uint32_t i;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, OLD_ENTRIES, HW_EQ_NONE);
	for (i = 0; i < WAITING; i++)
		CU_ASSERT_TRUE(post(cq, i));
	return cq;
}

static void large_cq_is_resized_in_turns(void)
{
	struct fw_cq *cq = waiting_cq();
	const struct hw_cqe *old = cq->ring;
	uint32_t turns = 0, i, next = WAITING;
	struct hw_cqe cqe;

	CU_ASSERT_EQUAL(resize(cq, NEW_ENTRIES), -1);
	while (!ut.port.num_done && turns++ < NEW_ENTRIES) {
		/* The process reads the old ring until the answer, so the NIC writes to it. */
		CU_ASSERT_PTR_EQUAL(cq->ring, old);
		if (next < OLD_ENTRIES)
			CU_ASSERT_TRUE(post(cq, next++));
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT(turns >= (NEW_ENTRIES + WAITING) / ENTRIES_PER_TURN - 16);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(ut.port.done.u.create_cq.entries, NEW_ENTRIES);
	CU_ASSERT_EQUAL(ut.port.done.u.create_cq.prod, next);
	CU_ASSERT_PTR_NOT_EQUAL(cq->ring, old);
	for (i = 0; i < next; i++) {
		CU_ASSERT_TRUE_FATAL(host_cqe(cq, i, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, i);
	}
	CU_ASSERT_FALSE(host_cqe(cq, next, &cqe));
	/* There is room for as many entries as were requested. */
	for (; next < NEW_ENTRIES; next++)
		CU_ASSERT_TRUE(post(cq, next));
	CU_ASSERT_TRUE(host_cqe(cq, next - 1, &cqe));
	fw_ut_end(&ut);
}

static void a_second_resize_takes_the_place(void)
{
	struct fw_cq *cq = waiting_cq();
	uint32_t turns;

	CU_ASSERT_EQUAL(resize(cq, NEW_ENTRIES), -1);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(resize(cq, 2 * NEW_ENTRIES), -1);
	for (turns = 0; ut.port.num_done < 1 && turns < NEW_ENTRIES; turns++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.done.status, FW_EBUSY);
	for (turns = 0; ut.port.num_done < 2 && turns < 4 * NEW_ENTRIES; turns++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(cq->mask + 1, 2 * NEW_ENTRIES);
	fw_ut_end(&ut);
}

static void a_cq_ends_while_it_is_resized(void)
{
	struct fw_cq *cq = waiting_cq();
	struct fw_bar *bar = &ut.nic->host.clients[0].bar;
	uint64_t high;
	uint32_t turns;

	CU_ASSERT_EQUAL(resize(cq, NEW_ENTRIES), -1);
	fw_ut_poll(&ut, 1000);
	high = bar->high;
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_CQ, cq->index, NULL), 0);
	/* The new ring was the last block there. */
	CU_ASSERT(bar->high <= high - NEW_ENTRIES * sizeof(struct hw_cqe));
	for (turns = 0; !ut.port.num_done && turns < 10; turns++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.done.op, HW_CMD_RESIZE_CQ);
	CU_ASSERT_EQUAL(ut.port.done.status, FW_EINVAL);
	fw_ut_end(&ut);
}

/* In the end more entries wait than the new ring holds. */
static void a_ring_that_gets_too_small(void)
{
	struct fw_cq *cq = waiting_cq();
	uint32_t turns, i;

	cq->record->cons = WAITING - 1000;
	CU_ASSERT_EQUAL(resize(cq, 1024), -1);
	for (i = 0; i < 100; i++)
		CU_ASSERT_TRUE(post(cq, WAITING + i));
	for (turns = 0; !ut.port.num_done && turns < NEW_ENTRIES; turns++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.done.status, FW_EBUSY);
	CU_ASSERT_EQUAL(cq->mask + 1, OLD_ENTRIES);
	fw_ut_end(&ut);
}

/* ---- event queues */

static void events_after_a_full_queue(void)
{
	struct fw_cq *cq[MANY_CQS];
	uint32_t eq, i, turns, told = 0;
	struct hw_eqe eqe;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, EQ_ENTRIES);
	for (i = 0; i < MANY_CQS; i++)
		cq[i] = host_cq(ut.nic, 0, 16, eq);
	for (i = 0; i < EQ_ENTRIES; i++)
		eq_post(ut.nic, 0, eq, &(struct hw_eqe){.type = HW_EVENT_CQ_ERR});
	for (i = 0; i < MANY_CQS; i++) {
		cq[i]->record->arm = HW_CQ_ARM_ARMED;
		cq_arm(ut.nic, cq[i]);
		CU_ASSERT_TRUE(post(cq[i], i));
		CU_ASSERT_TRUE(cq[i]->armed);
	}
	for (i = 0; i < EQ_ENTRIES; i++)
		CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	for (turns = 0; told < MANY_CQS && turns < 10 * MANY_CQS; turns++) {
		uint32_t before = told;

		fw_ut_poll(&ut, 100000);
		while (fw_ut_event(&ut, 0, eq, &eqe)) {
			CU_ASSERT_EQUAL(eqe.type, HW_EVENT_COMPLETION);
			told++;
		}
		CU_ASSERT(told - before <= EVENTS_PER_TURN);
	}
	CU_ASSERT_EQUAL(told, MANY_CQS);
	CU_ASSERT_EQUAL(fw_lost_interrupts(ut.nic), 0);
	fw_ut_end(&ut);
}

/* ---- listeners */

/* As cm_rd_rx.c makes it of a peer's request. */
static void request_of_a_peer(struct cm_ep *listener)
{
	struct cm_ep *ep = cm_new(ut.nic, 0, listener->eq);

	CU_ASSERT_PTR_NOT_NULL_FATAL(ep);
	ep->passive = true;
	ep->listener = listener->index;
	listener->waiting++;
	cm_set_state(ut.nic, ep, CM_REQ_RCVD);
	cm_event(ut.nic, ep, HW_CM_EVENT_REQUEST, 0);
}

static void listener_with_many_requests(void)
{
	struct cm_ep *listener, *other;
	uint32_t eq, i, turns, used;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 64);
	listener = cm_new(ut.nic, 0, eq);
	other = cm_new(ut.nic, 0, eq);
	cm_listen(ut.nic, listener);
	for (i = 0; i < REQUESTS; i++)
		request_of_a_peer(listener);
	used = fw_ids_used(&ut.nic->cm.ids);
	CU_ASSERT_EQUAL(used, REQUESTS + 2);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CM_DESTROY, listener->index, NULL), -1);
	CU_ASSERT(used - fw_ids_used(&ut.nic->cm.ids) <= FW_SLICE_AT_ONCE / FW_SLICE_CM_UNITS + 1);
	for (turns = 0; !ut.port.num_done && turns < 10 * REQUESTS; turns++) {
		used = fw_ids_used(&ut.nic->cm.ids);
		fw_ut_poll(&ut, 1000);
		CU_ASSERT(used - fw_ids_used(&ut.nic->cm.ids) <= FW_SLICE_UNITS / 4);
	}
	CU_ASSERT_EQUAL(ut.port.num_done, 1);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->cm.ids), 1);
	CU_ASSERT_PTR_EQUAL(cm_own(ut.nic, 0, other->index), other);
	fw_ut_end(&ut);
}

static uint32_t told_to(uint32_t eq)
{
	uint32_t i, n = 0;

	for (i = 0; i < ut.nic->cm.ids.high; i++)
		n += ut.nic->cm.eps[i].state != CM_FREE && ut.nic->cm.eps[i].eq == eq;
	return n;
}

static void listener_moves_in_turns(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_MOVE};
	struct hw_cmd_resp resp;
	struct cm_ep *listener;
	uint32_t from, to, i, turns, moved, was;

	fw_ut_begin(&ut);
	from = fw_ut_eq(&ut, 0, 64);
	to = fw_ut_eq(&ut, 0, 64);
	listener = cm_new(ut.nic, 0, from);
	cm_listen(ut.nic, listener);
	for (i = 0; i < REQUESTS; i++)
		request_of_a_peer(listener);
	cmd.u.cm = (struct hw_cmd_cm){.ep = listener->index, .eq = to};
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), -1);
	moved = told_to(to);
	CU_ASSERT(moved <= FW_SLICE_AT_ONCE + 1);
	/* A request that arrives meanwhile is reported to the new listener. */
	request_of_a_peer(listener);
	for (turns = 0; !ut.port.num_done && turns < REQUESTS; turns++) {
		was = moved;
		fw_ut_poll(&ut, 1000);
		moved = told_to(to);
		CU_ASSERT(moved - was <= FW_SLICE_UNITS + 1);
	}
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(moved, REQUESTS + 2);
	CU_ASSERT_EQUAL(told_to(from), 0);
	fw_ut_end(&ut);
}

/* ---- addresses */

static uint32_t resolve(uint32_t eq, uint32_t last_octets)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_RESOLVE};
	struct cm_ep *ep = cm_new(ut.nic, 0, eq);
	struct hw_cmd_resp resp;

	cmd.u.cm = (struct hw_cmd_cm){
	    .ep = ep->index, .ip = htonl(0x0a4d0000 + last_octets), .arg = 100000};
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(ep->state, CM_RESOLVING);
	return ep->index;
}

static uint32_t in_state(enum cm_state state)
{
	uint32_t i, n = 0;

	for (i = 0; i < ut.nic->cm.ids.high; i++)
		n += ut.nic->cm.eps[i].state == state;
	return n;
}

/* A station replies for its address. */
static void answer_arp(uint32_t last_octets)
{
	uint8_t bytes[sizeof(struct wire_eth) + sizeof(struct wire_arp)] = {0};
	struct wire_arp *arp = (void *)(bytes + sizeof(struct wire_eth));
	struct fw_rx_frame frame = {.num_seg = 1,
				    .seg[0] = {.data = bytes, .bytes = sizeof(bytes)}};
	uint32_t ip = htonl(0x0a4d0000 + last_octets);

	arp->hw_type = be16_put(WIRE_ARP_HW_ETHERNET);
	arp->proto_type = be16_put(WIRE_ETHERTYPE_IPV4);
	arp->hw_bytes = WIRE_MAC_BYTES;
	arp->proto_bytes = sizeof(ip);
	arp->op = be16_put(WIRE_ARP_REPLY);
	arp->sender_mac[0] = 2;
	memcpy(&arp->sender_ip, &ip, sizeof(ip));
	memcpy(&arp->target_ip, &ut.nic->config.ip, sizeof(arp->target_ip));
	neigh_rx_arp(ut.nic, &frame);
}

static void many_wait_for_one_address(void)
{
	uint32_t eq, i, turns, known, was;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, EQ_ENTRIES);
	for (i = 0; i < 2 * REQUESTS; i++)
		(void)resolve(eq, 20 + i % 2);
	CU_ASSERT_EQUAL(in_state(CM_RESOLVING), 2 * REQUESTS);
	fw_ut_poll(&ut, 1000);
	answer_arp(20);
	known = in_state(CM_IDLE);
	CU_ASSERT(known <= FW_SLICE_UNITS);
	for (turns = 0; known < REQUESTS && turns < REQUESTS; turns++) {
		was = known;
		fw_ut_poll(&ut, 1000);
		known = in_state(CM_IDLE);
		CU_ASSERT(known - was <= FW_SLICE_UNITS);
	}
	CU_ASSERT_EQUAL(known, REQUESTS);
	/* Endpoints that requested the other address wait on, and are notified of the failure. */
	for (turns = 0; in_state(CM_RESOLVING) && turns < 100 * REQUESTS; turns++)
		fw_ut_poll(&ut, 1000000);
	CU_ASSERT_EQUAL(in_state(CM_IDLE), 2 * REQUESTS);
	CU_ASSERT_FALSE(neigh_wait_pending(ut.nic));
	fw_ut_end(&ut);
}

/* An endpoint and its process may end between the reply and the visit of the walk. */
static void those_that_wait_may_go(void)
{
	uint32_t eq, i, first;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, EQ_ENTRIES);
	first = resolve(eq, 20);
	for (i = 1; i < REQUESTS; i++)
		(void)resolve(eq, 20);
	fw_ut_poll(&ut, 1000);
	answer_arp(20);
	CU_ASSERT_TRUE(neigh_wait_pending(ut.nic));
	for (i = 0; i < REQUESTS; i += 3)
		CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CM_DESTROY, first + i, NULL), 0);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_TRUE(neigh_wait_pending(ut.nic));
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/walks", UT(large_cq_is_resized_in_turns), UT(a_second_resize_takes_the_place),
	UT(a_cq_ends_while_it_is_resized), UT(a_ring_that_gets_too_small),
	UT(events_after_a_full_queue), UT(listener_with_many_requests), UT(listener_moves_in_turns),
	UT(many_wait_for_one_address), UT(those_that_wait_may_go))
