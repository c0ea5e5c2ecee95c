/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that combine: reduce, allreduce, reduce_scatter, reduce_scatter_block, scan, exscan.
 *
 * Calls mw_type.c, mw_req.c.
 */
#include <stdlib.h>

#include "host_driver/mpich/mw.h"

/* count is of a vector, or of a rank's block where there are several in the largest buffer. */
static void describe(struct mw_call *call, const struct mc_comm *mc, enum mc_coll coll, int count,
		     uint64_t blocks, MPI_Datatype type, MPI_Op op, int root)
{
	mw_call_init(call, coll, count < 0 ? 0 : (uint64_t)count, root);
	mw_op_set(call, mc, op, type);
	if (count < 0 || root < 0 || (uint32_t)root >= mc->ranks)
		call->mc.reason = MC_REASON_ARGUMENT;
	/* Counted, too, where the call is handed on. */
	call->mc.block_bytes =
	    call->mc.goal.count ? (uint64_t)count * (uint64_t)(call->mc.goal.width / 8) : 0;
	call->mc.large_bytes = call->mc.block_bytes * blocks;
}

/* Sets the sides; a rank other than the root of a reduce has no receive buffer. */
static void set_sides(struct mw_call *call, const void *sbuf, int64_t scount, void *rbuf,
		      int64_t rcount, bool receives, MPI_Datatype type)
{
	call->mc.goal.in_place = sbuf == MPI_IN_PLACE;
	if (!call->mc.goal.in_place)
		mw_side_set(call, &call->send, sbuf, scount, type);
	if (receives)
		mw_side_set(call, &call->recv, rbuf, rcount, type);
}

static void describe_reduce(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			    void *rbuf, int count, MPI_Datatype type, MPI_Op op, int root)
{
	describe(call, mc, MC_REDUCE, count, 1, type, op, root);
	set_sides(call, sbuf, count, rbuf, count, mc->rank == (uint32_t)root, type);
}

static void describe_allreduce(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			       void *rbuf, int count, MPI_Datatype type, MPI_Op op)
{
	describe(call, mc, MC_ALLREDUCE, count, 1, type, op, 0);
	set_sides(call, sbuf, count, rbuf, count, true, type);
}

static void describe_scan(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			  void *rbuf, int count, MPI_Datatype type, MPI_Op op)
{
	describe(call, mc, MC_SCAN, count, 1, type, op, 0);
	set_sides(call, sbuf, count, rbuf, count, true, type);
}

static void describe_reduce_scatter_block(struct mw_call *call, const struct mc_comm *mc,
					  const void *sbuf, void *rbuf, int count,
					  MPI_Datatype type, MPI_Op op)
{
	int64_t whole = (int64_t)count * mc->ranks;

	describe(call, mc, MC_REDUCE_SCATTER_BLOCK, count, mc->ranks, type, op, 0);
	set_sides(call, sbuf, whole, rbuf, sbuf == MPI_IN_PLACE ? whole : count, true, type);
}

/* The rules go by the average block. */
static void describe_reduce_scatter(struct mw_call *call, const struct mc_comm *mc,
				    const void *sbuf, void *rbuf, const int *counts,
				    MPI_Datatype type, MPI_Op op)
{
	int64_t *list = calloc(mc->ranks, sizeof(*list)), whole = 0;
	bool valid = true;

	describe(call, mc, MC_REDUCE_SCATTER, 0, 1, type, op, 0);
	for (uint32_t i = 0; i < mc->ranks; i++) {
		valid = valid && counts[i] >= 0;
		whole += counts[i];
		if (list)
			list[i] = counts[i];
	}
	call->list = list;
	call->mc.goal.counts = list;
	call->mc.broken = !list;
	if (!valid) {
		call->mc.reason = MC_REASON_ARGUMENT;
		return;
	}
	call->mc.large_bytes = (uint64_t)whole * (uint64_t)(call->mc.goal.width / 8);
	call->mc.block_bytes = call->mc.large_bytes / mc->ranks;
	set_sides(call, sbuf, whole, rbuf, sbuf == MPI_IN_PLACE ? whole : counts[mc->rank], true,
		  type);
}

/* The result of rank 0 is not defined: its receive buffer stays as it is. */
static void describe_exscan(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			    void *rbuf, int count, MPI_Datatype type, MPI_Op op)
{
	describe(call, mc, MC_EXSCAN, count, 1, type, op, 0);
	set_sides(call, sbuf, count, rbuf, count, mc->rank || sbuf == MPI_IN_PLACE, type);
}

MW_DEFINE(reduce, Reduce,
	  (const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op, int root),
	  (sbuf, rbuf, count, type, op, root))
MW_DEFINE(allreduce, Allreduce,
	  (const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op),
	  (sbuf, rbuf, count, type, op))
MW_DEFINE(scan, Scan, (const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op),
	  (sbuf, rbuf, count, type, op))
MW_DEFINE(reduce_scatter_block, Reduce_scatter_block,
	  (const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op),
	  (sbuf, rbuf, count, type, op))
MW_DEFINE(reduce_scatter, Reduce_scatter,
	  (const void *sbuf, void *rbuf, const int *counts, MPI_Datatype type, MPI_Op op),
	  (sbuf, rbuf, counts, type, op))
MW_DEFINE(exscan, Exscan, (const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op),
	  (sbuf, rbuf, count, type, op))
