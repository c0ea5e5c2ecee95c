/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output of a run: tables with perftest's columns, or one JSON object.
 */
#ifndef WEFT_BENCH_REPORT_H
#define WEFT_BENCH_REPORT_H

#include <jansson.h>
#include <stddef.h>

#include "tools/weft-bench/bench.h"

/* Times of single operations, in ns. */
struct samples {
	uint32_t *ns;
	size_t count;
	size_t space;
};

/* -1 after an error message if memory is exhausted. */
int samples_add(struct samples *s, uint64_t ns);
void samples_free(struct samples *s);

/* Counts at the receiver. */
struct flow {
	uint64_t messages; /* in the measured seconds */
	uint64_t bytes;    /* likewise */
	double seconds;
	uint64_t received; /* in all, warm-up included */
	uint64_t lost;     /* UD */
	uint64_t errors;   /* messages with a wrong byte */
};

json_t *flow_json(const struct flow *f);
/* -1 after an error message about what is missing. */
int flow_parse(const json_t *msg, struct flow *f);

/* Exchanges with their times. */
struct rounds {
	struct samples rtt;
	/*
	 * One-way times, from the doorbell to the completion at the receiver, on the NIC's clock of
	 * turns: scheduling of the two processes by the kernel is not included. None if the ends
	 * have no common clock.
	 */
	struct samples nic;
	/* lat --wakes: from the completion to the end of the poll() that it ended. */
	struct samples wake;
	uint64_t errors; /* messages with a wrong byte */
	uint64_t resent; /* UD: messages sent again after a loss */
};

/* Writes them to a file, one a line. -1 after an error message. */
int samples_save(const struct samples *s, const char *path);

void report_lat(const struct opts *o, const char *device, struct rounds *r);
void rounds_free(struct rounds *r);
void report_flow(const struct opts *o, const char *device, const struct flow *f);

/* Prints an object in one line and drops it. */
void report_json(json_t *object);

/* The same of the fields of every report and of more, which it drops. */
void report_more(const struct opts *o, const char *device, json_t *more);

/* The fields of every report. */
json_t *report_base(const struct opts *o, const char *device);

#endif /* WEFT_BENCH_REPORT_H */
