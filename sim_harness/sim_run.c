/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of packets in one frame (struct fw_tx_frame), as ports of weftd's built-in switch pass them.
 *
 * The network has packets alone: a run is cut when it is sent, and each packet has a fate of its
 * own. Packets of a run that reach a NIC one behind the other, with their payload still in their
 * sender's memory, come to its firmware as a run again: a whole one, or what losses, copies and the
 * end of a turn have left of it.
 *
 * Used by sim_port.c. Calls fw_run_hdr().
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <string.h>

#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"
#include "shared_defs/wire_iwarp.h"
#include "shared_defs/wire_mpa.h"
#include "shared_defs/wire_tcp.h"

enum {
	RUN_DGRAM_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip) + sizeof(struct wire_udp),
	RUN_TCP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	RUN_ESP_AT = sizeof(struct wire_eth) + sizeof(struct wire_edp),
	RUN_DDP_AT = RUN_DGRAM_AT + sizeof(struct wire_dgram) + sizeof(struct wire_rd),
	RUN_LAST_FLAGS = WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED | WIRE_DGRAM_F_MORE,
	RUN_HDR_PIECES = 2,
};

uint32_t sim_run_limit(void *ctx, const uint8_t mac[6])
{
	(void)ctx, (void)mac;
	return FW_RUN_MAX;
}

struct fw_run sim_run_of(const struct fw_tx_frame *frame)
{
	struct fw_run run = {.packets = frame->run, .segment_bytes = frame->run_bytes};
	uint32_t i;

	assert(frame->run <= FW_RUN_MAX && frame->num_seg > RUN_HDR_PIECES);
	for (i = RUN_HDR_PIECES; i < frame->num_seg; i++) {
		assert(frame->seg[i].kind == FW_TX_MEM);
		run.bytes += frame->seg[i].bytes;
	}
	assert(run.bytes <= FW_RUN_BYTES && run.segment_bytes &&
	       (run.bytes - 1) / run.segment_bytes + 1 == run.packets);
	return run;
}

/* Copies the payload's pieces of a packet. */
static void put_pieces(const struct fw_tx_frame *frame, uint32_t skip, uint32_t left,
		       struct fw_tx_frame *packet)
{
	uint32_t i;

	for (i = RUN_HDR_PIECES; i < frame->num_seg && left; i++) {
		struct fw_tx_seg seg = frame->seg[i];

		if (skip >= seg.bytes) {
			skip -= seg.bytes;
			continue;
		}
		seg.mem += skip;
		seg.bytes -= skip;
		if (seg.bytes > left)
			seg.bytes = left;
		seg.flags = 0;
		skip = 0;
		left -= seg.bytes;
		packet->bytes += seg.bytes;
		packet->seg[packet->num_seg++] = seg;
	}
}

/* Ends a packet with its CRC32C, or with zeros. */
static void put_crc(const struct fw_tx_frame *frame, struct fw_tx_frame *packet)
{
	enum {
		ZEROS_AT = FW_TX_HDR_BYTES - WIRE_DGRAM_CRC_BYTES,
	};

	packet->bytes += WIRE_DGRAM_CRC_BYTES;
	if (frame->seg[frame->num_seg - 1].flags & FW_TX_F_CRC_END) {
		packet->seg[packet->num_seg - 1].flags = FW_TX_F_CRC_END;
		return;
	}
	memset(packet->hdr + ZEROS_AT, 0, WIRE_DGRAM_CRC_BYTES);
	packet->seg[packet->num_seg++] =
	    (struct fw_tx_seg){.kind = FW_TX_HDR, .addr = ZEROS_AT, .bytes = WIRE_DGRAM_CRC_BYTES};
}

void sim_run_packet(const struct fw_tx_frame *frame, const struct fw_run *run, uint32_t i,
		    struct fw_tx_frame *packet)
{
	uint32_t at = i * run->segment_bytes, p;

	*packet = (struct fw_tx_frame){
	    .flags = frame->flags,
	    .run = 1,
	    .csum_start = frame->csum_start,
	    .csum_at = frame->csum_at,
	};
	memcpy(packet->hdr, frame->hdr, sizeof(packet->hdr));
	fw_run_hdr(packet->hdr, i, run);
	for (p = 0; p < RUN_HDR_PIECES; p++) {
		packet->seg[packet->num_seg++] = frame->seg[p];
		packet->bytes += frame->seg[p].bytes;
	}
	put_pieces(frame, at, i + 1 < run->packets ? run->segment_bytes : run->bytes - at, packet);
	put_crc(frame, packet);
}

/* True if the packet behind those of a frame belongs to it. */
static bool joins(const struct sim_pkt *first, const struct sim_pkt *next, uint32_t packets)
{
	return next && next->run && next->run == first->run && next->loan &&
	       next->run_at == first->run_at + packets;
}

/* Packets of a group have no end. */
static void join_esp(struct sim_pkt *first, const struct sim_pkt *last)
{
	const struct wire_edp *edp = (const void *)(first->data + sizeof(struct wire_eth));
	const struct wire_esp *from = (const void *)(last->data + RUN_ESP_AT);
	struct wire_esp *to = (void *)(first->data + RUN_ESP_AT);

	if ((edp->ver_type & 0x0f) == WIRE_EDP_ESP)
		to->flags |= from->flags & (WIRE_ESP_TXR | WIRE_ESP_TXF);
}

/* The port of weftd's switch leaves the checksum out, and says that it is right. */
static void join_tcp(struct sim_pkt *first, const struct sim_pkt *last, struct fw_rx_frame *run)
{
	const struct wire_tcp *from = (const void *)(last->data + RUN_TCP_AT);
	struct wire_tcp *to = (void *)(first->data + RUN_TCP_AT);
	uint32_t ddp_at = RUN_TCP_AT + (to->data_offset >> 4) * 4u + sizeof(struct wire_mpa_fpdu);

	to->flags |= from->flags & WIRE_TCP_PSH;
	first->data[ddp_at] |= last->data[ddp_at] & WIRE_DDP_LAST;
	run->flags |= FW_RX_CSUM_OK;
}

/* The last packet alone has the end of the message. */
static void join_hdr(struct sim_pkt *first, const struct sim_pkt *last, struct fw_rx_frame *run)
{
	const struct wire_eth *eth = (const void *)first->data;
	const struct wire_ip *ip = (const void *)(eth + 1);
	const struct wire_dgram *from = (const void *)(last->data + RUN_DGRAM_AT);
	struct wire_dgram *to = (void *)(first->data + RUN_DGRAM_AT);

	if (be16_get(eth->type) == WIRE_ETHERTYPE_ESP) {
		join_esp(first, last);
		return;
	}
	if (ip->proto == WIRE_IPPROTO_TCP) {
		join_tcp(first, last, run);
		return;
	}
	to->flags &= (uint8_t)~RUN_LAST_FLAGS;
	to->flags |= from->flags & RUN_LAST_FLAGS;
	to->imm = from->imm;
	first->data[RUN_DDP_AT] |= last->data[RUN_DDP_AT] & WIRE_DDP_LAST;
}

/* Adds a piece, to the one before it if it follows in memory. False: no room. */
static bool add_piece(struct fw_rx_frame *frame, struct fw_rx_seg piece)
{
	struct fw_rx_seg *last = &frame->seg[frame->num_seg - 1];

	if (frame->num_seg > 1 && last->data + last->bytes == piece.data) {
		last->bytes += piece.bytes;
	} else if (frame->num_seg < FW_RX_SEGS_MAX - 1) {
		frame->seg[frame->num_seg++] = piece;
	} else {
		return false;
	}
	frame->bytes += piece.bytes;
	return true;
}

static bool add_packet(struct fw_rx_frame *frame, struct sim_pkt *pkt)
{
	uint32_t i;

	for (i = 0; i < pkt->loan->num_pieces; i++)
		if (!add_piece(frame, pkt->loan->piece[i]))
			return false;
	return true;
}

static const uint8_t *crc_of(const struct sim_pkt *pkt)
{
	return pkt->data + pkt->bytes - WIRE_DGRAM_CRC_BYTES;
}

uint32_t sim_run_join(struct sim_shard *shard, struct sim_pkt *pkt, struct fw_rx_frame *frame,
		      uint32_t limit)
{
	struct fw_rx_frame run = {.num_seg = 1, .flags = frame->flags, .cookie = frame->cookie};
	struct sim_pkt *last = pkt, *next;
	uint32_t packets = 1;

	if (!pkt->run || !pkt->loan || !joins(pkt, shard->rx_head, 1))
		return 1;
	run.seg[0] = (struct fw_rx_seg){pkt->data, pkt->loan->at};
	run.bytes = pkt->loan->at;
	run.run_bytes = (uint16_t)(pkt->bytes - pkt->loan->at - WIRE_DGRAM_CRC_BYTES);
	if (!add_packet(&run, pkt))
		return 1;
	memcpy(pkt->crcs, crc_of(pkt), WIRE_DGRAM_CRC_BYTES);
	for (; packets < limit && joins(pkt, next = shard->rx_head, packets); packets++) {
		struct fw_rx_frame more = run;

		if (!add_packet(&more, next))
			break;
		run = more;
		shard->rx_head = next->next;
		if (!shard->rx_head)
			shard->rx_tail = NULL;
		shard->rx_frames--;
		sim_pkt_spoil(next);
		memcpy(pkt->crcs[packets], crc_of(next), WIRE_DGRAM_CRC_BYTES);
		next->loan->shown = true;
		next->next = next->prev = NULL;
		last->more = next;
		last = next;
	}
	if (packets == 1)
		return 1;
	join_hdr(pkt, last, &run);
	pkt->loan->shown = true;
	run.seg[run.num_seg++] = (struct fw_rx_seg){pkt->crcs[0], packets * WIRE_DGRAM_CRC_BYTES};
	run.bytes += packets * WIRE_DGRAM_CRC_BYTES;
	run.run = (uint16_t)packets;
	*frame = run;
	shard->nic->runs++;
	shard->nic->run_packets += packets;
	return packets;
}

uint64_t sim_nic_runs(const struct sim_nic *nic, uint64_t *packets)
{
	*packets = nic->run_packets;
	return nic->runs;
}
