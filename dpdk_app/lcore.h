/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The poll loop of one core, run on an EAL thread.
 */
#ifndef WEFT_APP_LCORE_H
#define WEFT_APP_LCORE_H

#include "dpdk_app/app.h"

/* Runs until MSG_QUIT. arg is a struct core. */
int lcore_main(void *arg);

/* Runs turns of the core whenever this runner is woken, until MSG_QUIT. The runner's thread. */
void lcore_runner(struct runner *runner);

/* Waits until every core has passed a quiescent point since the call. Control thread. */
void lcore_quiesce(struct app *app);

#endif /* WEFT_APP_LCORE_H */
