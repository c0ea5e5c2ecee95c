/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A card's NIC on a VLAN: its frames carry that tag on the wire, and none in weftd.
 *
 * The card inserts, takes off and filters tags where it offers that, else the core does. card.c
 * and wire_ethdev.c call it. IEEE 802.1Q-2018, 9.6.
 */
#ifndef WEFT_APP_VLAN_H
#define WEFT_APP_VLAN_H

#include <stdint.h>

struct rte_eth_conf;
struct rte_eth_dev_info;
struct rte_mbuf;
struct wire;

/* Asks for what the card offers, before it is configured. */
void vlan_request(struct wire *wire, const struct rte_eth_dev_info *info, struct rte_eth_conf *eth);

/* Has a card that filters let the VLAN in, once it was started. Returns 0 or -errno. */
int vlan_let_in(const struct wire *wire) __attribute__((warn_unused_result));

/*
 * Received frames of the card: keeps those of the VLAN, without their tags, in order, and frees the
 * others, whose number it adds to *others. Returns the number of those kept.
 */
uint32_t vlan_in(const struct wire *wire, struct rte_mbuf **frames, uint32_t n, uint64_t *others);

/*
 * Frames that are to be sent on this queue: gives each the tag, also if it was called for them
 * before. A frame that has another reference is replaced by a copy. Returns the number of the first
 * ones that may be sent: less than n if there is no buffer for a copy.
 */
uint32_t vlan_out(const struct wire *wire, uint16_t queue, struct rte_mbuf **frames, uint32_t n);

#endif /* WEFT_APP_VLAN_H */
