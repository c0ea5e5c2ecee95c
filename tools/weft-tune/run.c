/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One measurement after the other; see run.h. Called by search.c.
 */
#include "tools/weft-tune/run.h"
#include "tools/weft-tune/record_file.h"

#include <errno.h>
#include <math.h>
#include <time.h>

static double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Measurements have seeds of their own, so that a repeat is no copy. */
static uint64_t seed_of(const struct tune_run *run, uint64_t number)
{
	struct sim_prng prng;

	uint64_t seed;

	sim_prng_init(&prng, run->seed, SIM_STREAM_WORKLOAD, number);
	seed = sim_prng_next(&prng);
	/* 0 stands for none. */
	return seed ? seed : 1;
}

uint64_t tune_run_seed(const struct tune_run *run)
{
	/* No record has so many measurements. */
	return seed_of(run, UINT64_MAX);
}

static bool same_measurement(const struct tune_entry *a, const struct tune_entry *b)
{
	return a->method == b->method && a->objective == b->objective && a->phase == b->phase &&
	       a->step == b->step && a->candidate == b->candidate && a->repeat == b->repeat &&
	       a->effort.metrics == b->effort.metrics && a->effort.seed == b->effort.seed &&
	       a->effort.effort == b->effort.effort && tune_same(&a->setting, &b->setting);
}

static int replay(struct tune_run *run, struct tune_entry *entry)
{
	const struct tune_entry *old = &run->record->entries[run->record->replayed];

	if (!same_measurement(old, entry))
		return tune_fail(run->error, -ESTALE,
				 "measurement %zu of %s is not what this weft-tune would do there: "
				 "it was made by another version; begin anew with another --out",
				 run->record->replayed, run->record->dir);
	*entry = *old;
	run->record->replayed++;
	return 0;
}

static int stopped(struct tune_run *run)
{
	run->error[0] = '\0';
	return -EINTR;
}

static int measure(struct tune_run *run, struct tune_entry *entry)
{
	double begin_s = clock_s(CLOCK_MONOTONIC);
	int rc;

	if (!run->is_applied || !tune_same(&run->applied, &entry->setting)) {
		run->is_applied = false;
		rc = run->ops->apply(run->target, &entry->setting, run->error);
		if (rc)
			return rc;
		run->applied = entry->setting;
		run->is_applied = true;
	}
	for (unsigned int i = 0; i < TUNE_NUM_METRICS; i++)
		entry->result.value[i] = NAN;
	rc = run->ops->measure(run->target, &entry->effort, &entry->result, run->stop, run->error);
	if (rc == -EINTR && *run->stop)
		return stopped(run);
	if (rc)
		return rc;
	entry->took_s = clock_s(CLOCK_MONOTONIC) - begin_s;
	entry->when_s = clock_s(CLOCK_REALTIME);
	return 0;
}

int tune_run_measure(struct tune_run *run, struct tune_entry *entry)
{
	struct tune_record *record = run->record;
	int rc;

	if (*run->stop)
		return stopped(run);
	if (!entry->effort.seed)
		entry->effort.seed = seed_of(run, record->replayed);
	if (record->replayed < record->num) {
		rc = replay(run, entry);
	} else {
		rc = measure(run, entry);
		if (!rc)
			rc = tune_record_add(record, entry, run->error);
		if (!rc)
			record->replayed++;
		if (!rc && run->progress)
			tune_progress_step(run->progress, record->num, entry);
	}
	return rc;
}
