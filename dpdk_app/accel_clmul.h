/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C by AVX-512 VPCLMULQDQ; accel.c selects it where the processor supports it.
 */
#ifndef WEFT_APP_ACCEL_CLMUL_H
#define WEFT_APP_ACCEL_CLMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ACCEL_CLMUL_LEAST_BYTES = 256, /* minimum length for both functions */
};

/*
 * Returns true if the processor has the instructions; only then may the other functions be called.
 */
bool accel_clmul_present(void);

/* As accel_crc32c() and accel_copy_crc32c(): raw running values. Any thread. */
uint32_t accel_clmul_crc32c(uint32_t crc, const uint8_t *data, size_t bytes);
uint32_t accel_clmul_copy_crc32c(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t bytes);

#endif /* WEFT_APP_ACCEL_CLMUL_H */
