/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples as OpenMetrics text (OpenMetrics 1.0, "Text format"). See metrics.h. Calls libc alone.
 */
#include "tools/weftctl/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The characters of a label's value that are escaped, and their letters. */
static const char escaped[] = "\\\"\n", letters[] = "\\\"n";

void metrics_label(char labels[METRICS_LABELS_CHARS], const char *name, const char *value)
{
	size_t at = strlen(labels), name_chars = strlen(name);

	/* Comma, equals sign, two quotes, a last escape and the end. */
	if (at + name_chars + 8 > METRICS_LABELS_CHARS)
		return;
	at += (size_t)sprintf(labels + at, "%s%s=\"", at ? "," : "", name);
	for (; *value && at + 4 < METRICS_LABELS_CHARS; value++) {
		const char *escape = strchr(escaped, *value);

		if (escape)
			labels[at++] = '\\';
		labels[at++] = escape ? letters[escape - escaped] : *value;
	}
	labels[at++] = '"';
	labels[at] = '\0';
}

void metrics_add(struct metrics *m, const char *name, enum stat_kind kind, const char *help,
		 const char *labels, double value)
{
	struct metrics_sample *s;

	if (m->num == m->room) {
		size_t room = m->room ? 2 * m->room : 1024;

		s = realloc(m->sample, room * sizeof(*s));
		if (!s) {
			m->no_memory = true;
			return;
		}
		m->sample = s;
		m->room = room;
	}
	s = &m->sample[m->num];
	*s = (struct metrics_sample){.kind = kind, .help = help, .value = value, .order = m->num++};
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->labels, sizeof(s->labels), "%s", labels);
}

void metrics_take(struct metrics *m, struct metrics *from)
{
	for (size_t i = 0; i < from->num; i++) {
		const struct metrics_sample *s = &from->sample[i];

		metrics_add(m, s->name, s->kind, s->help, s->labels, s->value);
	}
	m->no_memory |= from->no_memory;
	metrics_free(from);
}

/* A family's samples are together, in the order in which they came. */
static int compare(const void *a, const void *b)
{
	const struct metrics_sample *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

/* The base unit with which a name ends: it is announced, and stays part of the name. */
static const char *unit_of(const char *name)
{
	static const char *const units[] = {"seconds", "bytes", "ratio"};
	size_t chars = strlen(name);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i]);

		if (chars > n && !strcmp(name + chars - n, units[i]) && name[chars - n - 1] == '_')
			return units[i];
	}
	return NULL;
}

static void print_head(const struct metrics_sample *s, FILE *to)
{
	const char *unit = unit_of(s->name);

	fprintf(to, "# TYPE %s %s\n", s->name, s->kind == STAT_COUNTER ? "counter" : "gauge");
	if (unit)
		fprintf(to, "# UNIT %s %s\n", s->name, unit);
	fprintf(to, "# HELP %s %s.\n", s->name, s->help);
}

bool metrics_print(struct metrics *m, FILE *to)
{
	if (m->num)
		qsort(m->sample, m->num, sizeof(m->sample[0]), compare);
	for (size_t i = 0; i < m->num; i++) {
		const struct metrics_sample *s = &m->sample[i];

		if (!i || strcmp(s->name, s[-1].name))
			print_head(s, to);
		fprintf(to, "%s%s%s%s%s %.15g\n", s->name, s->kind == STAT_COUNTER ? "_total" : "",
			s->labels[0] ? "{" : "", s->labels, s->labels[0] ? "}" : "", s->value);
	}
	fputs("# EOF\n", to);
	return !m->no_memory;
}

void metrics_free(struct metrics *m)
{
	free(m->sample);
	*m = (struct metrics){0};
}
