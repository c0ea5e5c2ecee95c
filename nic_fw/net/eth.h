/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet: frames in (eth_rx.c), frames out (eth_tx.c).
 *
 * Out: a stage takes a frame with eth_tx_begin() (eth_stage.h), writes headers into it, adds
 * pieces, and commits it. Frames are staged and go to the port in bursts, at the latest at the end
 * of the turn. In: eth_rx_poll() takes a burst and hands each frame to ARP or IPv4.
 */
#ifndef WEFT_FW_ETH_H
#define WEFT_FW_ETH_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/fw_port.h"

struct fw_nic;

/* Reads a received frame from front to back; never past its end. */
struct eth_cursor {
	const struct fw_rx_frame *frame;
	uint32_t seg;
	uint32_t offset; /* in the segment */
	uint32_t left;   /* bytes up to the end that the caller set */
};

static inline void eth_cursor_init(struct eth_cursor *cursor, const struct fw_rx_frame *frame,
				   uint32_t offset, uint32_t bytes)
{
	uint32_t seg = 0;

	assert(offset <= frame->bytes && bytes <= frame->bytes - offset);
	while (seg < frame->num_seg && offset >= frame->seg[seg].bytes)
		offset -= frame->seg[seg++].bytes;
	cursor->frame = frame;
	cursor->seg = seg;
	cursor->offset = offset;
	cursor->left = bytes;
}

/* eth_cursor_next() where bytes are left: also to the next segment. */
const uint8_t *eth_cursor_advance(struct eth_cursor *cursor, uint32_t max, uint32_t *bytes);

/* Returns the next contiguous piece, at most max bytes, and advances; NULL at the end. */
static inline const uint8_t *eth_cursor_next(struct eth_cursor *cursor, uint32_t max,
					     uint32_t *bytes)
{
	uint32_t n = cursor->left < max ? cursor->left : max, room;
	const struct fw_rx_seg *seg = &cursor->frame->seg[cursor->seg];

	*bytes = n;
	if (!n)
		return NULL;
	assert(cursor->seg < cursor->frame->num_seg);
	room = seg->bytes - cursor->offset;
	/* It lies in this segment, and what follows does, too, or nothing follows. */
	if (n < room || (n == room && n == cursor->left)) {
		const uint8_t *data = seg->data + cursor->offset;

		cursor->left -= n;
		cursor->offset += n;
		return data;
	}
	return eth_cursor_advance(cursor, max, bytes);
}
/* Copies and advances; asserts that so much is left. */
void eth_cursor_copy(struct eth_cursor *cursor, void *dst, uint32_t bytes);
/*
 * True if [offset, offset + bytes) of a frame, at least 4 bytes, ends with the CRC32C of the rest.
 * _from() continues crc, that of bytes before them.
 */
bool eth_crc32c_ok(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t offset,
		   uint32_t bytes);
bool eth_crc32c_ok_from(struct fw_nic *nic, uint32_t crc, const struct fw_rx_frame *frame,
			uint32_t offset, uint32_t bytes);

uint32_t eth_rx_poll(struct fw_nic *nic, uint32_t budget);
/* Takes a frame, which is not needed any more when it returns. */
void eth_rx_frame(struct fw_nic *nic, const struct fw_rx_frame *frame);

/* Adds a piece of hdr[offset, offset + bytes). */
static inline void eth_tx_hdr(struct fw_tx_frame *frame, uint32_t offset, uint32_t bytes,
			      uint8_t flags)
{
	struct fw_tx_seg *seg;

	assert(frame->num_seg < FW_TX_SEGS_MAX);
	assert(offset <= FW_TX_HDR_BYTES && bytes <= FW_TX_HDR_BYTES - offset);
	seg = &frame->seg[frame->num_seg++];
	*seg =
	    (struct fw_tx_seg){.addr = offset, .bytes = bytes, .kind = FW_TX_HDR, .flags = flags};
}
/* Adds the bytes of hdr behind the last piece to it. */
static inline void eth_tx_hdr_more(struct fw_tx_frame *frame, uint32_t bytes)
{
	struct fw_tx_seg *seg = &frame->seg[frame->num_seg - 1];

	assert(frame->num_seg && seg->kind == FW_TX_HDR &&
	       seg->addr + seg->bytes + bytes <= FW_TX_HDR_BYTES);
	seg->bytes += bytes;
}
/* Adds the two pieces that begin a frame: hdr[0, first), and the bytes behind it with the flags. */
static inline void eth_tx_headers(struct fw_tx_frame *frame, uint32_t first, uint32_t bytes,
				  uint8_t flags)
{
	assert(!frame->num_seg && first + bytes <= FW_TX_HDR_BYTES);
	frame->seg[0] = (struct fw_tx_seg){.bytes = first, .kind = FW_TX_HDR};
	frame->seg[1] =
	    (struct fw_tx_seg){.addr = first, .bytes = bytes, .kind = FW_TX_HDR, .flags = flags};
	frame->num_seg = 2;
}
/* Takes the frame of eth_tx_begin(), which is now complete. */
void eth_tx_commit(struct fw_nic *nic, struct fw_tx_frame *frame);
/*
 * As commit, but sends at once. Returns 0, or -EFAULT when a piece of process memory is not mapped.
 */
int eth_tx_commit_now(struct fw_nic *nic, struct fw_tx_frame *frame);
/*
 * As commit_now, but never leaves the frame staged: when the port has no room it drops the frame
 * and returns -EAGAIN. For frames whose pieces do not outlive the call.
 */
int eth_tx_try_now(struct fw_nic *nic, struct fw_tx_frame *frame);
/* Offers the staged frames to the port; keeps those that it does not take. */
void eth_tx_flush(struct fw_nic *nic);
/*
 * Before a process is notified, other than by an acknowledgement, that it owns memory again or that
 * memory is closed to peers: sends the staged frames and ends all references of sent frames.
 */
void eth_tx_settle(struct fw_nic *nic);
/*
 * Before memory of a client goes away (deregistration, detach): sends the staged frames, and drops
 * frames of that client which the port does not take. The peer sees an ordinary loss.
 */
void eth_tx_forget(struct fw_nic *nic, uint32_t client);
/* The same for frames that point into memory of the NIC itself that gets another use. */
void eth_tx_forget_mem(struct fw_nic *nic, const void *mem, uint64_t bytes);
/* The same, and ends all references of sent frames to it. */
void eth_tx_settle_mem(struct fw_nic *nic, const void *mem, uint64_t bytes);

#endif /* WEFT_FW_ETH_H */
