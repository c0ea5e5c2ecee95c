/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service manager's watchdog: weftd notifies it as long as every core makes turns.
 */
#ifndef WEFT_APP_WATCHDOG_H
#define WEFT_APP_WATCHDOG_H

#include <stdint.h>

#include "dpdk_app/app.h"

struct watchdog {
	uint64_t period_ns; /* interval between two checks; 0: disabled */
	uint64_t next_ns;
	uint64_t rounds[CONF_MAX_CORES]; /* values at the last check */
	int stuck;                       /* the core that was reported last; -1: none */
};

/* Reads $WATCHDOG_USEC and $WATCHDOG_PID. Call it after the cores were started. */
void watchdog_init(struct watchdog *dog, struct app *app, uint64_t now_ns);

/* Returns the milliseconds until the next check; -1: none. */
int watchdog_wait_ms(const struct watchdog *dog, uint64_t now_ns);

/*
 * Checks if it is time: sends WATCHDOG=1 if every core has made a turn since the last check,
 * otherwise reports once which one has not. Returns true if it was sent. Control thread only.
 */
bool watchdog_look(struct watchdog *dog, struct app *app, uint64_t now_ns);

#endif /* WEFT_APP_WATCHDOG_H */
