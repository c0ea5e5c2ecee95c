/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about a card for the operator: see card_info.h. Calls rte_ethdev.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_eth_dev_conf_get() */

#include "dpdk_app/wire/card_info.h"

#include <rte_ethdev.h>
#include <stdio.h>

#include "dpdk_app/log.h"
#include "dpdk_app/wire/wire.h"

enum {
	CARD_INFO_DEFAULT_MBPS = 10000,
	CARD_INFO_VLAN_CHARS = 80,
	CARD_INFO_TSO_CHARS = 48,
};

uint32_t card_info_mbps(const struct rte_eth_dev_info *info)
{
	static const struct {
		uint32_t capa, mbps;
	} speeds[] = {
	    {RTE_ETH_LINK_SPEED_200G, 200000}, {RTE_ETH_LINK_SPEED_100G, 100000},
	    {RTE_ETH_LINK_SPEED_56G, 56000},   {RTE_ETH_LINK_SPEED_50G, 50000},
	    {RTE_ETH_LINK_SPEED_40G, 40000},   {RTE_ETH_LINK_SPEED_25G, 25000},
	    {RTE_ETH_LINK_SPEED_20G, 20000},   {RTE_ETH_LINK_SPEED_10G, 10000},
	    {RTE_ETH_LINK_SPEED_5G, 5000},     {RTE_ETH_LINK_SPEED_2_5G, 2500},
	    {RTE_ETH_LINK_SPEED_1G, 1000},     {RTE_ETH_LINK_SPEED_100M, 100},
	    {RTE_ETH_LINK_SPEED_10M, 10},
	};

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		if (info->speed_capa & speeds[i].capa)
			return speeds[i].mbps;
	}
	return CARD_INFO_DEFAULT_MBPS;
}

/* The VLAN, and who handles its tags; "": there is none. */
static void vlan_words(const struct wire *wire, const struct rte_eth_conf *eth, char *text)
{
	*text = '\0';
	if (!wire->vlan)
		return;
	snprintf(text, CARD_INFO_VLAN_CHARS, ", VLAN %u: tags inserted by %s, taken off by %s%s",
		 wire->vlan, wire->vlan_inserts ? "it" : "weftd",
		 eth->rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP ? "it" : "weftd",
		 eth->rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER ? ", filtered by it" : "");
}

/* How long runs of TCP segments may be that the card divides; "": it divides none. */
static void tso_words(const struct wire *wire, char *text)
{
	*text = '\0';
	if (wire->tso_frames)
		snprintf(text, CARD_INFO_TSO_CHARS, ", runs of %u TCP segments divided by it",
			 wire->tso_frames);
}

void card_info_say(const struct wire *wire, const struct rte_eth_dev_info *info, bool interrupts)
{
	struct rte_eth_conf eth = {0};
	char vlan[CARD_INFO_VLAN_CHARS], tso[CARD_INFO_TSO_CHARS];

	(void)rte_eth_dev_conf_get(wire->port, &eth);
	vlan_words(wire, &eth, vlan);
	tso_words(wire, tso);
	log_nic_info(wire->nic->name, "card %s, driver %s: TCP checksums %s and %s%s, %s%s, %s",
		     wire->nic->conf->device, info->driver_name,
		     eth.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM ? "checked by it"
									: "checked by weftd",
		     wire->tx_csum ? "made by it" : "made by weftd", tso,
		     eth.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER ? "large frames in pieces"
								      : "frames in one piece",
		     vlan,
		     interrupts ? "receive interrupts wake weftd once the first has come"
				: "no receive interrupts: an idle weftd looks every 1 to 3 ms");
}
