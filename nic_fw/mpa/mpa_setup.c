/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up of an MPA connection: the request, the reply, and the parameters that both ends agree on.
 *
 * It is the layer above TCP until the first FPDU. Calls mpa_frame.c and, with the peer's request or
 * reply, cm_tcp.c. The frames of both ends are kept in struct mpa_setup until ours is acknowledged
 * and the peer's was read. TCP keeps data after the peer's frame until the process has answered.
 * RFC 5044 7.1, RFC 6581 4, 9.
 */
#include "nic_fw/base/crc32c.h"
#include "nic_fw/fw_nic.h"

/* ---- our frame, as segments ------------------------------------------------------------------ */

static struct mpa_setup_seg *seg_of(struct tcp_seg *seg)
{
	return FW_CONTAINER(seg, struct mpa_setup_seg, tcp);
}

bool mpa_setup_owns(const struct mpa_conn *conn, const struct tcp_seg *seg)
{
	const struct mpa_setup *setup = conn->setup;
	const uint8_t *at = (const void *)seg;

	return setup && at >= (const uint8_t *)setup->seg &&
	       at < (const uint8_t *)(setup->seg + MPA_SETUP_SEGS);
}

bool mpa_setup_pending(const struct mpa_conn *conn)
{
	return conn->setup && conn->setup->tx_next < conn->setup->tx_bytes;
}

struct tcp_seg *mpa_setup_next(struct mpa_conn *conn, uint32_t max)
{
	struct mpa_setup *setup = conn->setup;
	uint32_t left = (uint32_t)setup->tx_bytes - setup->tx_next, i = 0;

	while (i < MPA_SETUP_SEGS && setup->seg[i].used)
		i++;
	if (i == MPA_SETUP_SEGS || !max)
		return NULL;
	setup->seg[i].used = true;
	setup->seg[i].at = setup->tx_next;
	setup->seg[i].tcp.bytes = left < max ? left : max;
	setup->seg[i].tcp.flags = left <= max ? TCP_SEG_PSH : 0;
	setup->tx_next = (uint16_t)(setup->tx_next + setup->seg[i].tcp.bytes);
	return &setup->seg[i].tcp;
}

int mpa_setup_fill(struct mpa_conn *conn, const struct tcp_seg *seg, uint32_t from, uint32_t bytes,
		   struct fw_tx_frame *frame)
{
	const struct mpa_setup_seg *s = FW_CONTAINER(seg, struct mpa_setup_seg, tcp);

	assert(from + bytes <= seg->bytes);
	frame->seg[frame->num_seg++] = (struct fw_tx_seg){
	    .mem = conn->setup->tx + s->at + from, .bytes = bytes, .kind = FW_TX_MEM};
	return 0;
}

/* Staged frames point at the set-up. */
void mpa_setup_free(struct fw_nic *nic, struct mpa_conn *conn)
{
	if (!conn->setup)
		return;
	eth_tx_forget_mem(nic, conn->setup, sizeof(*conn->setup));
	fw_pool_put(&nic->mpa.setups, conn->setup);
	conn->setup = NULL;
}

void mpa_setup_done(struct fw_nic *nic, struct mpa_conn *conn)
{
	const struct mpa_setup *setup = conn->setup;

	if (!setup || setup->tx_acked != setup->tx_bytes || conn->state < MPA_RTR_WAIT)
		return;
	mpa_setup_free(nic, conn);
	mpa_conn_heard(nic, conn);
}

void mpa_setup_acked(struct fw_nic *nic, struct mpa_conn *conn, struct tcp_seg *seg, bool ok)
{
	struct mpa_setup *setup = conn->setup;

	seg_of(seg)->used = false;
	setup->tx_acked = (uint16_t)(setup->tx_acked + seg->bytes);
	if (ok && mpa_setup_pending(conn))
		tcp_push(nic, conn->flow);
	mpa_setup_done(nic, conn);
}

/* ---- ours, written -------------------------------------------------------------------------- */

static uint16_t depth_put(uint32_t depth)
{
	return (uint16_t)(depth < WIRE_MPA_DEPTH_NONE ? depth : WIRE_MPA_DEPTH_NONE - 1);
}

/* Returns the first frames that this end may use: WIRE_MPA_RTR_*. */
static uint8_t rtr_of(const struct mpa_conn *conn)
{
	return (uint8_t)((conn->options & HW_MPA_ALL & ~HW_MPA_GIVEN) >> HW_MPA_RTR_SHIFT);
}

void mpa_setup_ask(struct mpa_conn *conn, const struct cm_ep *ep)
{
	struct mpa_setup *setup = conn->setup;
	struct mpa_params *p = &conn->param;
	struct mpa_frame frame;

	p->rx_markers = (conn->options & HW_MPA_MARKERS) != 0;
	p->crc = (conn->options & (HW_MPA_CRC | HW_MPA_CRC_REQUIRED)) != 0;
	p->enhanced = p->revision == WIRE_MPA_REVISION_2;
	p->rtr = p->enhanced ? rtr_of(conn) : 0;
	p->peer_to_peer = p->rtr != 0;
	p->ird = ep->param.responder_resources;
	p->ord = ep->param.initiator_depth;
	frame = (struct mpa_frame){
	    .markers = p->rx_markers,
	    .crc = p->crc,
	    .revision = p->revision,
	    .enhanced = p->enhanced,
	    .peer_to_peer = p->peer_to_peer,
	    .rtr = p->rtr,
	    .ird = depth_put(p->ird),
	    .ord = depth_put(p->ord),
	    .data = ep->tx_data,
	    .data_bytes = ep->tx_bytes,
	};
	setup->tx_bytes = (uint16_t)mpa_frame_write(setup->tx, &frame);
}

/* Chooses the cheapest of the RTR messages that the peer offers. */
static uint8_t choose_rtr(const struct mpa_conn *conn)
{
	uint8_t both = conn->param.rtr & rtr_of(conn);

	if (!both)
		both = conn->param.rtr;
	if (both & WIRE_MPA_RTR_WRITE)
		return WIRE_MPA_RTR_WRITE;
	return both & WIRE_MPA_RTR_SEND ? WIRE_MPA_RTR_SEND : WIRE_MPA_RTR_READ;
}

/* param.ird and ord are the peer's before the call, and ours afterwards. */
static void agree_depths(struct mpa_params *p, const struct cm_ep *ep)
{
	uint32_t ord = ep->param.initiator_depth;

	if (p->enhanced && p->ird != WIRE_MPA_DEPTH_NONE && p->ird < ord)
		ord = p->ird;
	p->ird = ep->param.responder_resources;
	p->ord = (uint16_t)ord;
}

void mpa_setup_answer(struct mpa_conn *conn, const struct cm_ep *ep, bool reject)
{
	struct mpa_setup *setup = conn->setup;
	struct mpa_params *p = &conn->param;
	/* The peer leaves depths to the programs, and so does this end (RFC 6581 9.1). */
	bool none = p->ird == WIRE_MPA_DEPTH_NONE && p->ord == WIRE_MPA_DEPTH_NONE;
	struct mpa_frame frame = {
	    .reply = true,
	    .reject = reject,
	    .markers = p->rx_markers,
	    .crc = p->crc,
	    .revision = p->revision,
	    .enhanced = p->enhanced,
	    .data = ep ? ep->tx_data : NULL,
	    .data_bytes = ep ? ep->tx_bytes : 0,
	};

	if (!reject) {
		if (p->peer_to_peer)
			p->rtr = choose_rtr(conn);
		agree_depths(p, ep);
		frame.peer_to_peer = p->peer_to_peer;
		frame.rtr = p->rtr;
		frame.ird = none ? WIRE_MPA_DEPTH_NONE : depth_put(p->ird);
		frame.ord = none ? WIRE_MPA_DEPTH_NONE : depth_put(p->ord);
	}
	setup->tx_bytes = (uint16_t)mpa_frame_write(setup->tx, &frame);
}

/* ---- the peer's, read ------------------------------------------------------------------------ */

/*
 * The frame is no request that can be answered: sends FIN, as for all data that are no MPA (RFC
 * 5044 7.1.4).
 */
static bool not_mpa(struct fw_nic *nic, struct mpa_conn *conn)
{
	FW_COUNT(nic, mpa_setup_malformed);
	mpa_disconnect(nic, conn);
	return false;
}

/* Rejects a request with impossible parameters. */
static bool say_no(struct fw_nic *nic, struct mpa_conn *conn)
{
	FW_COUNT(nic, mpa_setup_malformed);
	mpa_setup_answer(conn, NULL, true);
	tcp_push(nic, conn->flow);
	mpa_disconnect(nic, conn);
	return false;
}

/* False: the connection is closed, or gone. */
static bool got_request(struct fw_nic *nic, struct mpa_conn *conn)
{
	struct mpa_params *p = &conn->param;
	struct mpa_frame frame;
	int err = mpa_frame_read(conn->setup->rx, false, &frame);

	/*
	 * A peer that supports only revision 1 closes; the next request has revision 1 (RFC 6581
	 * 6).
	 */
	if (err == FW_EOPNOTSUPP ||
	    (frame.revision == WIRE_MPA_REVISION_2 && conn->options & HW_MPA_REVISION_1))
		return not_mpa(nic, conn);
	p->revision = frame.revision;
	p->enhanced = frame.enhanced;
	p->crc = frame.crc || conn->options & (HW_MPA_CRC | HW_MPA_CRC_REQUIRED);
	p->tx_markers = frame.markers;
	p->rx_markers = (conn->options & HW_MPA_MARKERS) != 0;
	p->peer_to_peer = frame.peer_to_peer;
	p->rtr = frame.rtr;
	p->ird = frame.ird;
	p->ord = frame.ord;
	/* Peer-to-peer needs a kind of first frame. */
	if (err || (frame.peer_to_peer && !frame.rtr)) {
		p->enhanced = frame.revision == WIRE_MPA_REVISION_2;
		return say_no(nic, conn);
	}
	return mpa_conn_requested(nic, conn, frame.data, frame.data_bytes);
}

static bool is_one(uint8_t set)
{
	return set && !(set & (set - 1u));
}

/*
 * Returns 0 if both ends agree now; otherwise the error code of a Terminate for MPA
 * (WIRE_TERM_MPA_*).
 */
static uint8_t take_reply(struct mpa_conn *conn, const struct mpa_frame *frame)
{
	struct mpa_params *p = &conn->param;

	if (frame->revision != p->revision || frame->enhanced != p->enhanced)
		return WIRE_TERM_MPA_SETUP;
	if (conn->options & HW_MPA_CRC_REQUIRED && !frame->crc)
		return WIRE_TERM_MPA_SETUP;
	p->crc |= frame->crc;
	p->tx_markers = frame->markers;
	if (!p->enhanced)
		return 0;
	/* Linux's siw names a kind that was not offered; this end can send all kinds. */
	if (p->peer_to_peer && frame->peer_to_peer && !is_one(frame->rtr))
		return WIRE_TERM_MPA_RTR;
	p->peer_to_peer &= frame->peer_to_peer;
	p->rtr = p->peer_to_peer ? frame->rtr : 0;
	if (frame->ird != WIRE_MPA_DEPTH_NONE && frame->ird < p->ord)
		p->ord = frame->ird;
	if (frame->ord == WIRE_MPA_DEPTH_NONE || frame->ord <= p->ird)
		return 0;
	/* The peer requires more reads than were offered: accepted as far as this end has them. */
	if (frame->ord > HW_MAX_RD_ATOMIC)
		return WIRE_TERM_MPA_IRD;
	p->ird = frame->ord;
	return 0;
}

/*
 * Sends a Terminate as the first and last FPDU: for the peer the stream is in full operation (RFC
 * 6581 8). The FPDU takes the buffer of the request, which has been answered.
 */
static void put_terminate(const struct fw_nic *nic, struct mpa_conn *conn, uint8_t code)
{
	const struct wire_ddp_untagged ddp = {
	    .ddp_ctrl = WIRE_DDP_LAST | WIRE_DDP_VERSION,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_TERMINATE,
	    .qn = be32_put(WIRE_QN_TERMINATE),
	    .msn = be32_put(1),
	};
	const struct wire_terminate term = {
	    .layer_etype = WIRE_TERM_LAYER_LLP << 4 | WIRE_TERM_LLP_MPA, .code = code};
	const struct wire_mpa_fpdu fpdu = {.ulpdu_bytes =
					       be16_put((uint16_t)(sizeof(ddp) + sizeof(term)))};
	struct mpa_setup *setup = conn->setup;
	struct be32 crc = be32_put(0);
	uint32_t at = 0;

	static_assert((sizeof(fpdu) + sizeof(ddp) + sizeof(term)) % 4 == 0, "no padding");
	if (conn->param.tx_markers) {
		memset(setup->tx, 0, WIRE_MPA_MARKER_BYTES);
		at = WIRE_MPA_MARKER_BYTES;
	}
	memcpy(setup->tx + at, &fpdu, sizeof(fpdu));
	at += (uint32_t)sizeof(fpdu);
	memcpy(setup->tx + at, &ddp, sizeof(ddp));
	at += (uint32_t)sizeof(ddp);
	memcpy(setup->tx + at, &term, sizeof(term));
	at += (uint32_t)sizeof(term);
	if (conn->param.crc)
		crc = fw_crc32c_wire(nic->port.crc32c(FW_CRC32C_INIT, setup->tx, at));
	memcpy(setup->tx + at, &crc, sizeof(crc));
	setup->tx_bytes = (uint16_t)(at + sizeof(crc));
	setup->tx_next = setup->tx_acked = 0;
}

/* Refuses an impossible answer; the peer receives the reason if it can understand it. */
static void refuse_reply(struct fw_nic *nic, struct mpa_conn *conn, uint8_t code)
{
	bool told = (code == WIRE_TERM_MPA_IRD || code == WIRE_TERM_MPA_RTR) &&
		    conn->setup->tx_acked == conn->setup->tx_bytes;

	FW_COUNT(nic, mpa_setup_malformed);
	if (told) {
		FW_COUNT(nic, mpa_terminates_tx);
		put_terminate(nic, conn, code);
	}
	mpa_conn_garbled(nic, conn, told);
}

static bool got_reply(struct fw_nic *nic, struct mpa_conn *conn)
{
	struct mpa_frame frame;
	int err = mpa_frame_read(conn->setup->rx, true, &frame);
	uint8_t code;

	if (!err && frame.reject && frame.revision < conn->param.revision && !conn->fallback) {
		mpa_conn_fall_back(nic, conn);
		return false;
	}
	if (!err && frame.reject) {
		mpa_conn_rejected(nic, conn, frame.data, frame.data_bytes);
		return false;
	}
	code = err ? WIRE_TERM_MPA_SETUP : take_reply(conn, &frame);
	if (code) {
		refuse_reply(nic, conn, code);
		return false;
	}
	mpa_conn_replied(nic, conn, frame.data, frame.data_bytes);
	return true;
}

uint32_t mpa_setup_receive(struct fw_nic *nic, struct mpa_conn *conn,
			   const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	struct mpa_setup *setup = conn->setup;
	bool reply = conn->state == MPA_REQ_SENT;
	uint32_t taken = 0;

	for (;;) {
		int whole = mpa_frame_bytes(setup->rx, setup->rx_bytes, reply);
		uint32_t want = whole > 0 ? (uint32_t)whole : sizeof(struct wire_mpa_setup), n;
		struct eth_cursor cursor;

		if (whole < 0 && reply) {
			refuse_reply(nic, conn, WIRE_TERM_MPA_SETUP);
			return bytes;
		}
		if (whole < 0) {
			(void)not_mpa(nic, conn);
			return bytes;
		}
		if (whole && setup->rx_bytes == want)
			break;
		n = want - setup->rx_bytes < bytes - taken ? want - setup->rx_bytes : bytes - taken;
		if (!n)
			return taken;
		eth_cursor_init(&cursor, frame, offset + taken, n);
		eth_cursor_copy(&cursor, setup->rx + setup->rx_bytes, n);
		setup->rx_bytes = (uint16_t)(setup->rx_bytes + n);
		taken += n;
	}
	/* The connection may be closed by now; then the rest is discarded. */
	if (reply)
		return got_reply(nic, conn) ? taken : bytes;
	return got_request(nic, conn) ? taken : bytes;
}
