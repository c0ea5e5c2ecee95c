/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service manager's watchdog: it hears from weftd as long as every core turns.
 */
#ifndef WEFT_APP_WATCHDOG_H
#define WEFT_APP_WATCHDOG_H

#include <stdint.h>

#include "dpdk_app/app.h"

struct watchdog {
	uint64_t period_ns; /* between two looks; 0: nobody asked for it */
	uint64_t next_ns;
	uint64_t rounds[CONF_MAX_CORES]; /* as they were at the last look */
	int stuck;                       /* the core that was told of last; -1: none */
};

/* Reads $WATCHDOG_USEC and $WATCHDOG_PID. After the cores were started. */
void watchdog_init(struct watchdog *dog, struct app *app, uint64_t now_ns);

/* Milliseconds until the next look, -1: none. */
int watchdog_wait_ms(const struct watchdog *dog, uint64_t now_ns);

/*
 * Looks if it is time: sends WATCHDOG=1 if every core has had a turn since the last look, else
 * tells once which one has not. True: it was sent. Control thread only.
 */
bool watchdog_look(struct watchdog *dog, struct app *app, uint64_t now_ns);

#endif /* WEFT_APP_WATCHDOG_H */
