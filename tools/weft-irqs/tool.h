/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to the files of the program weft-irqs.
 *
 * main.c parses the command line, run.c starts the command and counts while it runs, out.c and
 * out_json.c print. Other programs that link irqs.h need none of it.
 */
#ifndef WEFT_IRQS_TOOL_H
#define WEFT_IRQS_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/weft-irqs/irqs.h"

/* Exit codes of the program if no command gives one. */
enum {
	TOOL_OK = 0,
	TOOL_FAILED = 1,
	TOOL_USAGE = 2,
	TOOL_NOT_EXECUTABLE = 126,
	TOOL_NOT_FOUND = 127,
	TOOL_SIGNALLED = 128, /* and the number of the signal */
};

enum {
	TOOL_MAX_PIDS = 64,
	TOOL_MAX_NAMES = 16, /* names of --waker, --iface */
};

enum tool_format {
	TOOL_TEXT,
	TOOL_JSON,
	TOOL_CSV,
};

struct tool {
	struct irqs_options counted; /* its arrays are those below */
	pid_t pid[TOOL_MAX_PIDS];
	const char *name[IRQS_NAMES];
	const char *waker[TOOL_MAX_NAMES];
	uint32_t ifindex[TOOL_MAX_NAMES]; /* --iface; of this network namespace */
	uint32_t num_ifaces;
	uint32_t netns;    /* inode of this network namespace */
	double seconds;    /* 0: no end */
	double interval_s; /* 0: none */
	enum tool_format format;
	const char *output; /* NULL: stderr */
	FILE *out;
	char **command; /* NULL: none */
};

/* A printed report: the difference of an interval, or all of it in the end. */
struct tool_print {
	const struct tool *tool;
	const struct irqs_report *report;
	double at_s; /* since the start */
	bool last;
	int status; /* of the command, -1: none, or not known yet */
};

/* Prints "weft-irqs: ..." on stderr and returns TOOL_FAILED. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Runs the command, if there is one, and counts. Returns the program's exit code. */
int tool_run(struct tool *tool);

/* Prints in tool->format, to tool->out. 0, or TOOL_FAILED after an error message. */
int out_print(const struct tool_print *print);
int out_print_json(const struct tool_print *print);
int out_print_csv(const struct tool_print *print);

/* A counter of struct irqs_slot_counts by name. */
struct out_counter {
	const char *name;
	size_t offset;
};
extern const struct out_counter out_counters[];
extern const uint32_t out_num_counters;
uint64_t out_counter(const struct irqs_slot_counts *counts, uint32_t i);

/* The kind of the slot: "process", or "others", "rest", "idle". */
const char *out_slot_kind(uint32_t slot);
/* True if the row has any counts. */
bool out_has_counts(const struct irqs_slot_counts *counts);
/* True if the interface was requested. */
bool out_has_iface(const struct tool *tool, const struct irqs_netdev_row *row);
/* The waker: a name, and the pid of a process, else 0. */
const char *out_waker(const struct irqs_wake_row *row, uint32_t *pid);

#endif /* WEFT_IRQS_TOOL_H */
