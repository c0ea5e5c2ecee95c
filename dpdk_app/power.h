/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a core that polls waits between two turns without work, where the processor can wait with
 * less power than in a loop (x86: WAITPKG).
 *
 * idle.c calls it. A wait is shorter than the end of a sleep takes, so it needs no wake-up: a
 * doorbell is seen when it ends.
 */
#ifndef WEFT_APP_POWER_H
#define WEFT_APP_POWER_H

#include <stdint.h>

#include "dpdk_app/app.h"

enum {
	POWER_AFTER_NS = 20000, /* without work; round trips of programs that poll are shorter */
	POWER_WAIT_NS = 1000,
};

/* Finds out whether the processor can. Before the core runs. */
void power_init(struct core *core);

/* Waits for POWER_WAIT_NS at most; not at all where there has just been work. */
void power_wait(struct core *core);

#endif /* WEFT_APP_POWER_H */
