/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A local operation by a user's program: blocks of elements, a bounded part in each step.
 *
 * Whole blocks that are contiguous and mapped in all three buffers are handled in place. Others,
 * and the last one, go through copies in the instance's scratch buffer; elements beyond the wanted
 * ones are zero there, and are not copied back. Calls goal_op_exec.c, or the port's compiled form
 * of the program.
 */
#include "nic_fw/fw_nic.h"

#include "nic_fw/coll/goal_user.h"

enum {
	COST_COPY = 64,  /* of a block, for its copies */
	COST_PIECE = 16, /* of a list that a copy walks */
	STEP_OPS = 16,   /* operations that a whole step counts as */
	COPIES_BYTES = 3 * GOAL_OP_MAX_BLOCK_BYTES,
};
static_assert(4 * GOAL_OP_MAX_BLOCK_BYTES <= FW_SCRATCH_BYTES, "copies of a block");

/* One local operation in this step. */
struct work {
	struct fw_nic *nic;
	struct goal_run *run;
	const struct goal_op *op;
	uint64_t total; /* bytes of each buffer */
	uint32_t block_bytes;
	uint32_t spent; /* cost */
	bool more;      /* the block goes on in a later turn */
	struct goal_op_call call;
};

static uint8_t *copy_of(const struct work *w, uint32_t buf)
{
	uint8_t *copies = buf < 3 && w->run->op_copies ? w->run->op_copies : w->nic->scratch;

	return copies + (size_t)buf * GOAL_OP_MAX_BLOCK_BYTES;
}

static enum hw_goal_status call_program(struct work *w)
{
	uint64_t result;

	if (w->op->uses_work)
		memset(w->call.buf[GOAL_OP_BUF_WORK], 0, w->block_bytes);
	result =
	    w->op->native ? w->op->native(&w->call.view) : goal_op_exec(w->op->insns, &w->call);
	w->spent += w->op->cost;
	if (result == GOAL_OP_OK)
		return HW_GOAL_OK;
	return result == GOAL_OP_ZERO_DIVISION ? HW_GOAL_DIVIDE : HW_GOAL_USER_OP;
}

/* Finds the next stretch that is contiguous in all buffers. Returns its whole blocks that may be
 * handled in place; *ok false: memory is gone. */
static uint64_t blocks_in_place(struct work *w, bool *ok)
{
	struct goal_run *run = w->run;
	uint64_t bytes = w->total - run->local_done;
	struct goal_span span;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		goal_cursor_seek(run->schedule, &run->local_cursor[i], run->local_done);
		*ok = goal_cursor_next(w->nic, run, &run->local_cursor[i], bytes,
				       i == 2 ? HW_ACCESS_LOCAL_WRITE : 0, &span);
		if (!*ok || !span.mem.ptr)
			return 0;
		if (span.bytes < bytes)
			bytes = span.bytes;
		w->call.buf[i] = span.mem.ptr;
	}
	return bytes / w->block_bytes;
}

static enum hw_goal_status run_in_place(struct work *w, uint64_t blocks, uint32_t budget)
{
	enum hw_goal_status status = HW_GOAL_OK;
	uint32_t i;

	w->call.view.count = w->op->prog.block;
	for (; blocks && status == HW_GOAL_OK && w->spent < budget; blocks--) {
		status = call_program(w);
		w->run->local_done += w->block_bytes;
		for (i = 0; i < 3; i++)
			w->call.buf[i] += w->block_bytes;
	}
	return status;
}

/*
 * The copies that were begun stay for a later turn. Until the block's result is written no other
 * run of the schedule reads or writes: it may have its result where this one has its operands.
 */
static enum hw_goal_status put_off(struct work *w, uint32_t copied)
{
	struct goal_run *run = w->run;

	if (!run->op_copies) {
		uint8_t *copies = goal_heap_alloc(w->nic, run->client, COPIES_BYTES);

		if (!copies)
			return HW_GOAL_RESOURCES;
		memcpy(copies, w->nic->scratch, COPIES_BYTES);
		run->op_copies = copies;
	}
	run->op_copied = copied;
	run->schedule->keeper = run;
	w->more = true;
	return HW_GOAL_OK;
}

/*
 * Copies the wanted elements of the buffers in, bytes of each; the rest of the block becomes zero.
 * A buffer may be in pieces of a byte: as many as the turn has room for.
 */
static enum hw_goal_status copy_in(struct work *w, uint32_t bytes)
{
	uint32_t copied = w->run->op_copied, n, i;

	for (n = 1; copied < 3 * bytes; n++) {
		uint32_t buf = copied / bytes, at = copied % bytes;
		struct goal_cursor *cursor = &w->run->local_cursor[buf];
		struct goal_span span;

		if (n > 1 && fw_dear_spent(w->nic))
			return put_off(w, copied);
		goal_cursor_seek(w->run->schedule, cursor, w->run->local_done + at);
		if (!goal_cursor_next(w->nic, w->run, cursor, bytes - at, 0, &span) ||
		    !mem_read(w->nic, &span.mem, 0, copy_of(w, buf) + at, (uint32_t)span.bytes)) {
			w->run->op_copied = w->run->schedule->keeper == w->run ? copied : 0;
			return goal_slow_status(w->nic);
		}
		copied += (uint32_t)span.bytes;
		w->spent += at ? COST_PIECE : 0;
		if (n % FW_DEAR_STRETCHES == 0)
			fw_dear_add(w->nic, 1);
	}
	w->run->op_copied = 0;
	for (i = 0; i < 3; i++) {
		memset(copy_of(w, i) + bytes, 0, w->block_bytes - bytes);
		w->call.buf[i] = copy_of(w, i);
	}
	return HW_GOAL_OK;
}

/* Writes the result; the part that cannot be written now is kept. */
static enum hw_goal_status copy_out(struct work *w, uint32_t bytes)
{
	struct goal_cursor *to = &w->run->local_cursor[2];
	enum hw_goal_status status = HW_GOAL_OK;
	uint32_t done = 0;

	goal_cursor_seek(w->run->schedule, to, w->run->local_done);
	if (!goal_local_write_some(w->nic, w->run, to, copy_of(w, 2), bytes, &done))
		status = goal_slow_status(w->nic);
	if (status != HW_GOAL_OK && status != GOAL_NOT_NOW)
		return status;
	if (done < bytes) {
		enum hw_goal_status kept =
		    goal_local_keep(w->nic, w->run, to, w->run->local_done + done,
				    copy_of(w, 2) + done, bytes - done);

		if (kept != GOAL_NOT_NOW)
			return kept;
		w->more = true;
	} else if (w->run->schedule->keeper == w->run) {
		w->run->schedule->keeper = NULL;
	}
	w->run->local_done += bytes;
	return status;
}

static enum hw_goal_status run_on_copies(struct work *w)
{
	uint64_t left = w->total - w->run->local_done;
	uint32_t bytes = left < w->block_bytes ? (uint32_t)left : w->block_bytes;
	enum hw_goal_status status = copy_in(w, bytes);

	if (status != HW_GOAL_OK || w->more)
		return status;
	w->call.view.count = bytes / w->op->prog.elem_bytes;
	w->spent += COST_COPY;
	status = call_program(w);
	return status == HW_GOAL_OK ? copy_out(w, bytes) : status;
}

static enum hw_goal_status run_part(struct work *w, uint32_t budget)
{
	enum hw_goal_status status = goal_local_write_kept(w->nic, w->run);

	w->more = status == HW_GOAL_OK && w->run->kept;
	while (status == HW_GOAL_OK && !w->more && w->run->local_done < w->total &&
	       w->spent < budget) {
		bool ok;
		uint64_t blocks = blocks_in_place(w, &ok);

		if (!ok)
			return goal_slow_status(w->nic);
		status = blocks ? run_in_place(w, blocks, budget) : run_on_copies(w);
	}
	return status;
}

bool goal_op_step(struct fw_nic *nic, struct goal_run *run, uint32_t index, uint32_t *cost)
{
	const struct goal_insn *insn = &run->schedule->ops[index];
	const struct goal_op *op = nic->goal.comms[run->schedule->comm].ops[insn->peer];
	uint32_t budget = op->native ? GOAL_OP_NATIVE_COST : GOAL_OP_INTERPRETED_COST;
	struct work w = {
	    .nic = nic,
	    .run = run,
	    .op = op,
	    .total = insn->amount * op->prog.elem_bytes,
	    .block_bytes = op->prog.block * op->prog.elem_bytes,
	    .call.view.elem_bytes = op->prog.elem_bytes,
	    .call.view.block = op->prog.block,
	};
	enum hw_goal_status status;
	uint32_t i;

	w.call.buf[GOAL_OP_BUF_WORK] = copy_of(&w, 3);
	memcpy(w.call.view.args, op->args, sizeof(op->args));
	for (i = 0; i < 3 && !run->local_done; i++)
		goal_cursor_init(&run->local_cursor[i], insn->buf[i]);
	status = run_part(&w, budget);
	*cost = 1 + (uint32_t)((uint64_t)w.spent * STEP_OPS / budget);
	if (status == GOAL_NOT_NOW) {
		goal_slow_run(nic, run);
		return false;
	}
	if (status != HW_GOAL_OK)
		goal_run_fault(nic, run, status, run->comm->rank, index);
	else if (run->local_done < w.total || w.more)
		return false;
	else
		goal_step_finish_op(nic, run, index);
	run->local_done = 0;
	return true;
}
