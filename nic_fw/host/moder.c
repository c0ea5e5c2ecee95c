/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: delays events and interrupts, each by a bounded time.
 *
 * A completion that an armed CQ waits for is "due". While the vector is masked, or the handler of
 * the last interrupt runs, its event may be hidden until the limits "irq" are met. Otherwise the
 * event is written at once, and waits for its interrupt until a limit of its class is met. All
 * times are those of turns. Calls cq_report(), eq_raise() and the modes.
 *
 * Each wait has an end (fw_lost_interrupts() searches for one without):
 * 	hidden			the timer: each limit "irq" has a time
 * 	visible, held back	the timer: each limit has a time
 * 	visible, masked		the doorbell that follows the end of the mask
 * 	visible, handler runs	the handler: it reads the ring after it has stored its index
 * 	ring full		the timer
 *
 * ESPGOAL figure 6.1; docs/moderation.md; docs/host-interface.md, pairs E2, E3.
 */
#include "nic_fw/fw_nic.h"

#define NS_PER_US UINT64_C(1000)

enum {
	NOT_DUE = HW_VECTOR_NUM_COUNTERS, /* in place of a cause */
};

static bool is_masked(const struct fw_eq *eq)
{
	return __atomic_load_n(&eq->record->masked, __ATOMIC_ACQUIRE) != 0;
}

/*
 * True until the process has taken the entries of the last interrupt; an impossible index counts as
 * past.
 */
static bool handler_runs(struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;
	uint32_t cons;

	if (!m->in_handler)
		return false;
	cons = __atomic_load_n(&eq->record->cons, __ATOMIC_ACQUIRE);
	m->in_handler = (int32_t)(cons - m->irq_prod) < 0;
	return m->in_handler;
}

/*
 * Pair E3: true if the handler will find the entry that was just written. It stores its index, then
 * reads the ring; we have stored the entry, and now read its index.
 */
static bool handler_takes(struct fw_eq *eq)
{
	if (!eq->moder.in_handler)
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return handler_runs(eq);
}

static bool all_taken(const struct fw_eq *eq)
{
	return __atomic_load_n(&eq->record->cons, __ATOMIC_ACQUIRE) == eq->prod;
}

/* ---- waiting completions --------------------------------------------------------------------- */

static bool any_waits(const struct moder_wait *waits)
{
	return waits[MODER_RX].frames || waits[MODER_TX].frames;
}

static uint64_t sum_ns(uint64_t ns, uint64_t more_ns)
{
	return more_ns == UINT64_MAX ? UINT64_MAX : ns + more_ns;
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void merge(struct moder_wait *to, const struct moder_wait *from)
{
	if (!from->frames)
		return;
	if (!to->frames) {
		*to = *from;
		return;
	}
	to->frames += from->frames;
	to->first_ns = min_ns(to->first_ns, from->first_ns);
	to->first_eq_ns = min_ns(to->first_eq_ns, from->first_eq_ns);
	to->due_cq_ns = min_ns(to->due_cq_ns, from->due_cq_ns);
	if (from->frames_cq < to->frames_cq)
		to->frames_cq = from->frames_cq;
}

/* Settings of the CQ override those of the vector. */
static void moder_count_news(struct fw_moder *m, const struct fw_cq *cq, struct moder_wait *waits,
			     const struct moder_news *news)
{
	bool own = cq->moder_count || cq->moder_period_us;
	struct moder_limits limits = {0, 0};
	uint32_t i;

	if (own)
		limits = moder_limits_of(cq->moder_period_us, cq->moder_count);
	for (i = 0; i < news->count; i++) {
		const uint64_t ns = news->at[i].ns;
		struct moder_wait one = {
		    .frames = news->at[i].frames,
		    .frames_cq = own ? limits.frames : MODER_NEVER,
		    .first_ns = ns,
		    .first_eq_ns = own ? UINT64_MAX : ns,
		    .due_cq_ns = own ? sum_ns(ns, limits.ns) : UINT64_MAX,
		};

		merge(&waits[news->at[i].class], &one);
		moder_age_add(m, ns, one.frames);
	}
}

/* Returns when the class is due by its limits; UINT64_MAX: none waits, or by count alone. */
static uint64_t class_due_ns(const struct moder_wait *wait, const struct moder_limits *limits)
{
	uint64_t due_ns;

	if (!wait->frames)
		return UINT64_MAX;
	due_ns = wait->due_cq_ns;
	if (wait->first_eq_ns != UINT64_MAX)
		due_ns = min_ns(due_ns, sum_ns(wait->first_eq_ns, limits->ns));
	return due_ns;
}

/* For hidden events the limits "irq" of the vector apply, whatever the CQ's are. */
static uint64_t hidden_due_ns(const struct fw_moder *m)
{
	uint64_t due_ns = UINT64_MAX;
	uint32_t c;

	for (c = 0; c < MODER_CLASSES; c++) {
		const struct moder_wait *hidden = &m->hidden[c];

		if (!hidden->frames)
			continue;
		if (hidden->frames >= m->irq[c].frames)
			return 0;
		due_ns = min_ns(due_ns, sum_ns(hidden->first_ns, m->irq[c].ns));
	}
	return due_ns;
}

/* Returns when waiting completions are due in a self-tuning mode. */
static uint64_t mode_due_ns(const struct fw_nic *nic, struct fw_eq *eq)
{
	if (eq->moder.mode == HW_COALESCE_TARGET)
		return moder_target_due_ns(nic, eq);
	if (eq->moder.mode == HW_COALESCE_ADAPTIVE)
		return moder_adapt_due_ns(&eq->moder);
	return UINT64_MAX;
}

static uint64_t visible_due_ns(const struct fw_nic *nic, struct fw_eq *eq)
{
	const struct fw_moder *m = &eq->moder;
	uint64_t due_ns = mode_due_ns(nic, eq);
	uint32_t c;

	for (c = 0; c < MODER_CLASSES; c++)
		due_ns = min_ns(due_ns, class_due_ns(&m->wait[c], &m->limits[c]));
	return due_ns;
}

/* A timer that is set too early stays: it checks again then. */
static void set_timer(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;
	uint64_t due_ns = m->starved ? m->retry_ns : UINT64_MAX;

	if (!fw_list_empty(&m->hidden_cqs))
		due_ns = min_ns(due_ns, hidden_due_ns(m));
	if (any_waits(m->wait) && !m->by_mask && !eq->irq_pending)
		due_ns = min_ns(due_ns, visible_due_ns(nic, eq));
	if (due_ns == UINT64_MAX)
		fw_timer_cancel(&nic->timers, &m->timer);
	else if (!fw_timer_is_set(&m->timer) || m->timer.deadline_ns > due_ns)
		fw_timer_set(&nic->timers, &m->timer, due_ns);
}

static void set_open(struct fw_moder *m)
{
	m->open = any_waits(m->wait) || !fw_list_empty(&m->hidden_cqs);
}

/* ---- visible, and then an interrupt ---------------------------------------------------------- */

static uint32_t why(const struct fw_nic *nic, const struct fw_moder *m, enum moder_class class)
{
	const struct moder_limits *limits = &m->limits[class];
	const struct moder_wait *wait = &m->wait[class];
	bool rx = class == MODER_RX;

	if (!wait->frames)
		return NOT_DUE;
	if (wait->frames >= wait->frames_cq)
		return rx ? HW_VECTOR_by_rx_frames : HW_VECTOR_by_tx_frames;
	if (wait->first_eq_ns != UINT64_MAX) {
		if (!limits->ns && !limits->frames)
			return HW_VECTOR_by_event;
		if (wait->frames >= limits->frames)
			return rx ? HW_VECTOR_by_rx_frames : HW_VECTOR_by_tx_frames;
	}
	if (nic->now_ns >= class_due_ns(wait, limits))
		return rx ? HW_VECTOR_by_rx_usecs : HW_VECTOR_by_tx_usecs;
	return NOT_DUE;
}

/* The process has found the waiting completions by itself. */
static void drop(struct fw_moder *m)
{
	m->wait[MODER_RX].frames = 0;
	m->wait[MODER_TX].frames = 0;
	m->serial++;
	moder_forget(m);
	set_open(m);
}

/* Raises due interrupts. late: the wait was for the mask or a handler, not for limits. */
static void moder_settle(struct fw_nic *nic, struct fw_eq *eq, bool late)
{
	struct fw_moder *m = &eq->moder;
	uint32_t cause;

	if (!any_waits(m->wait) || eq->irq_pending)
		return;
	if (is_masked(eq)) {
		m->by_mask = true;
		return;
	}
	m->by_mask = false;
	cause = why(nic, m, MODER_RX);
	if (cause == NOT_DUE)
		cause = why(nic, m, MODER_TX);
	if (cause == NOT_DUE && nic->now_ns >= mode_due_ns(nic, eq))
		cause = m->wait[MODER_RX].frames ? HW_VECTOR_by_rx_usecs : HW_VECTOR_by_tx_usecs;
	if (cause == NOT_DUE)
		return;
	if (all_taken(eq))
		drop(m);
	else
		eq_raise(nic, eq, late ? HW_VECTOR_by_unmask : (enum hw_vector_counter)cause);
}

/* The EQ is full: retries its CQs until it has room. */
static void moder_starved(struct fw_nic *nic, struct fw_eq *eq)
{
	eq->moder.starved = true;
	eq->moder.retry_ns = nic->now_ns + FW_EQ_RETRY_NS;
	eq->moder.retry_at = 0;
}

/* Hidden events become visible now, and keep their age. */
static void reveal(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;
	struct fw_list *node;
	uint32_t c;

	while ((node = fw_list_pop(&m->hidden_cqs))) {
		struct fw_cq *cq = FW_CONTAINER(node, struct fw_cq, hidden_node);

		if (cq_report(nic, cq))
			cq->reported_serial = m->serial;
		else
			moder_starved(nic, eq);
	}
	for (c = 0; c < MODER_CLASSES; c++) {
		merge(&m->wait[c], &m->hidden[c]);
		m->hidden[c].frames = 0;
	}
	set_open(m);
	if (handler_takes(eq))
		drop(m);
	else
		moder_settle(nic, eq, true);
	set_timer(nic, eq);
}

static bool is_hidden(const struct fw_cq *cq)
{
	return fw_list_linked(&cq->hidden_node);
}

/* A class without limits "irq" is visible at once. */
static bool may_hide(const struct fw_moder *m, const struct moder_news *news)
{
	uint32_t i;

	if (news->cause != HW_VECTOR_by_event)
		return false;
	for (i = 0; i < news->count; i++)
		if (!m->irq[news->at[i].class].frames)
			return false;
	return true;
}

static void hide(struct fw_nic *nic, struct fw_eq *eq, struct fw_cq *cq,
		 const struct moder_news *news)
{
	struct fw_moder *m = &eq->moder;

	if (!is_hidden(cq)) {
		fw_list_add_tail(&m->hidden_cqs, &cq->hidden_node);
		nic->host.vectors[eq->vector].counter[HW_VECTOR_held_irq]++;
	}
	moder_count_news(m, cq, m->hidden, news);
	m->open = true;
	if (nic->now_ns >= hidden_due_ns(m))
		reveal(nic, eq);
	else
		set_timer(nic, eq);
}

/* Entries of the CQ are visible, and wait for their interrupt. */
static void moder_await(struct fw_nic *nic, struct fw_eq *eq, const struct fw_cq *cq,
			const struct moder_news *news)
{
	struct fw_moder *m = &eq->moder;

	moder_count_news(m, cq, m->wait, news);
	m->open = true;
	if (!news->cqe)
		m->adapt.last_ns = news->at[news->count - 1].ns;
	if (news->cause == HW_VECTOR_by_event) {
		if (m->mode == HW_COALESCE_ADAPTIVE && news->cqe &&
		    moder_adapt_cqe(nic, eq, cq, news->cqe) && !is_masked(eq))
			eq_raise(nic, eq,
				 news->at[0].class == MODER_RX ? HW_VECTOR_by_rx_frames
							       : HW_VECTOR_by_tx_frames);
		moder_settle(nic, eq, false);
	} else if (is_masked(eq)) {
		m->by_mask = m->at_once = true;
	} else {
		eq_raise(nic, eq, news->cause);
	}
	set_timer(nic, eq);
}

/* True if no completion waits and this one need not: the path of all unmoderated completions. */
static bool is_plain(const struct fw_moder *m, const struct fw_cq *cq,
		     const struct moder_news *news)
{
	const struct moder_limits *limits = &m->limits[news->at[0].class];

	return !m->open && news->count == 1 &&
	       (news->cause != HW_VECTOR_by_event ||
		(!limits->ns && !limits->frames && !cq->moder_count && !cq->moder_period_us));
}

void moder_due(struct fw_nic *nic, struct fw_cq *cq, const struct moder_news *news)
{
	struct fw_eq *eq = cq->event_queue;
	struct fw_moder *m = &eq->moder;
	bool quiet = handler_runs(eq) || is_masked(eq);

	fw_trace(nic, TRACE_MODER, 0, eq->number, m->wait[MODER_RX].frames);
	if (!quiet && is_plain(m, cq, news) && cq_report(nic, cq)) {
		cq->reported_serial = m->serial;
		m->open = true;
		moder_age_add(m, news->at[0].ns, news->at[0].frames);
		eq_raise(nic, eq, news->cause);
		return;
	}
	if (!quiet && !fw_list_empty(&m->hidden_cqs))
		reveal(nic, eq);
	if (quiet && may_hide(m, news)) {
		/* After arming again, it was counted when it was hidden. */
		if (!is_hidden(cq) || news->cqe)
			hide(nic, eq, cq, news);
		return;
	}
	if (!fw_list_empty(&m->hidden_cqs))
		reveal(nic, eq);
	if (m->open && !eq->irq_pending && all_taken(eq))
		drop(m);
	/* Its event may just have been written, with those that were hidden. */
	if (cq->armed && !cq_report(nic, cq)) {
		moder_starved(nic, eq);
		set_timer(nic, eq);
		return;
	}
	if (handler_takes(eq))
		return;
	cq->reported_serial = m->serial;
	moder_await(nic, eq, cq, news);
}

void moder_cqe(struct fw_nic *nic, struct fw_cq *cq, const struct moder_news *news)
{
	struct fw_eq *eq = cq->event_queue;

	/* For a CQ with an earlier event, the process polls the completion without a new event. */
	if (cq->reported_serial != eq->moder.serial)
		return;
	if (eq->irq_pending)
		moder_age_add(&eq->moder, news->at[0].ns, news->at[0].frames);
	else if (any_waits(eq->moder.wait))
		moder_await(nic, eq, cq, news);
}

void moder_other(struct fw_nic *nic, struct fw_eq *eq)
{
	eq->moder.others++;
	if (handler_takes(eq))
		return;
	if (is_masked(eq))
		eq->moder.by_mask = eq->moder.at_once = true;
	else
		eq_raise(nic, eq, HW_VECTOR_by_async);
}

void moder_unhide(struct fw_nic *nic, struct fw_cq *cq)
{
	struct fw_moder *m;

	if (!cq->event_queue || !is_hidden(cq))
		return;
	m = &cq->event_queue->moder;
	fw_list_del(&cq->hidden_node);
	if (fw_list_empty(&m->hidden_cqs)) {
		m->hidden[MODER_RX].frames = 0;
		m->hidden[MODER_TX].frames = 0;
	}
	set_open(m);
	set_timer(nic, cq->event_queue);
}

/*
 * Waiting completions follow the new limits. If CQs share an event queue, the shorter of the old
 * and the new limits apply until the next interrupt.
 */
void moder_modified(struct fw_nic *nic, struct fw_cq *cq)
{
	struct fw_moder *m;
	uint32_t c;

	if (!cq->event_queue)
		return;
	m = &cq->event_queue->moder;
	for (c = 0; c < MODER_CLASSES && cq->reported_serial == m->serial; c++) {
		struct moder_limits limits = moder_limits_of(cq->moder_period_us, cq->moder_count);
		struct moder_wait *wait = &m->wait[c];
		bool own = limits.frames, alone = cq->event_queue->refs == 1;

		if (!wait->frames)
			continue;
		if (alone) {
			wait->frames_cq = MODER_NEVER;
			wait->due_cq_ns = UINT64_MAX;
			wait->first_eq_ns = own ? UINT64_MAX : wait->first_ns;
		}
		if (own && limits.frames < wait->frames_cq)
			wait->frames_cq = limits.frames;
		if (own)
			wait->due_cq_ns =
			    min_ns(wait->due_cq_ns, sum_ns(wait->first_ns, limits.ns));
	}
	if (m->open)
		moder_look(nic, cq->event_queue);
}

void moder_look(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;

	if (!fw_list_empty(&m->hidden_cqs) &&
	    (nic->now_ns >= hidden_due_ns(m) || !(handler_runs(eq) || is_masked(eq))))
		reveal(nic, eq);
	else
		moder_settle(nic, eq, false);
	set_timer(nic, eq);
}

void moder_unmask(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;
	bool at_once = m->at_once;

	if (is_masked(eq))
		return;
	m->by_mask = m->at_once = false;
	if (fw_list_empty(&m->hidden_cqs) && all_taken(eq)) {
		drop(m);
	} else if (!fw_list_empty(&m->hidden_cqs) && !handler_runs(eq)) {
		reveal(nic, eq);
	} else {
		moder_settle(nic, eq, true);
	}
	if (at_once && !all_taken(eq) && !handler_runs(eq))
		eq_raise(nic, eq, HW_VECTOR_by_unmask);
	set_timer(nic, eq);
}

bool moder_raise(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;

	if (is_masked(eq)) {
		m->by_mask = m->at_once = true;
		set_timer(nic, eq);
		return false;
	}
	moder_report(nic, eq);
	m->by_mask = m->at_once = false;
	m->in_handler = true;
	m->irq_prod = eq->prod;
	m->wait[MODER_RX].frames = 0;
	m->wait[MODER_TX].frames = 0;
	m->serial++;
	set_open(m);
	if (fw_timer_is_set(&m->timer))
		set_timer(nic, eq);
	return true;
}

void moder_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct fw_eq *eq = FW_CONTAINER(timer, struct fw_eq, moder.timer);
	struct fw_moder *m = &eq->moder;

	if (m->starved && nic->now_ns >= m->retry_ns) {
		if (eq_is_full(eq)) {
			moder_starved(nic, eq);
		} else {
			m->starved = false;
			if (cq_retry_events(nic, eq, &m->retry_at) && !m->starved) {
				m->starved = true;
				m->retry_ns = nic->now_ns + FW_SOON_NS;
			}
		}
	}
	if (any_waits(m->wait) && fw_list_empty(&m->hidden_cqs) && !eq->irq_pending &&
	    all_taken(eq))
		drop(m);
	moder_look(nic, eq);
}

void moder_init(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;

	(void)nic;
	m->serial = 1;
	fw_timer_init(&m->timer, FW_TIMER_MODER);
	fw_list_init(&m->hidden_cqs);
}

void moder_end(struct fw_nic *nic, struct fw_eq *eq)
{
	assert(fw_list_empty(&eq->moder.hidden_cqs));
	fw_timer_cancel(&nic->timers, &eq->moder.timer);
	moder_leave(nic, eq);
}
