/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of the process of evil.h: commands, schedules and run records, valid except for the
 * faults that the input chooses. Calls sched.c and proc.c.
 */
#include "tests/fuzz/evil.h"

static const uint32_t slot_bytes[SCHED_SLOTS] = {16 << 10, 8 << 10};

static uint32_t handle(uint32_t e, enum evil_kind kind, uint32_t i)
{
	return evil_pick(e, kind, i)->handle;
}

/* r->x bit 0: rank, bit 1: the same key at another place, from 4: ranks. */
static void sane_comm(uint32_t e, struct hw_cmd_goal_comm *comm, const struct rec *r)
{
	struct hw_goal_peer *peers = (void *)(w->proc[EVIL_PROC + e].mem + EVIL_STAGE_AT);
	uint32_t i, ranks = 2 + (r->x >> 4 & 63);

	memset(peers, 0, ranks * sizeof(*peers));
	for (i = 0; i < ranks; i++)
		memcpy(peers[i].mac, w->nic[(i ^ r->x >> 1) & 1].fw->config.mac, WIRE_MAC_BYTES);
	*comm = (struct hw_cmd_goal_comm){
	    .key = UINT64_C(0x5555) + (r->x >> 10 & 7),
	    .key2 = 1,
	    .rank = r->x & 1,
	    .num_ranks = ranks,
	    .pd = handle(e, EVIL_PD, r->b),
	    .peers_stag = handle(e, EVIL_MR, r->b >> 2),
	    .peers_addr = (uintptr_t)peers,
	    .eager_bytes = r->x >> 16 & 0x3fff,
	};
}

/* r->x: the schedule, bit 31: for the other rank; z: index and change of one of its words. */
static void sane_load(uint32_t e, struct hw_cmd_goal_load *load, const struct rec *r)
{
	uint8_t *stage = w->proc[EVIL_PROC + e].mem + EVIL_STAGE_AT;
	struct hw_goal_bind *binds = (void *)stage;
	uint8_t *code = stage + 256;
	uint32_t bytes = sched_build(code, (e ^ r->x >> 31) & 1, r->x & 0xffff, slot_bytes), i;
	uint32_t *word = (uint32_t *)(void *)(code + (r->z >> 8) % (bytes / 4) * 4);

	static_assert(EVIL_STAGE_AT + 256 + SCHED_BYTES <= EVIL_POOL_AT, "no room for a schedule");
	switch (r->z & 7) {
	case 1:
		*word = r->z >> 3 & 31;
		break;
	case 2:
		*word += 1;
		break;
	case 3:
		*word -= 1;
		break;
	case 4:
		*word ^= 1u << (r->z >> 3 & 31);
		break;
	case 5:
		*word = UINT32_MAX - (r->z >> 3 & 31);
		break;
	default:
		break;
	}
	for (i = 0; i < SCHED_SLOTS; i++)
		binds[i] =
		    (struct hw_goal_bind){(uintptr_t)w->proc[EVIL_PROC + e].mem + i * slot_bytes[0],
					  slot_bytes[i], handle(e, EVIL_MR, (r->b >> 4) + i), 0};
	*load = (struct hw_cmd_goal_load){
	    .addr = (uintptr_t)code,
	    .bytes = bytes,
	    .binds_addr = (uintptr_t)binds,
	    .stag = handle(e, EVIL_MR, r->b >> 2),
	    .binds_stag = handle(e, EVIL_MR, r->b >> 2),
	    .comm = handle(e, EVIL_COMM, r->b),
	};
}

void evil_goal_sane(uint32_t e, struct hw_cmd *cmd, const struct rec *r)
{
	switch (cmd->op) {
	case HW_CMD_GOAL_OPEN:
		cmd->u.goal_open = (struct hw_cmd_goal_open){
		    r->x, r->b & 1 ? handle(e, EVIL_EQ, r->b >> 1) : HW_EQ_NONE};
		break;
	case HW_CMD_GOAL_COMM_CREATE:
		sane_comm(e, &cmd->u.goal_comm, r);
		break;
	case HW_CMD_GOAL_COMM_DESTROY:
		cmd->u.goal_comm = (struct hw_cmd_goal_comm){.comm = handle(e, EVIL_COMM, r->b)};
		break;
	case HW_CMD_GOAL_POOL:
		cmd->u.goal_comm = (struct hw_cmd_goal_comm){
		    .comm = handle(e, EVIL_COMM, r->b),
		    .pool_stag = handle(e, EVIL_MR, r->b >> 2),
		    .pool_addr = (uintptr_t)w->proc[EVIL_PROC + e].mem + EVIL_POOL_AT,
		    .pool_bytes = 1024u << (r->x & 15),
		};
		break;
	case HW_CMD_GOAL_LOAD:
		sane_load(e, &cmd->u.goal_load, r);
		break;
	case HW_CMD_GOAL_UNLOAD:
		cmd->u.goal_load =
		    (struct hw_cmd_goal_load){.schedule = handle(e, EVIL_SCHEDULE, r->b)};
		break;
	default:
		cmd->u.goal_load = (struct hw_cmd_goal_load){.run = r->b % EVIL_RUNS,
							     .serial = evil[e].serial - r->x % 4};
		break;
	}
}

/* r->b: schedule; x: record (4 bits), time-out (16 bits); c bit 4: traced, bit 5: with an event. */
void evil_run(uint32_t e, const struct rec *r)
{
	struct w_proc *p = &w->proc[EVIL_PROC + e];
	uint32_t i = r->x % EVIL_RUNS;
	struct hw_goal_run *record = (struct hw_goal_run *)(void *)(p->bar + evil[e].runs_offset);

	if (!evil[e].runs_offset)
		return;
	record[i].serial = ++evil[e].serial;
	record[i].schedule = handle(e, EVIL_SCHEDULE, r->b);
	record[i].timeout_ns = (uint64_t)(r->x >> 4 & 0xffff) << (r->x >> 20 & 15);
	record[i].flags = r->c & 0x20 ? HW_GOAL_RUN_F_EVENT : 0;
	record[i].trace_addr = (uintptr_t)p->mem + (r->z & 0x1ffff);
	record[i].trace_stag = handle(e, EVIL_MR, r->b >> 4);
	record[i].trace_entries = r->c & 0x10 ? r->y : 0;
	proc_ring(p, HW_DB_GOAL_RUN, r->c & 0x40 ? r->z : i, 0);
}
