/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DDP and RDMAP headers (shared_defs/wire_iwarp.h) against FPDUs of Linux siw and, for those that
 * siw does not send, bytes computed from the RFCs. RFC 5041 4, RFC 5040 4, RFC 7306 5.
 */
#include "shared_defs/hw_atomic.h"
#include "shared_defs/wire_iwarp.h"

#include "tests/golden.h"
#include "tests/ut.h"

enum {
	MPA_LENGTH_BYTES = 2,
	MPA_CRC_BYTES = 4,
};

#define LOAD(name, object)                                                                         \
	CU_ASSERT_EQUAL_FATAL(                                                                     \
	    golden_load("wire_iwarp.hex", name, (uint8_t *)&(object), sizeof(object)),             \
	    sizeof(object))

/* The DDP segment of an FPDU of mpa_fpdu.hex; returns its length. */
static size_t segment(const char *name, uint8_t *out, size_t max)
{
	uint8_t fpdu[256];
	size_t bytes = golden_load("mpa_fpdu.hex", name, fpdu, sizeof(fpdu));
	size_t ulpdu = (size_t)fpdu[0] << 8 | fpdu[1];

	CU_ASSERT_EQUAL_FATAL((MPA_LENGTH_BYTES + ulpdu + 3) / 4 * 4 + MPA_CRC_BYTES, bytes);
	CU_ASSERT_TRUE_FATAL(ulpdu <= max);
	memcpy(out, fpdu + MPA_LENGTH_BYTES, ulpdu);
	return ulpdu;
}

static void send(void)
{
	uint8_t s[128];
	struct wire_ddp_untagged h, w = {
					.ddp_ctrl = WIRE_DDP_LAST | WIRE_DDP_VERSION,
					.rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND,
					.qn = be32_put(WIRE_QN_SEND),
					.msn = be32_put(1),
				    };

	CU_ASSERT_EQUAL(segment("send", s, sizeof(s)), sizeof(h) + 16);
	memcpy(&h, s, sizeof(h));
	CU_ASSERT_EQUAL(h.ddp_ctrl & WIRE_DDP_TAGGED, 0);
	CU_ASSERT_EQUAL(h.ddp_ctrl & WIRE_DDP_VERSION_MASK, WIRE_DDP_VERSION);
	CU_ASSERT_EQUAL(h.rdmap_ctrl & WIRE_RDMAP_OPCODE_MASK, WIRE_RDMAP_SEND);
	CU_ASSERT_EQUAL(be32_get(h.qn), WIRE_QN_SEND);
	CU_ASSERT_EQUAL(be32_get(h.msn), 1);
	CU_ASSERT_EQUAL(be32_get(h.mo), 0);
	CU_ASSERT_EQUAL(memcmp(&h, &w, sizeof(h)), 0);
}

static void send_invalidate(void)
{
	struct wire_ddp_untagged g,
	    w = {
		.ddp_ctrl = WIRE_DDP_VERSION,
		.rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND_INVALIDATE,
		.inv_stag = be32_put(0x89abcdef),
		.msn = be32_put(UINT32_MAX),
		.mo = be32_put(65536),
	    };

	LOAD("send_invalidate", g);
	CU_ASSERT_EQUAL(g.ddp_ctrl & WIRE_DDP_LAST, 0);
	CU_ASSERT_EQUAL(be32_get(g.inv_stag), 0x89abcdef);
	CU_ASSERT_EQUAL(be32_get(g.msn), UINT32_MAX);
	CU_ASSERT_EQUAL(be32_get(g.mo), 65536);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

static void write_tagged(void)
{
	uint8_t s[128];
	struct wire_ddp_tagged h,
	    w = {
		.ddp_ctrl = WIRE_DDP_TAGGED | WIRE_DDP_LAST | WIRE_DDP_VERSION,
		.rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_WRITE,
		.stag = be32_put(0xf439c400),
		.to = be64_put(0x000055661aa5ef30),
	    };

	CU_ASSERT_EQUAL(segment("write", s, sizeof(s)), sizeof(h) + 64);
	memcpy(&h, s, sizeof(h));
	CU_ASSERT_EQUAL(be32_get(h.stag), 0xf439c400);
	CU_ASSERT_EQUAL(be64_get(h.to), 0x000055661aa5ef30);
	CU_ASSERT_EQUAL(memcmp(&h, &w, sizeof(h)), 0);
	CU_ASSERT_EQUAL(memcmp(s + sizeof(h), "rdma-ping-0: ", 13), 0);

	CU_ASSERT_EQUAL(segment("write_empty", s, sizeof(s)), sizeof(h));
	memcpy(&h, s, sizeof(h));
	CU_ASSERT_EQUAL(be32_get(h.stag), 1);
	CU_ASSERT_EQUAL(be64_get(h.to), 0);
}

static void read_request(void)
{
	uint8_t s[128];
	struct wire_ddp_untagged h;
	struct wire_read_request r, w = {
					.sink_stag = be32_put(0xdec05900),
					.sink_to = be64_put(0x00005578789633b0),
					.bytes = be32_put(64),
					.src_stag = be32_put(0x6d7f0400),
					.src_to = be64_put(0x000055661aa5ed50),
				    };
	uint8_t buffer[128];
	struct wire_ddp_tagged t;

	CU_ASSERT_EQUAL(segment("read_request", s, sizeof(s)), sizeof(h) + sizeof(r));
	memcpy(&h, s, sizeof(h));
	memcpy(&r, s + sizeof(h), sizeof(r));
	CU_ASSERT_EQUAL(h.rdmap_ctrl, WIRE_RDMAP_VERSION | WIRE_RDMAP_READ_REQUEST);
	CU_ASSERT_EQUAL(be32_get(h.qn), WIRE_QN_READ_REQUEST);
	CU_ASSERT_EQUAL(be32_get(r.bytes), 64);
	CU_ASSERT_EQUAL(memcmp(&r, &w, sizeof(r)), 0);

	/* Its source is the buffer that the Send before it advertised (address, rkey, length). */
	segment("send", buffer, sizeof(buffer));
	CU_ASSERT_EQUAL(memcmp(&r.src_to, buffer + sizeof(h), 8), 0);
	CU_ASSERT_EQUAL(memcmp(&r.src_stag, buffer + sizeof(h) + 8, 4), 0);

	/* The response names the sink. */
	CU_ASSERT_EQUAL(segment("read_response", s, sizeof(s)), sizeof(t) + 64);
	memcpy(&t, s, sizeof(t));
	CU_ASSERT_EQUAL(t.rdmap_ctrl, WIRE_RDMAP_VERSION | WIRE_RDMAP_READ_RESPONSE);
	CU_ASSERT_EQUAL(memcmp(&t.stag, &r.sink_stag, 4), 0);
	CU_ASSERT_EQUAL(memcmp(&t.to, &r.sink_to, 8), 0);
}

static void atomics(void)
{
	struct wire_atomic_request g,
	    add =
		{
		    .opcode = be32_put(WIRE_ATOMIC_FETCH_ADD),
		    .request_id = be32_put(0x01020304),
		    .stag = be32_put(0x11223344),
		    .to = be64_put(0x00007f0012345678),
		    .add_swap = be64_put(5),
		    .add_swap_mask = be64_put(UINT64_MAX),
		},
	    swap =
		{
		    .opcode = be32_put(WIRE_ATOMIC_CMP_SWAP),
		    .request_id = be32_put(0x01020305),
		    .stag = be32_put(0x11223344),
		    .to = be64_put(0x00007f0012345680),
		    .add_swap = be64_put(0x0a0b0c0d0e0f1011),
		    .add_swap_mask = be64_put(UINT64_MAX),
		    .compare = be64_put(0x8000000000000001),
		    .compare_mask = be64_put(UINT64_MAX),
		},
	    typed = {
		.opcode = be32_put(WIRE_ATOMIC_TYPED),
		.request_id = be32_put(0x01020306),
		.stag = be32_put(0x11223344),
		.to = be64_put(0x00007f001234567a),
		.add_swap = be64_put(0x1234),
		.add_swap_mask = be64_put(HW_ATOMIC_CODE(HW_ATOMIC_MSWAP, HW_ATOMIC_INT16)),
		.compare = be64_put(0xff00),
	    };
	struct wire_atomic_response r;

	LOAD("fetch_add", g);
	CU_ASSERT_EQUAL(memcmp(&g, &add, sizeof(g)), 0);
	CU_ASSERT_EQUAL(be64_get(g.add_swap), 5);
	LOAD("cmp_swap", g);
	CU_ASSERT_EQUAL(memcmp(&g, &swap, sizeof(g)), 0);
	CU_ASSERT_EQUAL(be64_get(g.compare), 0x8000000000000001);
	LOAD("typed_atomic", g);
	CU_ASSERT_EQUAL(memcmp(&g, &typed, sizeof(g)), 0);
	LOAD("atomic_response", r);
	CU_ASSERT_EQUAL(be32_get(r.request_id), 0x01020305);
	CU_ASSERT_EQUAL(be64_get(r.original), 0x8000000000000001);
}

static void terminate(void)
{
	struct wire_terminate g,
	    w = {
		.layer_etype = WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION,
		.code = WIRE_TERM_PROT_BASE_BOUNDS,
		.hdrct = WIRE_TERM_HDRCT_M | WIRE_TERM_HDRCT_D,
	    };

	LOAD("terminate", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
}

UT_MAIN("shared_defs/wire_iwarp", UT(send), UT(send_invalidate), UT(write_tagged), UT(read_request),
	UT(atomics), UT(terminate))
