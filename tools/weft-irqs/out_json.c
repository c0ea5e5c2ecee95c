/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports for programs: a JSON object on a line of its own, or CSV rows. README.md lists the
 * fields. Calls jansson, hist.c, irqs_report.c.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/weft-irqs/hist.h"
#include "tools/weft-irqs/tool.h"

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *latency_json(const struct irqs_hist *hist)
{
	struct irqs_latency l = hist_latency(hist);
	json_t *buckets = json_array();
	json_t *object;

	for (uint32_t i = 0; i < IRQS_BUCKETS; i++)
		if (hist->bucket[i])
			json_array_append_new(buckets,
					      json_pack("[I, I]", (json_int_t)hist_low_ns(i),
							(json_int_t)hist->bucket[i]));
	object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)l.count,
			   "mean_ns", (json_int_t)l.mean_ns, "p50_ns", (json_int_t)l.p50_ns,
			   "p90_ns", (json_int_t)l.p90_ns, "p99_ns", (json_int_t)l.p99_ns, "max_ns",
			   (json_int_t)l.max_ns);
	json_object_set_new(object, "buckets", buckets);
	return object;
}

static json_t *counts_json(const struct irqs_slot_counts *c)
{
	json_t *object = json_object(), *softirqs = json_object(), *ns = json_object();

	for (uint32_t i = 0; i < out_num_counters; i++)
		json_object_set_new(object, out_counters[i].name, integer(out_counter(c, i)));
	for (uint32_t v = 0; v < IRQS_VECTORS; v++) {
		json_object_set_new(softirqs, irqs_vector_name[v], integer(c->softirqs[v]));
		json_object_set_new(ns, irqs_vector_name[v], integer(c->softirq_ns[v]));
	}
	json_object_set_new(object, "softirqs", softirqs);
	json_object_set_new(object, "softirq_ns", ns);
	return object;
}

static json_t *processes_json(const struct irqs_report *report, struct irqs_slot_counts *sum)
{
	json_t *array = json_array(), *object;
	struct irqs_hist hist;

	for (uint32_t i = IRQS_SLOT_OTHERS; i < report->num_rows; i++) {
		const struct irqs_row *row = &report->row[i];

		if (!out_has_counts(&row->counts))
			continue;
		irqs_add_counts(sum, &row->counts, 1);
		object = json_pack("{s:I, s:s}", "pid", (json_int_t)row->proc.pid, "comm",
				   i == IRQS_SLOT_OTHERS ? "" : row->proc.comm);
		json_object_update_new(object, counts_json(&row->counts));
		irqs_report_latency(report, i, &hist);
		json_object_set_new(object, "wake_latency", latency_json(&hist));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *netdevs_json(const struct tool_print *p)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < p->report->num_netdevs; i++) {
		const struct irqs_netdev_row *row = &p->report->netdev[i];

		if (!out_has_iface(p->tool, row))
			continue;
		json_array_append_new(
		    array,
		    json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "name", row->netdev.name, "ifindex",
			      (json_int_t)row->key.ifindex, "netns", (json_int_t)row->key.netns,
			      "napi_polls", (json_int_t)row->netdev.polls, "napi_packets",
			      (json_int_t)row->netdev.packets, "napi_full",
			      (json_int_t)row->netdev.full));
	}
	return array;
}

static json_t *wakes_json(const struct irqs_report *report)
{
	json_t *array = json_array(), *object;
	const char *name;
	uint32_t pid;

	for (uint32_t i = 0; i < report->num_wakes; i++) {
		const struct irqs_wake_row *row = &report->wake[i];

		if (!row->wake.latency.count || row->key.slot >= report->num_rows)
			continue;
		name = out_waker(row, &pid);
		object = json_pack("{s:I, s:s, s:s, s:I, s:b}", "pid",
				   (json_int_t)report->row[row->key.slot].proc.pid, "comm",
				   report->row[row->key.slot].proc.comm, "waker", name, "waker_pid",
				   (json_int_t)pid, "selected", row->selected);
		json_object_set_new(object, "wake_latency", latency_json(&row->wake.latency));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *lost_json(const struct irqs_lost *lost)
{
	json_t *object = json_object();

	json_object_set_new(object, "rows", integer(lost->processes));
	json_object_set_new(object, "processes", integer(lost->untracked));
	json_object_set_new(object, "wakes", integer(lost->wakes));
	json_object_set_new(object, "polls", integer(lost->netdevs));
	json_object_set_new(object, "switches", integer(lost->switches));
	json_object_set_new(object, "events", integer(lost->missed));
	return object;
}

static json_t *missing_json(const struct irqs_report *report)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < report->num_missing; i++)
		json_array_append_new(array, json_string(report->missing[i]));
	return array;
}

static json_t *command_json(const struct tool *tool)
{
	json_t *array;

	if (!tool->command)
		return json_null();
	array = json_array();
	for (char **word = tool->command; *word; word++) {
		json_t *text = json_string(*word);

		/* Arguments need not be UTF-8. */
		json_array_append_new(array, text ? text : json_string("?"));
	}
	return array;
}

int out_print_json(const struct tool_print *p)
{
	const struct irqs_report *r = p->report;
	struct irqs_slot_counts sum = {0};
	struct irqs_hist hist;
	json_t *object = json_object(), *all;
	char *text;
	int rc = 0;

	json_object_set_new(object, "command", command_json(p->tool));
	json_object_set_new(object, "last", json_boolean(p->last));
	json_object_set_new(object, "at_s", json_real(p->at_s));
	json_object_set_new(object, "time_s", json_real((double)r->time_ns / 1e9));
	json_object_set_new(object, "status",
			    p->status < 0 ? json_null() : json_integer(p->status));
	json_object_set_new(object, "processes", processes_json(r, &sum));
	all = counts_json(&sum);
	irqs_report_latency(r, IRQS_SLOTS, &hist);
	json_object_set_new(all, "wake_latency", latency_json(&hist));
	json_object_set_new(object, "all", all);
	json_object_set_new(object, "rest", counts_json(&r->row[IRQS_SLOT_REST].counts));
	json_object_set_new(object, "idle", counts_json(&r->row[IRQS_SLOT_IDLE].counts));
	json_object_set_new(object, "interfaces", netdevs_json(p));
	json_object_set_new(object, "wakes", wakes_json(r));
	json_object_set_new(object, "lost", lost_json(&r->lost));
	json_object_set_new(object, "not_told", missing_json(r));
	text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
	if (!text || fprintf(p->tool->out, "%s\n", text) < 0 || fflush(p->tool->out))
		rc = fail("cannot write the report");
	free(text);
	json_decref(object);
	return rc;
}

/* ---- CSV ------------------------------------------------------------------------------------ */

/* The columns before counter and value. */
struct csv_row {
	FILE *f;
	double at_s;
	const char *what;
	const char *name;
	uint32_t id;
};

static void csv_value(const struct csv_row *row, const char *prefix, const char *counter,
		      uint64_t value)
{
	fprintf(row->f, "%.6f,%s,\"", row->at_s, row->what);
	for (const char *c = row->name; *c; c++) {
		if (*c == '"') /* RFC 4180 */
			fputc('"', row->f);
		fputc(*c, row->f);
	}
	fprintf(row->f, "\",%" PRIu32 ",%s%s,%" PRIu64 "\n", row->id, prefix, counter, value);
}

static void csv_counts(const struct csv_row *row, const struct irqs_slot_counts *c)
{
	for (uint32_t i = 0; i < out_num_counters; i++)
		csv_value(row, "", out_counters[i].name, out_counter(c, i));
	for (uint32_t v = 0; v < IRQS_VECTORS; v++) {
		csv_value(row, "softirqs_", irqs_vector_name[v], c->softirqs[v]);
		csv_value(row, "softirq_ns_", irqs_vector_name[v], c->softirq_ns[v]);
	}
}

static void csv_latency(const struct csv_row *row, const struct irqs_hist *hist)
{
	struct irqs_latency l = hist_latency(hist);

	csv_value(row, "wake_", "count", l.count);
	csv_value(row, "wake_", "mean_ns", l.mean_ns);
	csv_value(row, "wake_", "p50_ns", l.p50_ns);
	csv_value(row, "wake_", "p90_ns", l.p90_ns);
	csv_value(row, "wake_", "p99_ns", l.p99_ns);
	csv_value(row, "wake_", "max_ns", l.max_ns);
}

static void csv_slots(const struct tool_print *p, struct irqs_slot_counts *sum)
{
	struct csv_row row = {.f = p->tool->out, .at_s = p->at_s};
	struct irqs_hist hist;

	for (uint32_t i = 0; i < p->report->num_rows; i++) {
		const struct irqs_row *r = &p->report->row[i];

		if (!out_has_counts(&r->counts))
			continue;
		row.what = out_slot_kind(i);
		row.name = r->proc.comm;
		row.id = r->proc.pid;
		csv_counts(&row, &r->counts);
		if (i < IRQS_SLOT_OTHERS)
			continue;
		irqs_add_counts(sum, &r->counts, 1);
		irqs_report_latency(p->report, i, &hist);
		csv_latency(&row, &hist);
	}
}

int out_print_csv(const struct tool_print *p)
{
	struct csv_row row = {.f = p->tool->out, .at_s = p->at_s, .what = "all", .name = ""};
	const struct irqs_report *r = p->report;
	struct irqs_slot_counts sum = {0};
	struct irqs_hist hist;

	/* Before the first rows only. */
	if (!(p->tool->interval_s > 0) || (!p->last && p->at_s - (double)r->time_ns / 1e9 < 1e-9))
		fprintf(row.f, "seconds,what,name,id,counter,value\n");
	csv_slots(p, &sum);
	csv_counts(&row, &sum);
	irqs_report_latency(r, IRQS_SLOTS, &hist);
	csv_latency(&row, &hist);
	for (uint32_t i = 0; i < r->num_netdevs; i++) {
		if (!out_has_iface(p->tool, &r->netdev[i]))
			continue;
		row.what = "interface";
		row.name = r->netdev[i].netdev.name;
		row.id = r->netdev[i].key.ifindex;
		csv_value(&row, "", "napi_polls", r->netdev[i].netdev.polls);
		csv_value(&row, "", "napi_packets", r->netdev[i].netdev.packets);
		csv_value(&row, "", "napi_full", r->netdev[i].netdev.full);
	}
	for (uint32_t i = 0; i < r->num_wakes; i++) {
		if (!r->wake[i].selected || !r->wake[i].wake.latency.count)
			continue;
		row.what = "waker";
		row.name = out_waker(&r->wake[i], &row.id);
		csv_latency(&row, &r->wake[i].wake.latency);
	}
	row.what = "lost";
	row.name = "";
	row.id = 0;
	csv_value(&row, "", "rows", r->lost.processes);
	csv_value(&row, "", "processes", r->lost.untracked);
	csv_value(&row, "", "wakes", r->lost.wakes);
	csv_value(&row, "", "polls", r->lost.netdevs);
	csv_value(&row, "", "switches", r->lost.switches);
	csv_value(&row, "", "events", r->lost.missed);
	return fflush(row.f) ? fail("cannot write the report") : 0;
}
