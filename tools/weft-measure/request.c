/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and answers as JSON; see request.h.
 */
#include "tools/weft-measure/request.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/coalesce_words.h"

static const char *const metric_names[TUNE_NUM_METRICS] = {
#define X(name) [TUNE_##name] = #name,
    TUNE_METRICS(X)
#undef X
};

static const char *const mode_names[TUNE_MODES] = {
    [TUNE_FIXED] = "fixed",
    [TUNE_ADAPTIVE] = "adaptive",
    [TUNE_TARGET] = "target",
};

static int index_of(const json_t *word, const char *const *names, int num)
{
	const char *text = json_string_value(word);

	for (int i = 0; text && i < num; i++)
		if (!strcmp(names[i], text))
			return i;
	return -1;
}

/* Every parameter has a value. */
static bool take_setting(const json_t *object, struct tune_setting *setting)
{
	const json_t *mode = json_object_get(object, "mode");
	int number = mode ? index_of(mode, mode_names, TUNE_MODES) : TUNE_FIXED;

	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++) {
		const json_t *value = json_object_get(object, coalesce_word(i));

		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		    json_integer_value(value) > UINT32_MAX)
			return false;
		setting->param[i] = (uint32_t)json_integer_value(value);
	}
	setting->mode = number < 0 ? TUNE_FIXED : (enum tune_mode)number;
	return number >= 0;
}

/* Metrics to measure. Without any the setting is set alone. */
static bool take_effort(const json_t *root, struct tune_effort *effort)
{
	const json_t *metrics = json_object_get(root, "metrics");
	const char *seed = json_string_value(json_object_get(root, "seed"));
	char *end;

	*effort = (struct tune_effort){0};
	for (size_t i = 0; i < json_array_size(metrics); i++) {
		int metric = index_of(json_array_get(metrics, i), metric_names, TUNE_NUM_METRICS);

		if (metric < 0)
			return false;
		effort->metrics |= UINT32_C(1) << metric;
	}
	if (!effort->metrics)
		return true;
	/* Seeds have 64 bits, integers of JSON 63. */
	errno = 0;
	effort->seed = seed ? strtoull(seed, &end, 10) : 0;
	effort->effort = json_number_value(json_object_get(root, "effort"));
	return effort->seed && !*end && !errno && effort->effort > 0 && effort->effort <= 1;
}

bool request_parse(const char *line, struct request *request, char *error)
{
	json_error_t bad;
	json_t *root = json_loads(line, 0, &bad);
	bool ok;

	*request = (struct request){0};
	if (!root) {
		snprintf(error, TUNE_ERROR_CHARS, "a request is not JSON: %s", bad.text);
		return false;
	}
	request->restore = json_is_true(json_object_get(root, "restore"));
	request->keep = json_is_true(json_object_get(root, "keep"));
	ok = request->restore ||
	     (take_setting(json_object_get(root, "setting"), &request->setting) &&
	      take_effort(root, &request->effort));
	json_decref(root);
	if (!ok)
		snprintf(error, TUNE_ERROR_CHARS,
			 "a request needs restore, or a setting of all parameters; and metrics, "
			 "effort and seed to measure");
	return ok;
}

/* The names of what is in a mask. */
static json_t *names_json(uint32_t mask, const char *const *names, uint32_t num)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < num; i++)
		if (mask >> i & 1)
			json_array_append_new(array, json_string(names[i]));
	return array;
}

static json_t *values_json(uint32_t mask, const uint32_t *values)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		if (mask >> i & 1)
			json_object_set_new(object, coalesce_word(i), json_integer(values[i]));
	return object;
}

json_t *answer_target(const struct tune_target_ops *ops, const struct tune_target *target)
{
	uint32_t highest[HW_COALESCE_NUM_PARAMS], params = ops->params(target, highest);
	struct tune_setting initial = {0};

	ops->initial(target, &initial);
	return json_pack("{s:s, s:s, s:o, s:b, s:o, s:o, s:o}", "target", ops->name, "what",
			 ops->describe(target), "metrics",
			 names_json(ops->metrics, metric_names, TUNE_NUM_METRICS), "noise_free",
			 ops->noise_free, "highest", values_json(params, highest), "modes",
			 names_json(ops->modes(target), mode_names, TUNE_MODES), "initial",
			 values_json(UINT32_MAX, initial.param));
}

json_t *answer_result(const struct tune_result *result, double took_s)
{
	json_t *values = json_object();

	for (uint32_t i = 0; i < TUNE_NUM_METRICS; i++)
		if (!isnan(result->value[i]))
			json_object_set_new(values, metric_names[i], json_real(result->value[i]));
	return json_pack("{s:o, s:f}", "result", values, "took_s", took_s);
}

json_t *answer_error(int rc, const char *error)
{
	/* Text of a driver or of the other end may be no UTF-8. */
	json_t *answer = json_pack("{s:s, s:i}", "error", error, "errno", -rc);

	return answer ? answer
		      : json_pack("{s:s, s:i}", "error", "an error that is no UTF-8", "errno", -rc);
}

bool answer_send(json_t *answer)
{
	bool ok = answer && !json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) &&
		  putchar('\n') != EOF && !fflush(stdout);

	json_decref(answer);
	return ok;
}
