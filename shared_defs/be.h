/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Byte order as types.
 *
 * Fields on the wire are big-endian byte arrays (be16, be32, be64). They have alignment 1, and as
 * structs they cannot be compared or added by accident. A get or a put compiles to one load or
 * store and a bswap at -O2. Memory shared between host and NIC is little-endian, naturally aligned,
 * and uses plain integers. weft runs only on little-endian machines, which the assertion below
 * enforces.
 */
#ifndef WEFT_BE_H
#define WEFT_BE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "weft's host/NIC contract is written for little-endian machines");

struct be16 {
	uint8_t b[2];
};
struct be32 {
	uint8_t b[4];
};
struct be64 {
	uint8_t b[8];
};

static inline uint16_t be16_get(struct be16 v)
{
	uint16_t x;

	memcpy(&x, v.b, sizeof(x));
	return __builtin_bswap16(x);
}

static inline uint32_t be32_get(struct be32 v)
{
	uint32_t x;

	memcpy(&x, v.b, sizeof(x));
	return __builtin_bswap32(x);
}

static inline uint64_t be64_get(struct be64 v)
{
	uint64_t x;

	memcpy(&x, v.b, sizeof(x));
	return __builtin_bswap64(x);
}

static inline struct be16 be16_put(uint16_t x)
{
	struct be16 v;

	x = __builtin_bswap16(x);
	memcpy(v.b, &x, sizeof(x));
	return v;
}

static inline struct be32 be32_put(uint32_t x)
{
	struct be32 v;

	x = __builtin_bswap32(x);
	memcpy(v.b, &x, sizeof(x));
	return v;
}

static inline struct be64 be64_put(uint64_t x)
{
	struct be64 v;

	x = __builtin_bswap64(x);
	memcpy(v.b, &x, sizeof(x));
	return v;
}

/*
 * Serial number arithmetic (RFC 1982) for PSNs, MSNs and free-running indices: true if a precedes b
 * modulo 2^32.
 */
static inline int seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline int seq_leq(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

#endif /* WEFT_BE_H */
