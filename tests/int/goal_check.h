/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for programs that call libGOAL as one rank of several: check() ends the process with the
 * place, the condition and libGOAL's last error. C11 and C++. A program includes goal.h first, from
 * the tree or as it is installed.
 */
#ifndef WEFT_TESTS_GOAL_CHECK_H
#define WEFT_TESTS_GOAL_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int me; /* this process's rank in the world */

#define check(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail(__LINE__, #cond);                                                     \
	} while (0)

static inline void fail(int line, const char *what)
{
	fprintf(stderr, "rank %d, line %d: not so: %s (last error: %s; %s)\n", me, line, what,
		GOAL_StrError(GOAL_LastError()), GOAL_LastErrorDetail());
	exit(1);
}

/* Compiles a valid graph and frees it. */
static inline GOAL_Schedule compiled(GOAL_Graph g)
{
	GOAL_Schedule s = GOAL_Compile(g);

	check(s && GOAL_IsScheduleValid(s) == 1);
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
	return s;
}

/* Runs the schedule to success and frees it. */
static inline void run_free(GOAL_Schedule s)
{
	check(s && GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

/* An offset in the scratchpad. */
static inline void *at(uintptr_t offset)
{
	return (void *)offset;
}

#endif /* WEFT_TESTS_GOAL_CHECK_H */
