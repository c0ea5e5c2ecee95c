/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: a NIC's own hostile host.
 *
 * Two hostile processes, one on each NIC, send commands with any field, write requests, records,
 * doorbells and any other word of their BARs, between turns of the firmware and, where it calls the
 * port, in the middle of one. They are killed and restarted. Two processes that keep the rules
 * exchange data all the while (good.c): all of it must arrive, in time and right. The input is a
 * program of 16-byte records, as that of frames.c is.
 *
 * Calls evil.c, good.c, world.c.
 */
#include "tests/fuzz/evil.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/good.h"

enum step {
	STEP_CMD,
	STEP_CMD_RAW,
	STEP_WQE,
	STEP_RECV,
	STEP_POKE,
	STEP_RING,
	STEP_POLL,
	STEP_TIME,
	STEP_GOOD,
	STEP_LATER,
	STEP_KILL,
	STEP_TOOL,
	STEP_FAULT,
	STEP_WQE_RAW,
	STEPS,
	/* op % 32: tagged endpoints; from RUN on the program is about collectives */
	STEP_TAG_CMD = 26,
	STEP_TAG,
	STEP_RUN,
	STEP_GOOD_RUN,
	STEP_GOAL,
	STEP_GOAL_LATER,
};

enum {
	TOOL_PROC = 4,
	RAW_CMD_RECS = 7, /* hw_cmd.u */
	RAW_WQE_RECS = 4, /* one slot */
};

static struct evil begun[2];

/* The action for the n-th next call of the port by the firmware. */
static struct rec later;
static uint32_t later_calls;

static void strike(void)
{
	if (!later_calls || --later_calls)
		return;
	if (!w->proc[EVIL_PROC + (later.a & 1)].attached)
		return;
	evil_poke(later.a & 1, &later);
}

static void step_poll(const struct rec *r)
{
	uint32_t n;

	if (r->b & 1) {
		world_settle();
		return;
	}
	for (n = 1 + r->c % 4; n; n--) {
		world_poll(r->a & 1);
		w->wire.now_ns += r->x % 2000;
	}
}

static void step_kill(uint32_t e, const struct rec *r)
{
	/* Rarely: a live process exercises more code. */
	if (r->x % 16 != 3)
		return;
	if (w->proc[EVIL_PROC + e].attached)
		proc_detach(&w->proc[EVIL_PROC + e]);
}

static void step_tool(const struct rec *r)
{
	struct hw_cmd cmd = {.op = r->b % 4 == 0   ? HW_CMD_QUERY_DEVICE
				   : r->b % 4 == 1 ? HW_CMD_STATS
				   : r->b % 4 == 2 ? HW_CMD_LIST
						   : r->c % (HW_CMD_OPS)};
	struct hw_cmd_resp resp;

	if (cmd.op == HW_CMD_STATS)
		cmd.u.obj = (struct hw_cmd_handle){.cursor = r->x, .shard = r->y};
	else if (cmd.op != HW_CMD_QUERY_DEVICE)
		cmd.u.list = (struct hw_cmd_list){r->c % 8, r->x, r->y};
	proc_cmd(&w->proc[TOOL_PROC], &cmd, &resp);
}

static void step_fault(uint32_t e, const struct rec *r)
{
	switch (r->b % 3) {
	case 0:
		w->proc[EVIL_PROC + e].host_fault = r->c & 1;
		break;
	case 1:
		w->nic[e].port.piece = r->c;
		w->nic[e].port.lends = r->x & 1;
		break;
	default:
		w->nic[e].port.tx_room = r->c;
		break;
	}
}

/* Slots unchanged, behind one another; returns how many records were used. */
static uint32_t step_wqe_raw(uint32_t e, const struct rec *r, uint32_t left)
{
	const struct w_qp *qp = &evil_pick(e, EVIL_QP, r->b)->qp;
	struct hw_sq_wqe slot;
	uint32_t taken = 0;

	if (!qp->made.sq_slots)
		return 0;
	while (left - taken >= RAW_WQE_RECS && taken < RAW_WQE_RECS * (1u + r->c % 4)) {
		memcpy(&slot, r + 1 + taken, sizeof(slot));
		proc_wqe(&w->proc[EVIL_PROC + e], qp, &slot, NULL, 0, true);
		taken += RAW_WQE_RECS;
	}
	proc_ring_sq(&w->proc[EVIL_PROC + e], qp);
	return taken;
}

/* Steps that need the process; returns how many further records were used. */
static uint32_t evil_step(uint32_t e, const struct rec *r, uint32_t left)
{
	switch ((enum step)(r->op % STEPS)) {
	case STEP_CMD:
		evil_cmd(e, r, NULL);
		break;
	case STEP_CMD_RAW:
		if (left < RAW_CMD_RECS)
			break;
		evil_cmd(e, r, (const uint8_t *)(r + 1));
		return RAW_CMD_RECS;
	case STEP_WQE:
		evil_wqe(e, r);
		break;
	case STEP_RECV:
		evil_recv(e, r);
		break;
	case STEP_POKE:
		evil_poke(e, r);
		break;
	case STEP_RING:
		evil_ring(e, r);
		break;
	case STEP_LATER:
		later = *r;
		later_calls = 1 + r->y % 16;
		break;
	case STEP_WQE_RAW:
		return step_wqe_raw(e, r, left);
	case STEP_POLL:
	case STEP_TIME:
	case STEP_GOOD:
	case STEP_KILL:
	case STEP_TOOL:
	case STEP_FAULT:
	case STEPS:
	case STEP_TAG_CMD:
	case STEP_TAG:
	case STEP_RUN:
	case STEP_GOOD_RUN:
	case STEP_GOAL:
	case STEP_GOAL_LATER:
		break;
	}
	return 0;
}

/* Tagged endpoints of the hostile processes. */
static void tag_step(uint32_t e, const struct rec *r)
{
	if (!w->proc[EVIL_PROC + e].attached)
		evil_attach(e);
	if (r->op % 32 == STEP_TAG)
		evil_tag(e, r);
	else
		evil_tag_cmd(e, r);
}

/* Collectives of the hostile processes, and of the good ones. */
static void goal_step(uint32_t e, const struct rec *r)
{
	struct rec goal = *r;

	if (r->op % 32 == STEP_GOOD_RUN) {
		good_run();
		return;
	}
	if (!w->proc[EVIL_PROC + e].attached)
		evil_attach(e);
	if (r->op % 32 == STEP_RUN) {
		evil_run(e, r);
		return;
	}
	goal.a =
	    (uint8_t)((HW_CMD_GOAL_OPEN + (r->a >> 1) % (HW_CMD_GOAL_CANCEL - HW_CMD_GOAL_OPEN + 1))
		      << 1);
	goal.c = (uint8_t)(r->c | (r->op % 32 == STEP_GOAL_LATER ? 0x80 : 0));
	evil_cmd(e, &goal, NULL);
}

static uint32_t run_step(const struct rec *r, uint32_t left)
{
	uint32_t e = r->a & 1;
	uint64_t ns = (uint64_t)(r->x & 0xffff) << r->b % 12;

	if (r->op % 32 >= STEP_RUN) {
		goal_step(e, r);
		return 0;
	}
	if (r->op % 32 >= STEP_TAG_CMD) {
		tag_step(e, r);
		return 0;
	}
	switch (r->op % STEPS) {
	case STEP_POLL:
		step_poll(r);
		return 0;
	case STEP_TIME:
		world_run(ns, NULL);
		return 0;
	case STEP_GOOD:
		good_post(e, r->b % GOOD_SLOTS, (enum good_kind)(r->c % GOOD_KINDS), r->x);
		return 0;
	case STEP_KILL:
		step_kill(e, r);
		return 0;
	case STEP_TOOL:
		step_tool(r);
		return 0;
	case STEP_FAULT:
		step_fault(e, r);
		return 0;
	default:
		break;
	}
	if (!w->proc[EVIL_PROC + e].attached)
		evil_attach(e);
	return evil_step(e, r, left);
}

static void finish(void)
{
	uint32_t i;

	for (i = 0; i < W_NICS; i++)
		w->nic[i].port.tx_room = UINT32_MAX;
	/* With the hostile ones alive, and without. */
	good_finish();
	for (i = 0; i < W_NICS; i++)
		if (w->proc[EVIL_PROC + i].attached)
			proc_detach(&w->proc[EVIL_PROC + i]);
	good_finish();
	w->meanwhile = NULL;
	for (i = 0; i < W_NICS; i++)
		proc_detach(&w->proc[GOOD_PROC + i]);
	proc_detach(&w->proc[TOOL_PROC]);
	world_settle();
	world_check_empty();
}

void fuzz_host_begin(void)
{
	world_begin();
	good_begin();
	proc_attach_tool(&w->proc[TOOL_PROC], 0);
	evil_attach(0);
	evil_attach(1);
	evil_connect();
	memcpy(begun, evil, sizeof(begun));
	w->meanwhile = strike;
	world_keep();
}

void fuzz_host(const uint8_t *data, size_t bytes)
{
	static struct rec program[REC_MAX];
	uint32_t n = bytes / sizeof(program[0]) > REC_MAX ? (uint32_t)REC_MAX
							  : (uint32_t)(bytes / sizeof(program[0]));
	uint32_t i, secret = 2166136261u;

	memcpy(program, data, n * sizeof(program[0]));
	memcpy(evil, begun, sizeof(begun));
	later_calls = 0;
	for (i = 0; i < n * sizeof(program[0]); i++)
		secret = (secret ^ data[i]) * 16777619u;
	good_start(secret);
	/* Every second program begins with borrowed frames, so that all that is kept meets both. */
	world_lend(n & 1);
	for (i = 0; i < n; i++) {
		i += run_step(&program[i], n - 1 - i);
		good_poll();
	}
	finish();
	world_reset();
}
