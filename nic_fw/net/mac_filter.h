/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAC filter: group addresses of Ethernet that an instance takes frames for.
 *
 * Users are the IPv4 groups (mcast.c) and groups of raw Ethernet. An entry is a MAC and its IPv4
 * group, 0 for raw Ethernet: 32 IPv4 groups share a MAC (RFC 1112 6.4), and ports that filter by
 * address need the group. Entries count their users. The port is notified of the first and the last
 * (fw_port.mac_filter); eth_rx.c checks each frame.
 */
#ifndef WEFT_FW_MAC_FILTER_H
#define WEFT_FW_MAC_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/wire_eth.h"

struct fw_nic;

enum {
	MAC_FILTER_MAX = 4096, /* entries of an instance */
	MAC_FILTER_HASH_SIZE = 1024,
};

struct mac_filter {
	uint8_t mac[WIRE_MAC_BYTES];
	uint32_t ip; /* network byte order; 0: not IPv4 */
	uint32_t users;
	uint32_t hash_next; /* index + 1 */
};

/* Adds a user of a group MAC (its first byte's lowest bit set). Returns 0 or FW_ENOSPC. */
int mac_filter_add(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip);
/*
 * Removes a user. Returns how many other instances of the NIC have users of the entry. 0: the NIC
 * has no user left, if the entry had its last user here.
 */
uint32_t mac_filter_del(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip);
/* As the result of mac_filter_del(), but now; for entries that have no user here. */
uint32_t mac_filter_others(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip);
/* True if frames to this group MAC are wanted. */
bool mac_filter_has(const struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES]);

#endif /* WEFT_FW_MAC_FILTER_H */
