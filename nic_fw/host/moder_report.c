/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions that interrupts report, by their age; the counters of a vector; the search for events
 * that no interrupt would ever report.
 *
 * An event queue keeps, for unreported completions, their number in each turn. When the table is
 * full, two neighbouring turns are merged, and count as old as the older. Calls the modes.
 */
#include "nic_fw/fw_nic.h"

/* Upper bound, since a process can write any value into a CQE. */
#define MAX_WAIT_NS (UINT64_C(1) << 31)

void moder_age_add(struct fw_moder *m, uint64_t ns, uint32_t frames)
{
	uint32_t i;

	if (m->num_ages && m->age[m->num_ages - 1].ns == ns) {
		m->age[m->num_ages - 1].frames += frames;
		return;
	}
	if (m->num_ages == MODER_AGES) {
		for (i = 0; i < MODER_AGES / 2; i++) {
			m->age[i].ns = m->age[2 * i].ns < m->age[2 * i + 1].ns
					   ? m->age[2 * i].ns
					   : m->age[2 * i + 1].ns;
			m->age[i].frames = m->age[2 * i].frames + m->age[2 * i + 1].frames;
		}
		m->num_ages = MODER_AGES / 2;
	}
	m->age[m->num_ages].ns = ns;
	m->age[m->num_ages++].frames = frames;
}

void moder_forget(struct fw_moder *m)
{
	m->num_ages = 0;
}

void moder_report(struct fw_nic *nic, struct fw_eq *eq)
{
	struct moder_vector *vector = &nic->host.vectors[eq->vector];
	struct fw_moder *m = &eq->moder;
	uint64_t news = m->completions - m->completions_reported + m->others;
	uint32_t i;

	vector->counter[m->cause]++;
	if (news > 1)
		vector->counter[HW_VECTOR_coalesced] += news - 1;
	for (i = 0; i < m->num_ages; i++) {
		const struct moder_age *age = &m->age[i];
		uint64_t wait_ns = nic->now_ns - age->ns;

		/* Covers an age in the future, too. */
		if (wait_ns > MAX_WAIT_NS)
			wait_ns = MAX_WAIT_NS;
		vector->wait[hw_vector_bucket_of(wait_ns)] += age->frames;
		vector->wait_sum_ns += wait_ns * age->frames;
	}
	if (m->mode == HW_COALESCE_ADAPTIVE)
		moder_adapt_irq(nic, eq);
	else if (m->mode == HW_COALESCE_TARGET)
		moder_target_irq(nic, eq);
	m->completions_reported = m->completions;
	m->others = 0;
	moder_forget(m);
}

/* ---- counters -------------------------------------------------------------------------------- */

static const char *const stat_names[] = {
#define X(name) "moder_" #name,
    HW_VECTOR_COUNTERS(X)
#undef X
};

/* Completions and interrupts of a vector are sums of others. */
static uint64_t counter_of(const struct fw_nic *nic, uint32_t vector, uint32_t i)
{
	const struct moder_vector *v = &nic->host.vectors[vector];
	uint64_t sum = v->counter[i];
	uint32_t at;

	if (i == HW_VECTOR_completions) {
		for (at = 0; at < nic->host.eq_ids.high; at++)
			if (nic->host.eqs[at].used && nic->host.eqs[at].vector == vector)
				sum += nic->host.eqs[at].moder.completions;
	} else if (i == HW_VECTOR_interrupts) {
		for (at = HW_VECTOR_by_event; at <= HW_VECTOR_by_retry; at++)
			sum += v->counter[at];
	}
	return sum;
}

bool moder_stat(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value)
{
	uint32_t vector;

	if (i >= HW_VECTOR_NUM_COUNTERS)
		return false;
	*name = stat_names[i];
	*value = 0;
	for (vector = 0; vector < HW_NUM_VECTORS; vector++)
		*value += counter_of(nic, vector, i);
	return true;
}

int fw_vector(const struct fw_nic *nic, uint32_t vector, struct hw_resp_vector *resp)
{
	const struct moder_vector *v;
	uint32_t i;

	if (vector >= HW_NUM_VECTORS)
		return FW_EINVAL;
	v = &nic->host.vectors[vector];
	memset(resp, 0, sizeof(*resp));
	for (i = 0; i < HW_VECTOR_NUM_COUNTERS; i++)
		resp->counter[i] = counter_of(nic, vector, i);
	memcpy(resp->wait, v->wait, sizeof(resp->wait));
	resp->wait_sum_ns = v->wait_sum_ns;
	resp->event_queues = v->event_queues;
	return 0;
}

/* ---- lost events ----------------------------------------------------------------------------- */

static bool eq_is_lost(const struct fw_eq *eq)
{
	const struct fw_moder *m = &eq->moder;
	bool waits = m->wait[MODER_RX].frames || m->wait[MODER_TX].frames;

	if (fw_timer_is_set(&m->timer))
		return false;
	if (m->starved || !fw_list_empty(&m->hidden_cqs))
		return true;
	return waits && !m->by_mask && !eq->irq_pending;
}

uint32_t fw_lost_interrupts(const struct fw_nic *nic)
{
	uint32_t i, lost = 0;

	for (i = 0; i < nic->host.eq_ids.high; i++)
		lost += nic->host.eqs[i].used && eq_is_lost(&nic->host.eqs[i]);
	for (i = 0; i < nic->host.cq_ids.high; i++) {
		const struct fw_cq *cq = &nic->host.cqs[i];

		lost += cq->used && cq->event_queue && cq->armed && cq_is_due(cq) &&
			!fw_list_linked(&cq->hidden_node) && !cq->event_queue->moder.starved;
	}
	return lost;
}
