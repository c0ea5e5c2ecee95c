/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rights of weftd: the user under which it runs, and the capabilities that it drops before the
 * first core reads a frame. docs/security.md, "Rights of weftd".
 */
#ifndef WEFT_APP_PRIVILEGE_H
#define WEFT_APP_PRIVILEGE_H

#include <stdint.h>

#include "dpdk_app/app.h"

/*
 * Changes to the user of --user and makes it the owner of the run directory. All capabilities are
 * kept: opening ports needs them. Returns 0, or -errno after a message. Call it before any thread
 * or socket is created.
 */
int privilege_begin(const struct conf *conf) __attribute__((warn_unused_result));

/*
 * Returns the capabilities that the wires need at run time, one bit each. Call it after
 * nic_open_all().
 */
uint64_t privilege_needed(const struct app *app);

/*
 * Drops all capabilities except those in keep from every thread of this process, permanently:
 * executing a program does not restore them (no_new_privs). Returns 0, or -errno after a message if
 * a thread has kept more. The opener (opener.h) keeps what opening an interface takes. Interrupts
 * system calls of the other threads.
 */
int privilege_drop(uint64_t keep) __attribute__((warn_unused_result));

#endif /* WEFT_APP_PRIVILEGE_H */
