/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle policy of a core: spin, yield, sleep.
 *
 * lcore.c calls it once per turn, msg.c when processes attach and detach; always on the core
 * itself.
 */
#ifndef WEFT_APP_IDLE_H
#define WEFT_APP_IDLE_H

#include <stdint.h>

#include "dpdk_app/app.h"

/*
 * Creates the descriptors for sleeping. Control thread, before the core runs. Returns 0 or -errno.
 */
int idle_init(struct core *core) __attribute__((warn_unused_result));
void idle_close(struct core *core);

/* Ends a turn with this amount of work: continues, spins, yields or sleeps. */
void idle_turn(struct core *core, uint32_t work);

/*
 * Adds or removes an eventfd whose signal wakes the core. It may be shared with another process: it
 * is never read. Any thread. Returns 0 or -errno.
 */
int idle_watch_port(const struct core *core, int fd) __attribute__((warn_unused_result));
void idle_unwatch_port(const struct core *core, int fd);

/* Adds or removes the client's doorbell eventfd. */
void idle_watch_doorbell(struct core *core, struct client *client);
void idle_unwatch_doorbell(struct core *core, struct client *client);

#endif /* WEFT_APP_IDLE_H */
