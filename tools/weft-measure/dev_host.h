/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of a load to the host of target device, counted by weft-irqs for one process.
 *
 * Calls tools/weft-irqs/irqs.h. Where BPF is not allowed nothing is counted, and the processor time
 * comes from getrusage(2).
 */
#ifndef WEFT_MEASURE_DEV_HOST_H
#define WEFT_MEASURE_DEV_HOST_H

#include <sys/types.h>

#include "tools/weft-irqs/irqs.h"
#include "tools/weft-measure/target.h"

struct dev_host {
	struct irqs *irqs; /* NULL: not allowed; then message says why */
	pid_t pid;         /* that is counted */
	char message[TUNE_ERROR_CHARS];
};

void dev_host_open(struct dev_host *host);

/* Counts the process from here. */
void dev_host_begin(struct dev_host *host, pid_t pid);

/* Puts the cost since dev_host_begin() into run: processor time and counts. NAN: not counted. */
void dev_host_end(struct dev_host *host, struct tune_outcome *run);

void dev_host_close(struct dev_host *host);

#endif /* WEFT_MEASURE_DEV_HOST_H */
