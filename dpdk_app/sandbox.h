/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System call filters (seccomp): one for the whole process, so that no thread of weftd starts
 * programs, inspects other processes or changes the machine; and a narrow one for the cores, which
 * parse input of strangers. docs/security.md, "Rights of weftd".
 */
#ifndef WEFT_APP_SANDBOX_H
#define WEFT_APP_SANDBOX_H

#include <stdint.h>

#include "dpdk_app/app.h"

/*
 * Installs the filter of the process for all existing and future threads. Call it after
 * privilege_drop(), with no_new_privs set. opens: programs for interfaces may be loaded later, by a
 * thread that has the rights. A forbidden call ends weftd with a line that names it. Returns 0 or
 * -errno.
 */
int sandbox_process(bool opens) __attribute__((warn_unused_result));

/*
 * Installs the filter of the process that compiles users' operations (native_compiler.c): memory,
 * also executable, its socket, its end. Call it with no_new_privs set.
 */
int sandbox_compiler(void) __attribute__((warn_unused_result));

/* The same for the process that loads firmware (firmware_loader.c): it also reads files. */
int sandbox_loader(void) __attribute__((warn_unused_result));

/* Installs a core's filter for the calling thread. Returns 0 or -errno. */
int sandbox_core(const struct core *core) __attribute__((warn_unused_result));

#endif /* WEFT_APP_SANDBOX_H */
