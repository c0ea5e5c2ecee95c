/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kind, unit and sentence of each counter that weftd reports, and its name as a metric.
 *
 * The firmware's counters come from shared_defs/hw_counters.h; stat_rows.c has the others. The
 * names of metrics follow Prometheus' practice: base units, "_total" for counters, and one metric
 * with a label where counters differ in a reason, a stage or a queue.
 */
#ifndef WEFT_LIB_STAT_ROWS_H
#define WEFT_LIB_STAT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

enum stat_kind {
	STAT_COUNTER, /* never falls while weftd runs */
	STAT_GAUGE,   /* the present value */
};

enum {
	STAT_NAME_CHARS = 64,
};

struct stat_row {
	const char *name; /* as weftctl stats prints it; # stands for a number */
	enum stat_kind kind;
	const char *help;   /* a sentence without its full stop */
	const char *metric; /* NULL: name; else the name of the metric, without "weft_" */
	double scale;       /* value * scale is in the metric's unit; 0: 1 */
};

/* A metric of several counters: the rest of the counter's name is the value of the label. */
struct stat_family {
	const char *prefix;
	enum stat_kind kind;
	const char *metric; /* without "weft_" */
	const char *label;
	const char *help;
	double scale;
};

/* A counter's name as a metric. */
struct stat_metric {
	char name[STAT_NAME_CHARS]; /* "weft_rx_frames", without the suffix of its kind */
	enum stat_kind kind;
	const char *label; /* NULL: none */
	char value[STAT_NAME_CHARS];
	const char *help;
	double scale;
};

/* All rows and families, for lists. Thread-safe: they are constant. */
const struct stat_row *stat_rows(size_t *num);
const struct stat_family *stat_families(size_t *num);

/*
 * Returns the row of a counter, NULL if there is none. "NAME_max" of a pool's gauge is found as
 * the row of NAME.
 */
const struct stat_row *stat_row_of(const char *name);

/*
 * Returns the unit of a counter: "bytes", "nanoseconds" or "" for a number, by its name's end, as
 * in the whole tree.
 */
const char *stat_unit_of(const char *name);

/* Describes a counter as a metric. False: no row has that name. */
bool stat_metric_of(const char *name, struct stat_metric *metric);

#endif /* WEFT_LIB_STAT_ROWS_H */
