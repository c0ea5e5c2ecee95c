/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of RD: packets of one message that leave in one turn cross a port that needs no single
 * frames, the built-in switch, as one frame. Each packet keeps its PSN, and every rule of RD holds
 * for it; what a run saves is the way of each frame, and headers, checks and a copy for each.
 *
 * rd_tx.c sends runs and rd_rx.c takes them whole. A run that any floor drops, or that is declined,
 * is cut, and its packets come one by one (rd_run_rx()). fw_run_hdr() makes the headers of each
 * packet, also for ports that show frames (captures), and fw_run_crc_next() their CRC32C. Calls
 * wqe_gather.c, eth_rx_frame(). fw_port.h, struct fw_tx_frame.
 */
#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"

enum {
	RUN_HDR_PIECES = 2,
};

enum hw_vendor_err rd_run_gather(struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
				 uint32_t bytes, struct fw_tx_frame *frame, uint32_t *num_seg)
{
	enum hw_vendor_err err;
	bool host = false;

	frame->num_seg = RUN_HDR_PIECES;
	err = wqe_gather(nic, msg, offset, bytes, frame, &host);
	*num_seg = frame->num_seg;
	frame->num_seg = 0;
	return host ? HW_VENDOR_ERR_HOST_FAULT : err;
}

void rd_run_seal(struct fw_tx_frame *frame, uint32_t num_seg, uint32_t n, uint32_t segment_bytes)
{
	assert(frame->num_seg == RUN_HDR_PIECES && n <= FW_RUN_MAX);
	frame->num_seg = num_seg;
	frame->run = (uint16_t)n;
	frame->run_bytes = (uint16_t)segment_bytes;
}

void rd_run_part(const struct rdmap_seg *run, uint32_t at, uint32_t bytes, struct rdmap_seg *part)
{
	*part = *run;
	part->data_offset += at;
	part->data_bytes = bytes;
	if (run->tagged)
		part->to += at;
	else
		part->mo += at;
	if (at + bytes < run->data_bytes) {
		part->last = false;
		part->flags &= (uint8_t) ~(WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED);
		part->imm = 0;
	}
}

/* The headers of RD up to the end of DDP's, as they lie in a frame. */
struct run_hdr {
	struct wire_eth eth;
	struct wire_ip ip;
	struct wire_udp udp;
	struct wire_dgram dgram;
	struct wire_rd rd;
	union {
		struct wire_ddp_tagged tagged;
		struct wire_ddp_untagged untagged;
	} ddp;
};

/* Bytes that a packet is shorter than the first. */
static uint32_t less_bytes(uint32_t i, const struct fw_run *run)
{
	return i + 1 < run->packets ? 0 : run->packets * run->segment_bytes - run->bytes;
}

/* Makes what follows IPv4's header that of a packet: all that the CRC32C covers. */
static void run_datagram(struct run_hdr *h, uint32_t i, const struct fw_run *run)
{
	uint32_t at = i * run->segment_bytes, less = less_bytes(i, run);

	h->udp.bytes = be16_put((uint16_t)(be16_get(h->udp.bytes) - less));
	h->rd.psn = be32_put(be32_get(h->rd.psn) + i);
	h->rd.used = (uint8_t)(h->rd.used + i);
	if (h->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED)
		h->ddp.tagged.to = be64_put(be64_get(h->ddp.tagged.to) + at);
	else
		h->ddp.untagged.mo = be32_put(be32_get(h->ddp.untagged.mo) + at);
	if (i) {
		h->rd.flow_distance = be16_put(1);
		h->dgram.flags &= (uint8_t)~WIRE_DGRAM_F_ECE;
	}
	if (i + 1 < run->packets) {
		h->ddp.tagged.ddp_ctrl &= (uint8_t)~WIRE_DDP_LAST;
		h->dgram.flags &= (uint8_t) ~(WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED);
		h->dgram.flags |= WIRE_DGRAM_F_MORE;
		h->dgram.imm = be32_put(0);
	}
}

void fw_run_hdr(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	struct run_hdr *h = (void *)hdr;
	uint32_t less = less_bytes(i, run);

	h->ip.total_bytes = be16_put((uint16_t)(be16_get(h->ip.total_bytes) - less));
	h->ip.id = be16_put((uint16_t)(be16_get(h->ip.id) + i));
	h->ip.checksum = be16_put(0);
	h->ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &h->ip, sizeof(h->ip))));
	run_datagram(h, i, run);
}

enum {
	RUN_FRONT_AT = offsetof(struct run_hdr, udp), /* the CRC32C begins here */
	RUN_BACK_AT = offsetof(struct run_hdr, rd),
};

void fw_run_crc_begin(struct fw_run_crc *crc, const struct fw_run *run, const uint8_t *hdr,
		      uint32_t bytes,
		      uint32_t (*crc32c)(uint32_t crc, const void *data, size_t bytes))
{
	assert(bytes > RUN_BACK_AT && bytes <= sizeof(crc->hdr));
	crc->run = *run;
	crc->of_run = hdr;
	crc->bytes = bytes;
	crc->packets = 0;
	crc->crc32c = crc32c;
}

/* Turns headers of a packet between the first and the last into those of the next such packet. */
static void run_step(struct run_hdr *h, uint32_t segment_bytes)
{
	h->rd.psn = be32_put(be32_get(h->rd.psn) + 1);
	h->rd.used++;
	if (h->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED)
		h->ddp.tagged.to = be64_put(be64_get(h->ddp.tagged.to) + segment_bytes);
	else
		h->ddp.untagged.mo = be32_put(be32_get(h->ddp.untagged.mo) + segment_bytes);
}

uint32_t fw_run_crc_next(struct fw_run_crc *crc)
{
	uint32_t i = crc->packets++, value;

	if (i < 2 || i + 1 == crc->run.packets) {
		memcpy(crc->hdr, crc->of_run, crc->bytes);
		run_datagram((void *)crc->hdr, i, &crc->run);
		crc->front = crc->crc32c(FW_CRC32C_INIT, crc->hdr + RUN_FRONT_AT,
					 RUN_BACK_AT - RUN_FRONT_AT);
	}
	value = crc->crc32c(crc->front, crc->hdr + RUN_BACK_AT, crc->bytes - RUN_BACK_AT);
	/* Early: numbers that were just stored in parts are slow to read as words. */
	run_step((void *)crc->hdr, crc->run.segment_bytes);
	return value;
}

enum {
	RUN_HDR_LEAST = offsetof(struct run_hdr, ddp) + sizeof(struct wire_ddp_tagged),
};

/* True if a frame has room for its headers and the payload of each packet, and for CRC32Cs. */
static bool run_fits(const struct fw_rx_frame *frame)
{
	const struct fw_rx_seg *crcs;
	uint32_t bytes;

	if (frame->num_seg < 3)
		return false;
	crcs = &frame->seg[frame->num_seg - 1];
	if (frame->run > FW_RUN_MAX || frame->seg[0].bytes < RUN_HDR_LEAST ||
	    frame->seg[0].bytes > FW_RX_HDR_BYTES ||
	    crcs->bytes != frame->run * WIRE_DGRAM_CRC_BYTES ||
	    frame->bytes <= frame->seg[0].bytes + crcs->bytes)
		return false;
	bytes = frame->bytes - frame->seg[0].bytes - crcs->bytes;
	return bytes > (frame->run - 1u) * frame->run_bytes &&
	       bytes <= (uint32_t)frame->run * frame->run_bytes;
}

/* Returns the run of a frame that fits. */
static struct fw_run run_of(const struct fw_rx_frame *frame)
{
	uint32_t crc_bytes = frame->run * (uint32_t)WIRE_DGRAM_CRC_BYTES;

	return (struct fw_run){
	    .packets = frame->run,
	    .segment_bytes = frame->run_bytes,
	    .bytes = frame->bytes - frame->seg[0].bytes - crc_bytes,
	};
}

bool rd_run_crc_ok(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	const struct fw_run run = run_of(frame);
	const uint8_t *crcs = frame->seg[frame->num_seg - 1].data;
	struct fw_rx_seg piece = frame->seg[1];
	struct fw_run_crc headers;
	uint32_t next = 2, i;

	fw_run_crc_begin(&headers, &run, frame->seg[0].data, frame->seg[0].bytes, nic->port.crc32c);
	for (i = 0; i < run.packets; i++) {
		uint32_t left = run.segment_bytes - less_bytes(i, &run);
		uint32_t crc = fw_run_crc_next(&headers);
		struct be32 want;

		for (; left > piece.bytes; piece = frame->seg[next++]) {
			crc = nic->port.crc32c(crc, piece.data, piece.bytes);
			left -= piece.bytes;
		}
		crc = nic->port.crc32c(crc, piece.data, left);
		piece.data += left;
		piece.bytes -= left;
		want = fw_crc32c_wire(crc);
		if (memcmp(&want, crcs + (size_t)i * sizeof(want), sizeof(want)) != 0)
			return false;
	}
	FW_ADD(nic, rx_crc_checked, run.packets);
	nic->net.run_checked = true;
	return true;
}

/* Makes the frame of one packet of a run; hdr: FW_RX_HDR_BYTES for its headers. */
static void cut(const struct fw_rx_frame *frame, const struct fw_run *run, uint32_t i, uint8_t *hdr,
		struct fw_rx_frame *packet)
{
	const uint8_t *crcs = frame->seg[frame->num_seg - 1].data;
	uint32_t at = i * run->segment_bytes;
	uint32_t bytes = i + 1 < run->packets ? run->segment_bytes : run->bytes - at, n;
	struct eth_cursor payload;
	const uint8_t *data;

	memcpy(hdr, frame->seg[0].data, frame->seg[0].bytes);
	fw_run_hdr(hdr, i, run);
	*packet = (struct fw_rx_frame){
	    .num_seg = 1,
	    .bytes = frame->seg[0].bytes + bytes + WIRE_DGRAM_CRC_BYTES,
	    .flags = frame->flags,
	    .run = 1,
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

void rd_run_decline(struct fw_nic *nic)
{
	nic->net.run_taken = 0;
}

void rd_run_rx(struct fw_nic *nic, const struct fw_rx_frame *frame)
{
	uint8_t hdr[FW_RX_HDR_BYTES];
	struct fw_rx_frame packet;
	struct fw_run run;
	uint32_t i;

	if (!run_fits(frame)) {
		FW_DROP(nic, drop_dgram_type);
		return;
	}
	/* A drop on the way is that of the first packet. */
	nic->net.run_taken = 1;
	nic->net.run_checked = false;
	eth_rx_frame(nic, frame);
	if (__builtin_expect(nic->net.run_taken == frame->run, 1))
		return;
	run = run_of(frame);
	for (i = nic->net.run_taken; i < run.packets; i++) {
		cut(frame, &run, i, hdr, &packet);
		if (nic->net.run_checked)
			packet.flags |= FW_RX_CRC_OK;
		eth_rx_frame(nic, &packet);
	}
}
