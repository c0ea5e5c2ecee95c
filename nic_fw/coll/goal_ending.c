/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a run: its record and, when it failed, the notification of other ranks.
 *
 * A communicator has up to 65,536 ranks, and a run may have as many operations under way as its
 * process's share allows. A failed run therefore stops at once, and the rest of its end is done in
 * slices (slice.h): its ranks are notified one after another, its operations release its memory,
 * and last its record reports the end, because then the process may reuse the memory. Runs of a
 * communicator end in their order. Calls goal_msg.c and goal_comm.c. docs/collectives.md "Failure".
 */
#include "nic_fw/fw_nic.h"

/* ---- the record ------------------------------------------------------------------------------ */

/* The record is written once, done last, with release (pair G1). */
static void goal_ending_write_record(struct fw_nic *nic, uint32_t client, uint32_t index,
				     const struct hw_goal_run *line)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct hw_goal_run *record = client_bar(owner, owner->goal_runs_offset);
	struct hw_eqe eqe = {.type = HW_EVENT_GOAL_RUN, .id = index, .aux = line->done};

	if (owner->closing)
		return; /* no reader */
	record += index;
	record->status = line->status;
	record->rank = line->rank;
	record->op = line->op;
	record->start_ns = line->start_ns;
	record->finish_ns = line->finish_ns ? line->finish_ns : nic->now_ns;
	record->ops = line->ops;
	record->instance = line->instance;
	record->traced = line->traced;
	record->trace_lost = line->trace_lost;
	record->message_bytes = line->message_bytes;
	record->room_bytes = line->room_bytes;
	record->num_waits = line->num_waits;
	memcpy(record->waits, line->waits, sizeof(record->waits));
	__atomic_store_n(&record->done, line->done, __ATOMIC_RELEASE);
	/*
	 * Pair G2: the host sets the flag, then reads done; this end stores done, then reads the
	 * flag.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (owner->goal_eq != HW_EQ_NONE &&
	    __atomic_load_n(&record->flags, __ATOMIC_RELAXED) & HW_GOAL_RUN_F_EVENT)
		eq_post(nic, client, owner->goal_eq, &eqe);
}

static bool name_wait(struct goal_run *run, uint32_t op)
{
	if (run->num_waits < HW_GOAL_WAITS)
		run->waits[run->num_waits] = op;
	return ++run->num_waits <= HW_GOAL_WAITS_COUNTED;
}

/*
 * Lists the first operations under way, and counts the others as far as one turn may: receives
 * before sends, because peers owe those.
 */
static void name_waits(struct goal_run *run)
{
	const struct fw_list *pos;

	fw_list_for_each (pos, &run->recvs)
		if (!name_wait(run, FW_CONTAINER(pos, struct goal_recv, run_node)->op))
			return;
	fw_list_for_each (pos, &run->sends)
		if (!name_wait(run, FW_CONTAINER(pos, struct goal_send, run_node)->op))
			return;
	fw_list_for_each (pos, &run->calcs)
		if (!name_wait(run, FW_CONTAINER(pos, struct goal_calc, run_node)->op))
			return;
}

static struct hw_goal_run line_of(const struct goal_run *run, enum hw_goal_status status,
				  uint32_t rank)
{
	return (struct hw_goal_run){
	    .done = run->serial,
	    .status = status,
	    .rank = rank,
	    .op = FW_NONE,
	    .start_ns = run->start_ns,
	    .ops = run->schedule->header.num_ops - run->remaining,
	    .instance = run->instance,
	    .traced = run->traced,
	    .trace_lost = run->trace_lost,
	};
}

void goal_ending_report(struct fw_nic *nic, struct goal_run *run)
{
	struct hw_goal_run line = line_of(run, HW_GOAL_OK, run->comm->rank);

	line.finish_ns = run->finish_ns;
	FW_COUNT(nic, goal_runs_done);
	goal_ending_write_record(nic, run->client, run->record, &line);
}

static void report_failed(struct fw_nic *nic, const struct goal_ending *ending)
{
	const struct goal_run *run = ending->run;
	struct hw_goal_run line = line_of(run, ending->status, ending->abort.rank);

	line.op = run->fail_op;
	line.message_bytes = run->lengths.message_bytes;
	line.room_bytes = run->lengths.room_bytes;
	line.num_waits = run->num_waits;
	memcpy(line.waits, run->waits, sizeof(line.waits));
	goal_ending_write_record(nic, ending->client, ending->record, &line);
}

static void report_refused(struct fw_nic *nic, const struct goal_ending *ending)
{
	const struct hw_goal_run line = {
	    .done = ending->serial,
	    .status = ending->status,
	    .rank = ending->abort.rank,
	    .op = FW_NONE,
	    .start_ns = ending->start_ns,
	    .instance = ending->abort.instance,
	    .message_bytes = ending->abort.lengths.message_bytes,
	    .room_bytes = ending->abort.lengths.room_bytes,
	};

	goal_ending_write_record(nic, ending->client, ending->record, &line);
}

/* ---- the other ranks ------------------------------------------------------------------------- */

static bool is_peer(const struct goal_comm *comm, const struct goal_schedule *schedule,
		    uint32_t rank)
{
	return schedule->peers[rank / 64] >> rank % 64 & 1 && rank != comm->rank;
}

/* Notifies a peer, unless the failure came from that rank. */
static void notify_peer(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank,
			const struct goal_abort *abort)
{
	struct goal_link *link = goal_link_get(nic, comm, rank);

	if (!link || link->abort_mark == abort->instance + 1)
		return;
	link->abort_mark = abort->instance + 1;
	goal_msg_abort(nic, link, abort);
}

/* Notifies every rank that the schedule names, from *notified_ranks on. False: units ran out. */
static bool notify_peers(struct fw_nic *nic, struct goal_comm *comm,
			 const struct goal_schedule *schedule, uint32_t *notified_ranks,
			 const struct goal_abort *abort)
{
	/* There may be very many ranks: notified ones are not visited again. */
	for (; *notified_ranks < comm->num_ranks; (*notified_ranks)++) {
		uint32_t rank = *notified_ranks;

		if (!(rank % 64) && !slice_take(nic, 1))
			return false;
		if (!is_peer(comm, schedule, rank))
			continue;
		if (!slice_take(nic, FW_SLICE_GOAL_UNITS))
			return false;
		notify_peer(nic, comm, rank, abort);
	}
	return true;
}

bool goal_run_left(struct fw_nic *nic, struct goal_run *run)
{
	const struct goal_abort abort = {
	    .instance = run->instance, .status = HW_GOAL_PEER_LOST, .rank = run->comm->rank};

	return notify_peers(nic, run->comm, run->schedule, &run->notified_ranks, &abort);
}

/*
 * Returns the status for the other ranks. A process that ends loses all its memory at once, while
 * its runs end in later turns: the other ranks have lost the rank, not a buffer.
 */
static enum hw_goal_status goal_ending_told(const struct fw_nic *nic, const struct goal_comm *comm,
					    enum hw_goal_status status, uint32_t rank)
{
	return rank == comm->rank && nic->host.clients[comm->client].closing ? HW_GOAL_PEER_LOST
									     : status;
}

/* ---- in slices ------------------------------------------------------------------------------- */

struct goal_ending *goal_ending_of(struct fw_client *owner, uint32_t record)
{
	struct goal_ending *ending = &owner->goal_endings[record];

	return ending->on ? ending : NULL;
}

/*
 * The record gives the buffers back to the process: a copy that the core gave up must be over. A
 * process that ends waits for none. False: it is not over.
 */
static bool copies_are_over(struct fw_nic *nic, struct goal_ending *ending)
{
	if (nic->host.clients[ending->client].closing)
		return true;
	if (!ending->stopped)
		ending->late_copy = mem_late(nic, ending->client, 0);
	ending->stopped = true;
	if (ending->late_copy)
		ending->late_copy = mem_late(nic, ending->client, ending->late_copy);
	return !ending->late_copy;
}

/* False: units ran out, or a copy is not over. */
static bool goal_ending_step_one(struct fw_nic *nic, struct goal_comm *comm,
				 struct goal_ending *ending)
{
	struct goal_run *run = ending->run;

	if (!notify_peers(nic, comm, ending->schedule, &ending->notified_ranks, &ending->abort))
		return false;
	if (run && (!goal_run_trim(nic, run) || !copies_are_over(nic, ending)))
		return false;
	(void)slice_take(nic, FW_SLICE_GOAL_UNITS);
	fw_list_del(&ending->node);
	ending->on = false;
	if (run) {
		report_failed(nic, ending);
		goal_run_drop(nic, run);
	} else {
		report_refused(nic, ending);
		goal_schedule_put(nic, ending->schedule);
		goal_sweep(nic, comm);
	}
	return true;
}

bool goal_ending_step(struct fw_nic *nic, struct goal_comm *comm)
{
	while (!fw_list_empty(&comm->endings))
		if (!goal_ending_step_one(
			nic, comm, FW_CONTAINER(comm->endings.next, struct goal_ending, node)))
			return false;
	fw_list_del(&comm->ending_node);
	return true;
}

void goal_ending_run(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.endings);

	if (!node)
		return;
	/*
	 * The communicator goes to the end of the list, and leaves it when all its runs have ended.
	 */
	fw_list_add_tail(&nic->slices.endings, node);
	nic->turn_did |= FW_DID_LEAVE;
	(void)goal_ending_step(nic, FW_CONTAINER(node, struct goal_comm, ending_node));
}

static void goal_ending_begin(struct fw_nic *nic, struct goal_comm *comm,
			      const struct goal_ending *what)
{
	struct goal_ending *ending = &nic->host.clients[what->client].goal_endings[what->record];

	assert(!ending->on);
	*ending = *what;
	ending->on = true;
	fw_list_init(&ending->node);
	fw_list_add_tail(&comm->endings, &ending->node);
	if (!fw_list_linked(&comm->ending_node))
		fw_list_add_tail(&nic->slices.endings, &comm->ending_node);
	slice_wait(&nic->slices, SLICE_RUNS);
	(void)goal_ending_step(nic, comm);
}

void goal_run_fail(struct fw_nic *nic, struct goal_run *run, enum hw_goal_status status,
		   uint32_t rank, uint32_t op)
{
	const struct goal_ending ending = {
	    .run = run,
	    .schedule = run->schedule,
	    .client = run->client,
	    .record = run->record,
	    .serial = run->serial,
	    .status = status,
	    .abort = {run->instance, goal_ending_told(nic, run->comm, status, rank), rank,
		      run->lengths},
	};

	if (run->ending)
		return;
	/* All but its trace has succeeded. */
	if (run->over) {
		goal_trace_give_up(nic, run);
		goal_run_over(nic, run);
		return;
	}
	FW_COUNT(nic, goal_runs_done);
	FW_COUNT(nic, goal_runs_failed);
	run->fail_op = op;
	name_waits(run);
	goal_run_stop(nic, run);
	goal_ending_begin(nic, run->comm, &ending);
}

void goal_ending_refuse(struct fw_nic *nic, uint32_t client, uint32_t record, uint32_t serial,
			struct goal_schedule *schedule, struct goal_abort abort)
{
	struct goal_ending ending = {
	    .schedule = schedule,
	    .client = (uint16_t)client,
	    .record = (uint16_t)record,
	    .serial = serial,
	    .start_ns = nic->now_ns,
	    .status = (enum hw_goal_status)abort.status,
	    .abort = abort,
	};
	struct goal_comm *comm;

	FW_COUNT(nic, goal_runs_failed);
	if (!schedule) {
		report_refused(nic, &ending);
		return;
	}
	comm = &nic->goal.comms[schedule->comm];
	ending.abort.instance = comm->next_instance - 1;
	schedule->refs++;
	goal_ending_begin(nic, comm, &ending);
}
