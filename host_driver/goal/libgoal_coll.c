/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as schedules (goal_coll.h).
 *
 * Calls goal_coll_build.c for the graph, then GOAL_Compile().
 */
#include <errno.h>

#include "host_driver/goal/compile/goal_coll_build.h"
#include "host_driver/goal/libgoal.h"

GOAL_Schedule libgoal_coll(GOAL_Comm comm, struct goal_coll_call *call, int64_t count, int width,
			   int root)
{
	GOAL_Schedule sched = NULL;
	GOAL_Graph graph;
	int rc = -EINVAL;

	graph = GOAL_CreateGraphOn(comm);
	if (!graph)
		return NULL;
	if (count >= 0 && width >= 0 && root >= 0) {
		call->count = (uint64_t)count;
		call->width = (uint32_t)width;
		call->root = (uint32_t)root;
		rc = goal_coll_build(graph->graph, call);
	}
	if (rc == 0)
		sched = GOAL_Compile(graph);
	/* Set alike at every rank, whatever its part, so that all ranks report the same misuse. */
	if (sched)
		sched->exclusive = call->coll != GOAL_COLL_BARRIER;
	else if (rc != -EINVAL)
		libgoal_error(libgoal_errno(rc), GOAL_CollectiveName(call->coll));
	else if (call->alg != GOAL_ALG_AUTO || GOAL_AutoAlgorithm(call->coll, 1, 0) >= 0)
		libgoal_error(GOAL_ERR_ARG, "an invalid root, count, buffer, type, operation or "
					    "algorithm for this collective");
	(void)GOAL_FreeGraph(graph);
	return sched;
}

static GOAL_Schedule move(GOAL_Comm comm, GOAL_Collective coll, const void *send, void *recv,
			  int64_t bytes, int root, GOAL_Algorithm alg)
{
	struct goal_coll_call call = {.coll = coll,
				      .alg = alg,
				      .send = send,
				      .recv = recv,
				      .op = GOAL_COPY,
				      .type = GOAL_UINT};

	return libgoal_coll(comm, &call, bytes, 8, root);
}

static GOAL_Schedule combine(GOAL_Comm comm, GOAL_Collective coll, const void *send, void *recv,
			     int64_t count, GOAL_Op op, GOAL_DataType type, int width, int root,
			     GOAL_Algorithm alg)
{
	struct goal_coll_call call = {
	    .coll = coll, .alg = alg, .send = send, .recv = recv, .op = op, .type = type};

	return libgoal_coll(comm, &call, count, width, root);
}

GOAL_Schedule GOAL_BarrierSchedule(GOAL_Comm comm, GOAL_Algorithm alg)
{
	return move(comm, GOAL_COLL_BARRIER, NULL, NULL, 0, 0, alg);
}

GOAL_Schedule GOAL_BcastSchedule(GOAL_Comm comm, void *buf, int64_t bytes, int root,
				 GOAL_Algorithm alg)
{
	return move(comm, GOAL_COLL_BCAST, NULL, buf, bytes, root, alg);
}

GOAL_Schedule GOAL_GatherSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t bytes,
				  int root, GOAL_Algorithm alg)
{
	return move(comm, GOAL_COLL_GATHER, send, recv, bytes, root, alg);
}

GOAL_Schedule GOAL_ScatterSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t bytes,
				   int root, GOAL_Algorithm alg)
{
	return move(comm, GOAL_COLL_SCATTER, send, recv, bytes, root, alg);
}

GOAL_Schedule GOAL_AllgatherSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t bytes,
				     GOAL_Algorithm alg)
{
	return move(comm, GOAL_COLL_ALLGATHER, send, recv, bytes, 0, alg);
}

GOAL_Schedule GOAL_AlltoallSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t bytes,
				    GOAL_Algorithm alg)
{
	return move(comm, GOAL_COLL_ALLTOALL, send, recv, bytes, 0, alg);
}

GOAL_Schedule GOAL_ReduceSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t count,
				  GOAL_Op op, GOAL_DataType type, int width, int root,
				  GOAL_Algorithm alg)
{
	return combine(comm, GOAL_COLL_REDUCE, send, recv, count, op, type, width, root, alg);
}

GOAL_Schedule GOAL_AllreduceSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t count,
				     GOAL_Op op, GOAL_DataType type, int width, GOAL_Algorithm alg)
{
	return combine(comm, GOAL_COLL_ALLREDUCE, send, recv, count, op, type, width, 0, alg);
}

GOAL_Schedule GOAL_ReduceScatterSchedule(GOAL_Comm comm, const void *send, void *recv,
					 int64_t count, GOAL_Op op, GOAL_DataType type, int width,
					 GOAL_Algorithm alg)
{
	return combine(comm, GOAL_COLL_REDUCE_SCATTER, send, recv, count, op, type, width, 0, alg);
}

GOAL_Schedule GOAL_ScanSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t count,
				GOAL_Op op, GOAL_DataType type, int width, GOAL_Algorithm alg)
{
	return combine(comm, GOAL_COLL_SCAN, send, recv, count, op, type, width, 0, alg);
}

GOAL_Schedule GOAL_ExscanSchedule(GOAL_Comm comm, const void *send, void *recv, int64_t count,
				  GOAL_Op op, GOAL_DataType type, int width, GOAL_Algorithm alg)
{
	return combine(comm, GOAL_COLL_EXSCAN, send, recv, count, op, type, width, 0, alg);
}
