/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs under way.
 *
 * mc_run_progress() reads the record of each run; nothing else of the host is needed for a
 * collective to proceed. All ranks start the runs of a communicator in one order, so a rank that
 * cannot start its part starts a run that fails instead, and a run that finds no free record keeps
 * those behind it waiting. A rank that only sends need not wait for its run. Calls mc_comm.c.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "host_driver/mpi/mc.h"
#include "lib/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static struct mc_run *active;                            /* in the order of their starts */
static struct mc_run **active_tail = &active;
static uint32_t num_active; /* atomic; read without the lock */
static uint32_t num_early;  /* atomic; of them, those whose requests have ended */

enum {
	/*
	 * A rank that sends and never waits fills the pools of others, which hold all messages for
	 * runs that these have not started.
	 */
	EARLY_MAX = 16,
	OWN_BYTES = 8192, /* of a rank's block to itself: the host copies it in less than 1 us */
	/*
	 * Where ranks share a CPU, the last one to start finds its run over when it looks a moment
	 * longer, and two changes from rank to rank later if it gives the CPU up before. The NIC's
	 * time for the last run shows which one this rank is: the others' lasts until the last
	 * start.
	 */
	SOON_NS = 2000,
	SOON_MORE_NS = 500, /* until the process has seen the end */
};

static uint64_t look_until_ns; /* atomic; 0: the run that was started last may take longer */

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

/*
 * True if the program has nothing to wait for: this rank receives nothing, and the NIC needs its
 * buffers no more. The end of a barrier says that others have come. Under the lock.
 */
static bool is_local(const struct mc_run *run)
{
	return run->may_end_early && run->coll != MC_BARRIER && run->error == GOAL_SUCCESS &&
	       num_early < EARLY_MAX && GOAL_TestLocal(run->handle);
}

static bool has_own_block(const struct mc_comm *comm, const struct mc_call *call,
			  const struct mc_side *send, const struct mc_side *recv)
{
	bool rooted = call->coll == MC_GATHER || call->coll == MC_SCATTER;
	const struct mc_side *own = call->coll == MC_SCATTER ? recv : send;

	/* Sides that do not agree are an error of the program: the NIC reports it. */
	return (call->coll == MC_ALLGATHER ||
		(rooted && comm->rank == (uint32_t)call->goal.root)) &&
	       !call->goal.in_place && call->block_bytes && call->block_bytes <= OWN_BYTES &&
	       send->addr && recv->addr && own->bytes == call->block_bytes;
}

/* The NIC would copy it as an operation of the run, which ends later for it. */
static void take_own_block(struct mc_run *run, struct mc_call *call, struct mc_side *send,
			   struct mc_side *recv)
{
	bool scatter = call->coll == MC_SCATTER;
	size_t at = (size_t)run->comm->rank * call->block_bytes;

	run->own.bytes = (size_t)call->block_bytes;
	run->own.from = (char *)send->addr + (scatter ? at : 0);
	run->own.to = (char *)recv->addr + (scatter ? 0 : at);
	call->goal.in_place = true;
	*(scatter ? recv : send) = (struct mc_side){.addr = NULL};
}

void mc_run_init(struct mc_run *run, struct mc_comm *comm, struct mc_call *call,
		 struct mc_side *send, struct mc_side *recv)
{
	run->comm = comm;
	run->coll = call->coll;
	run->own.bytes = 0;
	if (has_own_block(comm, call, send, recv))
		take_own_block(run, call, send, recv);
	run->sched = call->broken ? NULL : GOAL_CacheTake(comm->cache, &call->goal);
	mc_comm_get(comm);
}

void mc_run_end(struct mc_run *run)
{
	GOAL_CacheRelease(run->sched);
	mc_comm_put(run->comm);
}

/* Returns until when it is worth while to look for the end of a run that starts now; 0: not. */
static uint64_t soon(const struct mc_comm *comm)
{
	uint64_t last_ns = __atomic_load_n(&comm->last_ns, __ATOMIC_RELAXED);

	return last_ns < SOON_NS ? clock_now_ns() + 2 * last_ns + SOON_MORE_NS : 0;
}

bool mc_run_start(struct mc_run *run, int error)
{
	const struct mc_run *waiting;
	bool early = false;

	__atomic_store_n(&look_until_ns, soon(run->comm), __ATOMIC_RELAXED);
	run->error = error == GOAL_SUCCESS && !run->sched ? GOAL_ERR_RESOURCES : error;
	if (run->own.bytes)
		memcpy(run->own.to, run->own.from, run->own.bytes);
	run->next = NULL;
	run->waiting = true;
	pthread_mutex_lock(&lock);
	for (waiting = active; waiting && !waiting->waiting; waiting = waiting->next)
		;
	if (!waiting)
		early = try_start(run) && is_local(run);
	run->early = early;
	if (early)
		__atomic_add_fetch(&num_early, 1, __ATOMIC_RELAXED);
	*active_tail = run;
	active_tail = &run->next;
	__atomic_add_fetch(&num_active, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	return early;
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
	GOAL_Result result = {.start_ns = 0};
	int error = GOAL_WaitResult(run->handle, &result);
	bool began = run->error == GOAL_SUCCESS;

	__atomic_store_n(&run->comm->last_ns, result.finish_ns - result.start_ns, __ATOMIC_RELAXED);

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

static int look(void)
{
	struct mc_run *over, *next;
	int count = 0;

	if (!mc_run_any() || pthread_mutex_trylock(&lock) != 0)
		return 0;
	over = collect();
	pthread_mutex_unlock(&lock);
	for (; over; over = next, count++) {
		bool early = over->early;

		next = over->next;
		over->over(over, over->error);
		if (early)
			__atomic_sub_fetch(&num_early, 1, __ATOMIC_RELEASE);
		/* A thread that finds none under way finds over() called. */
		__atomic_sub_fetch(&num_active, 1, __ATOMIC_RELEASE);
	}
	return count;
}

int mc_run_progress(void)
{
	int count = look();

	while (!count && mc_run_any() && __atomic_load_n(&look_until_ns, __ATOMIC_RELAXED)) {
		if (clock_now_ns() > __atomic_load_n(&look_until_ns, __ATOMIC_RELAXED))
			__atomic_store_n(&look_until_ns, 0, __ATOMIC_RELAXED);
		count = look();
	}
	return count;
}

void mc_run_drain(void)
{
	while (__atomic_load_n(&num_early, __ATOMIC_ACQUIRE))
		if (!mc_run_progress())
			sched_yield();
}

bool mc_run_any(void)
{
	return __atomic_load_n(&num_active, __ATOMIC_ACQUIRE) != 0;
}
