/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting and ending DPDK's environment. Called by main.c; calls rte_eal_init().
 */
#ifndef WEFT_APP_EAL_H
#define WEFT_APP_EAL_H

#include "dpdk_app/app.h"

/*
 * Starts the EAL with one EAL thread per core of app and bytes of memory, from hugepages
 * where enough are free, else from ordinary memory. 0 or -errno.
 */
int eal_start(struct app *app, uint64_t bytes) __attribute__((warn_unused_result));

/* Ends it and removes what it left in the file system. The process ends soon after. */
void eal_end(void);

/* CPUs that this process may run on, at most max, ascending. Returns how many. */
uint32_t eal_cpus(int *cpu, uint32_t max);

#endif /* WEFT_APP_EAL_H */
