/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tools/weft-tune/analyse.c, study.c, result.c, report.c, apply.c: what is concluded from a
 * record of a formula, the files that are written, and that apply sets what they name.
 */
#include "tests/tools/tune_fix.h"
#include "tests/ut.h"
#include "tools/weft-tune/apply.h"
#include "tools/weft-tune/record_file.h"
#include "tools/weft-tune/report.h"
#include "tools/weft-tune/result.h"
#include "tools/weft-tune/study.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void carry_out(const struct tune_plan *plan, const char *dir, struct tune_record *record)
{
	struct tune_run run;

	CU_ASSERT_EQUAL_FATAL(tune_record_create(record, dir, plan, run.error), 0);
	fix_run(&run, plan, record);
	CU_ASSERT_EQUAL_FATAL(study_run(&run, plan), 0);
}

/* The best is known to be better than the initial setting; where all is flat, that is said. */
static void better_or_not(void)
{
	for (int flat = 0; flat < 2; flat++) {
		const struct tune_verdict *v = NULL;
		const struct tune_choice *best;
		struct tune_record record;
		struct tune_analysis a;
		struct tune_plan plan;
		int changed;

		fix_plan(&plan, TUNE_HALVING, TUNE_LATENCY, 250);
		fix.flat = flat;
		carry_out(&plan, NULL, &record);
		CU_ASSERT(record.num <= 250 && record.num > 220);
		tune_analyse(&a, &plan, record.entries, record.num);
		CU_ASSERT_EQUAL(a.num_verdicts, 1);
		best = tune_best(&a, TUNE_LATENCY, &v);
		CU_ASSERT_PTR_NOT_NULL_FATAL(best);
		CU_ASSERT_EQUAL(best->initial, flat);
		/* Most of what makes no difference is as it was at first. */
		changed = 0;
		for (int p = 0; p < TUNE_P; p++)
			changed += best->setting.param[p] != plan.space.base.param[p];
		CU_ASSERT(changed <= 5);
		CU_ASSERT_PTR_NULL(tune_best(&a, TUNE_CPU, NULL));
		CU_ASSERT(v->verified);
		CU_ASSERT_EQUAL(v->searched + v->finals, record.num);
		CU_ASSERT_EQUAL(v->versus_initial.distinct, !flat);
		CU_ASSERT_EQUAL_FATAL(v->num_references, TUNE_REFERENCES);
		for (size_t i = 0; i < v->num_references; i++) {
			CU_ASSERT_EQUAL(v->references[i].phase, TUNE_REF_OFF + i);
			CU_ASSERT_EQUAL(v->references[i].figure[TUNE_lat_us].num, 7);
		}
		/* One interrupt for one frame: nothing waits. */
		CU_ASSERT_DOUBLE_EQUAL(v->references[0].figure[TUNE_lat_us].median,
				       FIX_BEST_LATENCY, 3);
		if (!flat)
			CU_ASSERT(v->versus_initial.share < -0.4);
		tune_analysis_free(&a);
		tune_record_close(&record);
	}
}

/* The formula's coefficients come out: 0.92 us per rx-usec, -0.002 per tx-usec-irq. */
static void models(void)
{
	const struct tune_model *m;
	struct tune_record record;
	struct tune_analysis a;
	struct tune_plan plan;

	fix_plan(&plan, TUNE_LINEAR, TUNE_LATENCY, 400);
	fix.noise = 0;
	carry_out(&plan, NULL, &record);
	tune_analyse(&a, &plan, record.entries, record.num);
	CU_ASSERT_EQUAL_FATAL(a.num_models, 1);
	m = &a.models[0];
	CU_ASSERT_EQUAL(m->metric, TUNE_lat_us);
	CU_ASSERT_DOUBLE_EQUAL(m->fit.b[1 + HW_COALESCE_rx_usecs], 0.92, 0.02);
	CU_ASSERT(m->fit.p[1 + HW_COALESCE_rx_usecs] < TUNE_ALPHA);
	CU_ASSERT(m->fit.p[1 + HW_COALESCE_tx_frames] > TUNE_ALPHA);
	CU_ASSERT(m->fit.adjusted_r2 > 0.9);
	tune_analysis_free(&a);
	tune_record_close(&record);
}

/* Nothing of the front is clearly better than another; the knee is good in everything. */
static void front(void)
{
	const struct tune_choice *knee;
	const struct tune_verdict *v;
	struct tune_record record;
	struct tune_analysis a;
	struct tune_plan plan;

	fix_plan(&plan, TUNE_HALVING, TUNE_PARETO, 400);
	carry_out(&plan, NULL, &record);
	tune_analyse(&a, &plan, record.entries, record.num);
	CU_ASSERT_EQUAL_FATAL(a.num_verdicts, 1);
	v = &a.verdicts[0];
	CU_ASSERT_FATAL(v->num_front > 2);
	for (size_t i = 1; i < v->num_front; i++) {
		const struct tune_figure *x = v->front[i - 1].figure, *y = v->front[i].figure;

		CU_ASSERT(x[TUNE_lat_us].median <= y[TUNE_lat_us].median);
		CU_ASSERT(x[TUNE_irqs_per_s].median > 0.97 * y[TUNE_irqs_per_s].median ||
			  x[TUNE_bw_10m].median < 1.03 * y[TUNE_bw_10m].median);
	}
	knee = tune_best(&a, TUNE_PARETO, NULL);
	CU_ASSERT_PTR_EQUAL(knee, &v->front[v->knee]);
	CU_ASSERT(knee->figure[TUNE_lat_us].median < 2 * FIX_BEST_LATENCY);
	CU_ASSERT(knee->figure[TUNE_irqs_per_s].median < 20000);
	CU_ASSERT(knee->figure[TUNE_bw_10m].median > 0.8 * FIX_BEST_BANDWIDTH);
	tune_analysis_free(&a);
	tune_record_close(&record);
}

static void flat_hills(void)
{
	for (int flat = 0; flat < 2; flat++) {
		struct tune_record record;
		struct tune_analysis a;
		struct tune_plan plan;

		fix_plan(&plan, TUNE_HILL, TUNE_BANDWIDTH, 1000);
		fix.flat = flat;
		fix.noise = 0.002;
		carry_out(&plan, NULL, &record);
		tune_analyse(&a, &plan, record.entries, record.num);
		CU_ASSERT_EQUAL_FATAL(a.num_verdicts, 1);
		CU_ASSERT(a.verdicts[0].climbs >= 1);
		CU_ASSERT(a.verdicts[0].places > a.verdicts[0].climbs);
		CU_ASSERT_EQUAL(a.verdicts[0].flat * 4 > a.verdicts[0].places, flat);
		tune_analysis_free(&a);
		tune_record_close(&record);
	}
}

/* The same without noise, where every setting is in the record once. */
static void exact_hills(void)
{
	for (int flat = 0; flat < 2; flat++) {
		struct tune_target_ops exact = tune_target_fix;
		struct tune_record record;
		struct tune_analysis a;
		struct tune_plan plan;
		struct tune_run run;

		fix_plan(&plan, TUNE_HILL, TUNE_LATENCY, 600);
		plan.space.params = 1 << HW_COALESCE_rx_usecs;
		fix.flat = flat;
		fix.noise = 0;
		exact.noise_free = true;
		CU_ASSERT_EQUAL_FATAL(tune_record_create(&record, NULL, &plan, run.error), 0);
		fix_run(&run, &plan, &record);
		run.ops = &exact;
		CU_ASSERT_EQUAL_FATAL(study_run(&run, &plan), 0);
		tune_analyse(&a, &plan, record.entries, record.num);
		CU_ASSERT_EQUAL_FATAL(a.num_verdicts, 1);
		CU_ASSERT(a.verdicts[0].climbs > 1);
		CU_ASSERT(a.verdicts[0].places > a.verdicts[0].climbs);
		if (flat)
			CU_ASSERT_EQUAL(a.verdicts[0].flat, a.verdicts[0].places)
		else
			CU_ASSERT(a.verdicts[0].flat * 4 < a.verdicts[0].places);
		tune_analysis_free(&a);
		tune_record_close(&record);
	}
}

static bool is_there(const char *dir, const char *file)
{
	char path[TUNE_PATH_CHARS + 32];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return !stat(path, &st) && st.st_size > 0;
}

static bool holds(const char *dir, const char *file, const char *text)
{
	char path[TUNE_PATH_CHARS + 32], *content;
	bool found;
	FILE *f;
	size_t bytes;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	content = calloc(1, 4 << 20);
	CU_ASSERT_FATAL(f && content);
	bytes = fread(content, 1, (4 << 20) - 1, f);
	fclose(f);
	found = bytes && strstr(content, text);
	free(content);
	return found;
}

/* The study of the paper in small: every part of the record, result and report is there. */
static void paper(void)
{
	char dir[TUNE_PATH_CHARS], error[TUNE_ERROR_CHARS] = "", note[TUNE_ERROR_CHARS];
	struct tune_record record;
	struct tune_analysis a;
	struct tune_plan plan, back;
	char text[512] = {0}, *path;
	json_t *root;
	FILE *out;

	fix_folder(dir);
	fix_plan(&plan, TUNE_HALVING, TUNE_LATENCY, 500);
	plan.paper = true;
	plan.samples = 60;
	carry_out(&plan, dir, &record);
	CU_ASSERT(record.num <= study_expected(&plan));
	tune_record_close(&record);
	CU_ASSERT_EQUAL_FATAL(tune_record_load(&record, dir, &back, error), 0);
	tune_analyse(&a, &back, record.entries, record.num);
	CU_ASSERT_EQUAL(a.num_verdicts, 7);
	CU_ASSERT_EQUAL(a.num_models, 3);
	CU_ASSERT(a.compared);
	CU_ASSERT_EQUAL(a.optima[0].figure[TUNE_lat_us].num, 60);
	CU_ASSERT_EQUAL(a.optima[1].figure[TUNE_bw_10m].num, 60);
	CU_ASSERT(!result_is_complete(dir, record.num));
	/* No gnuplot: all but the pictures, and a line that says so. */
	path = strdup(getenv("PATH"));
	setenv("PATH", dir, 1);
	CU_ASSERT_EQUAL(result_save(&a, true, dir, error), 0);
	CU_ASSERT_EQUAL(report_write(&a, true, dir, note, error), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(note, "gnuplot is missing"));
	setenv("PATH", path, 1);
	free(path);
	CU_ASSERT(result_is_complete(dir, record.num));
	CU_ASSERT(!result_is_complete(dir, record.num + 1));
	CU_ASSERT(is_there(dir, "pictures/scatter.tsv"));
	CU_ASSERT(is_there(dir, "pictures/generations-bandwidth.gp"));
	CU_ASSERT(!is_there(dir, "pictures/pareto.tsv"));
	CU_ASSERT(holds(dir, "report.md", "adjusted R²"));
	CU_ASSERT(holds(dir, "report.md", "0.9171"));
	CU_ASSERT(holds(dir, "report.md", "Both optima side by side"));
	CU_ASSERT(holds(dir, "report.md",
			"| reference: initial | reference: off | reference: adaptive "
			"| reference: target p99=20us |"));
	CU_ASSERT(!holds(dir, "report.md", "found"));
	CU_ASSERT(!holds(dir, "result.json", "found"));
	CU_ASSERT(holds(dir, "pictures/finals.gp", "'target p99=20us'"));
	CU_ASSERT(holds(dir, "pictures/progress.gp", "reference: adaptive"));
	CU_ASSERT(holds(dir, "measurements.csv", ",reference-target,"));
	CU_ASSERT(holds(dir, "report.html", "a formula, &quot;noisy&quot;"));
	CU_ASSERT(holds(dir, "report.html", "</html>"));
	root = result_json(&a, true);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "searches")), 7);
	CU_ASSERT(json_is_object(json_object_get(root, "optima_side_by_side")));
	for (size_t i = 0; i < 7; i++) {
		json_t *one = json_array_get(json_object_get(root, "searches"), i);
		json_t *refs = json_object_get(one, "references");

		/* The random settings of the paper have no end, so nothing beside it. */
		CU_ASSERT_EQUAL(json_array_size(refs), i ? TUNE_REFERENCES : 0);
		one = json_array_get(refs, 1);
		if (i)
			CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(one, "reference")),
					       "adaptive");
	}
	json_decref(root);
	out = fmemopen(text, sizeof(text), "w");
	report_summary(&a, dir, out);
	fclose(out);
	CU_ASSERT(!strncmp(text, "latency    rx-usecs ", 20));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n           references: initial "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ", target p99=20us "));
	tune_analysis_free(&a);
	tune_record_close(&record);
	fix_remove(dir);
}

/* What the record has is what measurements.json has. */
static void measurements(const char *dir, const struct tune_record *record)
{
	char path[TUNE_PATH_CHARS + 32];
	json_t *root, *one;

	snprintf(path, sizeof(path), "%s/measurements.json", dir);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_EQUAL_FATAL(json_array_size(root), record->num);
	for (size_t i = 0; i < record->num; i++) {
		struct tune_setting s;

		one = json_array_get(root, i);
		CU_ASSERT(tune_setting_from_json(json_object_get(one, "setting"), &s));
		CU_ASSERT(tune_same(&s, &record->entries[i].setting));
		CU_ASSERT_EQUAL(
		    json_real_value(json_object_get(json_object_get(one, "result"), "lat_us")),
		    record->entries[i].result.value[TUNE_lat_us]);
	}
	json_decref(root);
}

static void apply(void)
{
	char dir[TUNE_PATH_CHARS], path[TUNE_PATH_CHARS + 32], error[TUNE_ERROR_CHARS] = "";
	struct tune_opts o = {.objective = -1, .plan = {.target = "netdev", .name = "eth0@x"}};
	struct tune_setting best;
	struct tune_record record;
	struct tune_analysis a;
	struct tune_plan plan;
	uint32_t params;
	char text[512] = {0};
	FILE *out;

	fix_folder(dir);
	fix_plan(&plan, TUNE_RANDOM, TUNE_LATENCY, 80);
	plan.space.params = 1 << HW_COALESCE_rx_usecs | 1 << HW_COALESCE_rx_frames;
	carry_out(&plan, dir, &record);
	CU_ASSERT_EQUAL(result_best(dir, -1, &best, &params, error), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "has no result"));
	tune_analyse(&a, &plan, record.entries, record.num);
	CU_ASSERT_EQUAL(result_save(&a, true, dir, error), 0);
	measurements(dir, &record);
	CU_ASSERT_EQUAL(result_best(dir, -1, &best, &params, error), 0);
	CU_ASSERT(tune_same(&best, &tune_best(&a, TUNE_LATENCY, NULL)->setting));
	CU_ASSERT_EQUAL(params, plan.space.params);
	CU_ASSERT_EQUAL(result_best(dir, TUNE_PARETO, &best, &params, error), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "for latency"));
	snprintf(path, sizeof(path), "%s/result.json", dir);
	o.path = path;
	out = fmemopen(text, sizeof(text), "w");
	fix.now = (struct tune_setting){.param = {0}};
	o.dry_run = true;
	CU_ASSERT_EQUAL(tune_apply(&o, &tune_target_fix, out), EXIT_DONE);
	CU_ASSERT_EQUAL(fix.now.param[HW_COALESCE_tx_usecs], 0);
	o.dry_run = false;
	CU_ASSERT_EQUAL(tune_apply(&o, &tune_target_fix, out), EXIT_DONE);
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "eth0: rx-usecs"));
	CU_ASSERT_EQUAL(fix.now.param[HW_COALESCE_rx_usecs], best.param[HW_COALESCE_rx_usecs]);
	/* What was not searched stays as it is there, and nothing is put back. */
	CU_ASSERT_EQUAL(fix.now.param[HW_COALESCE_tx_usecs], 72);
	CU_ASSERT_EQUAL(fix.restored, 0);
	tune_analysis_free(&a);
	tune_record_close(&record);
	fix_remove(dir);
}

UT_MAIN("tools/tune_analyse", UT(better_or_not), UT(models), UT(front), UT(flat_hills),
	UT(exact_hills), UT(paper), UT(apply))
