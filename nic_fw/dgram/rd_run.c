/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of RD (net/eth_run.c): packets of one message. Each packet keeps its PSN, and every rule of
 * RD holds for it.
 *
 * rd_tx.c sends runs and rd_rx.c takes them whole, also of packets that arrive one by one
 * (net/eth_join.c). Calls wqe_gather.c. fw_port.h, struct fw_tx_frame.
 */
#include "nic_fw/fw_nic.h"

enum {
	RUN_HDR_PIECES = 2,
	/* In the last packet of a message alone. */
	RUN_LAST_FLAGS = WIRE_DGRAM_F_IMM | WIRE_DGRAM_F_SOLICITED,
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

/* Makes what follows IPv4's header that of a packet: all that the CRC32C covers. */
static void rd_run_packet(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	struct run_hdr *h = (void *)hdr;
	uint32_t at = i * run->segment_bytes, less = eth_run_less_bytes(i, run);

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

static void rd_run_outer(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	struct run_hdr *h = (void *)hdr;
	uint32_t less = eth_run_less_bytes(i, run);

	h->ip.total_bytes = be16_put((uint16_t)(be16_get(h->ip.total_bytes) - less));
	h->ip.id = be16_put((uint16_t)(be16_get(h->ip.id) + i));
	h->ip.checksum = be16_put(0);
	h->ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &h->ip, sizeof(h->ip))));
}

static void rd_run_step(uint8_t *hdr, uint32_t segment_bytes)
{
	struct run_hdr *h = (void *)hdr;

	h->rd.psn = be32_put(be32_get(h->rd.psn) + 1);
	h->rd.used++;
	if (h->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED)
		h->ddp.tagged.to = be64_put(be64_get(h->ddp.tagged.to) + segment_bytes);
	else
		h->ddp.untagged.mo = be32_put(be32_get(h->ddp.untagged.mo) + segment_bytes);
}

/* ---- packets that arrive one by one -----------------------------------------------------------
 */

static uint32_t rd_run_begins(const uint8_t *hdr)
{
	const struct run_hdr *h = (const void *)hdr;

	if (be16_get(h->eth.type) != WIRE_ETHERTYPE_IPV4 ||
	    h->ip.version_ihl != WIRE_IP_VERSION_IHL || h->ip.proto != WIRE_IPPROTO_UDP ||
	    be16_get(h->udp.checksum) ||
	    h->dgram.ver_type != (WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD) ||
	    (h->dgram.flags & (WIRE_DGRAM_F_MORE | RUN_LAST_FLAGS | WIRE_DGRAM_F_RECORD)) !=
		WIRE_DGRAM_F_MORE ||
	    be32_get(h->dgram.imm) || h->ddp.tagged.ddp_ctrl & WIRE_DDP_LAST)
		return 0;
	return (uint32_t)offsetof(struct run_hdr, ddp) + (h->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED
							      ? (uint32_t)sizeof(h->ddp.tagged)
							      : (uint32_t)sizeof(h->ddp.untagged));
}

/* True if the DDP header is that of the same message, at bytes behind. */
static bool ddp_goes_on(const struct run_hdr *first, const struct run_hdr *h, uint32_t at)
{
	if ((first->ddp.tagged.ddp_ctrl ^ h->ddp.tagged.ddp_ctrl) & (uint8_t)~WIRE_DDP_LAST ||
	    first->ddp.tagged.rdmap_ctrl != h->ddp.tagged.rdmap_ctrl)
		return false;
	if (h->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED)
		return be32_get(first->ddp.tagged.stag) == be32_get(h->ddp.tagged.stag) &&
		       be64_get(first->ddp.tagged.to) + at == be64_get(h->ddp.tagged.to);
	return be32_get(first->ddp.untagged.msn) == be32_get(h->ddp.untagged.msn) &&
	       be32_get(first->ddp.untagged.mo) + at == be32_get(h->ddp.untagged.mo);
}

static bool rd_run_goes_on(const uint8_t *first, const uint8_t *hdr, uint32_t i,
			   uint32_t segment_bytes, bool *ends)
{
	const struct run_hdr *f = (const void *)first, *h = (const void *)hdr;
	uint8_t flags = h->dgram.flags;

	/* A packet that ends a message, or the sender's turn, is the last of its run. */
	*ends = (flags & (WIRE_DGRAM_F_MORE | RUN_LAST_FLAGS)) != WIRE_DGRAM_F_MORE ||
		h->ddp.tagged.ddp_ctrl & WIRE_DDP_LAST;
	return h->dgram.ver_type == f->dgram.ver_type &&
	       !((flags ^ f->dgram.flags) &
		 (uint8_t) ~(WIRE_DGRAM_F_MORE | WIRE_DGRAM_F_ECE | RUN_LAST_FLAGS)) &&
	       be32_get(h->dgram.dst_qpn) == be32_get(f->dgram.dst_qpn) &&
	       be32_get(h->dgram.src_qpn) == be32_get(f->dgram.src_qpn) &&
	       be32_get(h->dgram.ssn) == be32_get(f->dgram.ssn) &&
	       be32_get(h->rd.psn) == be32_get(f->rd.psn) + i &&
	       be32_get(h->rd.ack) == be32_get(f->rd.ack) &&
	       be32_get(h->rd.timestamp) == be32_get(f->rd.timestamp) &&
	       h->rd.used == (uint8_t)(f->rd.used + i) && h->rd.limit == f->rd.limit &&
	       be16_get(h->rd.flow_distance) == 1 && ddp_goes_on(f, h, i * segment_bytes);
}

static void rd_run_end(uint8_t *hdr, const uint8_t *last)
{
	const struct run_hdr *l = (const void *)last;
	struct run_hdr *h = (void *)hdr;

	h->dgram.flags = (uint8_t)((h->dgram.flags & WIRE_DGRAM_F_ECE) |
				   (l->dgram.flags & (uint8_t)~WIRE_DGRAM_F_ECE));
	h->dgram.imm = l->dgram.imm;
	h->ddp.tagged.ddp_ctrl = l->ddp.tagged.ddp_ctrl;
}

const struct eth_run_kind rd_run_kind = {
    .least_bytes = offsetof(struct run_hdr, ddp) + sizeof(struct wire_ddp_tagged),
    .front_at = offsetof(struct run_hdr, udp),
    .back_at = offsetof(struct run_hdr, rd),
    .outer = rd_run_outer,
    .packet = rd_run_packet,
    .step = rd_run_step,
    .begins = rd_run_begins,
    .goes_on = rd_run_goes_on,
    .end = rd_run_end,
};
