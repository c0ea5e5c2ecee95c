/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EDP, ESP, GOAL and group headers (shared_defs/wire_esp.h, wire_goal.h, wire_mgrp.h) against the
 * bytes of tests/golden/wire_esp.hex, which follow the tables of docs/wire-esp.md, wire-group.md
 * and collectives.md.
 */
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_goal.h"
#include "shared_defs/wire_mgrp.h"

#include "tests/golden.h"
#include "tests/ut.h"

#define LOAD(name, object)                                                                         \
	CU_ASSERT_EQUAL_FATAL(                                                                     \
	    golden_load("wire_esp.hex", name, (uint8_t *)&(object), sizeof(object)),               \
	    sizeof(object))

static void edp(void)
{
	struct wire_edp g, w = {.ver_type = WIRE_EDP_VERSION << 4 | WIRE_EDP_ESP,
				.bytes = be16_put(76),
				.dst_port = be16_put(WIRE_EDP_PORT_BASE + WIRE_EDP_PORT_SPAN),
				.src_port = be16_put(WIRE_EDP_PORT_BASE + 1)};

	LOAD("edp", g);
	CU_ASSERT_EQUAL(g.ver_type, 0x10);
	CU_ASSERT_EQUAL(be16_get(g.bytes), 76);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void esp(void)
{
	struct wire_esp g,
	    w = {.seq = be32_put(UINT32_MAX),
		 .ack = be32_put(UINT32_MAX - 15),
		 .flags = WIRE_ESP_ACK | WIRE_ESP_TXF | WIRE_ESP_TXR,
		 .numbered = 1,
		 .window = be16_put(WIRE_ESP_WINDOW - 1),
		 .src_inc = be32_put(0xdeadbeef),
		 .dst_inc = be32_put(0x01020305),
		 .received = be64_put(UINT64_C(1) << 1 | UINT64_C(1) << (WIRE_ESP_WINDOW - 1))};

	LOAD("esp", g);
	CU_ASSERT_FALSE(g.flags & WIRE_ESP_STATE_FLAGS);
	CU_ASSERT_TRUE(seq_lt(be32_get(g.ack), be32_get(g.seq)));
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void open_of_a_stream(void)
{
	struct wire_esp_open g, w = {.service = be16_put(WIRE_ESP_GOAL),
				     .mtu = be16_put(9000),
				     .src_rank = be32_put(3),
				     .dst_rank = be32_put(4095),
				     .key = be64_put(0x0123456789abcdef),
				     .key2 = be64_put(0xfedcba9876543210)};

	LOAD("open", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void goal(void)
{
	struct wire_goal g, w = {.type = WIRE_GOAL_DATA,
				 .instance = be32_put(7),
				 .tag = be32_put(0xfffffffe),
				 .count = be32_put(2),
				 .bytes = be64_put(0x100000005),
				 .offset = be64_put(9000),
				 .sink = be32_put(0x10002),
				 .piece_bytes = be32_put(4)};

	LOAD("goal", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void group(void)
{
	struct wire_mgrp g, w = {.type = WIRE_MGRP_STATUS,
				 .mtu = be16_put(1500),
				 .root = be32_put(2),
				 .src_rank = be32_put(5),
				 .dst_rank = be32_put(4),
				 .key = be64_put(0x0123456789abcdef),
				 .key2 = be64_put(0xfedcba9876543210),
				 .epoch = be32_put(0xdeadbeef),
				 .base = be32_put(0x7ffffff0),
				 .psn = be32_put(UINT32_MAX - 1),
				 .own = be32_put(UINT32_MAX),
				 .from = be32_put(UINT32_MAX),
				 .missing = be64_put(1 << 0 | 1 << 2)};

	LOAD("group", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

UT_MAIN("shared_defs/wire_esp", UT(edp), UT(esp), UT(open_of_a_stream), UT(goal), UT(group))
