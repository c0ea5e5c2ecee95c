/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moderation that keeps a target: a number out of 10,000 completions reported within a number of
 * nanoseconds, by as few interrupts as possible.
 *
 * An interrupt waits until the oldest completion reaches the target time, and beyond it as far as
 * the budget allows: each reported completion earns what the percentile leaves, each late one costs
 * a whole. So the percentile holds at any moment, not on average. After waiting longer in vain,
 * since no completion followed (a peer waits for us), the next attempt is delayed. If a core comes
 * late to its turn, interrupts are scheduled earlier by as much. Calls moder_cmd.c.
 */
#include "nic_fw/fw_nic.h"

enum {
	WHOLE = 10000,           /* a completion, in units of the budget */
	MAX_CREDIT = 64 * WHOLE, /* upper bound of the savings of quiet times */
	MAX_VAIN = 10,
	MAX_TIMES = 3,
	SMOOTH = 16,
};

static const struct hw_coalesce *settings_of(const struct fw_nic *nic, const struct fw_eq *eq)
{
	return &nic->host.vectors[eq->vector].coalesce;
}

void moder_target_begin(struct fw_nic *nic, struct fw_eq *eq)
{
	const struct moder_limits none = {UINT64_MAX, MODER_NEVER};
	struct fw_moder *m = &eq->moder;

	m->limits[MODER_RX] = m->limits[MODER_TX] = none;
	m->target = (struct moder_target){.hold_ns = settings_of(nic, eq)->target_ns};
}

/* Returns how many of the waiting completions may be late, in units. */
static int64_t budget(const struct fw_nic *nic, const struct fw_eq *eq, uint32_t waiting)
{
	const struct moder_target *t = &eq->moder.target;
	int64_t earns = (int64_t)(WHOLE - settings_of(nic, eq)->target_percentile) * waiting;

	if (t->skip)
		return 0;
	return t->credit + earns;
}

uint64_t moder_target_due_ns(const struct fw_nic *nic, struct fw_eq *eq)
{
	const uint64_t target_ns = settings_of(nic, eq)->target_ns;
	struct fw_moder *m = &eq->moder;
	uint64_t due_ns = UINT64_MAX, oldest_ns = UINT64_MAX;
	uint32_t i, waiting = 0;
	int64_t left;

	for (i = 0; i < m->num_ages; i++)
		waiting += m->age[i].frames;
	left = budget(nic, eq, waiting);
	for (i = 0; i < m->num_ages; i++) {
		const struct moder_age *age = &m->age[i];

		if (age->ns < oldest_ns)
			oldest_ns = age->ns;
		left -= (int64_t)age->frames * WHOLE;
		if (left < 0 && age->ns < due_ns)
			due_ns = age->ns;
	}
	/* No completion waits for more than so many times the target. */
	if (due_ns > oldest_ns + (MAX_TIMES - 1) * target_ns)
		due_ns = oldest_ns + (MAX_TIMES - 1) * target_ns;
	m->target.due_ns = due_ns + target_ns - m->target.slack_ns;
	return m->target.due_ns;
}

/* Learns how late the interrupt is, if its time caused it. */
static void learn_slack(const struct fw_nic *nic, struct fw_moder *m, uint64_t target_ns)
{
	struct moder_target *t = &m->target;
	uint64_t over_ns = nic->now_ns > t->due_ns ? nic->now_ns - t->due_ns : 0;

	if (m->cause != HW_VECTOR_by_rx_usecs && m->cause != HW_VECTOR_by_tx_usecs)
		return;
	if (over_ns > target_ns)
		over_ns = target_ns;
	/* Lateness is paid for before the next attempt to wait longer. */
	if (over_ns > t->slack_ns)
		t->slack_ns = over_ns;
	else if (t->credit >= 0)
		t->slack_ns -= (t->slack_ns + SMOOTH - 1) / SMOOTH;
}

/* Reports the choice for queries: the present wait of an interrupt's first completion. */
static void report(struct fw_nic *nic, struct fw_eq *eq, uint64_t hold_ns)
{
	struct moder_target *t = &eq->moder.target;
	uint64_t was_ns = t->hold_ns, diff_ns;
	struct moder_limits limits = {0, MODER_NEVER};

	t->hold_ns = (t->hold_ns * (SMOOTH - 1) + hold_ns) / SMOOTH;
	diff_ns = t->hold_ns > was_ns ? t->hold_ns - was_ns : was_ns - t->hold_ns;
	if (diff_ns * SMOOTH > was_ns)
		nic->host.vectors[eq->vector].counter[HW_VECTOR_mode_changes]++;
	limits.ns = t->hold_ns;
	moder_chosen(nic, eq, &limits, &limits);
}

void moder_target_irq(struct fw_nic *nic, struct fw_eq *eq)
{
	const struct hw_coalesce *c = settings_of(nic, eq);
	struct fw_moder *m = &eq->moder;
	struct moder_target *t = &m->target;
	uint64_t newest_ns = 0, oldest_ns = nic->now_ns;
	uint32_t i, reported = 0, late = 0;

	for (i = 0; i < m->num_ages; i++) {
		const struct moder_age *age = &m->age[i];

		reported += age->frames;
		if (nic->now_ns > age->ns + c->target_ns)
			late += age->frames;
		if (age->ns > newest_ns)
			newest_ns = age->ns;
		if (age->ns < oldest_ns)
			oldest_ns = age->ns;
	}
	if (!reported)
		return;
	t->credit += (int64_t)(WHOLE - c->target_percentile) * reported - (int64_t)late * WHOLE;
	if (t->credit > MAX_CREDIT)
		t->credit = MAX_CREDIT;
	if (t->skip)
		t->skip--;
	/* The extra wait brought no further completion. */
	if (late && newest_ns <= oldest_ns + c->target_ns) {
		t->vain += t->vain < MAX_VAIN;
		t->skip = UINT32_C(1) << t->vain;
	} else if (late) {
		t->vain = 0;
	}
	learn_slack(nic, m, c->target_ns);
	report(nic, eq, nic->now_ns - oldest_ns);
}
