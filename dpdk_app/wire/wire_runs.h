/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames to an interface of the kernel that copies them: runs of TCP segments by the packet socket
 * (gso.h), all others by AF_XDP (xsk.h), in order.
 *
 * The last run of a full burst, where it could be longer, is held back until the next burst has
 * gone on with it, at most for one turn of the core: the kernel, and a receiver who has to be
 * woken, take the same time for a run whatever its length.
 *
 * Called by wire_ethdev.c on the owner's core.
 */
#ifndef WEFT_APP_WIRE_RUNS_H
#define WEFT_APP_WIRE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct wire;

/* As wire_ops.tx, of a wire with gso. */
uint32_t wire_runs_tx(struct wire *wire, struct rte_mbuf **frames, uint32_t n);
/* Once a turn: what is held does not wait longer. Returns how many frames went. */
uint32_t wire_runs_pump(struct wire *wire);
/* The link is down: what is held is lost. Returns how many frames. */
uint32_t wire_runs_drop(struct wire *wire);
/* Whether something is held: the core may not sleep. */
bool wire_runs_held(const struct wire *wire);

#endif /* WEFT_APP_WIRE_RUNS_H */
