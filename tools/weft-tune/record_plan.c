/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.json: what was asked for, so that a run can go on and be reported without its command
 * line; see record_file.h. Called by record.c; calls jansson.
 */
#include "tools/weft-tune/record_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *tune_number_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *values_json(const uint32_t values[TUNE_P])
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < TUNE_P; i++)
		json_object_set_new(object, tune_param_word(i), json_integer(values[i]));
	return object;
}

static bool values_from_json(const json_t *object, uint32_t values[TUNE_P])
{
	for (unsigned int i = 0; i < TUNE_P; i++) {
		const json_t *value = json_object_get(object, tune_param_word(i));

		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		    json_integer_value(value) > UINT32_MAX)
			return false;
		values[i] = (uint32_t)json_integer_value(value);
	}
	return true;
}

json_t *tune_setting_json(const struct tune_setting *setting)
{
	json_t *object = values_json(setting->param);

	/* The values of a mode are the limits that hold again when the mode ends. */
	if (setting->mode == TUNE_ADAPTIVE)
		json_object_set_new(object, "mode", json_string("adaptive"));
	if (setting->mode == TUNE_TARGET)
		json_object_set_new(object, "mode", json_string("target " TUNE_TARGET_TEXT));
	return object;
}

bool tune_setting_from_json(const json_t *object, struct tune_setting *setting)
{
	const char *mode = json_string_value(json_object_get(object, "mode"));

	setting->mode = !mode                          ? TUNE_FIXED
			: !strncmp(mode, "target ", 7) ? TUNE_TARGET
						       : TUNE_ADAPTIVE;
	return values_from_json(object, setting->param);
}

static json_t *words_json(uint32_t params)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < TUNE_P; i++)
		if (params & (UINT32_C(1) << i))
			json_array_append_new(array, json_string(tune_param_word(i)));
	return array;
}

json_t *tune_plan_json(const struct tune_plan *plan)
{
	char seed[24], metrics[256], also[256], start[TUNE_START_CHARS];
	json_t *grid = json_array();

	for (uint32_t i = 0; i < plan->num_grid; i++)
		json_array_append_new(grid, json_integer(plan->grid[i]));
	/* Seeds have 64 bits, JSON's integers 63. */
	snprintf(seed, sizeof(seed), "%" PRIu64, plan->seed);
	tune_metrics_text(plan->metrics, metrics, sizeof(metrics));
	tune_metrics_text(plan->also, also, sizeof(also));
	return json_pack(
	    "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:s, s:s, s:i, s:i, s:o, s:s, s:o, s:o, s:o, "
	    "s:s, s:s}",
	    "version", WEFT_VERSION, "target", plan->target, "name", plan->name, "method",
	    tune_method_name(plan->method), "objective", tune_objective_name(plan->objective),
	    "seed", seed, "paper", plan->paper, "budget", (json_int_t)plan->budget, "measurable",
	    metrics, "also", also, "repeats", (int)plan->repeats, "samples", (int)plan->samples,
	    "grid", grid, "start", tune_start_text(&plan->start, start), "params",
	    words_json(plan->space.params), "highest", values_json(plan->space.highest), "initial",
	    tune_setting_json(&plan->space.base), "what", plan->what, "command", plan->command);
}

int tune_json_save(json_t *root, const char *dir, const char *file, char *error)
{
	char path[TUNE_PATH_CHARS], fresh[TUNE_PATH_CHARS + 8];
	int rc = tune_path(path, dir, file, error);
	FILE *f;

	if (!root)
		rc = tune_fail(error, -ENOMEM, "%s cannot be put into JSON", file);
	if (rc)
		goto out;
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	f = fopen(fresh, "we");
	if (!f || json_dumpf(root, f, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) ||
	    putc('\n', f) == EOF || fflush(f) || fsync(fileno(f)))
		rc = tune_fail(error, -EIO, "%s: cannot be written: %s", fresh, strerror(errno));
	if (f && fclose(f) && !rc)
		rc = tune_fail(error, -EIO, "%s: cannot be written: %s", fresh, strerror(errno));
	if (!rc && rename(fresh, path))
		rc = tune_fail(error, -errno, "%s: cannot be written: %s", path, strerror(errno));
out:
	json_decref(root);
	return rc;
}

int tune_plan_save(const struct tune_plan *plan, const char *dir, char *error)
{
	return tune_json_save(tune_plan_json(plan), dir, TUNE_PLAN, error);
}

static bool take_words(const json_t *array, uint32_t *params)
{
	*params = 0;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *word = json_string_value(json_array_get(array, i));
		int param = word ? tune_param_by_word(word, strlen(word)) : -1;

		if (param < 0)
			return false;
		*params |= UINT32_C(1) << param;
	}
	return *params != 0;
}

static bool take_grid(const json_t *array, struct tune_plan *plan)
{
	if (json_array_size(array) > TUNE_MAX_GRID)
		return false;
	plan->num_grid = (uint32_t)json_array_size(array);
	for (uint32_t i = 0; i < plan->num_grid; i++)
		plan->grid[i] = (uint32_t)json_integer_value(json_array_get(array, i));
	return true;
}

static bool take_plan(json_t *root, struct tune_plan *plan)
{
	const char *target, *name, *method, *objective, *seed, *metrics, *what, *command;
	/* Records of versions without a start: their climbs began at random. */
	const char *also = "", *start = "random";
	json_t *grid, *params, *highest, *initial = NULL;
	int paper, repeats, samples, index[2];
	json_int_t budget;

	if (json_unpack(
		root,
		"{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:s, s?s, s:i, s:i, s:o, s?s, s:o, s:o, s?o, "
		"s:s, s:s}",
		"target", &target, "name", &name, "method", &method, "objective", &objective,
		"seed", &seed, "paper", &paper, "budget", &budget, "measurable", &metrics, "also",
		&also, "repeats", &repeats, "samples", &samples, "grid", &grid, "start", &start,
		"params", &params, "highest", &highest, "initial", &initial, "what", &what,
		"command", &command))
		return false;
	/* The name that it had before. */
	if (!initial)
		initial = json_object_get(root, "found");
	index[0] = tune_method_by_name(method);
	index[1] = tune_objective_by_name(objective);
	if (index[0] < 0 || index[1] < 0 || budget < 1 || repeats < 1 || samples < 1)
		return false;
	plan->method = (enum tune_method)index[0];
	plan->objective = (enum tune_objective)index[1];
	plan->seed = strtoull(seed, NULL, 10);
	plan->paper = paper;
	plan->budget = (uint64_t)budget;
	plan->repeats = (uint32_t)repeats;
	plan->samples = (uint32_t)samples;
	snprintf(plan->target, sizeof(plan->target), "%s", target);
	snprintf(plan->name, sizeof(plan->name), "%s", name);
	snprintf(plan->what, sizeof(plan->what), "%s", what);
	snprintf(plan->command, sizeof(plan->command), "%s", command);
	return tune_metrics_parse(metrics, &plan->metrics) &&
	       tune_metrics_parse(also, &plan->also) && take_grid(grid, plan) &&
	       take_words(params, &plan->space.params) &&
	       values_from_json(highest, plan->space.highest) &&
	       tune_setting_from_json(initial, &plan->space.base) &&
	       tune_start_parse(start, &plan->start);
}

int tune_plan_load(struct tune_plan *plan, const char *dir, char *error)
{
	char path[TUNE_PATH_CHARS];
	json_error_t bad;
	json_t *root;
	int rc = tune_path(path, dir, TUNE_PLAN, error);

	*plan = (struct tune_plan){0};
	if (rc)
		return rc;
	if (access(path, R_OK))
		return tune_fail(error, -errno, "%s holds no record of weft-tune (%s: %s)", dir,
				 TUNE_PLAN, strerror(errno));
	root = json_load_file(path, 0, &bad);
	if (!root)
		return tune_fail(error, -EINVAL, "%s: line %d: %s", path, bad.line, bad.text);
	if (!take_plan(root, plan))
		rc = tune_fail(error, -EINVAL, "%s: is not what weft-tune writes there", path);
	json_decref(root);
	return rc;
}
