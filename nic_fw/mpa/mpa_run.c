/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of FPDUs (net/eth_run.c, tcp/tcp_run.c): the next FPDUs of a message, one in each segment of
 * TCP, are cut and leave together; and the headers of each, from those of the run.
 *
 * FPDUs of a run have no markers and no padding. Each has its record (mpa_seg), and is sent
 * again alone. Calls mpa_tx.c, rdmap_tx.c, wqe_gather.c. mpa_rx.c takes runs. RFC 5044 4.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/mpa/mpa_cut.h"
#include "nic_fw/mpa/mpa_fpdu.h"
#include "nic_fw/tcp/tcp_run.h"

/* ---- cutting --------------------------------------------------------------------------------- */

/* Returns the message whose next segments may be a run, or NULL. */
static struct fw_wqe *next_msg(const struct mpa_conn *conn)
{
	struct fw_wqe *msg;

	if (conn->state != MPA_FPDU || conn->setup || conn->faulty || conn->rtr_due ||
	    conn->param.tx_markers || fw_list_empty(&conn->out))
		return NULL;
	msg = FW_CONTAINER(conn->out.next, struct fw_wqe, flow_node);
	/* Slots of inline data are not lent: mpa_tx.c. */
	if (rdmap_tx_is_self_contained(msg->rdmap_opcode) || msg->flags & HW_WQE_F_INLINE ||
	    msg->tag_kind || msg->tag_handle || (mpa_cut_has_imm(msg) && msg->wrote))
		return NULL;
	return msg;
}

/* Makes the records of the segments, which have data bytes each, bytes in all. */
static void make_segs(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg, uint32_t hdr,
		      uint32_t data, uint32_t bytes, struct fw_list *segs)
{
	struct tcp_seg *seg = NULL;
	uint32_t at, n;

	for (at = 0; at < bytes; at += n) {
		n = bytes - at < data ? bytes - at : data;
		seg = mpa_cut_seg(nic, conn, msg, MPA_SEG_DATA, hdr + n);
		assert(seg);
		mpa_seg_of(seg)->offset = msg->sent_bytes + at;
		mpa_seg_of(seg)->bytes = n;
		fw_list_add_tail(segs, &seg->node);
	}
	mpa_cut_note(nic, conn, msg, bytes, seg);
}

/* Adds header and payload of a run to its frame. False: it cannot go as one. */
static bool fill_run(struct fw_nic *nic, const struct fw_wqe *msg, bool crc, uint32_t hdr,
		     uint32_t data, uint32_t bytes, struct fw_tx_frame *frame, uint32_t at)
{
	struct be16 length = be16_put((uint16_t)(hdr + data));
	bool host = false;

	memcpy(frame->hdr + at, &length, sizeof(length));
	(void)rdmap_tx_header(nic, msg, msg->sent_bytes, bytes, frame->hdr + at + sizeof(length));
	eth_tx_hdr(frame, at, MPA_LENGTH_BYTES + hdr, crc ? FW_TX_F_CRC_BEGIN : 0);
	if (wqe_gather(nic, msg, msg->sent_bytes, bytes, frame, &host) != HW_VENDOR_ERR_NONE ||
	    host)
		return false;
	if (crc)
		frame->seg[frame->num_seg - 1].flags |= FW_TX_F_CRC_END;
	frame->run_bytes = (uint16_t)data;
	frame->flags |= FW_TX_F_BORROW;
	return true;
}

uint32_t mpa_run_next(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max, uint32_t most,
		      struct fw_tx_frame *frame, uint32_t hdr_offset, struct fw_list *segs)
{
	struct mpa_conn *conn = mpa_of(flow);
	struct fw_wqe *msg = next_msg(conn);
	uint32_t left, hdr, room, data, bytes, n;

	if (!msg)
		return 0;
	left = msg->bytes - msg->sent_bytes;
	hdr = mpa_cut_header_bytes(conn, msg, MPA_SEG_DATA);
	room = mpa_plain_room(conn->tx_bytes, max, false);
	if (room <= MPA_FRAME_BYTES + hdr || room > MPA_PLAIN_MAX)
		return 0;
	data = room - MPA_FRAME_BYTES - hdr;
	n = tcp_min(tcp_min(most, FW_RUN_BYTES / data), (left + data - 1) / data);
	bytes = tcp_min(n * data, left);
	/* The last one would need padding. */
	if (bytes % 4)
		bytes = --n * data;
	if (n < 2 || bytes < FW_RUN_LEAST_BYTES || nic->mpa.segs.max - nic->mpa.segs.used < n ||
	    !fill_run(nic, msg, conn->param.crc, hdr, data, bytes, frame, hdr_offset))
		return 0;
	make_segs(nic, conn, msg, hdr, data, bytes, segs);
	return n;
}

/* ---- headers of each ------------------------------------------------------------------------- */

/* The headers before TCP's options. */
struct run_hdr {
	struct wire_eth eth;
	struct wire_ip ip;
	struct wire_tcp tcp;
};

/* And those behind. */
struct run_fpdu {
	struct wire_mpa_fpdu fpdu;
	union {
		struct wire_ddp_tagged tagged;
		struct wire_ddp_untagged untagged;
	} ddp;
};

static struct run_fpdu *fpdu_of(uint8_t *hdr)
{
	const struct run_hdr *h = (const void *)hdr;

	return (void *)(hdr + offsetof(struct run_hdr, tcp) + (h->tcp.data_offset >> 4) * 4u);
}

static void mpa_run_outer(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	uint32_t less = eth_run_less_bytes(i, run), total, fpdu_bytes;
	struct run_hdr *h = (void *)hdr;

	fpdu_bytes = MPA_FRAME_BYTES + run->segment_bytes +
		     (fpdu_of(hdr)->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED
			  ? (uint32_t)sizeof(struct wire_ddp_tagged)
			  : (uint32_t)sizeof(struct wire_ddp_untagged));
	h->tcp.seq = be32_put(be32_get(h->tcp.seq) + i * fpdu_bytes);
	if (i + 1 < run->packets)
		h->tcp.flags &= (uint8_t)~WIRE_TCP_PSH;
	total = be16_get(h->ip.total_bytes) - less;
	if (less)
		h->tcp.checksum = be16_put((uint16_t)tcp_pseudo_sum(
		    h->ip.src, h->ip.dst, total - (uint32_t)sizeof(h->ip)));
	h->ip.total_bytes = be16_put((uint16_t)total);
	h->ip.id = be16_put((uint16_t)(be16_get(h->ip.id) + i));
	h->ip.checksum = be16_put(0);
	h->ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &h->ip, sizeof(h->ip))));
}

static void mpa_run_packet(uint8_t *hdr, uint32_t i, const struct fw_run *run)
{
	uint32_t at = i * run->segment_bytes;
	struct run_fpdu *f = fpdu_of(hdr);

	f->fpdu.ulpdu_bytes =
	    be16_put((uint16_t)(be16_get(f->fpdu.ulpdu_bytes) - eth_run_less_bytes(i, run)));
	if (f->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED)
		f->ddp.tagged.to = be64_put(be64_get(f->ddp.tagged.to) + at);
	else
		f->ddp.untagged.mo = be32_put(be32_get(f->ddp.untagged.mo) + at);
	if (i + 1 < run->packets)
		f->ddp.tagged.ddp_ctrl &= (uint8_t)~WIRE_DDP_LAST;
}

static void mpa_run_step(uint8_t *hdr, uint32_t segment_bytes)
{
	struct run_fpdu *f = fpdu_of(hdr);

	if (f->ddp.tagged.ddp_ctrl & WIRE_DDP_TAGGED)
		f->ddp.tagged.to = be64_put(be64_get(f->ddp.tagged.to) + segment_bytes);
	else
		f->ddp.untagged.mo = be32_put(be32_get(f->ddp.untagged.mo) + segment_bytes);
}

/* In common: the length field, control and STag, or as much of an untagged header. */
#define MPA_RUN_KIND(options_bytes)                                                                \
	{                                                                                          \
		.least_bytes = sizeof(struct run_hdr) + (options_bytes) +                          \
			       offsetof(struct run_fpdu, ddp) + sizeof(struct wire_ddp_tagged),    \
		.front_at = sizeof(struct run_hdr) + (options_bytes),                              \
		.back_at = sizeof(struct run_hdr) + (options_bytes) +                              \
			   offsetof(struct run_fpdu, ddp.tagged.to),                               \
		.outer = mpa_run_outer, .packet = mpa_run_packet, .step = mpa_run_step,            \
	}

const struct eth_run_kind mpa_run_kind = MPA_RUN_KIND(0);
const struct eth_run_kind mpa_run_ts_kind = MPA_RUN_KIND(WIRE_TCP_TS_PADDED_BYTES);
