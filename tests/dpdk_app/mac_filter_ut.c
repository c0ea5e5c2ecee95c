/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MAC filter of a NIC: groups shared by shards, calls to the wire, the hash filter.
 *
 * Runs dpdk_app/wire/mac_filter.c with a wire that records.
 */
#include "dpdk_app/wire/mac_filter.h"

#include <stdlib.h>
#include <string.h>

#include "dpdk_app/wire/wire.h"
#include "tests/ut.h"

static struct {
	uint32_t joins, leaves;
	uint8_t mac[6];
	uint32_t ip;
} told;

static void record(struct wire *wire, const uint8_t mac[6], uint32_t ip, bool in)
{
	(void)wire;
	if (in)
		told.joins++;
	else
		told.leaves++;
	memcpy(told.mac, mac, 6);
	told.ip = ip;
}

static const struct wire_ops ops = {.group = record};
static struct wire wire;
static struct nic *nic;

static const uint8_t group[6] = {0x01, 0, 0x5e, 1, 2, 3};
static const uint8_t other[6] = {0x01, 0, 0x5e, 1, 2, 4};

static void begin(void)
{
	nic = calloc(1, sizeof(*nic));
	CU_ASSERT_PTR_NOT_NULL_FATAL(nic);
	memset(&told, 0, sizeof(told));
	wire.ops = &ops;
	nic->wire = &wire;
	nic->num_shards = CONF_MAX_SHARDS;
	for (uint32_t i = 0; i < CONF_MAX_SHARDS; i++) {
		nic->shard[i].nic = nic;
		nic->shard[i].number = i;
	}
	CU_ASSERT_EQUAL_FATAL(mac_filter_init(nic), 0);
}

static void end(void)
{
	mac_filter_free(nic);
	free(nic);
}

static void shards_share_a_group(void)
{
	begin();
	CU_ASSERT_FALSE(mac_filter_passes(nic, group));
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[0], group, 7, true), 0);
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[2], group, 7, true), 1);
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[2], group, 7, true), 1); /* again: nothing */
	CU_ASSERT_EQUAL(told.joins, 1);
	CU_ASSERT_EQUAL(told.ip, 7);
	CU_ASSERT_EQUAL(memcmp(told.mac, group, 6), 0);
	CU_ASSERT_TRUE(mac_filter_passes(nic, group));
	/* The same MAC, another group: one more for the wire. */
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[1], group, 8, true), 0);
	CU_ASSERT_EQUAL(told.joins, 2);
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[0], group, 7, false), 1);
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[0], group, 7, false), 1); /* asks, as it may */
	CU_ASSERT_EQUAL(told.leaves, 0);
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[2], group, 7, false), 0);
	CU_ASSERT_EQUAL(told.leaves, 1);
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[2], group, 7, false), 0);
	CU_ASSERT_EQUAL(told.leaves, 1);
	CU_ASSERT_TRUE(mac_filter_passes(nic, group));
	CU_ASSERT_EQUAL(mac_filter_set(&nic->shard[1], group, 8, false), 0);
	CU_ASSERT_FALSE(mac_filter_passes(nic, group));
	CU_ASSERT_EQUAL(told.leaves, 2);
	end();
}

static void lists_each_mac_once(void)
{
	uint8_t macs[4][6];

	begin();
	(void)mac_filter_set(&nic->shard[0], group, 7, true);
	(void)mac_filter_set(&nic->shard[1], group, 8, true);
	(void)mac_filter_set(&nic->shard[1], other, 9, true);
	CU_ASSERT_EQUAL(mac_filter_list(nic, macs, 4), 2);
	CU_ASSERT_EQUAL(memcmp(macs[0], group, 6), 0);
	CU_ASSERT_EQUAL(memcmp(macs[1], other, 6), 0);
	CU_ASSERT_EQUAL(mac_filter_list(nic, macs, 1), 1);
	end();
}

/* Wanted frames always pass, whatever else comes and goes; broadcast needs no entry. */
static void a_hash_filter_loses_nothing(void)
{
	uint8_t mac[6] = {0x01, 0, 0x5e};
	uint32_t passed = 0;

	begin();
	CU_ASSERT_TRUE(mac_filter_passes(nic, (uint8_t[]){255, 255, 255, 255, 255, 255}));
	for (uint32_t i = 0; i < 6000; i++) {
		mac[3] = (uint8_t)(i >> 8);
		mac[4] = (uint8_t)i;
		mac[5] = (uint8_t)(i * 7);
		(void)mac_filter_set(&nic->shard[0], mac, i + 1, true);
	}
	for (uint32_t i = 0; i < 6000; i += 2) {
		mac[3] = (uint8_t)(i >> 8);
		mac[4] = (uint8_t)i;
		mac[5] = (uint8_t)(i * 7);
		(void)mac_filter_set(&nic->shard[0], mac, i + 1, false);
	}
	for (uint32_t i = 1; i < 6000; i += 2) {
		mac[3] = (uint8_t)(i >> 8);
		mac[4] = (uint8_t)i;
		mac[5] = (uint8_t)(i * 7);
		passed += mac_filter_passes(nic, mac);
		(void)mac_filter_set(&nic->shard[0], mac, i + 1, false);
	}
	CU_ASSERT_EQUAL(passed, 3000);
	CU_ASSERT_FALSE(mac_filter_passes(nic, mac));
	CU_ASSERT_EQUAL(told.joins, 6000);
	CU_ASSERT_EQUAL(told.leaves, 6000);
	end();
}

UT_MAIN("dpdk_app/mac_filter", UT(shards_share_a_group), UT(lists_each_mac_once),
	UT(a_hash_filter_loses_nothing))
