/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules by which a device brings frames to the queue of their shard: UDP ports, the low bits of TCP
 * ports, ESP's EtherType. The device is played by the test (--wrap of rte_flow_*); one refuses.
 */
#include <rte_flow.h>
#include <string.h>

#include "dpdk_app/wire/wire.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "tests/ut.h"

enum {
	RULES = 32,
};

struct rule {
	enum rte_flow_item_type type; /* of the item with a value */
	uint16_t value, mask, queue;
};

static struct rule rule[RULES];
static uint32_t num_rules;
static enum rte_flow_item_type refused; /* END: none */

int __wrap_rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
			     const struct rte_flow_item pattern[],
			     const struct rte_flow_action actions[], struct rte_flow_error *error);
struct rte_flow *__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
					const struct rte_flow_item pattern[],
					const struct rte_flow_action actions[],
					struct rte_flow_error *error);

int __wrap_rte_flow_validate(uint16_t port, const struct rte_flow_attr *attr,
			     const struct rte_flow_item pattern[],
			     const struct rte_flow_action actions[], struct rte_flow_error *error)
{
	(void)port;
	(void)actions;
	(void)error;
	CU_ASSERT_TRUE(attr->ingress);
	for (; pattern->type != RTE_FLOW_ITEM_TYPE_END; pattern++) {
		if (pattern->spec && pattern->type == refused)
			return -ENOTSUP;
	}
	return 0;
}

struct rte_flow *__wrap_rte_flow_create(uint16_t port, const struct rte_flow_attr *attr,
					const struct rte_flow_item pattern[],
					const struct rte_flow_action actions[],
					struct rte_flow_error *error)
{
	const struct rte_flow_action_queue *to = actions->conf;
	struct rule *r = &rule[num_rules];

	(void)port;
	(void)attr;
	(void)error;
	CU_ASSERT_TRUE_FATAL(num_rules++ < RULES);
	while (!pattern->spec)
		pattern++;
	r->type = pattern->type;
	r->queue = to->index;
	if (r->type == RTE_FLOW_ITEM_TYPE_ETH) {
		const struct rte_flow_item_eth *spec = pattern->spec, *mask = pattern->mask;

		r->value = rte_be_to_cpu_16(spec->hdr.ether_type);
		r->mask = rte_be_to_cpu_16(mask->hdr.ether_type);
	} else if (r->type == RTE_FLOW_ITEM_TYPE_UDP) {
		const struct rte_flow_item_udp *spec = pattern->spec, *mask = pattern->mask;

		r->value = rte_be_to_cpu_16(spec->hdr.dst_port);
		r->mask = rte_be_to_cpu_16(mask->hdr.dst_port);
	} else {
		const struct rte_flow_item_tcp *spec = pattern->spec, *mask = pattern->mask;

		CU_ASSERT_EQUAL(r->type, RTE_FLOW_ITEM_TYPE_TCP);
		r->value = rte_be_to_cpu_16(spec->hdr.dst_port);
		r->mask = rte_be_to_cpu_16(mask->hdr.dst_port);
	}
	return (struct rte_flow *)(void *)r;
}

/* Has a device that refuses rules on one kind of item steer for a NIC; returns the rules it took.
 */
static uint32_t steer(uint32_t shards, uint32_t coll, enum rte_flow_item_type refuses)
{
	static struct nic nic;
	static struct wire wire;

	memset(&nic, 0, sizeof(nic));
	memset(&wire, 0, sizeof(wire));
	memset(rule, 0, sizeof(rule));
	strcpy(nic.name, "weft0");
	nic.num_shards = shards;
	nic.num_coll = coll;
	wire.nic = &nic;
	num_rules = 0;
	refused = refuses;
	wire_queues_steer(&wire);
	CU_ASSERT_EQUAL(wire.num_flows, num_rules);
	return num_rules;
}

static void rules_of_each_shard(void)
{
	for (uint32_t shards = 2; shards <= WIRE_DGRAM_SHARDS; shards++) {
		CU_ASSERT_EQUAL_FATAL(steer(shards, 0, RTE_FLOW_ITEM_TYPE_END), 2 * shards);
		for (uint32_t s = 0; s < shards; s++) {
			const struct rule *udp = &rule[s], *tcp = &rule[shards + s];

			CU_ASSERT_EQUAL(udp->type, RTE_FLOW_ITEM_TYPE_UDP);
			CU_ASSERT_EQUAL(udp->value, WIRE_DGRAM_PORT + s);
			CU_ASSERT_EQUAL(udp->mask, UINT16_MAX);
			CU_ASSERT_EQUAL(udp->queue, s);
			CU_ASSERT_EQUAL(tcp->type, RTE_FLOW_ITEM_TYPE_TCP);
			CU_ASSERT_EQUAL(tcp->value, s);
			CU_ASSERT_EQUAL(tcp->mask, fw_tcp_port_bits(shards));
			CU_ASSERT_EQUAL(tcp->queue, s);
		}
	}
}

static void collectives_of_one_shard(void)
{
	CU_ASSERT_EQUAL_FATAL(steer(3, 1, RTE_FLOW_ITEM_TYPE_END), 7);
	CU_ASSERT_EQUAL(rule[6].type, RTE_FLOW_ITEM_TYPE_ETH);
	CU_ASSERT_EQUAL(rule[6].value, WIRE_ETHERTYPE_ESP);
	CU_ASSERT_EQUAL(rule[6].queue, 2);
	CU_ASSERT_EQUAL(steer(3, 2, RTE_FLOW_ITEM_TYPE_END), 6);
}

static void a_device_refuses(void)
{
	/* No mask in a port of TCP: the other rules stay. */
	CU_ASSERT_EQUAL_FATAL(steer(4, 1, RTE_FLOW_ITEM_TYPE_TCP), 5);
	CU_ASSERT_EQUAL(rule[4].type, RTE_FLOW_ITEM_TYPE_ETH);
	/* No rule at all. */
	CU_ASSERT_EQUAL(steer(4, 1, RTE_FLOW_ITEM_TYPE_UDP), 0);
}

UT_MAIN("dpdk_app/wire/wire_queues", UT(rules_of_each_shard), UT(collectives_of_one_shard),
	UT(a_device_refuses))
