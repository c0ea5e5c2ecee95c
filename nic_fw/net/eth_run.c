/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs: packets of one message that leave in one turn cross a port that needs no single frames, the
 * built-in switch, as one frame (fw_port.h, struct fw_tx_frame). A run saves the way of each frame,
 * and headers, checks and a copy for each.
 *
 * RD makes runs (dgram/rd_run.c), and so do ESP streams of GOAL (coll/goal_msg_tx.c), its reliable
 * groups (coll/mgrp_data.c) and RC over TCP (tcp/tcp_run.c, mpa/mpa_run.c), which know the headers
 * (struct eth_run_kind). A run that any floor drops, or that is declined, is cut, and its packets
 * come one by one (eth_run_rx()).
 * fw_run_hdr() makes the headers of each packet, also for ports that show frames (captures),
 * fw_run_hdrs() those of all, fw_run_crcs() their CRC32Cs. Calls eth_rx_frame().
 */
#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"

/* The front of all headers, by which the kinds differ: no kind's headers are shorter. */
struct run_front {
	struct wire_eth eth;
	struct wire_ip ip;
	struct wire_tcp tcp;
};

static const struct eth_run_kind *kind_of(const uint8_t *hdr)
{
	const struct run_front *h = (const void *)hdr;
	const struct wire_edp *edp = (const void *)(&h->eth + 1);

	if (be16_get(h->eth.type) == WIRE_ETHERTYPE_ESP)
		return (edp->ver_type & 0x0f) == WIRE_EDP_GROUP ? net_up.run_group : net_up.run_esp;
	if (h->ip.proto != WIRE_IPPROTO_TCP)
		return net_up.run_udp;
	return h->tcp.data_offset > sizeof(h->tcp) / 4 << 4 ? net_up.run_tcp_ts : net_up.run_tcp;
}

uint32_t eth_run_payload_bytes(const struct fw_rx_frame *frame)
{
	return frame->bytes - frame->seg[0].bytes - frame->run * (uint32_t)WIRE_DGRAM_CRC_BYTES;
}

uint32_t eth_run_less_bytes(uint32_t i, const struct fw_run *run)
{
	return i + 1 < run->packets ? 0 : run->packets * run->segment_bytes - run->bytes;
}

void fw_run_hdr(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	const struct eth_run_kind *kind = kind_of(hdr);

	if (kind->outer)
		kind->outer(hdr, i, run);
	kind->packet(hdr, i, run);
}

void fw_run_hdrs(const struct fw_run *run, const uint8_t *hdr, uint32_t bytes, uint8_t *hdrs,
		 uint32_t stride)
{
	const struct eth_run_kind *kind = kind_of(hdr);
	uint32_t i;

	assert(bytes >= kind->least_bytes && bytes <= stride);
	memcpy(hdrs, hdr, bytes);
	fw_run_hdr(hdrs, 0, run);
	for (i = 1; i < run->packets; i++) {
		uint8_t *to = hdrs + (size_t)i * stride;

		if (i == 1 || i + 1 == run->packets) {
			memcpy(to, hdr, bytes);
			kind->packet(to, i, run);
		} else {
			memcpy(to, to - stride, bytes);
			kind->step(to, run->segment_bytes);
		}
	}
}

/* Makes the headers of packet i. Returns the running CRC32C of their front. */
FW_APART uint32_t make_hdr(const struct eth_run_kind *kind, const struct fw_run *run, uint32_t i,
			   const uint8_t *of_run, uint32_t bytes,
			   uint32_t (*crc32c)(uint32_t crc, const void *data, size_t bytes),
			   uint8_t *hdr)
{
	memcpy(hdr, of_run, bytes);
	kind->packet(hdr, i, run);
	return crc32c(FW_CRC32C_INIT, hdr + kind->front_at, kind->back_at - kind->front_at);
}

/*
 * Packets between the first and the last differ in few numbers, so their headers are made once, and
 * so is the CRC32C of what they have in common.
 */
void fw_run_crcs(const struct fw_run *run, const uint8_t *hdr, uint32_t bytes,
		 const struct fw_rx_seg *piece,
		 uint32_t (*crc32c)(uint32_t crc, const void *data, size_t bytes),
		 struct be32 *crcs)
{
	const struct eth_run_kind *kind = kind_of(hdr);
	uint32_t last = run->packets - 1, n = run->segment_bytes, front = 0, crc, left, i;
	uint32_t piece_left = piece->bytes, back_bytes = bytes - kind->back_at;
	const uint8_t *data = piece->data;
	uint8_t own[FW_TX_HDR_BYTES];
	uint8_t *back = own + kind->back_at;

	assert(bytes >= kind->least_bytes && bytes <= sizeof(own));
	for (i = 0; i <= last; i++) {
		if (i < 2 || i == last) {
			front = make_hdr(kind, run, i, hdr, bytes, crc32c, own);
			n = run->segment_bytes - eth_run_less_bytes(i, run);
		}
		crc = crc32c(front, back, back_bytes);
		/* Early: numbers that were just stored in parts are slow to read as words. */
		kind->step(own, run->segment_bytes);
		for (left = n; left > piece_left; piece_left = piece->bytes) {
			crc = crc32c(crc, data, piece_left);
			left -= piece_left;
			data = (++piece)->data;
		}
		crcs[i] = fw_crc32c_wire(crc32c(crc, data, left));
		data += left;
		piece_left -= left;
	}
}

/* True if a frame has room for its headers and the payload of each packet, and for CRC32Cs. */
static bool run_fits(const struct fw_rx_frame *frame)
{
	const struct fw_rx_seg *crcs;
	uint32_t bytes;

	if (frame->num_seg < 3)
		return false;
	crcs = &frame->seg[frame->num_seg - 1];
	if (frame->run > FW_RUN_MAX || frame->seg[0].bytes < sizeof(struct run_front) ||
	    frame->seg[0].bytes < kind_of(frame->seg[0].data)->least_bytes ||
	    frame->seg[0].bytes > FW_RX_HDR_BYTES ||
	    crcs->bytes != frame->run * WIRE_DGRAM_CRC_BYTES ||
	    frame->bytes <= frame->seg[0].bytes + crcs->bytes)
		return false;
	bytes = eth_run_payload_bytes(frame);
	return bytes > (frame->run - 1u) * frame->run_bytes &&
	       bytes <= (uint32_t)frame->run * frame->run_bytes;
}

/* Returns the run of a frame that fits. */
static struct fw_run run_of(const struct fw_rx_frame *frame)
{
	return (struct fw_run){
	    .packets = frame->run,
	    .segment_bytes = frame->run_bytes,
	    .bytes = eth_run_payload_bytes(frame),
	};
}

bool eth_run_crc_ok(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const struct fw_run run = run_of(frame);
	struct be32 want[FW_RUN_MAX];

	fw_run_crcs(&run, frame->seg[0].data, frame->seg[0].bytes, &frame->seg[1], nic->port.crc32c,
		    want);
	if (memcmp(want, frame->seg[frame->num_seg - 1].data, run.packets * sizeof(want[0])) != 0)
		return false;
	FW_ADD(nic, rx_crc_checked, run.packets);
	nic->net.run_checked = true;
	return true;
}

void eth_run_cut(const struct fw_rx_frame *frame, uint32_t i, uint8_t *hdr,
		 struct fw_rx_frame *packet)
{
	const struct fw_run run = run_of(frame);
	const uint8_t *crcs = frame->seg[frame->num_seg - 1].data;
	uint32_t at = i * run.segment_bytes;
	uint32_t bytes = i + 1 < run.packets ? run.segment_bytes : run.bytes - at, n;
	struct eth_cursor payload;
	const uint8_t *data;

	memcpy(hdr, frame->seg[0].data, frame->seg[0].bytes);
	fw_run_hdr(hdr, i, &run);
	*packet = (struct fw_rx_frame){
	    .num_seg = 1,
	    .bytes = frame->seg[0].bytes + bytes + WIRE_DGRAM_CRC_BYTES,
	    .flags = frame->flags,
	    .run = 1,
	    .cookie = frame->cookie,
	};
	packet->seg[0] = (struct fw_rx_seg){hdr, frame->seg[0].bytes};
	eth_cursor_init(&payload, frame, frame->seg[0].bytes + at, bytes);
	while ((data = eth_cursor_next(&payload, bytes, &n)))
		packet->seg[packet->num_seg++] = (struct fw_rx_seg){data, n};
	packet->seg[packet->num_seg++] = (struct fw_rx_seg){
	    crcs + (size_t)i * WIRE_DGRAM_CRC_BYTES,
	    WIRE_DGRAM_CRC_BYTES,
	};
}

void eth_run_decline(struct fw_nic *nic)
{
	nic->net.run_taken = 0;
}

void eth_run_take(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	/* A drop on the way is that of the first packet. */
	nic->net.run_taken = 1;
	nic->net.run_checked = false;
	eth_rx_frame(nic, frame);
}

void eth_run_rx(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	uint8_t hdr[FW_RX_HDR_BYTES];
	struct fw_rx_frame packet;
	uint32_t i;

	if (!run_fits(frame)) {
		FW_DROP(nic, drop_too_short);
		return;
	}
	eth_run_take(nic, frame);
	if (__builtin_expect(nic->net.run_taken == frame->run, 1))
		return;
	for (i = nic->net.run_taken; i < frame->run; i++) {
		eth_run_cut(frame, i, hdr, &packet);
		if (nic->net.run_checked)
			packet.flags |= FW_RX_CRC_OK;
		eth_rx_frame(nic, &packet);
	}
}
