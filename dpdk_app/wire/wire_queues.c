/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of a port for each shard of its NIC, and how frames find them.
 *
 * Shard s sends on queue s and receives from it, so that shards share neither a queue nor the core
 * that polls it. The device steers: by rules (rte_flow) on the UDP port, which names the shard, on
 * the low bits of the TCP port, which are the shard's number in ports that a shard draws, and on
 * ESP's EtherType where one shard has all collectives; everything else by RSS, or as the device
 * likes. Ports that programs choose come and go on the cores, where no rule can be made without
 * waiting for the device. A core passes on the frames that it receives for another shard
 * (wire_ethdev.c), so that no rule is needed for correctness.
 *
 * Calls rte_ethdev and rte_flow.
 */
#include "dpdk_app/wire/wire.h"

#include <rte_ethdev.h>
#include <rte_flow.h>
#include <string.h>

#include "dpdk_app/log.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"

enum {
	QUEUES_RULE_ITEMS = 4,
};

void wire_queues_plan(struct wire *wire, const struct rte_eth_dev_info *info,
		      struct rte_eth_conf *eth)
{
	const struct nic *nic = wire->nic;
	uint64_t rss =
	    info->flow_type_rss_offloads &
	    (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP);

	if (nic->num_shards == 1)
		return;
	if (info->max_rx_queues < nic->num_shards || info->max_tx_queues < nic->num_shards) {
		log_nic_verbose(nic->name,
				"the port has %u queues to receive and %u to send, %u shards share "
				"one of each",
				info->max_rx_queues, info->max_tx_queues, nic->num_shards);
		return;
	}
	wire->queue_each = true;
	wire->num_rx_queues = wire->num_tx_queues = (uint16_t)nic->num_shards;
	if (!rss)
		return;
	eth->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	eth->rx_adv_conf.rss_conf.rss_hf = rss;
}

/* Frames that match the pattern come to a queue. Returns false, with the reason in the log. */
static bool queues_rule(struct wire *wire, const struct rte_flow_item *pattern, uint16_t queue)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action_queue to = {.index = queue};
	const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
						  {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error error = {0};

	if (!rte_flow_validate(wire->port, &attr, pattern, actions, &error) &&
	    rte_flow_create(wire->port, &attr, pattern, actions, &error)) {
		wire->num_flows++;
		return true;
	}
	log_nic_verbose(wire->nic->name, "the device takes no rule for queue %u: %s", queue,
			error.message ? error.message : "no reason given");
	return false;
}

static bool queues_rule_udp(struct wire *wire, uint16_t port, uint16_t queue)
{
	const struct rte_flow_item_udp udp = {.hdr.dst_port = rte_cpu_to_be_16(port)};
	const struct rte_flow_item_udp mask = {.hdr.dst_port = UINT16_MAX};
	const struct rte_flow_item pattern[QUEUES_RULE_ITEMS] = {
	    {.type = RTE_FLOW_ITEM_TYPE_ETH},
	    {.type = RTE_FLOW_ITEM_TYPE_IPV4},
	    {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &mask},
	    {.type = RTE_FLOW_ITEM_TYPE_END},
	};

	return queues_rule(wire, pattern, queue);
}

/* For all ports whose bits of the mask are the queue's number. */
static bool queues_rule_tcp(struct wire *wire, uint16_t bits, uint16_t queue)
{
	const struct rte_flow_item_tcp tcp = {.hdr.dst_port = rte_cpu_to_be_16(queue)};
	const struct rte_flow_item_tcp mask = {.hdr.dst_port = rte_cpu_to_be_16(bits)};
	const struct rte_flow_item pattern[QUEUES_RULE_ITEMS] = {
	    {.type = RTE_FLOW_ITEM_TYPE_ETH},
	    {.type = RTE_FLOW_ITEM_TYPE_IPV4},
	    {.type = RTE_FLOW_ITEM_TYPE_TCP, .spec = &tcp, .mask = &mask},
	    {.type = RTE_FLOW_ITEM_TYPE_END},
	};

	return queues_rule(wire, pattern, queue);
}

static bool queues_rule_type(struct wire *wire, uint16_t type, uint16_t queue)
{
	const struct rte_flow_item_eth eth = {.hdr.ether_type = rte_cpu_to_be_16(type)};
	const struct rte_flow_item_eth mask = {.hdr.ether_type = UINT16_MAX};
	const struct rte_flow_item pattern[QUEUES_RULE_ITEMS] = {
	    {.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &eth, .mask = &mask},
	    {.type = RTE_FLOW_ITEM_TYPE_END},
	};

	return queues_rule(wire, pattern, queue);
}

void wire_queues_steer(struct wire *wire)
{
	const struct nic *nic = wire->nic;
	bool all = true, bits = true;

	for (uint32_t s = 0; all && s < nic->num_shards; s++)
		all = queues_rule_udp(wire, (uint16_t)(WIRE_DGRAM_PORT + s), (uint16_t)s);
	/* Some devices compare whole ports alone. */
	for (uint32_t s = 0; all && bits && s < nic->num_shards; s++)
		bits = queues_rule_tcp(wire, fw_tcp_port_bits(nic->num_shards), (uint16_t)s);
	if (all && nic->num_coll == 1)
		(void)queues_rule_type(wire, WIRE_ETHERTYPE_ESP, (uint16_t)(nic->num_shards - 1));
	log_nic_verbose(nic->name, "a queue for each of %u shards, %u rules steer frames to them",
			nic->num_shards, wire->num_flows);
}
