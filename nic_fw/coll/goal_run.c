/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of schedules: the doorbell that begins one, its memory, its place by instance, its end.
 *
 * Calls goal_step.c, which carries it out, and goal_ending.c, which reports its end. ESPGOAL 4.3;
 * docs/collectives.md "The walk of a run".
 */
#include "nic_fw/fw_nic.h"

#include "nic_fw/coll/goal_user.h"

/* ---- lists of runs that can proceed --------------------------------------------------------- */

void goal_run_wake(struct fw_nic *nic, struct goal_run *run)
{
	struct fw_client *owner = &nic->host.clients[run->client];

	goal_stall_moved(run->comm);
	if (owner->closing || run->ending)
		return;
	if (!fw_list_linked(&run->client_node))
		fw_list_add_tail(&owner->goal_ready, &run->client_node);
	if (!fw_list_linked(&owner->goal_node))
		fw_list_add_tail(&nic->goal.clients, &owner->goal_node);
}

void goal_run_fault(struct fw_nic *nic, struct goal_run *run, enum hw_goal_status status,
		    uint32_t rank, uint32_t op)
{
	if (run->fault != HW_GOAL_OK || run->over)
		return;
	run->fault = status;
	run->fault_rank = rank;
	run->fault_op = op;
	goal_run_wake(nic, run);
}

/* ---- by instance ----------------------------------------------------------------------------- */

static uint32_t *run_chain(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance)
{
	uint32_t hash =
	    fw_hash_keyed(&nic->hash_key, instance, (uint32_t)(comm - nic->goal.comms), 0);

	return &nic->goal.run_hash[hash % GOAL_MAX_RUNS];
}

struct goal_run *goal_run_find(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance)
{
	struct goal_run *run;

	fw_chain_for_each (run, *run_chain(nic, comm, instance), fw_pool_table(&nic->goal.runs),
			   hash_next)
		if (run->comm == comm && run->instance == instance)
			return run;
	return NULL;
}

bool goal_run_is_current(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance)
{
	return (int32_t)(instance - comm->next_instance) >= 0 || goal_run_find(nic, comm, instance);
}

static void run_hash(struct fw_nic *nic, struct goal_run *run)
{
	uint32_t *head = run_chain(nic, run->comm, run->instance);

	fw_chain_add(head, &run->hash_next, fw_pool_index(&nic->goal.runs, run));
	fw_list_add_tail(&run->comm->runs, &run->comm_node);
}

/* Removes the run from the table, so that no message finds it by instance. */
static void run_unhash(struct fw_nic *nic, struct goal_run *run)
{
	if (!fw_list_linked(&run->comm_node))
		return;
	fw_chain_del(run_chain(nic, run->comm, run->instance), run, fw_pool_table(&nic->goal.runs),
		     hash_next);
	goal_lost_forget_run(run->comm, run);
	fw_list_del(&run->comm_node);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void drop_calc(struct fw_nic *nic, struct goal_run *run)
{
	struct goal_calc *calc =
	    FW_CONTAINER(fw_list_take(&run->calcs), struct goal_calc, run_node);

	fw_timer_cancel(&nic->timers, &calc->timer);
	goal_give(nic, run->client, GOAL_TABLE_CALCS, calc);
}

bool goal_run_trim(struct fw_nic *nic, struct goal_run *run)
{
	goal_trace_end(run);
	goal_stall_moved(run->comm);
	while (!fw_list_empty(&run->calcs)) {
		if (!slice_take(nic, 1))
			return false;
		drop_calc(nic, run);
	}
	return goal_msg_trim_run(nic, run);
}

void goal_run_drop(struct fw_nic *nic, struct goal_run *run)
{
	struct goal_schedule *schedule = run->schedule;
	struct goal_comm *comm = run->comm;

	fw_timer_cancel(&nic->timers, &run->timeout);
	fw_timer_cancel(&nic->timers, &run->slow_timer);
	goal_trace_give_up(nic, run);
	goal_local_forget(nic, run);
	goal_stall_moved(comm);
	goal_trace_end(run);
	goal_msg_drop_run(nic, run);
	while (!fw_list_empty(&run->calcs))
		drop_calc(nic, run);
	fw_list_del(&run->client_node);
	run_unhash(nic, run);
	nic->host.clients[run->client].goal_active[run->record] = 0;
	if (schedule->idle_run)
		goal_heap_free(nic, run->client, run->memory);
	else
		schedule->idle_run = run->memory;
	goal_sweep(nic, comm);
	goal_give(nic, run->client, GOAL_TABLE_RUNS, run);
	goal_schedule_put(nic, schedule);
}

void goal_run_over(struct fw_nic *nic, struct goal_run *run)
{
	goal_ending_report(nic, run);
	goal_run_drop(nic, run);
}

void goal_run_complete(struct fw_nic *nic, struct goal_run *run)
{
	goal_run_trace(nic, run, HW_GOAL_POINT_RUN_FINISH, run->schedule->header.num_ops);
	run->finish_ns = nic->now_ns;
	run->over = true;
	run->tracing = false;
	/* The process may use the trace's memory for other things once it sees the record. */
	if (goal_trace_waits(run))
		goal_trace_end(run);
	else
		goal_run_over(nic, run);
}

/* From here on no operation begins, and arriving messages are late. */
void goal_run_stop(struct fw_nic *nic, struct goal_run *run)
{
	run->ending = true;
	goal_trace_give_up(nic, run);
	fw_timer_cancel(&nic->timers, &run->timeout);
	fw_timer_cancel(&nic->timers, &run->slow_timer);
	fw_list_del(&run->client_node);
	run_unhash(nic, run);
	goal_stall_moved(run->comm);
}

enum hw_goal_status goal_run_truncated(struct goal_run *run, uint32_t op, uint64_t message_bytes)
{
	run->lengths = (struct goal_lengths){message_bytes, run->schedule->ops[op].amount};
	return HW_GOAL_TRUNCATED;
}

void goal_run_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_run *run = FW_CONTAINER(timer, struct goal_run, timeout);

	goal_run_fail(nic, run, HW_GOAL_TIMEOUT, run->comm->rank, FW_NONE);
}

/* ---- the beginning -------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + 63) & ~UINT64_C(63);
}

/* One block holds all memory of a run; a finished run's block is used again. */
static bool get_memory(struct fw_nic *nic, struct goal_run *run)
{
	struct goal_schedule *s = run->schedule;
	uint64_t ring = aligned((uint64_t)s->header.num_ops * sizeof(uint32_t));
	uint64_t cpus = aligned((uint64_t)s->header.num_cpus * sizeof(uint64_t));
	uint8_t *at;

	run->memory = s->idle_run;
	s->idle_run = NULL;
	if (!run->memory)
		run->memory = goal_heap_alloc_zero(
		    nic, run->client, 5 * ring + cpus + aligned(s->header.scratch_bytes));
	if (!run->memory)
		return false;
	at = run->memory;
	run->counters = (uint32_t *)(void *)at;
	run->ready = (uint32_t *)(void *)(at += ring);
	run->locals = (uint32_t *)(void *)(at += ring);
	run->finished = (uint32_t *)(void *)(at += ring);
	at += 2 * ring;
	run->cpu_free_ns = (uint64_t *)(void *)at;
	run->scratch = at + cpus;
	memcpy(run->counters, s->deps, (size_t)s->header.num_ops * sizeof(uint32_t));
	memcpy(run->ready, s->roots, (size_t)s->header.num_roots * sizeof(uint32_t));
	memset(run->cpu_free_ns, 0, (size_t)s->header.num_cpus * sizeof(uint64_t));
	run->num_ready = s->header.num_roots;
	return true;
}

void goal_run_init_lists(struct goal_run *run)
{
	fw_list_init(&run->sends);
	fw_list_init(&run->staging);
	fw_list_init(&run->bulk);
	fw_list_init(&run->recvs);
	fw_list_init(&run->copies);
	fw_list_init(&run->keeps);
	fw_list_init(&run->self_sends);
	fw_list_init(&run->calcs);
	fw_list_init(&run->traced_sends);
	fw_list_init(&run->client_node);
	fw_list_init(&run->comm_node);
}

/*
 * Binds the run's slots: as the schedule's, or to the buffers that the record names. Each access
 * checks the memory again, so that this check only decides how the run begins.
 */
static enum hw_goal_status bind_buffers(struct fw_nic *nic, struct goal_run *run,
					const struct hw_goal_run *line)
{
	const struct goal_schedule *s = run->schedule;
	struct fw_mem mem;
	uint32_t i;

	run->binds = s->binds;
	run->unmapped = s->unmapped;
	if (!(line->flags & HW_GOAL_RUN_F_BUFFERS))
		return s->unbound ? HW_GOAL_BAD_SCHEDULE : HW_GOAL_OK;
	if (s->header.num_slots > HW_GOAL_RUN_BUFFERS)
		return HW_GOAL_BAD_SCHEDULE;
	run->binds = run->own_binds;
	run->unmapped = false;
	for (i = 0; i < s->header.num_slots; i++) {
		run->own_binds[i] = (struct hw_goal_bind){.addr = line->buf_addr[i],
							  .bytes = s->slots[i].bytes,
							  .stag = line->buf_stag[i]};
		if (mem_check(nic, s->pd, 0, line->buf_stag[i], line->buf_addr[i],
			      s->slots[i].bytes, 0, &mem) != HW_VENDOR_ERR_NONE)
			return HW_GOAL_MEMORY;
		run->unmapped |= s->slots[i].bytes && !mem.ptr;
	}
	return HW_GOAL_OK;
}

/* On failure *status has the reason. */
static struct goal_run *new_run(struct fw_nic *nic, struct goal_schedule *schedule,
				const struct hw_goal_run *line, enum hw_goal_status *status)
{
	struct goal_run *run = goal_take(nic, schedule->client, GOAL_TABLE_RUNS);

	*status = HW_GOAL_RESOURCES;
	if (!run)
		return NULL;
	memset(run, 0, sizeof(*run));
	run->client = schedule->client;
	run->schedule = schedule;
	run->comm = &nic->goal.comms[schedule->comm];
	run->remaining = schedule->header.num_ops;
	run->fault_op = FW_NONE;
	run->start_ns = nic->now_ns;
	goal_run_init_lists(run);
	fw_timer_init(&run->timeout, FW_TIMER_GOAL_RUN);
	goal_slow_run_init(run);
	*status = bind_buffers(nic, run, line);
	if (*status == HW_GOAL_OK) {
		if (get_memory(nic, run))
			return run;
		*status = HW_GOAL_RESOURCES;
	}
	goal_give(nic, schedule->client, GOAL_TABLE_RUNS, run);
	return NULL;
}

static void start(struct fw_nic *nic, uint32_t client, uint32_t index,
		  const struct hw_goal_run *line, struct goal_schedule *schedule)
{
	struct goal_comm *comm = &nic->goal.comms[schedule->comm];
	uint32_t instance = comm->next_instance++;
	enum hw_goal_status status = HW_GOAL_MEMORY;
	struct goal_abort abort;
	struct goal_run *run;

	if (goal_comm_take_abort(comm, instance, &abort)) {
		goal_ending_refuse(nic, client, index, line->serial, schedule, abort);
		return;
	}
	run = line->flags & HW_GOAL_RUN_F_MEMORY ? NULL : new_run(nic, schedule, line, &status);
	if (!run) {
		abort = (struct goal_abort){.status = status, .rank = comm->rank};
		goal_ending_refuse(nic, client, index, line->serial, schedule, abort);
		return;
	}
	run->record = (uint16_t)index;
	run->serial = line->serial;
	run->instance = instance;
	goal_trace_begin(run, line);
	schedule->refs++;
	nic->host.clients[client].goal_active[index] = fw_pool_index(&nic->goal.runs, run) + 1;
	run_hash(nic, run);
	if (line->timeout_ns)
		fw_timer_set(&nic->timers, &run->timeout,
			     line->timeout_ns < UINT64_MAX - nic->now_ns
				 ? nic->now_ns + line->timeout_ns
				 : UINT64_MAX);
	FW_COUNT(nic, goal_runs_started);
	goal_run_trace(nic, run, HW_GOAL_POINT_RUN_START, schedule->header.num_ops);
	/* Streams may wait for this run's receives. */
	goal_comm_unblock(nic, comm);
	goal_run_wake(nic, run);
}

void goal_run_doorbell(struct fw_nic *nic, uint32_t client, uint32_t index)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct goal_schedule *schedule;
	struct hw_goal_run *record, line;
	uint32_t i;

	if (index >= owner->goal_num_runs) {
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	record = (struct hw_goal_run *)client_bar(owner, owner->goal_runs_offset) + index;
	/* Pair D2: the host's writes before the doorbell are visible. */
	(void)__atomic_exchange_n(&record->rung, 0, __ATOMIC_ACQ_REL);
	line.serial = __atomic_load_n(&record->serial, __ATOMIC_RELAXED);
	line.flags = __atomic_load_n(&record->flags, __ATOMIC_RELAXED);
	line.schedule = __atomic_load_n(&record->schedule, __ATOMIC_RELAXED);
	line.timeout_ns = __atomic_load_n(&record->timeout_ns, __ATOMIC_RELAXED);
	line.trace_addr = __atomic_load_n(&record->trace_addr, __ATOMIC_RELAXED);
	line.trace_stag = __atomic_load_n(&record->trace_stag, __ATOMIC_RELAXED);
	line.trace_entries = __atomic_load_n(&record->trace_entries, __ATOMIC_RELAXED);
	for (i = 0; i < HW_GOAL_RUN_BUFFERS && line.flags & HW_GOAL_RUN_F_BUFFERS; i++) {
		line.buf_addr[i] = __atomic_load_n(&record->buf_addr[i], __ATOMIC_RELAXED);
		line.buf_stag[i] = __atomic_load_n(&record->buf_stag[i], __ATOMIC_RELAXED);
	}
	if (owner->goal_active[index] || goal_ending_of(owner, index)) {
		/* The record is the NIC's until done; its contents now mean nothing. */
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	schedule = goal_schedule_own(nic, client, line.schedule);
	if (schedule)
		start(nic, client, index, &line, schedule);
	else
		goal_ending_refuse(nic, client, index, line.serial, NULL,
				   (struct goal_abort){.status = HW_GOAL_BAD_SCHEDULE});
}
