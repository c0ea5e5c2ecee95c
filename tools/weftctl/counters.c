/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command counters: every counter with its kind, unit and sentence, without a weftd.
 * docs/counters.md is its output with --markdown. Calls lib/stat_rows.h and out.c.
 */
#include "tools/weftctl/ctl.h"

#include <stdio.h>
#include <string.h>

#include "lib/stat_rows.h"

static const char *kind_word(enum stat_kind kind)
{
	return kind == STAT_COUNTER ? "counter" : "gauge";
}

/* The metric's name with its label, as it stands in a scrape. */
static void metric_text(const char *name, char *text, size_t bytes)
{
	struct stat_metric metric;
	char plain[STAT_NAME_CHARS];
	char *number;

	snprintf(plain, sizeof(plain), "%s", name);
	number = strchr(plain, '#');
	if (number)
		*number = '0';
	if (!stat_metric_of(plain, &metric)) {
		snprintf(text, bytes, "-");
		return;
	}
	snprintf(text, bytes, "%s%s%s%s%s%s%s", metric.name,
		 metric.kind == STAT_COUNTER ? "_total" : "", metric.label ? "{" : "",
		 metric.label ? metric.label : "", metric.label ? "=\"" : "",
		 metric.label ? metric.value : "", metric.label ? "\"}" : "");
}

static void add(json_t *rows, const char *name, enum stat_kind kind, const char *help,
		const char *metric)
{
	json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", name, "kind",
					      kind_word(kind), "unit", stat_unit_of(name), "metric",
					      metric, "help", help));
}

static json_t *all_rows(void)
{
	json_t *list = json_array();
	size_t num;
	const struct stat_row *rows = stat_rows(&num);
	const struct stat_family *families;
	char metric[192], name[STAT_NAME_CHARS];

	for (size_t i = 0; i < num; i++) {
		metric_text(rows[i].name, metric, sizeof(metric));
		add(list, rows[i].name, rows[i].kind, rows[i].help, metric);
	}
	families = stat_families(&num);
	for (size_t i = 0; i < num; i++) {
		/* The firmware's drops have rows of their own. */
		if (!strcmp(families[i].prefix, "drop_"))
			continue;
		snprintf(name, sizeof(name), "%s*", families[i].prefix);
		snprintf(metric, sizeof(metric), "weft_%s%s{%s=\"*\"}", families[i].metric,
			 families[i].kind == STAT_COUNTER ? "_total" : "", families[i].label);
		add(list, name, families[i].kind, families[i].help, metric);
	}
	return list;
}

static int print_markdown(json_t *rows)
{
	const json_t *row;
	size_t i;

	printf(
	    "<!-- Made by \"weftctl counters --markdown\" from shared_defs/hw_counters.h and\n"
	    "lib/stat_rows.c. \"make counters-page\" makes it again. -->\n"
	    "# Counters\n\n"
	    "`weftctl stats` prints them, `weftctl metrics` offers them to Prometheus. A `#`\n"
	    "stands for the number of a queue, a `*` for a reason, a stage or a kind. Gauges of\n"
	    "pools, `NAME_used`, have their highest value so far as `NAME_used_max`.\n\n"
	    "| counter | kind | unit | metric | meaning |\n"
	    "|---|---|---|---|---|\n");
	json_array_foreach (rows, i, row) {
		printf("| `%s` | %s | %s | `%s` | %s |\n",
		       json_string_value(json_object_get(row, "name")),
		       json_string_value(json_object_get(row, "kind")),
		       json_string_value(json_object_get(row, "unit")),
		       json_string_value(json_object_get(row, "metric")),
		       json_string_value(json_object_get(row, "help")));
	}
	json_decref(rows);
	return CTL_OK;
}

int run_counters(const struct ctl *ctl)
{
	static const struct out_column columns[] = {
	    {"name", "COUNTER"},
	    {"kind", "KIND"},
	    {"help", "MEANING"},
	};
	json_t *rows = all_rows();

	if (ctl->markdown)
		return print_markdown(rows);
	return out_table(ctl, columns, sizeof(columns) / sizeof(columns[0]), rows);
}
