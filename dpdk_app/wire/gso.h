/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of TCP segments handed to the kernel as one frame (generic segmentation offload), as its
 * own TCP does: the stack, and the receiver where he is on this machine, then pay once for some 30
 * segments. A packet socket beside the AF_XDP ones, which know no such frames.
 *
 * Called by wire_netdev.c (open, close) and wire_runs.c (frames); calls gso_run.c, the kernel.
 * Documentation/networking/segmentation-offloads.rst of Linux.
 */
#ifndef WEFT_APP_GSO_H
#define WEFT_APP_GSO_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/wire/gso_run.h"

struct gso;

/* The socket of an interface. NULL: errno says why. */
struct gso *gso_open(int ifindex);
void gso_close(struct gso *gso);

/* A run that waits to become longer (wire_runs.c). */
struct gso_held {
	struct rte_mbuf *frames[GSO_RUN_MAX];
	uint32_t num;
	uint32_t turns; /* of the core, since it was touched */
};
struct gso_held *gso_held(struct gso *gso);

/* The flows that gso_run() is to know. */
struct gso_flows *gso_flows(struct gso *gso);
/*
 * Sends a run as gso_run() found it, and frees its frames. False: the kernel has no room, the
 * frames are the caller's still. On the owner's core.
 */
bool gso_tx(struct gso *gso, struct rte_mbuf **frames, uint32_t n);

struct gso_stats {
	uint64_t runs;
	uint64_t frames;  /* in them */
	uint64_t refused; /* runs that the kernel had no room for */
};
const struct gso_stats *gso_stats(const struct gso *gso);

#endif /* WEFT_APP_GSO_H */
