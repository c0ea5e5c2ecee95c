/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C (Castagnoli) as MPA, iSCSI and weft's datagrams use it.
 *
 * A running value starts as FW_CRC32C_INIT (nic_fw/fw_port.h), goes through fw_crc32c() once
 * per piece in order, and ends on the wire as fw_crc32c_wire() of it. Used by the ports as
 * fw_port.crc32c where the machine has nothing faster, by nic_fw and by the tests. RFC 5044
 * 4.4, RFC 3720 12.1.
 */
#ifndef WEFT_CRC32C_H
#define WEFT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#include "shared_defs/be.h"

/*
 * Returns the running value after bytes bytes at data, of any alignment. Needs no initialisation
 * and writes nothing: any thread, at any time.
 */
uint32_t fw_crc32c(uint32_t crc, const void *data, size_t bytes);

/*
 * Copies bytes bytes from src to dst, which do not overlap. Returns the running value over exactly
 * the stored bytes, even if another writer changes src meanwhile.
 */
uint32_t fw_copy_crc32c(uint32_t crc, void *dst, const void *src, size_t bytes);

/*
 * The four bytes on the wire for a running value: its complement, lowest byte first. RFC 3720 12.1
 * numbers the bits so, and RFC 5044 4.4 follows it. The type is only a container: be32_get() of it
 * is not the CRC.
 */
static inline struct be32 fw_crc32c_wire(uint32_t crc)
{
	struct be32 v;

	crc = ~crc;
	v.b[0] = (uint8_t)crc;
	v.b[1] = (uint8_t)(crc >> 8);
	v.b[2] = (uint8_t)(crc >> 16);
	v.b[3] = (uint8_t)(crc >> 24);
	return v;
}

#endif /* WEFT_CRC32C_H */
