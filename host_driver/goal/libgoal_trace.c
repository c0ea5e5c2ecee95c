/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PERFTRACE: runs with trace points recorded by the NIC, and access to the recorded points.
 *
 * A schedule owns the memory of its traces. A trace is reused when its run is over, so a schedule
 * has as many traces as traced runs in flight. The ESPGOAL paper, 2.3; docs/collectives.md,
 * "Tracing".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/file/goal_trace_file.h"
#include "host_driver/goal/libgoal.h"
#include "shared_defs/hw_goal.h"

_Static_assert(sizeof(GOAL_TraceEntry) == sizeof(struct hw_goal_trace), "");

struct libgoal_trace {
	struct libgoal_trace *next; /* next trace of the schedule */
	GOAL_TraceEntry *entries;
	size_t bytes;
	uint32_t max;
	struct weft_mr *mr;
	uint32_t record; /* of the last run that used it */
	bool busy;       /* that run is not reaped yet */
};

static struct libgoal_trace *new_trace(GOAL_Schedule sched, uint32_t max)
{
	struct libgoal *lib = sched->comm->lib;
	struct libgoal_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->bytes = ((size_t)max * sizeof(*trace->entries) + 4095) & ~(size_t)4095;
	trace->max = max;
	/* Memory that the NIC has mapped, so that recording a point costs no system call. */
	trace->entries = weft_alloc(lib->context, trace->bytes);
	if (trace->entries)
		trace->mr =
		    weft_reg_mr(lib->pd, trace->entries, trace->bytes, WEFT_ACCESS_LOCAL_WRITE);
	if (trace->mr)
		return trace;
	if (trace->entries)
		weft_free(trace->entries, trace->bytes);
	free(trace);
	return NULL;
}

/* Takes a trace of the schedule with room for max points; NULL: out of memory. */
static struct libgoal_trace *take(GOAL_Schedule sched, uint32_t max)
{
	struct libgoal *lib = sched->comm->lib;
	struct libgoal_trace *trace;

	pthread_mutex_lock(&lib->lock);
	for (trace = sched->traces; trace && (trace->busy || trace->max < max);)
		trace = trace->next;
	if (trace)
		trace->busy = true;
	pthread_mutex_unlock(&lib->lock);
	if (trace)
		return trace;
	trace = new_trace(sched, max);
	if (!trace)
		return NULL;
	pthread_mutex_lock(&lib->lock);
	trace->busy = true;
	trace->next = sched->traces;
	sched->traces = trace;
	pthread_mutex_unlock(&lib->lock);
	return trace;
}

/* Attaches a trace to a run. The points of its previous run are discarded. */
static void bind(struct libgoal *lib, struct libgoal_trace *trace, uint32_t record)
{
	if (lib->slots[trace->record].trace == trace)
		lib->slots[trace->record].trace = NULL;
	trace->record = record;
	lib->slots[record].trace = trace;
}

GOAL_Handle GOAL_RunTraced(GOAL_Schedule sched, uint32_t max, const GOAL_TraceEntry **entries)
{
	struct weft_goal_run_attr attr = {.trace_entries = max};
	struct libgoal_trace *trace;
	uint32_t record, use;
	struct libgoal *lib;
	int rc;

	if (!sched || !max || max > LIBGOAL_TRACE_MAX)
		return libgoal_error(
		    GOAL_ERR_ARG, "GOAL_RunTraced: no schedule, or room for no point, or for more "
				  "than 16,777,216");
	lib = sched->comm->lib;
	trace = take(sched, max);
	if (!trace)
		return libgoal_error(libgoal_errno(-errno), "the trace's memory");
	attr.trace = trace->entries;
	attr.trace_mr = trace->mr;
	rc = libgoal_start(sched, &attr, NULL, &record, &use);
	pthread_mutex_lock(&lib->lock);
	if (rc == GOAL_SUCCESS)
		bind(lib, trace, record);
	else
		trace->busy = false;
	pthread_mutex_unlock(&lib->lock);
	if (rc != GOAL_SUCCESS)
		return rc;
	if (entries)
		*entries = trace->entries;
	return libgoal_handle(lib, use, record);
}

void libgoal_trace_over(struct libgoal_slot *slot)
{
	if (slot->trace)
		slot->trace->busy = false;
}

void libgoal_trace_free(GOAL_Schedule sched)
{
	struct libgoal *lib = sched->comm->lib;

	pthread_mutex_lock(&lib->lock);
	for (struct libgoal_trace *t = sched->traces; t; t = t->next)
		if (lib->slots[t->record].trace == t)
			lib->slots[t->record].trace = NULL;
	pthread_mutex_unlock(&lib->lock);
	while (sched->traces) {
		struct libgoal_trace *trace = sched->traces;

		sched->traces = trace->next;
		if (weft_dereg_mr(trace->mr) < 0)
			libgoal_error(GOAL_ERR_NIC_GONE, NULL);
		weft_free(trace->entries, trace->bytes);
		free(trace);
	}
}

/* Returns the slot of a finished run whose outcome is kept, or NULL. Under the lock. */
static struct libgoal_slot *over(const struct libgoal_run *run)
{
	struct libgoal_slot *slot = &run->lib->slots[run->record];

	return slot->use == run->use && !slot->running ? slot : NULL;
}

static int count_of(GOAL_Handle handle, bool lost)
{
	struct libgoal_slot *slot;
	struct libgoal_run run;
	uint32_t n = 0;

	if (!libgoal_find(handle, &run))
		return libgoal_error(libgoal_default() ? GOAL_ERR_ARG : GOAL_ERR_STATE,
				     "not a run, or GOAL_Init() has not been called");
	pthread_mutex_lock(&run.lib->lock);
	slot = over(&run);
	if (slot)
		n = lost ? slot->result.trace_lost : slot->result.traced;
	pthread_mutex_unlock(&run.lib->lock);
	return slot ? (int)n : libgoal_error(GOAL_ERR_ARG, "not a run, or one that is not over");
}

int GOAL_TraceCount(GOAL_Handle handle)
{
	return count_of(handle, false);
}

int GOAL_TraceLost(GOAL_Handle handle)
{
	return count_of(handle, true);
}

static int save(const struct libgoal_slot *slot, FILE *f)
{
	const struct GOAL_Comm_s *comm = slot->sched->comm;
	const struct goal_code *code = &slot->sched->code;
	struct goal_trace_header header = {
	    .rank = comm->rank,
	    .size = comm->size,
	    .entries = slot->result.traced,
	    .lost = slot->result.trace_lost,
	    .status = slot->result.status,
	    .instance = slot->result.instance,
	    .start_ns = slot->result.start_ns,
	    .finish_ns = slot->result.finish_ns,
	    .schedule_bytes = code->num_bytes,
	};

	return goal_trace_write(f, &header, (const void *)slot->trace->entries, code->bytes) == 0;
}

int GOAL_SaveTrace(GOAL_Handle handle, const char *path)
{
	struct libgoal_slot *slot;
	struct libgoal_run run;
	bool ok = false;
	FILE *f;

	if (!path || !libgoal_find(handle, &run))
		return libgoal_error(GOAL_ERR_ARG, "no path, or no run");
	f = fopen(path, "wbe");
	if (!f)
		return libgoal_error(GOAL_ERR_FILE, strerror(errno));
	pthread_mutex_lock(&run.lib->lock);
	slot = over(&run);
	if (slot && slot->trace)
		ok = save(slot, f);
	pthread_mutex_unlock(&run.lib->lock);
	ok = fclose(f) == 0 && ok;
	if (ok)
		return GOAL_SUCCESS;
	if (slot && slot->trace)
		return libgoal_error(GOAL_ERR_FILE, strerror(errno));
	return libgoal_error(GOAL_ERR_ARG,
			     "not a traced run that is over, or its trace was reused");
}

const char *GOAL_TracePointName(uint32_t point)
{
	static const char *const names[] = {
#define X(name, arg) #name,
	    HW_GOAL_POINTS(X)
#undef X
	};

	return point < sizeof(names) / sizeof(names[0]) ? names[point] : "?";
}
