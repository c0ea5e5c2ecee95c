/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement: every cut of a segment over every list of buffers, frames in pieces, bounds, keys,
 * mapped and unmapped memory.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;
static uint8_t data[256];
static struct fw_rx_frame frame;

#define A (&rp.end[0])

/* data[0, bytes) as a frame in segments of `piece` bytes. */
static void make_frame(uint32_t bytes, uint32_t piece)
{
	uint32_t at = 0;

	memset(&frame, 0, sizeof(frame));
	frame.bytes = bytes;
	while (at < bytes || !frame.num_seg) {
		uint32_t n = bytes - at;

		if (piece && n > piece && frame.num_seg < FW_RX_SEGS_MAX - 1)
			n = piece;
		frame.seg[frame.num_seg++] = (struct fw_rx_seg){data + at, n};
		at += n;
	}
}

static void begin(void)
{
	rp_begin(&rp);
	rp_fill(data, sizeof(data), 9);
}

/* The bytes of a list in order. */
static void collect(const struct hw_sge *sge, uint32_t n, uint8_t *out)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		memcpy(out, (const void *)(uintptr_t)sge[i].addr, sge[i].bytes);
		out += sge[i].bytes;
	}
}

static void scatter(void)
{
	static const uint32_t pieces[] = {0, 1, 3, 8};
	uint32_t n, p, m;

	begin();
	for (m = 0; m < 2; m++) {
		uint32_t stag =
		    m ? rp_reg(&rp, 0, A->mem, 65536, HW_ACCESS_LOCAL_WRITE, false) : A->stag;

		for (n = 1; n <= 6; n++)
			for (p = 0; p < 4; p++) {
				struct hw_sge sge[6];
				uint32_t i, total = 0, offset, bytes;

				for (i = 0; i < n; i++) {
					sge[i] = (struct hw_sge){(uintptr_t)A->mem + 64 * i,
								 (i * 3 + n) % 5, stag};
					total += sge[i].bytes;
				}
				for (offset = 0; offset <= total; offset++)
					for (bytes = 0; bytes <= total - offset; bytes++) {
						struct eth_cursor cursor;
						uint8_t got[64], want[64];

						memset(A->mem, 0xee, 512);
						memset(want, 0xee, sizeof(want));
						memcpy(want + offset, data, bytes);
						make_frame(bytes, pieces[p]);
						eth_cursor_init(&cursor, &frame, 0, bytes);
						CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd, sge,
									       n, offset, &cursor),
								HW_VENDOR_ERR_NONE);
						CU_ASSERT_EQUAL(cursor.left, 0);
						collect(sge, n, got);
						CU_ASSERT_EQUAL(memcmp(got, want, total), 0);
						for (i = 0; i < n; i++)
							CU_ASSERT_EQUAL(
							    A->mem[64 * i + sge[i].bytes], 0xee);
					}
			}
	}
	rp_end(&rp);
}

/* Data longer than the list: the list is filled, nothing is placed beyond. */
static void too_long(void)
{
	struct hw_sge sge[2];
	struct eth_cursor cursor;

	begin();
	memset(A->mem, 0xee, 256);
	sge[0] = (struct hw_sge){(uintptr_t)A->mem, 10, A->stag};
	sge[1] = (struct hw_sge){(uintptr_t)A->mem + 100, 10, A->stag};
	make_frame(21, 0);
	eth_cursor_init(&cursor, &frame, 0, 21);
	CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd, sge, 2, 0, &cursor), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(A->mem[10], 0xee);
	CU_ASSERT_EQUAL(A->mem[110], 0xee);
	eth_cursor_init(&cursor, &frame, 0, 1);
	CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd, sge, 2, 20, &cursor), HW_VENDOR_ERR_BOUNDS);
	eth_cursor_init(&cursor, &frame, 0, 1);
	CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd, sge, 2, UINT64_MAX, &cursor),
			HW_VENDOR_ERR_BOUNDS);
	eth_cursor_init(&cursor, &frame, 0, 1);
	CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd, sge, 0, 0, &cursor), HW_VENDOR_ERR_BOUNDS);
	CU_ASSERT_EQUAL(A->mem[110], 0xee);
	rp_end(&rp);
}

/* Receives are checked when they are used: keys, PDs, rights, bounds, wrapping addresses. */
static void keys(void)
{
	struct hw_sge good, sge;
	uint32_t read_only;
	struct eth_cursor cursor;

#define TRY(want)                                                                                  \
	do {                                                                                       \
		make_frame(16, 5);                                                                 \
		eth_cursor_init(&cursor, &frame, 0, 16);                                           \
		CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd, &sge, 1, 0, &cursor), want);         \
	} while (0)

	begin();
	good = (struct hw_sge){(uintptr_t)A->mem, 16, A->stag};
	sge = good;
	TRY(HW_VENDOR_ERR_NONE);
	sge.lkey ^= 0x80;
	TRY(HW_VENDOR_ERR_LKEY);
	sge.lkey = good.lkey | STAG_SINK_FLAG;
	TRY(HW_VENDOR_ERR_LKEY);
	sge = good;
	sge.addr += RP_MEM_BYTES - 15;
	TRY(HW_VENDOR_ERR_BOUNDS);
	sge.addr = UINT64_MAX - 3;
	TRY(HW_VENDOR_ERR_BOUNDS);
	read_only = rp_reg(&rp, 0, A->mem, 4096, 0, true);
	sge = good;
	sge.lkey = read_only;
	TRY(HW_VENDOR_ERR_ACCESS);
	sge.lkey = rp_reg(&rp, 0, A->mem, 4096, HW_ACCESS_LOCAL_WRITE, false);
	TRY(HW_VENDOR_ERR_NONE);
	rp_host_fault(&rp, true);
	TRY(HW_VENDOR_ERR_HOST_FAULT);
	rp_host_fault(&rp, false);
	make_frame(16, 0);
	eth_cursor_init(&cursor, &frame, 0, 16);
	CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd + 1, &good, 1, 0, &cursor),
			HW_VENDOR_ERR_LKEY);
	rp_end(&rp);
#undef TRY
}

/* Placement straight into one piece of memory. */
static void one_piece(void)
{
	struct fw_mem mem = {0};
	struct eth_cursor cursor;
	uint32_t piece;

	begin();
	for (piece = 0; piece < 40; piece++) {
		memset(A->mem, 0, 300);
		mem.ptr = piece % 2 ? A->mem : NULL;
		mem.addr = (uintptr_t)A->mem;
		mem.client = A->client;
		make_frame(200, piece ? 11 + piece : 0);
		eth_cursor_init(&cursor, &frame, 7, 190);
		CU_ASSERT_TRUE(ddp_place_mem(A->nic, &mem, 3, &cursor));
		CU_ASSERT_EQUAL(memcmp(A->mem + 3, data + 7, 190), 0);
		CU_ASSERT_EQUAL(A->mem[2], 0);
		CU_ASSERT_EQUAL(A->mem[193], 0);
	}
	rp_host_fault(&rp, true);
	mem.ptr = NULL;
	make_frame(8, 0);
	eth_cursor_init(&cursor, &frame, 0, 8);
	CU_ASSERT_FALSE(ddp_place_mem(A->nic, &mem, 0, &cursor));
	rp_host_fault(&rp, false);
	rp_end(&rp);
}

/* The payload of a segment, in one piece of its frame or in several, at each place. */
static void segments(void)
{
	struct rdmap_seg pkt = {.frame = &frame};
	struct fw_mem mem = {0};
	uint32_t piece, mapped;

	begin();
	mem.addr = (uintptr_t)A->mem;
	mem.client = A->client;
	for (piece = 0; piece < 24; piece++) {
		make_frame(64, piece ? 3 + piece : 0);
		for (pkt.data_offset = 0; pkt.data_offset <= 64; pkt.data_offset++) {
			for (pkt.data_bytes = 0; pkt.data_bytes <= 64 - pkt.data_offset;
			     pkt.data_bytes++) {
				mapped = (pkt.data_offset + pkt.data_bytes) % 8 != 0;
				mem.ptr = mapped ? A->mem : NULL;
				memset(A->mem, 0, 80);
				CU_ASSERT_TRUE_FATAL(ddp_place_segment(A->nic, &mem, 3, &pkt));
				CU_ASSERT_TRUE_FATAL(
				    rp_all(A->mem, 3, 0) &&
				    !memcmp(A->mem + 3, data + pkt.data_offset, pkt.data_bytes) &&
				    rp_all(A->mem + 3 + pkt.data_bytes, 8, 0));
			}
		}
	}
	rp_host_fault(&rp, true);
	pkt.data_offset = 0;
	pkt.data_bytes = 8;
	mem.ptr = NULL;
	CU_ASSERT_FALSE(ddp_place_segment(A->nic, &mem, 0, &pkt));
	rp_host_fault(&rp, false);
	rp_end(&rp);
}

/* A copy of memory that is not mapped takes two switches of a core: the pieces of a frame are one.
 */
static void one_copy_of_all_pieces(void)
{
	struct eth_cursor cursor;
	struct hw_sge sge[3];
	struct fw_mem mem;
	uint64_t before, bytes;
	uint32_t stag;

	begin();
	mem = (struct fw_mem){.addr = (uintptr_t)A->mem, .client = A->client};
	stag = rp_reg(&rp, 0, A->mem, 4096, HW_ACCESS_LOCAL_WRITE, false);
	memset(A->mem, 0, 300);
	before = RP_CNT(&rp, 0, host_writes);
	bytes = RP_CNT(&rp, 0, host_write_bytes);
	make_frame(200, 11);
	CU_ASSERT_EQUAL(frame.num_seg, 19);
	eth_cursor_init(&cursor, &frame, 5, 190);
	CU_ASSERT_TRUE(ddp_place_mem(A->nic, &mem, 3, &cursor));
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, host_writes), before + 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, host_write_bytes), bytes + 190);
	CU_ASSERT_EQUAL(memcmp(A->mem + 3, data + 5, 190), 0);

	/* A buffer of a list is a copy, one without bytes is none. */
	sge[0] = (struct hw_sge){(uintptr_t)A->mem, 100, stag};
	sge[1] = (struct hw_sge){(uintptr_t)A->mem + 500, 0, stag};
	sge[2] = (struct hw_sge){(uintptr_t)A->mem + 1000, 100, stag};
	eth_cursor_init(&cursor, &frame, 0, 200);
	CU_ASSERT_EQUAL(ddp_place_sges(A->nic, A->pd, sge, 3, 0, &cursor), HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, host_writes), before + 3);
	CU_ASSERT_EQUAL(memcmp(A->mem, data, 100), 0);
	CU_ASSERT_EQUAL(memcmp(A->mem + 1000, data + 100, 100), 0);
	eth_cursor_init(&cursor, &frame, 0, 0);
	CU_ASSERT_TRUE(ddp_place_mem(A->nic, &mem, 0, &cursor));
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, host_writes), before + 3);
	rp_end(&rp);
}

/* More than the scratch holds, as a run of packets has. */
static void longer_than_the_scratch(void)
{
	enum {
		BYTES = FW_SCRATCH_BYTES + 100,
		PIECE = 30000,
	};
	static uint8_t from[BYTES], to[BYTES + 1];
	struct fw_mem own = {.addr = (uintptr_t)to};
	struct eth_cursor cursor;
	uint64_t before;
	uint32_t at;

	begin();
	own.client = A->client;
	rp_fill(from, BYTES, 4);
	memset(&frame, 0, sizeof(frame));
	frame.bytes = BYTES;
	for (at = 0; at < BYTES; at += PIECE)
		frame.seg[frame.num_seg++] = (struct fw_rx_seg){
		    from + at, BYTES - at < PIECE ? BYTES - at : (uint32_t)PIECE};
	before = RP_CNT(&rp, 0, host_writes);
	eth_cursor_init(&cursor, &frame, 0, BYTES);
	CU_ASSERT_TRUE(ddp_place_mem(A->nic, &own, 1, &cursor));
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, host_writes), before + 2);
	CU_ASSERT_EQUAL(to[0], 0);
	CU_ASSERT_EQUAL(memcmp(to + 1, from, BYTES), 0);
	rp_end(&rp);
}

/* ---- long payload --------------------------------------------------------------------------- */

static uint32_t placed_calls, placed_pieces;

static void place(void *ctx, void *dst, const struct fw_rx_seg *seg, uint32_t num_seg)
{
	uint8_t *to = dst;

	(void)ctx;
	placed_calls++;
	placed_pieces += num_seg;
	for (uint32_t i = 0; i < num_seg; to += seg[i].bytes, i++)
		memcpy(to, seg[i].data, seg[i].bytes);
}

/* Payload of FW_PLACE_BYTES and more is the port's to place, in any pieces. */
static void long_payload(void)
{
	static uint8_t bytes[FW_PLACE_BYTES + 100];
	static const uint32_t sizes[] = {FW_PLACE_BYTES - 1, FW_PLACE_BYTES, FW_PLACE_BYTES + 77};

	begin();
	rp_fill(bytes, sizeof(bytes), 5);
	A->nic->port.place = place;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t cut = 0; cut < 2; cut++) {
			struct rdmap_seg seg = {
			    .frame = &frame, .data_offset = 7, .data_bytes = sizes[i]};
			struct fw_mem mem = {.ptr = A->mem, .addr = (uintptr_t)A->mem};

			memset(&frame, 0, sizeof(frame));
			frame.bytes = sizes[i] + 7;
			frame.num_seg = 1 + cut;
			frame.seg[0] = (struct fw_rx_seg){bytes, cut ? 1000 : frame.bytes};
			frame.seg[1] = (struct fw_rx_seg){bytes + 1000, frame.bytes - 1000};
			placed_calls = placed_pieces = 0;
			memset(A->mem, 0xee, 8192);
			CU_ASSERT_TRUE(ddp_place_segment(A->nic, &mem, 33, &seg));
			CU_ASSERT(memcmp(A->mem + 33, bytes + 7, sizes[i]) == 0);
			CU_ASSERT(A->mem[32] == 0xee && A->mem[33 + sizes[i]] == 0xee);
			CU_ASSERT_EQUAL(placed_calls, sizes[i] >= FW_PLACE_BYTES);
			CU_ASSERT_EQUAL(placed_pieces, placed_calls * (1 + cut));
		}
	A->nic->port.place = NULL;
	rp_end(&rp);
}

UT_MAIN("pair/ddp_rx", UT(long_payload), UT(scatter), UT(too_long), UT(keys), UT(one_piece),
	UT(segments), UT(one_copy_of_all_pieces), UT(longer_than_the_scratch))
