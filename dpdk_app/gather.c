/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathers a frame. While a CRC32C is computed, each piece is copied and summed in one pass. The CRC
 * is that of the bytes sent, not of the client's memory, which may change meanwhile. The checksum
 * also covers the copy. It is computed last, since its place in the headers precedes the data that
 * it covers.
 *
 * Calls accel.c. RFC 5044 4.4 defines the place of the CRC.
 */
#include "dpdk_app/gather.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/csum.h"
#include "shared_defs/wire_eth.h"

enum {
	GATHER_CRC_BYTES = 4,
};

struct gather {
	uint8_t *dst;
	uint32_t used;
	uint32_t room;
	uint32_t crc;
	bool crc_runs;
};

static int gather_piece(struct gather *g, const struct fw_tx_frame *frame,
			const struct fw_tx_seg *seg, gather_read_fn read, void *read_ctx)
{
	uint8_t *to = g->dst + g->used;
	const uint8_t *from;
	int err;

	if (seg->bytes > g->room - g->used)
		return -EMSGSIZE;
	g->used += seg->bytes;
	if (seg->kind == FW_TX_HOST) {
		err = read(read_ctx, seg->client, to, seg->addr, seg->bytes);
		if (err)
			return err;
		if (g->crc_runs)
			g->crc = accel_crc32c(g->crc, to, seg->bytes);
		return 0;
	}
	if (seg->kind == FW_TX_HDR) {
		if (seg->addr > FW_TX_HDR_BYTES || seg->bytes > FW_TX_HDR_BYTES - seg->addr)
			return -EMSGSIZE;
		from = frame->hdr + seg->addr;
	} else {
		from = seg->mem;
	}
	if (g->crc_runs)
		g->crc = accel_copy_crc32c(g->crc, to, from, seg->bytes);
	else
		memcpy(to, from, seg->bytes);
	return 0;
}

int gather_frame(const struct fw_tx_frame *frame, bool csum, uint8_t *dst, uint32_t room,
		 gather_read_fn read, void *read_ctx)
{
	struct gather g = {.dst = dst, .room = room};
	int err;

	if (frame->num_seg > FW_TX_SEGS_MAX || (frame->csum_start && !csum_fits(frame)))
		return -EMSGSIZE;
	for (uint32_t i = 0; i < frame->num_seg; i++) {
		const struct fw_tx_seg *seg = &frame->seg[i];

		if (seg->flags & FW_TX_F_CRC_BEGIN) {
			g.crc = FW_CRC32C_INIT;
			g.crc_runs = true;
		}
		err = gather_piece(&g, frame, seg, read, read_ctx);
		if (err)
			return err;
		if (seg->flags & FW_TX_F_CRC_END) {
			if (GATHER_CRC_BYTES > g.room - g.used)
				return -EMSGSIZE;
			accel_crc32c_wire(dst + g.used, g.crc);
			g.used += GATHER_CRC_BYTES;
			g.crc_runs = false;
		}
	}
	if (g.used != frame->bytes)
		return -EMSGSIZE;
	if (csum && frame->csum_start)
		wire_sum_put(dst, g.used, frame->csum_start, frame->csum_at);
	if (g.used < WIRE_ETH_MIN_BYTES) {
		if (room < WIRE_ETH_MIN_BYTES)
			return -EMSGSIZE;
		memset(dst + g.used, 0, WIRE_ETH_MIN_BYTES - g.used);
		g.used = WIRE_ETH_MIN_BYTES;
	}
	return (int)g.used;
}
