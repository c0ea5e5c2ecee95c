/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tools/weft-tune/record*.c: what is written reads back bit for bit; a run that was stopped, or
 * killed in the middle of a line, ends as one that was not.
 */
#include "tests/tools/tune_fix.h"
#include "tests/ut.h"
#include "tools/weft-tune/record_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void lines(void)
{
	struct tune_entry e = {.method = TUNE_HALVING,
			       .objective = TUNE_PARETO,
			       .phase = TUNE_FINAL,
			       .step = 3,
			       .candidate = 4000000000u,
			       .repeat = 7,
			       .effort = {.metrics = 0x15, .effort = 0.1, .seed = UINT64_MAX},
			       .when_s = 1e9 + 0.125,
			       .took_s = 0.000001},
			  back;
	char line[TUNE_LINE_CHARS], bad[TUNE_LINE_CHARS];

	for (int i = 0; i < TUNE_P; i++)
		e.setting.param[i] = 1023 - (uint32_t)i;
	for (int i = 0; i < TUNE_NUM_METRICS; i++)
		e.result.value[i] = i % 2 ? NAN : 1.0 / (i + 3);
	tune_entry_format(&e, 12, line);
	CU_ASSERT_FATAL(tune_entry_parse(line, &back));
	CU_ASSERT_EQUAL(back.method, e.method);
	CU_ASSERT_EQUAL(back.objective, e.objective);
	CU_ASSERT_EQUAL(back.phase, e.phase);
	CU_ASSERT_EQUAL(back.step, e.step);
	CU_ASSERT_EQUAL(back.candidate, e.candidate);
	CU_ASSERT_EQUAL(back.repeat, e.repeat);
	CU_ASSERT_EQUAL(back.effort.seed, e.effort.seed);
	CU_ASSERT_EQUAL(back.effort.effort, e.effort.effort);
	CU_ASSERT_EQUAL(back.effort.metrics, e.effort.metrics);
	CU_ASSERT_EQUAL(back.when_s, e.when_s);
	CU_ASSERT(tune_same(&back.setting, &e.setting));
	for (int i = 0; i < TUNE_NUM_METRICS; i++)
		CU_ASSERT(isnan(e.result.value[i]) ? isnan(back.result.value[i])
						   : back.result.value[i] == e.result.value[i]);
	/* The phase of a reference names its mode. */
	e.phase = TUNE_REF_ADAPTIVE;
	e.setting.mode = TUNE_ADAPTIVE;
	tune_entry_format(&e, 12, line);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, ",reference-adaptive,"));
	CU_ASSERT_FATAL(tune_entry_parse(line, &back));
	CU_ASSERT_EQUAL(back.phase, TUNE_REF_ADAPTIVE);
	CU_ASSERT(tune_same(&back.setting, &e.setting));
	/* Whatever is missing at the end: no entry. */
	for (size_t cut = 0; cut < strlen(line); cut++) {
		memcpy(bad, line, cut);
		bad[cut] = '\0';
		CU_ASSERT(!tune_entry_parse(bad, &back));
	}
	CU_ASSERT(!tune_entry_parse("a,b,c\n", &back));
	snprintf(bad, sizeof(bad), "%.*s,9\n", (int)strlen(line) - 1, line);
	CU_ASSERT(!tune_entry_parse(bad, &back));
}

static void same_plan(const struct tune_plan *a, const struct tune_plan *b)
{
	CU_ASSERT_STRING_EQUAL(a->target, b->target);
	CU_ASSERT_STRING_EQUAL(a->name, b->name);
	CU_ASSERT_STRING_EQUAL(a->what, b->what);
	CU_ASSERT_STRING_EQUAL(a->command, b->command);
	CU_ASSERT_EQUAL(a->method, b->method);
	CU_ASSERT_EQUAL(a->objective, b->objective);
	CU_ASSERT_EQUAL(a->paper, b->paper);
	CU_ASSERT_EQUAL(a->budget, b->budget);
	CU_ASSERT_EQUAL(a->seed, b->seed);
	CU_ASSERT_EQUAL(a->repeats, b->repeats);
	CU_ASSERT_EQUAL(a->samples, b->samples);
	CU_ASSERT_EQUAL(a->metrics, b->metrics);
	CU_ASSERT_EQUAL(a->also, b->also);
	CU_ASSERT_EQUAL(a->num_grid, b->num_grid);
	CU_ASSERT(!memcmp(a->grid, b->grid, a->num_grid * sizeof(a->grid[0])));
	CU_ASSERT_EQUAL(a->space.params, b->space.params);
	CU_ASSERT(!memcmp(a->space.highest, b->space.highest, sizeof(a->space.highest)));
	CU_ASSERT(tune_same(&a->space.base, &b->space.base));
	CU_ASSERT(!memcmp(&a->start, &b->start, sizeof(a->start)));
}

/* A plan as the version before wrote it: "found" for the initial setting, and no start. */
static void old_plan(void)
{
	char dir[TUNE_PATH_CHARS], path[TUNE_PATH_CHARS], error[TUNE_ERROR_CHARS];
	struct tune_plan plan, back;
	json_t *root;

	fix_folder(dir);
	fix_plan(&plan, TUNE_HILL, TUNE_LATENCY, 100);
	root = tune_plan_json(&plan);
	CU_ASSERT_PTR_NOT_NULL_FATAL(json_object_get(root, "initial"));
	CU_ASSERT_PTR_NULL(json_object_get(root, "found"));
	json_object_set(root, "found", json_object_get(root, "initial"));
	json_object_del(root, "initial");
	json_object_del(root, "start");
	CU_ASSERT_EQUAL(tune_path(path, dir, TUNE_PLAN, error), 0);
	CU_ASSERT_EQUAL_FATAL(json_dump_file(root, path, 0), 0);
	json_decref(root);
	CU_ASSERT_EQUAL_FATAL(tune_plan_load(&back, dir, error), 0);
	/* Its climbs began at random. */
	plan.start.kind = TUNE_START_RANDOM;
	same_plan(&plan, &back);
	fix_remove(dir);
}

/* Texts of starts: what is read is written again, and nonsense is refused. */
static void starts(void)
{
	static const char *const good[] = {"initial", "off", "random", "rx-usecs=0",
					   "rx-usecs=5,tx-frames-irq=255"};
	static const char *const bad[] = {
	    "", "here", "rx-usecs", "rx-usecs=", "rx-usecs=1,", "rx-usecs=-1", "rx-usecs=1x", "=4"};
	char text[TUNE_START_CHARS];
	struct tune_start start;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CU_ASSERT(tune_start_parse(good[i], &start));
		CU_ASSERT_STRING_EQUAL(tune_start_text(&start, text), good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT(!tune_start_parse(bad[i], &start));
}

static void plans(void)
{
	char dir[TUNE_PATH_CHARS], path[TUNE_PATH_CHARS], error[TUNE_ERROR_CHARS];
	struct tune_plan plan, back;
	FILE *f;

	fix_folder(dir);
	fix_plan(&plan, TUNE_GRID, TUNE_OVERLAP, 12345);
	plan.seed = UINT64_MAX;
	plan.paper = true;
	plan.also = 1 << TUNE_overlap;
	plan.num_grid = 3;
	plan.grid[2] = 1023;
	CU_ASSERT(tune_start_parse("rx-usecs=5,tx-frames-irq=9", &plan.start));
	plan.space.params = 0x81;
	CU_ASSERT_EQUAL_FATAL(tune_plan_save(&plan, dir, error), 0);
	CU_ASSERT_EQUAL_FATAL(tune_plan_load(&back, dir, error), 0);
	same_plan(&plan, &back);
	CU_ASSERT_EQUAL(tune_path(path, dir, TUNE_PLAN, error), 0);
	f = fopen(path, "w");
	fputs("{\"method\": \"magic\"}\n", f);
	fclose(f);
	CU_ASSERT_EQUAL(tune_plan_load(&back, dir, error), -EINVAL);
	f = fopen(path, "w");
	fputs("{\n", f);
	fclose(f);
	CU_ASSERT_EQUAL(tune_plan_load(&back, dir, error), -EINVAL);
	unlink(path);
	CU_ASSERT_EQUAL(tune_plan_load(&back, dir, error), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "holds no record"));
	fix_remove(dir);
}

/* Carries a plan out with a record in dir, new or taken up again. */
static int carry_out(const struct tune_plan *plan, const char *dir, bool again,
		     struct tune_record *record)
{
	struct tune_plan old;
	struct tune_search s;
	struct tune_run run;
	int rc;

	rc = again ? tune_record_load(record, dir, &old, run.error)
		   : tune_record_create(record, dir, plan, run.error);
	if (!rc && again)
		rc = tune_record_continue(record, run.error);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	fix_run(&run, plan, record);
	search_init(&s, &run, plan, plan->method, plan->objective, plan->budget);
	rc = search_run(&s);
	search_free(&s);
	return rc;
}

static void same_records(const struct tune_record *a, const struct tune_record *b)
{
	char x[TUNE_LINE_CHARS], y[TUNE_LINE_CHARS];

	CU_ASSERT_EQUAL_FATAL(a->num, b->num);
	for (size_t i = 0; i < a->num; i++) {
		struct tune_entry p = a->entries[i], q = b->entries[i];

		p.when_s = q.when_s = p.took_s = q.took_s = 0;
		tune_entry_format(&p, i, x);
		tune_entry_format(&q, i, y);
		CU_ASSERT_STRING_EQUAL(x, y);
	}
}

/* Takes bytes off the end of the file, as a kill in the middle of a write would. */
static void tear(const char *dir, long bytes)
{
	char path[TUNE_PATH_CHARS], error[TUNE_ERROR_CHARS];
	FILE *f;

	CU_ASSERT_EQUAL(tune_path(path, dir, TUNE_CSV, error), 0);
	f = fopen(path, "r+");
	fseek(f, -bytes, SEEK_END);
	CU_ASSERT_EQUAL(ftruncate(fileno(f), ftell(f)), 0);
	fclose(f);
}

/* Stopped several times at different places, torn once: the same end as at one go. */
static void resumed(void)
{
	for (int method = 0; method < TUNE_GRID; method++) {
		char whole[TUNE_PATH_CHARS], parts[TUNE_PATH_CHARS];
		struct tune_record one, other;
		struct tune_plan plan;

		fix_folder(whole);
		fix_folder(parts);
		fix_plan(&plan, (enum tune_method)method, TUNE_LATENCY, 120);
		CU_ASSERT_EQUAL(carry_out(&plan, whole, false, &one), 0);
		fix_plan(&plan, (enum tune_method)method, TUNE_LATENCY, 120);
		fix.stop_after = 17;
		CU_ASSERT_EQUAL(carry_out(&plan, parts, false, &other), -EINTR);
		CU_ASSERT_EQUAL(other.num, 17);
		tune_record_close(&other);
		tear(parts, 5);
		fix.stop = false;
		fix.stop_after = 90;
		CU_ASSERT_EQUAL(carry_out(&plan, parts, true, &other), -EINTR);
		CU_ASSERT_EQUAL(other.num, 89);
		tune_record_close(&other);
		fix.stop = false;
		CU_ASSERT_EQUAL(carry_out(&plan, parts, true, &other), 0);
		same_records(&one, &other);
		/* Measured once more: the one that was torn. */
		CU_ASSERT_EQUAL(fix.measured, one.num + 1);
		tune_record_close(&one);
		tune_record_close(&other);
		fix_remove(whole);
		fix_remove(parts);
	}
}

/* A record of other measurements is not gone on with; one that is there is not written over. */
static void refused(void)
{
	char dir[TUNE_PATH_CHARS], path[TUNE_PATH_CHARS], error[TUNE_ERROR_CHARS];
	struct tune_record record;
	struct tune_plan plan, back;
	FILE *f;

	fix_folder(dir);
	fix_plan(&plan, TUNE_RANDOM, TUNE_LATENCY, 60);
	fix.stop_after = 20;
	CU_ASSERT_EQUAL(carry_out(&plan, dir, false, &record), -EINTR);
	tune_record_close(&record);
	CU_ASSERT_EQUAL(tune_record_create(&record, dir, &plan, error), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "--resume"));
	plan.seed++;
	fix.stop = false;
	CU_ASSERT_EQUAL(carry_out(&plan, dir, true, &record), -ESTALE);
	tune_record_close(&record);
	CU_ASSERT_EQUAL(tune_path(path, dir, TUNE_CSV, error), 0);
	f = fopen(path, "a");
	fputs("no,measurement\n1,2\n", f);
	fclose(f);
	CU_ASSERT_EQUAL(tune_record_load(&record, dir, &back, error), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "line 22"));
	tune_record_close(&record);
	f = fopen(path, "w");
	fputs("other,columns\n", f);
	fclose(f);
	CU_ASSERT_EQUAL(tune_record_load(&record, dir, &back, error), -EINVAL);
	tune_record_close(&record);
	CU_ASSERT_EQUAL(tune_record_create(&record, "/dev/null/x", &plan, error), -ENOTDIR);
	tune_record_close(&record);
	fix_remove(dir);
}

static void progress(void)
{
	struct tune_progress p;
	char text[256];

	tune_progress_init(&p, NULL, 200, 0);
	p.method = TUNE_HALVING;
	p.best = 12.5;
	tune_progress_text(&p, 50, 10, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(
	    text,
	    "[######..................] 50/200, 0:30 left: halving latency search, best 12.5 us");
	/* What a record held already takes no time. */
	p.first = 40;
	tune_progress_text(&p, 50, 10, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "2:30 left"));
	tune_progress_text(&p, 201, 10, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "201/201, 0:00 left"));
	p.first = 0;
	p.expected = 1000000;
	tune_progress_text(&p, 50, 10, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "55 h 33 min left"));
}

UT_MAIN("tools/tune_record", UT(lines), UT(plans), UT(old_plan), UT(starts), UT(resumed),
	UT(refused), UT(progress))
