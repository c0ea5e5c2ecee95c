/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAC filter: which group addresses of Ethernet an instance takes frames for.
 *
 * Users are the IPv4 groups (mcast.c) and groups of raw Ethernet. An entry is a MAC and the
 * IPv4 group behind it, 0 for raw Ethernet: 32 IPv4 groups share a MAC (RFC 1112 6.4), and ports
 * that can filter by address want to know which. Entries count their users; the port hears of the
 * first and the last (fw_port.mac_filter), eth_rx.c asks for each frame.
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
	uint32_t ip; /* network byte order; 0: not of IPv4 */
	uint32_t users;
	uint32_t hash_next; /* index + 1 */
};

/* One more user of a group MAC (its lowest bit of the first byte set). 0 or FW_ENOSPC. */
int mac_filter_add(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip);
/*
 * One user less of what was added. Returns how many other instances of the NIC have users of
 * it: 0 means that nobody on this NIC does, if the entry had its last user here.
 */
uint32_t mac_filter_del(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip);
/* As mac_filter_del() returned, but now; for entries that have no user here. */
uint32_t mac_filter_others(struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES], uint32_t ip);
/* Whether frames to this group MAC are wanted. */
bool mac_filter_has(const struct fw_nic *nic, const uint8_t mac[WIRE_MAC_BYTES]);

#endif /* WEFT_FW_MAC_FILTER_H */
