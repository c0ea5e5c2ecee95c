/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAC filter of a NIC: what its shards want, for its wire.
 *
 * Called by nic.c, by the firmware (fw_port.mac_filter), and by the wires.
 */
#ifndef WEFT_APP_MAC_FILTER_H
#define WEFT_APP_MAC_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"

/* Makes nic->macs. 0 or -errno. */
int mac_filter_init(struct nic *nic) __attribute__((warn_unused_result));
void mac_filter_free(struct nic *nic);

/* fw_port.mac_filter; ctx is the shard. Any core; may tell the wire. */
uint32_t mac_filter_set(void *ctx, const uint8_t mac[6], uint32_t ip, bool in);

/* False: no shard of the NIC wants frames to this group MAC. Any core, without a lock. */
bool mac_filter_passes(const struct nic *nic, const uint8_t mac[6]);

/* The MACs that are wanted, each once, up to max. How many. */
uint32_t mac_filter_list(struct nic *nic, uint8_t (*macs)[6], uint32_t max);

#endif /* WEFT_APP_MAC_FILTER_H */
