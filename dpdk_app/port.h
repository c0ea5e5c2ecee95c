/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of one shard's firmware: dpdk_app's implementation of fw_port.
 *
 * port_rx.c and port_tx.c move frames, port_host.c accesses processes. nic.c creates it; the
 * firmware and lcore.c call it on the shard's core.
 */
#ifndef WEFT_APP_PORT_H
#define WEFT_APP_PORT_H

#include <stdbool.h>

#include "dpdk_app/app.h"

/* Fills the table for a shard whose rings, pool and wire exist. Returns 0 or -errno. */
int port_init(struct shard *shard, struct fw_port *port) __attribute__((warn_unused_result));

/* port_rx.c */
uint32_t port_rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n);
void port_rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n);
void port_rx_release(void *ctx, void *cookie);
bool port_rx_copy(void *ctx, const struct fw_rx_frame *frame, struct fw_rx_frame *copy);
void port_place(void *ctx, void *dst, const struct fw_rx_seg *seg, uint32_t num_seg);

/* port_tx.c */
uint32_t port_tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n);
void port_tx_settle(void *ctx);
void port_tx_settle_mem(void *ctx, const void *mem, size_t bytes);
uint32_t port_tx_run(void *ctx, const uint8_t *mac);
/* The link has come up or gone: takes the speed of its line. */
void port_line(struct shard *shard);
/* Room on the line of a card. */
uint32_t port_tx_room(void *ctx);
/* Offers the backlog to the wire again. Returns the number of frames sent. */
uint32_t port_tx_flush(struct shard *shard);

/* port_host.c */
int port_host_read(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes);

/*
 * Distributes frames for one NIC to the lanes of its shards, as fw_steer() decides; frames for all
 * shards get additional references. Returns how many of the first frames were accepted; the rest
 * met a full lane. On the core of the shard that sends or has received them.
 */
uint32_t port_steer(struct nic *nic, struct shard *from, bool loop, struct rte_mbuf **frames,
		    uint32_t n);

/* Returns true if this core polls all shards of the NIC. */
bool port_is_near(const struct nic *nic, const struct core *core);

#endif /* WEFT_APP_PORT_H */
