/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng blocks against bytes computed by hand from the draft.
 *
 * Runs lib/pcapng.c.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pcapng.h"
#include "tests/ut.h"

static const uint8_t header[] = {
    0x0a, 0x0d, 0x0d, 0x0a, 28,   0,    0,    0,    0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0,
    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28,   0,    0,    0, 1, 0,
    0,    0,    44,   0,    0,    0,    1,    0,    0,    0,    0,    0,    0, 0, 2,
    0,    5,    0,    'w',  'e',  'f',  't',  '0',  0,    0,    0,    9,    0, 1, 0,
    9,    0,    0,    0,    0,    0,    0,    0,    44,   0,    0,    0,
};

static const uint8_t packet[] = {
    6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0,    0,    0x01, 0,    0,    0, 0x02, 0,
    0, 0, 5, 0, 0,  0, 5, 0, 0, 0, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0, 0,    0,
    2, 0, 4, 0, 2,  0, 0, 0, 0, 0, 0,    0,    52,   0,    0,    0,
};

static void header_and_interface(void)
{
	uint8_t out[PCAPNG_SECTION_BYTES + PCAPNG_INTERFACE_MAX];

	CU_ASSERT_EQUAL(pcapng_section(out), PCAPNG_SECTION_BYTES);
	CU_ASSERT_EQUAL(pcapng_interface(out + PCAPNG_SECTION_BYTES, "weft0"),
			sizeof(header) - PCAPNG_SECTION_BYTES);
	CU_ASSERT_EQUAL(memcmp(out, header, sizeof(header)), 0);
	CU_ASSERT(pcapng_interface(out, "a-name-that-is-longer-than-any") <= PCAPNG_INTERFACE_MAX);
}

static void one_packet(void)
{
	static const uint8_t frame[] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4};
	uint8_t out[PCAPNG_PACKET_OVERHEAD + 8];

	memset(out, 0xee, sizeof(out));
	CU_ASSERT_EQUAL(pcapng_packet(out, 0, 0x100000002, 2, 0, frame, sizeof(frame)),
			sizeof(packet));
	CU_ASSERT_EQUAL(memcmp(out, packet, sizeof(packet)), 0);
}

static void drops_are_told(void)
{
	static const uint8_t frame[64] = {1};
	uint8_t out[PCAPNG_PACKET_OVERHEAD + 64];
	uint32_t bytes = pcapng_packet(out, 3, 0, 1, 7, frame, sizeof(frame));
	uint64_t dropped;

	CU_ASSERT_EQUAL(bytes, 28 + 64 + 8 + 12 + 4 + 4);
	CU_ASSERT_EQUAL(out[8], 3);
	CU_ASSERT(bytes <= sizeof(out));
	CU_ASSERT_EQUAL(out[28 + 64 + 8], 4); /* epb_dropcount */
	memcpy(&dropped, out + 28 + 64 + 8 + 4, sizeof(dropped));
	CU_ASSERT_EQUAL(dropped, 7);
	CU_ASSERT_EQUAL(pcapng_dropped(out, bytes), 7);
	CU_ASSERT_EQUAL(pcapng_dropped(packet, sizeof(packet)), 0);
	/* A block that is cut, or that names more bytes than it has. */
	for (uint32_t n = 0; n < 28 + 64 + 8 + 12 + 4; n++) {
		uint8_t *cut = malloc(n ? n : 1);

		memcpy(cut, out, n);
		CU_ASSERT_EQUAL(pcapng_dropped(cut, n), 0);
		free(cut);
	}
	memset(out + 20, 0xff, 4);
	CU_ASSERT_EQUAL(pcapng_dropped(out, bytes), 0);
}

UT_MAIN("lib/pcapng", UT(header_and_interface), UT(one_packet), UT(drops_are_told))
