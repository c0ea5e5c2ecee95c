/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a core sleeps and wakes: descriptors, timers, and the hand-over between its runners.
 *
 * A core sleeps when its owner has published it, has looked for work once more, and has given the
 * core back (runner.h). Whoever is woken takes it. idle.c decides when.
 */
#ifndef WEFT_APP_SLEEP_H
#define WEFT_APP_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"

/*
 * Creates the descriptors of the core's runners. Control thread, before the core runs. Returns 0 or
 * -errno.
 */
int sleep_init(struct core *core) __attribute__((warn_unused_result));
void sleep_close(struct core *core);

/*
 * Lets the core sleep and gives it back, unless work or a timer within near_ns is there. Returns
 * false if the caller still has it. The owner.
 */
bool sleep_give(struct core *core, struct runner *me, uint64_t near_ns);

/*
 * Waits until a process rings for this runner and it has the core, or until the core ends. The
 * runner, which does not own the core. Returns false at the end.
 */
bool sleep_wait(struct core *core, struct runner *me);

/* Gives the core to its poller. The owner. */
void sleep_call_poller(struct core *core, struct runner *me);

/*
 * Adds or removes an eventfd whose signal wakes the core. It may be shared with another process: it
 * is never read. Any thread. Returns 0 or -errno.
 */
int sleep_watch_port(const struct core *core, int fd) __attribute__((warn_unused_result));
void sleep_unwatch_port(const struct core *core, int fd);

/* Adds or removes the client's doorbell eventfds. */
void sleep_watch_doorbell(struct core *core, struct client *client);
void sleep_unwatch_doorbell(struct core *core, struct client *client);

#endif /* WEFT_APP_SLEEP_H */
