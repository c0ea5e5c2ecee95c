/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals that weftd takes: SIGTERM and SIGINT end it, SIGHUP ends it where its terminal is gone
 * and opens the log again elsewhere, SIGUSR1 logs counters.
 */
#ifndef WEFT_APP_CONTROL_SIGNAL_H
#define WEFT_APP_CONTROL_SIGNAL_H

#include <signal.h>

#include "dpdk_app/app.h"

/* Blocks them, so that a signalfd gets them and every thread made later keeps them blocked. 0 or
 * -errno. */
int control_signal_init(void) __attribute__((warn_unused_result));

/* A signalfd that does not block, or -errno. */
int control_signal_open(void) __attribute__((warn_unused_result));

/* Takes one signal from it. True: weftd is to end. Control thread. */
bool control_signal_take(int fd, struct app *app);

#endif /* WEFT_APP_CONTROL_SIGNAL_H */
