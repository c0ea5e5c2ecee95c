/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of moderation: docs/moderation.md in few words. It holds what waits since when, what is
 * hidden, and who handles an interrupt, and says at which nanosecond which entries become visible
 * and which interrupt is raised.
 */
#ifndef WEFT_TESTS_MODER_MODEL_H
#define WEFT_TESTS_MODER_MODEL_H

#include "tests/nic_fw/host/moder_fix.h"

enum {
	CQS = 3,
};

struct waiting {
	uint32_t frames, frames_cq;
	uint64_t first_ns, first_eq_ns, due_cq_ns;
};

struct model_cq {
	struct fw_cq *cq;
	struct moder_limits own; /* frames 0: none */
	uint32_t prod, solicited_prod, arm_index;
	bool armed, solicited, told, hidden;
};

struct model {
	struct moder_fix f;
	uint64_t random, now_ns;
	struct model_cq cq[CQS];
	uint32_t param[HW_COALESCE_NUM_PARAMS];
	struct waiting wait[MODER_CLASSES], hidden[MODER_CLASSES];
	bool handler, masked, at_once, irq_due;
	uint32_t prod, cons, irq_prod, irqs;
	uint64_t completions, held, pending, told;
	uint64_t seed;
};

static inline uint32_t below(struct model *m, uint32_t n)
{
	m->random = m->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((m->random >> 33) % n);
}

/* As the table "Limits": both 0 is at once, a count alone has a time. */
static inline struct moder_limits limits_of(uint32_t usecs, uint32_t frames)
{
	return (struct moder_limits){
	    .ns = usecs || !frames ? usecs * US : 1000 * US,
	    .frames = frames || !usecs ? frames : UINT32_MAX,
	};
}

static inline struct moder_limits limits(const struct model *m, enum moder_class class, bool irq)
{
	uint32_t at = class == MODER_RX ? (irq ? HW_COALESCE_rx_usecs_irq : HW_COALESCE_rx_usecs)
					: (irq ? HW_COALESCE_tx_usecs_irq : HW_COALESCE_tx_usecs);

	return limits_of(m->param[at], m->param[at + 1]);
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline bool waits(const struct waiting *w)
{
	return w[MODER_RX].frames || w[MODER_TX].frames;
}

static inline void add(struct waiting *w, uint64_t ns, uint32_t frames,
		       const struct moder_limits *own)
{
	if (!w->frames)
		*w = (struct waiting){0, UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	w->frames += frames;
	w->first_ns = least(w->first_ns, ns);
	if (own->frames) {
		w->frames_cq = (uint32_t)least(w->frames_cq, own->frames);
		w->due_cq_ns = least(w->due_cq_ns, ns + own->ns);
	} else {
		w->first_eq_ns = least(w->first_eq_ns, ns);
	}
}

static inline void merge(struct waiting *to, struct waiting *from)
{
	if (from->frames && !to->frames) {
		*to = *from;
	} else if (from->frames) {
		to->frames += from->frames;
		to->frames_cq = (uint32_t)least(to->frames_cq, from->frames_cq);
		to->first_ns = least(to->first_ns, from->first_ns);
		to->first_eq_ns = least(to->first_eq_ns, from->first_eq_ns);
		to->due_cq_ns = least(to->due_cq_ns, from->due_cq_ns);
	}
	from->frames = 0;
}

/* When the interrupt of waiting events is due; now, if a count is reached. */
static inline uint64_t due_ns(const struct model *m)
{
	uint64_t due = UINT64_MAX;
	uint32_t c;

	for (c = 0; c < MODER_CLASSES; c++) {
		const struct waiting *w = &m->wait[c];
		struct moder_limits l = limits(m, c, false);

		if (!w->frames)
			continue;
		due = least(due, w->due_cq_ns);
		if (w->frames >= w->frames_cq)
			due = 0;
		if (w->first_eq_ns == UINT64_MAX)
			continue;
		due = least(due, w->first_eq_ns + l.ns);
		if (w->frames >= l.frames)
			due = 0;
	}
	return due;
}

static inline uint64_t visible_ns(const struct model *m)
{
	uint64_t due = UINT64_MAX;
	uint32_t c;

	for (c = 0; c < MODER_CLASSES; c++) {
		struct moder_limits l = limits(m, c, true);

		if (!m->hidden[c].frames)
			continue;
		due = least(due, m->hidden[c].first_ns + l.ns);
		if (m->hidden[c].frames >= l.frames)
			due = 0;
	}
	return due;
}

static inline void forget(struct model *m)
{
	uint32_t i;

	m->wait[MODER_RX].frames = m->wait[MODER_TX].frames = 0;
	m->pending = 0;
	for (i = 0; i < CQS; i++)
		m->cq[i].told = false;
}

/* Events that the process has taken by polling need no interrupt. */
static inline void raise_if_due(struct model *m)
{
	if (m->masked || m->irq_due || !waits(m->wait) || m->now_ns < due_ns(m))
		return;
	if (m->cons == m->prod)
		forget(m);
	else
		m->irq_due = true;
}

static inline bool any_hidden(const struct model *m)
{
	return m->cq[0].hidden || m->cq[1].hidden || m->cq[2].hidden;
}

/* The entry is written: the CQ is disarmed. */
static inline void tell(struct model *m, struct model_cq *q)
{
	m->prod++;
	q->armed = q->hidden = false;
	q->told = true;
}

static inline void reveal(struct model *m)
{
	uint32_t i;

	for (i = 0; i < CQS; i++)
		if (m->cq[i].hidden)
			tell(m, &m->cq[i]);
	for (i = 0; i < MODER_CLASSES; i++)
		merge(&m->wait[i], &m->hidden[i]);
	if (m->handler)
		forget(m);
	else
		raise_if_due(m);
}

static inline void look(struct model *m)
{
	bool quiet = m->handler || m->masked;

	if (any_hidden(m) && (m->now_ns >= visible_ns(m) || !quiet))
		reveal(m);
	else
		raise_if_due(m);
}

/* Entries of an armed CQ, one for each class and time. */
static inline void event(struct model *m, struct model_cq *q, uint32_t n, const uint64_t *ns,
			 const enum moder_class *class, bool urgent)
{
	bool quiet = m->handler || m->masked, hide = quiet && !urgent;
	uint32_t i;

	for (i = 0; i < n; i++)
		hide &= limits(m, class[i], true).frames != 0;
	if (any_hidden(m) && !hide)
		reveal(m);
	if (hide) {
		m->held += !q->hidden;
		q->hidden = true;
		for (i = 0; i < n; i++)
			add(&m->hidden[class[i]], ns[i], 1, &q->own);
		m->pending += n;
		if (m->now_ns >= visible_ns(m))
			reveal(m);
		return;
	}
	if (waits(m->wait) && !m->irq_due && m->cons == m->prod)
		forget(m);
	if (q->armed)
		tell(m, q);
	q->told = !m->handler;
	if (m->handler)
		return;
	for (i = 0; i < n; i++)
		add(&m->wait[class[i]], ns[i], 1, &q->own);
	m->pending += n;
	if (urgent && m->masked)
		m->at_once = true;
	else if (urgent)
		m->irq_due = true;
	raise_if_due(m);
}

static inline void completion(struct model *m, struct model_cq *q, enum moder_class class,
			      bool urgent)
{
	q->prod++;
	m->completions++;
	if (urgent)
		q->solicited_prod = q->prod;
	if (q->armed && (urgent || !q->solicited)) {
		event(m, q, 1, &m->now_ns, &class, urgent);
	} else if (q->told && m->irq_due) {
		m->pending++;
	} else if (q->told && waits(m->wait)) {
		add(&m->wait[class], m->now_ns, 1, &q->own);
		m->pending++;
		if (urgent && m->masked)
			m->at_once = true;
		else if (urgent)
			m->irq_due = true;
		raise_if_due(m);
	}
}

static inline void end_turn(struct model *m)
{
	if (!m->irq_due)
		return;
	m->irq_due = m->at_once = false;
	m->told += m->pending;
	forget(m);
	m->irq_prod = m->prod;
	m->handler = m->cons != m->prod;
	m->irqs++;
}

#endif /* WEFT_TESTS_MODER_MODEL_H */
