/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mode ADAPTIVE: what the search for a profile decides after each sample, from rates that the test
 * chooses: it goes on, turns back, doubts, parks and gives up.
 */
#include "tests/nic_fw/host/moder_fix.h"

enum {
	FIRST = 32,     /* interrupts of a sample without moderation */
	MODERATED = 16, /* and with it */
	TOP = 5,        /* the last profile */
	MAX_PATIENCE = 8,
};

static struct moder_fix f;

static void begin(void)
{
	struct hw_cmd_coalesce cmd = {.set = HW_COALESCE_SET_ALL};
	struct hw_resp_coalesce resp;

	fix_begin(&f);
	cmd.coalesce.mode = HW_COALESCE_ADAPTIVE;
	CU_ASSERT_EQUAL_FATAL(fw_coalesce(f.ut.nic, &cmd, &resp), 0);
	CU_ASSERT_EQUAL_FATAL(f.eq->moder.mode, HW_COALESCE_ADAPTIVE);
}

static const struct moder_adapt *adapt(void)
{
	return &f.eq->moder.adapt;
}

/* One interrupt after ns, which reports so many completions that came together. */
static void interrupt(uint32_t completions, uint64_t ns)
{
	struct fw_moder *m = &f.eq->moder;

	f.ut.nic->now_ns = f.ut.now_ns += ns;
	m->completions += completions;
	m->wait[MODER_RX] =
	    (struct moder_wait){.frames = completions, .first_ns = f.ut.now_ns - ns + 1};
	moder_report(f.ut.nic, f.eq);
	m->wait[MODER_RX] = (struct moder_wait){0};
}

/* A whole sample of so many completions for each interrupt, one completion after each gap. */
static void sample(uint32_t completions, uint64_t gap_ns)
{
	uint32_t n = adapt()->profile ? MODERATED : FIRST, i;

	for (i = 0; i < n; i++)
		interrupt(completions, completions * gap_ns);
}

/* Each sample is as long as it should be, and the next one begins where it ends. */
static void length_of_a_sample(void)
{
	uint32_t i;

	begin();
	CU_ASSERT_EQUAL(adapt()->profile, 0);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_RIGHT);
	for (i = 1; i < FIRST; i++) {
		interrupt(2, 1000);
		CU_ASSERT_EQUAL(adapt()->sample.interrupts, i);
		CU_ASSERT_EQUAL(adapt()->profile, 0);
	}
	interrupt(2, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	CU_ASSERT_EQUAL(adapt()->sample.interrupts, 0);
	CU_ASSERT_EQUAL(adapt()->sample.begin_ns, f.ut.now_ns);
	CU_ASSERT_EQUAL(adapt()->sample.completions, f.eq->moder.completions);
	CU_ASSERT_EQUAL(adapt()->last.per_s, 2000000);
	CU_ASSERT_EQUAL(adapt()->last.per_irq16, 32);
	CU_ASSERT_EQUAL(adapt()->gap_ns, 500);
	for (i = 1; i < MODERATED; i++) {
		interrupt(3, 1000);
		CU_ASSERT_EQUAL(adapt()->sample.interrupts, i);
		CU_ASSERT_EQUAL(adapt()->profile, 1);
	}
	interrupt(3, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 2);
	CU_ASSERT_EQUAL(adapt()->sample.interrupts, 0);
	CU_ASSERT_EQUAL(adapt()->last.per_s, 3000000);
	CU_ASSERT_EQUAL(adapt()->last.per_irq16, 48);
	/* Gaps under moderation may be its own, and are not learnt. */
	CU_ASSERT_EQUAL(adapt()->gap_ns, 500);
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_mode_changes), 2);
	fix_end(&f);
}

/* Each profile is tried as long as it is better than the one before, and the last one is the end.
 */
static void as_far_as_it_is_better(void)
{
	static const uint16_t usecs[] = {0, 64, 128, 256, 512, 1000};
	static const uint16_t frames[] = {0, 4, 8, 16, 32, 64};
	uint32_t i;

	begin();
	for (i = 0; i <= TOP; i++) {
		const struct moder_limits limits = moder_limits_of(usecs[i], frames[i]);

		CU_ASSERT_EQUAL(adapt()->profile, i);
		if (i) {
			CU_ASSERT_EQUAL(
			    memcmp(&f.eq->moder.limits[MODER_RX], &limits, sizeof(limits)), 0);
			CU_ASSERT_EQUAL(
			    memcmp(&f.eq->moder.limits[MODER_TX], &limits, sizeof(limits)), 0);
		}
		sample(2 + i, 1000);
	}
	CU_ASSERT_EQUAL(adapt()->profile, TOP);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
	CU_ASSERT_EQUAL(adapt()->good, TOP);
	CU_ASSERT_EQUAL(adapt()->patience, 0);
	CU_ASSERT_EQUAL(adapt()->parked_for, 1);
	fix_end(&f);
}

/* Interrupts that are rare enough end the search where it is. */
static void rare_enough(void)
{
	begin();
	sample(14, 100);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	sample(16, 100);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
	/* It stays so as long as they are. */
	sample(16, 100);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
	CU_ASSERT_EQUAL(adapt()->parked_for, 1);
	sample(15, 100);
	CU_ASSERT_EQUAL(adapt()->profile, 2);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_RIGHT);
	fix_end(&f);
}

/* Brings the search to profile 2, which was better than 1; gaps of 1,000 ns, 4 to an interrupt. */
static void second(void)
{
	begin();
	sample(2, 1000);
	sample(4, 1000);
	CU_ASSERT_EQUAL_FATAL(adapt()->profile, 2);
}

/* No gain, or a loss: it goes back by one and rests, longer each time. */
static void turns_back(void)
{
	static const struct {
		uint32_t completions;
		uint64_t gap_ns;
	} list[] = {{4, 1000}, {4, 1100}, {4, 1050}, {6, 1300}, {3, 1000}};
	uint32_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		second();
		sample(list[i].completions, list[i].gap_ns);
		if (list[i].completions == 6) {
			/* Far fewer interrupts and a lower rate are measured twice. */
			CU_ASSERT_EQUAL(adapt()->profile, 2);
			CU_ASSERT_TRUE(adapt()->doubt);
			CU_ASSERT_EQUAL(adapt()->last.per_s, 1000000);
			sample(list[i].completions, list[i].gap_ns);
		}
		CU_ASSERT_EQUAL(adapt()->profile, 1);
		CU_ASSERT_FALSE(adapt()->doubt);
		CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
		CU_ASSERT_EQUAL(adapt()->patience, 1);
		CU_ASSERT_EQUAL(adapt()->parked_for, 2);
		CU_ASSERT_EQUAL(adapt()->good, 1);
		fix_end(&f);
	}
}

/* A difference counts beyond 6 % of the rate; of interrupts, with the same rate, beyond 10 %. */
static void small_differences(void)
{
	second();
	sample(4, 940);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	fix_end(&f);
	second();
	sample(4, 930);
	CU_ASSERT_EQUAL(adapt()->profile, 3);
	fix_end(&f);
	second();
	sample(5, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 3);
	fix_end(&f);
}

/* The rest after a step back is as long as the patience, then one more step is tried. */
static void parked(void)
{
	second();
	sample(4, 1000);
	CU_ASSERT_EQUAL(adapt()->parked_for, 2);
	sample(4, 1000);
	CU_ASSERT_EQUAL(adapt()->parked_for, 1);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	sample(4, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 2);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_RIGHT);
	/* In vain again: twice as long. */
	sample(4, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	CU_ASSERT_EQUAL(adapt()->parked_for, 4);
	fix_end(&f);
}

/* At rest the rate has halved: less moderation may be better, and is, as far as it goes. */
static void to_the_left(void)
{
	second();
	sample(4, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	sample(4, 2000);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
	sample(4, 4100);
	CU_ASSERT_EQUAL(adapt()->profile, 0);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_LEFT);
	/* There is nothing further left. */
	sample(4, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 0);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
	fix_end(&f);
	/* Not better: it stays. */
	second();
	sample(6, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 3);
	sample(6, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 2);
	sample(6, 2100);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_LEFT);
	sample(6, 2100);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
	fix_end(&f);
}

/* An earlier stream has shown how far is good: a better first step leads there at once. */
static void back_to_what_was_good(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 4; i++)
		sample(2 + i, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 4);
	CU_ASSERT_EQUAL(adapt()->good, 3);
	interrupt(1, 1000);
	CU_ASSERT_EQUAL(adapt()->alone, 1);
	/* A second completion takes the first of two vain waits back. */
	interrupt(2, 1000);
	CU_ASSERT_EQUAL(adapt()->alone, 0);
	interrupt(1, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 4);
	interrupt(1, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 0);
	CU_ASSERT_EQUAL(adapt()->tune, MODER_TUNE_PARKED);
	CU_ASSERT_EQUAL(adapt()->alone, 0);
	CU_ASSERT_EQUAL(adapt()->good, 3);
	CU_ASSERT_EQUAL(adapt()->last.per_s, 0);
	CU_ASSERT_EQUAL(adapt()->sample.interrupts, 0);
	CU_ASSERT_EQUAL(adapt()->patience, 1);
	sample(2, 1000);
	sample(2, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 1);
	sample(3, 1000);
	CU_ASSERT_EQUAL(adapt()->profile, 3);
	fix_end(&f);
}

/* A ping-pong, whose waits are all in vain, pays for trials that are ever rarer, to a bound. */
static void ever_rarer_trials(void)
{
	uint32_t i, samples;

	begin();
	for (i = 1; i <= MAX_PATIENCE + 2; i++) {
		for (samples = 0; !adapt()->profile; samples++)
			sample(1, 1000);
		CU_ASSERT_EQUAL(adapt()->profile, 1);
		CU_ASSERT_EQUAL(
		    samples,
		    i == 1 ? 1 : UINT32_C(1) << (i - 1 < MAX_PATIENCE ? i - 1 : MAX_PATIENCE));
		interrupt(1, 1000);
		interrupt(1, 1000);
		CU_ASSERT_EQUAL(adapt()->profile, 0);
		CU_ASSERT_EQUAL(adapt()->good, 0);
		CU_ASSERT_EQUAL(adapt()->patience, i < MAX_PATIENCE ? i : MAX_PATIENCE);
	}
	fix_end(&f);
}

/* Completions and other events that one interrupt reports are one each, and the first is no gain.
 */
static void what_an_interrupt_saved(void)
{
	struct fw_moder *m;

	begin();
	m = &f.eq->moder;
	m->others = 3;
	interrupt(2, 1000);
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_coalesced), 4);
	CU_ASSERT_EQUAL(m->others, 0);
	interrupt(1, 1000);
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_coalesced), 4);
	interrupt(0, 1000);
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_coalesced), 4);
	interrupt(2, 1000);
	CU_ASSERT_EQUAL(fix_count(&f, HW_VECTOR_coalesced), 5);
	fix_end(&f);
}

static bool at_once(uint8_t opcode, uint32_t qpn, uint32_t sq_index)
{
	const struct hw_cqe cqe = {.opcode = opcode, .qpn = qpn, .sq_index = (uint16_t)sq_index};

	return moder_adapt_cqe(f.ut.nic, f.eq, f.cq, &cqe);
}

/* A completion after a pause is reported at once: the first, and one after eight gaps and more. */
static void after_a_pause(void)
{
	struct hw_cqe *before;
	uint64_t now_ns;

	begin();
	now_ns = f.ut.nic->now_ns;
	f.cq->prod = 5;
	before = &f.cq->ring[3];
	f.eq->moder.adapt.gap_ns = 1000;
	CU_ASSERT_TRUE(at_once(HW_CQE_RECV, 0, 0));
	before->timestamp_ns = now_ns - 18000;
	CU_ASSERT_FALSE(at_once(HW_CQE_RECV, 0, 0));
	before->timestamp_ns = now_ns - 18001;
	CU_ASSERT_TRUE(at_once(HW_CQE_RECV, 0, 0));
	/* The process can write there. */
	before->timestamp_ns = now_ns + 1;
	CU_ASSERT_FALSE(at_once(HW_CQE_RECV, 0, 0));
	before->timestamp_ns = 0;
	f.cq->prod = 0;
	fix_end(&f);
}

/* The rate of a wait's second and later completions is learnt; a moderated wait ends by it. */
static void gaps_of_a_wait(void)
{
	struct moder_adapt *a;
	struct fw_moder *m;

	begin();
	m = &f.eq->moder;
	a = &m->adapt;
	a->gap_ns = 8000;
	a->last_ns = f.ut.nic->now_ns - 1600;
	m->wait[MODER_RX].frames = 1;
	(void)at_once(HW_CQE_RECV, 0, 0);
	CU_ASSERT_EQUAL(a->gap_ns, 8000);
	CU_ASSERT_EQUAL(a->last_ns, f.ut.nic->now_ns);
	a->last_ns -= 1600;
	m->wait[MODER_TX].frames = 1;
	(void)at_once(HW_CQE_RECV, 0, 0);
	CU_ASSERT_EQUAL(a->gap_ns, 7200);
	m->wait[MODER_RX].frames = m->wait[MODER_TX].frames = 0;
	/* Overdue after two gaps while it is tried, after three later; never before 2 us. */
	a->profile = 1;
	CU_ASSERT_EQUAL(moder_adapt_due_ns(m), a->last_ns + 14400);
	a->profile = 2;
	CU_ASSERT_EQUAL(moder_adapt_due_ns(m), a->last_ns + 21600);
	a->gap_ns = 600;
	CU_ASSERT_EQUAL(moder_adapt_due_ns(m), a->last_ns + 2000);
	a->profile = 0;
	fix_end(&f);
}

/* A queue with no more entries than it gave since the last interrupt runs low. */
static void queues_that_run_low(void)
{
	struct fw_qp *qp;
	uint32_t i;

	begin();
	qp = host_qp(f.ut.nic, 0, HW_QPT_UD, host_pd(f.ut.nic, 0), f.cq, HW_SRQ_NONE);
	f.cq->prod = 5;
	f.cq->ring[3].timestamp_ns = f.ut.nic->now_ns;
	f.eq->moder.serial = 7;
	qp->record->sq_prod = 20;
	CU_ASSERT_FALSE(at_once(HW_CQE_SEND, qp->qpn, 10));
	CU_ASSERT_FALSE(at_once(HW_CQE_SEND, qp->qpn, 14));
	CU_ASSERT_TRUE(at_once(HW_CQE_SEND, qp->qpn, 15));
	/* The next interrupt counts anew. */
	f.eq->moder.serial = 8;
	CU_ASSERT_FALSE(at_once(HW_CQE_SEND, qp->qpn, 15));
	CU_ASSERT_FALSE(at_once(HW_CQE_SEND, qp->qpn, 17));
	CU_ASSERT_TRUE(at_once(HW_CQE_SEND, qp->qpn, 18));
	CU_ASSERT_TRUE(at_once(HW_CQE_SEND, qp->qpn, 20));
	/* Receives have a count of their own. */
	for (i = 0; i < 4; i++)
		fw_ut_post_recv(qp, i, 1);
	CU_ASSERT_FALSE(at_once(HW_CQE_RECV, qp->qpn, 0));
	qp->rq_cons += 1;
	CU_ASSERT_FALSE(at_once(HW_CQE_RECV, qp->qpn, 0));
	qp->rq_cons += 1;
	CU_ASSERT_TRUE(at_once(HW_CQE_RECV, qp->qpn, 0));
	/* A queue pair that is gone has no queue. */
	CU_ASSERT_FALSE(at_once(HW_CQE_RECV, qp->qpn ^ 0xff, 0));
	f.cq->ring[3].timestamp_ns = 0;
	f.cq->prod = 0;
	qp->record->sq_prod = 0;
	fix_end(&f);
}

UT_MAIN("nic_fw/host/moder_adapt", UT(after_a_pause), UT(gaps_of_a_wait), UT(queues_that_run_low),
	UT(length_of_a_sample), UT(as_far_as_it_is_better), UT(rare_enough), UT(turns_back),
	UT(small_differences), UT(parked), UT(to_the_left), UT(back_to_what_was_good),
	UT(ever_rarer_trials), UT(what_an_interrupt_saved))
