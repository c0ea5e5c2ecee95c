/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DDP placement: a segment's payload from the frame into the process's memory.
 *
 * The frame's CRC was checked before. Calls mem.c. RFC 5041 5.1-5.3.
 */
#include "nic_fw/fw_nic.h"

bool ddp_place_mem(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		   struct eth_cursor *cursor)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_DDP_RX);
	bool ok = mem_place_frame(nic, mem, offset, cursor, cursor->left);

	(void)fw_stage_enter(nic, stage);
	return ok;
}

bool ddp_place_segment(struct fw_nic *nic, const struct fw_mem *mem, uint64_t offset,
		       const struct rdmap_seg *pkt)
{
	const struct fw_rx_seg *seg = pkt->frame->seg, *last = seg + pkt->frame->num_seg - 1;
	uint32_t at = pkt->data_offset;
	struct eth_cursor cursor;

	while (seg != last && at >= seg->bytes)
		at -= seg++->bytes;
	if (__builtin_expect(mem->ptr && !nic->stages.clock, 1) &&
	    (pkt->data_bytes < FW_PLACE_BYTES || !nic->port.place) &&
	    (uint64_t)at + pkt->data_bytes <= seg->bytes) {
		/* In one piece. The frame may be memory of the same process and may overlap. */
		memmove(mem->ptr + offset, seg->data + at, pkt->data_bytes);
		return true;
	}
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, pkt->data_bytes);
	return ddp_place_mem(nic, mem, offset, &cursor);
}

static enum hw_vendor_err place_sges(struct fw_nic *nic, uint32_t pd, const struct hw_sge *sge,
				     uint32_t num_sge, uint64_t offset, struct eth_cursor *cursor)
{
	uint32_t i;

	for (i = 0; i < num_sge && cursor->left; i++) {
		struct fw_mem mem;
		enum hw_vendor_err err;
		uint64_t room;
		uint32_t todo;

		if (offset >= sge[i].bytes) {
			offset -= sge[i].bytes;
			continue;
		}
		room = sge[i].bytes - offset;
		todo = cursor->left < room ? cursor->left : (uint32_t)room;
		err = mem_check(nic, pd, 0, sge[i].lkey, sge[i].addr + offset, todo,
				HW_ACCESS_LOCAL_WRITE, &mem);
		if (err != HW_VENDOR_ERR_NONE)
			return err;
		offset = 0;
		if (!mem_place_frame(nic, &mem, 0, cursor, todo))
			return HW_VENDOR_ERR_HOST_FAULT;
	}
	return cursor->left ? HW_VENDOR_ERR_BOUNDS : HW_VENDOR_ERR_NONE;
}

enum hw_vendor_err ddp_place_sges(struct fw_nic *nic, uint32_t pd, const struct hw_sge *sge,
				  uint32_t num_sge, uint64_t offset, struct eth_cursor *cursor)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_DDP_RX);
	enum hw_vendor_err err = place_sges(nic, pd, sge, num_sge, offset, cursor);

	(void)fw_stage_enter(nic, stage);
	return err;
}
