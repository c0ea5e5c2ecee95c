/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits of a vector, alone and together, with exact times; the class in which each event
 * counts; events that do not wait; changes while an event is held back.
 */
#include "tests/nic_fw/host/moder_fix.h"

static uint32_t param(enum moder_class class, uint32_t rx_param)
{
	return class == MODER_RX ? rx_param
				 : rx_param + HW_COALESCE_tx_usecs - HW_COALESCE_rx_usecs;
}

static enum moder_class other(enum moder_class class)
{
	return class == MODER_RX ? MODER_TX : MODER_RX;
}

#define EACH_CLASS(c) for ((c) = MODER_RX; (c) < MODER_CLASSES; (c)++)

static void usecs_alone(void)
{
	static const uint32_t values[] = {1, 2, 50, 1023};
	struct moder_fix f;
	uint32_t c, i;

	EACH_CLASS(c)
	{
		for (i = 0; i < 4; i++) {
			fix_begin(&f);
			fix_set(&f, param(c, HW_COALESCE_rx_usecs), values[i]);
			fix_ready(&f);
			fix_cqe(&f, c, 77);
			CU_ASSERT_EQUAL(fix_irqs(&f), 0);
			CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), f.ut.now_ns + values[i] * US);
			CU_ASSERT_TRUE(fix_irq_after(&f, values[i] * US));
			CU_ASSERT_EQUAL(fix_count(&f, c == MODER_RX ? HW_VECTOR_by_rx_usecs
								    : HW_VECTOR_by_tx_usecs),
					1);
			/* The next interval begins with its own first event. */
			fix_ready(&f);
			fw_ut_poll(&f.ut, 3000 * US);
			fix_cqe(&f, c, 0);
			CU_ASSERT_TRUE(fix_irq_after(&f, values[i] * US));
			CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
			fix_end(&f);
		}
	}
}

static void usecs_count_from_the_first(void)
{
	struct moder_fix f;
	uint32_t i;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 20);
	fix_ready(&f);
	for (i = 0; i < 20; i++)
		fix_cqe(&f, MODER_RX, i ? US : 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 0);
	CU_ASSERT_TRUE(fix_irq_after(&f, 1 * US));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_coalesced), 19);
	fix_end(&f);
}

static void frames_alone(void)
{
	static const uint32_t values[] = {1, 2, 3, 16, 60};
	struct moder_fix f;
	uint32_t c, i, n;

	EACH_CLASS(c)
	{
		for (i = 0; i < 5; i++) {
			fix_begin(&f);
			fix_set(&f, param(c, HW_COALESCE_rx_frames), values[i]);
			fix_ready(&f);
			for (n = 1; n <= values[i]; n++) {
				CU_ASSERT_EQUAL(fix_irqs(&f), 0);
				fix_cqe(&f, c, 1 * US);
			}
			CU_ASSERT_EQUAL(fix_irqs(&f), 1);
			CU_ASSERT_EQUAL(fix_count(&f, c == MODER_RX ? HW_VECTOR_by_rx_frames
								    : HW_VECTOR_by_tx_frames),
					1);
			fix_end(&f);
		}
	}
}

static void frames_alone_are_bounded_in_time(void)
{
	struct moder_fix f;
	uint32_t c;

	EACH_CLASS(c)
	{
		fix_begin(&f);
		fix_set(&f, param(c, HW_COALESCE_rx_frames), 255);
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		fix_cqe(&f, c, 300 * US);
		CU_ASSERT_TRUE(fix_irq_after(&f, (HW_COALESCE_BOUND_US - 300) * US));
		fix_end(&f);
	}
}

static void either_limit_raises(void)
{
	struct moder_fix f;
	uint32_t c;

	EACH_CLASS(c)
	{
		fix_begin(&f);
		fix_set(&f, param(c, HW_COALESCE_rx_usecs), 10);
		fix_set(&f, param(c, HW_COALESCE_rx_frames), 3);
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		fix_cqe(&f, c, 4 * US);
		CU_ASSERT_TRUE(fix_irq_after(&f, 6 * US));
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		fix_cqe(&f, c, 4 * US);
		CU_ASSERT_EQUAL(fix_irqs(&f), 1);
		fix_cqe(&f, c, 5 * US);
		CU_ASSERT_EQUAL(fix_irqs(&f), 2);
		CU_ASSERT_EQUAL(
		    fix_count(&f, c == MODER_RX ? HW_VECTOR_by_rx_usecs : HW_VECTOR_by_tx_usecs),
		    1);
		CU_ASSERT_EQUAL(
		    fix_count(&f, c == MODER_RX ? HW_VECTOR_by_rx_frames : HW_VECTOR_by_tx_frames),
		    1);
		fix_end(&f);
	}
}

/* frames 1 makes usecs meaningless (ESPGOAL, below figure 6.1). */
static void one_frame_is_at_once(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 1023);
	fix_set(&f, HW_COALESCE_rx_frames, 1);
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 1);
	fix_end(&f);
}

static void a_class_does_not_count_the_other(void)
{
	struct moder_fix f;
	uint32_t c, i;

	EACH_CLASS(c)
	{
		fix_begin(&f);
		fix_set(&f, param(c, HW_COALESCE_rx_frames), 4);
		fix_set(&f, param(c, HW_COALESCE_rx_usecs), 500);
		fix_set(&f, param(other(c), HW_COALESCE_rx_usecs), 100);
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		for (i = 0; i < 9; i++)
			fix_cqe(&f, other(c), 1 * US);
		fix_cqe(&f, c, 1 * US);
		fix_cqe(&f, c, 1 * US);
		CU_ASSERT_EQUAL(fix_irqs(&f), 0);
		/* The other class counts from its own first event, and the interrupt ends both. */
		CU_ASSERT_TRUE(fix_irq_after(&f, 100 * US - 10 * US));
		CU_ASSERT_EQUAL(
		    fix_count(&f, c == MODER_RX ? HW_VECTOR_by_tx_usecs : HW_VECTOR_by_rx_usecs),
		    1);
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		fix_cqe(&f, c, 0);
		fix_cqe(&f, c, 0);
		CU_ASSERT_EQUAL(fix_irqs(&f), 1);
		fix_cqe(&f, c, 0);
		CU_ASSERT_EQUAL(fix_irqs(&f), 2);
		fix_end(&f);
	}
}

static void a_class_without_limits_does_not_wait(void)
{
	struct moder_fix f;
	uint32_t c;

	EACH_CLASS(c)
	{
		fix_begin(&f);
		fix_set(&f, param(c, HW_COALESCE_rx_usecs), 100);
		fix_ready(&f);
		fix_cqe(&f, other(c), 0);
		CU_ASSERT_EQUAL(fix_irqs(&f), 1);
		/* It takes waiting events along. */
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		CU_ASSERT_EQUAL(fix_irqs(&f), 1);
		fix_cqe(&f, other(c), 5 * US);
		CU_ASSERT_EQUAL(fix_irqs(&f), 2);
		CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_event), 2);
		CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
		fix_end(&f);
	}
}

static void what_is_urgent_does_not_wait(void)
{
	struct hw_cqe failed = {.status = HW_STATUS_WR_FLUSH_ERR, .opcode = HW_CQE_SEND};
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 100);
	fix_set(&f, HW_COALESCE_tx_frames, 100);
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	fix_post(&f, f.cq, MODER_RX, HW_CQE_F_SOLICITED);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_solicited), 1);
	fix_ready(&f);
	CU_ASSERT_TRUE(cq_post(f.ut.nic, f.cq, &failed));
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_error), 1);
	eq_post(f.ut.nic, 0, f.number, &(struct hw_eqe){.type = HW_EVENT_CM});
	CU_ASSERT_EQUAL(fix_take(&f), 2);
	eq_post(f.ut.nic, 0, f.number, &(struct hw_eqe){.type = HW_EVENT_CM});
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_by_async), 1);
	fix_end(&f);
}

/* Completions that precede the arming keep their age. */
static void armed_behind_completions(void)
{
	struct moder_fix f;
	uint32_t i;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 50);
	fix_set(&f, HW_COALESCE_rx_frames, 20);
	f.cq->record->arm = HW_CQ_ARM_ARMED | (f.cq->prod & HW_CQ_ARM_INDEX);
	for (i = 0; i < 5; i++)
		fix_cqe(&f, MODER_RX, 2 * US);
	cq_arm(f.ut.nic, f.cq);
	CU_ASSERT_EQUAL(f.eq->moder.wait[MODER_RX].frames, 5);
	CU_ASSERT_TRUE(fix_irq_after(&f, (50 - 8) * US));
	/* So many that they are due, of which only some are inspected. */
	(void)fix_take(&f);
	f.cq->record->arm = HW_CQ_ARM_ARMED | (f.cq->prod & HW_CQ_ARM_INDEX);
	for (i = 0; i < 19; i++)
		fix_cqe(&f, MODER_RX, 0);
	cq_arm(f.ut.nic, f.cq);
	fw_ut_poll(&f.ut, 0);
	CU_ASSERT_EQUAL(f.eq->moder.wait[MODER_RX].frames, 19);
	CU_ASSERT_EQUAL(fix_irqs(&f), 1);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 2);
	fix_end(&f);
}

static void settings_change_while_something_waits(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 100);
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	fw_ut_poll(&f.ut, 30 * US);
	/* Longer: from the first event, as always. */
	fix_set(&f, HW_COALESCE_rx_usecs, 200);
	CU_ASSERT_TRUE(fix_irq_after(&f, 170 * US));
	/* Shorter, and already over. */
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	fw_ut_poll(&f.ut, 30 * US);
	fix_set(&f, HW_COALESCE_rx_usecs, 20);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	/* A count that is already reached. */
	fix_set(&f, HW_COALESCE_rx_usecs, 100);
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	fix_cqe(&f, MODER_RX, 0);
	fix_set(&f, HW_COALESCE_rx_frames, 2);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	/* Off. */
	fix_set(&f, HW_COALESCE_rx_frames, 0);
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_irqs(&f), 3);
	fix_set(&f, HW_COALESCE_rx_usecs, 0);
	CU_ASSERT_TRUE(fix_irq_after(&f, 0));
	CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
	fix_end(&f);
}

static int modify(struct moder_fix *f, uint32_t count, uint32_t period_us)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_CQ};
	struct hw_cmd_resp resp;

	cmd.u.cq.cq = f->cq->index;
	cmd.u.cq.count = count;
	cmd.u.cq.period_us = period_us;
	return host_cmd(f->ut.nic, 0, &cmd, &resp);
}

static void a_cq_of_its_own_settings(void)
{
	struct moder_fix f;
	uint32_t c;

	EACH_CLASS(c)
	{
		fix_begin(&f);
		fix_set(&f, param(c, HW_COALESCE_rx_usecs), 10);
		CU_ASSERT_EQUAL(modify(&f, 3, 500), 0);
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		fix_cqe(&f, c, 100 * US);
		CU_ASSERT_EQUAL(fix_irqs(&f), 0);
		fix_cqe(&f, c, 0);
		CU_ASSERT_EQUAL(fix_irqs(&f), 1);
		/* Changed while it waits; removed. */
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		fw_ut_poll(&f.ut, 50 * US);
		CU_ASSERT_EQUAL(modify(&f, 0, 60), 0);
		CU_ASSERT_TRUE(fix_irq_after(&f, 10 * US));
		fix_ready(&f);
		fix_cqe(&f, c, 0);
		fw_ut_poll(&f.ut, 5 * US);
		CU_ASSERT_EQUAL(modify(&f, 0, 0), 0);
		CU_ASSERT_TRUE(fix_irq_after(&f, 5 * US));
		fix_end(&f);
	}
}

static void a_process_that_polls_needs_no_interrupt(void)
{
	struct moder_fix f;

	fix_begin(&f);
	fix_set(&f, HW_COALESCE_rx_usecs, 100);
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 0);
	CU_ASSERT_EQUAL(fix_take(&f), 1);
	fw_ut_poll(&f.ut, 100 * US);
	CU_ASSERT_EQUAL(fix_irqs(&f), 0);
	CU_ASSERT_EQUAL(fw_next_timer_ns(f.ut.nic), UINT64_MAX);
	/* The next event has its own time limit. */
	fix_ready(&f);
	fix_cqe(&f, MODER_RX, 7 * US);
	CU_ASSERT_TRUE(fix_irq_after(&f, 100 * US));
	fix_end(&f);
}

UT_MAIN("nic_fw/host/moder_limits", UT(usecs_alone), UT(usecs_count_from_the_first),
	UT(frames_alone), UT(frames_alone_are_bounded_in_time), UT(either_limit_raises),
	UT(one_frame_is_at_once), UT(a_class_does_not_count_the_other),
	UT(a_class_without_limits_does_not_wait), UT(what_is_urgent_does_not_wait),
	UT(armed_behind_completions), UT(settings_change_while_something_waits),
	UT(a_cq_of_its_own_settings), UT(a_process_that_polls_needs_no_interrupt))
