/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allreduce: a sum over all ranks, carried out by the NICs while the program computes: libgoal.
 *
 *	weftd --nics 4 &
 *	cc allreduce.c -o allreduce $(pkg-config --cflags --libs goal)
 *	mpirun -n 4 ./allreduce
 *
 * Without a launcher it is one rank; without MPI WEFT_PEERS, WEFT_RANK and WEFT_KEY do it
 * (docs/collectives.md "Starting programs"). Started by users; docs/programming.md. Calls libgoal
 * alone.
 */
#include <goal.h>
#include <goal_coll.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(const char *what, int err)
{
	fprintf(stderr, "allreduce: %s: %s %s\n", what, GOAL_StrError(err), GOAL_LastErrorDetail());
	exit(1);
}

int main(void)
{
	double sum, work = 0;
	GOAL_Schedule sched;
	GOAL_Handle run;
	int err = GOAL_Init();

	if (err)
		fail("GOAL_Init", err);
	/* Compiled and given to the NIC once, run as often as it is wanted. */
	sched = GOAL_AllreduceSchedule(GOAL_CommWorld(), GOAL_IN_PLACE, &sum, 1, GOAL_ADD,
				       GOAL_FLOAT, 64, GOAL_ALG_AUTO);
	if (!sched)
		fail("GOAL_AllreduceSchedule", GOAL_LastError());
	for (int round = 1; round <= 3; round++) {
		sum = round * (GOAL_MyRank() + 1);
		run = GOAL_Run(sched);
		if (run < 0)
			fail("GOAL_Run", (int)run);
		for (int i = 1; i < 100000; i++)
			work += 1.0 / i;
		err = GOAL_Wait(run);
		if (err)
			fail("GOAL_Wait", err);
		printf("rank %d of %d, round %d: %g\n", GOAL_MyRank(), GOAL_GroupSize(), round,
		       sum);
	}
	GOAL_FreeSchedule(sched);
	err = GOAL_Finalize();
	if (err)
		fail("GOAL_Finalize", err);
	return work > 0 ? 0 : 1;
}
