/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C, and copy with CRC32C: the accelerators of fw_port.
 *
 * gather.c uses them for transmission, the firmware through fw_port for reception. The value is the
 * raw running CRC: it starts as FW_CRC32C_INIT and is not complemented. accel_crc32c_wire()
 * converts it to the four bytes on the wire. RFC 3385, RFC 5044 4.4.
 */
#ifndef WEFT_APP_ACCEL_H
#define WEFT_APP_ACCEL_H

#include <stddef.h>
#include <stdint.h>

/* Selects the fastest method of this machine. Call it once, before threads exist. */
void accel_init(void);
/* Returns the name of the selected method, for the start message. */
const char *accel_name(void);

/* Continues crc over data. Any thread. */
uint32_t accel_crc32c(uint32_t crc, const void *data, size_t bytes);

/*
 * Continues crc over data while copying it from src to dst, which must not overlap. The CRC is that
 * of the bytes in dst, even if another process writes to src meanwhile. Any thread.
 */
uint32_t accel_copy_crc32c(uint32_t crc, void *dst, const void *src, size_t bytes);

/* Computes the CRC by table: the fallback, and a check of the other methods. */
uint32_t accel_crc32c_portable(uint32_t crc, const void *data, size_t bytes);

/* Stores a finished CRC32C in wire format: complemented, low byte first. */
static inline void accel_crc32c_wire(uint8_t *dst, uint32_t crc)
{
	crc = ~crc;
	dst[0] = (uint8_t)crc;
	dst[1] = (uint8_t)(crc >> 8);
	dst[2] = (uint8_t)(crc >> 16);
	dst[3] = (uint8_t)(crc >> 24);
}

#endif /* WEFT_APP_ACCEL_H */
