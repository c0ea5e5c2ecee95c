/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs under way.
 *
 * mc_run_progress() reads the record of each run; nothing else of the host is needed for a
 * collective to proceed. All ranks start the runs of a communicator in one order, so a rank that
 * cannot start its part starts a run that fails instead, and a run that finds no free record keeps
 * those behind it waiting. Calls mc_comm.c.
 */
#include <pthread.h>
#include <stdio.h>

#include "host_driver/mpi/mc.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static struct mc_run *active;                            /* in the order of their starts */
static struct mc_run **active_tail = &active;
static uint32_t num_active; /* atomic; read without the lock */

/* Starts the run; false: no run record is free, it must be tried again. Under the lock. */
static bool try_start(struct mc_run *run)
{
	if (run->error == GOAL_SUCCESS)
		run->handle = GOAL_RunWith(run->sched, run->send, run->recv);
	else
		run->handle = GOAL_RunFailing(run->comm->barrier);
	run->waiting = run->handle == GOAL_ERR_BUSY;
	if (run->waiting)
		return false;
	if (run->handle < 0 && run->error == GOAL_SUCCESS) {
		run->error = (int)run->handle;
		run->handle = GOAL_RunFailing(run->comm->barrier);
	}
	return true;
}

void mc_run_init(struct mc_run *run, struct mc_comm *comm, const struct mc_call *call)
{
	run->comm = comm;
	run->coll = call->coll;
	run->sched = call->broken ? NULL : GOAL_CacheTake(comm->cache, &call->goal);
	mc_comm_get(comm);
}

void mc_run_end(struct mc_run *run)
{
	GOAL_CacheRelease(run->sched);
	mc_comm_put(run->comm);
}

void mc_run_start(struct mc_run *run, int error)
{
	const struct mc_run *waiting;

	run->error = error == GOAL_SUCCESS && !run->sched ? GOAL_ERR_RESOURCES : error;
	run->next = NULL;
	run->waiting = true;
	pthread_mutex_lock(&lock);
	for (waiting = active; waiting && !waiting->waiting; waiting = waiting->next)
		;
	if (!waiting)
		(void)try_start(run);
	*active_tail = run;
	active_tail = &run->next;
	__atomic_add_fetch(&num_active, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

static void report_error(const struct mc_run *run, int error, bool has_detail)
{
	const char *detail = has_detail ? GOAL_LastErrorDetail() : "";

	fprintf(stderr, "%s: %s failed on the NIC: %s%s%s\n", mc_settings.who,
		mc_coll_name(run->coll), GOAL_StrError(error), detail[0] ? ": " : "", detail);
}

/* Keeps the outcome: the next run that starts may take the record. Under the lock. */
static void take_outcome(struct mc_run *run)
{
	int error = GOAL_Wait(run->handle);
	bool began = run->error == GOAL_SUCCESS;

	if (error != GOAL_SUCCESS || !began)
		report_error(run, began ? error : run->error, began);
	if (began)
		run->error = error;
}

/* Takes runs that are over off the list, and starts those that wait. Under the lock. */
static struct mc_run *collect(void)
{
	struct mc_run *over = NULL, **over_tail = &over, **at = &active, *run;
	bool blocked = false;

	while ((run = *at)) {
		if (run->waiting && !blocked)
			blocked = !try_start(run);
		if (run->waiting || !GOAL_Test(run->handle)) {
			at = &run->next;
			continue;
		}
		take_outcome(run);
		*at = run->next;
		run->next = NULL;
		*over_tail = run;
		over_tail = &run->next;
	}
	active_tail = at;
	return over;
}

int mc_run_progress(void)
{
	struct mc_run *over, *next;
	int count = 0;

	if (!mc_run_any() || pthread_mutex_trylock(&lock) != 0)
		return 0;
	over = collect();
	pthread_mutex_unlock(&lock);
	for (; over; over = next, count++) {
		next = over->next;
		over->over(over, over->error);
		/* A thread that finds none under way finds over() called. */
		__atomic_sub_fetch(&num_active, 1, __ATOMIC_RELEASE);
	}
	return count;
}

bool mc_run_any(void)
{
	return __atomic_load_n(&num_active, __ATOMIC_ACQUIRE) != 0;
}
