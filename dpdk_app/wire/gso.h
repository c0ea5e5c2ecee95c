/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of TCP segments, and of datagrams of RD, passed to the kernel as one frame (generic
 * segmentation offload), as the kernel's own TCP does. The stack, and the receiver if it is on this
 * machine, then process about 30 segments at once. It uses a packet socket beside the AF_XDP
 * sockets, or the rings of DPDK's AF_PACKET, which do not support such frames.
 *
 * Calls gso_run.c and the kernel. Documentation/networking/segmentation-offloads.rst of Linux.
 */
#ifndef WEFT_APP_GSO_H
#define WEFT_APP_GSO_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/wire/gso_run.h"

struct gso;

/*
 * Opens the socket of an interface. direct: frames go to its driver at once, past queueing
 * discipline and taps, as long as it takes them whole. NULL with errno on failure.
 */
struct gso *gso_open(int ifindex, bool direct);
void gso_close(struct gso *gso);

/* A run that may still grow (wire_runs.c). */
struct gso_held {
	struct rte_mbuf *frames[GSO_RUN_MAX];
	uint32_t num;
	uint32_t turns; /* turns of the core since its last change */
};
struct gso_held *gso_held(struct gso *gso);

/* Returns the flow table for gso_run(). */
struct gso_flows *gso_flows(struct gso *gso);
/*
 * Sends a run that gso_run() found, and frees its frames. Returns false if the kernel has no room;
 * the caller keeps the frames. On the owner's core.
 */
bool gso_tx(struct gso *gso, struct rte_mbuf **frames, uint32_t n);
/*
 * The same for a run that the firmware made, in one borrowed frame (borrow.h). Returns false also
 * if its flow goes singly.
 */
bool gso_tx_whole(struct gso *gso, struct rte_mbuf *run);

struct gso_stats {
	uint64_t runs;
	uint64_t frames;  /* frames in runs */
	uint64_t refused; /* runs for which the kernel had no room */
};
const struct gso_stats *gso_stats(const struct gso *gso);

#endif /* WEFT_APP_GSO_H */
