/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results as JSON, and back for apply; see result.h.
 */
#include "tools/weft-tune/result.h"
#include "tools/weft-tune/record_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MEASUREMENTS "measurements.json"

static json_t *figures_json(const struct tune_choice *c)
{
	json_t *object = json_object();

	for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++) {
		const struct tune_figure *f = &c->figure[m];

		if (f->num)
			json_object_set_new(
			    object, tune_metric_name(m),
			    json_pack("{s:I, s:o, s:o, s:o, s:o}", "measurements",
				      (json_int_t)f->num, "median", tune_number_json(f->median),
				      "mad", tune_number_json(f->mad), "low",
				      tune_number_json(f->low), "high", tune_number_json(f->high)));
	}
	return object;
}

static json_t *choice_json(const struct tune_choice *c)
{
	if (!c)
		return json_null();
	return json_pack("{s:o, s:b, s:o}", "setting", tune_setting_json(&c->setting), "is_initial",
			 c->initial, "metrics", figures_json(c));
}

static json_t *choices_json(const struct tune_choice *c, size_t num)
{
	json_t *array = json_array();

	for (size_t i = 0; i < num; i++)
		json_array_append_new(array, choice_json(&c[i]));
	return array;
}

static json_t *versus_json(const struct tune_versus *v)
{
	if (isnan(v->differ.p))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:b}", "p", tune_number_json(v->differ.p), "shift",
			 tune_number_json(v->differ.shift), "share", tune_number_json(v->share),
			 "distinct", v->distinct);
}

static json_t *references_json(const struct tune_verdict *v)
{
	json_t *array = json_array();

	for (size_t i = 0; i < v->num_references; i++) {
		const struct tune_choice *c = &v->references[i];
		json_t *one = choice_json(c);

		json_object_set_new(one, "reference", json_string(tune_reference_name(c->phase)));
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *verdict_json(const struct tune_verdict *v)
{
	json_t *object = json_pack(
	    "{s:s, s:s, s:I, s:I, s:o, s:o, s:b, s:o, s:o}", "method", tune_method_name(v->method),
	    "objective", tune_objective_name(v->objective), "measurements", (json_int_t)v->searched,
	    "final_measurements", (json_int_t)v->finals, "effort", tune_number_json(v->effort),
	    "took_s", tune_number_json(v->took_s), "verified", v->verified, "best",
	    choice_json(tune_verdict_best(v)), "beside_initial", versus_json(&v->versus_initial));

	if (object && v->num_references)
		json_object_set_new(object, "references", references_json(v));
	/* Without an end these would be all that was measured: measurements.json has that. */
	if (object && v->verified)
		json_object_set_new(object, "finals", choices_json(v->choices, v->num_choices));
	if (object && v->objective == TUNE_PARETO)
		json_object_set_new(object, "front", choices_json(v->front, v->num_front));
	if (object && v->method == TUNE_HILL)
		json_object_set_new(object, "hill",
				    json_pack("{s:I, s:I, s:I}", "climbs", (json_int_t)v->climbs,
					      "places", (json_int_t)v->places, "flat",
					      (json_int_t)v->flat));
	return object;
}

static json_t *model_json(const struct tune_model *m)
{
	const struct stat_fit *f = &m->fit;
	json_t *columns = json_object();

	for (size_t i = 0; i <= f->columns; i++)
		json_object_set_new(
		    columns, i ? tune_param_word(m->param[i - 1]) : "constant",
		    json_pack("{s:o, s:o, s:o, s:o, s:b}", "coefficient", tune_number_json(f->b[i]),
			      "standard_error", tune_number_json(f->error[i]), "t",
			      tune_number_json(f->t[i]), "p", tune_number_json(f->p[i]),
			      "significant", f->p[i] < TUNE_ALPHA));
	return json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "metric",
			 tune_metric_name(m->metric), "settings", (json_int_t)f->rows,
			 "coefficients", columns, "r_squared", tune_number_json(f->r2),
			 "adjusted_r_squared", tune_number_json(f->adjusted_r2),
			 "residual_standard_error", tune_number_json(f->residual), "model_p",
			 tune_number_json(f->f_p));
}

static json_t *comparison_json(const struct tune_analysis *a)
{
	json_t *metrics = json_object();

	for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++)
		if (!isnan(a->versus[m].differ.p))
			json_object_set_new(metrics, tune_metric_name(m),
					    versus_json(&a->versus[m]));
	return json_pack("{s:o, s:o, s:o}", "latency", choice_json(&a->optima[0]), "bandwidth",
			 choice_json(&a->optima[1]), "difference", metrics);
}

static json_t *best_json(const struct tune_analysis *a)
{
	json_t *object = json_object();

	for (int i = 0; i < TUNE_OBJECTIVES; i++) {
		const struct tune_verdict *v;
		const struct tune_choice *c = tune_best(a, (enum tune_objective)i, &v);
		json_t *one = c ? choice_json(c) : NULL;

		if (!one)
			continue;
		json_object_set_new(one, "method", json_string(tune_method_name(v->method)));
		json_object_set_new(object, tune_objective_name((unsigned int)i), one);
	}
	return object;
}

json_t *result_json(const struct tune_analysis *a, bool complete)
{
	json_t *verdicts = json_array(), *models = json_array(), *root;

	for (size_t i = 0; i < a->num_verdicts; i++)
		json_array_append_new(verdicts, verdict_json(&a->verdicts[i]));
	for (size_t i = 0; i < a->num_models; i++)
		json_array_append_new(models, model_json(&a->models[i]));
	root = json_pack("{s:o, s:b, s:I, s:o, s:o, s:o}", "plan", tune_plan_json(a->plan),
			 "complete", complete, "measurements", (json_int_t)a->num, "best",
			 best_json(a), "searches", verdicts, "linear_models", models);
	if (root && a->compared)
		json_object_set_new(root, "optima_side_by_side", comparison_json(a));
	return root;
}

static json_t *entry_json(const struct tune_entry *e)
{
	json_t *result = json_object();
	char seed[24];

	for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++)
		if (!isnan(e->result.value[m]))
			json_object_set_new(result, tune_metric_name(m),
					    tune_number_json(e->result.value[m]));
	snprintf(seed, sizeof(seed), "%" PRIu64, e->effort.seed);
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "method",
			 tune_method_name(e->method), "objective",
			 tune_objective_name(e->objective), "phase", tune_phase_name(e->phase),
			 "step", (json_int_t)e->step, "candidate", (json_int_t)e->candidate,
			 "repeat", (json_int_t)e->repeat, "seed", seed, "effort",
			 tune_number_json(e->effort.effort), "setting",
			 tune_setting_json(&e->setting), "result", result, "unix_time_s",
			 tune_number_json(e->when_s), "took_s", tune_number_json(e->took_s));
}

/* One line for each, written one by one: the study of the paper has some 60,000. */
static int save_measurements(const struct tune_analysis *a, const char *dir, char *error)
{
	char path[TUNE_PATH_CHARS];
	int rc = tune_path(path, dir, MEASUREMENTS, error);
	bool bad = false;
	FILE *f;

	if (rc)
		return rc;
	f = fopen(path, "we");
	if (!f)
		return tune_fail(error, -errno, "%s: cannot be written: %s", path, strerror(errno));
	fputs("[\n", f);
	for (size_t i = 0; i < a->num && !bad; i++) {
		json_t *entry = entry_json(&a->entries[i]);

		bad = !entry || json_dumpf(entry, f, JSON_COMPACT | JSON_REAL_PRECISION(17));
		fputs(i + 1 < a->num ? ",\n" : "\n", f);
		json_decref(entry);
	}
	fputs("]\n", f);
	bad = ferror(f) || bad;
	if (fclose(f) || bad)
		return tune_fail(error, -EIO, "%s: cannot be written", path);
	return 0;
}

int result_save(const struct tune_analysis *a, bool complete, const char *dir, char *error)
{
	int rc = save_measurements(a, dir, error);

	return rc ? rc : tune_json_save(result_json(a, complete), dir, TUNE_RESULT, error);
}

bool result_is_complete(const char *dir, size_t num)
{
	char path[TUNE_PATH_CHARS], error[TUNE_ERROR_CHARS];
	json_t *root;
	bool complete;

	if (tune_path(path, dir, TUNE_RESULT, error))
		return false;
	root = json_load_file(path, 0, NULL);
	complete = json_is_true(json_object_get(root, "complete")) &&
		   json_integer_value(json_object_get(root, "measurements")) == (json_int_t)num;
	json_decref(root);
	return complete;
}

/* The one that was asked for; the names of all in error otherwise. */
static json_t *pick(json_t *best, int objective, const char *path, char *error)
{
	char names[128] = "";
	json_t *value, *one = NULL;
	const char *name;
	size_t at = 0;

	if (objective >= 0)
		one = json_object_get(best, tune_objective_name((unsigned int)objective));
	else if (json_object_size(best) == 1)
		json_object_foreach (best, name, one)
			break;
	if (one)
		return one;
	json_object_foreach (best, name, value)
		at += (size_t)snprintf(names + at, sizeof(names) - at, " %s", name);
	tune_fail(error, 0, "%s has a best setting for%s: name one with --objective", path,
		  at ? names : " nothing");
	return NULL;
}

static bool take_params(const json_t *plan, uint32_t *params)
{
	const json_t *words = json_object_get(plan, "params");

	*params = 0;
	for (size_t i = 0; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));
		int param = word ? tune_param_by_word(word, strlen(word)) : -1;

		if (param < 0)
			return false;
		*params |= UINT32_C(1) << param;
	}
	return *params != 0;
}

int result_best(const char *path, int objective, struct tune_setting *setting, uint32_t *params,
		char *error)
{
	char file[TUNE_PATH_CHARS];
	struct stat st;
	json_error_t bad;
	json_t *root, *one;
	int rc = 0;

	if (stat(path, &st))
		return tune_fail(error, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		rc = tune_path(file, path, TUNE_RESULT, error);
	else if (snprintf(file, sizeof(file), "%s", path) >= (int)sizeof(file))
		rc = tune_fail(error, -ENAMETOOLONG, "%.100s...: the name is too long", path);
	if (rc)
		return rc;
	if (stat(file, &st))
		return tune_fail(error, -errno,
				 "%s has no result (%s: %s): weft-tune --resume %s "
				 "goes on with the run, weft-tune report %s takes what there is",
				 path, TUNE_RESULT, strerror(errno), path, path);
	root = json_load_file(file, 0, &bad);
	if (!root)
		return tune_fail(error, -EINVAL, "%s: line %d: %s", file, bad.line, bad.text);
	one = pick(json_object_get(root, "best"), objective, file, error);
	if (!one)
		rc = -ENOENT;
	else if (!tune_setting_from_json(json_object_get(one, "setting"), setting) ||
		 !take_params(json_object_get(root, "plan"), params))
		rc = tune_fail(error, -EINVAL, "%s is not what weft-tune writes", file);
	json_decref(root);
	return rc;
}
