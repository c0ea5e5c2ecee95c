/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C, and copy with CRC32C: the accelerators of fw_port.
 *
 * Called by gather.c (transmission) and, through fw_port, by the firmware (reception).
 * The value is the raw running one: it starts as FW_CRC32C_INIT and is not complemented;
 * accel_crc32c_wire() makes the four bytes that go out. RFC 3385, RFC 5044 4.4.
 */
#ifndef WEFT_APP_ACCEL_H
#define WEFT_APP_ACCEL_H

#include <stddef.h>
#include <stdint.h>

/* Chooses the fastest way this machine has. Called once, before threads exist. */
void accel_init(void);
/* Its name, for the start message. */
const char *accel_name(void);

/* Continues crc over data. Any thread. */
uint32_t accel_crc32c(uint32_t crc, const void *data, size_t bytes);

/*
 * The same while copying data from src to dst, which do not overlap. The CRC is that of
 * the bytes in dst, whatever another process writes to src meanwhile. Any thread.
 */
uint32_t accel_copy_crc32c(uint32_t crc, void *dst, const void *src, size_t bytes);

/* The same by table, for machines that have nothing better, and to check the others. */
uint32_t accel_crc32c_portable(uint32_t crc, const void *data, size_t bytes);

/* Stores a finished CRC32C as it stands on the wire: complemented, low byte first. */
static inline void accel_crc32c_wire(uint8_t *dst, uint32_t crc)
{
	crc = ~crc;
	dst[0] = (uint8_t)crc;
	dst[1] = (uint8_t)(crc >> 8);
	dst[2] = (uint8_t)(crc >> 16);
	dst[3] = (uint8_t)(crc >> 24);
}

#endif /* WEFT_APP_ACCEL_H */
