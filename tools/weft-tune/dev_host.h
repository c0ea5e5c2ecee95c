/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a load costs the host of target device: weft-irqs around one process.
 *
 * Called by target_device.c; calls tools/weft-irqs/irqs.h. Where BPF is not allowed nothing is
 * counted, and the kernel's account of the process (getrusage(2)) has to do.
 */
#ifndef WEFT_TUNE_DEV_HOST_H
#define WEFT_TUNE_DEV_HOST_H

#include <sys/types.h>

#include "tools/weft-irqs/irqs.h"
#include "tools/weft-tune/target.h"

struct dev_host {
	struct irqs *irqs; /* NULL: not allowed; then message says why */
	pid_t pid;         /* that is counted */
	char message[TUNE_ERROR_CHARS];
};

void dev_host_open(struct dev_host *host);

/* Counts the process from here. */
void dev_host_begin(struct dev_host *host, pid_t pid);

/* What it cost since dev_host_begin() goes into run: its processor time, and what NAN there means
 * not counted. */
void dev_host_end(struct dev_host *host, struct tune_outcome *run);

void dev_host_close(struct dev_host *host);

#endif /* WEFT_TUNE_DEV_HOST_H */
