/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SHA-256 (FIPS 180-4) for file.c, so that weft-bench needs no crypto library.
 */
#ifndef WEFT_BENCH_SHA256_H
#define WEFT_BENCH_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum {
	SHA256_BYTES = 32,
	SHA256_HEX = 2 * SHA256_BYTES + 1,
};

struct sha256 {
	uint32_t h[8];
	uint64_t bytes;
	uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t bytes);

/* Ends the sum; hex is NUL-terminated, lower case. */
void sha256_hex(struct sha256 *s, char hex[SHA256_HEX]);

#endif /* WEFT_BENCH_SHA256_H */
