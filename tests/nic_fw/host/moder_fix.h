/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the moderation tests, included by moder*_ut.c: one event queue with one CQ,
 * completions at exact times, a process that takes its events and arms.
 */
#ifndef WEFT_TESTS_MODER_FIX_H
#define WEFT_TESTS_MODER_FIX_H

#include "tests/bench/host.h"

#define US UINT64_C(1000)

struct moder_fix {
	struct fw_ut ut;
	struct fw_cq *cq;
	struct fw_eq *eq;
	uint32_t number; /* number of the event queue */
};

static inline void fix_begin(struct moder_fix *f)
{
	fw_ut_begin(&f->ut);
	f->number = fw_ut_eq(&f->ut, 0, 8);
	f->cq = host_cq(f->ut.nic, 0, 64, f->number);
	f->eq = f->cq->event_queue;
	fw_ut_poll(&f->ut, 1000 * US);
}

static inline void fix_end(struct moder_fix *f)
{
	CU_ASSERT_EQUAL(fw_lost_interrupts(f->ut.nic), 0);
	fw_ut_end(&f->ut);
}

/* One parameter (HW_COALESCE_*) of vector 0. */
static inline void fix_set(struct moder_fix *f, uint32_t param, uint32_t value)
{
	struct hw_cmd_coalesce cmd = {.set = 1u << param};
	struct hw_resp_coalesce resp;

	cmd.coalesce.param[param] = value;
	CU_ASSERT_EQUAL(fw_coalesce(f->ut.nic, &cmd, &resp), 0);
}

/* Acts as the process: takes its events; returns their number. */
static inline uint32_t fix_take(struct moder_fix *f)
{
	struct hw_eqe eqe;
	uint32_t n = 0;

	while (fw_ut_event(&f->ut, 0, f->number, &eqe))
		n++;
	return n;
}

/* Polls all completions, and arms. */
static inline void fix_arm(struct moder_fix *f)
{
	f->cq->record->cons = f->cq->prod;
	f->cq->record->arm = (f->cq->prod & HW_CQ_ARM_INDEX) | HW_CQ_ARM_ARMED;
	cq_arm(f->ut.nic, f->cq);
}

static inline void fix_ready(struct moder_fix *f)
{
	(void)fix_take(f);
	fix_arm(f);
}

static inline void fix_post(struct moder_fix *f, struct fw_cq *cq, enum moder_class class,
			    uint8_t flags)
{
	struct hw_cqe cqe = {.opcode = class == MODER_RX ? HW_CQE_RECV : HW_CQE_SEND,
			     .flags = flags};

	CU_ASSERT_TRUE(cq_post(f->ut.nic, cq, &cqe));
}

/* Posts a completion in a turn of its own, dt_ns after the last turn. */
static inline void fix_cqe(struct moder_fix *f, enum moder_class class, uint64_t dt_ns)
{
	fw_ut_poll(&f->ut, dt_ns);
	fix_post(f, f->cq, class, 0);
	fw_ut_poll(&f->ut, 0);
	CU_ASSERT_EQUAL(fw_lost_interrupts(f->ut.nic), 0);
}

static inline uint32_t fix_irqs(const struct moder_fix *f)
{
	return f->ut.port.irqs[0][f->number];
}

/* Asserts no interrupt until just before dt_ns have passed, and one then. */
static inline bool fix_irq_after(struct moder_fix *f, uint64_t dt_ns)
{
	uint32_t before = fix_irqs(f);

	if (dt_ns)
		fw_ut_poll(&f->ut, dt_ns - 1);
	if (dt_ns && fix_irqs(f) != before)
		return false;
	fw_ut_poll(&f->ut, dt_ns ? 1 : 0);
	return fix_irqs(f) == before + 1;
}

static inline uint64_t fix_count(const struct moder_fix *f, enum hw_vector_counter counter)
{
	struct hw_resp_vector vector;

	CU_ASSERT_EQUAL(fw_vector(f->ut.nic, 0, &vector), 0);
	return vector.counter[counter];
}

static inline void fix_mask(struct moder_fix *f, bool masked)
{
	f->eq->record->masked = masked;
	if (!masked)
		moder_unmask(f->ut.nic, f->eq);
}

#endif /* WEFT_TESTS_MODER_FIX_H */
