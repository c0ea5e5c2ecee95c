/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the CRC32Cs of the packets of a run, which are computed with fewer steps, beside those of
 * each packet's headers and payload, with the payload in one piece and in several.
 */
#ifndef WEFT_TEST_RUN_CRC_H
#define WEFT_TEST_RUN_CRC_H

#include <string.h>

#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

/* of_run: bytes of headers as they lie in a frame; the CRC32C covers those from crc_at on. */
static inline void run_crc_check(const struct fw_run *run, const uint8_t *of_run, uint32_t bytes,
				 uint32_t crc_at)
{
	/* Ends of pieces: within a packet, at its end, none, several packets on. */
	const uint32_t segment = run->segment_bytes;
	const uint32_t ends[] = {5, segment - 1, segment, segment, segment + 600, run->bytes};
	static uint8_t payload[FW_RUN_BYTES];
	struct fw_rx_seg whole = {payload, run->bytes}, piece[6];
	struct be32 crcs[2][FW_RUN_MAX];
	uint8_t hdr[FW_TX_HDR_BYTES];
	uint32_t i, at = 0;

	CU_ASSERT_FATAL(run->bytes <= sizeof(payload) && run->bytes > segment + 600);
	for (i = 0; i < run->bytes; i++)
		payload[i] = (uint8_t)(i * 7 + i / 251);
	for (i = 0; i < 6; i++) {
		piece[i] = (struct fw_rx_seg){payload + at, ends[i] - at};
		at = ends[i];
	}
	fw_run_crcs(run, of_run, bytes, &whole, fw_crc32c, crcs[0]);
	fw_run_crcs(run, of_run, bytes, piece, fw_crc32c, crcs[1]);
	for (i = 0, at = 0; i < run->packets; i++, at += segment) {
		uint32_t left = run->bytes - at < segment ? run->bytes - at : segment, crc;
		struct be32 want;

		memcpy(hdr, of_run, bytes);
		fw_run_hdr(hdr, i, run);
		crc = fw_crc32c(FW_CRC32C_INIT, hdr + crc_at, bytes - crc_at);
		want = fw_crc32c_wire(fw_crc32c(crc, payload + at, left));
		CU_ASSERT(memcmp(&crcs[0][i], &want, sizeof(want)) == 0);
		CU_ASSERT(memcmp(&crcs[1][i], &want, sizeof(want)) == 0);
	}
}

#endif /* WEFT_TEST_RUN_CRC_H */
