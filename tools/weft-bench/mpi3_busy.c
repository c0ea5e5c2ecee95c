/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation for the measurements of overlap and progress; see mpi3.h.
 *
 * The amount of work is fixed, not its time: processor time that a message takes from the computing
 * process prolongs it, and shows.
 */
#include <sched.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "tools/weft-bench/mpi3.h"

enum {
	CALIBRATE_SPINS = 200000,
	CALIBRATE_TRIES = 9,
	CALIBRATE_PASSES = 4,
};

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

static void daxpy(struct mpi3_busy *b, uint64_t passes)
{
	while (passes--) {
		for (size_t i = 0; i < b->doubles; i++)
			b->y[i] = 0.5 * b->x[i] + b->y[i];
		/* Each pass does all its work, and values stay unchanged. */
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
		start = clock_now_ns();
		spin(CALIBRATE_SPINS);
		ns = clock_now_ns() - start;
		best = ns < best ? ns : best;
		start = clock_now_ns();
		daxpy(b, CALIBRATE_PASSES);
		ns = clock_now_ns() - start;
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
	/* If that is refused, the figures name the processors chosen by the kernel. */
	(void)sched_setaffinity(0, sizeof(one), &one);
}
