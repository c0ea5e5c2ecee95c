/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames to a kernel interface that copies them: runs of TCP segments and of datagrams through the
 * packet socket (gso.h), all others through AF_XDP (xsk.h) or DPDK's AF_PACKET, in order.
 *
 * If the last run of a full burst could grow, or one of datagrams of which more will follow, it is
 * held back until the next burst continues it, for at most one turn of the core. The kernel, and a
 * receiver that must be woken, need the same time for a run of any length.
 *
 * A run that the firmware made (borrow.h) goes as it is, behind what is held. Where its flow goes
 * singly, or the kernel has no room, it is cut.
 *
 * Runs on the owner's core.
 */
#ifndef WEFT_APP_WIRE_RUNS_H
#define WEFT_APP_WIRE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct wire;

/* As wire_ops.tx, for a wire with gso. */
uint32_t wire_runs_tx(struct wire *wire, struct rte_mbuf **frames, uint32_t n);
/*
 * Sends a run that was held for a turn; called once per turn. Returns the number of frames sent, 1
 * for a run that is still held; 0: there is nothing to do.
 */
uint32_t wire_runs_pump(struct wire *wire);
/* The link is down: drops the held run. Returns the number of frames. */
uint32_t wire_runs_drop(struct wire *wire);
/* Returns true if a run is held: the core must not sleep. */
bool wire_runs_held(const struct wire *wire);

#endif /* WEFT_APP_WIRE_RUNS_H */
