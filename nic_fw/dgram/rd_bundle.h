/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bundles of RD: several short messages of one QP to another in one frame (rd_bundle.c).
 *
 * docs/wire-format.md "RD: bundles".
 */
#ifndef WEFT_FW_RD_BUNDLE_H
#define WEFT_FW_RD_BUNDLE_H

#include <stdint.h>

struct fw_nic;
struct fw_rx_frame;
struct rd_flow;
struct rd_session;
struct rdmap_seg;

enum {
	RD_BUNDLE_MSG_BYTES = 512, /* of a message that shares a frame */
	RD_BUNDLE_BYTES = 1856,    /* of all that share one, with what precedes each of them */
	RD_BUNDLE_ROOM = 2048,
	RD_BUNDLE_FLAT = 2048, /* a received one up to the CRC32C, from the Ethernet header on */
};

/*
 * Sends the next messages of a flow, up to budget of them, as one frame, each under its own PSN.
 * Returns their number; 0: the next one does not go so, and nothing was sent.
 */
uint32_t rd_bundle_tx(struct fw_nic *nic, struct rd_session *session, struct rd_flow *flow,
		      uint32_t budget);
/*
 * Takes the frame of a bundle apart. Returns the number of its messages; 0: it is malformed. One
 * that is not contiguous is copied to *flat, which pkt names from then on.
 */
uint32_t rd_bundle_open(struct fw_nic *nic, struct rdmap_seg *pkt, struct fw_rx_frame *flat);
/* Makes the packet of the message whose part is at that offset; returns the offset behind it. */
uint32_t rd_bundle_part(const struct rdmap_seg *pkt, uint32_t at, struct rdmap_seg *part);

#endif /* WEFT_FW_RD_BUNDLE_H */
