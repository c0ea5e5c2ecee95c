/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moderation while the handler runs, and while the vector is masked: no interrupt, and the limits
 * "irq" say when events become visible. Indices that wrap, a full ring, processes that lie or die.
 */
#include "tests/nic_fw/host/moder_fix.h"

/* An interrupt was raised, and its event is not taken yet; the CQ is armed again. */
static void in_handler(struct moder_fix *f)
{
	fix_ready(f);
	fix_cqe(f, MODER_RX, 0);
	while (!fw_lost_interrupts(f->ut.nic) && fw_next_timer_ns(f->ut.nic) != UINT64_MAX)
		fw_ut_poll(&f->ut, fw_next_timer_ns(f->ut.nic) - f->ut.now_ns);
	CU_ASSERT_TRUE(f->eq->moder.in_handler);
	fix_arm(f);
}

static uint32_t visible(const struct moder_fix *f)
{
	return f->eq->prod - f->ut.client[0].eq_cons[f->number];
}

static void no_interrupt_while_the_handler_runs(void)
{
	struct moder_fix f;
	uint32_t irqs, i;

	fix_begin(&f);
	in_handler(&f);
	irqs = fix_irqs(&f);
	for (i = 0; i < 3; i++) {
		fix_cqe(&f, MODER_RX, 10 * US);
		fix_arm(&f);
		CU_ASSERT_EQUAL(fix_irqs(&f), irqs);
		CU_ASSERT_EQUAL(visible(&f), 2 + i);
	}
	fix_post(&f, f.cq, MODER_RX, HW_CQE_F_SOLICITED);
	fw_ut_poll(&f.ut, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), irqs);
	/* The process takes all events; later ones are reported. */
	CU_ASSERT_EQUAL(fix_take(&f), 5);
	fix_arm(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), irqs + 1);
	fix_end(&f);
}

/* Taking a part of the reported events is not enough; taking all is, even with more after them. */
static void the_handler_ends_with_what_it_was_told_of(void)
{
	struct fw_cq *second;
	struct moder_fix f;
	struct hw_eqe eqe;

	fix_begin(&f);
	second = host_cq(f.ut.nic, 0, 64, f.number);
	fix_set(&f, HW_COALESCE_rx_frames, 2);
	fix_arm(&f);
	second->record->arm = HW_CQ_ARM_ARMED;
	cq_arm(f.ut.nic, second);
	fix_post(&f, f.cq, MODER_RX, 0);
	fix_post(&f, second, MODER_RX, 0);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_TRUE(fw_ut_event(&f.ut, 0, f.number, &eqe));
	fix_arm(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_TRUE(f.eq->moder.in_handler);
	CU_ASSERT_EQUAL(f.eq->moder.wait[MODER_RX].frames, 0);
	CU_ASSERT_TRUE(fw_ut_event(&f.ut, 0, f.number, &eqe));
	second->record->arm = HW_CQ_ARM_ARMED | second->prod;
	cq_arm(f.ut.nic, second);
	fix_post(&f, second, MODER_RX, 0);
	fw_ut_poll(&f.ut, 0);
	CU_ASSERT_FALSE(f.eq->moder.in_handler);
	CU_ASSERT_EQUAL(f.eq->moder.wait[MODER_RX].frames, 1);
	fix_end(&f);
}

static void usecs_irq(void)
{
	struct moder_fix f;
	uint32_t c;

	for (c = MODER_RX; c < MODER_CLASSES; c++) {
		fix_begin(&f);
		fix_set(&f, c == MODER_RX ? HW_COALESCE_rx_usecs_irq : HW_COALESCE_tx_usecs_irq,
			30);
		in_handler(&f);
		fix_cqe(&f, c, 5 * US);
		CU_ASSERT_EQUAL(visible(&f), 1);
		CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), f.ut.now_ns + 30 * US);
		fix_cqe(&f, c, 10 * US);
		fw_ut_poll(&f.ut, 20 * US - 1);
		CU_ASSERT_EQUAL(visible(&f), 1);
		fw_ut_poll(&f.ut, 1);
		CU_ASSERT_EQUAL(visible(&f), 2);
		/* The event became visible to the handler, which still runs. */
		CU_ASSERT_EQUAL(fix_irqs(&f), 1);
		CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_held_irq), 1);
		CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
		fix_end(&f);
	}
}

static void frames_irq(void)
{
	struct moder_fix f;
	uint32_t c, i;

	for (c = MODER_RX; c < MODER_CLASSES; c++) {
		fix_begin(&f);
		fix_set(&f, c == MODER_RX ? HW_COALESCE_rx_frames_irq : HW_COALESCE_tx_frames_irq,
			4);
		in_handler(&f);
		for (i = 0; i < 3; i++)
			fix_cqe(&f, c, 1 * US);
		CU_ASSERT_EQUAL(visible(&f), 1);
		/* The other class has no limit "irq". */
		fix_cqe(&f, c, 1 * US);
		CU_ASSERT_EQUAL(visible(&f), 2);
		CU_ASSERT_EQUAL(fix_irqs(&f), 1);
		/* Short of the count it is visible after the bound. */
		fix_arm(&f);
		fix_cqe(&f, c, 0);
		fw_ut_poll(&f.ut, HW_COALESCE_BOUND_US * US - 1);
		CU_ASSERT_EQUAL(visible(&f), 2);
		fw_ut_poll(&f.ut, 1);
		CU_ASSERT_EQUAL(visible(&f), 3);
		fix_end(&f);
	}
}

static void limits_irq_of_both_classes_and_both_kinds(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs_irq, 100);
	fix_set(&f, HW_COALESCE_rx_frames_irq, 3);
	fix_set(&f, HW_COALESCE_tx_usecs_irq, 40);
	in_handler(&f);
	fix_cqe(&f, MODER_RX, 0);
	fix_cqe(&f, MODER_TX, 10 * US);
	fix_cqe(&f, MODER_RX, 10 * US);
	CU_ASSERT_EQUAL(visible(&f), 1);
	fw_ut_poll(&f.ut, 30 * US - 1);
	CU_ASSERT_EQUAL(visible(&f), 1);
	fw_ut_poll(&f.ut, 1); /* 40 us after the tx one */
	CU_ASSERT_EQUAL(visible(&f), 2);
	fix_arm(&f);
	fix_cqe(&f, MODER_RX, 0);
	fix_cqe(&f, MODER_RX, 1);
	CU_ASSERT_EQUAL(visible(&f), 2);
	fix_cqe(&f, MODER_RX, 1);
	CU_ASSERT_EQUAL(visible(&f), 3);
	fix_end(&f);
}

static void urgent_ones_are_visible_at_once(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs_irq, 1000);
	in_handler(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(visible(&f), 1);
	fix_post(&f, f.cq, MODER_RX, HW_CQE_F_SOLICITED);
	CU_ASSERT_EQUAL(visible(&f), 2);
	CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
	fix_end(&f);
}

/*
 * The handler ends while an event is hidden: it is visible at the next poll, and due by its own
 * age.
 */
static void the_end_of_the_handler_shows_what_was_hidden(void)
{
	struct moder_fix f;

	/* Detected by the timer. */
	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 50);
	fix_set(&f, HW_COALESCE_rx_usecs_irq, 200);
	in_handler(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_take(&f), 1);
	fw_ut_poll(&f.ut, 199 * US);
	CU_ASSERT_EQUAL(visible(&f), 0);
	CU_ASSERT_TRUE(fix_irq_after(&f, 1 * US));
	CU_ASSERT_EQUAL(visible(&f), 1);
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_unmask), 1);
	/* Detected by the next completion: 20 us of 50 have passed. */
	(void)fix_take(&f);
	in_handler(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_take(&f), 1);
	CU_ASSERT_EQUAL(visible(&f), 0);
	fix_cqe(&f, MODER_RX, 20 * US);
	CU_ASSERT_EQUAL(visible(&f), 1);
	CU_ASSERT_TRUE(fix_irq_after(&f, 30 * US));
	/* Detected by arming. */
	(void)fix_take(&f);
	in_handler(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_take(&f), 1);
	fw_ut_poll(&f.ut, 60 * US);
	cq_arm(f.ut.nic, f.cq);
	CU_ASSERT_EQUAL(visible(&f), 1);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_unmask), 2);
	fix_end(&f);
}

static void what_was_polled_is_hidden_no_more(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs_irq, 100);
	in_handler(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_FALSE(fw_list_empty(&f.eq->moder.hidden_cqs));
	fix_ready(&f);
	CU_ASSERT_TRUE(fw_list_empty(&f.eq->moder.hidden_cqs));
	fw_ut_poll(&f.ut, 100 * US);
	CU_ASSERT_EQUAL(visible(&f), 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 1);
	fix_end(&f);
}

/* ---- masks ----------------------------------------------------------------------------------- */

static void masked_nothing_is_raised(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_ready(&f);
	fix_mask(&f, true);
	fix_cqe(&f, MODER_RX, 0);
	fix_post(&f, f.cq, MODER_RX, HW_CQE_F_SOLICITED);
	eq_post(f.ut.nic, 0, f.number, &(struct hw_eqe){.type = HW_EVENT_CM});
	fw_ut_poll(&f.ut, 5000 * US);
	CU_ASSERT_EQUAL(visible(&f), 2);
	CU_ASSERT_EQUAL(fix_irqs(&f), 0);
	fix_mask(&f, false);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_unmask), 1);
	fix_end(&f);
}

static void unmasked_the_limits_go_on(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 100);
	fix_ready(&f);
	fix_mask(&f, true);
	fix_cqe(&f, MODER_RX, 0);
	fw_ut_poll(&f.ut, 40 * US);
	fix_mask(&f, false);
	CU_ASSERT_TRUE(fix_irq_after(&f, 60 * US));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_rx_usecs), 1);
	fix_ready(&f);
	/* Masked while an event is held back already. */
	fix_cqe(&f, MODER_RX, 0);
	fix_mask(&f, true);
	fw_ut_poll(&f.ut, 300 * US);
	CU_ASSERT_EQUAL(fix_irqs(&f), 1);
	fix_mask(&f, false);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_unmask), 1);
	fix_end(&f);
}

static void masked_in_the_turn_of_the_interrupt(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_ready(&f);
	fix_post(&f, f.cq, MODER_RX, 0);
	f.eq->record->masked = 1;
	fw_ut_poll(&f.ut, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 0);
	fw_ut_poll(&f.ut, 100 * US);
	fix_mask(&f, false);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	fix_end(&f);
}

static void what_was_taken_meanwhile_is_not_told(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_ready(&f);
	fix_mask(&f, true);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_take(&f), 1);
	fix_mask(&f, false);
	fw_ut_poll(&f.ut, 100 * US);
	CU_ASSERT_EQUAL(fix_irqs(&f), 0);
	/* And the vector is usable. */
	fix_arm(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 1);
	fix_end(&f);
}

static void masked_the_limits_irq_rule(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs_irq, 10);
	fix_set(&f, HW_COALESCE_rx_usecs, 100);
	fix_ready(&f);
	fix_mask(&f, true);
	fix_cqe(&f, MODER_RX, 0);
	fw_ut_poll(&f.ut, 10 * US - 1);
	CU_ASSERT_EQUAL(visible(&f), 0);
	fw_ut_poll(&f.ut, 1);
	CU_ASSERT_EQUAL(visible(&f), 1);
	fix_mask(&f, false);
	CU_ASSERT_TRUE(fix_irq_after(&f, 90 * US));
	fix_ready(&f);
	/* Unmasked before. */
	fix_mask(&f, true);
	fix_cqe(&f, MODER_RX, 0);
	fw_ut_poll(&f.ut, 5 * US);
	fix_mask(&f, false);
	CU_ASSERT_EQUAL(visible(&f), 1);
	CU_ASSERT_TRUE(fix_irq_after(&f, 95 * US));
	fix_end(&f);
}

/* ---- the edges ------------------------------------------------------------------------------- */

static void indices_wrap(void)
{
	struct moder_fix f;
	uint32_t i;

	fix_begin(&f);
	f.eq->prod = f.eq->record->cons = f.ut.client[0].eq_cons[f.number] = UINT32_MAX - 3;
	for (i = 0; i < 8; i++) /* former content */
		f.eq->ring[i].phase = i < 4 ? 1 : 0;
	for (i = 1; i <= 9; i++) {
		fix_arm(&f);
		fix_cqe(&f, MODER_RX, 0);
		CU_ASSERT_EQUAL(fix_irqs(&f), i);
		fix_arm(&f);
		fix_cqe(&f, MODER_RX, 0);
		CU_ASSERT_EQUAL(fix_irqs(&f), i);
		f.eq->record->cons = f.ut.client[0].eq_cons[f.number] = f.eq->prod;
	}
	CU_ASSERT_TRUE(f.eq->prod < 100);
	fix_end(&f);
}

static void a_full_ring_is_looked_at_again(void)
{
	struct fw_cq *cq[9];
	struct moder_fix f;
	uint32_t i;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 100);
	for (i = 0; i < 9; i++) {
		cq[i] = host_cq(f.ut.nic, 0, 4, f.number);
		cq[i]->record->arm = HW_CQ_ARM_ARMED;
		cq_arm(f.ut.nic, cq[i]);
		fix_post(&f, cq[i], MODER_RX, 0);
	}
	CU_ASSERT_EQUAL(visible(&f), 8);
	CU_ASSERT_EQUAL(fw_lost_interrupts(f.ut.nic), 0);
	CU_ASSERT_TRUE(fix_irq_after(&f, 100 * US));
	CU_ASSERT_EQUAL(fix_take(&f), 8);
	fw_ut_poll(&f.ut, FW_EQ_RETRY_NS);
	CU_ASSERT_EQUAL(fix_irqs(&f), 2);
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_retry), 1);
	CU_ASSERT_EQUAL(fix_take(&f), 1);
	fw_ut_poll(&f.ut, FW_EQ_RETRY_NS);
	CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
	fix_end(&f);
}

/* A process that writes random values into its record harms only itself, and ends cleanly. */
static void a_process_that_lies(void)
{
	static const uint32_t lies[] = {1, 7, 8, 9, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX};
	struct moder_fix f;
	uint32_t i, j;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 3);
	fix_set(&f, HW_COALESCE_rx_frames, 3);
	fix_set(&f, HW_COALESCE_rx_frames_irq, 2);
	for (i = 0; i < 8; i++) {
		for (j = 0; j < 20; j++) {
			f.eq->record->cons = lies[(i + j) % 8];
			f.eq->record->masked = j % 3 == 0 ? lies[i] : 0;
			f.eq->record->rung = lies[j % 8];
			if (j % 2)
				moder_unmask(f.ut.nic, f.eq);
			f.cq->record->cons = f.cq->prod;
			f.cq->record->arm = HW_CQ_ARM_ARMED | lies[j % 8];
			cq_arm(f.ut.nic, f.cq);
			f.cq->ring[f.cq->prod & f.cq->mask].timestamp_ns = UINT64_MAX - j;
			fix_cqe(&f, j & 1 ? MODER_RX : MODER_TX, j * US);
			f.cq->ring[(f.cq->prod - 1) & f.cq->mask].timestamp_ns = lies[j % 8];
		}
	}
	f.eq->record->cons = f.eq->prod;
	f.eq->record->masked = 0;
	moder_unmask(f.ut.nic, f.eq);
	fw_ut_poll(&f.ut, 2 * FW_EQ_RETRY_NS);
	fix_end(&f);
}

static void ends_while_something_waits(void)
{
	struct moder_fix f;
	uint32_t client, i;

	for (i = 0; i < 3; i++) {
		fix_begin(&f);
		CU_ASSERT_EQUAL(fw_ut_attach(&f.ut, NULL, &client), 0);
		fix_set(&f, HW_COALESCE_rx_usecs, 100);
		fix_set(&f, HW_COALESCE_rx_usecs_irq, 100);
		if (i == 0)
			fix_ready(&f);
		else
			in_handler(&f);
		fix_mask(&f, i == 2);
		fix_cqe(&f, MODER_RX, 0);
		CU_ASSERT_NOT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
		fw_ut_detach(&f.ut, 0);
		fw_ut_poll(&f.ut, 1000 * US);
		CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
		fix_end(&f);
	}
}

UT_MAIN("nic_fw/host/moder_irq", UT(no_interrupt_while_the_handler_runs),
	UT(the_handler_ends_with_what_it_was_told_of), UT(usecs_irq), UT(frames_irq),
	UT(limits_irq_of_both_classes_and_both_kinds), UT(urgent_ones_are_visible_at_once),
	UT(the_end_of_the_handler_shows_what_was_hidden), UT(what_was_polled_is_hidden_no_more),
	UT(masked_nothing_is_raised), UT(unmasked_the_limits_go_on),
	UT(masked_in_the_turn_of_the_interrupt), UT(what_was_taken_meanwhile_is_not_told),
	UT(masked_the_limits_irq_rule), UT(indices_wrap), UT(a_full_ring_is_looked_at_again),
	UT(a_process_that_lies), UT(ends_while_something_waits))
