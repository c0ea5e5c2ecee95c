/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that finish without the host: starts several kinds at once, stops itself (SIGSTOP),
 * and finds all of them finished and every byte right when it is continued.
 *
 * Run by tests/int/goal_stop.sh, one process for each rank; uses goal.h and goal_coll.h. Prints
 * "started N" before it stops and "right N" at the end; N is the number of runs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/goal_coll.h"

enum {
	WORDS = 65536, /* words of an ordinary vector: 512 KiB, whose quarters are eager messages */
	LARGE = 262144, /* 2 MiB: its quarters are announced by the receiver */
	RUNS = 9,
};

/* One collective with its input and output. */
struct job {
	const char *name;
	GOAL_Schedule sched;
	uint64_t *send, *recv;
	GOAL_Handle run;
};

static int rank, size;

static int fail(const char *what)
{
	fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, what, GOAL_StrError(GOAL_LastError()),
		GOAL_LastErrorDetail());
	return 1;
}

/* Word i that rank r of job j sends; small, so that float arithmetic is exact. */
static uint64_t word(int j, int r, size_t i)
{
	return (uint64_t)(j + 1) * 31 + (uint64_t)(r + 1) * 7 + i % 1001;
}

static uint64_t sum(int j, size_t i)
{
	uint64_t s = 0;
	int r;

	for (r = 0; r < size; r++)
		s += word(j, r, i);
	return s;
}

static GOAL_Schedule make(int j, const char **name, uint64_t *s, uint64_t *r)
{
	GOAL_Comm w = GOAL_CommWorld();
	int last = size - 1;

	switch (j) {
	case 0:
		*name = "barrier";
		return GOAL_BarrierSchedule(w, GOAL_ALG_BRUCK);
	case 1:
		*name = "bcast, binomial, announced";
		return GOAL_BcastSchedule(w, r, LARGE * 8, last, GOAL_ALG_BINOMIAL);
	case 2:
		*name = "bcast, multicast";
		return GOAL_BcastSchedule(w, r, WORDS * 8, 0, GOAL_ALG_MULTICAST);
	case 3:
		*name = "allreduce, ring, announced";
		return GOAL_AllreduceSchedule(w, s, r, LARGE, GOAL_ADD, GOAL_UINT, 64,
					      GOAL_ALG_RING);
	case 4:
		*name = "allreduce, multicast";
		return GOAL_AllreduceSchedule(w, s, r, 1, GOAL_ADD, GOAL_UINT, 64,
					      GOAL_ALG_MULTICAST);
	case 5:
		*name = "reduce_scatter";
		return GOAL_ReduceScatterSchedule(w, s, r, WORDS, GOAL_ADD, GOAL_UINT, 64,
						  GOAL_ALG_RECURSIVE_HALVING);
	case 6:
		*name = "alltoall, announced";
		return GOAL_AlltoallSchedule(w, s, r, WORDS / 2 * 8, GOAL_ALG_PAIRWISE);
	case 7:
		*name = "gather, linear_sync";
		return GOAL_GatherSchedule(w, s, r, WORDS * 8, 1, GOAL_ALG_LINEAR_SYNC_32K);
	default:
		*name = "scan";
		return GOAL_ScanSchedule(w, s, r, WORDS, GOAL_ADD, GOAL_UINT, 64,
					 GOAL_ALG_RECURSIVE_DOUBLING);
	}
}

/* Expected word i of the result; *words is their number. */
static uint64_t want(int j, size_t i, size_t *words)
{
	size_t block = WORDS / 2;
	uint64_t s = 0;
	int r;

	*words = WORDS;
	switch (j) {
	case 0:
		*words = 0;
		return 0;
	case 1:
		*words = LARGE;
		return word(j, size - 1, i);
	case 2:
		return word(j, 0, i);
	case 3:
		*words = LARGE;
		return sum(j, i);
	case 4:
		*words = 1;
		return sum(j, i);
	case 5:
		return sum(j, i + (size_t)rank * WORDS);
	case 6:
		*words = block * (size_t)size;
		return word(j, (int)(i / block), i % block + (size_t)rank * block);
	case 7:
		*words = rank == 1 ? WORDS * (size_t)size : 0;
		return word(j, (int)(i / WORDS), i % WORDS);
	default:
		for (r = 0; r <= rank; r++)
			s += word(j, r, i);
		return s;
	}
}

static int prepare(struct job *job, int j)
{
	/* The largest result: a vector for each rank. */
	size_t words = (size_t)WORDS * (size_t)size, i;

	if (words < LARGE)
		words = LARGE;
	job->send = malloc(words * 8);
	job->recv = calloc(words, 8);
	if (!job->send || !job->recv)
		return fail("memory");
	for (i = 0; i < words; i++)
		job->send[i] = word(j, rank, i);
	/* A broadcast's buffer is the root's data, too. */
	if ((j == 1 && rank == size - 1) || (j == 2 && rank == 0))
		memcpy(job->recv, job->send, words * 8);
	job->sched = make(j, &job->name, job->send, job->recv);
	return job->sched ? 0 : fail(job->name);
}

static int check(const struct job *job, int j)
{
	size_t words = 1, i;

	/* No GOAL_Wait(): the run must already be over. */
	if (!GOAL_Test(job->run)) {
		fprintf(stderr, "rank %d: %s is not finished\n", rank, job->name);
		return 1;
	}
	if (GOAL_Wait(job->run) != GOAL_SUCCESS)
		return fail(job->name);
	for (i = 0; i < words; i++) {
		uint64_t w = want(j, i, &words);

		if (i < words && job->recv[i] != w) {
			fprintf(stderr, "rank %d: %s: word %zu is %llu, not %llu\n", rank,
				job->name, i, (unsigned long long)job->recv[i],
				(unsigned long long)w);
			return 1;
		}
	}
	return 0;
}

static int work(struct job *jobs)
{
	GOAL_Schedule first = GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO);
	int j, rc = 0;

	for (j = 0; j < RUNS && !rc; j++)
		rc = prepare(&jobs[j], j);
	/* All ranks are ready before the first run starts: from here on nothing is slow. */
	if (!rc && (!first || GOAL_Wait(GOAL_Run(first)) != GOAL_SUCCESS))
		rc = fail("the barrier before");
	if (rc)
		return rc;
	printf("started %d\n", RUNS);
	fflush(stdout);
	for (j = 0; j < RUNS; j++)
		jobs[j].run = GOAL_Run(jobs[j].sched);
	raise(SIGSTOP);
	for (j = 0; j < RUNS && !rc; j++)
		rc = check(&jobs[j], j);
	if (!rc)
		printf("right %d\n", RUNS);
	for (j = 0; j < RUNS; j++)
		GOAL_FreeSchedule(jobs[j].sched);
	GOAL_FreeSchedule(first);
	return rc;
}

int main(void)
{
	struct job jobs[RUNS] = {{0}};
	int rc, j;

	if (GOAL_Init() != GOAL_SUCCESS)
		return fail("GOAL_Init");
	rank = GOAL_MyRank();
	size = GOAL_GroupSize();
	rc = size > 1 ? work(jobs) : fail("one rank alone");
	for (j = 0; j < RUNS; j++) {
		free(jobs[j].send);
		free(jobs[j].recv);
	}
	if (!rc && GOAL_Finalize() != GOAL_SUCCESS)
		rc = fail("GOAL_Finalize");
	return rc;
}
