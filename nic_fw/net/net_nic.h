/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that net/ owns: staged frames, next hops, groups.
 */
#ifndef WEFT_FW_NET_NIC_H
#define WEFT_FW_NET_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/net/ip.h"
#include "nic_fw/net/known.h"
#include "nic_fw/net/mac_filter.h"
#include "nic_fw/net/mcast.h"

struct fw_rx_frame;
struct fw_tx_frame;

struct net_nic {
	/* staged frames to send */
	struct fw_tx_frame *tx; /* FW_TX_STAGE */
	uint32_t tx_count;
	uint32_t tx_more;       /* packets of staged runs, beyond one for each frame */
	uint32_t tx_allow;      /* frames of data that may still be staged in this turn */
	uint32_t tx_cost;       /* of the frames staged since eth_tx_cost() */
	struct fw_rx_frame *rx; /* FW_BURST */
	uint32_t rx_most;       /* frames of the next burst; 0: FW_BURST */
	/* The run in hand (eth_run_rx()): packets done with, and whether its CRC32Cs are right. */
	uint32_t run_taken;
	bool run_checked;
	struct known_flow known[KNOWN_FLOWS];

	struct neigh *neigh;
	uint32_t *neigh_hash;
	uint32_t neigh_count;
	struct neigh *neigh_found; /* the last next hop that was a destination itself; NULL: none */
	/* Index + 1 of the requested entries, oldest at neigh_turn. */
	uint32_t neigh_strangers[NEIGH_STRANGERS];
	uint32_t neigh_turn;
	struct neigh_rate neigh_rates[NEIGH_RATES];
	struct fw_list neigh_due[NEIGH_WAIT_KINDS]; /* waiters that look their next hop up again */
	uint32_t neigh_changes; /* addresses learned: sessions look theirs up anew */

	uint32_t *l4_ports; /* used if the port has no table */

	struct fw_pool mac_filters;
	uint32_t mac_filter_hash[MAC_FILTER_HASH_SIZE];
	struct fw_list mcast_groups; /* in the order in which they were made */
	struct fw_pool mcast_group_pool;
	struct fw_pool mcast_members;
	uint32_t mcast_hash[MCAST_HASH_SIZE];
	struct igmp igmp;
};

#endif /* WEFT_FW_NET_NIC_H */
