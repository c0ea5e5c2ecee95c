/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C with the processor's instruction: an accelerator of the environment, like weftd's.
 *
 * With the firmware's portable CRC the simulator would spend a third of its time in it. The
 * firmware uses these functions through struct fw_port, sim_port.c for outgoing frames. Processors
 * without the instruction fall back to the portable CRC; the values are equal.
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
