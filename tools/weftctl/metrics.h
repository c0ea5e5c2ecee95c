/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics: samples of counters and lists, as OpenMetrics text.
 *
 * metrics.c collects samples from the NICs, metrics_text.c sorts and prints them, metrics_http.c
 * serves them. Source of the format: OpenMetrics 1.0.
 */
#ifndef WEFT_CTL_METRICS_H
#define WEFT_CTL_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/stat_rows.h"
#include "tools/weftctl/ctl.h"

enum {
	METRICS_LABELS_CHARS = 320,
	METRICS_NAME_CHARS = 80,
};

struct metrics_sample {
	char name[METRICS_NAME_CHARS]; /* of the family: without "_total" */
	enum stat_kind kind;
	const char *help;
	char labels[METRICS_LABELS_CHARS]; /* "nic=\"weft0\",shard=\"0\"", escaped */
	double value;
	size_t order;
};

struct metrics {
	struct metrics_sample *sample;
	size_t num, room;
	bool no_memory;
};

/*
 * Appends 'name="value"' with a comma where needed; the value is escaped, and cut where it does
 * not fit.
 */
void metrics_label(char labels[METRICS_LABELS_CHARS], const char *name, const char *value);

/* Adds a sample; help must stay valid. Without memory the sample is lost and no_memory is set. */
void metrics_add(struct metrics *m, const char *name, enum stat_kind kind, const char *help,
		 const char *labels, double value);

/* Moves the samples of from behind those of m. */
void metrics_take(struct metrics *m, struct metrics *from);

/* Sorts the samples by family and prints them with "# EOF". False: no memory. */
bool metrics_print(struct metrics *m, FILE *to);
void metrics_free(struct metrics *m);

/*
 * Collects the metrics of the NICs that ctl selects and returns them as text, which the caller
 * frees. NULL: no memory. *rc is CTL_FAILED if a NIC did not answer: its weft_up is 0. Safe to
 * call from any one thread at a time.
 */
char *metrics_collect(const struct ctl *ctl, int *rc);

/* Serves metrics_collect() by HTTP until SIGINT or SIGTERM. An exit code. */
int metrics_serve(const struct ctl *ctl);

#endif /* WEFT_CTL_METRICS_H */
