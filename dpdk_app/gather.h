/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DMA engine of transmission: copies the pieces of a frame into one contiguous buffer and fills
 * in CRC32Cs and checksum.
 *
 * nic_fw/fw_port.h defines the descriptors. Calls accel.c and the reader of process memory.
 */
#ifndef WEFT_APP_GATHER_H
#define WEFT_APP_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"

/*
 * Reads client memory that the NIC has not mapped. Returns 0, -EFAULT, or -EBUSY: not available
 * now.
 */
typedef int (*gather_read_fn)(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes);

/*
 * Writes the frame to dst, zero-padded to Ethernet's minimum. Without csum, the checksum field
 * keeps the value from the headers. Returns the bytes written; -EFAULT or -EBUSY when a FW_TX_HOST
 * piece was inaccessible; -EMSGSIZE when the frame exceeds room or its pieces do not add up to
 * frame->bytes.
 */
int gather_frame(const struct fw_tx_frame *frame, bool csum, uint8_t *dst, uint32_t room,
		 gather_read_fn read, void *read_ctx) __attribute__((warn_unused_result));

#endif /* WEFT_APP_GATHER_H */
