/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a rank to itself: a copy, with the order and the limits of any other message.
 *
 * goal_step.c's queue of local work continues the copy of a large message. Up to the eager limit a
 * send does not wait for its receive: its bytes are copied into the pool (goal_take.c). A longer
 * send, or one that finds the pool full, waits for its receive. Calls goal_match.c and goal_buf.c.
 */
#include "nic_fw/fw_nic.h"

enum {
	/* A message in pieces of one byte each then fills a step's stretches. */
	SMALL_BYTES = GOAL_LOCAL_QUANTUM_BYTES / GOAL_STRETCH_LEAST_BYTES,
};

/*
 * Copies bytes from one buffer of a run to another; false: memory not there, or not now. *copied:
 * bytes copied, all or as many as a step may; the cursors stand behind them.
 */
static bool copy(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *to,
		 struct goal_cursor *from, uint64_t bytes, uint64_t *copied)
{
	uint32_t stretches = GOAL_LOCAL_QUANTUM_BYTES / GOAL_STRETCH_LEAST_BYTES, n;
	uint64_t most = run->unmapped ? FW_DEAR_COPY_BYTES : FW_SCRATCH_BYTES;
	struct goal_span span;

	*copied = 0;
	for (n = 0; bytes && n < stretches; bytes -= span.bytes, *copied += span.bytes, n++) {
		uint64_t max = bytes < most ? bytes : most;
		uint64_t start = from->offset;
		bool ok;

		/* Memory is dear where it is not mapped only, and then no copy must end at once. */
		if (run->unmapped && fw_dear_waits(nic, true))
			break;
		if (!goal_cursor_next(nic, run, from, max, 0, &span))
			return false;
		ok =
		    span.mem.ptr || mem_read(nic, &span.mem, 0, nic->scratch, (uint32_t)span.bytes);
		if (!ok || !goal_buf_write(nic, run, to, span.mem.ptr ? span.mem.ptr : nic->scratch,
					   span.bytes)) {
			goal_cursor_seek(run->schedule, from, start);
			return false;
		}
	}
	fw_dear_add(nic, n / FW_DEAR_STRETCHES + (uint32_t)(*copied / FW_DEAR_MAPPED_BYTES));
	return true;
}

static enum hw_goal_status goal_self_deliver(struct fw_nic *nic, struct goal_run *run,
					     uint32_t index, struct goal_recv *recv)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_cursor from, to = recv->cursor;
	uint32_t recv_op = recv->op;
	uint64_t copied;

	goal_cursor_init(&from, op->buf[0]);
	/* The receive is this message's, also when the send is started again. */
	if (!copy(nic, run, &to, &from, op->amount, &copied))
		return goal_slow_status(nic);
	assert(copied == op->amount);
	goal_recv_free(nic, recv);
	goal_step_finish_op(nic, run, recv_op);
	goal_step_finish_op(nic, run, index);
	return HW_GOAL_OK;
}

/* Returns the bytes of a message between two buffers that a step may copy. */
static uint64_t at_once_bytes(const struct goal_run *run, const struct goal_insn *from,
			      const struct goal_insn *to)
{
	if (run->unmapped)
		return 0;
	return GOAL_REF_SLOT(from->buf[0]) == GOAL_SLOT_PIECES ||
		       GOAL_REF_SLOT(to->buf[0]) == GOAL_SLOT_PIECES
		   ? SMALL_BYTES
		   : GOAL_LOCAL_QUANTUM_BYTES;
}

/* ---- messages that wait for their receive */

/* The chain of messages of a run with this tag; without wildcards the count names one message. */
static struct fw_multi **self_chain(struct fw_nic *nic, const struct goal_run *run, uint32_t tag,
				    uint32_t count)
{
	uint32_t hash = fw_hash_keyed5(&nic->hash_key, (uint32_t)(run->comm - nic->goal.comms),
				       run->instance, tag, run->schedule->wildcards ? 0 : count, 0);

	return &nic->goal.self_hash[hash % GOAL_HASH_SIZE];
}

/* Finds the oldest message of this tag, and of this count where there are no wildcards; NULL. */
static struct goal_send *self_find(struct fw_nic *nic, const struct goal_run *run, uint32_t tag,
				   uint32_t count)
{
	struct fw_multi *at;

	fw_multi_for_each(at, *self_chain(nic, run, tag, count))
	{
		struct goal_send *send = FW_CONTAINER(at, struct goal_send, self_at);

		if (send->run == run && send->key.tag == tag &&
		    (run->schedule->wildcards || send->key.count == count))
			return send;
	}
	return NULL;
}

static void self_await(struct fw_nic *nic, struct goal_send *send)
{
	struct goal_run *run = send->run;
	struct goal_send *first = self_find(nic, run, send->key.tag, send->key.count);

	fw_list_add_tail(&run->self_sends, &send->self_node);
	fw_multi_add(self_chain(nic, run, send->key.tag, send->key.count),
		     first ? &first->self_at : NULL, &send->self_at);
}

void goal_self_taken(struct goal_send *send)
{
	if (!fw_list_linked(&send->self_node))
		return;
	fw_list_del(&send->self_node);
	fw_multi_del(&send->self_at);
}

static void join(struct fw_nic *nic, struct goal_recv *recv, struct goal_send *send)
{
	goal_recv_matched(nic, recv, NULL, send->bytes);
	recv->self = send;
	fw_list_add_tail(&recv->run->copies, &recv->copy_node);
	goal_step_add_local(nic, recv->run, recv->op);
}

enum hw_goal_status goal_msg_self(struct fw_nic *nic, struct goal_run *run, uint32_t index,
				  const struct goal_key4 *key)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_recv *recv = goal_match_arrival(nic, run->comm, key);
	struct goal_unexp *unexp = NULL;
	struct goal_send *send;

	if (recv && op->amount > run->schedule->ops[recv->op].amount)
		return goal_run_truncated(run, recv->op, op->amount);
	if (op->amount <= run->comm->eager_bytes && !recv) {
		unexp = goal_unexp_new(nic, run->comm, key, op->amount, false);
		if (unexp && goal_take_is_short(nic, run, index, unexp, op->amount))
			return goal_keep_at_once(nic, run, index, unexp);
		/* It waits in its buffer, as a large message does. */
		if (!unexp)
			goal_stall_self(nic, run->comm);
	}
	if (recv && op->amount <= at_once_bytes(run, op, &run->schedule->ops[recv->op]))
		return goal_self_deliver(nic, run, index, recv);
	send = goal_send_new(nic, run->client, NULL, GOAL_SEND_SELF, WIRE_GOAL_DATA, key);
	if (!send) {
		if (unexp)
			goal_unexp_free(nic, unexp);
		return HW_GOAL_RESOURCES;
	}
	send->bytes = op->amount;
	goal_cursor_init(&send->cursor, op->buf[0]);
	goal_send_tie(run, index, send);
	if (recv)
		join(nic, recv, send);
	else if (unexp)
		goal_keep_begin(nic, send, unexp);
	else
		self_await(nic, send);
	return HW_GOAL_OK;
}

bool goal_self_keep(struct fw_nic *nic, struct goal_send *send)
{
	struct goal_run *run = send->run;
	uint32_t index = send->op;
	struct goal_unexp *unexp = goal_unexp_new(nic, run->comm, &send->key, send->bytes, false);
	enum hw_goal_status status;

	if (!unexp)
		return false;
	if (!goal_take_is_short(nic, run, index, unexp, send->bytes)) {
		goal_self_taken(send);
		goal_keep_begin(nic, send, unexp);
		return true;
	}
	status = goal_keep_at_once(nic, run, index, unexp);
	if (status == GOAL_NOT_NOW)
		return false;
	goal_send_free(nic, send);
	if (status != HW_GOAL_OK)
		goal_run_fault(nic, run, status, run->comm->rank, index);
	return true;
}

bool goal_self_recv(struct fw_nic *nic, struct goal_recv *recv)
{
	const struct goal_insn *op = &recv->run->schedule->ops[recv->op];
	struct goal_run *run = recv->run;
	struct goal_send *send;

	if (fw_list_empty(&run->self_sends) ||
	    (op->peer != run->comm->rank && op->peer != GOAL_RANK_ANY))
		return false;
	if (op->tag == GOAL_TAG_ANY)
		send = FW_CONTAINER(run->self_sends.next, struct goal_send, self_node);
	else
		send = self_find(nic, run, op->tag, op->count);
	if (!send)
		return false;
	goal_self_taken(send);
	send->awaited = true;
	if (send->bytes > op->amount)
		goal_run_fault(nic, run, goal_run_truncated(run, recv->op, send->bytes),
			       run->comm->rank, recv->op);
	else
		join(nic, recv, send);
	return true;
}

bool goal_self_step(struct fw_nic *nic, struct goal_run *run, uint32_t index)
{
	/* Copies end in the order in which they were queued. */
	struct goal_recv *recv = FW_CONTAINER(run->copies.next, struct goal_recv, copy_node);
	struct goal_send *send = recv->self;
	uint64_t left, bytes;
	bool ok;

	assert(!fw_list_empty(&run->copies) && recv->op == index && (send || recv->source));
	if (recv->source)
		return goal_take_step(nic, run, recv);
	left = recv->bytes - recv->received;
	bytes = left < GOAL_LOCAL_QUANTUM_BYTES ? left : GOAL_LOCAL_QUANTUM_BYTES;
	ok = copy(nic, run, &recv->cursor, &send->cursor, bytes, &bytes);
	recv->received += bytes;
	if (!ok && nic->host.mem_busy) {
		goal_slow_run(nic, run);
		return false;
	}
	if (!ok) {
		goal_run_fault(nic, run, HW_GOAL_MEMORY, run->comm->rank, index);
		return true;
	}
	if (recv->received < recv->bytes)
		return false;
	goal_step_finish_op(nic, run, send->op);
	goal_send_free(nic, send);
	goal_recv_free(nic, recv);
	goal_step_finish_op(nic, run, index);
	return true;
}
