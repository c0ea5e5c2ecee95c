/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_run.c, goal_ending.c: how a run begins, each field of its record when it ends,
 * and which ranks are told when it fails.
 */
#include "tests/nic_fw/coll/goal_rank_fix.h"

static uint8_t other[2][SLOT_BYTES];

/* Leaves of the schedule one receive: SHORT. */
static void begin_short(void)
{
	prepare(false);
	for (uint32_t op = SHORT + 1; op < OPS; op++)
		memory.code.ops[op] = (struct goal_insn){
		    .kind = GOAL_INSN_NOP, .first_edge = 1, .deps = op == THEN ? 1 : 0};
	load(false);
}

static void short_arrives(void)
{
	struct packet p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);

	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	turns(4);
}

/* Rings for a record that the test has filled in. */
static void ring(uint32_t index)
{
	record[index].rung = 1;
	goal_run_doorbell(ut.nic, client, index);
	turns(4);
}

static struct hw_goal_run *fill(uint32_t index)
{
	struct hw_goal_run *line = &record[index];

	*line = (struct hw_goal_run){.serial = ++serial, .schedule = schedule};
	return line;
}

static void record_of_a_complete_run(void)
{
	struct goal_run *run;
	uint64_t begun_ns, over_ns;
	uint8_t *block;

	begin_short();
	memset(record, 0xff, sizeof(*record));
	run = start();
	CU_ASSERT_EQUAL(record->rung, 0);
	begun_ns = run->start_ns;
	block = run->memory;
	CU_ASSERT_EQUAL(run->remaining, 2);
	turns(100);
	CU_ASSERT_NOT_EQUAL(record->done, serial);
	over_ns = ut.now_ns;
	short_arrives();
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(record->status, HW_GOAL_OK);
	CU_ASSERT_EQUAL(record->rank, RANK);
	CU_ASSERT_EQUAL(record->op, FW_NONE);
	CU_ASSERT_EQUAL(record->ops, OPS);
	CU_ASSERT_EQUAL(record->instance, 0);
	CU_ASSERT_EQUAL(record->start_ns, begun_ns);
	CU_ASSERT(record->finish_ns >= over_ns && record->finish_ns <= ut.now_ns);
	CU_ASSERT_EQUAL(record->traced, 0);
	CU_ASSERT_EQUAL(record->trace_lost, 0);
	CU_ASSERT(!record->message_bytes && !record->room_bytes && !record->num_waits);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_started, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_done, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.runs.used, 0);
	CU_ASSERT_PTR_NULL(goal_run_find(ut.nic, comm, 0));
	CU_ASSERT_FALSE(goal_run_is_current(ut.nic, comm, 0));
	CU_ASSERT_TRUE(goal_run_is_current(ut.nic, comm, 1));
	/* The next run has the next number, and the memory of the one before. */
	run = start();
	CU_ASSERT_EQUAL(run->instance, 1);
	CU_ASSERT_PTR_EQUAL(run->memory, block);
	CU_ASSERT_EQUAL(run->remaining, 2);
	short_arrives();
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(record->instance, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_done, 2);
	end();
}

/* Two runs at a time are two instances with memory of their own, in the order of their doorbells.
 */
static void two_runs(void)
{
	struct goal_run *first, *second;
	struct packet p;

	begin_short();
	first = start_in(2, false);
	second = start_in(1, false);
	CU_ASSERT_FATAL(first && second);
	CU_ASSERT_EQUAL(first->instance + 1, second->instance);
	CU_ASSERT_PTR_NOT_EQUAL(first->memory, second->memory);
	CU_ASSERT_PTR_EQUAL(comm->runs.next, &first->comm_node);
	CU_ASSERT_PTR_EQUAL(goal_run_find(ut.nic, comm, first->instance), first);
	p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	p.instance = first->instance;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	turns(4);
	CU_ASSERT_EQUAL(record[2].done, serial - 1);
	CU_ASSERT_NOT_EQUAL(record[1].done, serial);
	CU_ASSERT_TRUE(goal_run_is_current(ut.nic, comm, second->instance));
	CU_ASSERT_FALSE(goal_run_is_current(ut.nic, comm, second->instance - 1));
	short_arrives();
	CU_ASSERT_EQUAL(record[1].done, serial);
	end();
}

/* Records that are the NIC's, that are none, or that name no schedule of the process. */
static void doorbells_that_begin_nothing(void)
{
	struct hw_goal_run *line;

	begin_short();
	(void)start();
	record->serial = serial + 1;
	ring(0);
	CU_ASSERT_EQUAL(ut.nic->counters.doorbells_bad, 1);
	ring(RUNS);
	CU_ASSERT_EQUAL(ut.nic->counters.doorbells_bad, 2);
	CU_ASSERT_EQUAL(comm->next_instance, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_started, 1);
	short_arrives();
	CU_ASSERT_EQUAL(record->done, serial);
	line = fill(RUNS - 1);
	line->schedule = schedule + 1;
	ring(RUNS - 1);
	CU_ASSERT_EQUAL(ut.nic->counters.doorbells_bad, 2);
	CU_ASSERT_EQUAL(line->done, serial);
	CU_ASSERT_EQUAL(line->status, HW_GOAL_BAD_SCHEDULE);
	CU_ASSERT_EQUAL(line->op, FW_NONE);
	CU_ASSERT_EQUAL(line->start_ns, line->finish_ns);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_done, 1);
	CU_ASSERT_EQUAL(comm->next_instance, 1);
	/* The process knows that memory is missing: the run takes its number, and fails at all
	 * ranks. */
	line = fill(0);
	line->flags = HW_GOAL_RUN_F_MEMORY;
	ring(0);
	ends_with(HW_GOAL_MEMORY, RANK, FW_NONE);
	CU_ASSERT_EQUAL(record->instance, 1);
	CU_ASSERT_EQUAL(comm->next_instance, 2);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 2);
	CU_ASSERT_EQUAL(queued(0, WIRE_GOAL_ABORT), 1);
	CU_ASSERT_EQUAL(ut.nic->goal.runs.used, 0);
	/* The schedule may be unloaded: nothing refers to it any more. */
	CU_ASSERT_EQUAL(ut.nic->goal.schedules[schedule].refs, 0);
	end();
}

/* Runs that name their buffers use these, as long as the schedule says, in registered memory. */
static void buffers_of_a_run(void)
{
	struct hw_goal_run *line;
	struct goal_run *run;
	uint32_t reg, far;

	begin_short();
	reg = host_reg(ut.nic, client, pd, other, sizeof(other), HW_ACCESS_LOCAL_WRITE, true);
	far = host_reg(ut.nic, client, pd, other, sizeof(other), HW_ACCESS_LOCAL_WRITE, false);
	memset(other, 0, sizeof(other));
#define OWN(addr1, stag0, stag1)                                                                   \
	do {                                                                                       \
		line = fill(0);                                                                    \
		line->flags = HW_GOAL_RUN_F_BUFFERS;                                               \
		line->buf_addr[0] = (uintptr_t)other[0];                                           \
		line->buf_addr[1] = (uintptr_t)(addr1);                                            \
		line->buf_stag[0] = (stag0);                                                       \
		line->buf_stag[1] = (stag1);                                                       \
		ring(0);                                                                           \
	} while (0)
	OWN(other[1], reg, reg);
	run = goal_run_find(ut.nic, comm, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	CU_ASSERT_FALSE(run->unmapped);
	CU_ASSERT_EQUAL(run->binds[0].bytes, SLOT_BYTES);
	CU_ASSERT_EQUAL(run->binds[1].bytes, 2 * SHORT_BYTES);
	short_arrives();
	ends_with(HW_GOAL_OK, RANK, FW_NONE);
	CU_ASSERT(memcmp(other[1], bytes_of, SHORT_BYTES) == 0);
	CU_ASSERT_EQUAL(memory.brief[0], 0);
	/* One of them is not mapped. */
	OWN(other[1], far, reg);
	CU_ASSERT_TRUE(goal_run_find(ut.nic, comm, 1)->unmapped);
	short_arrives();
	ends_with(HW_GOAL_OK, RANK, FW_NONE);
	OWN(other[1], reg, far);
	CU_ASSERT_TRUE(goal_run_find(ut.nic, comm, 2)->unmapped);
	turns(100);
	short_arrives();
	turns(100);
	ends_with(HW_GOAL_OK, RANK, FW_NONE);
	/* It ends where the region ends, or one byte behind it. */
	OWN(other[1] + SLOT_BYTES - 2 * SHORT_BYTES, reg, reg);
	CU_ASSERT_PTR_NOT_NULL_FATAL(goal_run_find(ut.nic, comm, 3));
	short_arrives();
	ends_with(HW_GOAL_OK, RANK, FW_NONE);
	OWN(other[1] + SLOT_BYTES - 2 * SHORT_BYTES + 1, reg, reg);
	ends_with(HW_GOAL_MEMORY, RANK, FW_NONE);
	OWN(other[1], reg ^ 1, reg);
	ends_with(HW_GOAL_MEMORY, RANK, FW_NONE);
#undef OWN
	/* Without names the run has the schedule's own. */
	run = start();
	CU_ASSERT_PTR_EQUAL(run->binds, ut.nic->goal.schedules[schedule].binds);
	short_arrives();
	ends_with(HW_GOAL_OK, RANK, FW_NONE);
	CU_ASSERT(memcmp(memory.brief, bytes_of, SHORT_BYTES) == 0);
	/* And a schedule without a table has none. */
	ut.nic->goal.schedules[schedule].unbound = true;
	(void)start_in(0, false);
	ends_with(HW_GOAL_BAD_SCHEDULE, RANK, FW_NONE);
	end();
}

/* A time limit counts from the doorbell; the largest there is never comes. */
static void time_limits(void)
{
	struct goal_run *run;

	begin();
	fill(0)->timeout_ns = 1000000;
	ring(0);
	run = goal_run_find(ut.nic, comm, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	CU_ASSERT_EQUAL(run->timeout.deadline_ns, run->start_ns + 1000000);
	fw_ut_poll(&ut, run->timeout.deadline_ns - ut.now_ns - 1);
	CU_ASSERT_PTR_NOT_NULL(goal_run_find(ut.nic, comm, 0));
	fw_ut_poll(&ut, 1);
	CU_ASSERT_PTR_NULL(goal_run_find(ut.nic, comm, 0));
	ends_with(HW_GOAL_TIMEOUT, RANK, FW_NONE);
	fill(0)->timeout_ns = UINT64_MAX;
	ring(0);
	run = goal_run_find(ut.nic, comm, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	CU_ASSERT_EQUAL(run->timeout.deadline_ns, UINT64_MAX);
	fill(1)->timeout_ns = 0;
	ring(1);
	run = goal_run_find(ut.nic, comm, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	CU_ASSERT_FALSE(fw_timer_is_set(&run->timeout));
	end();
}

/* An event for each run that asks for it, whatever its outcome. */
static void events(void)
{
	struct hw_eqe eqe;

	begin_short();
	(void)start();
	short_arrives();
	CU_ASSERT_FALSE(fw_ut_event(&ut, client, eq, &eqe));
	fill(3)->flags = HW_GOAL_RUN_F_EVENT;
	ring(3);
	CU_ASSERT_FALSE(fw_ut_event(&ut, client, eq, &eqe));
	short_arrives();
	CU_ASSERT_TRUE_FATAL(fw_ut_event(&ut, client, eq, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_GOAL_RUN);
	CU_ASSERT_EQUAL(eqe.id, 3);
	CU_ASSERT_EQUAL(eqe.aux, serial);
	CU_ASSERT_FALSE(fw_ut_event(&ut, client, eq, &eqe));
	fill(2)->flags = HW_GOAL_RUN_F_EVENT;
	record[2].schedule = schedule + 1;
	ring(2);
	CU_ASSERT_TRUE(fw_ut_event(&ut, client, eq, &eqe));
	CU_ASSERT_EQUAL(eqe.id, 2);
	end();
}

static const struct goal_send *abort_to(uint32_t rank)
{
	const struct goal_link *link = goal_link_at(ut.nic, comm, rank);
	const struct fw_list *at;

	for (at = link->sends.prev; at != &link->sends; at = at->prev)
		if (FW_CONTAINER(at, struct goal_send, link_node)->type == WIRE_GOAL_ABORT)
			return FW_CONTAINER(at, struct goal_send, link_node);
	return NULL;
}

/* The ranks of the schedule are told, each once, and no others. */
static void ranks_are_told(void)
{
	const struct goal_send *abort;
	struct goal_run *run;

	prepare(false);
	memory.code.ops[SCATTER].peer = 70; /* in the second word of the ranks */
	memory.code.ops[SEND].peer = 63;
	load(false);
	run = start();
	run->lengths = (struct goal_lengths){300, 200};
	goal_run_fail(ut.nic, run, HW_GOAL_DIVIDE, 5, EAGER);
	goal_run_fail(ut.nic, run, HW_GOAL_TIMEOUT, 6, SHORT);
	ends_with(HW_GOAL_DIVIDE, 5, EAGER);
	CU_ASSERT_EQUAL(record->message_bytes, 300);
	CU_ASSERT_EQUAL(record->room_bytes, 200);
	CU_ASSERT_EQUAL(record->ops, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 1);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_done, 1);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		if (rank != 0 && rank != 63 && rank != 70) {
			CU_ASSERT_EQUAL(comm->links[rank], FW_NONE);
			continue;
		}
		CU_ASSERT_EQUAL(queued(rank, WIRE_GOAL_ABORT), 1);
		abort = abort_to(rank);
		CU_ASSERT_EQUAL(abort->key.instance, 0);
		CU_ASSERT_EQUAL(abort->key.tag, HW_GOAL_DIVIDE);
		CU_ASSERT_EQUAL(abort->key.count, 5);
		CU_ASSERT_EQUAL(abort->bytes, 300);
		CU_ASSERT_EQUAL(abort->room_bytes, 200);
		CU_ASSERT_EQUAL(goal_link_at(ut.nic, comm, rank)->abort_mark, 1);
	}
	/* Its operations are gone; the streams keep what is queued. */
	CU_ASSERT_EQUAL(ut.nic->goal.recvs.used, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.runs.used, 0);
	CU_ASSERT_TRUE(fw_list_empty(&comm->endings));
	CU_ASSERT_FALSE(fw_list_linked(&comm->ending_node));
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].goal_active[0], 0);
	end();
}

/* The record lists operations under way: receives, then sends; and counts the others. */
static void operations_under_way(void)
{
	struct goal_run *run;
	uint32_t i;

	begin();
	run = start();
	goal_run_fail(ut.nic, run, HW_GOAL_CANCELED, RANK, FW_NONE);
	ends_with(HW_GOAL_CANCELED, RANK, FW_NONE);
	CU_ASSERT_EQUAL(record->num_waits, 5);
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(record->waits[i], i);
	CU_ASSERT_EQUAL(record->waits[4], SEND);
	CU_ASSERT_EQUAL(record->waits[5], 0);
	run = start();
	for (i = 0; i < HW_GOAL_WAITS_COUNTED - 5; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(goal_recv_new(ut.nic, run, THEN));
	goal_run_fail(ut.nic, run, HW_GOAL_CANCELED, RANK, FW_NONE);
	ends_with(HW_GOAL_CANCELED, RANK, FW_NONE);
	CU_ASSERT_EQUAL(record->num_waits, HW_GOAL_WAITS_COUNTED);
	for (i = 4; i < HW_GOAL_WAITS; i++)
		CU_ASSERT_EQUAL(record->waits[i], THEN);
	run = start();
	for (i = 0; i < HW_GOAL_WAITS_COUNTED + 5; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(goal_recv_new(ut.nic, run, THEN));
	goal_run_fail(ut.nic, run, HW_GOAL_CANCELED, RANK, FW_NONE);
	ends_with(HW_GOAL_CANCELED, RANK, FW_NONE);
	CU_ASSERT_EQUAL(record->num_waits, HW_GOAL_WAITS_COUNTED + 1);
	end();
}

/* A fault found by a callee ends the run in its next step; the first one counts. */
static void faults(void)
{
	struct goal_run *run;

	begin();
	run = start();
	CU_ASSERT_FALSE(fw_list_linked(&run->client_node));
	goal_run_fault(ut.nic, run, HW_GOAL_MEMORY, 7, EAGER);
	goal_run_fault(ut.nic, run, HW_GOAL_DIVIDE, 8, SHORT);
	CU_ASSERT_TRUE(fw_list_linked(&run->client_node));
	CU_ASSERT_NOT_EQUAL(record->done, serial);
	ends_with(HW_GOAL_MEMORY, 7, EAGER);
	/* Each wake is a change for those who look for cycles; an ending run is not woken. */
	run = start();
	run->ending = true;
	goal_run_wake(ut.nic, run);
	CU_ASSERT_FALSE(fw_list_linked(&run->client_node));
	run->ending = false;
	goal_run_wake(ut.nic, run);
	CU_ASSERT_TRUE(fw_list_linked(&run->client_node));
	run->over = true;
	goal_run_fault(ut.nic, run, HW_GOAL_MEMORY, 7, EAGER);
	CU_ASSERT_EQUAL(run->fault, HW_GOAL_OK);
	run->over = false;
	end();
}

/* A failed run is late for messages, and a failed run of a rank's own fault names that rank. */
static void after_a_failure(void)
{
	struct packet p;
	struct goal_run *run;

	begin();
	run = start();
	p = piece_of(WIRE_GOAL_EAGER, 0, 20, 10, 0, 10);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	p = piece_of(WIRE_GOAL_ANNOUNCE, 2, 21, LARGE_BYTES, 0, 0);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT(!fw_list_empty(&comm->unexps) && !fw_list_empty(&comm->announced));
	goal_run_fail(ut.nic, run, HW_GOAL_CANCELED, RANK, FW_NONE);
	p = piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_late, 1);
	ends_with(HW_GOAL_CANCELED, RANK, FW_NONE);
	turns(10);
	/* Messages that came for it are swept out. */
	CU_ASSERT(fw_list_empty(&comm->unexps) && fw_list_empty(&comm->announced));
	end();
}

/* A schedule whose memory is not mapped: what the run names is. */
static void mapped_buffers_of_a_run(void)
{
	struct hw_goal_run *line;
	uint32_t reg;

	prepare(false);
	load(true);
	reg = host_reg(ut.nic, client, pd, other, sizeof(other), HW_ACCESS_LOCAL_WRITE, true);
	CU_ASSERT_TRUE(start()->unmapped);
	line = fill(1);
	line->flags = HW_GOAL_RUN_F_BUFFERS;
	for (uint32_t i = 0; i < 2; i++) {
		line->buf_addr[i] = (uintptr_t)other[i];
		line->buf_stag[i] = reg;
	}
	ring(1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(goal_run_find(ut.nic, comm, 1));
	CU_ASSERT_FALSE(goal_run_find(ut.nic, comm, 1)->unmapped);
	end();
}

/* A trace begins with the run and ends with it, with the number of its operations. */
static void traces(void)
{
	uint32_t n;

	begin_short();
	CU_ASSERT_PTR_NOT_NULL_FATAL(start_in(0, true));
	CU_ASSERT_EQUAL(memory.trace[0].point, HW_GOAL_POINT_RUN_START);
	CU_ASSERT_EQUAL(memory.trace[0].op, OPS);
	short_arrives();
	n = record->traced;
	CU_ASSERT(n > 2 && n < TRACE_ENTRIES);
	CU_ASSERT_EQUAL(record->trace_lost, 0);
	CU_ASSERT_EQUAL(memory.trace[n - 1].point, HW_GOAL_POINT_RUN_FINISH);
	CU_ASSERT_EQUAL(memory.trace[n - 1].op, OPS);
	CU_ASSERT_EQUAL(memory.trace[n].ns, 0);
	CU_ASSERT_EQUAL(record->status, HW_GOAL_OK);
	/* Points without room are counted. */
	memset(memory.trace, 0, sizeof(memory.trace));
	*fill(1) = (struct hw_goal_run){.serial = serial,
					.schedule = schedule,
					.trace_addr = (uintptr_t)memory.trace,
					.trace_stag = stag,
					.trace_entries = 2};
	ring(1);
	short_arrives();
	CU_ASSERT_EQUAL(record[1].done, serial);
	CU_ASSERT_EQUAL(record[1].traced, 2);
	CU_ASSERT_EQUAL(record[1].trace_lost, n - 2);
	CU_ASSERT_EQUAL(memory.trace[2].ns, 0);
	end();
}

/* The page of the trace comes late: the points are kept, and the run ends when they are written. */
static void points_that_come_late(void)
{
	struct hw_goal_run *line;

	begin_short();
	ut.port.host_busy = true;
	line = fill(1);
	line->trace_addr = (uintptr_t)memory.trace;
	line->trace_stag = loose;
	line->trace_entries = TRACE_ENTRIES;
	ring(1);
	short_arrives();
	turns(200);
	CU_ASSERT_EQUAL(memory.trace[0].ns, 0);
	CU_ASSERT_NOT_EQUAL(line->done, serial);
	ut.port.host_busy = false;
	turns(200);
	CU_ASSERT_EQUAL(line->done, serial);
	CU_ASSERT_EQUAL(line->status, HW_GOAL_OK);
	CU_ASSERT_EQUAL(line->trace_lost, 0);
	CU_ASSERT_FATAL(line->traced > 2 && line->traced < TRACE_ENTRIES);
	CU_ASSERT_EQUAL(memory.trace[0].point, HW_GOAL_POINT_RUN_START);
	CU_ASSERT_EQUAL(memory.trace[line->traced - 1].point, HW_GOAL_POINT_RUN_FINISH);
	CU_ASSERT_EQUAL(memory.trace[line->traced].ns, 0);
	end();
}

/* A run is canceled by its record and serial, and no other is. */
static void cancels(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_CANCEL};
	struct hw_cmd_resp resp;

	begin();
	CU_ASSERT_PTR_NOT_NULL(start_in(1, false));
	CU_ASSERT_PTR_NOT_NULL(start_in(2, false));
	CU_ASSERT_PTR_NOT_NULL(start_in(3, false));
	cmd.u.goal_load.run = 2;
	cmd.u.goal_load.serial = serial; /* the third one's */
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	turns(20);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 0);
	cmd.u.goal_load.serial = serial - 1;
	CU_ASSERT(host_cmd(ut.nic, client, &cmd, &resp) <= 0);
	turns(100);
	CU_ASSERT_EQUAL(record[2].done, serial - 1);
	CU_ASSERT_EQUAL(record[2].status, HW_GOAL_CANCELED);
	CU_ASSERT_EQUAL(record[2].rank, RANK);
	CU_ASSERT_EQUAL(ut.nic->counters.goal_runs_failed, 1);
	CU_ASSERT_PTR_NOT_NULL(goal_run_find(ut.nic, comm, 0));
	CU_ASSERT_PTR_NULL(goal_run_find(ut.nic, comm, 1));
	CU_ASSERT_PTR_NOT_NULL(goal_run_find(ut.nic, comm, 2));
	end();
}

/* Timers of operations end with the run, in slices, or with their time. */
static void timers(void)
{
	struct goal_run *run;

	prepare(false);
	for (uint32_t op = EAGER; op <= SCATTER; op++)
		memory.code.ops[op] = (struct goal_insn){
		    .kind = GOAL_INSN_CALC, .first_edge = 1, .amount = 1000000 * op};
	load(false);
	run = start();
	CU_ASSERT_EQUAL(ut.nic->goal.calcs.used, 2);
	/* They follow each other on one processor. */
	fw_ut_poll(&ut, run->start_ns + 1000000 - 1 - ut.now_ns);
	CU_ASSERT_EQUAL(ut.nic->goal.calcs.used, 2);
	fw_ut_poll(&ut, 10000);
	turns(2);
	CU_ASSERT_EQUAL(ut.nic->goal.calcs.used, 1);
	CU_ASSERT_EQUAL(run->remaining, OPS - 1);
	fw_ut_poll(&ut, run->start_ns + 3000000 - 1 - ut.now_ns);
	CU_ASSERT_EQUAL(ut.nic->goal.calcs.used, 1);
	fw_ut_poll(&ut, 20000);
	turns(2);
	CU_ASSERT_EQUAL(ut.nic->goal.calcs.used, 0);
	CU_ASSERT_EQUAL(run->remaining, OPS - 2);
	run = start_in(1, false);
	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	ut.nic->slices.left = 1;
	CU_ASSERT_FALSE(goal_run_trim(ut.nic, run));
	CU_ASSERT_EQUAL(ut.nic->goal.calcs.used, 1);
	goal_run_fail(ut.nic, run, HW_GOAL_CANCELED, RANK, FW_NONE);
	turns(100);
	CU_ASSERT_EQUAL(ut.nic->goal.calcs.used, 0);
	CU_ASSERT_EQUAL(record[1].done, serial);
	end();
}

UT_MAIN("nic_fw/coll/goal_run", UT(mapped_buffers_of_a_run), UT(traces), UT(points_that_come_late),
	UT(cancels), UT(timers), UT(record_of_a_complete_run), UT(two_runs),
	UT(doorbells_that_begin_nothing), UT(buffers_of_a_run), UT(time_limits), UT(events),
	UT(ranks_are_told), UT(operations_under_way), UT(faults), UT(after_a_failure))
