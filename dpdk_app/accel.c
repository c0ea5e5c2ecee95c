/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C. Long pieces use AVX-512 (accel_clmul.c) or ISA-L where available, short ones the
 * processor's instruction (x86 SSE4.2, Armv8 CRC), other machines a table. The copy with CRC works
 * in pieces that fit the first-level cache, so that memory is read once.
 *
 * Calls ISA-L. RFC 3385; the polynomial is 0x1edc6f41, reflected.
 */
#include "dpdk_app/accel.h"
#include "dpdk_app/accel_clmul.h"

#include <stdbool.h>
#include <string.h>

#if __has_include(<isa-l/crc.h>)
#include <isa-l/crc.h>
#define ACCEL_HAVE_ISAL 1
#else
#define ACCEL_HAVE_ISAL 0
#endif

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

enum {
	/* Below this length the set-up of ISA-L's folding costs more than it saves. */
	ACCEL_LONG_BYTES = 256,
	ACCEL_CHUNK_BYTES = 4096,
};

#define ACCEL_POLY_REFLECTED 0x82f63b78u

typedef uint32_t (*accel_crc_fn)(uint32_t crc, const uint8_t *data, size_t bytes);

static uint32_t accel_table[256];
static const char *accel_used = "portable";

static void accel_make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ ACCEL_POLY_REFLECTED : c >> 1;
		accel_table[i] = c;
	}
}

static uint32_t crc_portable(uint32_t crc, const uint8_t *data, size_t bytes)
{
	while (bytes--)
		crc = accel_table[(crc ^ *data++) & 0xff] ^ crc >> 8;
	return crc;
}

#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
#define ACCEL_CRC_TARGET __attribute__((target("sse4.2")))
#define ACCEL_CRC_8      _mm_crc32_u8
#define ACCEL_CRC_16     _mm_crc32_u16
#define ACCEL_CRC_32     _mm_crc32_u32
#define ACCEL_CRC_64     (uint32_t) _mm_crc32_u64
#else
#define ACCEL_CRC_TARGET __attribute__((target("+crc")))
#define ACCEL_CRC_8      __crc32cb
#define ACCEL_CRC_16     __crc32ch
#define ACCEL_CRC_32     __crc32cw
#define ACCEL_CRC_64     __crc32cd
#endif

ACCEL_CRC_TARGET static uint32_t crc_instruction(uint32_t crc, const uint8_t *data, size_t bytes)
{
	uint64_t word;
	uint32_t half;
	uint16_t quarter;

	for (; bytes >= 8; bytes -= 8, data += 8) {
		memcpy(&word, data, 8);
		crc = ACCEL_CRC_64(crc, word);
	}
	if (bytes & 4) {
		memcpy(&half, data, 4);
		crc = ACCEL_CRC_32(crc, half);
		data += 4;
	}
	if (bytes & 2) {
		memcpy(&quarter, data, 2);
		crc = ACCEL_CRC_16(crc, quarter);
		data += 2;
	}
	return bytes & 1 ? ACCEL_CRC_8(crc, *data) : crc;
}

static bool crc_instruction_present(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("sse4.2");
#else
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
#endif
}
#else
static uint32_t crc_instruction(uint32_t crc, const uint8_t *data, size_t bytes)
{
	return crc_portable(crc, data, bytes);
}

static bool crc_instruction_present(void)
{
	return false;
}
#endif

#if ACCEL_HAVE_ISAL
static uint32_t crc_isal(uint32_t crc, const uint8_t *data, size_t bytes)
{
	/* ISA-L takes an int. No piece of a frame comes near its limit; a whole buffer might. */
	while (bytes > 1u << 30) {
		crc = crc32_iscsi((unsigned char *)(uintptr_t)data, 1 << 30, crc);
		data += 1u << 30;
		bytes -= 1u << 30;
	}
	return crc32_iscsi((unsigned char *)(uintptr_t)data, (int)bytes, crc);
}
#endif

static accel_crc_fn accel_short = crc_portable;
static accel_crc_fn accel_long = crc_portable;
static bool accel_clmul;

void accel_init(void)
{
	accel_make_table();
	accel_used = "portable";
	accel_short = accel_long = crc_portable;
	if (crc_instruction_present()) {
		accel_short = accel_long = crc_instruction;
		accel_used = "processor";
	}
#if ACCEL_HAVE_ISAL
	accel_long = crc_isal;
	accel_used = "ISA-L";
#endif
	accel_clmul = accel_clmul_present();
	if (accel_clmul) {
		accel_long = accel_clmul_crc32c;
		accel_used = "AVX-512";
	}
}

const char *accel_name(void)
{
	return accel_used;
}

uint32_t accel_crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
	return crc_portable(crc, data, bytes);
}

uint32_t accel_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	if (bytes < ACCEL_LONG_BYTES)
		return accel_short(crc, data, bytes);
	return accel_long(crc, data, bytes);
}

uint32_t accel_copy_crc32c(uint32_t crc, void *dst, const void *src, size_t bytes)
{
	uint8_t *to = dst;
	const uint8_t *from = src;

	if (accel_clmul && bytes >= ACCEL_CLMUL_LEAST_BYTES)
		return accel_clmul_copy_crc32c(crc, to, from, bytes);
	while (bytes > ACCEL_CHUNK_BYTES) {
		memcpy(to, from, ACCEL_CHUNK_BYTES);
		crc = accel_long(crc, to, ACCEL_CHUNK_BYTES);
		to += ACCEL_CHUNK_BYTES;
		from += ACCEL_CHUNK_BYTES;
		bytes -= ACCEL_CHUNK_BYTES;
	}
	memcpy(to, from, bytes);
	return accel_crc32c(crc, to, bytes);
}
