/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter: advances runs, one bounded step after another.
 *
 * Calls goal_msg.c, goal_msg_rx.c and goal_local.c to start operations; they report an end with
 * goal_step_finish_op(), which only queues it. The next step releases the dependents, so nothing
 * recurses however long a chain is (ESPGOAL 4.2.3). Each operation is in each queue at most once,
 * so the queues are as long as the schedule. ESPGOAL 4.3; docs/collectives.md "The walk of a run".
 */
#include "nic_fw/fw_nic.h"

#include "nic_fw/coll/goal_user.h"

/* Marks an entry of the finished queue of which only the start edges are to be released. */
#define STARTED 0x80000000u

enum {
	RELEASE_QUANTUM = 256, /* edges that count as one operation's work */
};

/* ---- queues of a run ------------------------------------------------------------------------- */

static void push_finished(struct fw_nic *nic, struct goal_run *run, uint32_t entry)
{
	uint32_t slots = 2 * run->schedule->header.num_ops;

	run->finished[run->finished_tail] = entry;
	run->finished_tail = run->finished_tail + 1 == slots ? 0 : run->finished_tail + 1;
	run->num_finished++;
	goal_run_wake(nic, run);
}

static uint32_t ring_pop(const uint32_t *ring, uint32_t slots, uint32_t *head, uint32_t *count)
{
	uint32_t entry = ring[*head];

	*head = *head + 1 == slots ? 0 : *head + 1;
	(*count)--;
	return entry;
}

static void ring_push(uint32_t *ring, uint32_t slots, uint32_t head, uint32_t *count,
		      uint32_t entry)
{
	uint64_t at = (uint64_t)head + *count;

	assert(*count < slots);
	ring[at >= slots ? at - slots : at] = entry;
	(*count)++;
}

void goal_step_add_local(struct fw_nic *nic, struct goal_run *run, uint32_t op)
{
	ring_push(run->locals, run->schedule->header.num_ops, run->local_head, &run->num_locals,
		  op);
	goal_run_wake(nic, run);
}

void goal_step_finish_op(struct fw_nic *nic, struct goal_run *run, uint32_t op)
{
	goal_run_trace(nic, run, HW_GOAL_POINT_OP_FINISH, op);
	push_finished(nic, run, op);
}

/* ---- steps ----------------------------------------------------------------------------------- */

void goal_step_calc_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_calc *calc = FW_CONTAINER(timer, struct goal_calc, timer);
	struct goal_run *run = calc->run;
	uint32_t op = calc->op;

	fw_list_del(&calc->run_node);
	goal_give(nic, run->client, GOAL_TABLE_CALCS, calc);
	goal_step_finish_op(nic, run, op);
}

static enum hw_goal_status start_calc(struct fw_nic *nic, struct goal_run *run, uint32_t index)
{
	const struct goal_insn *op = &run->schedule->ops[index];
	struct goal_calc *calc = goal_take(nic, run->client, GOAL_TABLE_CALCS);
	/* Clock of WTIME, so that a calc does not end before its time. */
	uint64_t from = fw_clock_ns(nic);
	uint64_t end;

	if (!calc)
		return HW_GOAL_RESOURCES;
	if (op->sub < run->schedule->header.num_cpus && run->cpu_free_ns[op->sub] > from)
		from = run->cpu_free_ns[op->sub];
	end = op->amount < UINT64_MAX - from ? from + op->amount : UINT64_MAX;
	if (op->sub < run->schedule->header.num_cpus)
		run->cpu_free_ns[op->sub] = end;
	calc->run = run;
	calc->op = index;
	fw_list_add_tail(&run->calcs, &calc->run_node);
	fw_timer_init(&calc->timer, FW_TIMER_GOAL_CALC);
	fw_timer_set(&nic->timers, &calc->timer, end);
	return HW_GOAL_OK;
}

static enum hw_goal_status start_op(struct fw_nic *nic, struct goal_run *run, uint32_t index)
{
	const struct goal_insn *op = &run->schedule->ops[index];

	if (!run->again) {
		FW_COUNT(nic, goal_ops);
		goal_run_trace(nic, run, HW_GOAL_POINT_OP_START, index);
		if (op->num_start_edges)
			push_finished(nic, run, index | STARTED);
	}
	switch ((enum goal_insn_kind)op->kind) {
	case GOAL_INSN_SEND:
		return goal_msg_send(nic, run, index);
	case GOAL_INSN_RECV:
		return goal_msg_recv(nic, run, index);
	case GOAL_INSN_LOCAL:
		goal_step_add_local(nic, run, index);
		return HW_GOAL_OK;
	case GOAL_INSN_CALC:
		return start_calc(nic, run, index);
	case GOAL_INSN_NOP:
		goal_step_finish_op(nic, run, index);
		return HW_GOAL_OK;
	case GOAL_INSN_MCAST_SEND:
		return goal_group_send(nic, run, index);
	case GOAL_INSN_MCAST_RECV:
		return goal_group_recv(nic, run, index);
	case GOAL_INSN_KINDS:
		break;
	}
	return HW_GOAL_BAD_SCHEDULE;
}

/* Releases edges of the oldest finished operation, as many as fit the step. */
static uint32_t goal_step_release(struct fw_nic *nic, struct goal_run *run)
{
	const struct goal_schedule *s = run->schedule;
	uint32_t entry = run->finished[run->finished_head];
	const struct goal_insn *op = &s->ops[entry & ~STARTED];
	uint32_t first = op->first_edge + (entry & STARTED ? 0 : op->num_start_edges);
	uint32_t count = entry & STARTED ? op->num_start_edges : op->num_edges;
	uint32_t end =
	    count - run->edges_done < RELEASE_QUANTUM ? count : run->edges_done + RELEASE_QUANTUM;

	for (; run->edges_done < end; run->edges_done++) {
		uint32_t target = s->edges[first + run->edges_done].target;

		assert(run->counters[target]);
		if (--run->counters[target])
			continue;
		goal_run_trace(nic, run, HW_GOAL_POINT_OP_READY, target);
		ring_push(run->ready, s->header.num_ops, run->ready_head, &run->num_ready, target);
	}
	if (run->edges_done == count) {
		run->edges_done = 0;
		(void)ring_pop(run->finished, 2 * s->header.num_ops, &run->finished_head,
			       &run->num_finished);
		if (!(entry & STARTED))
			run->remaining--;
	}
	return 1;
}

/* Does a part, or the rest, of the oldest local work. */
static uint32_t local_step(struct fw_nic *nic, struct goal_run *run)
{
	uint32_t slots = run->schedule->header.num_ops;
	uint32_t op = run->locals[run->local_head];
	uint8_t kind = run->schedule->ops[op].kind;
	uint32_t cost = 1;
	bool over;

	if (kind == GOAL_INSN_RECV || kind == GOAL_INSN_MCAST_RECV)
		over = goal_self_step(nic, run, op);
	else if (kind == GOAL_INSN_SEND)
		over = goal_keep_step(nic, run, op);
	else if (run->schedule->ops[op].sub == GOAL_LOCAL_USER)
		over = goal_op_step(nic, run, op, &cost);
	else
		over = goal_local_step(nic, run, op, &cost);
	if (over)
		(void)ring_pop(run->locals, slots, &run->local_head, &run->num_locals);
	return cost;
}

static bool is_staging(const struct goal_run *run)
{
	return !fw_list_empty(&run->staging) || !fw_list_empty(&run->bulk);
}

/* Starts the next ready operation. Returns its status. */
static enum hw_goal_status start_next(struct fw_nic *nic, struct goal_run *run, uint32_t *op)
{
	uint32_t slots = run->schedule->header.num_ops;
	enum hw_goal_status status;

	*op = ring_pop(run->ready, slots, &run->ready_head, &run->num_ready);
	status = start_op(nic, run, *op);
	run->again = status == GOAL_NOT_NOW;
	if (status != GOAL_NOT_NOW)
		return status;
	/* It stays the first: receives with wildcards match in the order of their start. */
	run->ready_head = (run->ready_head ? run->ready_head : slots) - 1;
	run->num_ready++;
	goal_slow_run(nic, run);
	return HW_GOAL_OK;
}

/* Does a part of the copies and of the local work: both have their turn. */
static uint32_t work_step(struct fw_nic *nic, struct goal_run *run)
{
	/* Peers wait for staging, this process for local work. */
	uint32_t done = goal_stage_step(nic, run);

	if (run->num_locals && !run->slow)
		done += local_step(nic, run);
	return done;
}

/* True if it has work that does not wait for memory. */
static bool has_work(const struct goal_run *run)
{
	return run->num_finished || run->fault != HW_GOAL_OK ||
	       (!run->slow && (run->num_ready || run->num_locals || is_staging(run)));
}

/*
 * Does up to budget units of work for a run. Returns the number done. *over: the run cannot proceed
 * now, or it is gone.
 */
static uint32_t goal_step_run(struct fw_nic *nic, struct goal_run *run, uint32_t budget, bool *over)
{
	uint32_t done = 0;

	goal_stall_moved(run->comm);
	*over = true;
	while (done < budget) {
		if (run->fault != HW_GOAL_OK) {
			goal_run_fail(nic, run, run->fault, run->fault_rank, run->fault_op);
			return done + 1;
		}
		if (run->num_finished) {
			done += goal_step_release(nic, run);
			if (!run->remaining) {
				goal_run_complete(nic, run);
				return done;
			}
		} else if (!has_work(run)) {
			return done;
		} else if (run->num_ready) {
			uint32_t op;
			enum hw_goal_status status = start_next(nic, run, &op);

			done++;
			if (status != HW_GOAL_OK) {
				uint32_t rank = status == HW_GOAL_PEER_LOST
						    ? run->schedule->ops[op].peer
						    : run->comm->rank;

				goal_run_fail(nic, run, status, rank, op);
				return done;
			}
		} else {
			done += work_step(nic, run);
		}
		done += fw_dear_take(nic);
	}
	*over = !has_work(run);
	return done;
}

uint32_t goal_step_poll(struct fw_nic *nic, uint32_t budget)
{
	uint32_t done;

	(void)fw_dear_take(nic);
	done = goal_load_poll(nic) + fw_dear_take(nic);

	while (done < budget && !fw_list_empty(&nic->goal.clients)) {
		struct fw_client *owner =
		    FW_CONTAINER(nic->goal.clients.next, struct fw_client, goal_node);
		struct goal_run *run;
		bool over;

		fw_list_del(&owner->goal_node);
		if (fw_list_empty(&owner->goal_ready))
			continue;
		run = FW_CONTAINER(owner->goal_ready.next, struct goal_run, client_node);
		fw_list_del(&run->client_node);
		done += goal_step_run(nic, run, GOAL_CLIENT_QUANTUM, &over);
		/*
		 * The run goes to the end of the client's queue, and the client to the end of the
		 * NIC's.
		 */
		if (!over && !fw_list_linked(&run->client_node))
			fw_list_add_tail(&owner->goal_ready, &run->client_node);
		if (!fw_list_empty(&owner->goal_ready) && !fw_list_linked(&owner->goal_node))
			fw_list_add_tail(&nic->goal.clients, &owner->goal_node);
	}
	return done;
}

bool goal_step_pending(const struct fw_nic *nic)
{
	return !fw_list_empty(&nic->goal.clients) || nic->goal.loads_active;
}
