/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weft's datagram headers (shared_defs/wire_dgram.h) against the bytes of
 * tests/golden/wire_dgram.hex, which follow docs/wire-format.md.
 */
#include "nic_fw/base/crc32c.c"
#include "nic_fw/fw_port.h"
#include "shared_defs/wire_cm.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"

#include "tests/golden.h"
#include "tests/ut.h"

#define LOAD(name, object)                                                                         \
	CU_ASSERT_EQUAL_FATAL(                                                                     \
	    golden_load("wire_dgram.hex", name, (uint8_t *)&(object), sizeof(object)),             \
	    sizeof(object))

static void common(void)
{
	struct wire_dgram g,
	    w = {
		.ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD,
		.flags = WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED | WIRE_DGRAM_F_ACK,
		.incarnation = be16_put(0xbeef),
		.dst_qpn = be32_put(0x210007),
		.src_qpn = be32_put(0x810009),
		.qkey = be32_put(0x80000001),
		.imm = be32_put(0xdeadbeef),
		.msg_bytes = be32_put(4097),
		.ssn = be32_put(0xfffffffe),
	    };

	LOAD("dgram_rd", g);
	CU_ASSERT_EQUAL(g.ver_type >> 4, WIRE_DGRAM_VERSION);
	CU_ASSERT_EQUAL(g.ver_type & 0x0f, WIRE_DGRAM_RD);
	CU_ASSERT_EQUAL(g.flags & ~WIRE_DGRAM_F_ALL, 0);
	CU_ASSERT_EQUAL(be32_get(g.dst_qpn), 0x210007);
	CU_ASSERT_EQUAL(be32_get(g.msg_bytes), 4097);
	CU_ASSERT_EQUAL(be32_get(g.ssn), 0xfffffffe);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void session(void)
{
	struct wire_rd g, w = {
			      .epoch = be32_put(0x01020304),
			      .psn = be32_put(UINT32_MAX),
			      .ack = be32_put(0xfffffff0),
			      .timestamp = be32_put(0x0a0b0c0d),
			      .flow_distance = be16_put(3),
			      .used = 7,
			      .limit = 0xf0,
			  };

	LOAD("rd", g);
	CU_ASSERT_EQUAL(be32_get(g.psn), UINT32_MAX);
	CU_ASSERT_TRUE(seq_lt(be32_get(g.ack), be32_get(g.psn)));
	CU_ASSERT_EQUAL(be16_get(g.flow_distance), 3);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

/* The rule of wire_rd_ack, written out: is PSN ack + i set in words? */
static int bit(const struct be64 *words, uint32_t i)
{
	return (int)(be64_get(words[i / 64]) >> (i % 64) & 1);
}

static void acknowledgement(void)
{
	struct wire_rd_ack g, w = {.rnr_timer_ns = be32_put(640000)};

	LOAD("rd_ack", g);
	for (uint32_t i = 0; i < WIRE_RD_WINDOW; i++)
		CU_ASSERT_EQUAL(bit(g.received, i), i == 1 || i == 65);
	for (uint32_t i = 0; i < 2 * WIRE_RD_WINDOW; i++)
		CU_ASSERT_EQUAL(bit(g.refused, i), i == 0 || i == 2 * WIRE_RD_WINDOW - 1);
	w.received[0] = be64_put(UINT64_C(1) << 1);
	w.received[1] = be64_put(UINT64_C(1) << (65 - 64));
	w.refused[0] = be64_put(1);
	w.refused[3] = be64_put(UINT64_C(1) << 63);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void cancellation(void)
{
	struct wire_rd_cancel g, w = {
				     .dst_qpn = be32_put(0x200005),
				     .src_qpn = be32_put(3),
				     .first_ssn = be32_put(7),
				     .last_ssn = be32_put(9),
				 };

	LOAD("rd_cancel", g);
	CU_ASSERT_EQUAL(be32_get(g.last_ssn), 9);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void hello(void)
{
	struct wire_rd_hello g, w = {
				    .epoch = be32_put(0x11223344),
				    .peer_epoch = be32_put(0x55667788),
				    .first_psn = be32_put(0xfffffff0),
				    .mtu = be16_put(9000),
				    .flags = WIRE_RD_HELLO_REPLY,
				};

	LOAD("rd_hello", g);
	CU_ASSERT_EQUAL(be16_get(g.mtu), 9000);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void challenge(void)
{
	struct wire_rd_hello g, w = {
				    .peer_epoch = be32_put(0x55667788),
				    .flags = WIRE_RD_HELLO_CHALLENGE,
				    .cookie = be64_put(UINT64_C(0x0123456789abcdef)),
				};

	LOAD("rd_challenge", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void connection_manager(void)
{
	struct wire_cm g, w = {
			      .type = WIRE_CM_REQ,
			      .flags = WIRE_CM_F_SRQ | WIRE_CM_F_FLOW_CONTROL,
			      .private_bytes = 3,
			      .qp_type = 1,
			      .src_id = be64_put(UINT64_C(0x1122334455660007)),
			      .space = be16_put(0x0106),
			      .src_port = be16_put(40000),
			      .dst_port = be16_put(7471),
			      .mtu = be16_put(9000),
			      .qpn = be32_put(0x200005),
			      .psn = be32_put(0xabcdef),
			      .responder_resources = 16,
			      .initiator_depth = 15,
			      .retry_count = 7,
			      .rnr_retry_count = 6,
			  };
	struct wire_cm rej = {.type = WIRE_CM_REJ,
			      .reason = be16_put(0x8001),
			      .arg = be16_put(3),
			      .dst_id = w.src_id};

	CU_ASSERT_EQUAL_FATAL(golden_load("wire_cm.hex", "cm_req", (uint8_t *)&g, sizeof(g)),
			      sizeof(g));
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
	CU_ASSERT_EQUAL_FATAL(golden_load("wire_cm.hex", "cm_rej", (uint8_t *)&g, sizeof(g)),
			      sizeof(g));
	CU_ASSERT_EQUAL(memcmp(&g, &rej, sizeof(g)), 0);
}

static void whole_datagram(void)
{
	struct {
		struct wire_udp udp;
		struct wire_dgram dgram;
		struct wire_ddp_untagged ddp;
		uint8_t data[4];
		struct be32 crc;
	} g, w = {
		 .udp = {be16_put(WIRE_DGRAM_PORT), be16_put(WIRE_DGRAM_PORT), be16_put(sizeof(w)),
			 be16_put(0)},
		 .dgram = {.ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_UD,
			   .dst_qpn = be32_put(0x200005),
			   .src_qpn = be32_put(3),
			   .qkey = be32_put(0x11111111),
			   .msg_bytes = be32_put(4),
			   .ssn = be32_put(1)},
		 .ddp = {.ddp_ctrl = WIRE_DDP_LAST | WIRE_DDP_VERSION,
			 .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND,
			 .msn = be32_put(1)},
		 .data = {'w', 'e', 'f', 't'},
	     };

	CU_ASSERT_EQUAL_FATAL(sizeof(g), 62);
	LOAD("ud_datagram", g);
	w.crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, &w, sizeof(w) - WIRE_DGRAM_CRC_BYTES));
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

/* PSNs and their tags; the hash of 0x17fb is 0, which no connection has. */
static void incarnation(void)
{
	CU_ASSERT_EQUAL(wire_dgram_incarnation(0), 1);
	CU_ASSERT_EQUAL(wire_dgram_incarnation(1), 0x9717);
	CU_ASSERT_EQUAL(wire_dgram_incarnation(0x17fb), 1);
	CU_ASSERT_EQUAL(wire_dgram_incarnation(0x123456), 0x4ffd);
	CU_ASSERT_EQUAL(wire_dgram_incarnation(0xffffff), 0x009f);
}

static void bundle_part(void)
{
	struct wire_rd_part g, w = {
				   .bytes = be16_put(22),
				   .flags = WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED,
				   .imm = be32_put(0xdeadbeef),
				   .msg_bytes = be32_put(4),
				   .ssn = be32_put(7),
			       };

	LOAD("rd_part", g);
	CU_ASSERT_EQUAL(be32_get(g.ssn), 7);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

UT_MAIN("shared_defs/wire_dgram", UT(common), UT(session), UT(acknowledgement), UT(cancellation),
	UT(bundle_part), UT(hello), UT(challenge), UT(connection_manager), UT(whole_datagram),
	UT(incarnation))
