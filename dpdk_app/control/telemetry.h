/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK telemetry commands: /weft/list and /weft/stats,<nic>.
 */
#ifndef WEFT_APP_TELEMETRY_H
#define WEFT_APP_TELEMETRY_H

#include "dpdk_app/app.h"

/* Registers the commands; app must outlive them. Returns 0 or -errno. */
int telemetry_init(struct app *app) __attribute__((warn_unused_result));

#endif /* WEFT_APP_TELEMETRY_H */
