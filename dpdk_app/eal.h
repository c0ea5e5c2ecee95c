/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Initialises and cleans up DPDK's environment. Calls rte_eal_init().
 */
#ifndef WEFT_APP_EAL_H
#define WEFT_APP_EAL_H

#include "dpdk_app/app.h"

/*
 * Starts the EAL with one EAL thread per core of app and the given memory, from hugepages if enough
 * are free, otherwise from ordinary memory, with address space for spare_bytes more. Returns 0 or
 * -errno.
 */
int eal_start(struct app *app, uint64_t bytes, uint64_t spare_bytes)
    __attribute__((warn_unused_result));

/* Cleans up and removes its files. The process must exit soon afterwards. */
void eal_end(void);

/* Stores the CPUs on which this process may run, at most max, ascending; returns their number. */
uint32_t eal_cpus(int *cpu, uint32_t max);

#endif /* WEFT_APP_EAL_H */
