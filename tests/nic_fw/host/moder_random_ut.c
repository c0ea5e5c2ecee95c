/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moderation under random settings, completions, masks and processes, beside a model of it.
 *
 * The engine must do as the model (moder_model.h) says, neither a nanosecond earlier nor later, and
 * its counters must add up.
 * ADAPTIVE and TARGET decide by themselves: of them, bounds and the promise are asked. A failure
 * names its seed: WEFT_SEED=n runs it alone, WEFT_SEEDS=n so many.
 */
#include "tests/nic_fw/host/moder_model.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	SEEDS = 300,
	STEPS = 400,
	RING = 64,
	FIRST_SEED = 1,
	BACK = 3, /* entries that a process had not polled when it armed */
};

/* ---- the engine beside it -------------------------------------------------------------------- */

static bool same(struct model *m, const char *after)
{
	uint32_t lost = fw_lost_interrupts(m->f.ut.nic);
	bool ok = fix_irqs(&m->f) == m->irqs && m->f.eq->prod == m->prod && !lost;

	if (!ok)
		printf(
		    "\n    WEFT_SEED=%llu: after %s at %llu ns: %u interrupts, not %u; %u entries, "
		    "not %u; %u lost",
		    (unsigned long long)m->seed, after, (unsigned long long)m->now_ns,
		    fix_irqs(&m->f), m->irqs, m->f.eq->prod, m->prod, lost);
	CU_ASSERT(ok);
	return ok;
}

/*
 * The engine may forget events that the process has taken by polling at any turn. Nothing waits for
 * it, so the model follows the engine.
 */
static void turn(struct model *m, uint64_t to_ns)
{
	const struct moder_wait *w = m->f.eq->moder.wait;

	fw_ut_poll(&m->f.ut, to_ns - m->now_ns);
	m->now_ns = to_ns;
	if (waits(m->wait) && m->cons == m->prod && !m->irq_due && !w[MODER_RX].frames &&
	    !w[MODER_TX].frames)
		forget(m);
}

/* Time of the next event without input; UINT64_MAX: never. */
static uint64_t next_ns(const struct model *m)
{
	uint64_t ns = any_hidden(m) ? visible_ns(m) : UINT64_MAX;

	return waits(m->wait) && !m->masked ? least(ns, due_ns(m)) : ns;
}

/* Advances from one deadline to the next, with a check a nanosecond before each. */
static bool advance(struct model *m, uint64_t ns)
{
	uint64_t to_ns = m->now_ns + ns, at_ns;
	bool ok = true;

	while (ok && (at_ns = next_ns(m)) <= to_ns) {
		if (at_ns > m->now_ns + 1) {
			turn(m, at_ns - 1);
			ok = same(m, "a nanosecond too few");
		}
		turn(m, at_ns > m->now_ns ? at_ns : m->now_ns);
		if (waits(m->wait) && !any_hidden(m) && m->cons == m->prod)
			forget(m);
		look(m);
		end_turn(m);
		ok &= same(m, "a deadline");
	}
	if (ok && to_ns > m->now_ns) {
		turn(m, to_ns);
		ok = same(m, "time");
	}
	return ok;
}

static bool complete(struct model *m)
{
	uint32_t n = 1 + (below(m, 4) ? 0 : below(m, 6));

	for (; n; n--) {
		struct model_cq *q = &m->cq[below(m, CQS)];
		enum moder_class class = below(m, 3) ? MODER_RX : MODER_TX;
		bool urgent = !below(m, 12);

		/* The process polls now and then, armed or not. */
		if (q->prod - q->cq->record->cons > RING / 2)
			q->cq->record->cons = q->prod - BACK;
		fix_post(&m->f, q->cq, class, urgent ? HW_CQE_F_SOLICITED : 0);
		completion(m, q, class, urgent);
	}
	turn(m, m->now_ns);
	end_turn(m);
	return same(m, "completions");
}

static void arm(struct model *m, struct model_cq *q)
{
	uint32_t back = below(m, 4) ? 0 : below(m, BACK + 1), n, i;
	bool solicited = !below(m, 6), urgent;
	enum moder_class class[BACK];
	uint64_t ns[BACK];

	if (back > q->prod - q->arm_index)
		back = q->prod - q->arm_index;
	q->arm_index = q->prod - back;
	q->cq->record->cons = q->arm_index;
	q->cq->record->arm = (q->arm_index & HW_CQ_ARM_INDEX) | HW_CQ_ARM_ARMED |
			     (solicited ? HW_CQ_ARM_SOLICITED : 0);
	cq_arm(m->f.ut.nic, q->cq);
	q->armed = true;
	q->solicited = solicited;
	urgent = (int32_t)(q->solicited_prod - q->arm_index) > 0;
	n = solicited && !urgent ? 0 : back;
	for (i = 0; i < n; i++) {
		const struct hw_cqe *cqe = &q->cq->ring[(q->arm_index + i) & q->cq->mask];

		ns[i] = cqe->timestamp_ns;
		class[i] = cqe->opcode == HW_CQE_RECV ? MODER_RX : MODER_TX;
	}
	if (n)
		event(m, q, n, ns, class, urgent);
	if (waits(m->wait) || any_hidden(m))
		look(m);
}

/* The process takes entries, all or some, and arms their CQs. */
static bool handle(struct model *m)
{
	uint32_t n = below(m, 4) ? UINT32_MAX : 1 + below(m, 2);
	bool again[CQS] = {false};
	struct hw_eqe eqe;
	uint32_t i;

	while (n-- && fw_ut_event(&m->f.ut, 0, m->f.number, &eqe)) {
		m->cons++;
		for (i = 0; i < CQS; i++)
			again[i] |= m->cq[i].cq->index == eqe.id;
	}
	if ((int32_t)(m->cons - m->irq_prod) >= 0)
		m->handler = false;
	for (i = 0; i < CQS; i++)
		if (again[i] && !m->cq[i].armed)
			arm(m, &m->cq[i]);
	turn(m, m->now_ns);
	end_turn(m);
	return same(m, "the process's turn");
}

static bool mask(struct model *m)
{
	bool at_once = m->at_once;

	m->masked = !m->masked;
	fix_mask(&m->f, m->masked);
	if (!m->masked) {
		m->at_once = false;
		if (!any_hidden(m) && m->cons == m->prod)
			forget(m);
		else if (any_hidden(m) && !m->handler)
			reveal(m);
		else
			raise_if_due(m);
		if (at_once && m->cons != m->prod && !m->handler)
			m->irq_due = true;
	}
	turn(m, m->now_ns);
	end_turn(m);
	return same(m, "the mask");
}

static uint32_t draw_param(struct model *m, uint32_t param)
{
	static const uint32_t usecs[] = {0, 0, 0, 1, 3, 20, 100, 1023};
	static const uint32_t frames[] = {0, 0, 0, 1, 2, 3, 9, 255};

	return param % 2 ? frames[below(m, 8)] : usecs[below(m, 8)];
}

static bool set_param(struct model *m)
{
	uint32_t param = below(m, HW_COALESCE_NUM_PARAMS);

	m->param[param] = draw_param(m, param);
	fix_set(&m->f, param, m->param[param]);
	look(m);
	turn(m, m->now_ns);
	end_turn(m);
	return same(m, "a parameter");
}

static void begin(struct model *m, uint64_t seed)
{
	uint32_t i;

	memset(m, 0, sizeof(*m));
	m->seed = m->random = seed;
	fix_begin(&m->f);
	m->f.number = fw_ut_eq(&m->f.ut, 0, RING);
	for (i = 0; i < CQS; i++) {
		struct model_cq *q = &m->cq[i];

		q->cq = host_cq(m->f.ut.nic, 0, RING, m->f.number);
		q->armed = true;
		if (below(m, 3))
			q->cq->moder_count = q->cq->moder_period_us = 0;
		else
			q->cq->moder_count = 1 + below(m, 5), q->cq->moder_period_us = below(m, 50);
		if (q->cq->moder_count)
			q->own = limits_of(q->cq->moder_period_us, q->cq->moder_count);
		q->cq->record->arm = HW_CQ_ARM_ARMED;
		cq_arm(m->f.ut.nic, q->cq);
	}
	m->f.eq = m->cq[0].cq->event_queue;
	for (i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		m->param[i] = draw_param(m, i);
		fix_set(&m->f, i, m->param[i]);
	}
	m->now_ns = m->f.ut.now_ns;
}

static void check_counters(struct model *m)
{
	struct hw_resp_vector v;
	uint64_t told = 0, causes = 0;
	uint32_t i;

	CU_ASSERT_EQUAL(fw_vector(m->f.ut.nic, 0, &v), 0);
	for (i = 0; i < HW_VECTOR_BUCKETS; i++)
		told += v.wait[i];
	for (i = HW_VECTOR_by_event; i <= HW_VECTOR_by_retry; i++)
		causes += v.counter[i];
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_completions], m->completions);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_events], m->prod);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_interrupts], m->irqs);
	CU_ASSERT_EQUAL(causes, m->irqs);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_held_irq], m->held);
	CU_ASSERT_EQUAL(told, m->told);
	CU_ASSERT_EQUAL(v.counter[HW_VECTOR_mode_changes], 0);
	if (told != m->told || v.counter[HW_VECTOR_held_irq] != m->held)
		printf("\n    WEFT_SEED=%llu: told %llu, not %llu; hidden %llu, not %llu",
		       (unsigned long long)m->seed, (unsigned long long)told,
		       (unsigned long long)m->told,
		       (unsigned long long)v.counter[HW_VECTOR_held_irq],
		       (unsigned long long)m->held);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Runs the steps of one seed; false: the engine differs from the model. */
static bool steps(struct model *m)
{
	bool ok = true;
	uint32_t i;

	for (i = 0; i < STEPS && ok; i++) {
		uint32_t what = below(m, 32);

		if (what < 12)
			ok = complete(m);
		else if (what < 20)
			ok = advance(m, below(m, below(m, 4) ? 5000 : 300000));
		else if (what < 29)
			ok = handle(m);
		else if (what < 31)
			ok = mask(m);
		else
			ok = set_param(m);
	}
	return ok;
}

static void fixed_to_the_nanosecond(void)
{
	uint64_t first = number("WEFT_SEED", FIRST_SEED);
	uint64_t n = number("WEFT_SEEDS", getenv("WEFT_SEED") ? 1 : SEEDS), seed;
	static struct model m;
	bool ok = true;

	for (seed = first; seed < first + n && ok; seed++) {
		begin(&m, seed);
		ok = steps(&m);
		if (ok)
			check_counters(&m);
		fix_end(&m.f);
	}
}

/* ---- the adaptive modes ---------------------------------------------------------------------- */

/* Completions that no interrupt has reported, and the reports so far. */
struct promise {
	uint64_t ns[RING];
	uint32_t n;
	uint64_t told, late;
	uint64_t target_ns, most_ns;
	uint32_t percentile; /* of 10,000; 0: ADAPTIVE */
	uint32_t irqs;
};

static void set_mode(struct model *m, struct promise *p)
{
	struct hw_cmd_coalesce cmd = {.set = HW_COALESCE_SET_MODE};
	struct hw_resp_coalesce resp;

	if (below(m, 3)) {
		p->target_ns = (1 + below(m, 100)) * US;
		p->most_ns = 3 * p->target_ns;
		p->percentile = HW_COALESCE_MIN_PERCENTILE + below(m, HW_COALESCE_MIN_PERCENTILE);
		cmd.coalesce.mode = HW_COALESCE_TARGET;
		cmd.coalesce.target_ns = (uint32_t)p->target_ns;
		cmd.coalesce.target_percentile = p->percentile;
	} else {
		p->most_ns = 1000 * US;
		cmd.coalesce.mode = HW_COALESCE_ADAPTIVE;
	}
	CU_ASSERT_EQUAL(fw_coalesce(m->f.ut.nic, &cmd, &resp), 0);
}

/* One turn. An interrupt reports all waiting completions, and the process responds at once. */
static bool promise_turn(struct model *m, struct promise *p, uint64_t to_ns)
{
	bool kept = true;
	uint32_t i;

	turn(m, to_ns);
	if (fix_irqs(&m->f) != p->irqs) {
		p->irqs++;
		for (i = 0; i < p->n; i++)
			p->late += p->percentile && m->now_ns - p->ns[i] > p->target_ns;
		p->told += p->n;
		p->n = 0;
		fix_ready(&m->f);
	}
	/*
	 * At each moment: no completion waits longer than allowed, and enough of the reported ones
	 * were in time.
	 */
	kept &= fix_irqs(&m->f) == p->irqs && (!p->n || m->now_ns - p->ns[0] <= p->most_ns) &&
		p->late * 10000 <= (10000 - p->percentile) * p->told;
	if (!kept)
		printf(
		    "\n    WEFT_SEED=%llu: at %llu ns: %u interrupts, %llu told, %llu late of p%u, "
		    "%llu ns",
		    (unsigned long long)m->seed, (unsigned long long)m->now_ns, p->irqs,
		    (unsigned long long)p->told, (unsigned long long)p->late, p->percentile,
		    (unsigned long long)p->target_ns);
	CU_ASSERT(kept);
	return kept;
}

static bool promised(struct model *m, struct promise *p, uint64_t ns)
{
	uint64_t to_ns = m->now_ns + ns, at_ns;
	bool ok = true;

	while (ok && (at_ns = fw_next_timer_ns(m->f.ut.nic)) <= to_ns)
		ok = promise_turn(m, p, at_ns > m->now_ns ? at_ns : m->now_ns);
	return ok && promise_turn(m, p, to_ns);
}

/* Traffic of one kind for a while, then of another. */
static bool traffic(struct model *m, struct promise *p)
{
	uint32_t gap_ns = 1u << below(m, 18), burst = 1 + below(m, 8), i;
	enum moder_class class = below(m, 2) ? MODER_RX : MODER_TX;

	for (i = 0; i < 64; i++) {
		if (!promised(m, p, below(m, burst) ? 0 : below(m, 2 * gap_ns)))
			return false;
		if (p->n == RING)
			continue;
		fix_post(&m->f, m->f.cq, class, 0);
		p->ns[p->n++] = m->now_ns;
		if (m->f.cq->prod - m->f.cq->record->cons > RING / 2)
			m->f.cq->record->cons = m->f.cq->prod;
	}
	return true;
}

static void modes_keep_their_promises(void)
{
	uint64_t first = number("WEFT_SEED", FIRST_SEED);
	uint64_t n = number("WEFT_SEEDS", getenv("WEFT_SEED") ? 1 : SEEDS), seed;
	struct hw_resp_vector v;
	static struct model m;
	bool ok = true;
	uint32_t i;

	for (seed = first; seed < first + n && ok; seed++) {
		struct promise p = {0};

		memset(&m, 0, sizeof(m));
		m.seed = m.random = seed;
		fix_begin(&m.f);
		m.now_ns = m.f.ut.now_ns;
		set_mode(&m, &p);
		fix_ready(&m.f);
		for (i = 0; i < 12 && ok; i++)
			ok = traffic(&m, &p);
		ok = ok && promised(&m, &p, p.most_ns);
		CU_ASSERT(!ok || !p.n);
		CU_ASSERT_EQUAL(fw_vector(m.f.ut.nic, 0, &v), 0);
		CU_ASSERT_EQUAL(v.counter[HW_VECTOR_interrupts], p.irqs);
		fix_end(&m.f);
	}
}

UT_MAIN("nic_fw/host/moder_random", UT(fixed_to_the_nanosecond), UT(modes_keep_their_promises))
