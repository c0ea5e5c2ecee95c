/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA, sending: cuts messages into FPDUs, one in each segment of TCP.
 *
 * Calls rdmap_tx.c for headers, wqe_gather.c for payload, and mpa_rdmap.c when a message is
 * acknowledged. An FPDU is made anew from the client's memory whenever it is sent. The usual FPDU
 * is whole and without markers; the port gathers it from pieces and adds the CRC32C. All others are
 * assembled in the scratch memory. RFC 5044 4, 5.
 */
#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "nic_fw/mpa/mpa_cut.h"
#include "nic_fw/mpa/mpa_fpdu.h"

enum {
	RTR_STAG = 1, /* STag of a frame without data; receivers ignore it */
	PAD_MAX_BYTES = 3,
	TAIL_BYTES = PAD_MAX_BYTES + WIRE_MPA_CRC_BYTES,
	ULPDU_HDR_MAX = sizeof(struct wire_ddp_untagged) + MPA_TERM_MAX,
	TCP_HDRS_MAX = sizeof(struct wire_eth) + sizeof(struct wire_ip) + 60,
};
static_assert((int)TCP_HDRS_MAX + (int)MPA_LENGTH_BYTES + (int)RDMAP_HDR_MAX + (int)TAIL_BYTES <=
		  (int)FW_TX_HDR_BYTES,
	      "headers and what stands behind the payload fit the frame");
static_assert((int)ULPDU_HDR_MAX >= (int)RDMAP_HDR_MAX, "the Terminate is the longest");
static_assert((int)FW_TX_SEGS_MAX >= (int)HW_MAX_SGE + 3, "headers of TCP, of ours, the end");

/* ---- headers of a segment ------------------------------------------------------------------- */

static uint32_t mpa_tx_put_untagged(uint8_t *dst, uint8_t opcode, uint32_t qn, uint32_t msn)
{
	struct wire_ddp_untagged h = {
	    .ddp_ctrl = WIRE_DDP_VERSION | WIRE_DDP_LAST,
	    .rdmap_ctrl = (uint8_t)(WIRE_RDMAP_VERSION | opcode),
	    .qn = be32_put(qn),
	    .msn = be32_put(msn),
	};

	memcpy(dst, &h, sizeof(h));
	return sizeof(h);
}

/*
 * Writes immediate data of a Write (RFC 7306 6): 8 bytes, of which verbs define the first four. The
 * message counts among the Sends.
 */
static uint32_t put_immediate(const struct fw_wqe *msg, uint8_t *dst)
{
	bool se = msg->flags & HW_WQE_F_SOLICITED;
	uint32_t n = mpa_tx_put_untagged(dst, se ? WIRE_RDMAP_IMMEDIATE_SE : WIRE_RDMAP_IMMEDIATE,
					 WIRE_QN_SEND, msg->msn);

	memset(dst + n, 0, WIRE_IMMEDIATE_BYTES);
	memcpy(dst + n, &msg->imm_inv, sizeof(msg->imm_inv));
	return n + WIRE_IMMEDIATE_BYTES;
}

static uint32_t put_rtr(const struct mpa_conn *conn, uint8_t *dst)
{
	struct wire_ddp_tagged write = {
	    .ddp_ctrl = WIRE_DDP_TAGGED | WIRE_DDP_VERSION | WIRE_DDP_LAST,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_WRITE,
	    .stag = be32_put(RTR_STAG),
	};
	struct wire_read_request read = {
	    .sink_stag = be32_put(RTR_STAG),
	    .src_stag = be32_put(RTR_STAG),
	};
	uint32_t n;

	switch (conn->param.rtr) {
	case WIRE_MPA_RTR_SEND:
		return mpa_tx_put_untagged(dst, WIRE_RDMAP_SEND, WIRE_QN_SEND, 1);
	case WIRE_MPA_RTR_READ:
		n = mpa_tx_put_untagged(dst, WIRE_RDMAP_READ_REQUEST, WIRE_QN_READ_REQUEST, 1);
		memcpy(dst + n, &read, sizeof(read));
		return n + (uint32_t)sizeof(read);
	default:
		memcpy(dst, &write, sizeof(write));
		return sizeof(write);
	}
}

/* Writes the Terminate's DDP header and control word; the connection holds the quoted headers. */
static uint32_t put_term(const struct fw_nic *nic, const struct mpa_conn *conn, uint8_t *dst)
{
	uint32_t n = mpa_tx_put_untagged(dst, WIRE_RDMAP_TERMINATE, WIRE_QN_TERMINATE, 1);

	memcpy(dst + n, mpa_term(nic, conn), conn->term_bytes);
	return n + conn->term_bytes;
}

/* Writes all of the ULPDU but payload in memory of the process. Returns its length. */
static uint32_t mpa_tx_put_header(const struct fw_nic *nic, const struct mpa_conn *conn,
				  const struct mpa_seg *seg, uint8_t *dst)
{
	switch ((enum mpa_seg_kind)seg->kind) {
	case MPA_SEG_DATA:
		return rdmap_tx_header(nic, seg->msg, seg->offset, seg->bytes, dst);
	case MPA_SEG_IMM:
		return put_immediate(seg->msg, dst);
	case MPA_SEG_RTR:
		return put_rtr(conn, dst);
	case MPA_SEG_TERM:
		return put_term(nic, conn, dst);
	}
	return 0;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Checks that all memory under a segment is still registered; only then the segment may be cut. */
static enum hw_vendor_err check_memory(struct fw_nic *nic, const struct fw_wqe *msg,
				       uint32_t offset, uint32_t bytes)
{
	struct fw_tx_frame frame;
	bool host = false;

	frame.num_seg = 0;
	frame.bytes = 0;
	return bytes ? wqe_gather(nic, msg, offset, bytes, &frame, &host) : HW_VENDOR_ERR_NONE;
}

/* Returns the payload bytes of the next FPDU, which takes at most room plain bytes. 0: no room. */
static uint32_t mpa_tx_cut(const struct mpa_conn *conn, uint32_t hdr, uint32_t left, uint32_t room)
{
	uint32_t data, end;

	if (room <= MPA_FRAME_BYTES + hdr)
		return 0;
	data = room - MPA_FRAME_BYTES - hdr;
	if (data >= left)
		return left;
	/*
	 * Wireshark's dissector (4.0) attributes a marker that follows an FPDU to that FPDU, and
	 * then fails to decode it. If possible, no FPDU ends there.
	 */
	end = conn->tx_bytes + mpa_stream_bytes(conn->tx_bytes, room, true);
	if (conn->param.tx_markers && !(end % WIRE_MPA_MARKER_DISTANCE) && data > 4)
		data -= 4;
	return data;
}

static struct tcp_seg *next_of(struct fw_nic *nic, struct mpa_conn *conn, struct fw_wqe *msg,
			       uint32_t room)
{
	bool whole = rdmap_tx_is_self_contained(msg->rdmap_opcode);
	enum mpa_seg_kind kind = mpa_cut_has_imm(msg) && msg->wrote ? MPA_SEG_IMM : MPA_SEG_DATA;
	uint32_t hdr = mpa_cut_header_bytes(conn, msg, kind);
	uint32_t data = 0, left = whole ? 0 : msg->bytes - msg->sent_bytes;
	enum hw_vendor_err err;
	struct tcp_seg *seg;

	if (kind == MPA_SEG_DATA && left) {
		data = mpa_tx_cut(conn, hdr, left, room);
		if (!data)
			return NULL;
	} else if (mpa_plain_bytes(hdr) > room) {
		return NULL;
	}
	err = check_memory(nic, msg, msg->sent_bytes, data);
	if (err != HW_VENDOR_ERR_NONE) {
		mpa_rdmap_fault(nic, conn, msg, err);
		return NULL;
	}
	seg = mpa_cut_seg(nic, conn, msg, kind, hdr + data);
	if (!seg)
		return NULL;
	mpa_seg_of(seg)->offset = msg->sent_bytes;
	mpa_seg_of(seg)->bytes = whole ? msg->bytes : data;
	mpa_cut_note(nic, conn, msg, data, seg);
	return seg;
}

struct tcp_seg *mpa_tx_next(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max)
{
	struct mpa_conn *conn = mpa_of(flow);
	uint32_t room = mpa_plain_room(conn->tx_bytes, max, conn->param.tx_markers);
	struct tcp_seg *seg;

	if (room > MPA_PLAIN_MAX)
		room = MPA_PLAIN_MAX;
	if (conn->state == MPA_TERM_SENT) {
		if (!conn->term_due ||
		    mpa_plain_bytes(mpa_cut_header_bytes(conn, NULL, MPA_SEG_TERM)) > room)
			return NULL;
		seg = mpa_cut_seg(nic, conn, NULL, MPA_SEG_TERM,
				  mpa_cut_header_bytes(conn, NULL, MPA_SEG_TERM));
		conn->term_due = !seg;
		return seg;
	}
	if (conn->state != MPA_FPDU || conn->faulty)
		return NULL;
	if (conn->rtr_due) {
		if (mpa_plain_bytes(mpa_cut_header_bytes(conn, NULL, MPA_SEG_RTR)) > room)
			return NULL;
		seg = mpa_cut_seg(nic, conn, NULL, MPA_SEG_RTR,
				  mpa_cut_header_bytes(conn, NULL, MPA_SEG_RTR));
		conn->rtr_due = !seg;
		return seg;
	}
	if (fw_list_empty(&conn->out))
		return NULL;
	return next_of(nic, conn, FW_CONTAINER(conn->out.next, struct fw_wqe, flow_node), room);
}

void mpa_tx_rtr(struct fw_nic *nic, struct mpa_conn *conn)
{
	conn->rtr_due = true;
	/* A Send and a Read count in their queues (RFC 5041 5.3), and the Read is answered. */
	if (conn->param.rtr == WIRE_MPA_RTR_SEND && conn->qp)
		conn->qp->msn++;
	if (conn->param.rtr == WIRE_MPA_RTR_READ) {
		conn->tx_msn_read++;
		conn->rtr_answer = true;
		if (conn->qp)
			conn->qp->rd_atomics++; /* it uses a place of the peer's IRD */
	}
	tcp_push(nic, conn->flow);
}

/* ---- filling --------------------------------------------------------------------------------- */

static uint32_t data_bytes(const struct mpa_seg *seg)
{
	return seg->kind == MPA_SEG_DATA && !rdmap_tx_is_self_contained(seg->msg->rdmap_opcode)
		   ? seg->bytes
		   : 0;
}

/* Adds the complete FPDU as pieces: headers, payload, at most one piece behind it. */
static int fill_pieces(struct fw_nic *nic, struct mpa_conn *conn, const struct mpa_seg *seg,
		       struct fw_tx_frame *frame, uint32_t at)
{
	uint32_t data = data_bytes(seg), first = frame->num_seg, tail, n;
	struct be16 length = be16_put(seg->ulpdu_bytes);
	enum hw_vendor_err err = HW_VENDOR_ERR_NONE;
	bool host = false;

	memcpy(frame->hdr + at, &length, sizeof(length));
	n = MPA_LENGTH_BYTES +
	    mpa_tx_put_header(nic, conn, seg, frame->hdr + at + MPA_LENGTH_BYTES);
	assert(n + data == MPA_LENGTH_BYTES + (uint32_t)seg->ulpdu_bytes);
	eth_tx_hdr(frame, at, n, 0);
	if (data)
		err = wqe_gather(nic, seg->msg, seg->offset, data, frame, &host);
	if (err != HW_VENDOR_ERR_NONE)
		return -FW_EFAULT;
	tail = -(n + data) & 3u;
	if (!conn->param.crc)
		tail += WIRE_MPA_CRC_BYTES;
	if (tail) {
		memset(frame->hdr + at + n, 0, tail);
		eth_tx_hdr(frame, at + n, tail, 0);
	}
	if (conn->param.crc) {
		frame->seg[first].flags |= FW_TX_F_CRC_BEGIN;
		frame->seg[frame->num_seg - 1].flags |= FW_TX_F_CRC_END;
	}
	/*
	 * A peer that acknowledges a segment has consumed the frame that carried it. This does not
	 * hold for repeated segments, nor for the slots of inline data.
	 */
	if (data && !seg->seg.tries && !(seg->msg->flags & HW_WQE_F_INLINE))
		frame->flags |= FW_TX_F_BORROW;
	return host ? TCP_FILL_NOW : 0;
}

/* Writes plain bytes in sequence, with markers where they are due. */
struct writer {
	uint8_t *dst;
	uint32_t start, at; /* positions in the stream */
	bool markers;
};

static void put_marker(struct writer *w)
{
	struct wire_mpa_marker marker = {.fpdu_ptr = be16_put(mpa_fpduptr(w->start, w->at))};

	memcpy(w->dst, &marker, sizeof(marker));
	w->dst += sizeof(marker);
	w->at += (uint32_t)sizeof(marker);
}

/* Returns room for the next plain bytes; reduces *n if a marker comes before. */
static uint8_t *writer_next(struct writer *w, uint32_t *n)
{
	uint8_t *dst;

	if (w->markers) {
		uint32_t left;

		if (!(w->at % WIRE_MPA_MARKER_DISTANCE))
			put_marker(w);
		left = WIRE_MPA_MARKER_DISTANCE - w->at % WIRE_MPA_MARKER_DISTANCE;
		if (*n > left)
			*n = left;
	}
	dst = w->dst;
	w->dst += *n;
	w->at += *n;
	return dst;
}

static void writer_put(struct writer *w, const void *src, uint32_t bytes)
{
	const uint8_t *from = src;

	while (bytes) {
		uint32_t n = bytes;
		uint8_t *dst = writer_next(w, &n);

		memcpy(dst, from, n);
		from += n;
		bytes -= n;
	}
}

/* 0; -FW_EBUSY: not now; -FW_EFAULT: the memory is gone. */
static int writer_put_piece(struct fw_nic *nic, struct writer *w, const struct fw_tx_seg *piece)
{
	struct fw_mem mem = {
	    .ptr = (uint8_t *)(uintptr_t)piece->mem, .addr = piece->addr, .client = piece->client};
	uint32_t done = 0;

	while (done < piece->bytes) {
		uint32_t n = piece->bytes - done;
		uint8_t *dst = writer_next(w, &n);

		if (!mem_read(nic, &mem, done, dst, n))
			return nic->host.mem_busy ? -FW_EBUSY : -FW_EFAULT;
		done += n;
	}
	return 0;
}

/* The same FPDU in the scratch memory: 0, or as writer_put_piece(). */
static int build(struct fw_nic *nic, struct mpa_conn *conn, const struct mpa_seg *seg)
{
	struct writer w = {nic->scratch, seg->at, seg->at, conn->param.tx_markers};
	uint8_t hdr[MPA_LENGTH_BYTES + ULPDU_HDR_MAX];
	static const uint8_t zero[PAD_MAX_BYTES];
	struct be16 length = be16_put(seg->ulpdu_bytes);
	struct be32 crc = {{0}};
	uint32_t data = data_bytes(seg), n, i;
	struct fw_tx_frame pieces;
	bool host = false;
	int err;

	memcpy(hdr, &length, sizeof(length));
	n = MPA_LENGTH_BYTES + mpa_tx_put_header(nic, conn, seg, hdr + MPA_LENGTH_BYTES);
	writer_put(&w, hdr, n);
	pieces.num_seg = 0;
	pieces.bytes = 0;
	if (data &&
	    wqe_gather(nic, seg->msg, seg->offset, data, &pieces, &host) != HW_VENDOR_ERR_NONE)
		return -FW_EFAULT;
	for (i = 0; i < pieces.num_seg; i++) {
		err = writer_put_piece(nic, &w, &pieces.seg[i]);
		if (err)
			return err;
	}
	writer_put(&w, zero, -(n + data) & 3u);
	if (w.markers && !(w.at % WIRE_MPA_MARKER_DISTANCE))
		put_marker(&w);
	if (conn->param.crc)
		crc = fw_crc32c_wire(
		    nic->port.crc32c(FW_CRC32C_INIT, nic->scratch, (size_t)(w.dst - nic->scratch)));
	memcpy(w.dst, &crc, sizeof(crc));
	assert((uint32_t)(w.dst - nic->scratch) + WIRE_MPA_CRC_BYTES == seg->seg.bytes);
	return 0;
}

/* Adds bytes of the FPDU in the scratch memory to the frame, as a piece. */
static int add_built(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t from, uint32_t bytes)
{
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = nic->scratch + from,
	    .bytes = bytes,
	    .client = CM_NO_CLIENT,
	    .kind = FW_TX_MEM,
	};
	return TCP_FILL_NOW;
}

int mpa_tx_fill(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *tcp_seg,
		uint32_t from, uint32_t bytes, struct fw_tx_frame *frame, uint32_t hdr_offset)
{
	const struct mpa_seg *seg = FW_CONTAINER(tcp_seg, const struct mpa_seg, seg);
	struct mpa_conn *conn = mpa_of(flow);
	int result = -FW_EFAULT;

	assert(bytes <= tcp_seg->bytes && from <= tcp_seg->bytes - bytes);
	/* Its message has failed, and the memory belongs to the process again. */
	if ((seg->kind == MPA_SEG_DATA || seg->kind == MPA_SEG_IMM) && !seg->msg) {
		mpa_rdmap_broken(nic, conn, NULL);
		return -FW_EFAULT;
	}
	if (!conn->param.tx_markers && !from && bytes == tcp_seg->bytes &&
	    seg->kind != MPA_SEG_TERM) {
		result = fill_pieces(nic, conn, seg, frame, hdr_offset);
	} else if (tcp_seg->bytes <= FW_SCRATCH_BYTES) {
		result = build(nic, conn, seg);
		if (!result)
			result = add_built(nic, frame, from, bytes);
	}
	if (result == -FW_EBUSY)
		return result;
	if (result < 0)
		mpa_rdmap_broken(nic, conn, seg->msg);
	return result;
}

void mpa_tx_unreadable(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *tcp_seg)
{
	const struct mpa_seg *seg = FW_CONTAINER(tcp_seg, const struct mpa_seg, seg);

	mpa_rdmap_broken(nic, mpa_of(flow), seg->msg);
}

void mpa_tx_acked(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *tcp_seg, bool ok)
{
	struct mpa_seg *seg = mpa_seg_of(tcp_seg);
	struct mpa_conn *conn = mpa_of(flow);
	struct fw_wqe *msg = seg->msg;

	fw_list_del(&seg->node);
	conn->tx_unacked--;
	fw_pool_put(&nic->mpa.segs, seg);
	if (!msg)
		return;
	msg->unacked--;
	if (!msg->unacked && msg->state == FW_WQE_SENT)
		mpa_rdmap_acked(nic, msg, ok);
}
