/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of mpa_pair.h, with substitutes for functions of TCP and of the set-up (--wrap).
 */
#include "tests/pair/mpa_pair.h"

#include <stdlib.h>

struct mp mp;
struct rp rp;

bool __wrap_mpa_ddp_rx(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		       uint32_t offset, uint32_t bytes);
void __wrap_tcp_push(struct fw_nic *nic, struct tcp_flow *flow);
void __wrap_tcp_close(struct fw_nic *nic, struct tcp_flow *flow);
void __wrap_tcp_resume(struct fw_nic *nic, struct tcp_flow *flow);
void __wrap_mpa_set_state(struct fw_nic *nic, struct mpa_conn *conn, enum mpa_state state);
void __wrap_mpa_disconnect(struct fw_nic *nic, struct mpa_conn *conn);
void __wrap_mpa_abort(struct fw_nic *nic, struct mpa_conn *conn);
void __wrap_mpa_rx_first(struct fw_nic *nic, struct mpa_conn *conn);
void __wrap_mpa_conn_fire(struct fw_nic *nic, struct fw_timer *timer);
void __real_mpa_conn_fire(struct fw_nic *nic, struct fw_timer *timer);
bool __real_mpa_ddp_rx(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		       uint32_t offset, uint32_t bytes);

bool __wrap_mpa_ddp_rx(struct fw_nic *nic, struct mpa_conn *conn, const struct fw_rx_frame *frame,
		       uint32_t offset, uint32_t bytes)
{
	static uint8_t ulpdu[65536];
	struct eth_cursor cursor;

	if (mp.see) {
		eth_cursor_init(&cursor, frame, offset, bytes);
		eth_cursor_copy(&cursor, ulpdu, bytes);
		if (!mp.see(conn, ulpdu, bytes))
			return true;
	}
	return __real_mpa_ddp_rx(nic, conn, frame, offset, bytes);
}

static struct mp_side *side_of(const struct tcp_flow *flow)
{
	return FW_CONTAINER(flow, struct mp_side, flow);
}

void __wrap_tcp_push(struct fw_nic *nic, struct tcp_flow *flow)
{
	(void)nic;
	side_of(flow)->push = true;
}

void __wrap_tcp_close(struct fw_nic *nic, struct tcp_flow *flow)
{
	(void)nic;
	side_of(flow)->closed = true;
}

void __wrap_tcp_resume(struct fw_nic *nic, struct tcp_flow *flow)
{
	(void)nic;
	side_of(flow)->resumed = true;
}

void __wrap_mpa_set_state(struct fw_nic *nic, struct mpa_conn *conn, enum mpa_state state)
{
	(void)nic;
	conn->state = (uint8_t)state;
}

void __wrap_mpa_disconnect(struct fw_nic *nic, struct mpa_conn *conn)
{
	conn->state = MPA_CLOSING;
	__wrap_tcp_close(nic, conn->flow);
}

void __wrap_mpa_abort(struct fw_nic *nic, struct mpa_conn *conn)
{
	(void)nic;
	side_of(conn->flow)->aborted = true;
	conn->flow = NULL;
}

void __wrap_mpa_rx_first(struct fw_nic *nic, struct mpa_conn *conn)
{
	CU_ASSERT_EQUAL(conn->state, MPA_RTR_WAIT);
	conn->state = MPA_FPDU;
	side_of(conn->flow)->first = true;
	__wrap_tcp_push(nic, conn->flow);
}

void __wrap_mpa_conn_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	if (!mp.fire || !mp.fire(timer))
		__real_mpa_conn_fire(nic, timer);
}

struct fw_nic *mp_nic(const struct mp_side *side)
{
	return rp.end[side->e].nic;
}

uint32_t mp_random(uint32_t below)
{
	mp.random = mp.random * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(mp.random >> 8) * below) >> 24);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void mp_connect(struct mp_side *side, const struct mpa_params *param)
{
	struct hw_qp_attr attr = {.port = 1,
				  .access = RP_ALL_ACCESS,
				  .transport = HW_QP_TRANSPORT_TCP,
				  .max_rd_atomic = 4,
				  .max_dest_rd_atomic = 4};
	struct fw_nic *nic = mp_nic(side);
	struct mpa_conn *conn = fw_pool_get(&nic->mpa.conns);

	CU_ASSERT_EQUAL_FATAL(
	    rp_modify(&rp, side->e, side->qp, HW_QPS_INIT,
		      HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_ACCESS_FLAGS | HW_QP_TRANSPORT, &attr),
	    0);
	CU_ASSERT_EQUAL_FATAL(
	    rp_modify(&rp, side->e, side->qp, HW_QPS_RTR, HW_QP_MAX_DEST_RD_ATOMIC, &attr), 0);
	CU_ASSERT_EQUAL_FATAL(
	    rp_modify(&rp, side->e, side->qp, HW_QPS_RTS, HW_QP_MAX_QP_RD_ATOMIC, &attr), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(conn);
	memset(conn, 0, sizeof(*conn));
	mpa_rdmap_init_conn(conn);
	conn->param = *param;
	conn->ep = FW_NONE;
	conn->state = MPA_FPDU;
	conn->flow = &side->flow;
	side->flow.ctx = conn;
	side->conn = conn;
	conn->qp = side->qp;
	side->qp->mpa = conn;
	mpa_rdmap_attached(nic, conn);
}

void mp_begin(const struct mpa_params *param)
{
	uint32_t e;

	memset(&mp, 0, sizeof(mp));
	mp.mss = MP_MSS;
	mp.random = 1;
	rp_begin(&rp);
	for (e = 0; e < 2; e++) {
		struct mp_side *side = &mp.side[e];

		side->e = e;
		side->wire = malloc(MP_STREAM);
		CU_ASSERT_PTR_NOT_NULL_FATAL(side->wire);
		side->qp = rp_qp(&rp, e, HW_QPT_RC, 4);
		mp_connect(side, param);
	}
}

void mp_end(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		struct mp_side *side = &mp.side[e];
		struct fw_nic *nic = mp_nic(side);

		rp_destroy_qp(&rp, e, side->qp);
		CU_ASSERT_PTR_NULL(side->conn->qp);
		side->flow.ctx = side->conn;
		while (side->acked < side->made)
			mpa_tx_acked(nic, &side->flow, side->seg[side->acked++].seg, false);
		side->conn->flow = NULL;
		mpa_rdmap_ended(nic, side->conn, TCP_END_CLOSED);
		CU_ASSERT_EQUAL(side->conn->tx_unacked, 0);
		CU_ASSERT_TRUE(fw_list_empty(&side->conn->segs));
		CU_ASSERT_TRUE(fw_list_empty(&side->conn->out));
		fw_pool_put(&nic->mpa.conns, side->conn);
		CU_ASSERT_EQUAL(nic->mpa.segs.used, 0);
		CU_ASSERT_EQUAL(nic->mpa.partials.used, 0);
		free(side->wire);
	}
	rp_end(&rp);
}

/* ---- out ------------------------------------------------------------------------------------- */

int mp_fill(struct mp_side *side, const struct tcp_seg *seg, uint32_t from, uint32_t bytes,
	    uint8_t *out)
{
	static struct fw_tx_frame frame;
	int result;

	frame.num_seg = 0;
	frame.bytes = 0;
	frame.flags = 0;
	eth_tx_hdr(&frame, 0, MP_HDRS, 0);
	result = mpa_tx_fill(mp_nic(side), &side->flow, seg, from, bytes, &frame, MP_HDRS);
	if (result < 0)
		return result;
	CU_ASSERT_TRUE_FATAL(frame.num_seg <= FW_TX_SEGS_MAX);
	CU_ASSERT_EQUAL_FATAL(bench_assemble(NULL, &frame, 1, out, bytes), (int)bytes);
	return result;
}

/* Makes all segments that are ready. */
uint32_t mp_make(struct mp_side *side)
{
	static uint8_t parts[65536];
	struct tcp_seg *seg;
	uint32_t n = 0, some;

	side->push = false;
	while (!side->aborted && (seg = mpa_tx_next(mp_nic(side), &side->flow, mp.mss))) {
		uint8_t *at = side->wire + side->wrote;

		CU_ASSERT_TRUE_FATAL(seg->bytes && seg->bytes <= mp.mss);
		CU_ASSERT_TRUE_FATAL(side->wrote + seg->bytes <= MP_STREAM && side->made < 4096);
		seg->tries = 0;
		side->seg[side->made].seg = seg;
		side->seg[side->made++].end = side->wrote + seg->bytes;
		if (mp_fill(side, seg, 0, seg->bytes, at) < 0)
			return n;
		seg->tries = 1;
		some = mp_random(seg->bytes);
		CU_ASSERT_TRUE(mp_fill(side, seg, 0, some, parts) >= 0);
		CU_ASSERT_TRUE(mp_fill(side, seg, some, seg->bytes - some, parts + some) >= 0);
		CU_ASSERT_EQUAL(memcmp(parts, at, seg->bytes), 0);
		if (mp.change)
			mp.change(side, at, seg->bytes);
		side->wrote += seg->bytes;
		n++;
	}
	return n;
}

/* ---- in -------------------------------------------------------------------------------------- */

/*
 * Gives bytes to a side as one frame; returns how many it consumed. Each piece has memory of its
 * own, in which the sanitizer sees what is read beyond it.
 */
uint32_t mp_receive(struct mp_side *to, const uint8_t *data, uint32_t bytes)
{
	struct fw_rx_frame frame = {.bytes = MP_HDRS + bytes, .flags = mp.rx_flags};
	uint8_t *piece[FW_RX_SEGS_MAX];
	uint32_t at = 0, taken, i;

	while (at < frame.bytes) {
		uint32_t n = frame.bytes - at, hdrs = at ? 0 : MP_HDRS;

		if (mp.frame && frame.num_seg < FW_RX_SEGS_MAX - 1) {
			uint32_t most = at ? mp.frame : mp.head ? mp.head : FW_RX_HDR_BYTES;

			n = n < most ? n : most;
		}
		piece[frame.num_seg] = malloc(n);
		CU_ASSERT_PTR_NOT_NULL_FATAL(piece[frame.num_seg]);
		memset(piece[frame.num_seg], 0x5a, hdrs);
		memcpy(piece[frame.num_seg] + hdrs, data + at + hdrs - MP_HDRS, n - hdrs);
		frame.seg[frame.num_seg] = (struct fw_rx_seg){piece[frame.num_seg], n};
		frame.num_seg++;
		at += n;
	}
	taken = mpa_rx_receive(mp_nic(to), &to->flow, &frame, MP_HDRS, bytes);
	CU_ASSERT_TRUE_FATAL(taken <= bytes);
	for (i = 0; i < frame.num_seg; i++)
		free(piece[i]);
	return taken;
}

/* Delivers the data that a side has sent, and acknowledges it. */
uint32_t mp_deliver(struct mp_side *from)
{
	struct mp_side *to = &mp.side[!from->e];
	uint32_t had = from->read;

	while (from->read < from->wrote && to->conn->flow) {
		uint32_t i = 0, n = from->wrote - from->read, taken;

		if (mp.cut) {
			n = n < mp.cut ? n : mp.cut;
		} else {
			while (from->seg[i].end <= from->read)
				i++;
			n = from->seg[i].end - from->read;
		}
		taken = mp_receive(to, from->wire + from->read, n);
		from->read += taken;
		if (taken < n)
			break;
	}
	while (!from->hold_acks && from->acked < from->made && from->conn->flow &&
	       from->seg[from->acked].end <= from->read)
		mpa_tx_acked(mp_nic(from), &from->flow, from->seg[from->acked++].seg, true);
	return from->read - had;
}

void mp_run(void)
{
	bool busy = true;
	uint32_t e;

	while (busy) {
		busy = false;
		for (e = 0; e < 2; e++) {
			struct mp_side *side = &mp.side[e];

			busy |= rp_poll(&rp, e) != 0;
			if (side->push && side->conn->flow)
				busy |= mp_make(side) != 0;
			mpa_run(mp_nic(side));
			busy |= side->push && side->conn->flow && mp_make(side);
		}
		for (e = 0; e < 2; e++)
			busy |= mp_deliver(&mp.side[e]) != 0;
	}
}

/* ---- Terminates ------------------------------------------------------------------------------ */

/*
 * Asserts that the last FPDU of a side, without markers, is this Terminate, byte for byte (RFC 5040
 * 4.8). fault: the FPDU that it quotes, as far as hdrct says.
 */
bool mp_expect_terminate(const struct mp_side *side, uint8_t layer_etype, uint8_t code,
			 uint8_t hdrct, const uint8_t *fault)
{
	const uint8_t *sent = side->wire + (side->made > 1 ? side->seg[side->made - 2].end : 0);
	uint8_t want[128] = {0, 0, 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0};
	uint32_t n = MPA_LENGTH_BYTES + sizeof(struct wire_ddp_untagged), hdr = 0;
	struct be32 sum = be32_put(0);
	bool same;

	want[n++] = layer_etype;
	want[n++] = code;
	want[n++] = hdrct;
	want[n++] = 0;
	if (hdrct & WIRE_TERM_HDRCT_M) {
		memcpy(want + n, fault, 2);
		n += 2;
	}
	if (hdrct & WIRE_TERM_HDRCT_D)
		hdr = fault[2] & WIRE_DDP_TAGGED ? sizeof(struct wire_ddp_tagged)
						 : sizeof(struct wire_ddp_untagged);
	if (hdrct & WIRE_TERM_HDRCT_R)
		hdr += (fault[3] & WIRE_RDMAP_OPCODE_MASK) == WIRE_RDMAP_READ_REQUEST
			   ? sizeof(struct wire_read_request)
			   : sizeof(struct wire_atomic_request);
	if (hdr)
		memcpy(want + n, fault + MPA_LENGTH_BYTES, hdr);
	n += hdr;
	want[1] = (uint8_t)(n - MPA_LENGTH_BYTES);
	n = (n + 3) / 4 * 4;
	if (side->conn->param.crc)
		sum = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, want, n));
	memcpy(want + n, &sum, sizeof(sum));
	same = side->made && !memcmp(sent, want, n + sizeof(sum)) &&
	       side->wire + side->wrote == sent + n + sizeof(sum);
	if (!same)
		printf("\n    Terminate %02x/%02x/%02x, not %02x/%02x/%02x", sent[20], sent[21],
		       sent[22], layer_etype, code, hdrct);
	CU_ASSERT_TRUE(same);
	return same;
}

/* ---- requests -------------------------------------------------------------------------------- */

void mp_req(uint32_t e, uint8_t opcode, uint64_t wr_id, uint32_t bytes, uint32_t imm)
{
	struct rp_req req = {
	    .opcode = opcode,
	    .wr_id = wr_id,
	    .offset =
		opcode == HW_WQE_READ || opcode == HW_WQE_FETCH_ADD || opcode == HW_WQE_CMP_SWAP
		    ? MP_SINK
		    : 0,
	    .bytes = bytes,
	    .remote_offset = MP_DST,
	    .imm = imm,
	    .compare_add = 5,
	    .swap = 77,
	};

	rp_req(&rp, e, mp.side[e].qp, &req);
}
