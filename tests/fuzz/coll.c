/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The communicator of coll.h, without libgoal. Calls proc.c and sched.c.
 */
#include "tests/fuzz/coll.h"

static int command(const struct coll_end *end, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct hw_cmd_resp unused;

	return proc_cmd(end->p, cmd, resp ? resp : &unused);
}

struct hw_goal_run *coll_record(const struct coll *coll, uint32_t e, uint32_t record)
{
	const struct coll_end *end = &coll->end[e];

	return (struct hw_goal_run *)(void *)(end->p->bar + end->runs_offset) + record;
}

static void open_end(struct coll *coll, uint32_t e)
{
	struct coll_end *end = &coll->end[e];
	struct hw_goal_peer *peers = (void *)(end->mem + COLL_STAGE_AT);
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_OPEN, .u.goal_open = {COLL_RECORDS, HW_EQ_NONE}};
	struct hw_cmd_resp resp;
	uint32_t i;

	W_CHECK(!command(end, &cmd, &resp), "coll: no run table");
	end->runs_offset = resp.u.goal_open.runs_offset;
	memset(peers, 0, 2 * sizeof(*peers));
	for (i = 0; i < 2; i++) {
		memcpy(peers[i].mac, w->nic[coll->end[i].p->nic].fw->config.mac, WIRE_MAC_BYTES);
		peers[i].client = coll->end[i].p->client;
	}
	cmd = (struct hw_cmd){.op = HW_CMD_GOAL_COMM_CREATE};
	cmd.u.goal_comm = (struct hw_cmd_goal_comm){
	    .key = coll->key,
	    .key2 = ~coll->key,
	    .rank = e,
	    .num_ranks = 2,
	    .pd = end->pd,
	    .peers_stag = end->stag[0],
	    .peers_addr = (uintptr_t)peers,
	    .eager_bytes = COLL_EAGER_BYTES,
	};
	W_CHECK(!command(end, &cmd, &resp), "coll: no communicator");
	end->comm = resp.u.handle;
	cmd = (struct hw_cmd){.op = HW_CMD_GOAL_POOL};
	cmd.u.goal_comm = (struct hw_cmd_goal_comm){
	    .comm = end->comm,
	    .pool_stag = end->stag[0],
	    .pool_addr = (uintptr_t)end->mem + COLL_POOL_AT,
	    .pool_bytes = COLL_POOL_BYTES,
	};
	W_CHECK(!command(end, &cmd, NULL), "coll: no pool");
}

int coll_load(struct coll *coll, uint32_t e, uint32_t k, uint32_t seed)
{
	struct coll_end *end = &coll->end[e];
	uint8_t *stage = end->mem + COLL_STAGE_AT;
	struct hw_goal_bind *binds = (void *)(stage + COLL_POOL_AT - 128);
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_UNLOAD};
	struct hw_cmd_resp resp;
	int err;

	static_assert(SCHED_BYTES + 128 <= COLL_POOL_AT, "the stage is too small");
	if (end->schedule[k] != FW_NONE) {
		cmd.u.goal_load.schedule = end->schedule[k];
		W_CHECK(!command(end, &cmd, NULL), "coll: no unload");
		end->schedule[k] = FW_NONE;
	}
	cmd = (struct hw_cmd){.op = HW_CMD_GOAL_LOAD};
	cmd.u.goal_load = (struct hw_cmd_goal_load){
	    .addr = (uintptr_t)stage,
	    .bytes = sched_build(stage, e, seed, end->bytes),
	    .binds_addr = (uintptr_t)binds,
	    .stag = end->stag[0],
	    .binds_stag = end->stag[0],
	    .comm = end->comm,
	};
	binds[0] = (struct hw_goal_bind){(uintptr_t)end->mem + COLL_SLOT_AT, end->bytes[0],
					 end->stag[0], 0};
	binds[1] = (struct hw_goal_bind){(uintptr_t)end->other, end->bytes[1], end->stag[1], 0};
	err = command(end, &cmd, &resp);
	if (!err)
		end->schedule[k] = resp.u.goal_load.schedule;
	return err;
}

bool coll_start(struct coll *coll, uint32_t e, uint32_t k, uint64_t timeout_ns)
{
	struct coll_end *end = &coll->end[e];
	uint32_t i;

	for (i = 0; i < COLL_RECORDS; i++) {
		struct hw_goal_run *record = coll_record(coll, e, i);

		if (__atomic_load_n(&record->done, __ATOMIC_ACQUIRE) != end->serial[i])
			continue;
		record->serial = ++end->serial[i];
		record->schedule = end->schedule[k];
		record->timeout_ns = timeout_ns;
		proc_ring(end->p, HW_DB_GOAL_RUN, i,
			  end->runs_offset + i * sizeof(*record) +
			      offsetof(struct hw_goal_run, rung));
		return true;
	}
	return false;
}

int coll_cancel(struct coll *coll, uint32_t e, uint32_t record)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_CANCEL};

	cmd.u.goal_load.run = record;
	cmd.u.goal_load.serial = coll->end[e].serial[record];
	return command(&coll->end[e], &cmd, NULL);
}

bool coll_idle(const struct coll *coll)
{
	uint32_t e, i;

	for (e = 0; e < 2; e++)
		for (i = 0; i < COLL_RECORDS && coll->end[e].p->attached; i++)
			if (coll_record(coll, e, i)->done != coll->end[e].serial[i])
				return false;
	return true;
}

static const struct coll *waited_for;

static bool is_idle(void)
{
	return coll_idle(waited_for);
}

/* True if it succeeds at both ends; some divide by zero. */
static bool works(struct coll *coll, uint32_t k)
{
	uint32_t e;

	for (e = 0; e < 2; e++)
		W_CHECK(coll_start(coll, e, k, 0), "coll: no record");
	waited_for = coll;
	world_run(W_S, is_idle);
	W_CHECK(coll_idle(coll), "coll: schedule %u does not end", k);
	return coll_record(coll, 0, 0)->status == HW_GOAL_OK &&
	       coll_record(coll, 1, 0)->status == HW_GOAL_OK;
}

void coll_begin(struct coll *coll)
{
	uint32_t e, k = 0, seed;

	for (e = 0; e < 2; e++) {
		open_end(coll, e);
		memset(coll->end[e].schedule, 0xff, sizeof(coll->end[e].schedule));
	}
	for (seed = SCHED_EXCHANGE; k < COLL_SCHEDULES; seed++) {
		/* The last one has multicasts. */
		if (k == COLL_SCHEDULES - 1)
			seed |= SCHED_GROUPS;
		for (e = 0; e < 2; e++)
			W_CHECK(!coll_load(coll, e, k, seed), "coll: schedule %u refused", seed);
		k += works(coll, k);
	}
}
