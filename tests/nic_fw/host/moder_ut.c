/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: off, by count, by period, urgent entries, several CQs of one EQ.
 */
#include "tests/bench/host.h"

#define US UINT64_C(1000)

static void post(struct fw_ut *ut, struct fw_cq *cq, uint8_t flags)
{
	struct hw_cqe cqe = {.flags = flags, .opcode = HW_CQE_RECV};

	CU_ASSERT_TRUE(cq_post(ut->nic, cq, &cqe));
}

/* Acts as a process: takes its events, polls, arms. */
static void arm(struct fw_ut *ut, struct fw_cq *cq)
{
	struct hw_eqe eqe;

	while (fw_ut_event(ut, 0, cq->eq, &eqe))
		;
	cq->record->cons = cq->prod;
	cq->record->arm = (cq->prod & HW_CQ_ARM_INDEX) | HW_CQ_ARM_ARMED;
	cq_arm(ut->nic, cq);
}

static int modify(struct fw_ut *ut, const struct fw_cq *cq, uint32_t count, uint32_t period_us)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_CQ};
	struct hw_cmd_resp resp;

	cmd.u.cq.cq = cq->index;
	cmd.u.cq.count = count;
	cmd.u.cq.period_us = period_us;
	return host_cmd(ut->nic, 0, &cmd, &resp);
}

/* Limits of a vector for receives (class 0) or for requests. */
static int set(struct fw_ut *ut, uint32_t vector, uint32_t class, uint32_t usecs, uint32_t frames)
{
	struct hw_cmd_coalesce cmd = {.vector = vector};
	struct hw_resp_coalesce resp;

	cmd.set = 3u << (class ? HW_COALESCE_tx_usecs : HW_COALESCE_rx_usecs);
	cmd.coalesce.param[class ? HW_COALESCE_tx_usecs : HW_COALESCE_rx_usecs] = usecs;
	cmd.coalesce.param[class ? HW_COALESCE_tx_frames : HW_COALESCE_rx_frames] = frames;
	return fw_coalesce(ut->nic, &cmd, &resp);
}

static void off_by_default(void)
{
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq, i;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	for (i = 1; i <= 5; i++) {
		arm(&ut, cq);
		post(&ut, cq, 0);
		fw_ut_poll(&ut, 0);
		CU_ASSERT_EQUAL(ut.port.irqs[0][eq], i);
	}
	fw_ut_end(&ut);
}

static void by_count(void)
{
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq, i;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	CU_ASSERT_EQUAL(modify(&ut, cq, 4, 500), 0);
	arm(&ut, cq);
	for (i = 0; i < 3; i++) {
		post(&ut, cq, 0);
		fw_ut_poll(&ut, 1 * US);
		CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 0);
	}
	post(&ut, cq, 0);
	fw_ut_poll(&ut, 1 * US);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	/* The period of the raised interrupt is over too. */
	fw_ut_poll(&ut, 1000 * US);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	CU_ASSERT_EQUAL(fw_next_timer_ns(ut.nic), UINT64_MAX);
	fw_ut_end(&ut);
}

static void by_period(void)
{
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	CU_ASSERT_EQUAL(modify(&ut, cq, 0, 100), 0);
	arm(&ut, cq);
	fw_ut_poll(&ut, 200 * US);
	post(&ut, cq, 0);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(fw_next_timer_ns(ut.nic), ut.now_ns + 100 * US);
	fw_ut_poll(&ut, 60 * US);
	post(&ut, cq, 0); /* the period counts from the first */
	fw_ut_poll(&ut, 39 * US);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 0);
	fw_ut_poll(&ut, 1 * US);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	fw_ut_end(&ut);
}

static void a_count_without_a_period_is_bounded(void)
{
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	CU_ASSERT_EQUAL(modify(&ut, cq, 50, 0), 0);
	arm(&ut, cq);
	post(&ut, cq, 0);
	fw_ut_poll(&ut, HW_COALESCE_BOUND_US * US - 1);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 0);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	fw_ut_end(&ut);
}

static void urgent_entries_do_not_wait(void)
{
	struct hw_cqe failed = {.status = HW_STATUS_WR_FLUSH_ERR};
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	CU_ASSERT_EQUAL(modify(&ut, cq, 50, 1000), 0);
	arm(&ut, cq);
	post(&ut, cq, HW_CQE_F_SOLICITED);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	/* A solicited completion reports a waiting one with it. */
	arm(&ut, cq);
	post(&ut, cq, 0);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	CU_ASSERT_TRUE(cq_post(ut.nic, cq, &failed));
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 2);
	CU_ASSERT_EQUAL(fw_next_timer_ns(ut.nic), UINT64_MAX);
	fw_ut_end(&ut);
}

static void the_vector_applies_where_the_cq_has_nothing(void)
{
	struct fw_ut ut;
	struct fw_cq *cq, *own;
	uint32_t eq, eq2;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	eq2 = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	own = host_cq(ut.nic, 0, 64, eq2);
	CU_ASSERT_EQUAL(set(&ut, 0, 0, 50, 2), 0);
	CU_ASSERT_EQUAL(modify(&ut, own, 3, 80), 0);
	arm(&ut, cq);
	arm(&ut, own);
	post(&ut, cq, 0);
	post(&ut, own, 0);
	post(&ut, cq, 0);
	post(&ut, own, 0);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq2], 0);
	post(&ut, own, 0);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq2], 1);
	fw_ut_end(&ut);
}

static void the_most_impatient_cq_of_an_eq_decides(void)
{
	struct fw_cq *slow, *fast, *plain;
	struct fw_ut ut;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	slow = host_cq(ut.nic, 0, 64, eq);
	fast = host_cq(ut.nic, 0, 64, eq);
	plain = host_cq(ut.nic, 0, 64, eq);
	CU_ASSERT_EQUAL(modify(&ut, slow, 0, 1000), 0);
	CU_ASSERT_EQUAL(modify(&ut, fast, 0, 100), 0);
	arm(&ut, slow);
	arm(&ut, fast);
	post(&ut, slow, 0);
	fw_ut_poll(&ut, 10 * US);
	post(&ut, fast, 0);
	fw_ut_poll(&ut, 100 * US);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	fw_ut_poll(&ut, 2000 * US);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 1);
	arm(&ut, slow);
	arm(&ut, plain);
	post(&ut, slow, 0);
	post(&ut, plain, 0);
	fw_ut_poll(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 2);
	fw_ut_end(&ut);
}

static void settings_are_checked(void)
{
	struct fw_ut ut;
	struct fw_cq *cq;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, 64, HW_EQ_NONE);
	CU_ASSERT_EQUAL(modify(&ut, cq, UINT16_MAX + 1, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(modify(&ut, cq, 0, MODER_MAX_PERIOD_US + 1), FW_EINVAL);
	CU_ASSERT_EQUAL(modify(&ut, cq, UINT16_MAX, MODER_MAX_PERIOD_US), 0);
	fw_ut_end(&ut);
}

static void an_eq_may_go_while_its_interrupt_waits(void)
{
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	CU_ASSERT_EQUAL(modify(&ut, cq, 0, 100), 0);
	arm(&ut, cq);
	post(&ut, cq, 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_CQ, cq->index, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_EQ, eq, NULL), 0);
	fw_ut_poll(&ut, 1000 * US);
	CU_ASSERT_EQUAL(ut.port.irqs[0][eq], 0);
	fw_ut_end(&ut);
}

/* The oracle of other tests: completions that no interrupt and no timer will report. */
static void lost_interrupts_are_seen(void)
{
	struct fw_ut ut;
	struct fw_eq *eq;

	fw_ut_begin(&ut);
	eq = &ut.nic->host.eqs[0];
	CU_ASSERT_TRUE_FATAL(eq->used);
	CU_ASSERT_EQUAL(fw_lost_interrupts(ut.nic), 0);
	eq->moder.wait[MODER_RX].frames = 1;
	CU_ASSERT_EQUAL(fw_lost_interrupts(ut.nic), 1);
	eq->moder.by_mask = true;
	CU_ASSERT_EQUAL(fw_lost_interrupts(ut.nic), 0);
	eq->moder.by_mask = false;
	eq->moder.wait[MODER_RX].frames = 0;
	fw_ut_end(&ut);
}

/* The adaptive mode: a wait is over when no completion has come for two gaps, or three. */
static void overdue(void)
{
	struct fw_moder m = {.adapt = {.last_ns = 7000000, .gap_ns = 1000000}};
	uint8_t profile;

	for (profile = 0; profile < 4; profile++) {
		m.adapt.profile = profile;
		CU_ASSERT_EQUAL(moder_adapt_due_ns(&m), profile > 1 ? 10000000 : 9000000);
	}
}

/* A profile that reports enough stays for another while, once the one before is over. */
static void stays_parked(void)
{
	struct moder_adapt *a;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 8);
	cq = host_cq(ut.nic, 0, 64, eq);
	fw_ut_poll(&ut, 1000 * US);
	a = &cq->event_queue->moder.adapt;
	a->tune = MODER_TUNE_PARKED;
	a->profile = 3;
	a->patience = 2;
	a->parked_for = 1;
	a->sample.interrupts = 100;
	cq->event_queue->moder.completions = 100000;
	moder_adapt_irq(ut.nic, cq->event_queue);
	CU_ASSERT_EQUAL(a->tune, MODER_TUNE_PARKED);
	CU_ASSERT_EQUAL(a->profile, 3);
	CU_ASSERT_EQUAL(a->parked_for, 4);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/moder", UT(off_by_default), UT(by_count), UT(by_period),
	UT(a_count_without_a_period_is_bounded), UT(urgent_entries_do_not_wait),
	UT(the_vector_applies_where_the_cq_has_nothing), UT(the_most_impatient_cq_of_an_eq_decides),
	UT(settings_are_checked), UT(an_eq_may_go_while_its_interrupt_waits),
	UT(lost_interrupts_are_seen), UT(overdue), UT(stays_parked))
