/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FPDUs out: sizes of FPDUs and markers, against counting; headers as siw writes them, bit for bit;
 * the form of frames for the port; small segments. nic_fw/mpa/mpa_tx.c, mpa_fpdu.h.
 */
#include "nic_fw/mpa/mpa_ddp.c"
#include "nic_fw/mpa/mpa_tx.c"
#include "tests/pair/mpa_capture.h"
#include "tests/pair/mpa_pair.h"

static const struct mpa_params crc = {.crc = true};
static const struct mpa_params plain = {.crc = false};
static const struct mpa_params marked = {.crc = true, .tx_markers = true, .rx_markers = true};

/* Counts byte by byte, with a marker at each position that requires one. */
static uint32_t count_stream(uint32_t at, uint32_t plain_bytes)
{
	uint32_t start = at;

	while (plain_bytes--) {
		if (at % 512 == 0)
			at += 4;
		at++;
	}
	return at - start;
}

static void arithmetic(void)
{
	uint32_t at, n, room;

	for (at = 0; at <= 1024; at += 4) {
		for (n = 8; n < 1600; n += 4)
			CU_ASSERT_EQUAL(mpa_stream_bytes(at, n, true), count_stream(at, n));
		for (n = 0; n < 1600; n++) {
			room = mpa_plain_room(at, n, true);
			CU_ASSERT_EQUAL(room % 4, 0);
			CU_ASSERT_TRUE(!room || count_stream(at, room) <= n);
			CU_ASSERT_TRUE(count_stream(at, room + 4) > n);
		}
	}
	for (n = 0; n < 70; n++) {
		CU_ASSERT_EQUAL(mpa_plain_bytes(n), (2 + n + 3) / 4 * 4 + 4);
		CU_ASSERT_EQUAL(mpa_stream_bytes(0, n, false), n);
		CU_ASSERT_EQUAL(mpa_plain_room(4, n, false), n & ~3u);
	}
	CU_ASSERT_EQUAL(mpa_plain_bytes(0xffff), MPA_PLAIN_MAX);
	CU_ASSERT_TRUE((int)MPA_PLAIN_MAX <= (int)MPA_PARTIAL_BYTES);
	/*
	 * FPDUPTR counts from the length field, which follows a marker that comes first; also past
	 * 2^32.
	 */
	CU_ASSERT_EQUAL(mpa_fpduptr(0, 0), 0);
	CU_ASSERT_EQUAL(mpa_fpduptr(0, 512), 508);
	CU_ASSERT_EQUAL(mpa_fpduptr(4, 512), 508);
	CU_ASSERT_EQUAL(mpa_fpduptr(508, 512), 4);
	CU_ASSERT_EQUAL(mpa_fpduptr(512, 512), 0);
	CU_ASSERT_EQUAL(mpa_fpduptr(0xfffffffcu, 0), 4);
	CU_ASSERT_EQUAL(mpa_fpduptr(0xfffffffcu, 512), 516);
}

/* ---- as siw writes them ---------------------------------------------------------------------- */

static struct {
	uint32_t same, skipped;
} compared;

/* Makes the header of a captured segment again from its fields. */
static bool compare(struct mpa_conn *conn, const uint8_t *ulpdu, uint32_t bytes)
{
	const struct fw_rx_frame frame = {.seg = {{ulpdu, bytes}}, .num_seg = 1, .bytes = bytes};
	struct rdmap_seg pkt = {.frame = &frame, .data_bytes = bytes};
	const struct wire_read_request *read = (const void *)(ulpdu + 18);
	uint8_t made[RDMAP_HDR_MAX];
	struct rdmap_error error;
	struct fw_wqe msg = {.qp = conn->qp};
	struct mpa_seg seg = {.msg = &msg, .kind = MPA_SEG_DATA};
	uint32_t n;

	CU_ASSERT_EQUAL_FATAL(ddp_parse(&pkt, DDP_ANY, &error), RDMAP_OK);
	msg.rdmap_opcode = pkt.opcode;
	msg.msn = pkt.msn;
	msg.rkey = pkt.stag;
	msg.remote_addr = pkt.to;
	seg.offset = pkt.mo;
	seg.bytes = pkt.data_bytes;
	msg.bytes = pkt.mo + pkt.data_bytes + (pkt.last ? 0 : 1);
	if (pkt.opcode == WIRE_RDMAP_READ_REQUEST) {
		msg.bytes = be32_get(read->bytes);
		msg.rkey = be32_get(read->src_stag);
		msg.remote_addr = be64_get(read->src_to);
	} else if (pkt.opcode == WIRE_RDMAP_TERMINATE) {
		compared.skipped++;
		return false;
	}
	n = mpa_tx_put_header(rp.end[1].nic, conn, &seg, made);
	CU_ASSERT_EQUAL(n, bytes - (pkt.opcode == WIRE_RDMAP_READ_REQUEST ? 0 : pkt.data_bytes));
	CU_ASSERT_EQUAL(n, mpa_cut_header_bytes(conn, &msg, MPA_SEG_DATA));
	/* The sink's name is of our choosing. */
	if (pkt.opcode == WIRE_RDMAP_READ_REQUEST)
		memcpy(made + 18, ulpdu + 18, 12);
	CU_ASSERT_EQUAL(memcmp(made, ulpdu, n), 0);
	compared.same++;
	return false;
}

static void as_siw(void)
{
	static const char *const files[] = {"rping-r2-p2p-crc.pcap", "rbw-r2-crc.pcap",
					    "wbw-r2-gso.pcap", "sendlat-r2-nocrc.pcap",
					    "rping-r2-crc-4000B.pcap"};
	static struct capture c;
	uint32_t i, k, s;

	mp_begin(&crc);
	mp.see = compare;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cap_load(&c, files[i]);
		compared.same = 0;
		for (k = 0; k < c.num; k++)
			for (s = 0; s < 2; s++) {
				const struct cap_stream *stream = &c.conn[k].side[s];
				uint32_t n = stream->bytes - stream->fpdus;

				mp.side[1].conn->param.crc = c.conn[k].crc;
				CU_ASSERT_EQUAL(
				    mp_receive(&mp.side[1], stream->data + stream->fpdus, n), n);
			}
		CU_ASSERT_TRUE(compared.same >= 20);
		cap_free(&c);
	}
	mp.see = NULL;
	mp_end();
}

/* ---- frames ---------------------------------------------------------------------------------- */

static struct fw_tx_frame frame;

static int fill_first(struct mp_side *side, struct tcp_seg **seg, uint32_t tries)
{
	*seg = mpa_tx_next(mp_nic(side), &side->flow, mp.mss);
	CU_ASSERT_PTR_NOT_NULL_FATAL(*seg);
	side->seg[side->made].seg = *seg;
	side->seg[side->made++].end = side->wrote + (*seg)->bytes;
	(*seg)->tries = (uint8_t)tries;
	frame.num_seg = 0;
	frame.flags = 0;
	eth_tx_hdr(&frame, 0, MP_HDRS, 0);
	return mpa_tx_fill(mp_nic(side), &side->flow, *seg, 0, (*seg)->bytes, &frame, MP_HDRS);
}

/*
 * Headers, memory, and at most one piece after them, which a port can borrow; one CRC over all of
 * it.
 */
static void form_of_frames(void)
{
	struct rp_req in = {
	    .opcode = HW_WQE_SEND, .wr_id = 1, .bytes = 64, .flags = HW_WQE_F_INLINE};
	uint32_t bytes, with_crc;
	struct tcp_seg *seg;

	for (with_crc = 0; with_crc < 2; with_crc++) {
		for (bytes = 1; bytes < 9; bytes++) {
			bool tail = !with_crc || (bytes + 2 + 14) % 4;

			mp_begin(with_crc ? &crc : &plain);
			mp_req(0, HW_WQE_WRITE, 1, bytes, 0);
			rp_poll(&rp, 0);
			CU_ASSERT_EQUAL(fill_first(&mp.side[0], &seg, bytes % 2), 0);
			CU_ASSERT_TRUE(seg->flags & TCP_SEG_PSH);
			CU_ASSERT_EQUAL(frame.num_seg, 3u + tail);
			CU_ASSERT_EQUAL(frame.seg[1].kind, FW_TX_HDR);
			CU_ASSERT_EQUAL(frame.seg[1].flags, with_crc ? FW_TX_F_CRC_BEGIN : 0);
			CU_ASSERT_EQUAL(frame.seg[2].kind, FW_TX_MEM);
			CU_ASSERT_EQUAL(frame.seg[frame.num_seg - 1].flags,
					with_crc ? FW_TX_F_CRC_END : 0);
			/* Retransmissions are not. */
			CU_ASSERT_EQUAL(frame.flags, bytes % 2 ? 0 : FW_TX_F_BORROW);
			mp_end();
		}
	}
	mp_begin(&crc);
	rp_req(&rp, 0, mp.side[0].qp, &in);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(fill_first(&mp.side[0], &seg, 0), 0);
	CU_ASSERT_EQUAL(frame.flags, 0);
	mp_end();
	mp_begin(&marked);
	mp_req(0, HW_WQE_WRITE, 1, 3000, 0);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(fill_first(&mp.side[0], &seg, 0), TCP_FILL_NOW);
	CU_ASSERT_EQUAL(frame.flags, 0);
	CU_ASSERT_EQUAL(frame.num_seg, 2);
	CU_ASSERT_FALSE(seg->flags & TCP_SEG_PSH);
	mp_end();
}

/* No FPDU ends where a marker follows, if there is a choice: Wireshark would not recognize it. */
static void none_ends_at_a_marker(void)
{
	struct mp_side *side = &mp.side[0];
	uint32_t mss, i;

	for (mss = 96; mss < 3000; mss += 20) {
		mp_begin(&marked);
		mp.mss = mss;
		mp_req(0, HW_WQE_WRITE, 1, 20000, 0);
		mp_run();
		for (i = 0; i + 1 < side->made; i++)
			CU_ASSERT_NOT_EQUAL(side->seg[i].end % WIRE_MPA_MARKER_DISTANCE, 0);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		mp_end();
	}
}

/* The maximum number of SGEs, each a few bytes of the segment. */
static void many_sges(void)
{
	struct hw_sq_wqe wqe = {
	    .opcode = HW_WQE_WRITE, .flags = HW_WQE_F_SIGNALED, .num_sge = HW_MAX_SGE, .wr_id = 1};
	struct hw_sge sge[HW_MAX_SGE];
	uint32_t i, m;

	for (m = 0; m < 3; m++) {
		mp_begin(m == 0 ? &crc : m == 1 ? &plain : &marked);
		rp_fill(MP_MEM(0), HW_MAX_SGE * 37, 3);
		for (i = 0; i < HW_MAX_SGE; i++)
			sge[i] = (struct hw_sge){.addr = (uintptr_t)MP_MEM(0) + i * 37,
						 .bytes = 37,
						 .lkey = rp.end[0].stag};
		wqe.slots = (uint8_t)hw_sq_slots(sizeof(sge));
		wqe.remote_addr = (uintptr_t)MP_MEM(1) + MP_DST;
		wqe.rkey = rp.end[1].stag;
		rp_write_sq(mp.side[0].qp, &wqe, sge, sizeof(sge));
		rp_ring(&rp, 0, mp.side[0].qp);
		mp_run();
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_filled(MP_MEM(1) + MP_DST, HW_MAX_SGE * 37, 3));
		mp_end();
	}
}

/* Without room for a header there is no segment, and no data is lost. */
static void no_room(void)
{
	struct mp_side *side = &mp.side[0];
	struct tcp_seg *seg;
	uint32_t max;

	mp_begin(&marked);
	mp_req(0, HW_WQE_READ, 1, 100, 0);
	rp_poll(&rp, 0);
	for (max = 0; max < 56; max++)
		CU_ASSERT_PTR_NULL(mpa_tx_next(mp_nic(side), &side->flow, max));
	seg = mpa_tx_next(mp_nic(side), &side->flow, 56); /* marker, length, 46, CRC */
	CU_ASSERT_PTR_NOT_NULL_FATAL(seg);
	CU_ASSERT_EQUAL(seg->bytes, 56);
	side->seg[side->made++].seg = seg;
	mp_end();
}

/* Without memory the segment is made later. */
static void no_segments(void)
{
	struct mp_side *side = &mp.side[0];
	struct fw_pool *pool;
	uint32_t max;

	mp_begin(&crc);
	pool = &mp_nic(side)->mpa.segs;
	max = pool->max;
	pool->max = 0;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	CU_ASSERT_EQUAL(side->made, 0);
	CU_ASSERT_FALSE(side->push);
	pool->max = max;
	rp_run(&rp, 200000);
	CU_ASSERT_TRUE(side->push);
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	mp_end();
}

UT_MAIN("pair/mpa_tx", UT(arithmetic), UT(as_siw), UT(form_of_frames), UT(none_ends_at_a_marker),
	UT(many_sges), UT(no_room), UT(no_segments))
