/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of operations: references to memory, one stretch after another.
 *
 * Calls mem.c, which checks each access anew, because a region may have been deregistered since the
 * schedule was loaded. The bounds of slots and scratchpad were checked at load (goal_load.c).
 */
#include "nic_fw/fw_nic.h"

void goal_cursor_init(struct goal_cursor *cursor, uint64_t ref)
{
	cursor->ref = ref;
	cursor->offset = 0;
	cursor->piece = GOAL_REF_FIRST(ref);
	cursor->piece_start = 0;
}

void goal_cursor_seek(const struct goal_schedule *schedule, struct goal_cursor *cursor,
		      uint64_t offset)
{
	if (GOAL_REF_SLOT(cursor->ref) == GOAL_SLOT_PIECES) {
		uint32_t end = GOAL_REF_FIRST(cursor->ref) + GOAL_REF_COUNT(cursor->ref);

		if (offset < cursor->piece_start) {
			cursor->piece = GOAL_REF_FIRST(cursor->ref);
			cursor->piece_start = 0;
		}
		while (cursor->piece < end &&
		       offset - cursor->piece_start >= schedule->pieces[cursor->piece].bytes) {
			cursor->piece_start += schedule->pieces[cursor->piece].bytes;
			cursor->piece++;
		}
	}
	cursor->offset = offset;
}

static bool resolve(struct fw_nic *nic, const struct goal_run *run, uint64_t ref, uint64_t offset,
		    uint64_t bytes, uint32_t need, struct fw_mem *mem)
{
	uint32_t slot = GOAL_REF_SLOT(ref);
	const struct hw_goal_bind *bind;

	if (slot == GOAL_SLOT_SCRATCH) {
		mem->ptr = run->scratch + GOAL_REF_OFFSET(ref) + offset;
		mem->addr = 0;
		mem->client = run->client;
		return true;
	}
	bind = &run->binds[slot];
	if (mem_check(nic, run->schedule->pd, 0, bind->stag,
		      bind->addr + GOAL_REF_OFFSET(ref) + offset, bytes, need,
		      mem) == HW_VENDOR_ERR_NONE)
		return true;
	/* It is gone for good. */
	nic->host.mem_busy = false;
	return false;
}

bool goal_cursor_next(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		      uint64_t max, uint32_t need, struct goal_span *span)
{
	const struct goal_schedule *schedule = run->schedule;
	uint64_t ref = cursor->ref, at = cursor->offset;

	if (GOAL_REF_SLOT(ref) == GOAL_SLOT_PIECES) {
		const struct goal_piece *piece;

		goal_cursor_seek(schedule, cursor, cursor->offset);
		piece = &schedule->pieces[cursor->piece];
		ref = piece->ref;
		at = cursor->offset - cursor->piece_start;
		if (max > piece->bytes - at)
			max = piece->bytes - at;
	}
	if (!resolve(nic, run, ref, at, max, need, &span->mem))
		return false;
	span->bytes = max;
	cursor->offset += max;
	return true;
}

bool goal_buf_write(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		    const void *src, uint64_t bytes)
{
	const uint64_t start = cursor->offset;
	const uint8_t *from = src;
	struct goal_span span;

	for (; bytes; bytes -= span.bytes, from += span.bytes) {
		if (goal_cursor_next(nic, run, cursor, bytes, HW_ACCESS_LOCAL_WRITE, &span) &&
		    mem_write(nic, &span.mem, 0, from, (uint32_t)span.bytes))
			continue;
		goal_cursor_seek(run->schedule, cursor, start);
		return false;
	}
	return true;
}

bool goal_buf_read(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		   void *dst, uint64_t bytes)
{
	const uint64_t start = cursor->offset;
	struct goal_span span;
	uint8_t *to = dst;

	for (; bytes; bytes -= span.bytes, to += span.bytes) {
		if (goal_cursor_next(nic, run, cursor, bytes < UINT32_MAX ? bytes : UINT32_MAX, 0,
				     &span) &&
		    mem_read(nic, &span.mem, 0, to, (uint32_t)span.bytes))
			continue;
		goal_cursor_seek(run->schedule, cursor, start);
		return false;
	}
	return true;
}
