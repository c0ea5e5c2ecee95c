/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs: start by doorbell, completion detected with one memory read.
 *
 * A handle names a run record and the number of its use, so it may be tested again after the run
 * was reaped: by GOAL_Test(), or by the next run of a collective. The outcome stays in the record's
 * slot. When the record is used again and GOAL_Wait() has not returned the outcome, it moves to a
 * ring of the latest such outcomes. Calls weft_goal.h. The ESPGOAL paper, 2.2.7.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal.h"
#include "shared_defs/hw_goal.h"

/* Returns the error of a handle that names no run. */
static int no_run(GOAL_Handle handle)
{
	if (libgoal_is_forked())
		return libgoal_error(GOAL_ERR_STATE,
				     "the run belongs to the parent of this child of fork");
	return libgoal_error(handle < 0 ? (int)handle : GOAL_ERR_ARG, "no run");
}

static void is_over(struct libgoal *lib, struct libgoal_slot *slot)
{
	slot->sched->flying--;
	slot->running = false;
	lib->running--;
	libgoal_bound_drop(lib, &slot->bound);
	libgoal_trace_over(slot);
}

/* Reaps a finished run: stores its outcome and releases its record. Under the lock. */
static void reap(struct libgoal *lib, uint32_t record)
{
	struct libgoal_slot *slot = &lib->slots[record];
	bool there = libgoal_shadow_out(slot->sched);

	libgoal_bound_out(slot->sched, &slot->bound);
	is_over(lib, slot);
	weft_goal_finish(lib->goal, record, &slot->result);
	if (!there && slot->result.status == HW_GOAL_OK) {
		slot->result.status = HW_GOAL_MEMORY;
		slot->result.rank = slot->sched->comm->rank;
	}
	if (slot->result.status != HW_GOAL_OK)
		slot->why = libgoal_why(slot->sched, &slot->result);
}

/*
 * Reaps a run that can no longer finish because its NIC is gone; its record is not reused. Under
 * the lock.
 */
static void reap_gone(struct libgoal *lib, uint32_t record)
{
	struct libgoal_slot *slot = &lib->slots[record];

	is_over(lib, slot);
	slot->result = (struct weft_goal_result){
	    .status = -GOAL_ERR_NIC_GONE, .rank = slot->sched->comm->rank, .op = UINT32_MAX};
}

/* Moves an outcome that GOAL_Wait() has not returned to the ring. Under the lock. */
static void keep_outcome(struct libgoal *lib, uint32_t record)
{
	struct libgoal_slot *slot = &lib->slots[record];
	struct libgoal_outcome *to = &lib->kept_outcomes[lib->num_outcomes % LIBGOAL_KEPT];

	if (slot->unfetched) {
		lib->num_outcomes++;
		free(to->why);
		*to = (struct libgoal_outcome){
		    .record = record, .use = slot->use, .result = slot->result, .why = slot->why};
	} else {
		free(slot->why);
	}
	slot->why = NULL;
}

static const struct libgoal_outcome *kept_outcome(const struct libgoal *lib, uint32_t record,
						  uint32_t use)
{
	uint32_t i;

	for (i = 0; i < LIBGOAL_KEPT && i < lib->num_outcomes; i++)
		if (lib->kept_outcomes[i].record == record && lib->kept_outcomes[i].use == use)
			return &lib->kept_outcomes[i];
	return NULL;
}

/* Copies the outcome of a use that is over; false: it is no longer kept. Under the lock. */
static bool fetch(struct libgoal *lib, uint32_t record, uint32_t use,
		  struct weft_goal_result *result, char why[LIBGOAL_DETAIL])
{
	struct libgoal_slot *slot = &lib->slots[record];
	const struct libgoal_outcome *kept = NULL;
	const char *text;

	if (slot->use != use) {
		kept = kept_outcome(lib, record, use);
		if (!kept)
			return false;
	}
	if (!result)
		return true;
	if (!kept)
		slot->unfetched = false;
	*result = kept ? kept->result : slot->result;
	text = kept ? kept->why : slot->why;
	if (text)
		snprintf(why, LIBGOAL_DETAIL, "%s", text);
	return true;
}

/*
 * Returns 1 when that use of the record is over (copying its outcome to result and why, if given),
 * 0 while it runs, or GOAL_ERR_STATE when its outcome is no longer kept. The outcome is copied
 * under the same lock under which the record is released: another thread may reuse the record as
 * soon as the lock is released.
 */
static int look(struct libgoal *lib, uint32_t record, uint32_t use, struct weft_goal_result *result,
		char why[LIBGOAL_DETAIL])
{
	struct libgoal_slot *slot = &lib->slots[record];
	GOAL_Schedule done = NULL;
	int over = 1;

	/* One read while the run is in flight; the lock is taken once, when it is over. */
	if (__atomic_load_n(&slot->use, __ATOMIC_ACQUIRE) == use &&
	    __atomic_load_n(&slot->running, __ATOMIC_ACQUIRE) &&
	    !weft_goal_test(lib->goal, record) && !weft_goal_gone(lib->goal))
		return 0;
	pthread_mutex_lock(&lib->lock);
	if (slot->use == use && slot->running) {
		over = weft_goal_test(lib->goal, record) || weft_goal_gone(lib->goal);
		if (over) {
			done = slot->sched;
			if (weft_goal_test(lib->goal, record))
				reap(lib, record);
			else
				reap_gone(lib, record);
		}
	}
	if (over && !fetch(lib, record, use, result, why))
		over = GOAL_ERR_STATE;
	pthread_mutex_unlock(&lib->lock);
	if (done)
		libgoal_sched_put(done);
	return over;
}

uint32_t libgoal_reap_gone(struct libgoal *lib)
{
	uint32_t count = 0, i;

	for (i = 0; i < LIBGOAL_RUNS && weft_goal_gone(lib->goal); i++) {
		bool running = lib->slots[i].running;

		(void)look(lib, i, lib->slots[i].use, NULL, NULL);
		count += running && lib->slots[i].result.status == -GOAL_ERR_NIC_GONE;
	}
	return count;
}

/*
 * Returns true if a run of the schedule is in flight according to the NIC; runs not yet reaped may
 * be over. Under the lock.
 */
static bool is_in_flight(struct libgoal *lib, const struct GOAL_Schedule_s *sched)
{
	uint32_t i;

	for (i = 0; sched->flying && i < LIBGOAL_RUNS; i++)
		if (lib->slots[i].running && lib->slots[i].sched == sched &&
		    !weft_goal_test(lib->goal, i))
			return true;
	return false;
}

/*
 * Reaps finished runs of the schedule. Their shadows hold results, which the next run must not
 * overwrite before they are copied.
 */
static void reap_finished(struct libgoal *lib, GOAL_Schedule sched)
{
	uint32_t i;

	for (i = 0; i < LIBGOAL_RUNS; i++) {
		struct libgoal_slot *slot = &lib->slots[i];

		if (!__atomic_load_n(&sched->flying, __ATOMIC_RELAXED))
			return;
		if (slot->running && slot->sched == sched && weft_goal_test(lib->goal, i))
			(void)look(lib, i, slot->use, NULL, NULL);
	}
}

int libgoal_start(GOAL_Schedule sched, struct weft_goal_run_attr *attr,
		  const struct libgoal_bound *bound, uint32_t *record, uint32_t *use)
{
	struct libgoal *lib = sched->comm->lib;
	struct libgoal_slot *slot;
	int rc;

	if (libgoal_is_forked())
		return libgoal_error(GOAL_ERR_STATE, "a child of fork has no schedules");
	if (sched->unbound != !!bound)
		return libgoal_error(
		    GOAL_ERR_ARG,
		    "GOAL_RunWith() is for schedules without buffers, and they for it");
	if (sched->flying && sched->exclusive)
		reap_finished(lib, sched);
	libgoal_sched_get(sched);
	pthread_mutex_lock(&lib->lock);
	if (sched->exclusive && is_in_flight(lib, sched)) {
		pthread_mutex_unlock(&lib->lock);
		libgoal_sched_put(sched);
		return libgoal_error(GOAL_ERR_STATE,
				     "this collective is in flight, and its buffers are its work "
				     "space: GOAL_Wait() for it, or make another schedule of other "
				     "buffers");
	}
	if (!attr->memory_gone)
		attr->memory_gone =
		    libgoal_sched_is_stale(sched) && libgoal_sched_refresh(sched) < 0;
	attr->schedule = sched->handle;
	if (!attr->memory_gone)
		attr->memory_gone = !libgoal_shadow_in(sched);
	rc = weft_goal_start(lib->goal, attr, record);
	if (rc == 0) {
		keep_outcome(lib, *record);
		slot = &lib->slots[*record];
		slot->unfetched = true;
		slot->sched = sched;
		slot->use = (slot->use + 1) & 0x7fffffff;
		slot->trace = NULL;
		slot->bound = bound ? *bound : (struct libgoal_bound){0};
		slot->running = true;
		sched->flying++;
		lib->running++;
		*use = slot->use;
	}
	pthread_mutex_unlock(&lib->lock);
	if (rc < 0) {
		libgoal_sched_put(sched);
		return libgoal_error(libgoal_errno(rc), NULL);
	}
	return GOAL_SUCCESS;
}

static GOAL_Handle start(GOAL_Schedule sched, struct weft_goal_run_attr *attr)
{
	uint32_t record, use;
	int rc;

	if (!sched)
		return libgoal_error(GOAL_ERR_ARG, "no schedule");
	rc = libgoal_start(sched, attr, NULL, &record, &use);
	return rc < 0 ? rc : libgoal_handle(sched->comm->lib, use, record);
}

GOAL_Handle GOAL_Run(GOAL_Schedule sched)
{
	struct weft_goal_run_attr attr = {0};

	return start(sched, &attr);
}

GOAL_Handle GOAL_RunTimeout(GOAL_Schedule sched, uint64_t timeout_ns)
{
	struct weft_goal_run_attr attr = {.timeout_ns = timeout_ns};

	return start(sched, &attr);
}

int GOAL_Test(GOAL_Handle handle)
{
	struct libgoal_run ref;

	/* A handle that names no run counts as finished. */
	return libgoal_find(handle, &ref) ? look(ref.lib, ref.record, ref.use, NULL, NULL) != 0 : 1;
}

int GOAL_WaitResult(GOAL_Handle handle, GOAL_Result *result)
{
	char why[LIBGOAL_DETAIL];
	struct weft_goal_result outcome;
	struct libgoal_run ref;
	int rc = 0, over = 0;

	if (!libgoal_find(handle, &ref))
		return no_run(handle);
	why[0] = '\0';
	while (rc == 0 && (over = look(ref.lib, ref.record, ref.use, &outcome, why)) == 0) {
		rc = weft_goal_wait(ref.lib->goal, ref.record, UINT64_MAX);
		/* The next look() detects that the NIC is gone. */
		if (rc == -EINTR || rc == -EIO)
			rc = 0;
	}
	if (rc < 0)
		return libgoal_error(libgoal_errno(rc), NULL);
	if (over < 0)
		return libgoal_error(over, "this run's outcome is no longer kept");
	rc = -(int)outcome.status;
	if (result)
		*result = (GOAL_Result){
		    .status = rc,
		    .rank = (int)outcome.rank,
		    .vertex = (GOAL_Vertex)outcome.op,
		    .ops = outcome.ops,
		    .start_ns = outcome.start_ns,
		    .finish_ns = outcome.finish_ns,
		};
	return rc ? libgoal_error(rc, why) : GOAL_SUCCESS;
}

int GOAL_Wait(GOAL_Handle handle)
{
	return GOAL_WaitResult(handle, NULL);
}

int GOAL_Cancel(GOAL_Handle handle)
{
	const struct libgoal_slot *slot;
	struct libgoal_run ref;
	int rc = 0;

	if (!libgoal_find(handle, &ref))
		return no_run(handle < 0 ? GOAL_ERR_ARG : handle);
	slot = &ref.lib->slots[ref.record];
	/* Under the lock, so that the record cannot be reused before the cancellation. */
	pthread_mutex_lock(&ref.lib->lock);
	if (slot->use == ref.use && slot->running)
		rc = weft_goal_cancel(ref.lib->goal, ref.record);
	pthread_mutex_unlock(&ref.lib->lock);
	return rc < 0 ? libgoal_error(libgoal_errno(rc), NULL) : GOAL_SUCCESS;
}

/* ---- events --------------------------------------------------------------------------------- */

int GOAL_Listen(GOAL_Comm comm, const void *listener, int fd[2])
{
	int rc;

	if (!comm || !listener || !fd)
		return libgoal_error(GOAL_ERR_ARG, "GOAL_Listen: no communicator, name or place");
	if (libgoal_is_forked())
		return libgoal_error(GOAL_ERR_STATE, "a child of fork has no communicators");
	rc = weft_goal_listen(comm->lib->goal, listener, fd);
	if (rc == -EBUSY)
		return libgoal_error(GOAL_ERR_STATE, "something else in this process listens to "
						     "the runs of this NIC");
	if (rc == -ENOSYS)
		return libgoal_error(GOAL_ERR_STATE, "this NIC has no descriptors");
	return rc < 0 ? libgoal_error(libgoal_errno(rc), NULL) : GOAL_SUCCESS;
}

int GOAL_Unlisten(GOAL_Comm comm)
{
	if (!comm)
		return libgoal_error(GOAL_ERR_ARG, "GOAL_Unlisten: no communicator");
	weft_goal_unlisten(comm->lib->goal);
	return GOAL_SUCCESS;
}

int GOAL_Heard(GOAL_Comm comm)
{
	if (!comm)
		return libgoal_error(GOAL_ERR_ARG, "GOAL_Heard: no communicator");
	weft_goal_heard(comm->lib->goal);
	return GOAL_SUCCESS;
}

int GOAL_RequestEvent(GOAL_Handle handle)
{
	const struct libgoal_slot *slot;
	struct libgoal_run ref;
	int over = 1;

	/* A handle that names no run counts as finished. */
	if (!libgoal_find(handle, &ref))
		return 1;
	slot = &ref.lib->slots[ref.record];
	/* Under the lock, so that the record is not another run's. */
	pthread_mutex_lock(&ref.lib->lock);
	if (slot->use == ref.use && slot->running)
		over =
		    weft_goal_request(ref.lib->goal, ref.record) || weft_goal_gone(ref.lib->goal);
	pthread_mutex_unlock(&ref.lib->lock);
	return over;
}
