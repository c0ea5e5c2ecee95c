/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA, receiving: finds FPDUs in the segments of TCP, checks them, and passes them to RDMAP.
 *
 * Calls mpa_ddp.c, and mpa_term.c when a frame is wrong. An FPDU without markers that lies whole in
 * a segment is checked and placed from the segment. Others are assembled in a buffer of a bounded
 * pool; markers are removed and the CRC is computed on the way. If there is no buffer, or no memory
 * for what the FPDU requests, its bytes are not consumed and TCP keeps them. Nothing of an FPDU is
 * placed before its CRC was found right. RFC 5044 4, 6, 8.
 */
#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"
#include "nic_fw/mpa/mpa_fpdu.h"

#define HELD_NS UINT64_C(4000000000) /* limit of an incomplete FPDU when others need its buffer */

/* True if received data have a consumer. */
static bool listens(const struct mpa_conn *conn)
{
	return conn->qp && (conn->state == MPA_FPDU || conn->state == MPA_RTR_WAIT);
}

static void frame_error(struct fw_nic *nic, struct mpa_conn *conn, uint8_t code)
{
	const struct rdmap_error error = {WIRE_TERM_LAYER_LLP << 4 | WIRE_TERM_LLP_MPA, code};

	if (code == WIRE_TERM_MPA_CRC)
		FW_DROP(nic, drop_mpa_crc);
	else
		FW_DROP(nic, drop_mpa_marker);
	mpa_terminate(nic, conn, NULL, &error);
}

/* ---- in place -------------------------------------------------------------------------------- */

/*
 * Returns the bytes of the FPDU that begins here. 0: it cannot be handled in place, because it
 * continues in another segment, has markers, or its headers are scattered. *ulpdu: its length
 * field.
 */
static uint32_t whole_bytes(const struct mpa_conn *conn, const struct fw_rx_frame *frame,
			    uint32_t offset, uint32_t bytes, uint32_t *ulpdu)
{
	const uint8_t *data = frame->seg[0].data + offset;
	uint32_t plain, hdr;
	struct be16 length;

	/* Every FPDU has a byte behind its length field: the CRC, if not DDP's control byte. */
	if (conn->param.rx_markers || bytes < MPA_LENGTH_BYTES ||
	    frame->seg[0].bytes < offset + MPA_LENGTH_BYTES + 1)
		return 0;
	memcpy(&length, data, sizeof(length));
	*ulpdu = be16_get(length);
	plain = mpa_plain_bytes(*ulpdu);
	hdr = data[MPA_LENGTH_BYTES] & WIRE_DDP_TAGGED ? sizeof(struct wire_ddp_tagged)
						       : sizeof(struct wire_ddp_untagged);
	if (hdr > *ulpdu)
		hdr = *ulpdu;
	if (plain > bytes || frame->seg[0].bytes < offset + MPA_LENGTH_BYTES + hdr)
		return 0;
	return plain;
}

/* False: it cannot be taken now. */
static bool rx_whole(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		     uint32_t offset, uint32_t plain, uint32_t ulpdu)
{
	if (conn->param.crc && !(frame->flags & FW_RX_CRC_OK) &&
	    !eth_crc32c_ok(nic, frame, offset, plain)) {
		frame_error(nic, conn, WIRE_TERM_MPA_CRC);
		return true;
	}
	return mpa_ddp_rx(nic, conn, frame, offset + MPA_LENGTH_BYTES, ulpdu);
}

bool mpa_rx_run(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		uint32_t offset, uint32_t bytes)
{
	uint32_t hdr_bytes = frame->seg[0].bytes - offset, n = frame->run, ulpdu;
	struct mpa_conn *conn = mpa_of(flow);
	struct be16 length;

	if (!conn->qp || conn->state != MPA_FPDU || conn->partial || conn->param.rx_markers ||
	    hdr_bytes < MPA_LENGTH_BYTES)
		return false;
	memcpy(&length, frame->seg[0].data + offset, sizeof(length));
	ulpdu = be16_get(length);
	/* Each segment is an FPDU without padding. */
	if (ulpdu != hdr_bytes - MPA_LENGTH_BYTES + frame->run_bytes ||
	    bytes != MPA_FRAME_BYTES + ulpdu || mpa_plain_bytes(ulpdu) != bytes ||
	    eth_run_payload_bytes(frame) % 4)
		return false;
	if (conn->param.crc && !(frame->flags & FW_RX_CRC_OK) && !eth_run_crc_ok(nic, frame))
		return false;
	if (!mpa_ddp_rx_run(nic, conn, frame, offset + MPA_LENGTH_BYTES, ulpdu))
		return false;
	conn->rx_bytes += n * (hdr_bytes + WIRE_MPA_CRC_BYTES) + eth_run_payload_bytes(frame);
	return true;
}

/* ---- assembled ------------------------------------------------------------------------------ */

static uint8_t station_of_conn(const struct mpa_conn *conn)
{
	return conn->flow ? conn->flow->station : (uint8_t)STATION_NONE;
}

static struct mpa_partial *mpa_rx_begin(struct fw_nic *nic, const struct mpa_conn *conn,
					uint32_t at)
{
	uint8_t station = station_of_conn(conn);
	struct mpa_partial *p;

	if (!station_may(nic, station, STATION_PARTIALS, nic->mpa.partials.max))
		return NULL;
	p = fw_pool_get(&nic->mpa.partials);
	if (!p)
		return NULL;
	p->station = station;
	station_take(nic, station, STATION_PARTIALS);
	fw_list_init(&p->node);
	p->began_ns = nic->now_ns;
	p->at = at;
	p->taken = 0;
	p->filled = 0;
	p->plain = 0;
	p->crc = FW_CRC32C_INIT;
	p->trusted = true;
	p->bad_marker = false;
	return p;
}

void mpa_rx_put(struct fw_nic *nic, struct mpa_partial *p)
{
	station_give(nic, p->station, STATION_PARTIALS);
	fw_pool_put(&nic->mpa.partials, p);
}

/*
 * Ends the connection whose FPDU has been incomplete for longest, if that is too long: it gives its
 * buffer back. Where buffers are left, but this station has its share of them, it is a connection
 * of the station. So one peer's incomplete FPDUs do not stop all others.
 */
static void mpa_rx_reclaim(struct fw_nic *nic, uint8_t station)
{
	bool full = nic->mpa.partials.used == nic->mpa.partials.max;
	struct mpa_partial *p;
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->mpa.held) {
		p = FW_CONTAINER(pos, struct mpa_partial, node);
		if (nic->now_ns - p->began_ns < HELD_NS)
			return;
		if (!full && p->station != station)
			continue;
		/* The next call selects another one. */
		p->began_ns = nic->now_ns;
		fw_list_del(&p->node);
		fw_list_add_tail(&nic->mpa.held, &p->node);
		FW_COUNT(nic, mpa_partials_reclaimed);
		/* The timer runs it, because another connection is being handled now. */
		fw_timer_set(&nic->timers, &p->conn->timer, nic->now_ns);
		return;
	}
}

/* Keeps an FPDU that is still incomplete. */
static void mpa_rx_hold(struct fw_nic *nic, struct mpa_conn *conn, struct mpa_partial *p)
{
	conn->partial = p;
	p->conn = conn;
	if (!fw_list_linked(&p->node))
		fw_list_add_tail(&nic->mpa.held, &p->node);
}

/* Checks a byte range of a marker. Its reserved half counts for the CRC only. */
static void take_marker(struct mpa_partial *p, uint32_t pos, const uint8_t *data, uint32_t bytes)
{
	uint32_t in = pos % WIRE_MPA_MARKER_DISTANCE, i;
	struct be16 want = be16_put(mpa_fpduptr(p->at, pos - in));

	/* The two lowest bits are no part of the distance. */
	for (i = 0; i < bytes; i++)
		if (in + i >= 2 && (data[i] ^ want.b[in + i - 2]) & (in + i == 3 ? 0xfc : 0xff))
			p->bad_marker = true;
}

/* Takes plain bytes: updates the CRC (except with the CRC itself), and copies. */
static void take_plain(struct fw_nic *nic, const struct mpa_conn *conn, struct mpa_partial *p,
		       const uint8_t *data, uint32_t bytes)
{
	uint32_t summed = p->plain ? p->plain - WIRE_MPA_CRC_BYTES : MPA_LENGTH_BYTES;
	uint32_t n = p->filled < summed ? summed - p->filled : 0;

	if (n > bytes)
		n = bytes;
	if (conn->param.crc)
		p->crc = nic->port.copy_crc32c(p->crc, p->buf + p->filled, data, n);
	else
		memcpy(p->buf + p->filled, data, n);
	memcpy(p->buf + p->filled + n, data + n, bytes - n);
	p->filled += bytes;
	if (!p->plain && p->filled == MPA_LENGTH_BYTES)
		p->plain = mpa_plain_bytes((uint32_t)p->buf[0] << 8 | p->buf[1]);
}

/* Takes the FPDU's part of one contiguous piece; returns its bytes. */
static uint32_t mpa_rx_take(struct fw_nic *nic, const struct mpa_conn *conn, struct mpa_partial *p,
			    const uint8_t *data, uint32_t bytes)
{
	uint32_t done = 0;

	while (done < bytes && (!p->plain || p->filled < p->plain)) {
		uint32_t pos = p->at + p->taken, in = pos % WIRE_MPA_MARKER_DISTANCE;
		uint32_t left = (p->plain ? p->plain : (uint32_t)MPA_LENGTH_BYTES) - p->filled;
		uint32_t n = bytes - done;
		bool marker = conn->param.rx_markers && in < WIRE_MPA_MARKER_BYTES;

		if (marker)
			left = WIRE_MPA_MARKER_BYTES - in;
		else if (conn->param.rx_markers && left > WIRE_MPA_MARKER_DISTANCE - in)
			left = WIRE_MPA_MARKER_DISTANCE - in;
		if (n > left)
			n = left;
		if (marker) {
			take_marker(p, pos, data + done, n);
			if (conn->param.crc)
				p->crc = nic->port.crc32c(p->crc, data + done, n);
		} else {
			take_plain(nic, conn, p, data + done, n);
		}
		p->taken += n;
		done += n;
	}
	return done;
}

static bool collected_crc_ok(struct fw_nic *nic, const struct mpa_conn *conn,
			     const struct mpa_partial *p)
{
	struct be32 want;

	if (!conn->param.crc || p->trusted)
		return true;
	FW_COUNT(nic, rx_crc_checked);
	want = fw_crc32c_wire(p->crc);
	return !memcmp(p->buf + p->plain - WIRE_MPA_CRC_BYTES, &want, sizeof(want));
}

/* Makes a frame of the assembled bytes. Returns the length of its ULPDU. */
static uint32_t frame_of(const struct mpa_partial *p, struct fw_rx_frame *frame)
{
	frame->seg[0] = (struct fw_rx_seg){p->buf, p->plain};
	frame->num_seg = 1;
	frame->bytes = p->plain;
	frame->flags = 0;
	frame->cookie = NULL;
	return (uint32_t)p->buf[0] << 8 | p->buf[1];
}

/* The FPDU is complete. False: its request cannot be carried out now. */
static bool rx_collected(struct fw_nic *nic, struct mpa_conn *conn, const struct mpa_partial *p)
{
	struct fw_rx_frame frame;
	uint32_t ulpdu;

	if (!collected_crc_ok(nic, conn, p)) {
		frame_error(nic, conn, WIRE_TERM_MPA_CRC);
		return true;
	}
	if (p->bad_marker) {
		frame_error(nic, conn, WIRE_TERM_MPA_MARKER);
		return true;
	}
	ulpdu = frame_of(p, &frame);
	return mpa_ddp_rx(nic, conn, &frame, MPA_LENGTH_BYTES, ulpdu);
}

/* Takes the FPDU's part of a range of a frame; returns its bytes. */
static uint32_t take_frame(struct fw_nic *nic, const struct mpa_conn *conn, struct mpa_partial *p,
			   const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	struct eth_cursor cursor;
	uint32_t taken = 0, n;

	if (!(frame->flags & FW_RX_CRC_OK))
		p->trusted = false;
	eth_cursor_init(&cursor, frame, offset, bytes);
	while (cursor.left && (!p->plain || p->filled < p->plain)) {
		const uint8_t *data = eth_cursor_next(&cursor, cursor.left, &n);

		taken += mpa_rx_take(nic, conn, p, data, n);
	}
	return taken;
}

/* Continues or begins an FPDU; returns the bytes that were taken, 0: none can be now. */
static uint32_t collect(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes)
{
	struct mpa_partial *p =
	    conn->partial ? conn->partial : mpa_rx_begin(nic, conn, conn->rx_bytes);
	uint32_t taken, had_taken, had_filled, had_plain, had_crc;
	bool had_trusted;

	if (!p) {
		mpa_rx_reclaim(nic, station_of_conn(conn));
		return 0;
	}
	had_taken = p->taken;
	had_filled = p->filled;
	had_plain = p->plain;
	had_crc = p->crc;
	had_trusted = p->trusted;
	taken = take_frame(nic, conn, p, frame, offset, bytes);
	if (!p->plain || p->filled < p->plain) {
		mpa_rx_hold(nic, conn, p);
		return taken;
	}
	/* The buffer is detached, so that it survives the end of the queue pair. */
	conn->partial = NULL;
	fw_list_del(&p->node);
	if (rx_collected(nic, conn, p)) {
		mpa_rx_put(nic, p);
		return taken;
	}
	/* This part counts as not received; the earlier parts were acknowledged. */
	p->taken = had_taken;
	p->filled = had_filled;
	p->plain = had_plain;
	p->crc = had_crc;
	p->trusted = had_trusted;
	if (had_taken)
		mpa_rx_hold(nic, conn, p);
	else
		mpa_rx_put(nic, p);
	return 0;
}

uint32_t mpa_rx_receive(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes)
{
	struct mpa_conn *conn = mpa_of(flow);
	uint32_t done = 0, n, ulpdu = 0;

	while (done < bytes) {
		/* The connection has ended: further data are discarded. */
		if (!listens(conn))
			return bytes;
		n = conn->partial ? 0
				  : whole_bytes(conn, frame, offset + done, bytes - done, &ulpdu);
		if (!n)
			n = collect(nic, conn, frame, offset + done, bytes - done);
		else if (!rx_whole(nic, conn, frame, offset + done, n, ulpdu))
			n = 0;
		if (!n && listens(conn)) {
			mpa_rdmap_starved(nic, conn);
			break;
		}
		conn->rx_bytes += n;
		done += n;
	}
	return done;
}

/* ---- before their turn ----------------------------------------------------------------------- */

/*
 * Finds the first FPDU from a position on whose start a marker reveals. Positions are the stream's,
 * modulo 2^32. False: none before end.
 */
static bool find_fpdu(const struct fw_rx_frame *frame, uint32_t offset, uint32_t at, uint32_t end,
		      uint32_t *start)
{
	uint32_t marker = at + mpa_first_gap(at);
	struct wire_mpa_marker m;
	struct eth_cursor cursor;
	uint32_t ptr;

	while ((int32_t)(end - marker) >= (int32_t)sizeof(m)) {
		eth_cursor_init(&cursor, frame, offset + (marker - at), sizeof(m));
		eth_cursor_copy(&cursor, &m, sizeof(m));
		ptr = be16_get(m.fpdu_ptr) & ~3u;
		*start = marker - ptr;
		/* The pointer leads to the length field, which a marker may precede. */
		if (ptr && *start % WIRE_MPA_MARKER_DISTANCE == WIRE_MPA_MARKER_BYTES)
			*start -= WIRE_MPA_MARKER_BYTES;
		if ((int32_t)(*start - at) >= 0)
			return true;
		marker += WIRE_MPA_MARKER_DISTANCE;
	}
	return false;
}

/*
 * Places payload that came early, where markers reveal the FPDUs. In their turn the FPDUs are
 * checked and placed once more, because an earlier Write to the same bytes may have come meanwhile.
 */
void mpa_rx_early(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		  uint32_t offset, uint32_t bytes, uint32_t ahead)
{
	struct mpa_conn *conn = mpa_of(flow);
	uint32_t at = conn->rx_bytes + ahead, end = at + bytes, start;
	struct fw_rx_frame view;
	struct mpa_partial *p;
	uint32_t ulpdu;

	if (!conn->qp || conn->state != MPA_FPDU || !conn->param.rx_markers ||
	    !find_fpdu(frame, offset, at, end, &start))
		return;
	while (start != end && conn->qp && (p = mpa_rx_begin(nic, conn, start)) != NULL) {
		(void)take_frame(nic, conn, p, frame, offset + (start - at), end - start);
		if (p->plain && p->filled == p->plain && !p->bad_marker &&
		    collected_crc_ok(nic, conn, p)) {
			ulpdu = frame_of(p, &view);
			mpa_ddp_early(nic, conn, &view, MPA_LENGTH_BYTES, ulpdu);
			start += p->taken;
		} else {
			start = end;
		}
		mpa_rx_put(nic, p);
	}
}
