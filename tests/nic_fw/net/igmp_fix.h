/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of IGMP, included by igmp*_ut.c: groups that come and go, time that passes,
 * reports that were sent. A test that includes it includes tests/bench/stubs/net.h itself.
 */
#ifndef WEFT_TESTS_IGMP_FIX_H
#define WEFT_TESTS_IGMP_FIX_H

#include "tests/bench/stubs/net.h"

#include "tests/golden.h"
#include "tests/steps.h"

enum {
	MS = 1000000,
	OPTION = 4,
};

static uint64_t random_value;

static inline uint64_t chosen_random(void *ctx)
{
	(void)ctx;
	return random_value;
}

static inline void begin(void)
{
	net_init(0);
	net.nic->port.random64 = chosen_random;
	random_value = 0;
	igmp_init(net.nic);
}

/* Runs so many ms, with a poll every now and then, as a core does. */
static inline void pass(uint32_t ms)
{
	uint32_t i;

	for (i = 0; i < ms; i += 5)
		net_advance(5 * (uint64_t)MS);
}

static inline struct mcast_group *join(uint32_t ip)
{
	struct mcast_group *group = mcast_find(net.nic, ip);
	uint8_t mac[6];

	wire_group_mac(ip, mac);
	CU_ASSERT_EQUAL_FATAL(mac_filter_add(net.nic, mac, ip), 0);
	if (!group) {
		uint32_t *head =
		    &net.nic->net
			 .mcast_hash[fw_hash_keyed(&net.nic->hash_key, ip, 0, 0) % MCAST_HASH_SIZE];

		group = fw_pool_get(&net.nic->net.mcast_group_pool);
		CU_ASSERT_PTR_NOT_NULL_FATAL(group);
		memset(group, 0, sizeof(*group));
		group->ip = ip;
		group->hash_next = *head;
		*head = fw_pool_index(&net.nic->net.mcast_group_pool, group) + 1;
		fw_list_init(&group->members);
		fw_list_add_tail(&net.nic->net.mcast_groups, &group->node);
	}
	group->num_members = 1;
	igmp_changed(net.nic, group);
	return group;
}

static inline void leave(struct mcast_group *group)
{
	uint8_t mac[6];

	wire_group_mac(group->ip, mac);
	group->num_members = 0;
	(void)mac_filter_del(net.nic, mac, group->ip);
	igmp_changed(net.nic, group);
}

/* The IGMP message of a sent frame; checks the fields that all have in common. */
static const uint8_t *sent(uint32_t i, uint32_t dst, uint32_t *bytes)
{
	const struct frame *f = &net.sent[i];
	const struct wire_eth *eth = (const struct wire_eth *)f->b;
	const struct wire_ip *ip = (const struct wire_ip *)(f->b + sizeof(*eth));
	const uint8_t *message = f->b + sizeof(*eth) + sizeof(*ip) + OPTION;
	uint8_t mac[6];

	CU_ASSERT_FATAL(i < net.num_sent);
	wire_group_mac(dst, mac);
	CU_ASSERT_EQUAL(memcmp(eth->dst, mac, 6), 0);
	CU_ASSERT_EQUAL(memcmp(eth->src, net_mac, 6), 0);
	CU_ASSERT_EQUAL(memcmp(&ip->dst, &dst, 4), 0);
	CU_ASSERT_EQUAL(ip->version_ihl, 0x46);
	CU_ASSERT_EQUAL(ip->ttl, 1);
	CU_ASSERT_EQUAL(ip->tos, 0xc0);
	CU_ASSERT_EQUAL(ip->proto, WIRE_IPPROTO_IGMP);
	CU_ASSERT_EQUAL(memcmp(ip + 1, ((uint8_t[]){148, 4, 0, 0}), 4), 0);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip) + OPTION)), 0);
	*bytes = be16_get(ip->total_bytes) - (uint32_t)sizeof(*ip) - OPTION;
	CU_ASSERT_EQUAL(f->n, sizeof(*eth) + be16_get(ip->total_bytes));
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, message, *bytes)), 0);
	return message;
}

/* The message of frame i equals one that was written by hand. */
static inline void expect_golden(uint32_t i, const char *name)
{
	const uint32_t at = sizeof(struct wire_eth) + sizeof(struct wire_ip) + OPTION;
	uint8_t want[64];
	size_t bytes = golden_load("igmp.hex", name, want, sizeof(want));

	CU_ASSERT_EQUAL_FATAL(net.sent[i].n, at + bytes);
	CU_ASSERT_EQUAL(memcmp(net.sent[i].b + at, want, bytes), 0);
}

/* The index-th record of the report that was sent as frame i. */
static inline void expect_record(uint32_t i, uint32_t index, uint8_t type, uint32_t group,
				 uint32_t sources)
{
	uint32_t bytes;
	const uint8_t *message = sent(i, net_ip(224, 0, 0, 22), &bytes);
	const struct wire_igmp_report *report = (const struct wire_igmp_report *)message;
	const struct wire_igmp_record *record = (const struct wire_igmp_record *)(report + 1);

	CU_ASSERT_EQUAL(report->type, WIRE_IGMP_V3_REPORT);
	CU_ASSERT_FATAL(index < be16_get(report->num_records));
	CU_ASSERT_FATAL(bytes >= sizeof(*report) + (index + 1) * sizeof(*record));
	record += index; /* records before it have no sources in these tests */
	CU_ASSERT_EQUAL(record->type, type);
	CU_ASSERT_EQUAL(memcmp(&record->group, &group, 4), 0);
	CU_ASSERT_EQUAL(be16_get(record->num_sources), sources);
}

static inline uint32_t records_of(uint32_t i)
{
	uint32_t bytes;
	const uint8_t *message = sent(i, net_ip(224, 0, 0, 22), &bytes);

	return be16_get(((const struct wire_igmp_report *)message)->num_records);
}

#endif /* WEFT_TESTS_IGMP_FIX_H */
