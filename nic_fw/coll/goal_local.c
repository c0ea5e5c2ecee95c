/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A local operation on the buffers of a run: stretches of memory, a bounded part in each step.
 *
 * Calls goal_localop.c for the arithmetic. The three buffers may be divided into pieces of
 * different shapes; elements are whole in each (goal_load.c). Memory that is not mapped goes
 * through a part of the instance's scratch buffer.
 */
#include "nic_fw/fw_nic.h"

enum {
	BOUNCE_BYTES = FW_DEAR_COPY_BYTES,
	BYTES_PER_COST = 4096, /* of result, counted as one operation's work */
};

/* One buffer of the operation. */
struct side {
	struct goal_cursor *cursor;
	uint8_t *bounce;
	uint32_t need;
	uint8_t *ptr;      /* NULL: the stretch is used up */
	struct fw_mem mem; /* of the stretch, where it is not mapped */
	uint64_t at;       /* bytes of the stretch that were used */
	uint64_t left;
};

/* Gets a new stretch of at most max bytes once the last is used up. */
static bool refill(struct fw_nic *nic, const struct goal_run *run, struct side *side, uint64_t max)
{
	struct goal_span span;

	if (side->left)
		return true;
	if (max > BOUNCE_BYTES && run->unmapped)
		max = BOUNCE_BYTES;
	if (!goal_cursor_next(nic, run, side->cursor, max, side->need, &span))
		return false;
	side->at = 0;
	side->left = span.bytes;
	side->mem = span.mem;
	side->ptr = span.mem.ptr;
	if (side->ptr)
		return true;
	if (side->left > BOUNCE_BYTES) {
		/*
		 * It was mapped when the schedule was loaded, and is not any more: begin again with
		 * less.
		 */
		side->cursor->offset -= side->left - BOUNCE_BYTES;
		side->left = BOUNCE_BYTES;
	}
	side->ptr = side->bounce;
	return side->need || mem_read(nic, &side->mem, 0, side->bounce, (uint32_t)side->left);
}

static void goal_local_advance(struct side *side, uint64_t bytes)
{
	side->ptr += bytes;
	side->at += bytes;
	side->left -= bytes;
}

static bool is_bounced(const struct side *side)
{
	return !side->mem.ptr;
}

static enum hw_goal_status time_stamp(struct fw_nic *nic, struct goal_run *run,
				      const struct goal_insn *op)
{
	double seconds = (double)fw_clock_ns(nic) / 1e9;
	struct goal_cursor cursor;

	goal_cursor_init(&cursor, op->buf[2]);
	return goal_buf_write(nic, run, &cursor, &seconds, sizeof(seconds)) ? HW_GOAL_OK
									    : goal_slow_status(nic);
}

bool goal_local_write_some(struct fw_nic *nic, struct goal_run *run, struct goal_cursor *cursor,
			   const uint8_t *part, uint32_t bytes, uint32_t *done)
{
	struct goal_span span;
	uint32_t n;

	for (n = 1; *done < bytes && !(n > 1 && fw_dear_spent(nic)); n++) {
		uint64_t offset = cursor->offset;

		if (!goal_cursor_next(nic, run, cursor, bytes - *done, HW_ACCESS_LOCAL_WRITE,
				      &span))
			return false;
		if (!mem_write(nic, &span.mem, 0, part + *done, (uint32_t)span.bytes)) {
			goal_cursor_seek(run->schedule, cursor, offset);
			return false;
		}
		*done += (uint32_t)span.bytes;
		if (n % FW_DEAR_STRETCHES == 0)
			fw_dear_add(nic, 1);
	}
	return true;
}

/* It is kept because its operands may lie in the same memory, where a write that was given up may
 * still be carried out. */
enum hw_goal_status goal_local_keep(struct fw_nic *nic, struct goal_run *run,
				    const struct goal_cursor *cursor, uint64_t offset,
				    const uint8_t *part, uint32_t bytes)
{
	run->kept = goal_heap_alloc(nic, run->client, bytes);
	if (!run->kept)
		return HW_GOAL_RESOURCES;
	run->schedule->keeper = run;
	memcpy(run->kept, part, bytes);
	run->kept_bytes = bytes;
	run->kept_done = 0;
	run->kept_at = *cursor;
	goal_cursor_seek(run->schedule, &run->kept_at, offset);
	return GOAL_NOT_NOW;
}

void goal_local_forget(struct fw_nic *nic, struct goal_run *run)
{
	if (run->op_copies)
		goal_heap_free(nic, run->client, run->op_copies);
	run->op_copies = NULL;
	run->op_copied = 0;
	if (run->kept)
		goal_heap_free(nic, run->client, run->kept);
	run->kept = NULL;
	if (run->schedule->keeper == run)
		run->schedule->keeper = NULL;
}

enum hw_goal_status goal_local_write_kept(struct fw_nic *nic, struct goal_run *run)
{
	if (!run->kept)
		return run->schedule->keeper && run->schedule->keeper != run ? GOAL_NOT_NOW
									     : HW_GOAL_OK;
	if (!goal_local_write_some(nic, run, &run->kept_at, run->kept, run->kept_bytes,
				   &run->kept_done))
		return goal_slow_status(nic);
	if (run->kept_done == run->kept_bytes)
		goal_local_forget(nic, run);
	return HW_GOAL_OK;
}

/*
 * Computes one stretch that is contiguous in all buffers. Returns its bytes; 0: none. *status: also
 * of a stretch whose result is kept.
 */
static uint64_t stretch(struct fw_nic *nic, struct goal_run *run, const struct goal_insn *op,
			struct side side[3], uint64_t max, enum hw_goal_status *status)
{
	uint32_t elem_bytes = op->width / 8u;
	bool binary = op->sub != GOAL_LOCAL_COPY;
	uint64_t n = max, at;

	if (!refill(nic, run, &side[0], max) || !refill(nic, run, &side[2], max) ||
	    (binary && !refill(nic, run, &side[1], max))) {
		*status = goal_slow_status(nic);
		return 0;
	}
	n = side[0].left < n ? side[0].left : n;
	n = side[2].left < n ? side[2].left : n;
	if (binary && side[1].left < n)
		n = side[1].left;
	*status = HW_GOAL_DIVIDE;
	if (!goal_local_run(op->sub, op->type, op->width, side[2].ptr, side[0].ptr,
			    binary ? side[1].ptr : NULL, n / elem_bytes))
		return 0;
	*status = HW_GOAL_OK;
	at = side[2].at;
	if (is_bounced(&side[2]) && !mem_write(nic, &side[2].mem, at, side[2].ptr, (uint32_t)n)) {
		*status = goal_slow_status(nic);
		if (*status == GOAL_NOT_NOW)
			*status = goal_local_keep(nic, run, side[2].cursor,
						  side[2].cursor->offset - side[2].left,
						  side[2].ptr, (uint32_t)n);
		if (*status != GOAL_NOT_NOW)
			return 0;
	}
	goal_local_advance(&side[0], n);
	goal_local_advance(&side[2], n);
	if (binary)
		goal_local_advance(&side[1], n);
	return n;
}

bool goal_local_step(struct fw_nic *nic, struct goal_run *run, uint32_t index, uint32_t *cost)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	enum hw_goal_status status = goal_local_write_kept(nic, run);
	uint64_t total, budget = GOAL_LOCAL_QUANTUM_BYTES;
	struct side side[3];
	uint32_t i;

	if (op->sub == GOAL_LOCAL_WTIME) {
		status = time_stamp(nic, run, op);
		total = 0;
	} else {
		total = op->amount * (op->width / 8u);
	}
	for (i = 0; i < 3; i++) {
		if (!run->local_done)
			goal_cursor_init(&run->local_cursor[i], op->buf[i]);
		side[i] = (struct side){
		    .cursor = &run->local_cursor[i],
		    .bounce = nic->scratch + (size_t)i * BOUNCE_BYTES,
		    .need = i == 2 ? HW_ACCESS_LOCAL_WRITE : 0,
		};
	}
	while (status == HW_GOAL_OK && !run->kept && run->local_done < total && budget &&
	       !fw_dear_waits(nic, run->unmapped)) {
		uint64_t left = total - run->local_done;
		uint64_t n = stretch(nic, run, op, side, left < budget ? left : budget, &status);
		uint64_t used = n < GOAL_STRETCH_LEAST_BYTES ? GOAL_STRETCH_LEAST_BYTES : n;

		run->local_done += n;
		budget -= used < budget ? used : budget;
	}
	*cost = 1 + (uint32_t)((GOAL_LOCAL_QUANTUM_BYTES - budget) / BYTES_PER_COST);
	/* The next step resumes at the cursor, so the unused rest of a stretch is given back. */
	for (i = 0; i < 3; i++)
		run->local_cursor[i].offset -= side[i].left;
	if (status == GOAL_NOT_NOW) {
		goal_slow_run(nic, run);
		return false;
	}
	if (status != HW_GOAL_OK) {
		goal_run_fault(nic, run, status, run->comm->rank, index);
	} else if (run->local_done < total || run->kept) {
		return false;
	} else {
		goal_step_finish_op(nic, run, index);
	}
	run->local_done = 0;
	return true;
}
