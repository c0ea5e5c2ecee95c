/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C: the vectors of RFC 3720, every length and alignment against the table, any cut of
 * the data, the copy, and the order of bytes on the wire.
 *
 * Runs dpdk_app/accel.c with whatever this machine has; on arm64 that is the processor's
 * instructions at least, since the build asks for them. RFC 3720 B.4.
 */
#include <stdlib.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "dpdk_app/accel.h"
#include "nic_fw/fw_port.h"
#include "tests/golden.h"
#include "tests/ut.h"

enum {
	DATA_BYTES = 20000,
};

static uint8_t data[DATA_BYTES];

static void fill(void)
{
	uint32_t x = 1;

	accel_init();
	for (int i = 0; i < DATA_BYTES; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (uint8_t)(x >> 24);
	}
}

static void golden_vectors(void)
{
	static const char *const names[] = {"zeroes", "ones", "up", "down", "iscsi_read"};
	uint8_t bytes[128], wire[4];

	accel_init();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = golden_load("crc32c.hex", names[i], bytes, sizeof(bytes)) - 4;

		accel_crc32c_wire(wire, accel_crc32c(FW_CRC32C_INIT, bytes, n));
		CU_ASSERT_EQUAL(memcmp(wire, bytes + n, 4), 0);
		accel_crc32c_wire(wire, accel_crc32c_portable(FW_CRC32C_INIT, bytes, n));
		CU_ASSERT_EQUAL(memcmp(wire, bytes + n, 4), 0);
	}
}

/* FPDUs of Linux siw: the CRC follows the whole of each. */
static void what_other_implementations_sent(void)
{
	static const char *const names[] = {"send", "read_request", "read_response", "write"};
	uint8_t bytes[512], wire[4];

	accel_init();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = golden_load("mpa_fpdu.hex", names[i], bytes, sizeof(bytes)) - 4;

		accel_crc32c_wire(wire, accel_crc32c(FW_CRC32C_INIT, bytes, n));
		CU_ASSERT_EQUAL(memcmp(wire, bytes + n, 4), 0);
	}
}

static void every_length_and_alignment(void)
{
	fill();
	for (uint32_t n = 0; n < 1200; n++) {
		uint32_t at = n % 17;

		CU_ASSERT_EQUAL(accel_crc32c(FW_CRC32C_INIT, data + at, n),
				accel_crc32c_portable(FW_CRC32C_INIT, data + at, n));
	}
	for (uint32_t n = 4000; n < DATA_BYTES - 3; n += 997)
		CU_ASSERT_EQUAL(accel_crc32c(7, data + 3, n),
				accel_crc32c_portable(7, data + 3, n));
}

static void cut_anywhere(void)
{
	uint32_t whole;

	fill();
	whole = accel_crc32c(FW_CRC32C_INIT, data, 9000);
	for (uint32_t cut = 0; cut <= 9000; cut += 250) {
		uint32_t crc = accel_crc32c(FW_CRC32C_INIT, data, cut);

		CU_ASSERT_EQUAL(accel_crc32c(crc, data + cut, 9000 - cut), whole);
	}
}

static void copies_and_sums(void)
{
	static const uint32_t sizes[] = {0,    1,    7,    64,   383,  384,
					 4095, 4096, 4097, 8192, 8193, 18000};
	uint8_t *dst = malloc(DATA_BYTES + 2);

	CU_ASSERT_PTR_NOT_NULL_FATAL(dst);
	fill();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i];

		memset(dst, 0xee, DATA_BYTES + 2);
		CU_ASSERT_EQUAL(accel_copy_crc32c(5, dst + 1, data, n),
				accel_crc32c_portable(5, data, n));
		CU_ASSERT_EQUAL(memcmp(dst + 1, data, n), 0);
		CU_ASSERT_EQUAL(dst[0], 0xee);
		CU_ASSERT_EQUAL(dst[n + 1], 0xee);
	}
	free(dst);
}

/* With the table alone the other tests would compare it with itself. */
static void has_more_than_the_table(void)
{
	accel_init();
#if defined(__aarch64__)
	CU_ASSERT_TRUE(getauxval(AT_HWCAP) & HWCAP_CRC32);
#endif
	CU_ASSERT_STRING_NOT_EQUAL(accel_name(), "portable");
}

UT_MAIN("dpdk_app/accel", UT(has_more_than_the_table), UT(golden_vectors),
	UT(what_other_implementations_sent), UT(every_length_and_alignment), UT(cut_anywhere),
	UT(copies_and_sums))
