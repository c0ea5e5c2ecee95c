/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle policy of a core: spin, yield, sleep; and how long a runner goes on.
 *
 * lcore.c calls it once per turn, always as the owner of the core (runner.h).
 */
#ifndef WEFT_APP_IDLE_H
#define WEFT_APP_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"

/* Ends a turn of the poller with this amount of work: continues, spins, yields or sleeps. */
void idle_turn(struct core *core, uint32_t work);

/* Ends a turn of another runner. Returns false if it has given the core back. */
bool idle_runner(struct core *core, struct runner *runner, uint32_t work)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_IDLE_H */
