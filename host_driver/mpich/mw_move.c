/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that move data: barrier, bcast, gather, scatter, allgather, alltoall.
 *
 * A block has as many bytes at every rank, whatever types describe it. Calls mw_type.c, mw_req.c.
 */
#include "host_driver/mpich/mw.h"

static void begin(struct mw_call *call, const struct mc_comm *mc, enum mc_coll coll, int root)
{
	mw_call_init(call, coll, 0, root);
	if (root < 0 || (uint32_t)root >= mc->ranks)
		call->mc.reason = MC_REASON_ARGUMENT;
}

static void sizes(struct mw_call *call, uint64_t block_bytes, uint64_t blocks)
{
	call->mc.block_bytes = block_bytes;
	call->mc.large_bytes = block_bytes * blocks;
	call->mc.goal.count = (int64_t)block_bytes;
}

static void describe_bcast(struct mw_call *call, const struct mc_comm *mc, void *buf, int count,
			   MPI_Datatype type, int root)
{
	begin(call, mc, MC_BCAST, root);
	sizes(call, mw_type_bytes(call, count, type), 1);
	mw_side_set(call, &call->recv, buf, count, type);
}

static void describe_gather(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			    int scount, MPI_Datatype stype, void *rbuf, int rcount,
			    MPI_Datatype rtype, int root)
{
	bool is_root = mc->rank == (uint32_t)root;

	begin(call, mc, MC_GATHER, root);
	call->mc.goal.in_place = is_root && sbuf == MPI_IN_PLACE;
	sizes(call,
	      is_root ? mw_type_bytes(call, rcount, rtype) : mw_type_bytes(call, scount, stype),
	      mc->ranks);
	if (is_root)
		mw_side_set(call, &call->recv, rbuf, (int64_t)rcount * mc->ranks, rtype);
	if (!call->mc.goal.in_place)
		mw_side_set(call, &call->send, sbuf, scount, stype);
}

static void describe_scatter(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			     int scount, MPI_Datatype stype, void *rbuf, int rcount,
			     MPI_Datatype rtype, int root)
{
	bool is_root = mc->rank == (uint32_t)root;

	begin(call, mc, MC_SCATTER, root);
	call->mc.goal.in_place = is_root && rbuf == MPI_IN_PLACE;
	sizes(call,
	      is_root ? mw_type_bytes(call, scount, stype) : mw_type_bytes(call, rcount, rtype),
	      mc->ranks);
	if (is_root)
		mw_side_set(call, &call->send, sbuf, (int64_t)scount * mc->ranks, stype);
	if (!call->mc.goal.in_place)
		mw_side_set(call, &call->recv, rbuf, rcount, rtype);
}

static void describe_allgather(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			       int scount, MPI_Datatype stype, void *rbuf, int rcount,
			       MPI_Datatype rtype)
{
	begin(call, mc, MC_ALLGATHER, 0);
	call->mc.goal.in_place = sbuf == MPI_IN_PLACE;
	sizes(call, mw_type_bytes(call, rcount, rtype), mc->ranks);
	mw_side_set(call, &call->recv, rbuf, (int64_t)rcount * mc->ranks, rtype);
	if (!call->mc.goal.in_place)
		mw_side_set(call, &call->send, sbuf, scount, stype);
}

static void describe_alltoall(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			      int scount, MPI_Datatype stype, void *rbuf, int rcount,
			      MPI_Datatype rtype)
{
	begin(call, mc, MC_ALLTOALL, 0);
	call->mc.goal.in_place = sbuf == MPI_IN_PLACE;
	sizes(call, mw_type_bytes(call, rcount, rtype), mc->ranks);
	mw_side_set(call, &call->recv, rbuf, (int64_t)rcount * mc->ranks, rtype);
	if (!call->mc.goal.in_place)
		mw_side_set(call, &call->send, sbuf, (int64_t)scount * mc->ranks, stype);
}

MW_DEFINE(bcast, Bcast, (void *buf, int count, MPI_Datatype type, int root),
	  (buf, count, type, root))
MW_DEFINE(gather, Gather,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
	   MPI_Datatype rtype, int root),
	  (sbuf, scount, stype, rbuf, rcount, rtype, root))
MW_DEFINE(scatter, Scatter,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
	   MPI_Datatype rtype, int root),
	  (sbuf, scount, stype, rbuf, rcount, rtype, root))
MW_DEFINE(allgather, Allgather,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
	   MPI_Datatype rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype))
MW_DEFINE(alltoall, Alltoall,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
	   MPI_Datatype rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype))

/* A barrier has no arguments. */
int MPI_Barrier(MPI_Comm comm)
{
	struct mc_comm *mc = mw_comm_of(comm);
	struct mw_call call = {.form = MC_BLOCKING, .comm = comm};

	if (mc) {
		begin(&call, mc, MC_BARRIER, 0);
		if (mw_call_taken(mc, &call))
			return mw_call_run(mc, &call, comm);
	}
	return PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	struct mc_comm *mc = mw_comm_of(comm);
	struct mw_call call = {.form = MC_NONBLOCKING, .comm = comm};

	if (mc && request) {
		begin(&call, mc, MC_BARRIER, 0);
		if (mw_call_taken(mc, &call))
			return mw_call_start(mc, &call, comm, request);
	}
	return PMPI_Ibarrier(comm, request);
}

int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	struct mc_comm *mc = mw_comm_of(comm);
	struct mw_call call = {.form = MC_NONBLOCKING, .comm = comm};

	if (mc && request) {
		begin(&call, mc, MC_BARRIER, 0);
		if (mw_comm_alone(mc, &call))
			return mw_call_keep(&call, request);
	}
	return PMPI_Barrier_init(comm, info, request);
}
