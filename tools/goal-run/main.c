/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-run: runs GOAL schedules on NICs or in the simulator, or predicts their time. Calls libgoal
 * to read them, then predict.c, on_nics.c or on_sim.c.
 */
#include <stdarg.h>
#include <stdio.h>

#include "host_driver/goal/file/goal_text.h"
#include "tools/goal-run/goal_run.h"
#include "tools/usage.h"

int run_fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "goal-run: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return RUN_FAILED;
}

static int measure(const struct opts *o, const struct job *job)
{
	struct finish f;
	int rc;

	if (!finish_begin(&f, o, job->num_ranks))
		rc = run_fail("not enough memory");
	else
		rc = o->mode == RUN_IN_SIM ? run_in_sim(job, o, &f) : run_on_nics(job, o, &f);
	if (rc == RUN_OK)
		rc = finish_sum(&f);
	if (rc == RUN_OK)
		rc = output(o, job, &f);
	finish_free(&f);
	return rc;
}

static int run_file(const struct opts *o)
{
	struct goal_error err;
	struct goal_set set;
	struct job *job;
	int rc;

	if (goal_file_load(o->file, &set, &err))
		return run_fail("%s", err.text);
	if (o->mode == RUN_MODEL) {
		rc = predict(o, &set);
		goal_set_free(&set);
		return rc;
	}
	job = job_file(o->file, &set);
	rc = job ? measure(o, job) : RUN_FAILED;
	/* NICs do not report a missing receive, nor do they know the missing sender. */
	if (job && job_file_unmatched(job, &set))
		rc = RUN_FAILED;
	if (job)
		job->ops->free(job);
	goal_set_free(&set);
	return rc;
}

static int run_coll(const struct opts *o)
{
	struct job *job = job_coll(o);
	int rc = job ? measure(o, job) : RUN_FAILED;

	if (job)
		job->ops->free(job);
	return rc;
}

int main(int argc, char **argv)
{
	struct opts o;
	int rc = opts_parse(&o, argc, argv);

	if (rc < 0)
		rc = o.file ? run_file(&o) : run_coll(&o);
	return output_end(rc);
}
