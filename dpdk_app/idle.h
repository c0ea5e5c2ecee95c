/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a core does when there is nothing to do: spin, yield, sleep (design section 6).
 *
 * Called by lcore.c once per turn, and by msg.c when processes come and go; always on the
 * core itself.
 */
#ifndef WEFT_APP_IDLE_H
#define WEFT_APP_IDLE_H

#include <stdint.h>

#include "dpdk_app/app.h"

/* Makes the descriptors to sleep on. Control thread, before the core runs. 0 or -errno. */
int idle_init(struct core *core) __attribute__((warn_unused_result));
void idle_close(struct core *core);

/* A turn is over that did so much work: goes on at once, spins, yields or sleeps. */
void idle_turn(struct core *core, uint32_t work);

/*
 * A signal of this eventfd wakes the core, or no longer does. It may be shared with another
 * process: it is never read. Any thread. 0 or -errno.
 */
int idle_watch_port(const struct core *core, int fd) __attribute__((warn_unused_result));
void idle_unwatch_port(const struct core *core, int fd);

/* The client's doorbell eventfd wakes this core, or no longer does. */
void idle_watch_doorbell(struct core *core, struct client *client);
void idle_unwatch_doorbell(struct core *core, struct client *client);

#endif /* WEFT_APP_IDLE_H */
