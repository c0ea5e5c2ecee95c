/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that may open interfaces while weftd runs (--port-rights keep).
 */
#ifndef WEFT_APP_OPENER_H
#define WEFT_APP_OPENER_H

#include <sys/types.h>

/*
 * Starts the thread, which keeps the rights of its creator. Returns 0 or -errno. Control thread,
 * before privilege_drop(), which leaves it those that opening takes.
 */
int opener_start(void) __attribute__((warn_unused_result));

/* Returns its thread id; 0: it was not started. */
pid_t opener_tid(void);

/* Runs fn(arg) on that thread, or on the caller's without it; returns its result. Control thread.
 */
int opener_run(int (*fn)(void *arg), void *arg) __attribute__((warn_unused_result));

#endif /* WEFT_APP_OPENER_H */
