/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up frames of MPA (mpa_frame.c): bit for bit as RFC 5044 7.1.1 and RFC 6581 9.1 draw them, and
 * as Linux's siw sends them; frames cut anywhere, and malformed ones.
 */
#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

static uint8_t out[MPA_SETUP_BYTES];

/* The last four bytes of the header, and the data after it. */
static void expect(const struct mpa_frame *frame, const char *key, const void *rest, uint32_t bytes)
{
	CU_ASSERT_EQUAL_FATAL(mpa_frame_write(out, frame), WIRE_MPA_KEY_BYTES + bytes);
	CU_ASSERT_EQUAL(memcmp(out, key, WIRE_MPA_KEY_BYTES), 0);
	CU_ASSERT_EQUAL(memcmp(out + WIRE_MPA_KEY_BYTES, rest, bytes), 0);
}

static void as_siw_writes_them(void)
{
	struct mpa_frame f = {.revision = 2, .enhanced = true, .crc = true, .ird = 1, .ord = 1};

	expect(&f, "MPA ID Req Frame", "\x50\x02\x00\x04\x00\x01\x00\x01", 8);
	f.crc = false;
	expect(&f, "MPA ID Req Frame", "\x10\x02\x00\x04\x00\x01\x00\x01", 8);
	f.peer_to_peer = true;
	f.rtr = WIRE_MPA_RTR_WRITE | WIRE_MPA_RTR_READ;
	expect(&f, "MPA ID Req Frame", "\x10\x02\x00\x04\x80\x01\xc0\x01", 8);
	f.reply = true;
	f.rtr = WIRE_MPA_RTR_WRITE;
	expect(&f, "MPA ID Rep Frame", "\x10\x02\x00\x04\x80\x01\x80\x01", 8);
	f = (struct mpa_frame){
	    .reply = true, .reject = true, .revision = 2, .enhanced = true, .ird = 0, .ord = 0};
	expect(&f, "MPA ID Rep Frame", "\x30\x02\x00\x04\x00\x00\x00\x00", 8);
	f = (struct mpa_frame){.revision = 1, .crc = true};
	expect(&f, "MPA ID Req Frame", "\x40\x01\x00\x00", 4);
}

static void every_bit(void)
{
	struct mpa_frame f = {
	    .reply = true,
	    .reject = true,
	    .markers = true,
	    .crc = true,
	    .revision = 2,
	    .enhanced = true,
	    .peer_to_peer = true,
	    .rtr = WIRE_MPA_RTR_SEND,
	    .ird = 0x3ffe,
	    .ord = 0x3fff,
	    .data = (const uint8_t *)"hello",
	    .data_bytes = 5,
	};

	expect(&f, "MPA ID Rep Frame", "\xf0\x02\x00\x09\xff\xfe\x3f\xffhello", 13);
	f.rtr = WIRE_MPA_RTR_READ;
	f.ird = 0;
	expect(&f, "MPA ID Rep Frame", "\xf0\x02\x00\x09\x80\x00\x7f\xffhello", 13);
}

/* A written frame reads back as the same parameters. */
static void there_and_back(void)
{
	static uint8_t data[WIRE_MPA_MAX_PRIVATE];
	uint32_t i, n;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	for (i = 0; i < 1u << 9; i++) {
		struct mpa_frame got, f = {
					  .reply = i & 1,
					  .reject = (i & 3) == 3,
					  .markers = (i & 4) != 0,
					  .crc = (i & 8) != 0,
					  .revision = i & 16 ? 2 : 1,
					  .enhanced = (i & 48) == 48,
					  .ird = WIRE_MPA_DEPTH_NONE,
					  .ord = WIRE_MPA_DEPTH_NONE,
					  .data = data,
				      };

		if (f.enhanced) {
			f.rtr = (uint8_t)(i >> 6);
			f.peer_to_peer = f.rtr != 0;
			f.ird = (uint16_t)(i * 37 & WIRE_MPA_DEPTH_MASK);
			f.ord = (uint16_t)(i * 91 & WIRE_MPA_DEPTH_MASK);
		}
		f.data_bytes = i % 3 ? i % 500 : WIRE_MPA_MAX_PRIVATE - (f.enhanced ? 4u : 0u);
		n = mpa_frame_write(out, &f);
		CU_ASSERT_EQUAL(mpa_frame_bytes(out, n, f.reply), (int)n);
		CU_ASSERT_EQUAL_FATAL(mpa_frame_read(out, f.reply, &got), 0);
		CU_ASSERT_EQUAL(got.data_bytes, f.data_bytes);
		CU_ASSERT_EQUAL(memcmp(got.data, data, f.data_bytes), 0);
		CU_ASSERT(got.reply == f.reply && got.reject == f.reject &&
			  got.markers == f.markers && got.crc == f.crc &&
			  got.revision == f.revision && got.enhanced == f.enhanced &&
			  got.peer_to_peer == f.peer_to_peer && got.rtr == f.rtr &&
			  got.ird == f.ird && got.ord == f.ord);
	}
}

/*
 * For any prefix the result is that more is needed, or that it is no frame; no byte beyond is read.
 */
static void cut_anywhere(void)
{
	struct mpa_frame f = {.revision = 1, .data = (const uint8_t *)"abc", .data_bytes = 3};
	uint32_t n = mpa_frame_write(out, &f), i;
	uint8_t exact[WIRE_MPA_KEY_BYTES];

	for (i = 0; i < sizeof(struct wire_mpa_setup); i++)
		CU_ASSERT_EQUAL(mpa_frame_bytes(out, i, false), 0);
	for (; i <= n; i++)
		CU_ASSERT_EQUAL(mpa_frame_bytes(out, i, false), (int)n);
	/* One wrong byte suffices. */
	for (i = 0; i < WIRE_MPA_KEY_BYTES; i++) {
		memcpy(exact, out, sizeof(exact));
		exact[i] ^= 0x20;
		CU_ASSERT_EQUAL(mpa_frame_bytes(exact, i, false), 0);
		CU_ASSERT(mpa_frame_bytes(exact, i + 1, false) < 0);
	}
	/* A request is no reply, and the other way round. */
	CU_ASSERT(mpa_frame_bytes(out, n, true) < 0);
}

static void none(void)
{
	struct mpa_frame got, f = {.revision = 2, .enhanced = true, .ird = 1, .ord = 1};
	struct wire_mpa_setup *wire = (void *)out;
	uint32_t i;

	mpa_frame_write(out, &f);
	wire->private_bytes = be16_put(WIRE_MPA_MAX_PRIVATE);
	CU_ASSERT_EQUAL(mpa_frame_bytes(out, sizeof(*wire), false), MPA_SETUP_BYTES);
	wire->private_bytes = be16_put(WIRE_MPA_MAX_PRIVATE + 1);
	CU_ASSERT(mpa_frame_bytes(out, sizeof(*wire), false) < 0);
	wire->private_bytes = be16_put(UINT16_MAX);
	CU_ASSERT(mpa_frame_bytes(out, sizeof(*wire), false) < 0);
	/* Enhanced without the fields of that. */
	for (i = 0; i < 4; i++) {
		wire->private_bytes = be16_put((uint16_t)i);
		CU_ASSERT_EQUAL(mpa_frame_read(out, false, &got), FW_EPROTO);
	}
	wire->private_bytes = be16_put(4);
	for (i = 0; i <= UINT8_MAX; i++) {
		wire->revision = (uint8_t)i;
		CU_ASSERT_EQUAL(mpa_frame_read(out, false, &got),
				i == 1 || i == 2 ? 0 : FW_EOPNOTSUPP);
	}
}

/* Reserved bits are ignored (siw sets one), R of a request as well; S counts only in revision 2. */
static void what_is_not_looked_at(void)
{
	struct mpa_frame got, f = {.revision = 2, .enhanced = true, .ird = 3, .ord = 5};
	struct wire_mpa_setup *wire = (void *)out;
	struct wire_mpa_enhanced *more = (void *)(wire + 1);

	mpa_frame_write(out, &f);
	wire->flags |= 0x0f | WIRE_MPA_F_REJECT;
	CU_ASSERT_EQUAL(mpa_frame_read(out, false, &got), 0);
	CU_ASSERT(!got.reject && got.enhanced && got.ird == 3 && got.ord == 5);
	/* Without A the other flags have no meaning. */
	more->ird = be16_put(WIRE_MPA_IRD_RTR_SEND | 3);
	more->ord = be16_put(WIRE_MPA_ORD_RTR_WRITE | WIRE_MPA_ORD_RTR_READ | 5);
	CU_ASSERT_EQUAL(mpa_frame_read(out, false, &got), 0);
	CU_ASSERT(!got.peer_to_peer && !got.rtr && got.ird == 3 && got.ord == 5);
	wire->revision = 1;
	CU_ASSERT_EQUAL(mpa_frame_read(out, false, &got), 0);
	CU_ASSERT(!got.enhanced && got.data_bytes == 4 && got.ird == WIRE_MPA_DEPTH_NONE);
}

UT_MAIN("nic_fw/mpa/mpa_frame", UT(as_siw_writes_them), UT(every_bit), UT(there_and_back),
	UT(cut_anywhere), UT(none), UT(what_is_not_looked_at))
