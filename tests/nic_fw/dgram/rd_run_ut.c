/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers of the packets of a run, and CRC32Cs, which are computed with fewer steps: the same
 * for each length of a run, tagged and untagged, first pieces and last, with numbers that wrap. And
 * bits of a window's PSNs, several at once.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/nic_fw/run_crc.h"
#include "tests/ut.h"

enum {
	SEGMENT = 1376,
	DGRAM_AT = UDP_TX_HDR_BYTES,
	RD_AT = DGRAM_AT + sizeof(struct wire_dgram),
	DDP_AT = RD_AT + sizeof(struct wire_rd),
};

/* Makes the headers of a run that ends its message or not. Returns their length. */
static uint32_t make(uint8_t *hdr, bool tagged, bool last)
{
	struct wire_dgram *dgram = (void *)(hdr + DGRAM_AT);
	struct wire_rd *rd = (void *)(hdr + RD_AT);
	struct wire_ddp_tagged *to = (void *)(hdr + DDP_AT);
	struct wire_ddp_untagged *mo = (void *)(hdr + DDP_AT);

	for (uint32_t i = 0; i < FW_TX_HDR_BYTES; i++)
		hdr[i] = (uint8_t)(i * 11 + 3);
	dgram->flags = WIRE_DGRAM_F_ACK | WIRE_DGRAM_F_ECE;
	if (last)
		dgram->flags |= WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED;
	rd->psn = be32_put(UINT32_MAX - 4);
	rd->used = 250;
	rd->flow_distance = be16_put(0);
	to->ddp_ctrl = (uint8_t)((tagged ? WIRE_DDP_TAGGED : 0) | (last ? WIRE_DDP_LAST : 0));
	if (tagged)
		to->to = be64_put(UINT64_MAX - 3 * SEGMENT);
	else
		mo->mo = be32_put(70000);
	return DDP_AT + (tagged ? (uint32_t)sizeof(*to) : (uint32_t)sizeof(*mo));
}

static void same_crcs(void)
{
	for (uint32_t kind = 0; kind < 4; kind++) {
		for (uint32_t packets = 2; packets <= FW_RUN_MAX; packets++) {
			const struct fw_run run = {.packets = packets,
						   .segment_bytes = SEGMENT,
						   .bytes = packets * SEGMENT - 77};
			uint8_t of_run[FW_TX_HDR_BYTES];
			uint32_t bytes = make(of_run, kind & 1, kind & 2);

			run_crc_check(&run, of_run, bytes, IP_TX_HDR_BYTES);
		}
	}
}

/* Numbers go up with each packet; marks of the end of a message are the last packet's. */
static void each_packet(void)
{
	const struct fw_run run = {
	    .packets = 3, .segment_bytes = SEGMENT, .bytes = 2 * SEGMENT + 5};
	uint8_t of_run[FW_TX_HDR_BYTES], hdr[FW_TX_HDR_BYTES];
	const struct wire_dgram *dgram = (const void *)(hdr + DGRAM_AT);
	const struct wire_rd *rd = (const void *)(hdr + RD_AT);
	const struct wire_ddp_tagged *to = (const void *)(hdr + DDP_AT);
	uint32_t bytes = make(of_run, true, true);

	memcpy(hdr, of_run, bytes);
	fw_run_hdr(hdr, 1, &run);
	CU_ASSERT_EQUAL(dgram->flags, WIRE_DGRAM_F_ACK | WIRE_DGRAM_F_MORE);
	CU_ASSERT_EQUAL(be32_get(dgram->imm), 0);
	CU_ASSERT_EQUAL(be32_get(rd->psn), UINT32_MAX - 3);
	CU_ASSERT_EQUAL(rd->used, 251);
	CU_ASSERT_EQUAL(be16_get(rd->flow_distance), 1);
	CU_ASSERT_EQUAL(to->ddp_ctrl, WIRE_DDP_TAGGED);
	CU_ASSERT_EQUAL(be64_get(to->to), UINT64_MAX - 2 * SEGMENT);
	memcpy(hdr, of_run, bytes);
	fw_run_hdr(hdr, 2, &run);
	CU_ASSERT_EQUAL(dgram->flags, WIRE_DGRAM_F_ACK | WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED);
	CU_ASSERT_EQUAL(to->ddp_ctrl, WIRE_DDP_TAGGED | WIRE_DDP_LAST);
}

/* Bits of several PSNs at once, over the ends of words and of the table, beside one by one. */
static void several_bits(void)
{
	for (uint32_t psn = 0; psn < 512; psn++) {
		for (uint32_t n = 1; n <= 64; n++) {
			struct rd_bits bits[2] = {0};

			for (uint32_t value = 0; value < 2; value++) {
				struct rd_bits *one = &bits[0];

				memset(bits, value ? 0 : 0xff, sizeof(bits));
				for (uint32_t i = 0; i < n; i++) {
					if (value)
						rd_bit_set(one, psn + i);
					else
						rd_bit_clear(one, psn + i);
				}
				rd_bits_put(&bits[1], psn, n, value);
				CU_ASSERT(memcmp(&bits[0], &bits[1], sizeof(bits[0])) == 0);
			}
		}
	}
}

UT_MAIN("nic_fw/dgram/rd_run", UT(same_crcs), UT(each_packet), UT(several_bits))
