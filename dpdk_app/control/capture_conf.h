/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures that the configuration asks for. For change.c and main.c; control thread.
 */
#ifndef WEFT_APP_CAPTURE_CONF_H
#define WEFT_APP_CAPTURE_CONF_H

#include "dpdk_app/app.h"
#include "dpdk_app/control/change_apply.h"

/*
 * Ends captures whose line is gone or differs, starts those that are new, reports each. A line that
 * stays is left alone, also when its file is full. Lines that began are in app->conf. Returns 0, or
 * the errno of the last one that could not begin.
 */
int capture_conf_apply(struct app *app, const struct conf *conf, struct change_report *report);

/* Starts the captures of app->conf, once the cores run. Logs those that cannot begin. */
void capture_conf_begin(struct app *app);

/* A NIC is about to go: its line is not in force any more. */
void capture_conf_forget(const struct nic *nic);

#endif /* WEFT_APP_CAPTURE_CONF_H */
