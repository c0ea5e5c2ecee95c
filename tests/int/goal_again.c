/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GOAL program that outlives weftd: when weftd has ended it finalizes, initializes again until
 * there is a NIC, and goes on with sums over all ranks, each of which is checked.
 *
 *	goal_again LIVES ROUNDS
 *
 * Ends after ROUNDS sums on the NIC of its life number LIVES. Prints "life N" when it has begun
 *one. Run by tests/ops/crash.sh, one process for each rank. Uses goal.h and goal_coll.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host_driver/goal/goal_coll.h"

enum {
	WORDS = 512,
	TRIES = 12000, /* of 10 ms each */
};

static uint64_t in[WORDS], out[WORDS];

static int fail(const char *what)
{
	fprintf(stderr, "goal_again: %s: %s (%s)\n", what, GOAL_StrError(GOAL_LastError()),
		GOAL_LastErrorDetail());
	return 1;
}

/* Until weftd is there again. */
static int begin(void)
{
	for (int i = 0; i < TRIES; i++) {
		if (GOAL_Init() == GOAL_SUCCESS)
			return 0;
		if (GOAL_LastError() != GOAL_ERR_NO_DEVICE && GOAL_LastError() != GOAL_ERR_NIC_GONE)
			return fail("GOAL_Init");
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	return fail("no NIC comes back");
}

/* Returns 1; 0 if weftd has ended; -1 if the sum is wrong or the run has failed otherwise. */
static int sum(GOAL_Schedule all, uint64_t round)
{
	uint64_t size = (uint64_t)GOAL_GroupSize(), rank = (uint64_t)GOAL_MyRank();

	for (uint64_t i = 0; i < WORDS; i++)
		in[i] = round * 1000 + rank + i;
	if (GOAL_Wait(GOAL_Run(all)) != GOAL_SUCCESS)
		return GOAL_LastError() == GOAL_ERR_NIC_GONE ? 0 : -fail("a run");
	for (uint64_t i = 0; i < WORDS; i++) {
		if (out[i] != size * (round * 1000 + i) + size * (size - 1) / 2) {
			fprintf(stderr, "goal_again: word %u is wrong in round %u\n", (unsigned)i,
				(unsigned)round);
			return -1;
		}
	}
	return 1;
}

/* Sums until rounds are over (0: for ever) or one does not return 1, which is returned. */
static int live(uint64_t rounds)
{
	GOAL_Schedule all = GOAL_AllreduceSchedule(GOAL_CommWorld(), in, out, WORDS, GOAL_ADD,
						   GOAL_UINT, 64, GOAL_ALG_AUTO);
	int rc = 1;

	if (!all)
		return GOAL_LastError() == GOAL_ERR_NIC_GONE ? 0 : -fail("GOAL_AllreduceSchedule");
	for (uint64_t i = 0; rc == 1 && (!rounds || i < rounds); i++)
		rc = sum(all, i);
	GOAL_FreeSchedule(all);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned long lives = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	int rc = 0;

	for (unsigned long life = 1; life <= lives; life++) {
		if (begin())
			return 1;
		printf("life %lu\n", life);
		fflush(stdout);
		rc = live(life == lives ? rounds : 0);
		if (rc < 0)
			return 1;
		(void)GOAL_Finalize();
	}
	if (rc != 1)
		return fail("the last life");
	printf("right\n");
	return 0;
}
