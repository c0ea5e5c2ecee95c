/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to irqs.c and irqs_read.c.
 */
#ifndef WEFT_IRQS_IRQS_PRIVATE_H
#define WEFT_IRQS_IRQS_PRIVATE_H

#include <bpf/libbpf.h>

#include "tools/weft-irqs/irqs.h"
#include "weft_irqs.skel.h"

enum {
	IRQS_OPTIONAL = 5, /* tracepoints that a kernel may lack */
};

struct irqs {
	struct irqs_options options; /* the caller keeps its arrays for the session */
	char *message;
	size_t message_bytes;
	struct weft_irqs *skel;
	int num_cpus; /* possible ones: number of values in a map per processor */
	bool started;
	struct irqs_report *base; /* at irqs_start() */
	const char *missing[IRQS_OPTIONAL];
	uint32_t num_missing;
};

/* Writes the message; returns rc. */
int irqs_fail(struct irqs *irqs, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes every processor account the time of its current process. */
int irqs_flush(struct irqs *irqs) __attribute__((warn_unused_result));

/* Reads the maps, after irqs_flush(). */
int irqs_snapshot(struct irqs *irqs, struct irqs_report **out) __attribute__((warn_unused_result));

#endif /* WEFT_IRQS_IRQS_PRIVATE_H */
