/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers as RFC 5041 4, RFC 5040 4 and RFC 7306 5 draw them, compared with bytes written down from
 * the standards.
 */
#include "tests/golden.h"
#include "tests/pair/rd_pair.h"

static struct rp rp;
static uint8_t got[RDMAP_HDR_MAX + 16];
static uint8_t want[RDMAP_HDR_MAX + 16];

static uint32_t make(const struct fw_wqe *msg, uint32_t offset, uint32_t bytes)
{
	uint32_t n;

	memset(got, 0xee, sizeof(got));
	n = rdmap_tx_header(rp.end[0].nic, msg, offset, bytes, got);
	CU_ASSERT_TRUE(n <= RDMAP_HDR_MAX);
	CU_ASSERT_EQUAL(got[n], 0xee);
	return n;
}

static void same(uint32_t n, const char *section, uint32_t at)
{
	size_t bytes = golden_load("wire_iwarp.hex", section, want, sizeof(want));

	CU_ASSERT_EQUAL(n - at, bytes);
	CU_ASSERT_EQUAL(memcmp(got + at, want, bytes), 0);
}

/* A context as wqe_alloc() gives it: its sink STag has its number and generation. */
static struct fw_wqe *context(enum fw_wqe_kind kind)
{
	struct fw_wqe *wqe = wqe_alloc(rp.end[0].nic, rp.end[0].qp[0], kind);

	CU_ASSERT_PTR_NOT_NULL_FATAL(wqe);
	return wqe;
}

static void sends(void)
{
	struct fw_wqe *wqe;
	uint32_t i;
	static const uint8_t plain[18] = {0x41, 0x43, 0, 0, 0, 0, 0, 0, 0,
					  0,    0,    0, 0, 9, 0, 0, 0, 0};

	rp_begin(&rp);
	wqe = context(FW_WQE_REQUEST);
	wqe->rdmap_opcode = WIRE_RDMAP_SEND_INVALIDATE;
	wqe->imm_inv = 0x89abcdef;
	wqe->msn = 0xffffffff;
	wqe->bytes = 0x20000;
	same(make(wqe, 0x10000, 100), "send_invalidate", 0);
	/* Every kind of Send: opcode, L on the last segment alone, STag only with Invalidate. */
	wqe->msn = 9;
	wqe->bytes = 100;
	for (i = WIRE_RDMAP_SEND; i <= WIRE_RDMAP_SEND_SE_INVALIDATE; i++) {
		bool invalidate =
		    i == WIRE_RDMAP_SEND_INVALIDATE || i == WIRE_RDMAP_SEND_SE_INVALIDATE;
		static const uint8_t inv_stag[4] = {0x89, 0xab, 0xcd, 0xef};
		uint8_t expect[18];

		memcpy(expect, plain, sizeof(expect));
		expect[1] = (uint8_t)(0x40 | i);
		if (invalidate)
			memcpy(expect + 2, inv_stag, 4);
		wqe->rdmap_opcode = (uint8_t)i;
		CU_ASSERT_EQUAL(make(wqe, 0, 100), 18);
		CU_ASSERT_EQUAL(memcmp(got, expect, 18), 0);
		expect[0] = 0x01;
		CU_ASSERT_EQUAL(make(wqe, 0, 99), 18);
		CU_ASSERT_EQUAL(memcmp(got, expect, 18), 0);
	}
	wqe_free(rp.end[0].nic, wqe);
	rp_end(&rp);
}

/* RFC 5041 4.2: Write and Read Response name their STag and the offset of the segment. */
static void tagged(void)
{
	static const uint8_t write[14] = {0x81, 0x40, 0x11, 0x22, 0x33, 0x44, 0,
					  0,    0x7f, 0,    0x12, 0x34, 0x57, 0x78};
	static const uint8_t response[14] = {0xc1, 0x42, 0x11, 0x22, 0x33, 0x44, 0,
					     0,    0x7f, 0,    0x12, 0x34, 0x57, 0x78};
	struct fw_wqe *wqe;

	rp_begin(&rp);
	wqe = context(FW_WQE_REQUEST);
	wqe->rkey = 0x11223344;
	wqe->remote_addr = UINT64_C(0x00007f0012345678);
	wqe->bytes = 0x200;
	wqe->rdmap_opcode = WIRE_RDMAP_WRITE;
	CU_ASSERT_EQUAL(make(wqe, 0x100, 0xff), 14);
	CU_ASSERT_EQUAL(memcmp(got, write, 14), 0);
	wqe->rdmap_opcode = WIRE_RDMAP_READ_RESPONSE;
	CU_ASSERT_EQUAL(make(wqe, 0x100, 0x100), 14);
	CU_ASSERT_EQUAL(memcmp(got, response, 14), 0);
	wqe_free(rp.end[0].nic, wqe);
	rp_end(&rp);
}

static void requests(void)
{
	static const uint8_t head[18] = {0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7};
	static const uint8_t read_tail[20] = {0,    0,    0, 0, 0,    0x30, 0,    0,    0x11, 0x22,
					      0x33, 0x44, 0, 0, 0x7f, 0,    0x12, 0x34, 0x56, 0x78};
	struct fw_wqe *wqe;
	struct be32 stag;
	uint32_t n;

	rp_begin(&rp);
	wqe = context(FW_WQE_REQUEST);
	stag = be32_put(wqe_sink_stag(rp.end[0].nic, wqe));
	wqe->msn = 7;
	wqe->rkey = 0x11223344;
	wqe->remote_addr = UINT64_C(0x00007f0012345678);
	wqe->bytes = 0x300000;
	wqe->rdmap_opcode = WIRE_RDMAP_READ_REQUEST;
	/* RFC 5040 4.4. The message is this header, whatever the length of the read. */
	n = make(wqe, 0, 0);
	CU_ASSERT_EQUAL(n, 18 + 28);
	CU_ASSERT_EQUAL(memcmp(got, head, 18), 0);
	CU_ASSERT_EQUAL(memcmp(got + 18, &stag, 4), 0);
	CU_ASSERT_EQUAL(memcmp(got + 18 + 4, "\0\0\0\0", 4), 0);
	CU_ASSERT_EQUAL(memcmp(got + 18 + 8 + 0, read_tail, 4), 0);
	CU_ASSERT_EQUAL(memcmp(got + 18 + 12, read_tail + 4, 16), 0);
	/*
	 * RFC 7306 5.2.1. The identifier is that of the context; the golden one is put in its
	 * place.
	 */
	wqe->bytes = 8;
	wqe->rdmap_opcode = WIRE_RDMAP_ATOMIC_REQUEST;
	wqe->opcode = HW_WQE_CMP_SWAP;
	wqe->remote_addr = UINT64_C(0x00007f0012345680);
	wqe->swap = UINT64_C(0x0a0b0c0d0e0f1011);
	wqe->compare_add = UINT64_C(0x8000000000000001);
	n = make(wqe, 0, 0);
	CU_ASSERT_EQUAL(got[0], 0x41);
	CU_ASSERT_EQUAL(got[1], 0x4a);
	CU_ASSERT_EQUAL(memcmp(got + 18 + 4, &stag, 4), 0);
	memcpy(got + 18 + 4, "\x01\x02\x03\x05", 4);
	same(n, "cmp_swap", 18);
	wqe->opcode = HW_WQE_FETCH_ADD;
	wqe->remote_addr = UINT64_C(0x00007f0012345678);
	wqe->compare_add = 5;
	n = make(wqe, 0, 0);
	memcpy(got + 18 + 4, "\x01\x02\x03\x04", 4);
	/* One field of 64 bits: no boundaries, where the golden header has all of them. */
	CU_ASSERT_EQUAL(memcmp(got + 18 + 28, "\0\0\0\0\0\0\0\0", 8), 0);
	memset(got + 18 + 28, 0xff, 8);
	same(n, "fetch_add", 18);
	wqe->opcode = HW_WQE_ATOMIC;
	wqe->bytes = 2;
	wqe->remote_addr = UINT64_C(0x00007f001234567a);
	wqe->atomic = HW_ATOMIC_CODE(HW_ATOMIC_MSWAP, HW_ATOMIC_INT16);
	wqe->swap = 0x1234;
	wqe->compare_add = 0xff00;
	n = make(wqe, 0, 0);
	CU_ASSERT_EQUAL(memcmp(got + 18 + 4, &stag, 4), 0);
	memcpy(got + 18 + 4, "\x01\x02\x03\x06", 4);
	same(n, "typed_atomic", 18);
	wqe_free(rp.end[0].nic, wqe);
	rp_end(&rp);
}

static void answers(void)
{
	static const uint8_t head[18] = {0x41, 0x4b, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2};
	static const uint8_t term_head[18] = {0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2};
	struct fw_wqe *wqe;
	uint32_t n;

	rp_begin(&rp);
	wqe = context(FW_WQE_TERMINATE); /* consumes no responder slot */
	wqe->msn = 2;
	wqe->bytes = sizeof(struct wire_atomic_response);
	wqe->rdmap_opcode = WIRE_RDMAP_ATOMIC_RESPONSE;
	wqe->request_id = 0x01020305;
	wqe->original = UINT64_C(0x8000000000000001);
	n = make(wqe, 0, 0);
	CU_ASSERT_EQUAL(memcmp(got, head, 18), 0);
	same(n, "atomic_response", 18);
	wqe->rdmap_opcode = WIRE_RDMAP_TERMINATE;
	wqe->bytes = sizeof(struct wire_terminate);
	wqe->term_layer_etype = 1;
	wqe->term_code = 1;
	n = make(wqe, 0, 0);
	CU_ASSERT_EQUAL(memcmp(got, term_head, 18), 0);
	CU_ASSERT_EQUAL(n, 18 + 4);
	/* Without the headers at fault, M and D stay clear. */
	CU_ASSERT_EQUAL(memcmp(got + 18, "\x01\x01\0\0", 4), 0);
	wqe_free(rp.end[0].nic, wqe);
	rp_end(&rp);
}

UT_MAIN("pair/rdmap_tx", UT(sends), UT(tagged), UT(requests), UT(answers))
