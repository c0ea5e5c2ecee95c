/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet II and ARP on the wire.
 *
 * nic_fw/net (eth_rx.c, eth_tx.c, neigh.c) and the switch and capture of dpdk_app use it. Sources:
 * IEEE 802.3 clause 3, RFC 826.
 */
#ifndef WEFT_WIRE_ETH_H
#define WEFT_WIRE_ETH_H

#include "shared_defs/be.h"

enum {
	WIRE_MAC_BYTES = 6,
	WIRE_ETH_MIN_BYTES = 60, /* without the FCS; the MAC pads shorter frames */
};

enum {
	WIRE_ETHERTYPE_IPV4 = 0x0800,
	WIRE_ETHERTYPE_ARP = 0x0806,
	WIRE_ETHERTYPE_IPV6 = 0x86dd,
	WIRE_ETHERTYPE_ESP = 0x88b5, /* IEEE 802 local experimental EtherType 1 */
};

struct wire_eth {
	uint8_t dst[WIRE_MAC_BYTES];
	uint8_t src[WIRE_MAC_BYTES];
	struct be16 type;
};
static_assert(sizeof(struct wire_eth) == 14, "IEEE 802.3 clause 3.1.1");
static_assert(offsetof(struct wire_eth, src) == 6, "");
static_assert(offsetof(struct wire_eth, type) == 12, "");

enum {
	WIRE_ARP_HW_ETHERNET = 1,
	WIRE_ARP_REQUEST = 1,
	WIRE_ARP_REPLY = 2,
};

/* RFC 826, for Ethernet and IPv4. */
struct wire_arp {
	struct be16 hw_type;
	struct be16 proto_type;
	uint8_t hw_bytes;
	uint8_t proto_bytes;
	struct be16 op;
	uint8_t sender_mac[WIRE_MAC_BYTES];
	struct be32 sender_ip;
	uint8_t target_mac[WIRE_MAC_BYTES];
	struct be32 target_ip;
};
static_assert(sizeof(struct wire_arp) == 28, "RFC 826");
static_assert(offsetof(struct wire_arp, op) == 6, "");
static_assert(offsetof(struct wire_arp, sender_mac) == 8, "");
static_assert(offsetof(struct wire_arp, sender_ip) == 14, "");
static_assert(offsetof(struct wire_arp, target_mac) == 18, "");
static_assert(offsetof(struct wire_arp, target_ip) == 24, "");

#endif /* WEFT_WIRE_ETH_H */
