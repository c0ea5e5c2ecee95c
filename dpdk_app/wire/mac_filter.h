/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAC filter of a NIC: combines its shards' groups for its wire (fw_port.mac_filter).
 */
#ifndef WEFT_APP_MAC_FILTER_H
#define WEFT_APP_MAC_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"

/* Creates nic->macs. Returns 0 or -errno. */
int mac_filter_init(struct nic *nic) __attribute__((warn_unused_result));
void mac_filter_free(struct nic *nic);

/* Implements fw_port.mac_filter; ctx is the shard. Any core; may notify the wire. */
uint32_t mac_filter_set(void *ctx, const uint8_t mac[6], uint32_t ip, bool in);

/* Returns false if no shard of the NIC receives this group MAC. Any core, without a lock. */
bool mac_filter_passes(const struct nic *nic, const uint8_t mac[6]);

/* Stores the received MACs, each once, up to max; returns their number. */
uint32_t mac_filter_list(struct nic *nic, uint8_t (*macs)[6], uint32_t max);

#endif /* WEFT_APP_MAC_FILTER_H */
