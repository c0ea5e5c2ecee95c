/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives: exchanges with the neighbours of a topology (MPI 3.1, 7.6).
 *
 * Calls mc_list.c, which knows how neighbours match, cw_list.c and cw_call.c.
 */
#include <ompi/mca/topo/topo.h>
#include <stdlib.h>

#include "host_driver/ompi/cw.h"

static void find_cart(ompi_communicator_t *comm, struct mc_neighbors *n)
{
	uint32_t dims = (uint32_t)comm->c_topo->mtc.cart->ndims, i;

	n->cartesian = true;
	n->num_from = n->num_to = 2 * dims;
	n->from = calloc(2 * (size_t)n->num_from + 1, sizeof(*n->from));
	n->to = n->from ? n->from + n->num_from : NULL;
	for (i = 0; n->from && i < dims; i++) {
		(void)comm->c_topo->topo.cart.cart_shift(comm, (int)i, 1, &n->from[2 * i],
							 &n->from[2 * i + 1]);
		n->to[2 * i] = n->from[2 * i];
		n->to[2 * i + 1] = n->from[2 * i + 1];
	}
}

static void find_graph(ompi_communicator_t *comm, struct mc_neighbors *n)
{
	int rank = ompi_comm_rank(comm), num = 0;

	(void)comm->c_topo->topo.graph.graph_neighbors_count(comm, rank, &num);
	n->num_from = n->num_to = (uint32_t)num;
	n->from = n->to = calloc((size_t)num + 1, sizeof(*n->from));
	if (n->from)
		(void)comm->c_topo->topo.graph.graph_neighbors(comm, rank, num, n->from);
}

/* Open MPI's topology keeps both lists. */
static void find_dist_graph(ompi_communicator_t *comm, struct mc_neighbors *n)
{
	const mca_topo_base_comm_dist_graph_t *g = comm->c_topo->mtc.dist_graph;
	uint32_t i;

	n->num_from = (uint32_t)g->indegree;
	n->num_to = (uint32_t)g->outdegree;
	n->from = calloc((size_t)n->num_from + n->num_to + 1, sizeof(*n->from));
	n->to = n->from ? n->from + n->num_from : NULL;
	for (i = 0; n->from && i < n->num_from; i++)
		n->from[i] = g->in[i];
	for (i = 0; n->from && i < n->num_to; i++)
		n->to[i] = g->out[i];
}

static bool find(const struct cw_module *m, struct mc_neighbors *n)
{
	*n = (struct mc_neighbors){.from = NULL};
	if (OMPI_COMM_IS_CART(m->comm))
		find_cart(m->comm, n);
	else if (OMPI_COMM_IS_GRAPH(m->comm))
		find_graph(m->comm, n);
	else if (OMPI_COMM_IS_DIST_GRAPH(m->comm))
		find_dist_graph(m->comm, n);
	return n->from;
}

/* Begins lists with ranks and tags. */
static bool begin(struct cw_call *call, const struct cw_module *m, enum mc_coll coll,
		  struct mc_lists *l)
{
	struct mc_neighbors n;
	bool begun;

	cw_call_init(call, coll, 0, 0);
	call->mc.unequal = true;
	if (mc_lists_left(&call->mc, call->form, m->mc))
		return false;
	call->mc.broken = !find(m, &n);
	begun = !call->mc.broken && mc_lists_begin_near(&call->mc, l, &n);
	free(n.from);
	return begun;
}

/* Elements at a displacement of so many extents and so many bytes. */
static void set(struct mc_entry *e, const void *buf, int64_t displ, MPI_Aint bytes, int count,
		ompi_datatype_t *type)
{
	ptrdiff_t lb, extent;

	(void)ompi_datatype_get_extent(type, &lb, &extent);
	e->part = (struct mc_part){(char *)(uintptr_t)buf + displ * extent + bytes, count, type};
}

static void describe_neighbor_allgather(struct cw_call *call, const struct cw_module *m,
					const void *sbuf, int scount, ompi_datatype_t *stype,
					void *rbuf, int rcount, ompi_datatype_t *rtype)
{
	struct mc_lists l;
	uint32_t i;

	if (!begin(call, m, MC_NEIGHBOR_ALLGATHER, &l))
		return;
	l.one_send = true;
	for (i = 0; i < l.num_sends; i++)
		set(&l.sends[i], sbuf, 0, 0, scount, stype);
	for (i = 0; i < l.num_recvs; i++)
		set(&l.recvs[i], rbuf, (int64_t)i * rcount, 0, rcount, rtype);
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

static void describe_neighbor_allgatherv(struct cw_call *call, const struct cw_module *m,
					 const void *sbuf, int scount, ompi_datatype_t *stype,
					 void *rbuf, const int *rcounts, const int *displs,
					 ompi_datatype_t *rtype)
{
	struct mc_lists l;
	uint32_t i;

	if (!begin(call, m, MC_NEIGHBOR_ALLGATHERV, &l))
		return;
	l.one_send = true;
	for (i = 0; i < l.num_sends; i++)
		set(&l.sends[i], sbuf, 0, 0, scount, stype);
	for (i = 0; i < l.num_recvs; i++)
		set(&l.recvs[i], rbuf, displs[i], 0, rcounts[i], rtype);
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

static void describe_neighbor_alltoall(struct cw_call *call, const struct cw_module *m,
				       const void *sbuf, int scount, ompi_datatype_t *stype,
				       void *rbuf, int rcount, ompi_datatype_t *rtype)
{
	struct mc_lists l;
	uint32_t i;

	if (!begin(call, m, MC_NEIGHBOR_ALLTOALL, &l))
		return;
	for (i = 0; i < l.num_sends; i++)
		set(&l.sends[i], sbuf, (int64_t)i * scount, 0, scount, stype);
	for (i = 0; i < l.num_recvs; i++)
		set(&l.recvs[i], rbuf, (int64_t)i * rcount, 0, rcount, rtype);
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

static void describe_neighbor_alltoallv(struct cw_call *call, const struct cw_module *m,
					const void *sbuf, const int *scounts, const int *sdispls,
					ompi_datatype_t *stype, void *rbuf, const int *rcounts,
					const int *rdispls, ompi_datatype_t *rtype)
{
	struct mc_lists l;
	uint32_t i;

	if (!begin(call, m, MC_NEIGHBOR_ALLTOALLV, &l))
		return;
	for (i = 0; i < l.num_sends; i++)
		set(&l.sends[i], sbuf, sdispls[i], 0, scounts[i], stype);
	for (i = 0; i < l.num_recvs; i++)
		set(&l.recvs[i], rbuf, rdispls[i], 0, rcounts[i], rtype);
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

static void describe_neighbor_alltoallw(struct cw_call *call, const struct cw_module *m,
					const void *sbuf, const int *scounts,
					const MPI_Aint *sdispls, ompi_datatype_t *const *stypes,
					void *rbuf, const int *rcounts, const MPI_Aint *rdispls,
					ompi_datatype_t *const *rtypes)
{
	struct mc_lists l;
	uint32_t i;

	if (!begin(call, m, MC_NEIGHBOR_ALLTOALLW, &l))
		return;
	for (i = 0; i < l.num_sends; i++)
		set(&l.sends[i], sbuf, 0, sdispls[i], scounts[i], stypes[i]);
	for (i = 0; i < l.num_recvs; i++)
		set(&l.recvs[i], rbuf, 0, rdispls[i], rcounts[i], rtypes[i]);
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

CW_DEFINE(neighbor_allgather,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
	   ompi_datatype_t *rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype), 0)
CW_DEFINE(neighbor_allgatherv,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
	   const int *displs, ompi_datatype_t *rtype),
	  (sbuf, scount, stype, rbuf, rcounts, displs, rtype), 0)
CW_DEFINE(neighbor_alltoall,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
	   ompi_datatype_t *rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype), 0)
CW_DEFINE(neighbor_alltoallv,
	  (const void *sbuf, const int *scounts, const int *sdispls, ompi_datatype_t *stype,
	   void *rbuf, const int *rcounts, const int *rdispls, ompi_datatype_t *rtype),
	  (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype), 0)
CW_DEFINE(neighbor_alltoallw,
	  (const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
	   ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts, const MPI_Aint *rdispls,
	   ompi_datatype_t *const *rtypes),
	  (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes), 0)

void cw_neighbor_install(struct cw_module *module)
{
	CW_INSTALL(module, neighbor_allgather);
	CW_INSTALL(module, neighbor_allgatherv);
	CW_INSTALL(module, neighbor_alltoall);
	CW_INSTALL(module, neighbor_alltoallv);
	CW_INSTALL(module, neighbor_alltoallw);
}
