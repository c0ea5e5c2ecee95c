/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C (Castagnoli), portable: slicing by 8, eight table look-ups per eight bytes.
 *
 * The ports use it where the machine has no instruction for it. The tests compare the other
 * implementations with it. Calls nothing. Sources: RFC 3385, RFC 5044 4.4, RFC 3720 B.4 (vectors);
 * Kounavis and Berry, "Novel Table Lookup-Based Algorithms for High-Performance CRC Generation"
 * (2008).
 */
#include "nic_fw/base/crc32c.h"

#include <string.h>

/*
 * A CRC is linear: the table's entry for a byte is the sum of the entries for its bits. The
 * eight numbers given to SLICE are the entries for 0x80, 0x40, ... 0x01 (64 successive
 * states of the shift register in all), and the compiler works out the other 248.
 */
#define ENTRY(n, b7, b6, b5, b4, b3, b2, b1, b0)                                                   \
	(((n)&0x80 ? b7 : 0u) ^ ((n)&0x40 ? b6 : 0u) ^ ((n)&0x20 ? b5 : 0u) ^                      \
	 ((n)&0x10 ? b4 : 0u) ^ ((n)&0x08 ? b3 : 0u) ^ ((n)&0x04 ? b2 : 0u) ^                      \
	 ((n)&0x02 ? b1 : 0u) ^ ((n)&0x01 ? b0 : 0u))
#define ENTRIES_4(n, ...)                                                                          \
	ENTRY(n, __VA_ARGS__), ENTRY((n) + 1, __VA_ARGS__), ENTRY((n) + 2, __VA_ARGS__),           \
	    ENTRY((n) + 3, __VA_ARGS__)
#define ENTRIES_16(n, ...)                                                                         \
	ENTRIES_4(n, __VA_ARGS__), ENTRIES_4((n) + 4, __VA_ARGS__),                                \
	    ENTRIES_4((n) + 8, __VA_ARGS__), ENTRIES_4((n) + 12, __VA_ARGS__)
#define ENTRIES_64(n, ...)                                                                         \
	ENTRIES_16(n, __VA_ARGS__), ENTRIES_16((n) + 16, __VA_ARGS__),                             \
	    ENTRIES_16((n) + 32, __VA_ARGS__), ENTRIES_16((n) + 48, __VA_ARGS__)
#define SLICE(...)                                                                                 \
	{                                                                                          \
		ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__),                           \
		    ENTRIES_64(128, __VA_ARGS__), ENTRIES_64(192, __VA_ARGS__)                     \
	}

/* slice[k][b]: what byte b contributes when k more bytes follow it. */
static const uint32_t slice[8][256] = {
    /* clang-format off */
	SLICE(0x82f63b78, 0x417b1dbc, 0x20bd8ede, 0x105ec76f,
	      0x8ad958cf, 0xc79a971f, 0xe13b70f7, 0xf26b8303),
	SLICE(0xfbc3faf9, 0xff17c604, 0x7f8be302, 0x3fc5f181,
	      0x9d14c3b8, 0x4e8a61dc, 0x274530ee, 0x13a29877),
	SLICE(0x8b277743, 0xc76580d9, 0xe144fb14, 0x70a27d8a,
	      0x38513ec5, 0x9edea41a, 0x4f6f520d, 0xa541927e),
	SLICE(0x52a0c93f, 0xaba65fe7, 0xd725148b, 0xe964b13d,
	      0xf64463e6, 0x7b2231f3, 0xbf672381, 0xdd45aab8),
	SLICE(0x6ea2d55c, 0x37516aae, 0x1ba8b557, 0x8f2261d3,
	      0xc5670b91, 0xe045beb0, 0x7022df58, 0x38116fac),
	SLICE(0x1c08b7d6, 0x0e045beb, 0x85f4168d, 0xc00c303e,
	      0x6006181f, 0xb2f53777, 0xdb8ca0c3, 0xef306b19),
	SLICE(0xf56e0ef4, 0x7ab7077a, 0x3d5b83bd, 0x9c5bfaa6,
	      0x4e2dfd53, 0xa5e0c5d1, 0xd0065990, 0x68032cc8),
	SLICE(0x34019664, 0x1a00cb32, 0x0d006599, 0x847609b4,
	      0x423b04da, 0x211d826d, 0x9278fa4e, 0x493c7d27),
    /* clang-format on */
};

static uint32_t crc_byte(uint32_t crc, uint8_t byte)
{
	return crc >> 8 ^ slice[0][(crc ^ byte) & 0xff];
}

/* Processes eight bytes at once; the first of them is the lowest byte of word. */
static uint32_t crc_word(uint32_t crc, uint64_t word)
{
	word ^= crc;
	return slice[7][word & 0xff] ^ slice[6][word >> 8 & 0xff] ^ slice[5][word >> 16 & 0xff] ^
	       slice[4][word >> 24 & 0xff] ^ slice[3][word >> 32 & 0xff] ^
	       slice[2][word >> 40 & 0xff] ^ slice[1][word >> 48 & 0xff] ^ slice[0][word >> 56];
}

uint32_t fw_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		crc = crc_word(crc, word);
	}
	for (; bytes; bytes--)
		crc = crc_byte(crc, *p++);
	return crc;
}

uint32_t fw_copy_crc32c(uint32_t crc, void *dst, const void *src, size_t bytes)
{
	const uint8_t *p = src;
	uint8_t *q = dst;
	uint64_t word;

	/* The CRC covers the stored copy, since a process may change src meanwhile. */
	for (; bytes >= sizeof(word); bytes -= sizeof(word), p += sizeof(word), q += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		memcpy(q, &word, sizeof(word));
		crc = crc_word(crc, word);
	}
	for (; bytes; bytes--) {
		uint8_t byte = *p++;

		*q++ = byte;
		crc = crc_byte(crc, byte);
	}
	return crc;
}
