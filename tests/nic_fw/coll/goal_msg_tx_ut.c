/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers of the packets of a run of GOAL, and their CRC32Cs, which are computed with fewer steps:
 * the same for each length of a run, with numbers that wrap.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/nic_fw/run_crc.h"
#include "tests/ut.h"

enum {
	SEGMENT = 1416,
	EDP_AT = sizeof(struct wire_eth),
	ESP_AT = EDP_AT + sizeof(struct wire_edp),
	GOAL_AT = ESP_HDR_BYTES,
	HDR_BYTES = GOAL_AT + sizeof(struct wire_goal),
	EDP_BYTES = HDR_BYTES - EDP_AT + SEGMENT,
};
#define OFFSET (UINT64_C(0xffffffff) - 2 * SEGMENT)

/* Makes the headers of a run that begins and ends a transmission. */
static void make(uint8_t *hdr)
{
	struct wire_eth *eth = (void *)hdr;
	struct wire_edp *edp = (void *)(hdr + EDP_AT);
	struct wire_esp *esp = (void *)(hdr + ESP_AT);
	struct wire_goal *goal = (void *)(hdr + GOAL_AT);

	for (uint32_t i = 0; i < HDR_BYTES; i++)
		hdr[i] = (uint8_t)(i * 11 + 3);
	eth->type = be16_put(WIRE_ETHERTYPE_ESP);
	edp->bytes = be16_put(EDP_BYTES);
	esp->seq = be32_put(UINT32_MAX - 1);
	esp->flags = WIRE_ESP_ACK | WIRE_ESP_TXS | WIRE_ESP_TXR | WIRE_ESP_TXF;
	goal->offset = be64_put(OFFSET);
	goal->piece_bytes = be32_put(SEGMENT);
}

static void same_crcs(void)
{
	for (uint32_t packets = 2; packets <= FW_RUN_MAX; packets++) {
		const struct fw_run run = {
		    .packets = packets, .segment_bytes = SEGMENT, .bytes = packets * SEGMENT - 77};
		uint8_t of_run[FW_TX_HDR_BYTES];

		make(of_run);
		run_crc_check(&run, of_run, HDR_BYTES, EDP_AT);
	}
}

/* Numbers go up with each packet; the beginning is the first one's, the end the last one's. */
static void each_packet(void)
{
	static const uint8_t flags[3] = {WIRE_ESP_ACK | WIRE_ESP_TXS, WIRE_ESP_ACK,
					 WIRE_ESP_ACK | WIRE_ESP_TXR | WIRE_ESP_TXF};
	const struct fw_run run = {
	    .packets = 3, .segment_bytes = SEGMENT, .bytes = 2 * SEGMENT + 5};
	uint8_t of_run[HDR_BYTES], hdr[HDR_BYTES], want[HDR_BYTES];

	make(of_run);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t payload = i < 2 ? SEGMENT : 5;

		memcpy(hdr, of_run, HDR_BYTES);
		memcpy(want, of_run, HDR_BYTES);
		((struct wire_edp *)(void *)(want + EDP_AT))->bytes =
		    be16_put((uint16_t)(EDP_BYTES - SEGMENT + payload));
		((struct wire_esp *)(void *)(want + ESP_AT))->seq = be32_put(UINT32_MAX - 1 + i);
		((struct wire_esp *)(void *)(want + ESP_AT))->flags = flags[i];
		((struct wire_goal *)(void *)(want + GOAL_AT))->offset =
		    be64_put(OFFSET + (uint64_t)i * SEGMENT);
		((struct wire_goal *)(void *)(want + GOAL_AT))->piece_bytes = be32_put(payload);
		fw_run_hdr(hdr, i, &run);
		CU_ASSERT(memcmp(hdr, want, HDR_BYTES) == 0);
	}
}

UT_MAIN("nic_fw/coll/goal_msg_tx", UT(same_crcs), UT(each_packet))
