/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lays a run of the firmware out for the kernel; see gso_whole.h.
 *
 * Calls borrow.c, gso_run.c and fw_run_hdrs().
 */
#include "dpdk_app/wire/gso_whole.h"

#include <assert.h>
#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/borrow.h"
#include "nic_fw/fw.h"
#include "shared_defs/wire_dgram.h"

static void add(struct gso_whole *whole, const uint8_t *data, uint32_t bytes)
{
	assert(whole->num_pieces + 1 < GSO_WHOLE_PIECES);
	/* The kernel only reads. */
	whole->piece[++whole->num_pieces] = (struct iovec){(void *)(uintptr_t)data, bytes};
	whole->bytes += bytes;
}

/* Adds bytes of payload from *seg, of whose first piece *at bytes are used. */
static void add_payload(struct gso_whole *whole, const struct fw_rx_seg **seg, uint32_t *at,
			uint32_t bytes)
{
	while (bytes) {
		uint32_t n = (*seg)->bytes - *at;

		n = n < bytes ? n : bytes;
		add(whole, (*seg)->data + *at, n);
		bytes -= n;
		*at += n;
		if (*at == (*seg)->bytes) {
			*at = 0;
			(*seg)++;
		}
	}
}

void gso_whole_make(const struct rte_mbuf *m, struct gso_whole *whole)
{
	struct fw_rx_seg seg[FW_RX_SEGS_MAX];
	const struct fw_rx_seg *payload = &seg[1];
	uint32_t n = borrow_pieces(m, seg), at = 0;
	const uint8_t *crc = seg[n - 1].data;
	struct fw_run run = {0};

	run.packets = borrow_packets(m, &run.segment_bytes);
	run.bytes = m->pkt_len - seg[0].bytes - seg[n - 1].bytes;
	assert(run.packets <= FW_RUN_MAX && seg[n - 1].bytes == run.packets * WIRE_DGRAM_CRC_BYTES);
	fw_run_hdrs(&run, seg[0].data, seg[0].bytes, whole->hdrs, FW_TX_HDR_BYTES);
	whole->packets = run.packets;
	whole->hdr_bytes = gso_hdr_bytes(whole->hdrs);
	whole->bytes = whole->num_pieces = 0;
	add(whole, whole->hdr, whole->hdr_bytes);
	whole->bytes = 0;
	for (uint32_t i = 0; i < run.packets; i++) {
		uint32_t left = run.bytes - i * run.segment_bytes;
		uint8_t *hdr = whole->hdrs + (size_t)i * FW_TX_HDR_BYTES + whole->hdr_bytes;
		uint32_t before = i ? WIRE_DGRAM_CRC_BYTES : 0;

		/* The CRC32C of the packet before takes the place of headers that nobody reads. */
		if (i)
			memcpy(hdr - before, crc + (size_t)(i - 1) * WIRE_DGRAM_CRC_BYTES, before);
		add(whole, hdr - before, before + seg[0].bytes - whole->hdr_bytes);
		add_payload(whole, &payload, &at,
			    left < run.segment_bytes ? left : run.segment_bytes);
	}
	add(whole, crc + (size_t)(run.packets - 1) * WIRE_DGRAM_CRC_BYTES, WIRE_DGRAM_CRC_BYTES);
	whole->each =
	    (uint16_t)(seg[0].bytes - whole->hdr_bytes + run.segment_bytes + WIRE_DGRAM_CRC_BYTES);
	(void)gso_join_hdr(whole->hdrs, seg[0].data, whole->bytes, whole->each, whole->hdr);
}
