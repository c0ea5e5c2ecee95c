/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion and event queues: phases over several laps of the ring, overrun, invalid consumer
 * indices, arming in every order, resizing, full event queues.
 */
#include "tests/nic_fw/host/cq_fix.h"

static bool post_solicited(struct fw_ut *ut, struct fw_cq *cq)
{
	struct hw_cqe cqe = good(0);

	cqe.flags = HW_CQE_F_SOLICITED;
	return cq_post(ut->nic, cq, &cqe);
}

static void set_index(struct fw_cq *cq, uint32_t index)
{
	cq->prod = index;
	cq->cons = index;
	cq->solicited_prod = index;
	cq->record->cons = index;
	/* The ring as it is after index entries. */
	for (uint32_t i = 0; i <= cq->mask; i++)
		cq->ring[(index + i) & cq->mask].phase = !!((index + i) & (cq->mask + 1));
}

static void phases_flip_every_turn(void)
{
	struct hw_cqe cqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t i;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 3, HW_EQ_NONE);
	CU_ASSERT_EQUAL(cq->mask, 3);
	for (i = 0; i < 50; i++) {
		CU_ASSERT_FALSE_FATAL(host_cqe(cq, i, &cqe));
		CU_ASSERT_TRUE_FATAL(post(&ut, cq, 1000 + i));
		CU_ASSERT_TRUE_FATAL(host_cqe(cq, i, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, 1000 + i);
		CU_ASSERT_EQUAL(cqe.timestamp_ns, ut.now_ns);
		cq->record->cons = i + 1;
	}
	CU_ASSERT_EQUAL(cq->record->prod, 50);
	fw_ut_end(&ut);
}

static void every_field_arrives(void)
{
	struct hw_cqe in, out;
	struct fw_ut ut;
	struct fw_cq *cq;

	memset(&in, 0x3c, sizeof(in));
	in.status = HW_STATUS_REM_ACCESS_ERR;
	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 4, HW_EQ_NONE);
	CU_ASSERT_TRUE(cq_post(ut.nic, cq, &in));
	CU_ASSERT_TRUE(host_cqe(cq, 0, &out));
	in.timestamp_ns = ut.now_ns;
	in.phase = 1;
	CU_ASSERT_EQUAL(memcmp(&in, &out, sizeof(in)), 0);
	fw_ut_end(&ut);
}

static void indices_wrap_at_2_32(void)
{
	struct hw_cqe cqe;
	struct hw_eqe eqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t i, eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 64);
	cq = host_cq(ut.nic, 0, 8, eq);
	set_index(cq, UINT32_MAX - 5);
	for (i = UINT32_MAX - 5; i != 30; i++) {
		arm(&ut, cq, i, false);
		CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
		CU_ASSERT_FALSE_FATAL(host_cqe(cq, i, &cqe));
		CU_ASSERT_TRUE_FATAL(post(&ut, cq, i));
		CU_ASSERT_TRUE_FATAL(host_cqe(cq, i, &cqe));
		CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
		CU_ASSERT_EQUAL(eqe.aux, i & HW_CQ_ARM_INDEX);
		cq->record->cons = i + 1;
	}
	fw_ut_end(&ut);
}

static void overrun_is_told_once_and_is_final(void)
{
	struct hw_eqe eqe;
	struct hw_cqe cqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t i;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 4, HW_EQ_NONE);
	for (i = 0; i < 4; i++)
		CU_ASSERT_TRUE(post(&ut, cq, i));
	CU_ASSERT_FALSE(post(&ut, cq, 4));
	CU_ASSERT_FALSE(post(&ut, cq, 5));
	for (i = 0; i < 4; i++) {
		CU_ASSERT_TRUE(host_cqe(cq, i, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, i);
	}
	/* Later room does not restore it: entries were lost. */
	cq->record->cons = 4;
	CU_ASSERT_FALSE(post(&ut, cq, 6));
	CU_ASSERT_EQUAL(ut.nic->counters.cq_overruns, 3);
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_CQ_ERR);
	CU_ASSERT_EQUAL(eqe.id, cq->index);
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, 0, &eqe));
	fw_ut_end(&ut);
}

static void a_wild_consumer_index_makes_no_room(void)
{
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t i;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 4, HW_EQ_NONE);
	for (i = 0; i < 4; i++)
		CU_ASSERT_TRUE(post(&ut, cq, i));
	cq->record->cons = 5; /* polled more than was written */
	CU_ASSERT_FALSE(post(&ut, cq, 4));
	fw_ut_end(&ut);
}

static void arm_then_entry_and_entry_then_arm(void)
{
	struct hw_eqe eqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 16, eq);
	CU_ASSERT_TRUE(post(&ut, cq, 0));
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe)); /* not armed */
	arm(&ut, cq, 0, false);                         /* and entry 0 was not polled */
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_COMPLETION);
	CU_ASSERT_EQUAL(eqe.id, cq->index);
	arm(&ut, cq, 1, false); /* all polled: waits for the next */
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	CU_ASSERT_TRUE(post(&ut, cq, 1));
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	/* One event for one arming. */
	CU_ASSERT_TRUE(post(&ut, cq, 2));
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	fw_ut_end(&ut);
}

static void arming_for_solicited_entries(void)
{
	struct hw_cqe failed = good(0);
	struct hw_eqe eqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	failed.status = HW_STATUS_WR_FLUSH_ERR;
	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 16, eq);
	arm(&ut, cq, 0, true);
	CU_ASSERT_TRUE(post(&ut, cq, 0));
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	CU_ASSERT_TRUE(post_solicited(&ut, cq));
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	/* The entry was solicited before the arming, beyond the polled ones. */
	arm(&ut, cq, 1, true);
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	/* The entry was polled. */
	arm(&ut, cq, 2, true);
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	/* An error counts as solicited. */
	CU_ASSERT_TRUE(cq_post(ut.nic, cq, &failed));
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	/* Arming for solicited completions does not downgrade an earlier arm for any completion. */
	arm(&ut, cq, 3, false);
	arm(&ut, cq, 3, true);
	CU_ASSERT_TRUE(post(&ut, cq, 0));
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	fw_ut_end(&ut);
}

static void solicited_long_ago_is_not_now(void)
{
	struct hw_eqe eqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 16, eq);
	CU_ASSERT_TRUE(post_solicited(&ut, cq));
	/* More than 2^31 entries later, none of them solicited. */
	set_index(cq, 0x80000010u);
	cq->solicited_prod = 1;
	arm(&ut, cq, 0x80000010u, true);
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	CU_ASSERT_TRUE(post_solicited(&ut, cq));
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
	fw_ut_end(&ut);
}

static void garbage_in_the_arm_word(void)
{
	struct hw_eqe eqe;
	struct fw_ut ut;
	struct fw_cq *cq, *deaf;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 16, eq);
	deaf = host_cq(ut.nic, 0, 16, HW_EQ_NONE);
	cq->record->arm = 0x12345; /* not armed at all */
	cq_arm(ut.nic, cq);
	CU_ASSERT_FALSE(cq->armed);
	arm(&ut, cq, 0x2fffffff, false); /* at worst one event too many */
	(void)fw_ut_event(&ut, 0, eq, &eqe);
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	arm(&ut, deaf, 0, false);
	CU_ASSERT_FALSE(deaf->armed);
	CU_ASSERT_TRUE(post(&ut, deaf, 0));
	fw_ut_end(&ut);
}

/* Entries, indices and phases stay correct in whichever lap the resize happens. */
static void resizing_keeps_what_waits(void)
{
	static const uint32_t sizes[] = {16, 4, 64, 8, 8};
	uint32_t start, s, i;
	struct hw_cmd_resp resp;
	struct hw_cqe cqe;
	struct fw_ut ut;
	struct fw_cq *cq;

	for (start = 0; start < 40; start++) {
		uint32_t prod = start, cons = start;

		fw_ut_begin(&ut);
		cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
		for (i = 0; i < start; i++) {
			CU_ASSERT_TRUE(post(&ut, cq, i));
			cq->record->cons = i + 1;
		}
		for (s = 0; s < 5; s++) {
			while (prod - cons < 3)
				CU_ASSERT_TRUE(post(&ut, cq, prod++));
			CU_ASSERT_EQUAL_FATAL(resize(&ut, cq, sizes[s], &resp), 0);
			CU_ASSERT_EQUAL(resp.u.create_cq.entries, sizes[s]);
			CU_ASSERT_EQUAL(resp.u.create_cq.prod, prod);
			for (; cons != prod; cons++) {
				CU_ASSERT_TRUE_FATAL(host_cqe(cq, cons, &cqe));
				CU_ASSERT_EQUAL(cqe.wr_id, cons);
			}
			cq->record->cons = cons;
			/* No slot of the new ring looks written before it is. */
			for (i = 0; i < sizes[s]; i++) {
				CU_ASSERT_FALSE_FATAL(host_cqe(cq, prod, &cqe));
				CU_ASSERT_TRUE(post(&ut, cq, prod));
				CU_ASSERT_TRUE_FATAL(host_cqe(cq, prod, &cqe));
				cq->record->cons = cons = ++prod;
			}
		}
		fw_ut_end(&ut);
	}
}

static void resizing_is_refused(void)
{
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t i;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
	for (i = 0; i < 5; i++)
		CU_ASSERT_TRUE(post(&ut, cq, i));
	CU_ASSERT_EQUAL(resize(&ut, cq, 4, &resp), FW_EBUSY);
	CU_ASSERT_EQUAL(resize(&ut, cq, 0, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(resize(&ut, cq, HW_MAX_CQE + 1, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(resize(&ut, cq, UINT32_MAX, &resp), FW_EINVAL);
	cq->record->cons = 77;
	CU_ASSERT_EQUAL(resize(&ut, cq, 16, &resp), FW_EINVAL);
	cq->record->cons = 0;
	CU_ASSERT_EQUAL(resize(&ut, cq, 5, &resp), 0);
	CU_ASSERT_EQUAL(cq->mask, 7);
	fw_ut_end(&ut);
}

/* A resize under way that another one, or the end of the queue, replaces gives its ring back once.
 */
static void a_resize_is_replaced(void)
{
	const struct fw_bar *bar;
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint64_t high, place;
	uint32_t i;

	for (uint32_t how = 0; how < 3; how++) {
		fw_ut_begin(&ut);
		bar = &ut.nic->host.clients[0].bar;
		cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
		for (i = 0; i < 5; i++)
			CU_ASSERT_TRUE(post(&ut, cq, i));
		high = bar->high;
		CU_ASSERT_EQUAL(resize(&ut, cq, HW_MAX_CQE / 2, &resp), -1);
		CU_ASSERT_NOT_EQUAL(cq->resize.serial, 0);
		CU_ASSERT(bar->high > high);
		if (how) {
			/* A new command begins, and is refused. */
			ut.nic->slices.resume = 0;
			CU_ASSERT_EQUAL(resize(&ut, cq, 4, &resp), FW_EBUSY);
			CU_ASSERT_EQUAL(cq->resize.serial, 0);
			CU_ASSERT_EQUAL(bar->high, high);
			/* Its place is another's now. */
			CU_ASSERT_EQUAL(bar_alloc(ut.nic, 0, HW_BAR_PAGE_BYTES, &place), 0);
			high = bar->high;
		}
		if (how == 2) {
			CU_ASSERT_EQUAL(resize(&ut, cq, 4, &resp), FW_EBUSY);
			CU_ASSERT_EQUAL(bar->high, high);
		}
		CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_CQ, cq->index, NULL), 0);
		CU_ASSERT(bar->high <= high && (!how || bar->high >= place + HW_BAR_PAGE_BYTES));
		fw_ut_end(&ut);
	}
}

static void a_full_event_queue_loses_no_completion(void)
{
	struct fw_cq *cq[6];
	struct hw_eqe eqe;
	struct fw_ut ut;
	uint32_t eq, i, seen = 0;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 4);
	for (i = 0; i < 6; i++) {
		cq[i] = host_cq(ut.nic, 0, 4, eq);
		arm(&ut, cq[i], 0, false);
	}
	for (i = 0; i < 6; i++)
		CU_ASSERT_TRUE(post(&ut, cq[i], i));
	CU_ASSERT_TRUE(cq[4]->armed && cq[5]->armed);
	/* While the queue is full the NIC checks it now and then, and does nothing else. */
	fw_ut_poll(&ut, 3 * FW_EQ_RETRY_NS);
	CU_ASSERT_TRUE(cq[4]->armed && cq[5]->armed);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
		seen |= 1u << (eqe.id - cq[0]->index);
	}
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
	fw_ut_poll(&ut, FW_EQ_RETRY_NS);
	while (fw_ut_event(&ut, 0, eq, &eqe))
		seen |= 1u << (eqe.id - cq[0]->index);
	CU_ASSERT_EQUAL(seen, 0x3f);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 2);
	CU_ASSERT_EQUAL(ut.nic->counters.events_lost, 0);
	CU_ASSERT_EQUAL(fw_next_timer_ns(ut.nic), UINT64_MAX);
	fw_ut_end(&ut);
}

static void peers_cannot_fill_the_asynchronous_queue(void)
{
	struct hw_eqe peer = {.type = HW_EVENT_PEER_ERROR}, eqe;
	struct fw_ut ut;
	uint32_t i, count = 0, own = 0;

	fw_ut_begin(&ut);
	for (i = 0; i < 2 * FW_EQ0_ENTRIES; i++)
		eq_post(ut.nic, 0, 0, &peer);
	/* Half of it is theirs. */
	CU_ASSERT_EQUAL(ut.nic->counters.events_lost, 2 * FW_EQ0_ENTRIES - FW_EQ0_ENTRIES / 2);
	eq_async(ut.nic, 0, HW_EVENT_QP_FATAL, 9);
	while (fw_ut_event(&ut, 0, 0, &eqe)) {
		count++;
		own += eqe.type == HW_EVENT_QP_FATAL && eqe.id == 9;
	}
	CU_ASSERT_EQUAL(own, 1);
	CU_ASSERT_TRUE(count <= FW_EQ0_ENTRIES);
	/* An impossible index counts as full, and not beyond the ring. */
	ut.nic->host.eqs[ut.nic->host.clients[0].eq[0]].record->cons += 1000;
	eq_async(ut.nic, 0, HW_EVENT_QP_FATAL, 10);
	CU_ASSERT_FALSE(fw_ut_event(&ut, 0, 0, &eqe));
	fw_ut_end(&ut);
}

static void one_interrupt_a_turn(void)
{
	struct fw_ut ut;
	uint32_t i;

	fw_ut_begin(&ut);
	for (i = 0; i < 10; i++)
		eq_async(ut.nic, 0, HW_EVENT_QP_FATAL, i);
	CU_ASSERT_EQUAL(ut.port.irqs[0][0], 0);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][0], 1);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][0], 1);
	fw_ut_end(&ut);
}

/* The smallest rings, too: no slot of a new ring looks like a completion. */
static void a_new_ring_is_empty(void)
{
	uint32_t entries, index;

	for (entries = 1; entries <= 8; entries *= 2) {
		for (index = 0; index < 2 * entries; index++) {
			struct hw_cmd_resp resp;
			struct hw_cqe cqe;
			struct fw_ut ut;
			struct fw_cq *cq;

			fw_ut_begin(&ut);
			cq = host_cq(ut.nic, 0, 16, HW_EQ_NONE);
			set_index(cq, index);
			CU_ASSERT_EQUAL_FATAL(resize(&ut, cq, entries, &resp), 0);
			CU_ASSERT_EQUAL(cq->mask, entries - 1);
			for (uint32_t i = index; i < index + entries; i++)
				CU_ASSERT_FALSE(host_cqe(cq, i, &cqe));
			fw_ut_end(&ut);
		}
	}
}

UT_MAIN("nic_fw/host/cq", UT(phases_flip_every_turn), UT(every_field_arrives),
	UT(indices_wrap_at_2_32), UT(overrun_is_told_once_and_is_final),
	UT(a_wild_consumer_index_makes_no_room), UT(arm_then_entry_and_entry_then_arm),
	UT(arming_for_solicited_entries), UT(solicited_long_ago_is_not_now),
	UT(garbage_in_the_arm_word), UT(resizing_keeps_what_waits), UT(resizing_is_refused),
	UT(a_resize_is_replaced), UT(a_new_ring_is_empty),
	UT(a_full_event_queue_loses_no_completion), UT(peers_cannot_fill_the_asynchronous_queue),
	UT(one_interrupt_a_turn))
