/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C with the processor's instruction: an accelerator of the environment, as weftd has one.
 *
 * The simulator spends a third of its time in the firmware's portable CRC otherwise. Called by
 * the firmware through struct fw_port and by sim_port.c for outgoing frames; calls the
 * firmware's where the processor has no such instruction. The values are the same.
 */
#include "sim_harness/sim_int.h"

#include <string.h>

#include "nic_fw/base/crc32c.h"

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#define CRC_WORD(crc, x) ((uint32_t)_mm_crc32_u64(crc, x))
#define CRC_BYTE(crc, x) _mm_crc32_u8(crc, x)
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define CRC_WORD(crc, x) __crc32cd(crc, x)
#define CRC_BYTE(crc, x) __crc32cb(crc, x)
#endif

uint32_t sim_crc32c(uint32_t crc, const void *data, size_t bytes)
{
#ifdef CRC_WORD
	const uint8_t *p = data;
	uint64_t x;

	for (; bytes >= sizeof(x); bytes -= sizeof(x), p += sizeof(x)) {
		memcpy(&x, p, sizeof(x));
		crc = CRC_WORD(crc, x);
	}
	while (bytes--)
		crc = CRC_BYTE(crc, *p++);
	return crc;
#else
	return fw_crc32c(crc, data, bytes);
#endif
}

uint32_t sim_copy_crc32c(uint32_t crc, void *dst, const void *src, size_t bytes)
{
	if (bytes)
		memcpy(dst, src, bytes);
	return sim_crc32c(crc, dst, bytes);
}
