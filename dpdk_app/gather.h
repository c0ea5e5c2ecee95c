/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DMA engine of transmission: pieces of a frame into one contiguous buffer, the
 * CRC32Cs and the checksum put in on the way.
 *
 * Called by port_tx.c with the data room of an mbuf; calls accel.c and the reader of process
 * memory. nic_fw/fw_port.h defines the descriptors.
 */
#ifndef WEFT_APP_GATHER_H
#define WEFT_APP_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"

/* Reads memory of a client that the NIC has not mapped: 0, -EFAULT, or -EBUSY: not now. */
typedef int (*gather_read_fn)(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes);

/*
 * Writes the frame to dst, padded with zeroes to Ethernet's minimum; without csum, the checksum
 * that it wants stays as the headers have it. Returns the bytes
 * written, -EFAULT or -EBUSY when a FW_TX_HOST piece was unreachable, or -EMSGSIZE when the frame
 * does not fit into room bytes or its pieces do not add up to frame->bytes.
 */
int gather_frame(const struct fw_tx_frame *frame, bool csum, uint8_t *dst, uint32_t room,
		 gather_read_fn read, void *read_ctx) __attribute__((warn_unused_result));

#endif /* WEFT_APP_GATHER_H */
