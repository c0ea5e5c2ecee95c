/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All cores stand still between two turns, while the control thread changes tables that they read
 * without locks: slots of NICs, shards of cores, members of the switch.
 */
#ifndef WEFT_APP_PARK_H
#define WEFT_APP_PARK_H

#include "dpdk_app/app.h"

/*
 * Calls change(arg) while no core is within a turn. Frames and requests wait meanwhile, so change
 * neither sleeps nor makes what can be made before. Control thread.
 */
void park_run(struct app *app, void (*change)(void *arg), void *arg);

#endif /* WEFT_APP_PARK_H */
