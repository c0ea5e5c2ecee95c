/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals of weftd: SIGTERM and SIGINT end it. SIGHUP ends it if its terminal is gone, and
 * otherwise reopens the log. SIGUSR1 logs counters.
 */
#ifndef WEFT_APP_CONTROL_SIGNAL_H
#define WEFT_APP_CONTROL_SIGNAL_H

#include <signal.h>

#include "dpdk_app/app.h"

/* Blocks them for a signalfd; threads created later inherit the mask. Returns 0 or -errno. */
int control_signal_init(void) __attribute__((warn_unused_result));

/* Returns a non-blocking signalfd, or -errno. */
int control_signal_open(void) __attribute__((warn_unused_result));

/* Handles one signal. Returns true if weftd must end. Control thread. */
bool control_signal_take(int fd, struct app *app);

#endif /* WEFT_APP_CONTROL_SIGNAL_H */
