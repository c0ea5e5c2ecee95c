/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: one event loop for signals, sockets, processes, answers of the cores
 * and the links of the kernel's interfaces. Called by main.c.
 */
#ifndef WEFT_APP_CONTROL_H
#define WEFT_APP_CONTROL_H

#include "dpdk_app/app.h"

/* Blocks the signals that end weftd and makes app->control_fd. Before any thread is made. */
int control_init(struct app *app) __attribute__((warn_unused_result));

/* Serves until SIGTERM or SIGINT. 0, or -errno when the loop itself failed. */
int control_run(struct app *app);

/*
 * Ends all firmware: every client gets a fatal event, the cores leave their loops. Returns
 * when all cores have answered.
 */
void control_stop_cores(struct app *app);

/* Frees what the cores answered last and what they did not come to. After they have ended. */
void control_drop_messages(struct app *app);

#endif /* WEFT_APP_CONTROL_H */
