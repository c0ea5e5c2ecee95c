/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation that a message of MPI hides, and what is left of the message after it: Rashti's
 * thesis, 3.6.1 (equation 3.4) and 3.6.2, for sends and receives apart, with the receiver or the
 * sender first (speculative-rendezvous, figures 13 and 14).
 *
 * Rank 0 calls nothing of MPI between the post and MPI_Wait(). The ranks order their posts by a
 * socket, so that MPI sees none of it. l0, the computation alone and lm are measured in turn: the
 * machine changes its speed by more than the goals allow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/bench/mpi/tag.h"

enum {
	REPS = 15,          /* of one amount of computation; the median counts */
	STEPS = 20,         /* of a tenth of l0 each */
	STEPS_BEYOND = 2,   /* in a row above 1.1 l0 that end the search */
	PROGRESS_STEPS = 4, /* of computation to l0 */
	WARM_UP = 3,
	NAP_US = 50,
	SETTLE_US = 300, /* until a message that was sent has reached the receiver's NIC */
	DATA = 7,
};

/* A request of rank 0 to rank 1. */
struct order {
	uint64_t side; /* enum tag_side; TAG_SIDES: end */
	uint64_t bytes;
	uint64_t seq;
};

struct overlap {
	struct tag_job *job;
	enum tag_side side;
	size_t bytes;
	uint8_t *buf;
	double loops_per_us;
};

static void tell(const struct tag_job *job, const void *p, size_t bytes)
{
	if (send(job->peer_fd, p, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		tag_die(job, "the other rank has ended");
}

static void hear(const struct tag_job *job, void *p, size_t bytes)
{
	if (recv(job->peer_fd, p, bytes, MSG_WAITALL) != (ssize_t)bytes)
		tag_die(job, "the other rank has ended");
}

static void tell_word(const struct tag_job *job)
{
	uint8_t word = 0;

	tell(job, &word, sizeof(word));
}

static void hear_word(const struct tag_job *job)
{
	uint8_t word;

	hear(job, &word, sizeof(word));
}

static void nap(long us)
{
	const struct timespec t = {0, us * 1000};

	(void)nanosleep(&t, NULL);
}

static bool is_recv(uint64_t side)
{
	return side == TAG_RECV || side == TAG_RECV_LATE;
}

/* ---- rank 1 --------------------------------------------------------------------------------- */

static void post(const struct tag_job *job, const struct order *o, uint8_t *buf, MPI_Request *r)
{
	if (is_recv(o->side)) {
		tag_fill(buf, o->bytes, o->seq);
		if (o->side == TAG_RECV) {
			tell_word(job);
			hear_word(job);
		}
		MPI_Isend(buf, (int)o->bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, r);
	} else {
		if (o->side == TAG_SEND_LATE) {
			tell_word(job);
			hear_word(job);
		}
		MPI_Irecv(buf, (int)o->bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, r);
	}
	if (o->side == TAG_RECV_LATE || o->side == TAG_SEND)
		tell_word(job);
}

static void serve_one(const struct tag_job *job, const struct order *o, uint8_t *buf)
{
	MPI_Request r;
	int done = 0;

	post(job, o, buf, &r);
	while (job->partner == TAG_NAP && !done) {
		nap(NAP_US);
		MPI_Test(&r, &done, MPI_STATUS_IGNORE);
	}
	if (job->partner == TAG_WAIT)
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	hear_word(job);
	if (job->partner == TAG_SLEEP)
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	if (!is_recv(o->side) && !tag_is_right(buf, o->bytes, o->seq))
		tag_die(job, "wrong bytes came");
	tell_word(job);
}

static void serve(const struct tag_job *job, uint8_t *buf)
{
	struct order o;

	for (hear(job, &o, sizeof(o)); o.side != TAG_SIDES; hear(job, &o, sizeof(o)))
		serve_one(job, &o, buf);
}

/* ---- rank 0 --------------------------------------------------------------------------------- */

/*
 * In a register: processors that forward stores to loads at no cost do so at some times and not at
 * others, and a sum in memory is five times as fast at those times.
 */
static void spin(uint64_t count)
{
	uint64_t word = 1;

	while (count--) {
		word = 3 * word + 1;
		__asm__ volatile("" : "+r"(word));
	}
}

/* The amount of work is fixed, not its time. */
static void compute(const struct overlap *v, double us)
{
	spin((uint64_t)(us * v->loops_per_us));
}

static void calibrate(struct overlap *v)
{
	double best = 1e12, us;

	v->loops_per_us = 500;
	for (int i = 0; i < REPS; i++) {
		us = clock_now_us();
		compute(v, 1000);
		us = clock_now_us() - us;
		best = us < best ? us : best;
	}
	v->loops_per_us *= 1000 / best;
}

/* Time from before the post to the end of the wait, us. */
static double once(struct overlap *v, double work_us)
{
	const struct tag_job *job = v->job;
	struct order o = {v->side, v->bytes, ++v->job->seq};
	MPI_Request r;
	double start;

	if (!is_recv(v->side))
		tag_fill(v->buf, v->bytes, o.seq);
	tell(job, &o, sizeof(o));
	hear_word(job);
	if (v->side == TAG_RECV_LATE || v->side == TAG_SEND)
		nap(SETTLE_US);
	start = clock_now_us();
	if (is_recv(v->side))
		MPI_Irecv(v->buf, (int)v->bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &r);
	else
		MPI_Isend(v->buf, (int)v->bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &r);
	if (v->side == TAG_RECV || v->side == TAG_SEND_LATE)
		tell_word(job);
	if (work_us > 0)
		compute(v, work_us);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	start = clock_now_us() - start;
	if (is_recv(v->side) && !tag_is_right(v->buf, v->bytes, o.seq))
		tag_die(job, "wrong bytes came");
	tell_word(job);
	hear_word(job);
	return start;
}

/* Medians of the message alone, of the computation alone, and of both, measured in turn; us. */
static void in_turn(struct overlap *v, double work_us, double *l0, double *c, double *lm)
{
	double alone[REPS], busy[REPS], both[REPS];

	for (int i = 0; i < REPS; i++) {
		alone[i] = once(v, 0);
		busy[i] = clock_now_us();
		compute(v, work_us);
		busy[i] = clock_now_us() - busy[i];
		both[i] = once(v, work_us);
	}
	*l0 = stats_median(alone, REPS);
	*c = stats_median(busy, REPS);
	*lm = stats_median(both, REPS);
}

static double message_us(struct overlap *v)
{
	double l0[REPS];

	for (int i = 0; i < WARM_UP; i++)
		(void)once(v, 0);
	for (int i = 0; i < REPS; i++)
		l0[i] = once(v, 0);
	return stats_median(l0, REPS);
}

static const char *const side_names[TAG_SIDES] = {
    [TAG_SEND] = "send", [TAG_RECV] = "recv", [TAG_RECV_LATE] = "recv", [TAG_SEND_LATE] = "send"};
static const char *const first_names[TAG_SIDES] = {[TAG_SEND] = "receiver",
						   [TAG_RECV] = "receiver",
						   [TAG_RECV_LATE] = "sender",
						   [TAG_SEND_LATE] = "sender"};

/* Equation 3.4, with the most computation for which lm stays below 1.1 l0. */
static void measure_overlap(struct overlap *v)
{
	double step_us = message_us(v) / 10, l0 = 10 * step_us, c, lm, ratio = 0;
	int beyond = 0;

	for (int step = 1; step <= STEPS && beyond < STEPS_BEYOND; step++) {
		in_turn(v, step * step_us, &l0, &c, &lm);
		beyond = lm < 1.1 * l0 ? 0 : beyond + 1;
		if (!beyond)
			ratio = (c - (lm - l0)) / l0;
	}
	tag_row(v->job, "overlap", v->bytes);
	printf(", \"side\": \"%s\", \"first\": \"%s\", \"l0_us\": %.2f, \"ratio\": %.3f",
	       side_names[v->side], first_names[v->side], l0, ratio);
	tag_row_end();
}

/* The whole time and what is left after the computation, for computation of up to twice l0. */
static void measure_progress(struct overlap *v)
{
	double step_us = message_us(v) / PROGRESS_STEPS, l0, c, lm;

	for (int step = 0; step <= 2 * PROGRESS_STEPS; step++) {
		in_turn(v, step * step_us, &l0, &c, &lm);
		tag_row(v->job, "progress", v->bytes);
		printf(", \"side\": \"%s\", \"first\": \"%s\", \"delay\": %.2f, \"l0_us\": %.2f, "
		       "\"delay_us\": %.2f, \"us\": %.2f, \"left_us\": %.2f",
		       side_names[v->side], first_names[v->side], (double)step / PROGRESS_STEPS, l0,
		       c, lm, lm - c);
		tag_row_end();
	}
}

static void run(struct tag_job *job, enum tag_side side, size_t bytes,
		void (*measure)(struct overlap *))
{
	struct overlap v = {.job = job, .side = side, .bytes = bytes};
	const struct order end = {.side = TAG_SIDES};

	v.buf = tag_room(job, bytes);
	if (job->rank) {
		serve(job, v.buf);
	} else {
		calibrate(&v);
		measure(&v);
		tell(job, &end, sizeof(end));
	}
	free(v.buf);
}

void tag_overlap(struct tag_job *job, enum tag_side side, size_t bytes)
{
	run(job, side, bytes, measure_overlap);
}

void tag_progress(struct tag_job *job, enum tag_side side, size_t bytes)
{
	run(job, side, bytes, measure_progress);
}
