/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation for the measurements of overlap and progress, and the partner that serves them; see
 * mpi3.h. Called by mpi3_overlap.c and mpi3_progress.c; calls mp_io.c.
 *
 * The work is of a fixed amount, not of a fixed time: what a message costs the processor that
 * computes prolongs it, and is seen.
 */
#include <sched.h>
#include <stdlib.h>

#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

enum {
	CALIBRATE_SPINS = 200000,
	CALIBRATE_TRIES = 9,
	CALIBRATE_PASSES = 4,
};

static void spin(uint64_t count)
{
	volatile uint64_t word = 0;

	while (count--)
		word = word + 1;
}

static void daxpy(struct mpi3_busy *b, uint64_t passes)
{
	while (passes--) {
		for (size_t i = 0; i < b->doubles; i++)
			b->y[i] = 0.5 * b->x[i] + b->y[i];
		/* Each pass is done, and values stay as they are. */
		__asm__ volatile("" : : "r"(b->y) : "memory");
	}
}

int mpi3_busy_open(struct mpi3_busy *b, size_t vector_bytes)
{
	uint64_t start, ns, best = UINT64_MAX, best_pass = UINT64_MAX;

	*b = (struct mpi3_busy){.doubles = vector_bytes / sizeof(double)};
	b->x = calloc(b->doubles + 1, sizeof(double));
	b->y = calloc(b->doubles + 1, sizeof(double));
	if (!b->x || !b->y)
		return fail("no memory for vectors of %zu bytes", vector_bytes);
	for (size_t i = 0; i < b->doubles; i++)
		b->x[i] = b->y[i] = 0;
	for (int i = 0; i < CALIBRATE_TRIES; i++) {
		start = now_ns();
		spin(CALIBRATE_SPINS);
		ns = now_ns() - start;
		best = ns < best ? ns : best;
		start = now_ns();
		daxpy(b, CALIBRATE_PASSES);
		ns = now_ns() - start;
		best_pass = ns < best_pass ? ns : best_pass;
	}
	b->spins_per_us = CALIBRATE_SPINS * 1e3 / (double)best;
	b->passes_per_us = CALIBRATE_PASSES * 1e3 / (double)(best_pass ? best_pass : 1);
	return 0;
}

void mpi3_busy_close(struct mpi3_busy *b)
{
	free(b->x);
	free(b->y);
}

void mpi3_busy_fixed(const struct mpi3_busy *b, double us)
{
	spin((uint64_t)(us * b->spins_per_us));
}

void mpi3_busy_daxpy(struct mpi3_busy *b, double us)
{
	uint64_t passes = (uint64_t)(us * b->passes_per_us + 0.5);

	daxpy(b, passes ? passes : 1);
}

void mpi3_pin(const struct crew *c)
{
	cpu_set_t allowed, one;
	int first = -1, last = -1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed)) {
			first = first < 0 ? i : first;
			last = i;
		}
	CPU_ZERO(&one);
	CPU_SET(c->rank ? last : first, &one);
	/* Where that is refused, the figures say where the kernel has put it. */
	(void)sched_setaffinity(0, sizeof(one), &one);
}

uint32_t mpi3_reps(const struct opts *o, uint64_t bytes)
{
	uint64_t reps = MPI3_BUDGET_BYTES / (bytes ? bytes : 1);

	if (reps > o->iters)
		reps = o->iters;
	return reps < 4 ? 4 : (uint32_t)reps;
}

/* ---- the partner ------------------------------------------------------------------------------
 */

int mpi3_tell(struct mp *mp, enum mpi3_order order, uint64_t bytes, uint64_t seq)
{
	struct mpi3_token t = {.order = order, .bytes = bytes, .seq = seq};

	return mp_send(mp, &t, sizeof(t));
}

int mpi3_answer(struct mp *mp, uint64_t *ns)
{
	struct mpi3_token t;

	if (mp_recv(mp, &t, sizeof(t)))
		return -1;
	*ns = t.ns;
	return 0;
}

static int serve_receive(struct mp *mp, uint8_t *buf, struct mpi3_token *t)
{
	uint64_t start = now_ns();

	if (mp_recv(mp, buf, t->bytes))
		return -1;
	t->ns = now_ns() - start;
	if (pattern_check(buf, t->bytes, t->seq, 1) != t->bytes)
		return fail("message %llu of %llu bytes is wrong", (unsigned long long)t->seq,
			    (unsigned long long)t->bytes);
	return mp_send(mp, t, sizeof(*t));
}

/* A buffer of just that length: a longer one whose beginning is registered is not moved any more.
 */
static int take_buffer(struct mp *mp, uint8_t **buf, uint64_t *have_bytes, uint64_t bytes)
{
	if (*have_bytes == bytes)
		return 0;
	mp_free(mp, *buf, *have_bytes);
	*buf = bytes ? mp_alloc(mp, bytes) : NULL;
	*have_bytes = *buf ? bytes : 0;
	return *buf || !bytes ? 0 : -1;
}

int mpi3_serve(struct mp *mp, size_t max_bytes)
{
	struct mpi3_token t = {.order = MPI3_RECEIVE};
	uint64_t have_bytes = 0;
	uint8_t *buf = NULL;
	int rc = 0;

	while (!rc) {
		rc = mp_recv(mp, &t, sizeof(t));
		if (rc || t.order == MPI3_END)
			break;
		if (t.bytes > max_bytes)
			rc = fail("a token asks for %llu bytes", (unsigned long long)t.bytes);
		rc = rc || take_buffer(mp, &buf, &have_bytes, t.bytes) ? -1 : 0;
		if (!rc && t.order == MPI3_RECEIVE) {
			rc = serve_receive(mp, buf, &t);
		} else if (!rc) {
			pattern_fill(buf, t.bytes, t.seq, 1);
			rc = mp_send(mp, buf, t.bytes);
		}
	}
	/* To nothing. */
	return take_buffer(mp, &buf, &have_bytes, 0) ? -1 : rc;
}
