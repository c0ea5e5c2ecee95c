/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FPDUs in: those of Linux's siw, cut in many ways; wrong CRCs and markers; random bytes; lack of
 * buffers and of memory. mpa_wrong_ut.c has errors within FPDUs. nic_fw/mpa/mpa_rx.c, mpa_ddp.c.
 */
#include "nic_fw/mpa/mpa_ddp.c"
#include "tests/pair/mpa_capture.h"
#include "tests/pair/mpa_pair.h"

#include "tests/golden.h"

static const struct mpa_params crc = {.crc = true};
static const struct mpa_params plain = {.crc = false};
static const struct mpa_params marked = {.crc = true, .tx_markers = true, .rx_markers = true};

/* ---- captures -------------------------------------------------------------------------------- */

static struct {
	uint32_t fpdus, bad;
	uint32_t opcode[16];
} seen;

static bool see(struct mpa_conn *conn, const uint8_t *ulpdu, uint32_t bytes)
{
	const struct fw_rx_frame frame = {.seg = {{ulpdu, bytes}}, .num_seg = 1, .bytes = bytes};
	struct rdmap_seg pkt = {.frame = &frame, .data_bytes = bytes};
	struct rdmap_error error;

	(void)conn;
	seen.fpdus++;
	if (ddp_parse(&pkt, DDP_ANY, &error) == RDMAP_OK)
		seen.opcode[pkt.opcode]++;
	else
		seen.bad++;
	return false;
}

/* Passes a captured stream through the receiver in pieces. */
static void replay(const struct cap_conn *conn, const struct cap_stream *s, uint32_t cut)
{
	struct mp_side *to = &mp.side[1];
	uint32_t at = s->fpdus;

	to->conn->param.crc = conn->crc;
	to->conn->rx_bytes = 0;
	while (at < s->bytes) {
		uint32_t n = s->bytes - at < cut ? s->bytes - at : cut;

		CU_ASSERT_EQUAL_FATAL(mp_receive(to, s->data + at, n), n);
		at += n;
	}
	CU_ASSERT_PTR_NULL(to->conn->partial);
}

static void captures(void)
{
	static const struct {
		const char *name;
		uint32_t conns;
	} files[] = {
	    {"rbw-r1-nocrc.pcap", 2},     {"rbw-r2-crc-nozcopy.pcap", 2},
	    {"rbw-r2-crc.pcap", 2},       {"rping-r2-crc-4000B.pcap", 1},
	    {"rping-r2-crc.pcap", 1},     {"rping-r2-nocrc.pcap", 1},
	    {"rping-r2-p2p-crc.pcap", 1}, {"rping-r2-p2p-nocrc.pcap", 1},
	    {"rping-r2-srvcrc.pcap", 1},  {"sendlat-r2-nocrc.pcap", 2},
	    {"ucmatose-r1-crc.pcap", 1},  {"ucmatose-r1-nocrc.pcap", 1},
	    {"ucmatose-r2-crc.pcap", 1},  {"wbw-r1-crc.pcap", 2},
	    {"wbw-r2-gso.pcap", 2},       {"wbw-r2-nocrc.pcap", 2},
	};
	static const uint32_t cuts[] = {1, 7, 1448, 1449, 65536};
	static struct capture c;
	uint32_t i, k, s, n, first = 0;

	mp_begin(&crc);
	mp.see = see;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cap_load(&c, files[i].name);
		n = 0;
		for (k = 0; k < c.num; k++) {
			if (!c.conn[k].accepted || c.conn[k].side[0].gap || c.conn[k].side[1].gap)
				continue;
			n++;
			for (s = 0; s < 2 * sizeof(cuts) / sizeof(cuts[0]); s++) {
				const struct cap_stream *stream = &c.conn[k].side[s & 1];

				memset(&seen, 0, sizeof(seen));
				replay(&c.conn[k], stream, cuts[s / 2]);
				CU_ASSERT_EQUAL(seen.bad, 0);
				CU_ASSERT_TRUE(seen.fpdus > 0 || stream->fpdus == stream->bytes);
				if (s < 2)
					first = seen.fpdus + (s ? first : 0);
			}
			CU_ASSERT_TRUE(first > 0);
		}
		if (n != files[i].conns)
			printf("\n    %s: %u connections, not %u", files[i].name, n,
			       files[i].conns);
		CU_ASSERT_EQUAL(n, files[i].conns);
		cap_free(&c);
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_mpa_crc), 0);
	mp.see = NULL;
	mp_end();
}

/* Each byte of a good FPDU is wrong in turn: the CRC detects it, and nothing is placed. */
static void every_byte_wrong(void)
{
	uint8_t fpdu[256];
	size_t bytes = golden_load("mpa_fpdu.hex", "write", fpdu, sizeof(fpdu));
	uint32_t i;

	for (i = 2; i < bytes; i++) {
		mp_begin(&crc);
		mp.see = see;
		memset(&seen, 0, sizeof(seen));
		fpdu[i] ^= 0x10;
		CU_ASSERT_EQUAL(mp_receive(&mp.side[1], fpdu, (uint32_t)bytes), bytes);
		fpdu[i] ^= 0x10;
		CU_ASSERT_EQUAL(seen.fpdus, 0);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_mpa_crc), 1);
		CU_ASSERT_EQUAL(mp.side[1].conn->state, MPA_TERM_SENT);
		CU_ASSERT_EQUAL(mp.side[1].qp->state, HW_QPS_ERR);
		(void)mp_make(&mp.side[1]);
		mp_expect_terminate(&mp.side[1], 0x20, 0x02, 0, NULL);
		mp_end();
	}
	/* Frames that never left this machine have no CRC to check. */
	mp_begin(&crc);
	mp.see = see;
	memset(&seen, 0, sizeof(seen));
	mp.rx_flags = FW_RX_CRC_OK;
	fpdu[bytes - 1] ^= 1;
	CU_ASSERT_EQUAL(mp_receive(&mp.side[1], fpdu, (uint32_t)bytes), bytes);
	CU_ASSERT_EQUAL(seen.fpdus, 1);
	CU_ASSERT_EQUAL(mp_receive(&mp.side[1], fpdu, 10), 10);
	CU_ASSERT_EQUAL(mp_receive(&mp.side[1], fpdu + 10, (uint32_t)bytes - 10), bytes - 10);
	CU_ASSERT_EQUAL(seen.fpdus, 2);
	mp.see = NULL;
	mp_end();
}

/* ---- anything ------------------------------------------------------------------------------- */

/* Random bytes in an FPDU, half of the time with a correct CRC; its length may change. */
static void scramble(struct mp_side *from, uint8_t *fpdu, uint32_t bytes)
{
	uint32_t n = mp_random(4);
	struct be32 sum;

	while (n--)
		fpdu[mp_random(mp_random(4) ? 40 : bytes) % bytes] = (uint8_t)mp_random(256);
	if (from->conn->param.crc && mp_random(8)) {
		sum = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, fpdu, bytes - WIRE_MPA_CRC_BYTES));
		memcpy(fpdu + bytes - WIRE_MPA_CRC_BYTES, &sum, sizeof(sum));
	}
}

/*
 * Random input never changes memory that the peer may not write, and a connection that continues
 * still works.
 */
static void garbage(void)
{
	static const struct mpa_params *const modes[] = {&crc, &plain, &marked};
	static const uint8_t ops[] = {HW_WQE_SEND, HW_WQE_WRITE, HW_WQE_READ, HW_WQE_WRITE_IMM,
				      HW_WQE_FETCH_ADD};
	struct hw_cqe cqe;
	uint32_t round, i, e, stag;

	for (round = 0; round < 240; round++) {
		mp_begin(modes[round % 3]);
		mp.random = round * 77 + 1;
		mp.cut = mp_random(2) ? 1 + mp_random(900) : 0;
		mp.frame = mp_random(2) ? 60 : 0;
		mp.change = scramble;
		/* A separate region, with a guard on either side. */
		memset(MP_MEM(1), 0x33, MP_DST + 8192);
		stag = rp_reg(&rp, 1, MP_MEM(1) + MP_DST, 4096, RP_ALL_ACCESS, round % 2);
		CU_ASSERT_EQUAL(rp_dereg(&rp, 1, rp.end[1].stag), 0);
		for (i = 0; i < 8; i++) {
			struct rp_req req = {.opcode = ops[mp_random(5)],
					     .wr_id = i,
					     .offset = MP_SINK,
					     .remote_offset = MP_DST,
					     .rkey = stag};
			struct hw_sge sge = {(uintptr_t)MP_MEM(1) + MP_DST, 2000, stag};

			req.bytes = req.opcode == HW_WQE_FETCH_ADD ? 8 : mp_random(2000);
			host_recv(mp.side[1].qp, 100 + i, &sge, 1);
			rp_req(&rp, 0, mp.side[0].qp, &req);
			mp_run();
		}
		for (i = 0; i < MP_DST; i++)
			if (MP_MEM(1)[i] != 0x33 || MP_MEM(1)[MP_DST + 4096 + i % 4096] != 0x33)
				break;
		CU_ASSERT_EQUAL(i, MP_DST);
		for (e = 0; e < 2; e++) {
			CU_ASSERT_TRUE((mp.side[e].qp->state == HW_QPS_ERR) ==
				       (mp.side[e].conn->state != MPA_FPDU));
			while (rp_scqe(&rp, e, &cqe) || rp_rcqe(&rp, e, &cqe))
				;
		}
		rp.end[1].stag = stag;
		mp_end();
	}
}

/* The first piece of a frame ends after each byte of three FPDUs: none of it is read beyond. */
static void cut_anywhere(void)
{
	static const struct mpa_params *const modes[] = {&crc, &plain, &marked};
	uint32_t mode, i, bytes;

	for (mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++) {
		mp_begin(modes[mode]);
		mp.frame = 2048;
		for (i = 0, bytes = 1; i < bytes; i++) {
			struct mp_side *from = &mp.side[0];
			uint32_t k;

			mp.head = MP_HDRS + 1 + i;
			for (k = 0; k < 3; k++) {
				rp_recv(&rp, 1, mp.side[1].qp, k, 8192 + k * 64, 64);
				mp_req(0, k == 1 ? HW_WQE_WRITE_IMM : HW_WQE_SEND, k, 24, 0);
			}
			while (rp_poll(&rp, 0) | mp_make(from))
				;
			bytes = from->wrote - from->read;
			CU_ASSERT_EQUAL_FATAL(
			    mp_receive(&mp.side[1], from->wire + from->read, bytes), bytes);
			from->read = from->wrote;
			mp_run();
			for (k = 0; k < 3; k++) {
				rp_expect_send(&rp, 0, k, HW_STATUS_SUCCESS);
				(void)rp_expect_recv(&rp, 1, k, HW_STATUS_SUCCESS);
			}
		}
		CU_ASSERT_TRUE(i > 100);
		mp_end();
	}
}

/*
 * A port may put headers into one piece and memory of the sender's process into the next: as soon
 * as the first piece holds the segment's headers, the FPDU is placed from the frame.
 */
static void headers_in_one_piece(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t to, hdr;
	} list[] = {
	    {HW_WQE_SEND, 1, sizeof(struct wire_ddp_untagged)},
	    {HW_WQE_WRITE, 1, sizeof(struct wire_ddp_tagged)},
	    {HW_WQE_READ, 0, sizeof(struct wire_ddp_tagged)},
	};
	uint32_t i, lack;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		for (lack = 0; lack < 2; lack++) {
			const struct fw_pool *pool;

			mp_begin(&crc);
			pool = &rp.end[list[i].to].nic->mpa.partials;
			mp.frame = 2048;
			mp.head = MP_HDRS + MPA_LENGTH_BYTES + list[i].hdr - lack;
			if (list[i].opcode == HW_WQE_SEND)
				rp_recv(&rp, 1, mp.side[1].qp, 1, MP_DST, 1000);
			mp_req(0, list[i].opcode, 1, 1000, 0);
			mp_run();
			rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
			if (list[i].opcode == HW_WQE_SEND)
				(void)rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(pool->used_max, lack);
			mp_end();
		}
	}
}

/* A length of zero is an FPDU without a payload, which DDP does not define. */
static void empty_ulpdu(void)
{
	static const uint8_t fpdu[8];

	mp_begin(&plain);
	CU_ASSERT_EQUAL(mp_receive(&mp.side[1], fpdu, sizeof(fpdu)), sizeof(fpdu));
	(void)mp_make(&mp.side[1]);
	mp_expect_terminate(&mp.side[1], 0x02, 0xff, 0, NULL);
	CU_ASSERT_EQUAL(mp.side[1].qp->state, HW_QPS_ERR);
	mp_end();
}

static uint32_t marker_at;
static uint8_t marker_flip;

static void bad_marker(struct mp_side *from, uint8_t *fpdu, uint32_t bytes)
{
	struct be32 sum;

	if (from->e || from->made != 1)
		return;
	fpdu[marker_at] ^= marker_flip;
	sum = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, fpdu, bytes - WIRE_MPA_CRC_BYTES));
	memcpy(fpdu + bytes - WIRE_MPA_CRC_BYTES, &sum, sizeof(sum));
}

/* A marker that does not point at the beginning of the FPDU, with a correct CRC. */
static void wrong_markers(void)
{
	static const struct {
		uint32_t at;
		uint8_t flip;
		bool ok;
	} list[] = {
	    {0, 0xff, true}, {1, 0x80, true}, {2, 1, false},       {3, 4, false},
	    {3, 3, true},    {512, 1, true},  {512 + 2, 2, false}, {512 + 3, 0x80, false},
	};
	uint32_t i;
	struct hw_cqe cqe;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		mp_begin(&marked);
		marker_at = list[i].at;
		marker_flip = list[i].flip;
		mp.change = bad_marker;
		mp_req(0, HW_WQE_WRITE, 1, 700, 0);
		mp_run();
		if (list[i].ok) {
			rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		} else {
			CU_ASSERT_EQUAL(mpa_term(mp_nic(&mp.side[1]), mp.side[1].conn)[0], 0x20);
			CU_ASSERT_EQUAL(mpa_term(mp_nic(&mp.side[1]), mp.side[1].conn)[1], 0x03);
			CU_ASSERT_EQUAL(mpa_term(mp_nic(&mp.side[1]), mp.side[1].conn)[2], 0);
			CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_mpa_marker), 1);
			while (rp_scqe(&rp, 0, &cqe))
				;
		}
		mp_end();
	}
}

/* ---- early ---------------------------------------------------------------------------------- */

/* Segments of the stream from one on, as a frame that arrives early. */
static void early(uint32_t first, uint32_t last, uint32_t skip)
{
	struct mp_side *from = &mp.side[0], *to = &mp.side[1];
	uint32_t begin = (first ? from->seg[first - 1].end : 0) + skip;
	uint32_t n = from->seg[last].end - begin;
	uint8_t *buf = malloc(MP_HDRS + n);
	struct fw_rx_frame frame = {
	    .seg = {{buf, MP_HDRS + n}}, .num_seg = 1, .bytes = MP_HDRS + n};

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	memcpy(buf + MP_HDRS, from->wire + begin, n);
	mpa_rx_early(mp_nic(to), &to->flow, &frame, MP_HDRS, n, begin - from->read);
	free(buf);
}

static void begin_early(const struct mpa_params *param, uint8_t opcode)
{
	mp_begin(param);
	mp.mss = 700;
	rp_fill(MP_MEM(0), 3000, 5);
	rp_recv(&rp, 1, mp.side[1].qp, 50, MP_DST, 3000);
	mp_req(0, opcode, 1, 3000, 0);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(mp_make(&mp.side[0]), 5);
}

/* Number of sent bytes that are at the target. */
static uint32_t placed(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < 3000; i++)
		n += MP_MEM(1)[MP_DST + i] == MP_MEM(0)[i] && MP_MEM(0)[i];
	return n;
}

/* Payload whose FPDU is known from a marker is placed early, and delivered in order. */
static void placed_early(void)
{
	static const uint8_t ops[] = {HW_WQE_WRITE, HW_WQE_SEND};
	uint32_t i, before;

	for (i = 0; i < 2; i++) {
		begin_early(&marked, ops[i]);
		early(2, 2, 0);
		before = placed();
		CU_ASSERT_TRUE(before > 600 && before < 700);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_rx_early), 1);
		early(3, 4, 0); /* two in a frame */
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_rx_early), 3);
		rp_expect_none(&rp);
		/*
		 * The target changes meanwhile, as an earlier Write would do: the last data counts.
		 */
		memset(MP_MEM(1) + MP_DST, 0, 3000);
		(void)mp_deliver(&mp.side[0]);
		CU_ASSERT_TRUE(rp_filled(MP_MEM(1) + MP_DST, 3000, 5));
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		if (i)
			(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
		mp_end();
	}
}

/* Without markers, in the middle of a marker, or with a wrong CRC, the FPDU is unknown. */
static void not_placed_early(void)
{
	begin_early(&crc, HW_WQE_WRITE);
	early(2, 2, 0);
	CU_ASSERT_EQUAL(placed(), 0);
	mp_end();

	begin_early(&marked, HW_WQE_WRITE);
	early(2, 2, 8);
	CU_ASSERT_EQUAL(placed(), 0);
	mp.side[0].wire[mp.side[0].seg[2].end - 1] ^= 1;
	early(2, 2, 0);
	CU_ASSERT_EQUAL(placed(), 0);
	mp.side[0].wire[mp.side[0].seg[2].end - 1] ^= 1;
	/* The end of one FPDU and the next one: the next one is known. */
	early(1, 2, 200);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_rx_early), 1);
	/* A target that does not exist: nothing happens before the FPDU's turn. */
	mp.side[1].qp->access = 0;
	early(3, 3, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_rx_early), 1);
	CU_ASSERT_EQUAL(mp.side[1].qp->state, HW_QPS_RTS);
	mp_end();
}

/* ---- want ------------------------------------------------------------------------------------ */

/* Without a buffer the beginning of an FPDU is not consumed; whole ones need none. */
static void no_buffers(void)
{
	static void *taken[MPA_MAX_PARTIALS];
	struct fw_pool *pool;
	uint32_t i, n = 0;

	mp_begin(&crc);
	pool = &rp.end[1].nic->mpa.partials;
	while (n < MPA_MAX_PARTIALS && (taken[n] = fw_pool_get(pool)))
		n++;
	CU_ASSERT_EQUAL(n, MPA_MAX_PARTIALS);
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	mp.cut = 50;
	mp_req(0, HW_WQE_WRITE, 2, 100, 0);
	mp_run();
	rp_expect_none(&rp);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, mpa_no_memory) > 0);
	for (i = 0; i < n; i++)
		fw_pool_put(pool, taken[i]);
	CU_ASSERT_FALSE(mp.side[1].resumed);
	rp_run(&rp, 200000);
	CU_ASSERT_TRUE(mp.side[1].resumed);
	mp_run();
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	mp_end();
}

static struct mpa_conn holder[2];
static uint32_t fired;

/* Connections that do not exist: counts their timers. */
static bool fire(struct fw_timer *timer)
{
	if (timer != &holder[0].timer && timer != &holder[1].timer)
		return false;
	fired++;
	return true;
}

/*
 * An FPDU that was half sent long ago loses its buffer, and its connection, when another one needs
 * it.
 */
static void old_buffers_are_reclaimed(void)
{
	static struct mpa_partial *taken[MPA_MAX_PARTIALS];
	struct fw_pool *pool;
	struct fw_nic *nic;
	uint32_t i, n = 0;

	mp_begin(&crc);
	nic = rp.end[1].nic;
	pool = &nic->mpa.partials;
	while (n < MPA_MAX_PARTIALS && (taken[n] = fw_pool_get(pool)))
		n++;
	for (i = 0; i < 2; i++) {
		fw_list_init(&taken[i]->node);
		fw_list_add_tail(&nic->mpa.held, &taken[i]->node);
		taken[i]->conn = &holder[i];
		taken[i]->began_ns = nic->now_ns + i * 3000000000u;
		fw_timer_init(&holder[i].timer, FW_TIMER_MPA);
	}
	fired = 0;
	mp.fire = fire;
	mp.cut = 50;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	rp_run(&rp, UINT64_C(3900000000));
	mp_run();
	CU_ASSERT_EQUAL(fired, 0);
	rp_run(&rp, 200000000);
	mp_run();
	rp_run(&rp, 1000000);
	CU_ASSERT_EQUAL(fired, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, mpa_partials_reclaimed), 1);
	/* The FPDU that began later keeps its buffer. */
	CU_ASSERT_PTR_EQUAL(nic->mpa.held.next, &taken[1]->node);
	for (i = 0; i < n; i++) {
		if (i < 2)
			fw_list_del(&taken[i]->node);
		fw_pool_put(pool, taken[i]);
	}
	rp_run(&rp, 200000);
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(fw_list_empty(&nic->mpa.held));
	mp_end();
}

/* One station leaves buffers to others, and its FPDUs wait for its own alone. */
static void buffers_shared_by_stations(void)
{
	struct fw_nic *nic;
	uint8_t station;
	uint32_t n = 0;

	mp_begin(&crc);
	nic = rp.end[1].nic;
	station = mp.side[1].flow.station;
	while (station_may(nic, station, STATION_PARTIALS, nic->mpa.partials.max)) {
		station_take(nic, station, STATION_PARTIALS);
		n++;
	}
	CU_ASSERT(n > MPA_MAX_PARTIALS / 2 && n < MPA_MAX_PARTIALS / 4 * 3);
	mp.cut = 50;
	mp_req(0, HW_WQE_WRITE, 1, 100, 0);
	mp_run();
	rp_expect_none(&rp);
	/* The same bytes from another station. */
	mp.side[1].flow.station ^= 1;
	rp_run(&rp, 200000);
	mp_run();
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	while (n--)
		station_give(nic, station, STATION_PARTIALS);
	CU_ASSERT_EQUAL(nic->station.used[STATION_PARTIALS], 0);
	mp_end();
}

/* Without memory for a receive the FPDU waits, whole or in parts. A receive of two SGEs needs some.
 */
static void recv_msgs_used_up(void)
{
	struct hw_sge sge[2] = {{.bytes = 100}, {.bytes = 200}};
	struct fw_pool *pool;
	void *first;
	uint32_t cut, high, max;

	for (cut = 0; cut < 200; cut += 50) {
		mp_begin(&crc);
		pool = &rp.end[1].nic->host.recv_msgs;
		sge[0].addr = (uintptr_t)rp.end[1].mem;
		sge[1].addr = sge[0].addr + sge[0].bytes;
		sge[0].lkey = sge[1].lkey = rp.end[1].stag;
		host_recv(mp.side[1].qp, 50, sge, 2);
		mp.cut = cut;
		/* All contexts that were ever used are taken, and there are no more. */
		first = fw_pool_get(pool);
		CU_ASSERT_PTR_NOT_NULL_FATAL(first);
		max = pool->max;
		high = pool->high;
		pool->max = high;
		CU_ASSERT_EQUAL(pool->free, FW_NONE);
		mp_req(0, HW_WQE_SEND, 1, 300, 0);
		mp_run();
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(mp.side[1].conn->state, MPA_FPDU);
		pool->max = max;
		fw_pool_put(pool, first);
		mp_run();
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
		mp_end();
	}
}

UT_MAIN("pair/mpa_rx", UT(captures), UT(every_byte_wrong), UT(garbage), UT(cut_anywhere),
	UT(headers_in_one_piece), UT(empty_ulpdu), UT(wrong_markers), UT(placed_early),
	UT(not_placed_early), UT(no_buffers), UT(old_buffers_are_reclaimed),
	UT(buffers_shared_by_stations), UT(recv_msgs_used_up))
