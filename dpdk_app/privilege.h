/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rights of weftd: the user that it runs as, and the capabilities that it gives up before the
 * first core reads a frame. docs/security.md "Rights of weftd".
 */
#ifndef WEFT_APP_PRIVILEGE_H
#define WEFT_APP_PRIVILEGE_H

#include <stdint.h>

#include "dpdk_app/app.h"

/*
 * Changes to the user of --user, and makes the run directory that user's. All capabilities stay:
 * ports are opened with them. 0, or -errno after a message. Before any thread or socket is made.
 */
int privilege_begin(const struct conf *conf) __attribute__((warn_unused_result));

/* The capabilities that the wires use while they run, a bit for each. After nic_open_all(). */
uint64_t privilege_needed(const struct app *app);

/*
 * Takes all capabilities but those of keep from every thread of this process, for good: no
 * execution of another program brings any back (no_new_privs). 0, or -errno after a message
 * when any thread is left with more. Interrupts system calls of the other threads.
 */
int privilege_drop(uint64_t keep) __attribute__((warn_unused_result));

#endif /* WEFT_APP_PRIVILEGE_H */
