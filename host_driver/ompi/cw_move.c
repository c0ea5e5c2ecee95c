/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that move data: barrier, bcast, gather, scatter, allgather, alltoall.
 *
 * A block has as many bytes at every rank, whatever types describe it. Calls cw_call.c.
 */
#include "host_driver/ompi/cw.h"

/* Sets a side, unless the call cannot be packed: then it is too long at every rank. */
static void set_side(struct cw_call *call, struct mc_side *side, const void *buf, int64_t count,
		     ompi_datatype_t *type)
{
	if (!cw_side_set(side, buf, count, type))
		call->mc.reason = MC_REASON_SIZE;
}

static void sizes(struct cw_call *call, uint64_t block_bytes, uint64_t blocks)
{
	call->mc.block_bytes = block_bytes;
	call->mc.large_bytes = block_bytes * blocks;
	call->mc.goal.count = (int64_t)block_bytes;
}

static void describe_barrier(struct cw_call *call, const struct cw_module *m)
{
	(void)m;
	cw_call_init(call, MC_BARRIER, 0, 0);
}

static void describe_bcast(struct cw_call *call, const struct cw_module *m, void *buf, int count,
			   ompi_datatype_t *type, int root)
{
	(void)m;
	cw_call_init(call, MC_BCAST, 0, root);
	sizes(call, cw_type_bytes(type, count), 1);
	set_side(call, &call->recv, buf, count, type);
}

static void describe_gather(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			    int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
			    ompi_datatype_t *rtype, int root)
{
	bool is_root = m->rank == root;
	uint32_t ranks = m->mc->ranks;

	cw_call_init(call, MC_GATHER, 0, root);
	call->mc.goal.in_place = is_root && sbuf == MPI_IN_PLACE;
	sizes(call, is_root ? cw_type_bytes(rtype, rcount) : cw_type_bytes(stype, scount), ranks);
	if (is_root)
		set_side(call, &call->recv, rbuf, (int64_t)rcount * ranks, rtype);
	if (!call->mc.goal.in_place)
		set_side(call, &call->send, sbuf, scount, stype);
}

static void describe_scatter(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			     int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
			     ompi_datatype_t *rtype, int root)
{
	bool is_root = m->rank == root;
	uint32_t ranks = m->mc->ranks;

	cw_call_init(call, MC_SCATTER, 0, root);
	call->mc.goal.in_place = is_root && rbuf == MPI_IN_PLACE;
	sizes(call, is_root ? cw_type_bytes(stype, scount) : cw_type_bytes(rtype, rcount), ranks);
	if (is_root)
		set_side(call, &call->send, sbuf, (int64_t)scount * ranks, stype);
	if (!call->mc.goal.in_place)
		set_side(call, &call->recv, rbuf, rcount, rtype);
}

static void describe_allgather(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			       int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
			       ompi_datatype_t *rtype)
{
	cw_call_init(call, MC_ALLGATHER, 0, 0);
	call->mc.goal.in_place = sbuf == MPI_IN_PLACE;
	sizes(call, cw_type_bytes(rtype, rcount), m->mc->ranks);
	set_side(call, &call->recv, rbuf, (int64_t)rcount * m->mc->ranks, rtype);
	if (!call->mc.goal.in_place)
		set_side(call, &call->send, sbuf, scount, stype);
}

static void describe_alltoall(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			      int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
			      ompi_datatype_t *rtype)
{
	cw_call_init(call, MC_ALLTOALL, 0, 0);
	call->mc.goal.in_place = sbuf == MPI_IN_PLACE;
	sizes(call, cw_type_bytes(rtype, rcount), m->mc->ranks);
	set_side(call, &call->recv, rbuf, (int64_t)rcount * m->mc->ranks, rtype);
	if (!call->mc.goal.in_place)
		set_side(call, &call->send, sbuf, (int64_t)scount * m->mc->ranks, stype);
}

/* A block for each rank. */
static uint64_t blocks_bytes(const struct cw_module *m, const ompi_datatype_t *type, int count)
{
	return cw_type_bytes(type, count) * m->mc->ranks;
}

CW_DEFINE(bcast, (void *buf, int count, ompi_datatype_t *type, int root), (buf, count, type, root),
	  cw_type_bytes(type, count))
CW_DEFINE(gather,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
	   ompi_datatype_t *rtype, int root),
	  (sbuf, scount, stype, rbuf, rcount, rtype, root),
	  blocks_bytes(m, m->rank == root ? rtype : stype, m->rank == root ? rcount : scount))
CW_DEFINE(scatter,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
	   ompi_datatype_t *rtype, int root),
	  (sbuf, scount, stype, rbuf, rcount, rtype, root),
	  blocks_bytes(m, m->rank == root ? stype : rtype, m->rank == root ? scount : rcount))
CW_DEFINE(allgather,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
	   ompi_datatype_t *rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype), blocks_bytes(m, rtype, rcount))
CW_DEFINE(alltoall,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
	   ompi_datatype_t *rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype), blocks_bytes(m, rtype, rcount))

/* A barrier has no arguments. */
static int cw_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	struct cw_module *m = (struct cw_module *)module;
	struct cw_call call;

	call.form = MC_BLOCKING;
	if (!CW_LEFT(MC_BARRIER, MC_BLOCKING, 0)) {
		describe_barrier(&call, m);
		if (cw_call_taken(m, &call))
			return cw_call_run(m, &call);
	}
	return m->prev.coll_barrier(comm, m->prev.coll_barrier_module);
}

static int cw_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
		       mca_coll_base_module_t *module)
{
	struct cw_module *m = (struct cw_module *)module;
	struct cw_call call;

	call.form = MC_NONBLOCKING;
	if (!CW_LEFT(MC_BARRIER, MC_NONBLOCKING, 0)) {
		describe_barrier(&call, m);
		if (cw_call_taken(m, &call))
			return cw_call_start(m, &call, request);
	}
	return m->prev.coll_ibarrier(comm, request, m->prev.coll_ibarrier_module);
}

static int cw_barrier_init(ompi_communicator_t *comm, struct ompi_info_t *info,
			   ompi_request_t **request, mca_coll_base_module_t *module)
{
	struct cw_module *m = (struct cw_module *)module;
	struct cw_call call;

	call.form = MC_NONBLOCKING;
	if (!CW_LEFT(MC_BARRIER, MC_NONBLOCKING, 0)) {
		describe_barrier(&call, m);
		if (cw_module_alone(m, &call))
			return cw_call_prepare(m, &call, request);
	}
	return m->prev.coll_barrier_init(comm, info, request, m->prev.coll_barrier_init_module);
}

void cw_move_install(struct cw_module *module)
{
	CW_INSTALL(module, barrier);
	CW_INSTALL(module, bcast);
	CW_INSTALL(module, gather);
	CW_INSTALL(module, scatter);
	CW_INSTALL(module, allgather);
	CW_INSTALL(module, alltoall);
}
