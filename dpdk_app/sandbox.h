/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filters of system calls (seccomp): one for the whole process, that no thread of weftd starts
 * programs, looks into other processes or changes the machine; and a narrow one for the cores,
 * which read what strangers send. docs/security.md "Rights of weftd".
 */
#ifndef WEFT_APP_SANDBOX_H
#define WEFT_APP_SANDBOX_H

#include <stdint.h>

#include "dpdk_app/app.h"

/*
 * The filter of the process: every thread has it, and those that come. After privilege_drop(), with
 * no_new_privs set. A forbidden call ends weftd with a line that names it. 0 or -errno.
 */
int sandbox_process(void) __attribute__((warn_unused_result));

/* The filter of the calling thread, which is that core's. 0 or -errno. */
int sandbox_core(const struct core *core) __attribute__((warn_unused_result));

#endif /* WEFT_APP_SANDBOX_H */
