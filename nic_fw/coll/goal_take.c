/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the pool: into the buffers of receives that start later, and a rank's own into the
 * pool, in slices.
 *
 * Short ones are copied at once. A longer one, one for a buffer in pieces or for memory that is not
 * mapped is local work of the run (goal_step.c): a buffer may have 65,535 pieces of a byte.
 * Meanwhile the rest of a message that receives come for arrives in the pool as before. Calls
 * goal_buf.c and goal_msg_rx_finish().
 */
#include "nic_fw/fw_nic.h"

enum {
	STEP_STRETCHES = GOAL_LOCAL_QUANTUM_BYTES / GOAL_STRETCH_LEAST_BYTES,
	/* At once, of a buffer in pieces. */
	PIECES_BYTES = 128,
};

/* The place of the message's data from offset on. False: the pool's memory is gone. */
static bool pool_mem(struct fw_nic *nic, struct goal_unexp *unexp, uint64_t offset, uint64_t bytes,
		     struct fw_mem *mem)
{
	if (unexp->region != FW_NONE)
		return goal_unexp_mem(nic, unexp, offset, bytes, mem);
	*mem = (struct fw_mem){.ptr = unexp->small + offset};
	return true;
}

/* True if the copy takes dear work: the buffers, or the pool, are not mapped. */
static bool goal_take_is_dear(struct fw_nic *nic, const struct goal_run *run,
			      struct goal_unexp *unexp)
{
	struct fw_mem mem;

	return run->unmapped ||
	       (unexp->region != FW_NONE && goal_unexp_mem(nic, unexp, 0, 1, &mem) && !mem.ptr);
}

bool goal_take_is_short(struct fw_nic *nic, const struct goal_run *run, uint32_t op,
			struct goal_unexp *unexp, uint64_t bytes)
{
	bool dear = goal_take_is_dear(nic, run, unexp);

	if (GOAL_REF_SLOT(run->schedule->ops[op].buf[0]) == GOAL_SLOT_PIECES)
		return !bytes || (bytes <= PIECES_BYTES && !dear);
	return bytes <= (dear ? FW_DEAR_COPY_BYTES : GOAL_LOCAL_QUANTUM_BYTES);
}

bool goal_take_put(struct fw_nic *nic, const struct goal_run *run, uint32_t op,
		   const struct fw_mem *mem, const void *src, uint32_t bytes)
{
	/* Nothing in the schedule waits for it: the process reads the buffer next. */
	if (op != FW_NONE && !run->schedule->ops[op].num_edges)
		return mem_place(nic, mem, 0, src, bytes);
	return mem_write(nic, mem, 0, src, bytes);
}

/*
 * Copies between two places, of which one at least is mapped, or through the scratch memory. recv:
 * the receive whose buffer is written; FW_NONE: none is.
 */
static bool goal_take_copy(struct fw_nic *nic, const struct goal_run *run, uint32_t recv,
			   const struct fw_mem *to, const struct fw_mem *from, uint32_t bytes)
{
	if (from->ptr)
		return goal_take_put(nic, run, recv, to, from->ptr, bytes);
	return mem_read(nic, from, 0, nic->scratch, bytes) &&
	       mem_write(nic, to, 0, nic->scratch, bytes);
}

/*
 * Copies between the message, from *at on, and a buffer of the run, up to the end or as much as a
 * step may: into that of a receive, or (FW_NONE) from the buffer to the message. False: memory is
 * not there, or not now.
 */
static bool goal_take_some(struct fw_nic *nic, struct goal_run *run, struct goal_unexp *unexp,
			   struct goal_cursor *cursor, uint32_t recv, uint64_t end, uint64_t *at)
{
	bool into = recv == FW_NONE;
	uint64_t start = *at, last = start + GOAL_LOCAL_QUANTUM_BYTES;
	bool dear = goal_take_is_dear(nic, run, unexp);
	uint64_t most = dear ? FW_DEAR_COPY_BYTES : GOAL_LOCAL_QUANTUM_BYTES;
	uint32_t n;

	last = last < end ? last : end;
	for (n = 0; *at < last && n < STEP_STRETCHES && !(dear && n && fw_dear_spent(nic)); n++) {
		uint64_t offset = cursor->offset, left = last - *at;
		struct goal_span span;
		struct fw_mem mem;
		bool ok;

		ok = goal_cursor_next(nic, run, cursor, left < most ? left : most,
				      into ? 0 : HW_ACCESS_LOCAL_WRITE, &span) &&
		     pool_mem(nic, unexp, *at, span.bytes, &mem) &&
		     goal_take_copy(nic, run, recv, into ? &mem : &span.mem,
				    into ? &span.mem : &mem, (uint32_t)span.bytes);
		if (!ok) {
			goal_cursor_seek(run->schedule, cursor, offset);
			return false;
		}
		*at += span.bytes;
	}
	fw_dear_add(nic, n / FW_DEAR_STRETCHES + (uint32_t)((*at - start) / FW_DEAR_MAPPED_BYTES));
	return true;
}

/* After a copy that failed. True: the run has a fault. */
static bool failed(struct fw_nic *nic, struct goal_run *run, uint32_t op)
{
	if (nic->host.mem_busy) {
		goal_slow_run(nic, run);
		return false;
	}
	goal_run_fault(nic, run, HW_GOAL_MEMORY, run->comm->rank, op);
	return true;
}

/* ---- out of the pool */

bool goal_take_at_once(struct fw_nic *nic, struct goal_recv *recv, struct goal_unexp *unexp)
{
	/* The first stretch has all of it, or none is dear. */
	return goal_take_some(nic, recv->run, unexp, &recv->cursor, recv->op, unexp->received,
			      &recv->received);
}

void goal_take_begin(struct fw_nic *nic, struct goal_recv *recv, struct goal_unexp *unexp)
{
	struct goal_run *run = recv->run;

	goal_unexp_take(nic, unexp, recv);
	fw_list_add_tail(&run->copies, &recv->copy_node);
	goal_step_add_local(nic, run, recv->op);
}

bool goal_take_step(struct fw_nic *nic, struct goal_run *run, struct goal_recv *recv)
{
	struct goal_unexp *unexp = recv->source;

	if (!goal_take_some(nic, run, unexp, &recv->cursor, recv->op, unexp->received,
			    &recv->received))
		return failed(nic, run, recv->op);
	if (recv->received < unexp->received)
		return false;
	recv->source = NULL;
	goal_unexp_free(nic, unexp);
	fw_list_del(&recv->copy_node);
	/* The rest goes straight to its place. */
	if (recv->received == recv->bytes)
		goal_msg_rx_finish(nic, recv);
	return true;
}

/* ---- into the pool */

enum hw_goal_status goal_keep_at_once(struct fw_nic *nic, struct goal_run *run, uint32_t index,
				      struct goal_unexp *unexp)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_cursor cursor;
	enum hw_goal_status status;

	goal_cursor_init(&cursor, op->buf[0]);
	if (!goal_take_some(nic, run, unexp, &cursor, FW_NONE, op->amount, &unexp->received)) {
		status = goal_slow_status(nic);
		goal_unexp_free(nic, unexp);
		return status;
	}
	goal_step_finish_op(nic, run, index);
	return HW_GOAL_OK;
}

void goal_keep_begin(struct fw_nic *nic, struct goal_send *send, struct goal_unexp *unexp)
{
	struct goal_run *run = send->run;

	unexp->keeping = true;
	send->unexp = unexp;
	goal_cursor_init(&send->cursor, run->schedule->ops[send->op].buf[0]);
	fw_list_add_tail(&run->keeps, &send->stage_node);
	goal_step_add_local(nic, run, send->op);
}

bool goal_keep_step(struct fw_nic *nic, struct goal_run *run, uint32_t op)
{
	/* Copies end in the order in which they were queued. */
	struct goal_send *send = FW_CONTAINER(run->keeps.next, struct goal_send, stage_node);
	struct goal_unexp *unexp = send->unexp;

	assert(!fw_list_empty(&run->keeps) && send->op == op);
	if (!goal_take_some(nic, run, unexp, &send->cursor, FW_NONE, send->bytes, &unexp->received))
		return failed(nic, run, op);
	if (unexp->received < send->bytes)
		return false;
	unexp->keeping = false;
	goal_send_free(nic, send);
	goal_step_finish_op(nic, run, op);
	return true;
}
