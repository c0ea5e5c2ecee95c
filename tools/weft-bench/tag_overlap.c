/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation that a tagged message hides: Rashti's thesis, section 3.6.1 (equation 3.4), for sends
 * and for receives apart. Calls tag_end.c and mpi3_busy.c.
 *
 * Rank 0 measures and calls nothing of libweft between the post and the wait. Its partner sleeps
 * while it waits, so that it takes nothing from the computing rank where processors are short. A
 * receive is measured with the receiver first, and with the sender first, when the message has
 * reached the receiver's NIC before the receive is posted.
 */
#include <sched.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/tag.h"

enum {
	OVERLAP_REPS_MAX = 15, /* repetitions of one amount of computation; the median counts */
	OVERLAP_STEPS = 20,    /* steps of a tenth of the message's time each */
	OVERLAP_MIN_BYTES = 1024,
	OVERLAP_STEP = 4,
};

/* Requests of rank 0 to its partner. */
enum {
	ORDER_END,
	/* Each ends with a word of rank 0, and one of the partner. */
	ORDER_RECEIVE,    /* post a receive, say so; check the message in the end */
	ORDER_SEND,       /* fill in, say so; wait for a word, then send */
	ORDER_SEND_FIRST, /* send, say so */
};

enum overlap_side {
	SIDE_SEND,
	SIDE_RECV_FIRST, /* the receiver is first */
	SIDE_RECV_LATE,  /* the sender is first */
	SIDES
};

static const struct {
	const char *side, *first;
	uint64_t order;
} sides[SIDES] = {
    [SIDE_SEND] = {"send", "receiver", ORDER_RECEIVE},
    [SIDE_RECV_FIRST] = {"recv", "receiver", ORDER_SEND},
    [SIDE_RECV_LATE] = {"recv", "sender", ORDER_SEND_FIRST},
};

struct overlap {
	struct tag_end e;
	struct end_mem buf;
	struct mpi3_busy busy;
	double scale; /* work that takes 1 us here and now, in units of busy's */
	size_t bytes;
	uint64_t seq;
	enum overlap_side side;
};

/* ---- the partner ------------------------------------------------------------------------------
 */

/* It sleeps until the time has been taken: its own completions would take from rank 0's. */
static int serve_one(struct overlap *v, uint64_t order)
{
	struct tag_end *e = &v->e;
	uint64_t word;
	int rc;

	if (order == ORDER_RECEIVE) {
		rc = tag_irecv(e, &v->buf, 0, v->bytes, TAG_DATA, 0, NULL) || tag_tell(e, 0);
	} else {
		pattern_fill(v->buf.p, v->bytes, v->seq, 1);
		rc = (order == ORDER_SEND && (tag_tell(e, 0) || tag_hear(e, &word))) ||
		     tag_isend(e, &v->buf, 0, v->bytes, TAG_DATA, NULL) ||
		     (order == ORDER_SEND_FIRST && tag_tell(e, 0));
	}
	if (rc || tag_hear(e, &word) || tag_wait_sends(e, 0) || tag_wait_recvs(e, 0))
		return -1;
	if (order == ORDER_RECEIVE && tag_check(e, v->buf.p, v->bytes, v->seq, 1))
		return -1;
	return tag_tell(e, 0);
}

static int serve(struct overlap *v)
{
	uint64_t order, bytes;

	for (;;) {
		if (tag_hear(&v->e, &order))
			return -1;
		if (order == ORDER_END)
			return 0;
		if (tag_hear(&v->e, &bytes) || tag_hear(&v->e, &v->seq))
			return -1;
		v->bytes = bytes;
		if (bytes > v->buf.bytes)
			return fail("%llu bytes are asked for", (unsigned long long)bytes);
		if (serve_one(v, order))
			return -1;
	}
}

/* ---- the measuring rank -----------------------------------------------------------------------
 */

static int ask(struct overlap *v)
{
	uint64_t word;

	return tag_tell(&v->e, sides[v->side].order) || tag_tell(&v->e, v->bytes) ||
		       tag_tell(&v->e, v->seq) || tag_hear(&v->e, &word)
		   ? -1
		   : 0;
}

/* The sender is first: its message waits, unexpected, at this NIC. */
static int await_unexpected(struct overlap *v)
{
	uint64_t start_ns = clock_now_ns();
	struct weft_tag_stats stats;
	int rc;

	do {
		rc = weft_query_tag_ep(v->e.ep, &stats);
		if (rc)
			return fail("querying the endpoint failed");
		if ((double)(clock_now_ns() - start_ns) > v->e.c->o->timeout_s * 1e9)
			return fail("the message did not come");
	} while (!stats.unexpected);
	return 0;
}

/* Time from before the post to the end of the wait, with computation between; us. */
static int once(struct overlap *v, double busy_us, double *us)
{
	struct tag_end *e = &v->e;
	uint64_t start_ns, word;
	bool recv = v->side != SIDE_SEND;

	v->seq++;
	if (!recv)
		pattern_fill(v->buf.p, v->bytes, v->seq, 1);
	if (ask(v) || (v->side == SIDE_RECV_LATE && await_unexpected(v)))
		return -1;
	start_ns = clock_now_ns();
	if (recv ? tag_irecv(e, &v->buf, 0, v->bytes, TAG_DATA, 0, NULL)
		 : tag_isend(e, &v->buf, 0, v->bytes, TAG_DATA, NULL))
		return -1;
	if (v->side == SIDE_RECV_FIRST && tag_tell(e, 0))
		return -1;
	if (busy_us > 0)
		mpi3_busy_fixed(&v->busy, busy_us * v->scale);
	if (recv ? tag_wait_recvs(e, 0) : tag_wait_sends(e, 0))
		return -1;
	*us = (double)(clock_now_ns() - start_ns) / 1e3;
	if (tag_tell(e, 0) || tag_hear(e, &word))
		return -1;
	return !recv ? 0 : tag_check(e, v->buf.p, v->bytes, v->seq, 1);
}

static int median_of(struct overlap *v, double busy_us, double *us)
{
	uint64_t iters = v->e.c->o->iters;
	uint32_t reps = iters < OVERLAP_REPS_MAX ? (uint32_t)iters : OVERLAP_REPS_MAX;
	double sample[OVERLAP_REPS_MAX] = {0};

	for (uint32_t i = 0; i < reps; i++)
		if (once(v, busy_us, &sample[i]))
			return -1;
	*us = stats_median(sample, reps);
	return 0;
}

/*
 * The processor's speed differs from that of the first calibration while the NIC works beside it:
 * both may be threads of one core. The same amount of work is measured without a message.
 */
static void calibrate(struct overlap *v, double us)
{
	double sample[OVERLAP_REPS_MAX];

	for (int i = 0; i < OVERLAP_REPS_MAX; i++) {
		uint64_t start_ns = clock_now_ns();

		mpi3_busy_fixed(&v->busy, us);
		sample[i] = (double)(clock_now_ns() - start_ns) / 1e3;
	}
	v->scale = us / stats_median(sample, OVERLAP_REPS_MAX);
}

/*
 * Equation 3.4: computation grows by a tenth of the message's time l0 until the total time has
 * grown by a tenth. The result is the hidden computation of the last step before, in l0.
 */
static int ratio_block(struct overlap *v, double *l0_us, double *ratio)
{
	double l0, lm, c;

	if (median_of(v, 0, &l0))
		return -1;
	*l0_us = l0;
	*ratio = 0;
	calibrate(v, l0);
	for (int step = 1; step <= OVERLAP_STEPS; step++) {
		c = l0 * step / 10;
		if (median_of(v, c, &lm))
			return -1;
		if (lm >= 1.1 * l0)
			break;
		*ratio = (c - (lm - l0)) / l0;
	}
	return 0;
}

static int measure(struct overlap *v)
{
	double l0[CREW_BLOCKS], ratio[CREW_BLOCKS];
	json_t *row;

	for (int side = 0; side < SIDES; side++) {
		v->side = (enum overlap_side)side;
		for (v->bytes = OVERLAP_MIN_BYTES; v->bytes <= v->e.c->o->size;
		     v->bytes *= OVERLAP_STEP) {
			for (int b = 0; b < CREW_BLOCKS; b++)
				if (ratio_block(v, &l0[b], &ratio[b]))
					return -1;
			row = json_pack("{s:s, s:s, s:s, s:I}", "part", "overlap", "side",
					sides[side].side, "first", sides[side].first, "bytes",
					(json_int_t)v->bytes);
			crew_figure(row, "l0_us", l0);
			crew_figure(row, "ratio", ratio);
			if (crew_row(v->e.c, row))
				return -1;
		}
	}
	return tag_tell(&v->e, ORDER_END);
}

/*
 * The partner stands for another computer: when it is woken it runs at once, for the moment of a
 * call, where both share a processor.
 */
static void run_at_once(void)
{
	const struct sched_param param = {.sched_priority = 1};

	/* Refused to others than root, whose figures then depend on the kernel's choice. */
	(void)sched_setscheduler(0, SCHED_FIFO, &param);
}

int tag_overlap(struct crew *c, void *arg)
{
	const struct tag_config cfg = {.block = c->rank != 0};
	struct overlap v = {.seq = 0};

	(void)arg;
	mpi3_pin(c);
	if (c->rank)
		run_at_once();
	if (tag_open(&v.e, c, &cfg) || tag_alloc(&v.e, &v.buf, c->o->size) ||
	    mpi3_busy_open(&v.busy, 0))
		return -1;
	if (c->rank ? serve(&v) : measure(&v))
		return -1;
	mpi3_busy_close(&v.busy);
	tag_free(&v.buf);
	tag_close(&v.e);
	return 0;
}
