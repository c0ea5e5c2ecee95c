/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune: finds the interrupt moderation that suits a NIC (espgoal 6.2). What it does in order:
 * command line (opts.c), target (target_*.c), record (record.c), searches (study.c), settings put
 * back, analysis (analyse.c), results (result.c, report.c).
 */
#include "tools/usage.h"
#include "tools/weft-tune/apply.h"
#include "tools/weft-tune/opts.h"
#include "tools/weft-tune/record_file.h"
#include "tools/weft-tune/report.h"
#include "tools/weft-tune/result.h"
#include "tools/weft-tune/study.h"
#include "tools/weft-tune/target.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile bool stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = true;
}

static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM};
	struct sigaction action = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	/* nohup's program goes on. */
	if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int failed(const char *error)
{
	fprintf(stderr, "weft-tune: %s\n", error);
	return EXIT_FAILED;
}

static const struct tune_target_ops *target_ops(const char *name)
{
	static const struct tune_target_ops *const all[] = {&tune_target_sim, &tune_target_device,
							    &tune_target_netdev};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

/* A run from its begin to its end. */
struct job {
	const struct tune_opts *opts;
	struct tune_plan plan;
	struct tune_record record;
	struct tune_run run;
	struct tune_progress progress;
	struct tune_setting initial; /* as the target has it now */
	char error[TUNE_ERROR_CHARS];
};

/* False, with an error: --start names what the search cannot reach. */
static bool start_is_possible(struct job *job)
{
	const struct tune_start *start = &job->plan.start;
	const struct tune_space *space = &job->plan.space;

	for (unsigned int i = 0; i < TUNE_P; i++) {
		if (!(start->params & (UINT32_C(1) << i)))
			continue;
		if (!(space->params & (UINT32_C(1) << i))) {
			tune_fail(job->error, 0,
				  "--start: %s is not among the parameters that vary",
				  tune_param_word(i));
			return false;
		}
		if (start->value[i] > space->highest[i]) {
			tune_fail(job->error, 0, "--start: %s is at most %u there, not %u",
				  tune_param_word(i), space->highest[i], start->value[i]);
			return false;
		}
	}
	return true;
}

/* Takes what the target has into the plan of a new run. */
static int fill_plan(struct job *job)
{
	struct tune_plan *plan = &job->plan;
	struct tune_space *space = &plan->space;
	uint32_t have = job->run.ops->params(job->run.target, space->highest);
	uint32_t wanted = space->params ? space->params : have;
	struct study_step steps[STUDY_MAX_STEPS];

	for (unsigned int i = 0; i < TUNE_P; i++)
		if (wanted & ~have & (UINT32_C(1) << i))
			return tune_fail(job->error, -EINVAL, "--%s has no %s to set", plan->target,
					 tune_param_word(i));
	space->params = wanted;
	if (!start_is_possible(job))
		return -EINVAL;
	space->base = job->initial;
	plan->metrics = job->run.ops->metrics;
	snprintf(plan->what, sizeof(plan->what), "%s", job->run.ops->describe(job->run.target));
	if (!plan->budget)
		plan->budget = study_default_budget(plan);
	if (plan->method == TUNE_GRID && grid_size(plan) * plan->repeats > plan->budget)
		return tune_fail(
		    job->error, -EINVAL,
		    "the grid has %llu settings, the budget is %llu: fewer --params or "
		    "--grid values, or --budget",
		    (unsigned long long)grid_size(plan), (unsigned long long)plan->budget);
	for (size_t i = study_steps(plan, steps); i-- > 0;) {
		uint32_t missing =
		    (tune_objective_metrics(steps[i].objective) | plan->also) & ~plan->metrics;

		for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++)
			if (missing & (UINT32_C(1) << m))
				return tune_fail(job->error, -ENOTSUP, "--%s cannot measure %s",
						 plan->target, tune_metric_name(m));
	}
	opts_command(plan, plan->command, sizeof(plan->command));
	return 0;
}

static int open_target(struct job *job)
{
	job->run.ops = target_ops(job->plan.target);
	/* A record may come from elsewhere. */
	if (!job->run.ops)
		return tune_fail(job->error, -ENOTSUP, "%s: there is no target '%s'",
				 job->record.dir, job->plan.target);
	job->run.target = job->run.ops->open(*job->plan.name ? job->plan.name : NULL, job->error);
	if (!job->run.target)
		return -EIO;
	job->run.ops->initial(job->run.target, &job->initial);
	return 0;
}

static int open_record(struct job *job)
{
	if (job->opts->command == TUNE_RESUME)
		return tune_record_continue(&job->record, job->error);
	return tune_record_create(&job->record, job->opts->out, &job->plan, job->error);
}

static int carry_out(struct job *job)
{
	bool show = !job->opts->quiet && isatty(STDERR_FILENO);
	char sync_error[TUNE_ERROR_CHARS];
	int rc;

	tune_progress_init(&job->progress, show ? stderr : NULL, study_expected(&job->plan),
			   job->record.num);
	job->run.record = &job->record;
	job->run.progress = &job->progress;
	job->run.stop = &stop;
	job->run.seed = job->plan.seed;
	rc = study_run(&job->run, &job->plan);
	tune_progress_end(&job->progress);
	snprintf(job->error, sizeof(job->error), "%s", job->run.error);
	if (tune_record_sync(&job->record, sync_error) && !rc)
		rc = tune_fail(job->error, -EIO, "%s", sync_error);
	return rc;
}

/*
 * Puts the initial settings back. A run that was killed could not do so: its successor begins with
 * one of the settings that it tried, and only the record knows the initial one.
 */
static int close_target(struct job *job, int rc)
{
	char error[TUNE_ERROR_CHARS] = "";
	int back = job->run.ops->restore(job->run.target, error);

	if (!back && job->opts->command == TUNE_RESUME &&
	    !tune_same(&job->initial, &job->plan.space.base))
		back = job->run.ops->apply(job->run.target, &job->plan.space.base, error);
	job->run.ops->close(job->run.target);
	if (!back)
		return rc;
	/* Both matter to the user: this one first, since something is left as it should not be. */
	fprintf(stderr, "weft-tune: the settings from before could not be put back: %s\n", error);
	return rc ? rc : tune_fail(job->error, back, "the results are in %s", job->record.dir);
}

static int show(const struct tune_opts *o, const struct tune_plan *plan,
		const struct tune_record *record, bool complete)
{
	char error[TUNE_ERROR_CHARS] = "", note[TUNE_ERROR_CHARS] = "";
	struct tune_analysis a;
	json_t *root;
	int rc;

	tune_analyse(&a, plan, record->entries, record->num);
	rc = result_save(&a, complete, record->dir, error);
	if (!rc)
		rc = report_write(&a, complete, record->dir, note, error);
	if (!rc && *note && !o->quiet)
		fprintf(stderr, "weft-tune: %s\n", note);
	if (!rc && o->json) {
		root = result_json(&a, complete);
		rc = !root || json_dumpf(root, stdout, JSON_INDENT(1)) || putchar('\n') == EOF;
		json_decref(root);
		if (rc)
			tune_fail(error, rc, "the result cannot be written");
	} else if (!rc && !o->quiet) {
		report_summary(&a, record->dir, stdout);
	}
	tune_analysis_free(&a);
	return rc ? failed(error) : EXIT_DONE;
}

static int stopped(const struct job *job)
{
	fprintf(stderr,
		"weft-tune: stopped after %zu of %llu measurements, the settings are put back; "
		"weft-tune --resume %s goes on\n",
		job->record.num, (unsigned long long)study_expected(&job->plan), job->record.dir);
	return EXIT_FAILED;
}

/* What was measured until an error is not lost. */
static int broken(const struct job *job)
{
	if (job->record.fd < 0 || !job->record.num)
		return failed(job->error);
	fprintf(stderr, "weft-tune: %s; %zu measurements are kept, weft-tune --resume %s goes on\n",
		job->error, job->record.num, job->record.dir);
	return EXIT_FAILED;
}

/* A new run, or one that is taken up again. */
static int search(const struct tune_opts *o)
{
	struct job job = {.opts = o, .plan = o->plan, .record = {.fd = -1}};
	int rc = 0, status;

	if (o->command == TUNE_RESUME)
		rc = tune_record_load(&job.record, o->path, &job.plan, job.error);
	if (!rc)
		rc = open_target(&job);
	if (!rc) {
		if (o->command == TUNE_RUN)
			rc = fill_plan(&job);
		if (!rc)
			rc = open_record(&job);
		if (!rc)
			rc = carry_out(&job);
		rc = close_target(&job, rc);
	}
	if (!rc)
		status = show(o, &job.plan, &job.record, true);
	else if (rc == -EINTR && stop)
		status = stopped(&job);
	else
		status = broken(&job);
	tune_record_close(&job.record);
	return status;
}

static int report(const struct tune_opts *o)
{
	char error[TUNE_ERROR_CHARS];
	struct tune_record record;
	struct tune_plan plan;
	int status;

	if (tune_record_load(&record, o->path, &plan, error))
		status = failed(error);
	else
		status = show(o, &plan, &record, result_is_complete(o->path, record.num));
	tune_record_close(&record);
	return status;
}

static int weft_tune(int argc, char **argv)
{
	struct tune_opts o;
	int rc;

	if (argc > 1 && !strcmp(argv[1], "serve"))
		return tune_serve(argc - 1, argv + 1);
	rc = opts_parse(&o, argc, argv);
	if (rc >= 0)
		return rc;
	catch_signals();
	switch (o.command) {
	case TUNE_APPLY:
		return tune_apply(&o, target_ops(o.plan.target), stdout);
	case TUNE_REPORT:
		return report(&o);
	case TUNE_RUN:
	case TUNE_RESUME:
		break;
	}
	return search(&o);
}

int main(int argc, char **argv)
{
	return output_end(weft_tune(argc, argv));
}
