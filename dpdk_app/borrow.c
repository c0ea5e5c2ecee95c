/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Borrowed frames: the record of their pieces, and the references that their sender holds.
 *
 * The record is stored in the mbuf's own buffer, after the headers, where the payload goes once it
 * is copied. The reference shows the sender when the receiver has freed the frame, whether received
 * or dropped on a full ring. Calls accel.c.
 */
#include "dpdk_app/borrow.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <string.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/csum.h"

enum {
	BORROW_CRC_BYTES = 4,
	BORROW_TAIL_BYTES = 16, /* after the payload: MPA's padding */
	BORROW_NOTE_AT = 256,   /* offset in the frame: after the headers, on its own cache line */
};

struct borrow_note {
	uint32_t hdr_bytes;
	uint32_t crc_from; /* offset in the headers */
	uint32_t crc_bytes;
	bool zero_crcs; /* of a run: nothing is computed */
	uint32_t tail_bytes;
	uint32_t num_pieces;
	uint16_t run, run_bytes; /* packets, and payload of each but the last; 1: no run */
	/* Padding and CRC32C; the latter is zero where it is left out (--crc off). */
	uint8_t tail[BORROW_TAIL_BYTES + FW_RUN_MAX * BORROW_CRC_BYTES];
	struct fw_rx_seg piece[FW_RX_SEGS_MAX - 2];
};
static_assert((int)FW_TX_HDR_BYTES <= (int)BORROW_NOTE_AT, "the note lies behind the headers");
static_assert(BORROW_NOTE_AT + sizeof(struct borrow_note) <= BORROW_LEAST_BYTES,
	      "the note lies within the frame's own bytes");
static_assert((int)BORROW_LEAST_BYTES <= (int)FW_RUN_LEAST_BYTES, "all runs are borrowed");
static_assert((int)FW_RX_SEGS_MAX - 2 >= (int)FW_TX_SEGS_MAX, "headers, pieces and CRC fit");

static uint64_t borrow_flag;

int borrow_init(void)
{
	const struct rte_mbuf_dynflag flag = {.name = "weft_dynflag_borrowed"};
	int bit = rte_mbuf_dynflag_register(&flag);

	if (bit < 0)
		return -rte_errno;
	borrow_flag = UINT64_C(1) << bit;
	return 0;
}

bool borrow_is_borrowed(const struct rte_mbuf *m)
{
	return m->ol_flags & borrow_flag;
}

static struct borrow_note *note_of(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod_offset(m, struct borrow_note *, BORROW_NOTE_AT);
}

/* Copies a piece of the frame's own header memory. Returns false if it lies elsewhere. */
static bool note_hdr(const struct fw_tx_frame *frame, const struct fw_tx_seg *seg, uint8_t *dst,
		     uint32_t room)
{
	if (seg->addr > FW_TX_HDR_BYTES || seg->bytes > FW_TX_HDR_BYTES - seg->addr ||
	    seg->bytes > room)
		return false;
	memcpy(dst, frame->hdr + seg->addr, seg->bytes);
	return true;
}

/*
 * Accepts headers, then mapped memory, then padding. A CRC32C, if present, begins within the
 * headers and ends the frame; each packet of a run has room for one.
 */
static bool note_pieces(struct borrow_note *note, const struct fw_tx_frame *frame, uint8_t *dst)
{
	note->hdr_bytes = note->crc_from = note->crc_bytes = 0;
	note->tail_bytes = note->num_pieces = 0;
	note->run = frame->run > 1 ? frame->run : 1;
	note->run_bytes = frame->run_bytes;
	note->zero_crcs = note->run > 1;
	if (note->run > 1)
		note->crc_bytes = note->run * BORROW_CRC_BYTES;
	memset(note->tail, 0, sizeof(note->tail));
	for (uint32_t i = 0; i < frame->num_seg; i++) {
		const struct fw_tx_seg *seg = &frame->seg[i];
		bool last = i + 1 == frame->num_seg;

		if (seg->kind == FW_TX_HDR && !note->num_pieces) {
			if (!note_hdr(frame, seg, dst + note->hdr_bytes,
				      FW_TX_HDR_BYTES - note->hdr_bytes))
				return false;
			if (seg->flags & FW_TX_F_CRC_BEGIN) {
				note->crc_from = note->hdr_bytes;
				note->crc_bytes = note->run * BORROW_CRC_BYTES;
				note->zero_crcs = false;
			}
			note->hdr_bytes += seg->bytes;
		} else if (seg->flags & FW_TX_F_CRC_BEGIN) {
			return false;
		} else if (seg->kind == FW_TX_MEM) {
			note->piece[note->num_pieces++] = (struct fw_rx_seg){seg->mem, seg->bytes};
		} else if (seg->kind == FW_TX_HDR && last) {
			if (!note_hdr(frame, seg, note->tail, BORROW_TAIL_BYTES))
				return false;
			note->tail_bytes = seg->bytes;
		} else {
			return false;
		}
		if (!(seg->flags & FW_TX_F_CRC_END) ==
		    (last && note->crc_bytes && !note->zero_crcs))
			return false;
	}
	return note->num_pieces && frame->num_seg < FW_TX_SEGS_MAX;
}

static struct fw_run note_run(const struct borrow_note *note)
{
	struct fw_run run = {.packets = note->run, .segment_bytes = note->run_bytes};

	for (uint32_t i = 0; i < note->num_pieces; i++)
		run.bytes += note->piece[i].bytes;
	return run;
}

/* A place in the pieces of a frame. */
struct note_cursor {
	uint32_t piece, at;
};

/* Returns what follows, *bytes of it, up to max, and advances; NULL at the end. */
static const uint8_t *note_next(const struct borrow_note *note, struct note_cursor *cursor,
				uint32_t max, uint32_t *bytes)
{
	const struct fw_rx_seg *piece;
	uint32_t at;

	while (cursor->piece < note->num_pieces && cursor->at == note->piece[cursor->piece].bytes) {
		cursor->at = 0;
		cursor->piece++;
	}
	if (cursor->piece == note->num_pieces || !max)
		return NULL;
	piece = &note->piece[cursor->piece];
	at = cursor->at;
	*bytes = piece->bytes - at < max ? piece->bytes - at : max;
	cursor->at += *bytes;
	return piece->data + at;
}

/* Computes the CRC32C over headers, payload and padding, into its place. */
static void note_crc(struct borrow_note *note, const uint8_t *hdr)
{
	uint32_t crc;

	if (!note->crc_bytes || note->zero_crcs)
		return;
	if (note->run > 1) {
		const struct fw_run run = note_run(note);
		struct be32 crcs[FW_RUN_MAX];

		fw_run_crcs(&run, hdr, note->hdr_bytes, note->piece, accel_crc32c, crcs);
		memcpy(note->tail, crcs, run.packets * sizeof(crcs[0]));
		return;
	}
	crc = accel_crc32c(FW_CRC32C_INIT, hdr + note->crc_from, note->hdr_bytes - note->crc_from);
	for (uint32_t i = 0; i < note->num_pieces; i++)
		crc = accel_crc32c(crc, note->piece[i].data, note->piece[i].bytes);
	accel_crc32c_wire(note->tail + note->tail_bytes,
			  accel_crc32c(crc, note->tail, note->tail_bytes));
}

bool borrow_frame(struct shard *shard, const struct fw_tx_frame *frame, bool crc,
		  struct rte_mbuf *m)
{
	struct borrow_note *note = note_of(m);
	uint32_t bytes;

	if (shard->num_borrowed == APP_MAX_BORROWED || frame->bytes < BORROW_LEAST_BYTES ||
	    (frame->run <= 1 && frame->bytes > rte_pktmbuf_tailroom(m)) ||
	    frame->num_seg > FW_TX_SEGS_MAX || (frame->csum_start && !csum_may_leave(frame)))
		return false;
	if (!note_pieces(note, frame, rte_pktmbuf_mtod(m, uint8_t *)))
		return false;
	bytes = note->hdr_bytes + note->tail_bytes + note->crc_bytes;
	for (uint32_t i = 0; i < note->num_pieces; i++)
		bytes += note->piece[i].bytes;
	if (bytes != frame->bytes)
		return false;
	if (crc)
		note_crc(note, rte_pktmbuf_mtod(m, const uint8_t *));
	/* The length in the mbuf and the frame's length differ while it is borrowed. */
	m->data_len = (uint16_t)note->hdr_bytes;
	m->pkt_len = frame->bytes;
	m->ol_flags |= borrow_flag;
	if (frame->csum_start)
		csum_left(m, frame);
	rte_mbuf_refcnt_set(m, 2);
	shard->borrowed[shard->num_borrowed++] = m;
	return true;
}

uint32_t borrow_pieces(const struct rte_mbuf *m, struct fw_rx_seg *seg)
{
	const struct borrow_note *note = note_of(m);
	uint32_t n = 0;

	seg[n++] = (struct fw_rx_seg){rte_pktmbuf_mtod(m, const uint8_t *), note->hdr_bytes};
	for (uint32_t i = 0; i < note->num_pieces; i++)
		seg[n++] = note->piece[i];
	if (note->tail_bytes + note->crc_bytes)
		seg[n++] = (struct fw_rx_seg){note->tail, note->tail_bytes + note->crc_bytes};
	return n;
}

/* Writes payload of a packet, padding and CRC32C behind the headers at dst. Returns the bytes. */
static uint32_t put_payload(const struct borrow_note *note, uint32_t packet, uint8_t *dst)
{
	uint32_t at = note->hdr_bytes, n;
	uint32_t skip = packet * note->run_bytes;
	uint32_t left = note->run > 1 ? note->run_bytes : UINT32_MAX;
	uint32_t crc =
	    accel_crc32c(FW_CRC32C_INIT, dst + note->crc_from, note->hdr_bytes - note->crc_from);
	struct note_cursor cursor = {0};
	const uint8_t *data;

	for (; note_next(note, &cursor, skip, &n); skip -= n)
		;
	for (; (data = note_next(note, &cursor, left, &n)); left -= n) {
		crc = accel_copy_crc32c(crc, dst + at, data, n);
		at += n;
	}
	memcpy(dst + at, note->tail, note->tail_bytes);
	if (note->zero_crcs)
		memset(dst + at + note->tail_bytes, 0, BORROW_CRC_BYTES);
	else if (note->crc_bytes)
		accel_crc32c_wire(dst + at + note->tail_bytes,
				  accel_crc32c(crc, note->tail, note->tail_bytes));
	return at + note->tail_bytes + (note->crc_bytes ? BORROW_CRC_BYTES : 0);
}

/* Writes a packet, but for a checksum that is left out. Returns its bytes. */
static uint32_t put_packet(const struct rte_mbuf *m, uint32_t packet, uint8_t *dst)
{
	const struct borrow_note *note = note_of(m);

	memcpy(dst, rte_pktmbuf_mtod(m, const uint8_t *), note->hdr_bytes);
	if (note->run > 1) {
		const struct fw_run run = note_run(note);

		fw_run_hdr(dst, packet, &run);
	}
	return put_payload(note, packet, dst);
}

uint32_t borrow_seal(const struct rte_mbuf *m, uint32_t packet, uint8_t *dst)
{
	uint32_t bytes = put_packet(m, packet, dst);

	if (csum_is_left(m))
		csum_seal(m, dst, bytes);
	return bytes;
}

void borrow_cut(const struct rte_mbuf *run, uint32_t packet, struct rte_mbuf *m)
{
	m->pkt_len = put_packet(run, packet, rte_pktmbuf_mtod(m, uint8_t *));
	m->data_len = (uint16_t)m->pkt_len;
	if (csum_is_left(run)) {
		m->tx_offload = run->tx_offload;
		m->ol_flags |= run->ol_flags & ~borrow_flag;
	}
}

uint32_t borrow_packets(const struct rte_mbuf *m, uint32_t *segment_bytes)
{
	const struct borrow_note *note = note_of(m);

	if (!borrow_is_borrowed(m))
		return 1;
	*segment_bytes = note->run_bytes;
	return note->run;
}

uint32_t borrow_count(struct rte_mbuf *const *frames, uint32_t n)
{
	uint32_t packets = 0, segment_bytes;

	for (uint32_t i = 0; i < n; i++)
		packets += borrow_packets(frames[i], &segment_bytes);
	return packets;
}

/*
 * Copies the payload of a run into buffers that hang on the frame, where its pieces lie from now
 * on: it stays a run. Without buffers the frame is lost, as on a full line.
 */
static void run_copy(struct rte_mbuf *m)
{
	struct borrow_note *note = note_of(m);
	const struct borrow_note old = *note;
	uint32_t left = note_run(note).bytes;
	struct note_cursor cursor = {0};
	struct rte_mbuf *last = m;

	note->num_pieces = 0;
	while (left) {
		struct rte_mbuf *next = rte_pktmbuf_alloc(m->pool);
		uint32_t filled = 0, n;
		const uint8_t *data;
		uint8_t *to;

		if (!next || note->num_pieces == FW_RX_SEGS_MAX - 2) {
			rte_pktmbuf_free(next);
			note->run = 0;
			return;
		}
		/* Each holder of the frame frees the whole chain. */
		rte_mbuf_refcnt_set(next, rte_mbuf_refcnt_read(m));
		last->next = next;
		last = next;
		m->nb_segs++;
		to = rte_pktmbuf_mtod(next, uint8_t *);
		while ((data = note_next(&old, &cursor, rte_pktmbuf_tailroom(next) - filled, &n))) {
			memcpy(to + filled, data, n);
			filled += n;
		}
		note->piece[note->num_pieces++] = (struct fw_rx_seg){to, filled};
		left -= filled;
	}
}

void borrow_copy(struct rte_mbuf *m)
{
	/* The payload takes the place of the note. */
	const struct borrow_note note = *note_of(m);

	(void)put_payload(&note, 0, rte_pktmbuf_mtod(m, uint8_t *));
	m->data_len = (uint16_t)m->pkt_len;
	m->ol_flags &= ~borrow_flag;
	if (csum_is_left(m))
		csum_finish(m);
}

void borrow_sweep(struct shard *shard)
{
	struct rte_mbuf *done[APP_MAX_BORROWED];
	uint32_t num_done = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < shard->num_borrowed; i++) {
		struct rte_mbuf *m = shard->borrowed[i];

		if (rte_mbuf_refcnt_read(m) == 1)
			done[num_done++] = m;
		else
			shard->borrowed[kept++] = m;
	}
	shard->num_borrowed = kept;
	rte_pktmbuf_free_bulk(done, num_done);
}

static bool note_reaches(const struct borrow_note *note, const void *mem, size_t bytes)
{
	for (uint32_t i = 0; i < note->num_pieces; i++) {
		if ((uintptr_t)note->piece[i].data - (uintptr_t)mem < bytes)
			return true;
	}
	return false;
}

void borrow_settle_mem(struct shard *shard, const void *mem, size_t bytes)
{
	struct rte_mbuf *done[APP_MAX_BORROWED];
	uint32_t num_done = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < shard->num_borrowed; i++) {
		struct rte_mbuf *m = shard->borrowed[i];

		if (rte_mbuf_refcnt_read(m) > 1 && borrow_is_borrowed(m)) {
			if (!note_reaches(note_of(m), mem, bytes)) {
				shard->borrowed[kept++] = m;
				continue;
			}
			shard->stats.tx_settled += note_of(m)->run;
			if (note_of(m)->run > 1)
				run_copy(m);
			else
				borrow_copy(m);
		}
		done[num_done++] = m;
	}
	shard->num_borrowed = kept;
	rte_pktmbuf_free_bulk(done, num_done);
}

void borrow_settle(struct shard *shard)
{
	borrow_settle_mem(shard, NULL, SIZE_MAX);
}

void borrow_drop(struct shard *shard)
{
	rte_pktmbuf_free_bulk(shard->borrowed, shard->num_borrowed);
	shard->num_borrowed = 0;
}
