/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters page by page, as a process requests them: each once, in the order of the whole list, and
 * only the requested ones are read and written.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/ut.h"

#include "dpdk_app/control/stats.c"

enum {
	FIRMWARE_STATS = 500,
	WIRE_STATS = 30,
};

static uint32_t asked;

static bool fake_stat(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value)
{
	(void)nic;
	asked++;
	*name = "of_the_firmware";
	*value = i;
	return i < FIRMWARE_STATS;
}

static const struct fw_ops firmware = {.stat = fake_stat};
static uint32_t wire_asked;

static uint32_t wire_stats(const struct wire *wire, struct hw_stat *stat, uint32_t max)
{
	(void)wire;
	CU_ASSERT(max >= WIRE_STATS);
	wire_asked++;
	for (uint32_t i = 0; i < WIRE_STATS; i++)
		stats_put(&stat[i], "wire_", "x", 1000 + i);
	return WIRE_STATS;
}

static const struct wire_ops ops = {.stats = wire_stats};
static struct wire wire = {.ops = &ops};
static struct core core;
static struct nic nic = {.wire = &wire};

static void pages(void)
{
	struct shard *shard = calloc(1, sizeof(*shard));
	struct hw_stat *all = calloc(STATS_MAX, sizeof(*all));
	struct hw_resp_stats resp;
	uint32_t count, cursor = 0;

	CU_ASSERT_FATAL(shard && all);
	shard->nic = &nic;
	shard->core = &core;
	shard->ops = &firmware;
	shard->num_fw_stats = FIRMWARE_STATS;
	shard->stats.rx_frames = 7;
	core.stats.turns = 9;
	count = stats_some(shard, 0, all, STATS_MAX);
	CU_ASSERT(count > FIRMWARE_STATS + WIRE_STATS + TURNS_STATS);
	CU_ASSERT_EQUAL(all[FIRMWARE_STATS - 1].value, FIRMWARE_STATS - 1);
	CU_ASSERT_STRING_EQUAL(all[FIRMWARE_STATS].name, "port_rx_frames");
	CU_ASSERT_EQUAL(all[FIRMWARE_STATS].value, 7);
	CU_ASSERT_EQUAL(all[count - 1].value, 1000 + WIRE_STATS - 1);
	do {
		asked = wire_asked = 0;
		memset(&resp, 0, sizeof(resp));
		stats_answer(shard, cursor, &resp);
		CU_ASSERT(asked <= HW_STATS_PER_RESP + 1);
		CU_ASSERT(!wire_asked || cursor + HW_STATS_PER_RESP > count - WIRE_STATS);
		CU_ASSERT_EQUAL(resp.next, cursor + resp.count);
		for (uint32_t i = 0; i < resp.count; i++)
			CU_ASSERT_EQUAL(memcmp(&resp.stat[i], &all[cursor + i], sizeof(*all)), 0);
		cursor = resp.next;
	} while (resp.count);
	CU_ASSERT_EQUAL(cursor, count);
	/* Beyond the end, however far. */
	stats_answer(shard, UINT32_MAX, &resp);
	CU_ASSERT_EQUAL(resp.count, 0);
	free(all);
	free(shard);
}

UT_MAIN("dpdk_app/stats", UT(pages))
