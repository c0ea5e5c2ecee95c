/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C of nic_fw/base/crc32c.c: the published vectors, FPDUs of Linux siw, and a bit-by-bit
 * reference over every alignment, length and split. RFC 3720 B.4, RFC 5044 4.4.
 */
#include "lib/crc32c.h"
#include "nic_fw/base/crc32c.c"
#include "nic_fw/fw_port.h"

#include "tests/golden.h"
#include "tests/ut.h"

enum {
	ROOM = 600,
};

static void fill(uint8_t *p, size_t bytes)
{
	uint32_t x = 0x12345678;

	for (size_t i = 0; i < bytes; i++) {
		x = x * 1664525 + 1013904223;
		p[i] = (uint8_t)(x >> 24);
	}
}

static void check_section(const char *file, const char *name)
{
	uint8_t data[ROOM], copy[ROOM];
	size_t bytes = golden_load(file, name, data, sizeof(data)) - 4;
	struct be32 wire = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, data, bytes));

	CU_ASSERT_EQUAL(memcmp(wire.b, data + bytes, 4), 0);
	wire = fw_crc32c_wire(fw_copy_crc32c(FW_CRC32C_INIT, copy, data, bytes));
	CU_ASSERT_EQUAL(memcmp(wire.b, data + bytes, 4), 0);
	CU_ASSERT_EQUAL(memcmp(copy, data, bytes), 0);

	/* One flipped bit is detected. */
	data[bytes / 2] ^= 0x10;
	wire = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, data, bytes));
	CU_ASSERT_NOT_EQUAL(memcmp(wire.b, data + bytes, 4), 0);
}

static void rfc3720_vectors(void)
{
	static const char *const names[] = {"zeroes", "ones", "up", "down", "iscsi_read"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_section("crc32c.hex", names[i]);
}

static void siw_fpdus(void)
{
	static const char *const names[] = {"send",  "read_request", "read_response",
					    "write", "write_empty",  "send_padded"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_section("mpa_fpdu.hex", names[i]);
}

static void nothing_changes_nothing(void)
{
	uint8_t byte = 0x5a;

	CU_ASSERT_EQUAL(fw_crc32c(0x01234567, &byte, 0), 0x01234567);
	CU_ASSERT_EQUAL(fw_copy_crc32c(0x89abcdef, &byte, &byte, 0), 0x89abcdef);
	CU_ASSERT_EQUAL(byte, 0x5a);
}

static void every_alignment_and_length(void)
{
	uint8_t data[ROOM];
	size_t wrong = 0;

	fill(data, sizeof(data));
	for (size_t at = 0; at < 16; at++) {
		for (size_t bytes = 0; bytes <= 80; bytes++) {
			uint32_t want = crc32c_update(FW_CRC32C_INIT, data + at, bytes);

			wrong += fw_crc32c(FW_CRC32C_INIT, data + at, bytes) != want;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void pieces_make_the_whole(void)
{
	uint8_t data[ROOM];
	uint32_t whole;
	size_t wrong = 0;

	fill(data, sizeof(data));
	whole = crc32c_update(FW_CRC32C_INIT, data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut++) {
		uint32_t crc = fw_crc32c(FW_CRC32C_INIT, data, cut);

		wrong += fw_crc32c(crc, data + cut, sizeof(data) - cut) != whole;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void copies_exactly(void)
{
	uint8_t src[ROOM], dst[ROOM];
	size_t wrong = 0;

	fill(src, sizeof(src));
	for (size_t at = 0; at < 9; at++) {
		for (size_t to = 1; to < 10; to++) {
			for (size_t bytes = 0; bytes < 40; bytes++) {
				memset(dst, 0xee, sizeof(dst));
				wrong +=
				    fw_copy_crc32c(FW_CRC32C_INIT, dst + to, src + at, bytes) !=
				    crc32c_update(FW_CRC32C_INIT, src + at, bytes);
				wrong += memcmp(dst + to, src + at, bytes) != 0;
				wrong += dst[to - 1] != 0xee || dst[to + bytes] != 0xee;
			}
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void wire_order(void)
{
	struct be32 v = fw_crc32c_wire(~0x04030201u);

	CU_ASSERT_EQUAL(v.b[0], 1);
	CU_ASSERT_EQUAL(v.b[1], 2);
	CU_ASSERT_EQUAL(v.b[2], 3);
	CU_ASSERT_EQUAL(v.b[3], 4);
}

UT_MAIN("nic_fw/base/crc32c", UT(rfc3720_vectors), UT(siw_fpdus), UT(nothing_changes_nothing),
	UT(every_alignment_and_length), UT(pieces_make_the_whole), UT(copies_exactly),
	UT(wire_order))
