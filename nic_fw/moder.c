/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: an event that is not urgent may wait for others.
 *
 * Settings come from the CQ (MODIFY_CQ) or else from the EQ's vector (nic->moder); all are
 * off at first, and each event is then an interrupt. Moderated, the interrupt comes after
 * count completions or period microseconds after the first, whichever is sooner. Called by
 * cq.c when it has written an event; calls eq_raise(). The paper's study of interrupt
 * coalescing: espgoal 5.
 */
#include "nic_fw/fw_nic.h"

#define NS_PER_US UINT64_C(1000)

/* The settings that hold for completions of this CQ. */
static struct fw_moder_params params_of(const struct fw_nic *nic, const struct fw_eq *eq,
					const struct fw_cq *cq)
{
	struct fw_moder_params params = {cq->moder_period_us, cq->moder_count};

	if (!params.rx_usecs && !params.rx_frames)
		params = nic->moder[eq->vector];
	/* A count alone would leave the last few waiting for ever. */
	if (!params.rx_usecs && params.rx_frames > 1)
		params.rx_usecs = FW_MODER_DEFAULT_PERIOD_US;
	if (params.rx_frames == 1)
		params.rx_usecs = 0;
	return params;
}

static void fire_by(struct fw_nic *nic, struct fw_eq *eq, uint64_t deadline_ns)
{
	if (!fw_timer_is_set(&eq->moder_timer) || eq->moder_timer.deadline_ns > deadline_ns)
		fw_timer_set(&nic->timers, &eq->moder_timer, deadline_ns);
}

void moder_event(struct fw_nic *nic, struct fw_eq *eq, const struct fw_cq *cq, bool urgent)
{
	struct fw_moder_params params = params_of(nic, eq, cq);
	/* No count: the period alone decides. */
	uint32_t target = params.rx_frames ? params.rx_frames : UINT32_MAX;

	fw_trace(nic, TRACE_MODER, 0, eq->number, eq->moder_events);
	if (urgent || !params.rx_usecs || eq->irq_pending) {
		eq_raise(nic, eq);
		return;
	}
	/* Several CQs of one EQ: the most impatient one decides. */
	if (!eq->moder_target || target < eq->moder_target)
		eq->moder_target = target;
	eq->moder_events += cq->prod - cq->arm_index;
	if (eq->moder_events >= eq->moder_target)
		eq_raise(nic, eq);
	else
		fire_by(nic, eq, nic->now_ns + params.rx_usecs * NS_PER_US);
}

void moder_cqe(struct fw_nic *nic, struct fw_eq *eq, bool urgent)
{
	eq->moder_events++;
	if (urgent || eq->moder_events >= eq->moder_target)
		eq_raise(nic, eq);
}

void moder_starved(struct fw_nic *nic, struct fw_eq *eq)
{
	eq->starved = true;
	fire_by(nic, eq, nic->now_ns + FW_EQ_RETRY_NS);
}

/* Of the EQ's timer: the period is over, or a full ring is to be looked at again. */
void moder_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct fw_eq *eq = FW_CONTAINER(timer, struct fw_eq, moder_timer);

	if (eq->moder_target)
		eq_raise(nic, eq);
	if (!eq->starved)
		return;
	if (eq_is_full(eq)) {
		moder_starved(nic, eq);
		return;
	}
	eq->starved = false;
	cq_retry_events(nic, eq);
}
