/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moderation that adapts itself, in the manner of Linux's DIM (lib/dim: measure, compare, decide,
 * apply), with information that only a NIC has.
 *
 * A profile is a pair of limits for each class. The search goes right (more moderation) while the
 * rate of completions does not fall and interrupts report more of them, turns when they fall, and
 * parks when there is no gain. DIM sees only the completions that interrupts reported; here a vain
 * wait ends early: the completion after a pause, the last request in its queue, a queue that has
 * given half of its entries, a completion that is overdue. Two waits in a row without gain end
 * moderation at once, so that a ping-pong pays for few trials, ever rarer ones. Calls moder_cmd.c
 * (limits).
 */
#include "nic_fw/fw_nic.h"

enum {
	SAMPLE_INTERRUPTS = 32,
	SAMPLE_MODERATED = 16, /* each reports several completions */
	MAX_PATIENCE = 8,
	MAX_ALONE = 2,
	RATE_PERCENT = 6, /* significant differences; DIM has 10 for all */
	IRQS_PERCENT = 10,
	ENOUGH = 16,      /* completions for each interrupt: rare enough */
	GAPS_OVERDUE = 3, /* a completion that has not come after so many gaps */
	GAPS_TRIAL = 2,   /* likewise while it is only tried */
	GAPS_IDLE = 8,    /* a completion after so many gaps came from a pause */
	SMOOTH = 8,
};
#define MIN_OVERDUE_NS UINT64_C(2000)
#define IDLE_NS        UINT64_C(10000)

static const struct profile {
	uint16_t rx_usecs, rx_frames;
	uint16_t tx_usecs, tx_frames;
} profiles[] = {
    {0, 0, 0, 0},       {64, 4, 64, 4},     {128, 8, 128, 8},
    {256, 16, 256, 16}, {512, 32, 512, 32}, {1000, 64, 1000, 64},
};
enum {
	TOP = sizeof(profiles) / sizeof(profiles[0]) - 1,
};

enum verdict {
	WORSE,
	SAME,
	BETTER,
};

/* ---- measure --------------------------------------------------------------------------------- */

static void begin_sample(const struct fw_nic *nic, struct fw_moder *m)
{
	m->adapt.sample = (struct moder_sample){
	    .begin_ns = nic->now_ns,
	    .completions = m->completions,
	};
}

static struct moder_rates moder_adapt_measure(const struct fw_nic *nic, const struct fw_moder *m)
{
	const struct moder_sample *s = &m->adapt.sample;
	uint64_t ns = nic->now_ns - s->begin_ns, completions = m->completions - s->completions;

	if (!ns)
		ns = 1;
	return (struct moder_rates){
	    .per_s = completions * UINT64_C(1000000000) / ns,
	    .per_irq16 = (uint32_t)(completions * 16 / s->interrupts),
	};
}

/* ---- compare --------------------------------------------------------------------------------- */

static bool differ(uint64_t a, uint64_t b, uint32_t percent)
{
	uint64_t diff = a > b ? a - b : b - a;

	return diff * 100 > (a > b ? a : b) * percent;
}

static enum verdict compare(const struct moder_rates *now, const struct moder_rates *last)
{
	if (differ(now->per_s, last->per_s, RATE_PERCENT))
		return now->per_s > last->per_s ? BETTER : WORSE;
	if (differ(now->per_irq16, last->per_irq16, IRQS_PERCENT))
		return now->per_irq16 > last->per_irq16 ? BETTER : WORSE;
	return SAME;
}

/* ---- apply ----------------------------------------------------------------------------------- */

static void moder_adapt_apply(struct fw_nic *nic, struct fw_eq *eq, uint32_t profile)
{
	const struct profile *p = &profiles[profile];
	struct fw_moder *m = &eq->moder;

	m->limits[MODER_RX] = moder_limits_of(p->rx_usecs, p->rx_frames);
	m->limits[MODER_TX] = moder_limits_of(p->tx_usecs, p->tx_frames);
	moder_chosen(nic, eq, &m->limits[MODER_RX], &m->limits[MODER_TX]);
	if (m->adapt.profile != profile)
		nic->host.vectors[eq->vector].counter[HW_VECTOR_mode_changes]++;
	m->adapt.profile = (uint8_t)profile;
}

static void set_tune(struct moder_adapt *a, enum moder_tune tune)
{
	switch (tune) {
	case MODER_TUNE_RIGHT:
	case MODER_TUNE_LEFT:
		break;
	case MODER_TUNE_PARKED:
		a->parked_for = UINT32_C(1) << a->patience;
		break;
	}
	a->tune = tune;
}

/* ---- decide ---------------------------------------------------------------------------------- */

/* Moves one profile further in the direction; parks at the table's ends. */
static void moder_adapt_step(struct fw_nic *nic, struct fw_eq *eq)
{
	struct moder_adapt *a = &eq->moder.adapt;

	if (a->tune == MODER_TUNE_RIGHT && a->profile < TOP)
		moder_adapt_apply(nic, eq, a->profile + 1u);
	else if (a->tune == MODER_TUNE_LEFT && a->profile > 0)
		moder_adapt_apply(nic, eq, a->profile - 1u);
	else
		set_tune(a, MODER_TUNE_PARKED);
}

static void more_patience(struct moder_adapt *a)
{
	a->patience += a->patience < MAX_PATIENCE;
}

/* Returns to the profile before, and stays there for a while. */
static void turn_back(struct fw_nic *nic, struct fw_eq *eq)
{
	struct moder_adapt *a = &eq->moder.adapt;

	more_patience(a);
	set_tune(a, MODER_TUNE_LEFT);
	moder_adapt_step(nic, eq);
	set_tune(a, MODER_TUNE_PARKED);
}

/* The result is better: moves further, or at once to the best profile of an earlier stream. */
static void go_on(struct fw_nic *nic, struct fw_eq *eq, const struct moder_rates *now)
{
	struct moder_adapt *a = &eq->moder.adapt;

	if (a->profile) {
		a->patience = 0;
		if (a->profile > a->good)
			a->good = a->profile;
	}
	if (now->per_irq16 >= ENOUGH * 16)
		set_tune(a, MODER_TUNE_PARKED);
	else if (a->profile && a->good > a->profile)
		moder_adapt_apply(nic, eq, a->good);
	else
		moder_adapt_step(nic, eq);
}

/* Returns false if the reference of the next comparison stays. */
static bool decide_right(struct fw_nic *nic, struct fw_eq *eq, const struct moder_rates *now)
{
	struct moder_adapt *a = &eq->moder.adapt;
	enum verdict verdict = a->profile && a->last.per_s ? compare(now, &a->last) : BETTER;

	/* Far fewer interrupts and a lower rate: the machine may be the cause. Measured twice. */
	if (verdict == WORSE && !a->doubt && now->per_irq16 * 4 > a->last.per_irq16 * 5) {
		a->doubt = true;
		return false;
	}
	a->doubt = false;
	if (verdict == BETTER)
		go_on(nic, eq, now);
	else
		turn_back(nic, eq);
	return true;
}

static void decide_parked(struct fw_nic *nic, struct fw_eq *eq, const struct moder_rates *now)
{
	struct moder_adapt *a = &eq->moder.adapt;

	/* Moderated, and the rate has halved: less moderation may be better. */
	if (a->profile && a->last.per_s && now->per_s < a->last.per_s / 2) {
		set_tune(a, MODER_TUNE_LEFT);
		moder_adapt_step(nic, eq);
	} else if (!--a->parked_for) {
		if (now->per_irq16 >= ENOUGH * 16) {
			set_tune(a, MODER_TUNE_PARKED);
		} else {
			set_tune(a, MODER_TUNE_RIGHT);
			moder_adapt_step(nic, eq);
		}
	}
}

static void decide(struct fw_nic *nic, struct fw_eq *eq, const struct moder_rates *now)
{
	struct moder_adapt *a = &eq->moder.adapt;

	switch (a->tune) {
	case MODER_TUNE_RIGHT:
		if (!decide_right(nic, eq, now))
			return;
		break;
	case MODER_TUNE_LEFT:
		if (compare(now, &a->last) == BETTER)
			moder_adapt_step(nic, eq);
		else
			set_tune(a, MODER_TUNE_PARKED);
		break;
	case MODER_TUNE_PARKED:
		decide_parked(nic, eq, now);
		break;
	}
	a->last = *now;
}

/* Waiting gained nothing twice: there is no stream, or it has ended. */
static void moder_adapt_give_up(struct fw_nic *nic, struct fw_eq *eq)
{
	struct moder_adapt *a = &eq->moder.adapt;

	/* A stream may have paused: the next trial is soon. */
	if (a->profile == 1 || !a->patience)
		more_patience(a);
	if (a->profile == 1)
		a->good = 0;
	moder_adapt_apply(nic, eq, 0);
	set_tune(a, MODER_TUNE_PARKED);
	a->alone = 0;
	a->doubt = false;
	a->last = (struct moder_rates){0};
	begin_sample(nic, &eq->moder);
}

/* True if a wait was in vain. One completion of the other class is no gain. */
static bool waited_alone(const struct fw_nic *nic, const struct fw_moder *m)
{
	const struct moder_wait *rx = &m->wait[MODER_RX], *tx = &m->wait[MODER_TX];

	if (!m->adapt.profile)
		return false;
	return (rx->frames && rx->first_ns < nic->now_ns) ||
	       (tx->frames && tx->first_ns < nic->now_ns);
}

void moder_adapt_irq(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;
	struct moder_adapt *a = &m->adapt;
	struct moder_rates rates;

	if (m->wait[MODER_RX].frames > 1 || m->wait[MODER_TX].frames > 1)
		a->alone = 0;
	else if (waited_alone(nic, m) && ++a->alone == MAX_ALONE) {
		moder_adapt_give_up(nic, eq);
		return;
	}
	if (++a->sample.interrupts < (a->profile ? SAMPLE_MODERATED : SAMPLE_INTERRUPTS))
		return;
	rates = moder_adapt_measure(nic, m);
	/* Under moderation, gaps may be caused by moderation itself: a peer waits for us. */
	if (rates.per_s && !a->profile)
		a->gap_ns = UINT64_C(1000000000) / rates.per_s;
	decide(nic, eq, &rates);
	begin_sample(nic, m);
}

/* ---- during a wait --------------------------------------------------------------------------- */

uint64_t moder_adapt_due_ns(const struct fw_moder *m)
{
	uint64_t overdue_ns = m->adapt.gap_ns * (m->adapt.profile > 1 ? GAPS_OVERDUE : GAPS_TRIAL);

	return m->adapt.last_ns + (overdue_ns > MIN_OVERDUE_NS ? overdue_ns : MIN_OVERDUE_NS);
}

/*
 * Returns the time since the completion before on the same CQ, by the ring, which the process can
 * change.
 */
static uint64_t since_last_ns(const struct fw_nic *nic, const struct fw_cq *cq)
{
	const struct hw_cqe *before = &cq->ring[(cq->prod - 2) & cq->mask];
	uint64_t ns = __atomic_load_n(&before->timestamp_ns, __ATOMIC_RELAXED);

	if (!ns)
		return UINT64_MAX; /* it is the first */
	return ns < nic->now_ns ? nic->now_ns - ns : 0;
}

/*
 * True if the completion's queue has at most as many entries left as it gave since the last
 * interrupt: its process should be notified before the rest is used.
 */
static bool runs_low(struct fw_nic *nic, struct fw_eq *eq, const struct hw_cqe *cqe)
{
	struct fw_qp *qp = qp_find(nic, cqe->qpn);
	bool tx = moder_class_of(cqe->opcode) == MODER_TX;
	uint32_t at, left, serial = eq->moder.serial;

	if (!qp)
		return false;
	if (tx) {
		at = cqe->sq_index;
		left = __atomic_load_n(&qp->record->sq_prod, __ATOMIC_RELAXED) - at;
	} else {
		at = qp->srq == HW_SRQ_NONE ? qp->rq_cons : nic->host.srqs[qp->srq].cons;
		left = rq_available(nic, qp);
	}
	if (qp->moder_serial[tx] != serial) {
		qp->moder_serial[tx] = serial;
		qp->moder_at[tx] = at;
	}
	return left <= at - qp->moder_at[tx];
}

bool moder_adapt_cqe(struct fw_nic *nic, struct fw_eq *eq, const struct fw_cq *cq,
		     const struct hw_cqe *cqe)
{
	struct fw_moder *m = &eq->moder;
	struct moder_adapt *a = &m->adapt;
	bool low = runs_low(nic, eq, cqe);

	/* The second and later completions of a wait show the natural rate. */
	if (m->wait[MODER_RX].frames + m->wait[MODER_TX].frames > 1)
		a->gap_ns = (a->gap_ns * (SMOOTH - 1) + nic->now_ns - a->last_ns) / SMOOTH;
	a->last_ns = nic->now_ns;
	return low || since_last_ns(nic, cq) > a->gap_ns * GAPS_IDLE + IDLE_NS;
}

void moder_adapt_begin(struct fw_nic *nic, struct fw_eq *eq)
{
	struct fw_moder *m = &eq->moder;

	m->adapt = (struct moder_adapt){.tune = MODER_TUNE_RIGHT, .last_ns = nic->now_ns};
	moder_adapt_apply(nic, eq, 0);
	begin_sample(nic, m);
}
