/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: one event loop for signals, sockets, processes, answers of the cores and the
 * link states of kernel interfaces.
 */
#ifndef WEFT_APP_CONTROL_H
#define WEFT_APP_CONTROL_H

#include "dpdk_app/app.h"

/*
 * Blocks the signals that end weftd and creates app->control_fd. Call it before any thread is
 * created.
 */
int control_init(struct app *app) __attribute__((warn_unused_result));

/* Serves until SIGTERM or SIGINT. Returns 0, or -errno if the loop itself failed. */
int control_run(struct app *app);

/* Serves the socket and the link of a NIC that was added. Returns 0 or -errno. */
int control_add_nic(struct nic *nic) __attribute__((warn_unused_result));

/*
 * Ends all firmware: every client gets a fatal event, and the cores leave their loops. Returns when
 * all cores have answered.
 */
void control_stop_cores(struct app *app);

/*
 * Frees the cores' last answers and the messages that they did not execute. Call it after they have
 * ended.
 */
void control_drop_messages(struct app *app);

#endif /* WEFT_APP_CONTROL_H */
