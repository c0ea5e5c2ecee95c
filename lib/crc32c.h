/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C (RFC 3385; the polynomial 0x1edc6f41, reflected) one bit at a time: for files, and as the
 * reference of tests. The firmware and weftd have fast ones of their own.
 */
#ifndef WEFT_LIB_CRC32C_H
#define WEFT_LIB_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The value before the first byte; the CRC is the complement of the value after the last. */
#define CRC32C_INIT UINT32_MAX

/* Takes bytes into a running value, and returns it. */
static inline uint32_t crc32c_update(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	int bit;

	for (; bytes; bytes--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
	}
	return crc;
}

#endif /* WEFT_LIB_CRC32C_H */
