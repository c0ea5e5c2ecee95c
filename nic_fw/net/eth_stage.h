/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking a frame to stage: the part of eth.h that every packet passes, inline.
 *
 * fw_nic.h includes it behind the instance. eth_tx.c has the rest.
 */
#ifndef WEFT_FW_ETH_STAGE_H
#define WEFT_FW_ETH_STAGE_H

enum {
	ETH_TX_UNIT_BYTES = 4096,
};

/* Number of data frames that may be staged now: limited by the stage and by the port. */
static inline uint32_t eth_tx_room(struct fw_nic *nic)
{
	uint32_t room;

	if (__builtin_expect(nic->net.tx_count == FW_TX_STAGE, 0))
		eth_tx_flush(nic);
	room = FW_TX_STAGE - nic->net.tx_count;
	return room < nic->net.tx_allow ? room : nic->net.tx_allow;
}

/*
 * The part of a turn's budget that the frames staged since the last call take: a unit for each
 * ETH_TX_UNIT_BYTES or part of a frame, so that turns with long frames are not longer than others,
 * and those of dear work. At least 1: a caller's loop always comes to its end.
 */
static inline uint32_t eth_tx_cost(struct fw_nic *nic)
{
	uint32_t cost = nic->net.tx_cost + fw_dear_take(nic);

	nic->net.tx_cost = 0;
	return cost ? cost : 1;
}

/* Returns a cleared frame (no segments, hdr undefined); NULL: no room until the next turn. */
static inline struct fw_tx_frame *eth_tx_begin(struct fw_nic *nic)
{
	struct fw_tx_frame *frame;

	if (__builtin_expect(nic->net.tx_count == FW_TX_STAGE, 0)) {
		eth_tx_flush(nic);
		if (nic->net.tx_count == FW_TX_STAGE)
			return NULL;
	}
	frame = &nic->net.tx[nic->net.tx_count];
	frame->num_seg = 0;
	frame->bytes = 0;
	frame->flags = 0;
	frame->csum_start = 0;
	frame->run = 1;
	frame->status = 0;
	frame->cookie = 0;
	return frame;
}

/* The frame of eth_tx_begin(), of so many bytes with its CRC32Cs, is staged. */
static inline void eth_tx_staged(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t bytes)
{
	frame->bytes = bytes;
	nic->net.tx_count++;
	nic->net.tx_cost += bytes / ETH_TX_UNIT_BYTES + 1;
	if (nic->net.tx_allow && !(frame->flags & FW_TX_F_CONTROL))
		nic->net.tx_allow--;
}

/* eth_tx_commit() of a frame of one packet that has two pieces, all of them in its hdr. */
static inline void eth_tx_commit_hdr(struct fw_nic *nic, struct fw_tx_frame *frame,
				     uint32_t crc_bytes)
{
	eth_tx_staged(nic, frame, frame->seg[0].bytes + frame->seg[1].bytes + crc_bytes);
}

#endif /* WEFT_FW_ETH_STAGE_H */
