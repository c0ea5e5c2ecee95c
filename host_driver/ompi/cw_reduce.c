/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that combine: reduce, allreduce, reduce_scatter(_block), scan, exscan.
 *
 * Calls cw_op.c and cw_call.c. Predefined types are contiguous but for pairs of different widths
 * (cw_pair.c).
 */
#include <stdlib.h>

#include "host_driver/ompi/cw.h"

/* count is of a vector, or of a rank's block where there are several in the largest buffer. */
static void describe(struct cw_call *call, const struct cw_module *m, enum mc_coll coll, int count,
		     uint64_t blocks, const ompi_datatype_t *type, const ompi_op_t *op, int root)
{
	cw_call_init(call, coll, (uint64_t)count, root);
	cw_op_set(call, m, op, type);
	call->mc.block_bytes = cw_type_bytes(type, count);
	call->mc.large_bytes = call->mc.block_bytes * blocks;
}

static bool set_side(const struct cw_call *call, struct mc_side *side, const void *buf,
		     int64_t count, ompi_datatype_t *type)
{
	return call->pair ? cw_side_set_pairs(side, buf, count, type, call->pair)
			  : cw_side_set(side, buf, count, type);
}

/* Sets the sides; NULL: this rank has no such buffer. */
static void set_sides(struct cw_call *call, const void *sbuf, int64_t scount, void *rbuf,
		      int64_t rcount, ompi_datatype_t *type)
{
	call->mc.goal.in_place = sbuf == MPI_IN_PLACE;
	if (call->mc.reason != MC_TAKEN)
		return;
	if ((!call->mc.goal.in_place && !set_side(call, &call->send, sbuf, scount, type)) ||
	    (rbuf && !set_side(call, &call->recv, rbuf, rcount, type)))
		call->mc.reason = MC_REASON_SIZE;
}

static void describe_reduce(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			    void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op, int root)
{
	describe(call, m, MC_REDUCE, count, 1, type, op, root);
	set_sides(call, sbuf, count, m->rank == root ? rbuf : NULL, count, type);
}

static void describe_allreduce(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			       void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op)
{
	describe(call, m, MC_ALLREDUCE, count, 1, type, op, 0);
	set_sides(call, sbuf, count, rbuf, count, type);
}

static void describe_scan(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			  void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op)
{
	describe(call, m, MC_SCAN, count, 1, type, op, 0);
	set_sides(call, sbuf, count, rbuf, count, type);
}

static void describe_reduce_scatter_block(struct cw_call *call, const struct cw_module *m,
					  const void *sbuf, void *rbuf, int count,
					  ompi_datatype_t *type, ompi_op_t *op)
{
	int64_t whole = (int64_t)count * m->mc->ranks;

	describe(call, m, MC_REDUCE_SCATTER_BLOCK, count, m->mc->ranks, type, op, 0);
	set_sides(call, sbuf, whole, rbuf, sbuf == MPI_IN_PLACE ? whole : count, type);
}

static int64_t sum(const struct cw_module *m, const int *counts)
{
	int64_t whole = 0;
	uint32_t i;

	for (i = 0; i < m->mc->ranks; i++)
		whole += counts[i];
	return whole;
}

/* The rules go by the average block. */
static void describe_reduce_scatter(struct cw_call *call, const struct cw_module *m,
				    const void *sbuf, void *rbuf, const int *counts,
				    ompi_datatype_t *type, ompi_op_t *op)
{
	int64_t *list = calloc(m->mc->ranks, sizeof(*list)), whole = sum(m, counts);
	uint32_t i;

	describe(call, m, MC_REDUCE_SCATTER, 0, 1, type, op, 0);
	for (i = 0; list && i < m->mc->ranks; i++)
		list[i] = counts[i];
	call->list = list;
	call->mc.goal.counts = list;
	call->mc.broken = !list;
	call->mc.large_bytes = cw_type_bytes(type, 1) * (uint64_t)whole;
	call->mc.block_bytes = call->mc.large_bytes / m->mc->ranks;
	set_sides(call, sbuf, whole, rbuf, sbuf == MPI_IN_PLACE ? whole : counts[m->rank], type);
}

/* The result of rank 0 is not defined: its receive buffer stays as it is. */
static void describe_exscan(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			    void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op)
{
	describe(call, m, MC_EXSCAN, count, 1, type, op, 0);
	set_sides(call, sbuf, count, m->rank || sbuf == MPI_IN_PLACE ? rbuf : NULL, count, type);
}

CW_DEFINE(reduce,
	  (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op, int root),
	  (sbuf, rbuf, count, type, op, root), cw_type_bytes(type, count))
CW_DEFINE(allreduce,
	  (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op),
	  (sbuf, rbuf, count, type, op), cw_type_bytes(type, count))
CW_DEFINE(scan, (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op),
	  (sbuf, rbuf, count, type, op), cw_type_bytes(type, count))
CW_DEFINE(exscan, (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op),
	  (sbuf, rbuf, count, type, op), cw_type_bytes(type, count))
CW_DEFINE(reduce_scatter,
	  (const void *sbuf, void *rbuf, const int *counts, ompi_datatype_t *type, ompi_op_t *op),
	  (sbuf, rbuf, counts, type, op), cw_type_bytes(type, 1) * (uint64_t)sum(m, counts))
CW_DEFINE(reduce_scatter_block,
	  (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op),
	  (sbuf, rbuf, count, type, op), cw_type_bytes(type, count) * m->mc->ranks)

void cw_reduce_install(struct cw_module *module)
{
	CW_INSTALL(module, reduce);
	CW_INSTALL(module, allreduce);
	CW_INSTALL(module, scan);
	CW_INSTALL(module, exscan);
	CW_INSTALL(module, reduce_scatter);
	CW_INSTALL(module, reduce_scatter_block);
}
