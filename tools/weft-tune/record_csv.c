/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of measurements.csv; see record.h. Called by record.c; calls libc.
 *
 * Numbers are written so that they read back bit for bit: a resumed run decides as the first.
 */
#include "tools/weft-tune/record_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const methods[TUNE_METHODS] = {
    [TUNE_RANDOM] = "random",   [TUNE_LINEAR] = "linear",   [TUNE_HILL] = "hill",
    [TUNE_GENETIC] = "genetic", [TUNE_HALVING] = "halving", [TUNE_GRID] = "grid",
};

static const char *const phases[TUNE_PHASES] = {
    [TUNE_SEARCH] = "search",
    [TUNE_SIMPLIFY] = "simplify",
    [TUNE_FINAL] = "final",
    [TUNE_COMPARE] = "compare",
    [TUNE_REF_OFF] = "reference-off",
    [TUNE_REF_ADAPTIVE] = "reference-adaptive",
    [TUNE_REF_TARGET] = "reference-target",
};

const char *tune_method_name(unsigned int method)
{
	return methods[method];
}

static int by_name(const char *const *names, int num, const char *name)
{
	for (int i = 0; i < num; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

int tune_method_by_name(const char *name)
{
	return by_name(methods, TUNE_METHODS, name);
}

const char *tune_phase_name(unsigned int phase)
{
	return phases[phase];
}

static enum tune_mode mode_of(enum tune_phase phase)
{
	return phase == TUNE_REF_ADAPTIVE ? TUNE_ADAPTIVE
	       : phase == TUNE_REF_TARGET ? TUNE_TARGET
					  : TUNE_FIXED;
}

const char *tune_reference_name(enum tune_phase phase)
{
	static const char *const names[TUNE_PHASES] = {
	    [TUNE_REF_OFF] = "off",
	    [TUNE_REF_ADAPTIVE] = "adaptive",
	    [TUNE_REF_TARGET] = "target " TUNE_TARGET_TEXT,
	};

	return names[phase];
}

void tune_reference(enum tune_phase phase, const struct tune_setting *base,
		    struct tune_setting *setting)
{
	*setting = *base;
	setting->mode = mode_of(phase);
	if (phase == TUNE_REF_OFF)
		memset(setting->param, 0, sizeof(setting->param));
}

int tune_fail(char *error, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, TUNE_ERROR_CHARS, fmt, ap);
	va_end(ap);
	return rc;
}

void tune_metrics_text(uint32_t metrics, char *text, size_t chars)
{
	size_t at = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < TUNE_NUM_METRICS; i++)
		if (metrics & (UINT32_C(1) << i) && at < chars)
			at += (size_t)snprintf(text + at, chars - at, "%s%s", at ? "+" : "",
					       tune_metric_name(i));
}

bool tune_metrics_parse(const char *text, uint32_t *metrics)
{
	char copy[256], *rest, *word;

	*metrics = 0;
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return false;
	for (word = strtok_r(copy, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) {
		int metric = tune_metric_by_name(word);

		if (metric < 0)
			return false;
		*metrics |= UINT32_C(1) << metric;
	}
	return true;
}

int tune_csv_header(char line[TUNE_LINE_CHARS])
{
	int at =
	    snprintf(line, TUNE_LINE_CHARS,
		     "number,method,objective,phase,step,candidate,repeat,seed,effort,measured");

	for (unsigned int i = 0; i < TUNE_P; i++)
		at += snprintf(line + at, TUNE_LINE_CHARS - (size_t)at, ",%s", tune_param_word(i));
	for (unsigned int i = 0; i < TUNE_NUM_METRICS; i++)
		at += snprintf(line + at, TUNE_LINE_CHARS - (size_t)at, ",%s", tune_metric_name(i));
	return at + snprintf(line + at, TUNE_LINE_CHARS - (size_t)at, ",unix_time_s,took_s\n");
}

int tune_entry_format(const struct tune_entry *e, size_t number, char line[TUNE_LINE_CHARS])
{
	char measured[256];
	int at;

	tune_metrics_text(e->effort.metrics, measured, sizeof(measured));
	at = snprintf(line, TUNE_LINE_CHARS,
		      "%zu,%s,%s,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%.17g,%s",
		      number, methods[e->method], tune_objective_name(e->objective),
		      phases[e->phase], e->step, e->candidate, e->repeat, e->effort.seed,
		      e->effort.effort, measured);
	for (unsigned int i = 0; i < TUNE_P; i++)
		at += snprintf(line + at, TUNE_LINE_CHARS - (size_t)at, ",%" PRIu32,
			       e->setting.param[i]);
	for (unsigned int i = 0; i < TUNE_NUM_METRICS; i++)
		at += isnan(e->result.value[i])
			  ? snprintf(line + at, TUNE_LINE_CHARS - (size_t)at, ",")
			  : snprintf(line + at, TUNE_LINE_CHARS - (size_t)at, ",%.17g",
				     e->result.value[i]);
	return at + snprintf(line + at, TUNE_LINE_CHARS - (size_t)at, ",%.3f,%.6f\n", e->when_s,
			     e->took_s);
}

/* A line while it is taken apart. */
struct fields {
	char *next;
	bool bad;
};

static const char *text_field(struct fields *f)
{
	char *field = f->next ? strsep(&f->next, ",") : NULL;

	if (!field)
		f->bad = true;
	return field ? field : "";
}

static uint64_t whole_field(struct fields *f, uint64_t highest)
{
	const char *field = text_field(f);
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(field, &end, 10);
	if (*field < '0' || *field > '9' || *end || errno || value > highest)
		f->bad = true;
	return value;
}

static double number_field(struct fields *f)
{
	const char *field = text_field(f);
	double value;
	char *end;

	if (!*field)
		return NAN;
	value = strtod(field, &end);
	if (*end)
		f->bad = true;
	return value;
}

static unsigned int name_field(struct fields *f, int index)
{
	if (index < 0)
		f->bad = true;
	return index < 0 ? 0 : (unsigned int)index;
}

bool tune_entry_parse(const char *line, struct tune_entry *e)
{
	char copy[TUNE_LINE_CHARS];
	struct fields f = {.next = copy};
	size_t chars = strlen(line);

	*e = (struct tune_entry){0};
	if (!chars || chars >= sizeof(copy) || line[chars - 1] != '\n')
		return false;
	memcpy(copy, line, chars);
	copy[chars - 1] = '\0';
	whole_field(&f, UINT64_MAX);
	e->method = (enum tune_method)name_field(&f, tune_method_by_name(text_field(&f)));
	e->objective = (enum tune_objective)name_field(&f, tune_objective_by_name(text_field(&f)));
	e->phase = (enum tune_phase)name_field(&f, by_name(phases, TUNE_PHASES, text_field(&f)));
	e->step = (uint32_t)whole_field(&f, UINT32_MAX);
	e->candidate = (uint32_t)whole_field(&f, UINT32_MAX);
	e->repeat = (uint32_t)whole_field(&f, UINT32_MAX);
	e->effort.seed = whole_field(&f, UINT64_MAX);
	e->effort.effort = number_field(&f);
	if (!tune_metrics_parse(text_field(&f), &e->effort.metrics))
		f.bad = true;
	for (unsigned int i = 0; i < TUNE_P; i++)
		e->setting.param[i] = (uint32_t)whole_field(&f, UINT32_MAX);
	e->setting.mode = mode_of(e->phase);
	for (unsigned int i = 0; i < TUNE_NUM_METRICS; i++)
		e->result.value[i] = number_field(&f);
	e->when_s = number_field(&f);
	e->took_s = number_field(&f);
	return !f.bad && !f.next;
}
