/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports for people. Calls out_json.c for reports for programs, hist.c, irqs_report.c. Where many
 * processes ran (a shell script, make) those of one name share a row.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/weft-irqs/hist.h"
#include "tools/weft-irqs/tool.h"

#define COUNTER(field)                                                                             \
	{                                                                                          \
#field, offsetof(struct irqs_slot_counts, field)                                   \
	}
const struct out_counter out_counters[] = {
    COUNTER(cpu_ns),        COUNTER(voluntary),    COUNTER(involuntary), COUNTER(wakeups),
    COUNTER(wakeups_awake), COUNTER(wakes_given),  COUNTER(hard_irqs),   COUNTER(hard_irq_ns),
    COUNTER(napi_polls),    COUNTER(napi_packets),
};
const uint32_t out_num_counters = sizeof(out_counters) / sizeof(out_counters[0]);

uint64_t out_counter(const struct irqs_slot_counts *counts, uint32_t i)
{
	uint64_t value;

	memcpy(&value, (const char *)counts + out_counters[i].offset, sizeof(value));
	return value;
}

const char *out_slot_kind(uint32_t slot)
{
	switch (slot) {
	case IRQS_SLOT_REST:
		return "rest";
	case IRQS_SLOT_IDLE:
		return "idle";
	case IRQS_SLOT_OTHERS:
		return "others";
	default:
		return "process";
	}
}

bool out_has_counts(const struct irqs_slot_counts *counts)
{
	static const struct irqs_slot_counts none;

	return memcmp(counts, &none, sizeof(none)) != 0;
}

bool out_has_iface(const struct tool *tool, const struct irqs_netdev_row *row)
{
	for (uint32_t i = 0; i < tool->num_ifaces; i++)
		if (tool->ifindex[i] == row->key.ifindex && tool->netns == row->key.netns)
			return true;
	return !tool->num_ifaces;
}

const char *out_waker(const struct irqs_wake_row *row, uint32_t *pid)
{
	*pid = 0;
	switch ((enum irqs_waker)row->key.waker) {
	case IRQS_BY_PROCESS:
		*pid = row->key.id;
		return row->wake.comm;
	case IRQS_BY_SOFTIRQ:
		return row->key.id < IRQS_VECTORS ? irqs_vector_name[row->key.id] : "softirq";
	case IRQS_BY_TIMER:
		return "timer";
	case IRQS_BY_IRQ:
		return "irq";
	case IRQS_WAKERS:
		break;
	}
	return "?";
}

enum {
	OUT_MAX_PROCESSES = 16, /* those with a row of their own */
};

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void print_head(const struct tool_print *p)
{
	FILE *f = p->tool->out;

	fprintf(f, "\nweft-irqs:");
	for (char **word = p->tool->command; word && *word; word++)
		fprintf(f, " %s", *word);
	if (p->tool->interval_s > 0 && !p->last)
		fprintf(f, "%s %.3f s to %.3f s\n", p->tool->command ? "," : "",
			p->at_s - (double)p->report->time_ns / 1e9, p->at_s);
	else
		fprintf(f, "%s %.3f s\n", p->tool->command ? "," : "", p->at_s);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* A row of the table: a process, or several of one name. */
struct out_row {
	const char *name;
	uint32_t pid;
	uint32_t num;
	struct irqs_slot_counts counts;
};

static void print_counts(FILE *f, const struct out_row *row)
{
	const struct irqs_slot_counts *c = &row->counts;
	uint64_t softirqs = 0, softirq_ns = 0;
	char id[16] = "";

	for (uint32_t v = 0; v < IRQS_VECTORS; v++) {
		softirqs += c->softirqs[v];
		softirq_ns += c->softirq_ns[v];
	}
	if (row->num > 1)
		snprintf(id, sizeof(id), "x %" PRIu32, row->num);
	else if (row->pid)
		snprintf(id, sizeof(id), "%" PRIu32, row->pid);
	fprintf(f,
		"  %-19s %8s %11.3f %10" PRIu64 " %11" PRIu64 " %9" PRIu64 " %7" PRIu64 " %9" PRIu64
		" %9" PRIu64 " %11.3f %7" PRIu64 "\n",
		row->name, id, ms(c->cpu_ns), (uint64_t)c->voluntary, (uint64_t)c->involuntary,
		(uint64_t)c->wakeups, (uint64_t)c->wakeups_awake, (uint64_t)c->wakes_given,
		softirqs, ms(softirq_ns), (uint64_t)c->hard_irqs);
}

static bool has_many(const struct irqs_report *report)
{
	uint32_t num = 0;

	for (uint32_t i = IRQS_SLOT_FIRST; i < report->num_rows; i++)
		num += out_has_counts(&report->row[i].counts);
	return num > OUT_MAX_PROCESSES;
}

/* Fills the rows of the processes; returns their number. */
static uint32_t make_rows(const struct irqs_report *report, struct out_row *rows)
{
	bool many = has_many(report);
	uint32_t num = 0, at;

	for (uint32_t i = IRQS_SLOT_FIRST; i < report->num_rows; i++) {
		const struct irqs_row *row = &report->row[i];

		if (!out_has_counts(&row->counts))
			continue;
		for (at = 0; at < num; at++)
			if (many && !strcmp(rows[at].name, row->proc.comm))
				break;
		if (at == num) {
			rows[num].name = row->proc.comm;
			rows[num++].pid = row->proc.pid;
		}
		rows[at].num++;
		irqs_add_counts(&rows[at].counts, &row->counts, 1);
	}
	if (out_has_counts(&report->row[IRQS_SLOT_OTHERS].counts)) {
		rows[num].name = "(further ones)";
		rows[num++].counts = report->row[IRQS_SLOT_OTHERS].counts;
	}
	return num;
}

static int print_processes(const struct tool_print *p)
{
	struct out_row *rows = calloc(IRQS_SLOTS, sizeof(*rows));
	struct out_row sum = {.name = "all of these"};
	struct out_row rest = {.name = "rest of the machine",
			       .counts = p->report->row[IRQS_SLOT_REST].counts};
	struct out_row idle = {.name = "idle", .counts = p->report->row[IRQS_SLOT_IDLE].counts};
	FILE *f = p->tool->out;
	uint32_t num;

	if (!rows)
		return fail("out of memory");
	fprintf(f, "\n  %-19s %8s %11s %10s %11s %9s %7s %9s %9s %11s %7s\n", "PROCESS", "PID",
		"CPU ms", "VOLUNTARY", "INVOLUNTARY", "WOKEN", "AWAKE", "WAKES", "SOFTIRQS",
		"SOFTIRQ ms", "IRQS");
	num = make_rows(p->report, rows);
	for (uint32_t i = 0; i < num; i++) {
		print_counts(f, &rows[i]);
		irqs_add_counts(&sum.counts, &rows[i].counts, 1);
	}
	if (num != 1)
		print_counts(f, &sum);
	if (!p->tool->counted.all)
		print_counts(f, &rest);
	print_counts(f, &idle);
	free(rows);
	return 0;
}

static void print_vectors(const struct tool_print *p)
{
	FILE *f = p->tool->out;
	bool head = false;

	for (uint32_t v = 0; v < IRQS_VECTORS; v++) {
		uint64_t all = 0, all_ns = 0, these = 0, these_ns = 0;

		for (uint32_t i = 0; i < p->report->num_rows; i++) {
			const struct irqs_slot_counts *c = &p->report->row[i].counts;

			all += c->softirqs[v];
			all_ns += c->softirq_ns[v];
			these += i >= IRQS_SLOT_OTHERS ? c->softirqs[v] : 0;
			these_ns += i >= IRQS_SLOT_OTHERS ? c->softirq_ns[v] : 0;
		}
		if (!all)
			continue;
		if (!head)
			fprintf(f, "\n  %-19s %13s %11s %14s %11s\n", "SOFTIRQ", "on these", "ms",
				"on the machine", "ms");
		head = true;
		fprintf(f, "  %-19s %13" PRIu64 " %11.3f %14" PRIu64 " %11.3f\n",
			irqs_vector_name[v], these, ms(these_ns), all, ms(all_ns));
	}
}

static void print_netdevs(const struct tool_print *p)
{
	FILE *f = p->tool->out;
	bool head = false;

	for (uint32_t i = 0; i < p->report->num_netdevs; i++) {
		const struct irqs_netdev_row *row = &p->report->netdev[i];
		const struct irqs_netdev *n = &row->netdev;
		char where[16] = "";

		if (!out_has_iface(p->tool, row) || (!n->polls && !p->tool->num_ifaces))
			continue;
		if (!head)
			fprintf(f, "\n  %-19s %10s %11s %11s %9s %13s\n", "INTERFACE", "namespace",
				"NAPI polls", "packets", "per poll", "full budgets");
		head = true;
		if (row->key.ifindex && row->key.netns != p->tool->netns)
			snprintf(where, sizeof(where), "%" PRIu32, (uint32_t)row->key.netns);
		fprintf(f, "  %-19s %10s %11" PRIu64 " %11" PRIu64 " %9.1f %13" PRIu64 "\n",
			n->name, where, (uint64_t)n->polls, (uint64_t)n->packets,
			n->polls ? (double)n->packets / (double)n->polls : 0, (uint64_t)n->full);
	}
	if (!head && p->tool->num_ifaces)
		fprintf(f, "\n  no NAPI polls of the interfaces of --iface\n");
}

/*
 * ---- from wake-up to running ------------------------------------------------------------------
 */

static void print_latency(FILE *f, const char *process, const char *by,
			  const struct irqs_hist *hist)
{
	struct irqs_latency l = hist_latency(hist);

	fprintf(f, "  %-23s %-23s %9" PRIu64 " %9.1f %9.1f %9.1f %9.1f %9.1f\n", process, by,
		l.count, us(l.mean_ns), us(l.p50_ns), us(l.p90_ns), us(l.p99_ns), us(l.max_ns));
}

/*
 * A row of that table: a process and its waker, or several processes of one name, likewise wakers.
 */
struct wake_line {
	char process[48];
	char by[48];
	struct irqs_hist hist;
};

/* "NAME PID", or the name alone. */
static void put_name(char text[48], const char *name, uint32_t pid)
{
	if (pid)
		snprintf(text, 48, "%s %" PRIu32, name, pid);
	else
		snprintf(text, 48, "%s", name);
}

static uint32_t make_lines(const struct irqs_report *report, struct wake_line *lines)
{
	bool many = has_many(report);
	uint32_t num = 0, at, pid;

	for (uint32_t i = 0; i < report->num_wakes; i++) {
		const struct irqs_wake_row *row = &report->wake[i];
		const struct irqs_proc *proc = &report->row[row->key.slot % IRQS_SLOTS].proc;
		struct wake_line *line = &lines[num];
		const char *by;

		if (!row->selected || !row->wake.latency.count)
			continue;
		put_name(line->process,
			 row->key.slot == IRQS_SLOT_OTHERS ? "(further ones)" : proc->comm,
			 many ? 0 : proc->pid);
		by = out_waker(row, &pid);
		put_name(line->by, by, many ? 0 : pid);
		for (at = 0; at < num; at++)
			if (many && !strcmp(lines[at].process, line->process) &&
			    !strcmp(lines[at].by, line->by))
				break;
		num += at == num;
		hist_sum(&lines[at].hist, &row->wake.latency);
	}
	return num;
}

static int print_wakes(const struct tool_print *p)
{
	struct wake_line *lines = calloc(IRQS_WAKES, sizeof(*lines));
	FILE *f = p->tool->out;
	uint32_t num;

	if (!lines)
		return fail("out of memory");
	num = make_lines(p->report, lines);
	if (num)
		fprintf(f, "\n  %-23s %-23s %9s %9s %9s %9s %9s %9s\n", "WOKEN",
			"BY, until it runs [us]", "TIMES", "mean", "p50", "p90", "p99", "max");
	for (uint32_t i = 0; i < num; i++)
		print_latency(f, lines[i].process, lines[i].by, &lines[i].hist);
	free(lines);
	return 0;
}

/* Rows of powers of two, as BPF tools draw them. */
static void print_histogram(const struct tool_print *p)
{
	static const char stars[] = "****************************************";
	uint64_t octave[IRQS_BUCKETS / IRQS_SUBS] = {0}, most = 0;
	uint32_t first = IRQS_BUCKETS / IRQS_SUBS, last = 0;
	struct irqs_hist hist;
	FILE *f = p->tool->out;

	irqs_report_latency(p->report, IRQS_SLOTS, &hist);
	if (!hist.count)
		return;
	for (uint32_t i = 0; i < IRQS_BUCKETS; i++) {
		uint32_t o = i / IRQS_SUBS;

		octave[o] += hist.bucket[i];
		if (!hist.bucket[i])
			continue;
		first = o < first ? o : first;
		last = o;
		most = octave[o] > most ? octave[o] : most;
	}
	print_latency(f, "all of these", "", &hist);
	fprintf(f, "\n  %25s : %-9s distribution\n", "nsecs", "count");
	for (uint32_t o = first; o <= last; o++)
		fprintf(f, "  %11" PRIu64 " -> %-10" PRIu64 " : %-9" PRIu64 " |%-40.*s|\n",
			hist_low_ns(o * IRQS_SUBS), hist_low_ns((o + 1) * IRQS_SUBS) - 1, octave[o],
			(int)(octave[o] * (sizeof(stars) - 1) / most), stars);
}

static void print_lost(const struct tool_print *p)
{
	const struct irqs_lost *l = &p->report->lost;
	FILE *f = p->tool->out;

	if (l->processes)
		fprintf(f, "\n  %" PRIu64 " processes found no row: together in '(further ones)'\n",
			(uint64_t)l->processes);
	if (l->untracked || l->wakes || l->netdevs || l->switches || l->missed)
		fprintf(f,
			"\n  lost: %" PRIu64 " processes, %" PRIu64 " wake-ups' times, %" PRIu64
			" polls, %" PRIu64 " switches, %" PRIu64 " events\n",
			(uint64_t)l->untracked, (uint64_t)l->wakes, (uint64_t)l->netdevs,
			(uint64_t)l->switches, (uint64_t)l->missed);
	for (uint32_t i = 0; i < p->report->num_missing; i++)
		fprintf(f, "%s%s%s",
			i ? ", " : "\n  this kernel does not report: ", p->report->missing[i],
			i + 1 == p->report->num_missing ? "\n" : "");
}

int out_print(const struct tool_print *p)
{
	if (p->tool->format == TOOL_JSON)
		return out_print_json(p);
	if (p->tool->format == TOOL_CSV)
		return out_print_csv(p);
	print_head(p);
	if (print_processes(p))
		return TOOL_FAILED;
	print_vectors(p);
	print_netdevs(p);
	if (print_wakes(p))
		return TOOL_FAILED;
	print_histogram(p);
	print_lost(p);
	if (fflush(p->tool->out))
		return fail("cannot write the report");
	return 0;
}
