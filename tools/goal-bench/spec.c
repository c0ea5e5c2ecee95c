/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See spec.h. Calls libc alone.
 */
#include "tools/goal-bench/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/clock.h"
#include "lib/stats.h"

static const char *const coll_names[SPEC_COLLS] = {"barrier", "bcast", "allreduce", "gather"};

int spec_parse(const char *text, struct spec *spec)
{
	const char *end = strchrnul(text, ':');
	unsigned long long bytes = 8;
	char *after;
	int i;

	memset(spec, 0, sizeof(*spec));
	snprintf(spec->name, sizeof(spec->name), "%s", text);
	snprintf(spec->alg, sizeof(spec->alg), "auto");
	for (i = 0; i < SPEC_COLLS; i++) {
		if (strlen(coll_names[i]) == (size_t)(end - text) &&
		    strncmp(coll_names[i], text, (size_t)(end - text)) == 0)
			break;
	}
	if (i == SPEC_COLLS)
		return -1;
	spec->coll = (enum spec_coll)i;
	if (*end == ':') {
		bytes = strtoull(end + 1, &after, 10);
		if (after == end + 1 || (*after != '\0' && *after != ':'))
			return -1;
		if (*after == ':')
			snprintf(spec->alg, sizeof(spec->alg), "%s", after + 1);
	}
	/* Data is 64-bit words, so that it can be summed. */
	if (bytes > SPEC_MAX_BYTES || (bytes % 8 && i != SPEC_BARRIER))
		return -1;
	spec->bytes = spec->coll == SPEC_BARRIER ? 0 : (size_t)bytes;
	return 0;
}

bool spec_synchronizes(const struct spec *spec)
{
	return spec->coll == SPEC_BARRIER || spec->coll == SPEC_ALLREDUCE;
}

size_t spec_room(const struct spec *spec, int ranks)
{
	size_t bytes = spec->coll == SPEC_GATHER ? spec->bytes * (size_t)ranks : spec->bytes;

	return bytes ? bytes : 8;
}

void *spec_alloc(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* cppcheck-suppress memleak ; MAP_FAILED is nothing to free */
	return mem == MAP_FAILED ? NULL : mem;
}

void spec_free(void *mem, size_t bytes)
{
	if (mem)
		munmap(mem, bytes);
}

/* ---- data -------------------------------------------------------------------------------------
 */

void spec_fill(uint64_t *data, size_t bytes, int rank, int round)
{
	uint64_t base = ((uint64_t)round << 32) + (uint64_t)(rank + 1) * 1000003;
	size_t i;

	for (i = 0; i < bytes / 8; i++)
		data[i] = base + i;
}

static uint64_t wrong_words(const uint64_t *data, size_t words, uint64_t first, uint64_t step)
{
	uint64_t wrong = 0;
	size_t i;

	for (i = 0; i < words; i++)
		wrong += data[i] != first + i * step;
	return wrong;
}

uint64_t spec_check(const struct spec *spec, const uint64_t *data, int rank, int ranks, int round)
{
	size_t words = spec->bytes / 8;
	uint64_t base = (uint64_t)round << 32, wrong = 0, n = (uint64_t)ranks;
	int r;

	switch (spec->coll) {
	case SPEC_BCAST:
		return wrong_words(data, words, base + 1000003, 1);
	case SPEC_ALLREDUCE:
		return wrong_words(data, words, n * base + n * (n + 1) / 2 * 1000003, n);
	case SPEC_GATHER:
		for (r = 0; rank == 0 && r < ranks; r++)
			wrong += wrong_words(data + (size_t)r * words, words,
					     base + (uint64_t)(r + 1) * 1000003, 1);
		return wrong;
	case SPEC_BARRIER:
	case SPEC_COLLS:
		break;
	}
	return 0;
}

/* ---- figures ------------------------------------------------------------------------------------
 */

int spec_times(const double *times, int ranks, int runs, struct spec_times *out)
{
	double *mean = calloc((size_t)runs, sizeof(*mean));
	double *slowest = calloc((size_t)runs, sizeof(*slowest));
	int rank, run, rc = mean && slowest ? 0 : -1;

	for (run = 0; rc == 0 && run < runs; run++) {
		for (rank = 0; rank < ranks; rank++) {
			double t = times[(size_t)rank * (size_t)runs + (size_t)run];

			mean[run] += t / ranks;
			slowest[run] = t > slowest[run] ? t : slowest[run];
		}
	}
	if (rc == 0) {
		out->median_us = stats_median_mean(mean, (size_t)runs);
		out->min_us = mean[0];
		out->max_us = mean[runs - 1];
		out->p95_us = mean[runs * 95 / 100];
		out->slowest_us = stats_median_mean(slowest, (size_t)runs);
	}
	free(mean);
	free(slowest);
	return rc;
}

/* ---- work ---------------------------------------------------------------------------------------
 */

/* Every round depends on the previous one; the result is kept where others could read it. */
static void churn(uint64_t rounds)
{
	static volatile uint64_t kept = 88172645463325252u;
	uint64_t x = kept;

	while (rounds--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	kept = x;
}

void spec_compute(double us)
{
	static double rounds_per_us;
	double best = 0;
	int i;

	/* The fastest of many short pieces, so that interruptions do not count. */
	for (i = 0; rounds_per_us == 0 && i < 200; i++) {
		double t = clock_now_us(), rate;

		churn(20000);
		rate = 20000 / (clock_now_us() - t);
		best = rate > best ? rate : best;
	}
	if (rounds_per_us == 0)
		rounds_per_us = best;
	churn((uint64_t)(us * rounds_per_us));
}
