/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of one message that arrive one behind the other in a burst, taken as a run: what a sender
 * on a wire has divided is put together again, as generic receive offload does for TCP.
 *
 * The frames must have the headers of one run (struct eth_run_kind), so it takes the way of a run
 * of the built-in switch (eth_run.c); payload stays where it is. The CRC32C of each is checked with
 * the headers that the run has for it, so frames of a run that differ from it are never taken as
 * one: they go up one by one. Calls eth_rx_frame().
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/net/eth_join.h"
#include "nic_fw/net/known_rx.h"

enum {
	/* Pieces besides those of the payload: headers, CRC32Cs. */
	JOIN_PIECES = 2,
	JOIN_MOST =
	    FW_RUN_MAX < FW_RX_SEGS_MAX - JOIN_PIECES ? FW_RUN_MAX : FW_RX_SEGS_MAX - JOIN_PIECES,
};

/* A run of frames that arrived one by one. */
struct join {
	struct fw_rx_frame frame;
	uint8_t hdr[FW_RX_HDR_BYTES];
	struct be32 crc[JOIN_MOST];
};

/* True if Ethernet, IPv4 and UDP of two frames differ in length, number and checksum at most. */
static bool one_flow(const uint8_t *a, const uint8_t *b)
{
	return !((known_load64(a) ^ known_load64(b)) |
		 (known_load64(a + KNOWN_BEGIN_2) ^ known_load64(b + KNOWN_BEGIN_2)) |
		 (known_load64(a + KNOWN_IPS) ^ known_load64(b + KNOWN_IPS)) |
		 (known_load32(a + KNOWN_MIDDLE) ^ known_load32(b + KNOWN_MIDDLE)) |
		 (known_load32(a + KNOWN_IP_END) ^ known_load32(b + KNOWN_IP_END))) &&
	       known_sum(a) == known_sum(b);
}

/* True if a frame is in one piece, without padding, and has a CRC32C that must be checked. */
static bool is_whole(const struct fw_rx_frame *frame)
{
	const struct wire_ip *ip = (const void *)(frame->seg[0].data + sizeof(struct wire_eth));

	return frame->num_seg == 1 && frame->run <= 1 && !(frame->flags & FW_RX_CRC_OK) &&
	       sizeof(struct wire_eth) + be16_get(ip->total_bytes) == frame->bytes;
}

static void join_add(struct join *join, const struct fw_rx_frame *frame, uint32_t hdr_bytes)
{
	uint32_t n = join->frame.run++, bytes = frame->bytes - hdr_bytes - WIRE_DGRAM_CRC_BYTES;
	const uint8_t *payload = frame->seg[0].data + hdr_bytes;

	join->frame.seg[1 + n] = (struct fw_rx_seg){payload, bytes};
	memcpy(&join->crc[n], payload + bytes, sizeof(join->crc[n]));
	join->frame.bytes += bytes + WIRE_DGRAM_CRC_BYTES;
}

/* Puts as many frames as possible into *join. Returns their number, or 0: the first goes alone. */
static uint32_t join_frames(const struct fw_rx_frame *frames, uint32_t n, struct join *join)
{
	const struct eth_run_kind *kind = net_up.run_udp;
	const uint8_t *first = frames[0].seg[0].data, *last = first;
	uint32_t hdr_bytes, segment_bytes, i;
	bool ends = false;

	if (!is_whole(&frames[0]))
		return 0;
	hdr_bytes = kind->begins(first);
	if (!hdr_bytes)
		return 0;
	join->frame.run = 0;
	join->frame.bytes = hdr_bytes;
	join_add(join, &frames[0], hdr_bytes);
	segment_bytes = join->frame.seg[1].bytes;
	for (i = 1; i < n && i < JOIN_MOST && !ends; i++) {
		const uint8_t *hdr = frames[i].seg[0].data;

		if (frames[i].bytes > frames[0].bytes || frames[i].bytes < ETH_JOIN_LEAST ||
		    frames[i].flags != frames[0].flags || !is_whole(&frames[i]) ||
		    !one_flow(first, hdr) || !kind->goes_on(first, hdr, i, segment_bytes, &ends) ||
		    (i + 1) * segment_bytes > FW_RUN_BYTES)
			break;
		ends |= frames[i].bytes < frames[0].bytes;
		join_add(join, &frames[i], hdr_bytes);
		last = hdr;
	}
	if (i == 1)
		return 0;
	memcpy(join->hdr, first, hdr_bytes);
	kind->end(join->hdr, last);
	join->frame.seg[0] = (struct fw_rx_seg){join->hdr, hdr_bytes};
	join->frame.seg[1 + i] =
	    (struct fw_rx_seg){(const uint8_t *)join->crc, i * WIRE_DGRAM_CRC_BYTES};
	join->frame.num_seg = JOIN_PIECES + i;
	join->frame.flags = frames[0].flags;
	join->frame.run_bytes = (uint16_t)segment_bytes;
	join->frame.cookie = frames[0].cookie;
	return i;
}

uint32_t eth_join_rx(struct fw_nic *nic, struct fw_rx_frame *frames, uint32_t n)
{
	struct join join;
	uint32_t joined = join_frames(frames, n, &join), i;

	if (!joined)
		return 0;
	eth_run_take(nic, &join.frame);
	FW_ADD(nic, rx_joined, nic->net.run_taken == joined ? joined : 0);
	for (i = nic->net.run_taken; i < joined; i++) {
		if (nic->net.run_checked)
			frames[i].flags |= FW_RX_CRC_OK;
		eth_rx_frame(nic, &frames[i]);
	}
	return joined;
}
