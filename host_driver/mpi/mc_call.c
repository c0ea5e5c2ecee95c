/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call: what all collectives share, and whether the NIC takes it. Calls mc_rules.c, mc_count.c.
 */
#include <string.h>

#include "host_driver/mpi/mc.h"

void mc_call_init(struct mc_call *call, enum mc_coll coll, uint64_t count, int root)
{
	static const GOAL_Collective colls[MC_COLLS] = {
#define X(name, id, goal) [MC_##id] = GOAL_COLL_##goal,
	    MC_COLLECTIVES(X)
#undef X
	};

	/* The whole of it: schedules are found by comparison of memory. */
	memset(call, 0, sizeof(*call));
	call->coll = coll;
	call->reason = MC_TAKEN;
	call->goal.coll = colls[coll];
	call->goal.alg = GOAL_ALG_AUTO;
	call->goal.count = (int64_t)count;
	call->goal.op = GOAL_COPY;
	call->goal.type = GOAL_UINT;
	call->goal.width = 8;
	call->goal.root = root;
}

bool mc_call_fits(struct mc_call *call, enum mc_form form, const struct mc_comm *comm)
{
	uint64_t bytes = call->unequal ? UINT64_MAX : call->block_bytes;

	/* Handed on it would be carried out: the MPI side reports the error. */
	if (call->refused)
		return true;
	if (comm->left != MC_TAKEN)
		call->reason = comm->left;
	if (call->reason == MC_TAKEN && !call->unequal && call->large_bytes > mc_settings.max_bytes)
		call->reason = MC_REASON_SIZE;
	if (call->reason == MC_TAKEN && !mc_rules_take(call->coll, form, comm->ranks, bytes))
		call->reason = MC_REASON_RULE;
	if (call->reason == MC_TAKEN)
		return true;
	mc_count(call->coll, form, call->reason, call->large_bytes);
	return false;
}

bool mc_call_taken(struct mc_call *call, enum mc_form form, const struct mc_comm *comm)
{
	if (!mc_call_fits(call, form, comm))
		return false;
	if (!call->refused)
		mc_count(call->coll, form, MC_TAKEN, call->large_bytes);
	return true;
}
