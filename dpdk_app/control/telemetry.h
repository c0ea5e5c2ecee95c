/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK telemetry commands: /weft/list and /weft/stats,<nic>.
 */
#ifndef WEFT_APP_TELEMETRY_H
#define WEFT_APP_TELEMETRY_H

#include <stdbool.h>

#include "dpdk_app/app.h"

/* Registers the commands; app must outlive them. Returns 0 or -errno. */
int telemetry_init(struct app *app) __attribute__((warn_unused_result));

/*
 * Keeps requests away while NICs are added or removed. False: one is being answered, which takes
 * the caller's thread; again later. Control thread.
 */
bool telemetry_pause(void) __attribute__((warn_unused_result));
void telemetry_resume(void);

#endif /* WEFT_APP_TELEMETRY_H */
