/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of collectives: each field that is wrong is refused, with its status, and nothing is
 * held after a refusal.
 */
#include "tests/nic_fw/coll/goal_load_fix.h"

enum {
	RUNS = 4,
	HEAP_BYTES = 1 << 20,
	POOL_BYTES = 65536,
};

static struct memory {
	struct hw_goal_peer peers[RANKS];
	struct sched code;
	struct hw_goal_bind binds[2];
	uint8_t slot[2][SLOT_BYTES];
	uint8_t pool[POOL_BYTES];
} memory;

static uint32_t client, other, pd, stag, unmapped;
static struct hw_cmd_goal_comm comm_arg;
static struct hw_cmd_goal_load load_arg;

static uint32_t attached(uint32_t heap_bytes)
{
	static uint32_t pid;
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .pid = ++pid, .uid = 1};
	uint32_t made;

	for (uint32_t kind = 0; kind < HW_SHARES_SHARD; kind++)
		params.limits.process[kind] = params.limits.user[kind] = 64;
	params.limits.process[HW_SHARE_GOAL] = heap_bytes;
	params.limits.user[HW_SHARE_GOAL] = 16 << 20;
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &made), 0);
	return made;
}

static int open_runs(uint32_t of, uint32_t runs, uint32_t eq)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_OPEN, .u.goal_open = {.runs = runs, .eq = eq}};
	struct hw_cmd_resp resp;

	return host_cmd(ut.nic, of, &cmd, &resp);
}

static int comm(uint32_t of, enum hw_cmd_op op, const struct hw_cmd_goal_comm *arg,
		uint32_t *handle)
{
	struct hw_cmd cmd = {.op = op, .u.goal_comm = *arg};
	struct hw_cmd_resp resp;
	int status = host_cmd(ut.nic, of, &cmd, &resp);

	if (handle)
		*handle = resp.u.handle;
	return status;
}

static void begin(void)
{
	memset(&memory, 0, sizeof(memory));
	make(&memory.code);
	fw_ut_begin(&ut);
	client = attached(HEAP_BYTES);
	other = attached(HEAP_BYTES);
	pd = host_pd(ut.nic, client);
	stag = host_reg(ut.nic, client, pd, &memory, sizeof(memory), HW_ACCESS_LOCAL_WRITE, true);
	unmapped =
	    host_reg(ut.nic, client, pd, &memory, sizeof(memory), HW_ACCESS_LOCAL_WRITE, false);
	CU_ASSERT_EQUAL(open_runs(client, RUNS, HW_EQ_NONE), 0);
	CU_ASSERT_EQUAL(open_runs(other, RUNS, HW_EQ_NONE), 0);
	comm_arg = (struct hw_cmd_goal_comm){
	    .key = 1,
	    .key2 = 2,
	    .rank = RANK,
	    .num_ranks = RANKS,
	    .pd = pd,
	    .peers_stag = stag,
	    .peers_addr = (uintptr_t)memory.peers,
	};
	CU_ASSERT_EQUAL_FATAL(comm(client, HW_CMD_GOAL_COMM_CREATE, &comm_arg, &comm_arg.comm), 0);
	for (int i = 0; i < 2; i++)
		memory.binds[i] =
		    (struct hw_goal_bind){(uintptr_t)memory.slot[i], SLOT_BYTES, stag, 0};
	load_arg = (struct hw_cmd_goal_load){
	    .addr = (uintptr_t)&memory.code,
	    .bytes = sizeof(memory.code),
	    .stag = stag,
	    .binds_addr = (uintptr_t)memory.binds,
	    .binds_stag = stag,
	    .comm = comm_arg.comm,
	};
}

static void end(void)
{
	fw_ut_detach(&ut, client);
	fw_ut_detach(&ut, other);
	fw_ut_end(&ut);
}

/* The command with a field changed, and its status. */
#define REFUSED(of, op, field, value, want)                                                        \
	do {                                                                                       \
		struct hw_cmd_goal_comm arg_ = good;                                               \
                                                                                                   \
		arg_.field = (value);                                                              \
		CU_ASSERT_EQUAL(comm(of, op, &arg_, NULL), want);                                  \
	} while (0)

static void runs_are_opened_once(void)
{
	uint32_t poor, eq;

	begin();
	CU_ASSERT_EQUAL(open_runs(client, RUNS, HW_EQ_NONE), FW_EBUSY);
	poor = attached(64);
	CU_ASSERT_EQUAL(open_runs(poor, 0, HW_EQ_NONE), FW_EINVAL);
	CU_ASSERT_EQUAL(open_runs(poor, 3, HW_EQ_NONE), FW_EINVAL);
	CU_ASSERT_EQUAL(open_runs(poor, 2 * HW_MAX_GOAL_RUNS, HW_EQ_NONE), FW_EINVAL);
	CU_ASSERT_EQUAL(open_runs(poor, RUNS, 7), FW_EINVAL);
	/* Its share of memory has no room for that many records. */
	CU_ASSERT_EQUAL(open_runs(poor, HW_MAX_GOAL_RUNS, HW_EQ_NONE), FW_EDQUOT);
	CU_ASSERT_EQUAL(ut.nic->host.clients[poor].goal_bytes, 0);
	fw_ut_detach(&ut, poor);
	/* An event queue is in use as long as runs report to it. */
	poor = attached(HEAP_BYTES);
	eq = fw_ut_eq(&ut, poor, 16);
	CU_ASSERT_EQUAL(open_runs(poor, RUNS, eq), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, poor, HW_CMD_DESTROY_EQ, eq, NULL), FW_EBUSY);
	fw_ut_detach(&ut, poor);
	end();
}

static void communicators(void)
{
	struct hw_cmd_goal_comm good;
	uint32_t closed, second;

	begin();
	good = comm_arg;
	good.comm = 0;
	CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_COMM_CREATE, &good, NULL), FW_EBUSY);
	good.key = 3;
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, pd, pd + 100, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, num_ranks, 0, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, num_ranks, HW_MAX_GOAL_RANKS + 1, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, rank, RANKS, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, reserved, 1, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, comm, 1, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, pool_bytes, 1, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, eager_bytes, HW_MAX_GOAL_EAGER_BYTES + 1,
		FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_COMM_CREATE, peers_stag, stag ^ 1, FW_EFAULT);
	REFUSED(other, HW_CMD_GOAL_COMM_CREATE, rank, RANK, FW_EINVAL);
	closed = attached(HEAP_BYTES);
	CU_ASSERT_EQUAL(comm(closed, HW_CMD_GOAL_COMM_CREATE, &good, NULL), FW_EINVAL);
	fw_ut_detach(&ut, closed);

	/* Each has a number of its own. */
	CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_COMM_CREATE, &good, &second), 0);
	CU_ASSERT_NOT_EQUAL(second, comm_arg.comm);
	good = comm_arg;
	good.comm = second;
	CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_COMM_DESTROY, &good, NULL), 0);
	good = comm_arg;
	REFUSED(client, HW_CMD_GOAL_COMM_DESTROY, comm, comm_arg.comm + 1, FW_EINVAL);
	REFUSED(other, HW_CMD_GOAL_COMM_DESTROY, comm, comm_arg.comm, FW_EINVAL);
	CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_COMM_DESTROY, &good, NULL), 0);
	CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_COMM_DESTROY, &good, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].share->process->held[HW_SHARE_COMM], 0);
	end();
}

static void pools(void)
{
	struct hw_cmd_goal_comm good;

	begin();
	good = comm_arg;
	good.pool_stag = stag;
	good.pool_addr = (uintptr_t)memory.pool;
	good.pool_bytes = POOL_BYTES;
	REFUSED(other, HW_CMD_GOAL_POOL, comm, comm_arg.comm, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_POOL, pool_bytes, 1, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_POOL, pool_bytes, GOAL_HEAP_BYTES + 1, FW_EINVAL);
	REFUSED(client, HW_CMD_GOAL_POOL, pool_bytes, 2 * sizeof(memory), FW_EFAULT);
	REFUSED(client, HW_CMD_GOAL_POOL, pool_stag, stag ^ 1, FW_EFAULT);
	for (int i = 0; i < GOAL_POOL_REGIONS; i++)
		CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_POOL, &good, NULL), 0);
	CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_POOL, &good, NULL), FW_ENOSPC);
	end();
}

/* Loads to the end; returns the status, and the reason in *resp. */
static int loaded(uint32_t of, const struct hw_cmd_goal_load *arg, struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_LOAD, .u.goal_load = *arg};
	uint32_t done = ut.port.num_done, turns = 0;
	int status = host_cmd(ut.nic, of, &cmd, resp);

	if (status >= 0)
		return status;
	while (ut.port.num_done == done) {
		fw_ut_poll(&ut, 1000);
		CU_ASSERT_FATAL(++turns < 10000);
	}
	CU_ASSERT_EQUAL(ut.port.done_client, of);
	*resp = ut.port.done;
	return resp->status;
}

static void refused_load(const struct hw_cmd_goal_load *arg, int want, const char *why)
{
	uint64_t held = ut.nic->host.clients[client].goal_bytes;
	struct hw_cmd_resp resp = {0};

	CU_ASSERT_EQUAL(loaded(client, arg, &resp), want);
	if (why) {
		CU_ASSERT_STRING_EQUAL(resp.u.goal_load.why, why);
		CU_ASSERT_EQUAL(resp.u.goal_load.schedule, FW_NONE);
	}
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].goal_bytes, held);
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].share->process->held[HW_SHARE_SCHEDULE], 0);
}

static void loads(void)
{
	struct hw_cmd_goal_load arg;
	struct hw_cmd_resp resp;

	begin();
#define BAD(field, value, want, why)                                                               \
	do {                                                                                       \
		arg = load_arg;                                                                    \
		arg.field = (value);                                                               \
		refused_load(&arg, want, why);                                                     \
	} while (0)
	BAD(comm, comm_arg.comm + 1, FW_EINVAL, NULL);
	BAD(bytes, sizeof(struct goal_header) - 1, FW_EINVAL, NULL);
	BAD(schedule, 1, FW_EINVAL, NULL);
	BAD(run, 1, FW_EINVAL, NULL);
	BAD(serial, 1, FW_EINVAL, NULL);
	BAD(stag, stag ^ 1, FW_EFAULT, NULL);
	CU_ASSERT_EQUAL(loaded(other, &load_arg, &resp), FW_EINVAL);
	BAD(bytes, sizeof(memory.code) - 1, FW_EINVAL,
	    "the schedule's length is not what its header says");
	BAD(binds_stag, stag ^ 1, FW_EFAULT, "the table of buffers is not registered memory");
	memory.binds[1].stag ^= 1;
	refused_load(&load_arg, FW_EFAULT, "a buffer is not registered memory");
	memory.binds[1].stag ^= 1;
	memory.binds[1].bytes = SHORT_BYTES - 1;
	refused_load(&load_arg, FW_EINVAL, "a buffer is shorter than the schedule says");
	memory.binds[1].bytes = SHORT_BYTES;
	memory.code.h.num_ranks++;
	CU_ASSERT_EQUAL(loaded(client, &load_arg, &resp), FW_EINVAL);
	CU_ASSERT_TRUE(resp.u.goal_load.why[0]);
	memory.code.h.num_ranks--;
#undef BAD
	CU_ASSERT_EQUAL(loaded(client, &load_arg, &resp), 0);
	CU_ASSERT_FALSE(ut.nic->goal.schedules[resp.u.goal_load.schedule].unmapped);
	CU_ASSERT_FALSE(ut.nic->goal.schedules[resp.u.goal_load.schedule].unbound);
	/* A run that writes is refused when it begins: the buffer may be for reading alone. */
	memory.binds[0].stag = host_reg(ut.nic, client, pd, memory.slot[0], SLOT_BYTES, 0, true);
	CU_ASSERT_EQUAL(loaded(client, &load_arg, &resp), 0);
	/* Without a table each run names its buffers. */
	load_arg.binds_addr = load_arg.binds_stag = 0;
	CU_ASSERT_EQUAL(loaded(client, &load_arg, &resp), 0);
	CU_ASSERT_TRUE(ut.nic->goal.schedules[resp.u.goal_load.schedule].unbound);
	end();
}

/* The table of buffers comes late: nothing is held meanwhile. */
static void table_comes_late(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_LOAD};
	struct hw_cmd_resp resp;
	const uint64_t *held;

	begin();
	held = &ut.nic->host.clients[client].share->process->held[HW_SHARE_SCHEDULE];
	load_arg.binds_stag = unmapped;
	cmd.u.goal_load = load_arg;
	ut.port.host_busy = true;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), -1);
	CU_ASSERT_EQUAL(*held, 0);
	for (int i = 0; i < 10; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(*held, 0);
	CU_ASSERT_EQUAL(ut.port.num_done, 0);
	ut.port.host_busy = false;
	for (int i = 0; i < 1000 && !ut.port.num_done; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(*held, 1);
	end();
}

static int unload(uint32_t of, uint32_t handle)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_UNLOAD, .u.goal_load.schedule = handle};
	struct hw_cmd_resp resp;

	return host_cmd(ut.nic, of, &cmd, &resp);
}

/* Memory that is not mapped is noted, a page that comes late is waited for. */
static void memory_that_is_not_mapped(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_LOAD};
	struct hw_cmd_resp resp;
	uint32_t done;

	begin();
	memory.binds[1].stag = unmapped;
	load_arg.stag = load_arg.binds_stag = unmapped;
	CU_ASSERT_EQUAL(loaded(client, &load_arg, &resp), 0);
	CU_ASSERT_TRUE(ut.nic->goal.schedules[resp.u.goal_load.schedule].unmapped);
	CU_ASSERT_EQUAL(unload(other, resp.u.goal_load.schedule), FW_EINVAL);
	CU_ASSERT_EQUAL(unload(client, resp.u.goal_load.schedule + 100), FW_EINVAL);
	CU_ASSERT_EQUAL(unload(client, resp.u.goal_load.schedule), 0);
	CU_ASSERT_EQUAL(unload(client, resp.u.goal_load.schedule), FW_EINVAL);
	ut.port.host_fault = true;
	CU_ASSERT_EQUAL(loaded(client, &load_arg, &resp), FW_EFAULT);
	ut.port.host_fault = false;
	ut.port.host_busy = true;
	cmd.u.goal_load = load_arg;
	done = ut.port.num_done;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), -1);
	for (int i = 0; i < 10; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.num_done, done);
	ut.port.host_busy = false;
	for (int i = 0; i < 1000 && ut.port.num_done == done; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.num_done, done + 1);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	end();
}

/* The memory of a load may go, which ends it with a reason; its communicator may not. */
static void loads_under_way(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_LOAD};
	struct hw_cmd_resp resp;
	uint32_t i, code;

	begin();
	code = host_reg(ut.nic, client, pd, &memory.code, sizeof(memory.code), 0, true);
	cmd.u.goal_load = load_arg;
	cmd.u.goal_load.stag = code;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), -1);
	CU_ASSERT_EQUAL(comm(client, HW_CMD_GOAL_COMM_DESTROY, &comm_arg, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DEREG_MR, code, NULL), 0);
	for (i = 0; i < 100 && !ut.port.num_done; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.done.status, FW_EINVAL);
	CU_ASSERT_STRING_EQUAL(ut.port.done.u.goal_load.why,
			       "the schedule's memory was deregistered");
	/* A user's part of the loads under way, which end with their process. */
	cmd.u.goal_load.stag = stag;
	for (i = 0; i < GOAL_MAX_LOADS; i++)
		if (host_cmd(ut.nic, client, &cmd, &resp) >= 0)
			break;
	CU_ASSERT_EQUAL(i, GOAL_MAX_LOADS - GOAL_MAX_LOADS / SHARE_POOL_PARTS);
	CU_ASSERT_EQUAL(resp.status, FW_EAGAIN);
	CU_ASSERT_EQUAL(ut.nic->goal.loads_active, i);
	fw_ut_detach(&ut, client);
	CU_ASSERT_EQUAL(ut.nic->goal.loads_active, 0);
	fw_ut_detach(&ut, other);
	fw_ut_end(&ut);
}

static void cancels(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_CANCEL};
	struct hw_cmd_resp resp;

	begin();
	cmd.u.goal_load.run = RUNS;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EINVAL);
	cmd.u.goal_load.run = RUNS - 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	end();
}

static int op(uint32_t of, const struct hw_cmd_goal_op *arg, const struct goal_op_insn *code,
	      struct hw_cmd_resp *resp)
{
	const struct fw_cmd_aux aux = {.code = code};
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_OP, .u.goal_op = *arg};

	CU_ASSERT_EQUAL(fw_cmd(ut.nic, of, &cmd, &aux, resp), FW_CMD_DONE);
	return resp->status;
}

static void operations(void)
{
	static const struct goal_op_insn code[] = {{.code = 0xb7}, {.code = 0x95}};
	struct hw_cmd_goal_op arg, good;
	struct hw_cmd_resp resp;

	begin();
	good = (struct hw_cmd_goal_op){
	    .comm = comm_arg.comm, .num_insns = 2, .elem_bytes = 8, .block = 4, .mark = 7};
	CU_ASSERT_EQUAL(op(other, &good, code, &resp), FW_EINVAL);
	CU_ASSERT_EQUAL(op(client, &good, NULL, &resp), FW_EINVAL);
	arg = good;
	arg.num_insns = GOAL_OP_MAX_INSNS + 1;
	CU_ASSERT_EQUAL(op(client, &arg, code, &resp), FW_EINVAL);
	arg = good;
	arg.reserved = 1;
	CU_ASSERT_EQUAL(op(client, &arg, code, &resp), FW_EINVAL);
	/* The verifier says why: the program does not end. */
	arg = good;
	arg.num_insns = 1;
	CU_ASSERT_EQUAL(op(client, &arg, code, &resp), FW_EINVAL);
	CU_ASSERT_TRUE(resp.u.goal_op.why[0]);
	CU_ASSERT_EQUAL(resp.u.goal_op.op, FW_NONE);
	for (uint32_t i = 0; i < GOAL_OPS_PER_COMM; i++) {
		CU_ASSERT_EQUAL(op(client, &good, code, &resp), 0);
		CU_ASSERT_EQUAL(resp.u.goal_op.op, i);
	}
	CU_ASSERT_EQUAL(op(client, &good, code, &resp), FW_ENOSPC);
	end();
}

/* Schedules name an operation by its number, its mark and the bytes of an element. */
static void operations_of_schedules(void)
{
	static const struct goal_op_insn code[] = {{.code = 0xb7}, {.code = 0x95}};
	struct goal_insn *insn = &memory.code.ops[2];
	const struct hw_cmd_goal_op arg = {.num_insns = 2, .elem_bytes = 4, .block = 4, .mark = 7};
	struct hw_cmd_resp resp;

	begin();
	insn->sub = GOAL_LOCAL_USER;
	insn->width = 4;
	insn->tag = 7;
	refused_load(&load_arg, FW_EINVAL,
		     "an operation that is not registered on the communicator");
	for (uint32_t i = 0; i < 2; i++) {
		struct hw_cmd_goal_op with = arg;

		with.comm = comm_arg.comm;
		with.mark += i;
		CU_ASSERT_EQUAL(op(client, &with, code, &resp), 0);
	}
	insn->peer = 2;
	refused_load(&load_arg, FW_EINVAL,
		     "an operation that is not registered on the communicator");
	insn->peer = 1;
	refused_load(&load_arg, FW_EINVAL, "another operation is registered under this number");
	insn->peer = 0;
	insn->width = 2;
	refused_load(&load_arg, FW_EINVAL,
		     "elements are not of the bytes that the operation was registered with");
	insn->width = 4;
	CU_ASSERT_EQUAL(loaded(client, &load_arg, &resp), 0);
	end();
}

UT_MAIN("nic_fw/coll/goal_cmd", UT(runs_are_opened_once), UT(communicators), UT(pools), UT(loads),
	UT(table_comes_late), UT(memory_that_is_not_mapped), UT(loads_under_way), UT(cancels),
	UT(operations), UT(operations_of_schedules))
