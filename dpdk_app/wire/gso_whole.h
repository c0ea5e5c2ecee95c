/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One frame for the kernel of a run that the firmware made: a borrowed frame (borrow.h), whose
 * payload is taken from where it lies.
 *
 * The kernel divides the frame into packets of equal length, and makes their headers up to UDP's or
 * TCP's from the first. What follows in each packet stands in the frame: headers above, payload,
 * CRC32C. Calls gso_run.c and fw_run_hdrs().
 */
#ifndef WEFT_APP_GSO_WHOLE_H
#define WEFT_APP_GSO_WHOLE_H

#include <stdint.h>
#include <sys/uio.h>

#include "dpdk_app/wire/gso_run.h"
#include "nic_fw/fw_port.h"

struct rte_mbuf;

enum {
	/* Headers of each packet, payload in parts, and the caller's, the frame's, a CRC32C. */
	GSO_WHOLE_PIECES = 3 + 2 * FW_RUN_MAX + FW_RX_SEGS_MAX,
};

/* Valid while the run is; it refers to itself and is not copied. */
struct gso_whole {
	uint32_t packets, bytes;  /* bytes: all that follows UDP's or TCP's headers */
	uint32_t hdr_bytes;       /* up to UDP's or TCP's */
	uint32_t num_pieces;      /* from piece[1] on: piece[0] is the caller's */
	uint16_t each;            /* bytes of a packet behind these headers */
	uint8_t hdr[GSO_HDR_MAX]; /* of the frame */
	uint8_t hdrs[FW_RUN_MAX * FW_TX_HDR_BYTES]; /* of the packets */
	struct iovec piece[GSO_WHOLE_PIECES];
};

void gso_whole_make(const struct rte_mbuf *run, struct gso_whole *whole);

#endif /* WEFT_APP_GSO_WHOLE_H */
