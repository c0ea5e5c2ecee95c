/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives: exchanges with the neighbours of a topology (MPI 4.0, 8.6).
 *
 * Calls mc_list.c, which knows how neighbours match, mw_type.c, mw_req.c and mw_persist.c.
 */
#include <stdlib.h>

#include "host_driver/mpich/mw.h"

/* Two lists in one piece of memory, which from is. */
static bool room(struct mc_neighbors *n, int from, int to)
{
	n->num_from = (uint32_t)from;
	n->num_to = (uint32_t)to;
	n->from = calloc((size_t)from + (size_t)to + 1, sizeof(*n->from));
	n->to = n->from ? n->from + from : NULL;
	return n->from;
}

static bool find_cart(MPI_Comm comm, struct mc_neighbors *n)
{
	int dims = 0;

	(void)PMPI_Cartdim_get(comm, &dims);
	n->cartesian = true;
	if (!room(n, 2 * dims, 2 * dims))
		return false;
	for (int i = 0; i < dims; i++) {
		(void)PMPI_Cart_shift(comm, i, 1, &n->from[2 * i], &n->from[2 * i + 1]);
		n->to[2 * i] = n->from[2 * i];
		n->to[2 * i + 1] = n->from[2 * i + 1];
	}
	return true;
}

static bool find_graph(MPI_Comm comm, struct mc_neighbors *n)
{
	int rank, num = 0;

	(void)PMPI_Comm_rank(comm, &rank);
	(void)PMPI_Graph_neighbors_count(comm, rank, &num);
	if (!room(n, num, num))
		return false;
	(void)PMPI_Graph_neighbors(comm, rank, num, n->from);
	for (int i = 0; i < num; i++)
		n->to[i] = n->from[i];
	return true;
}

static bool find_dist_graph(MPI_Comm comm, struct mc_neighbors *n)
{
	int in = 0, out = 0, weighted;

	(void)PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
	return room(n, in, out) && !PMPI_Dist_graph_neighbors(comm, in, n->from, MPI_UNWEIGHTED,
							      out, n->to, MPI_UNWEIGHTED);
}

/* Begins lists with ranks and tags; false: the call is left, or broken. */
static bool begin(struct mw_call *call, const struct mc_comm *mc, enum mc_coll coll,
		  struct mc_lists *l)
{
	struct mc_neighbors n = {.from = NULL};
	int kind = MPI_UNDEFINED;
	bool found = false, begun;

	mw_call_init(call, coll, 0, 0);
	call->mc.unequal = true;
	if (mc_lists_left(&call->mc, call->form, mc))
		return false;
	if (PMPI_Topo_test(call->comm, &kind) || kind == MPI_UNDEFINED) {
		call->mc.reason = MC_REASON_ARGUMENT;
		return false;
	}
	if (kind == MPI_CART)
		found = find_cart(call->comm, &n);
	else if (kind == MPI_GRAPH)
		found = find_graph(call->comm, &n);
	else if (kind == MPI_DIST_GRAPH)
		found = find_dist_graph(call->comm, &n);
	call->mc.broken = !found;
	begun = found && mc_lists_begin_near(&call->mc, l, &n);
	free(n.from);
	return begun;
}

static void end(struct mw_call *call, const struct mc_comm *mc, struct mc_lists *l)
{
	call->list = mc_lists_end(&call->mc, l, mc->rank, &call->send, &call->recv);
}

static void describe_neighbor_allgather(struct mw_call *call, const struct mc_comm *mc,
					const void *sbuf, int scount, MPI_Datatype stype,
					void *rbuf, int rcount, MPI_Datatype rtype)
{
	struct mc_lists l;

	if (!begin(call, mc, MC_NEIGHBOR_ALLGATHER, &l))
		return;
	l.one_send = true;
	mw_side_set(call, &call->send, sbuf, scount, stype);
	for (uint32_t i = 0; i < l.num_recvs; i++)
		mw_entry_set(call, &l.recvs[i], rbuf, (int64_t)i * rcount, 0, rcount, rtype);
	end(call, mc, &l);
}

static void describe_neighbor_allgatherv(struct mw_call *call, const struct mc_comm *mc,
					 const void *sbuf, int scount, MPI_Datatype stype,
					 void *rbuf, const int *rcounts, const int *displs,
					 MPI_Datatype rtype)
{
	struct mc_lists l;

	if (!begin(call, mc, MC_NEIGHBOR_ALLGATHERV, &l))
		return;
	l.one_send = true;
	mw_side_set(call, &call->send, sbuf, scount, stype);
	for (uint32_t i = 0; i < l.num_recvs; i++)
		mw_entry_set(call, &l.recvs[i], rbuf, displs[i], 0, rcounts[i], rtype);
	end(call, mc, &l);
}

static void describe_neighbor_alltoall(struct mw_call *call, const struct mc_comm *mc,
				       const void *sbuf, int scount, MPI_Datatype stype, void *rbuf,
				       int rcount, MPI_Datatype rtype)
{
	struct mc_lists l;

	if (!begin(call, mc, MC_NEIGHBOR_ALLTOALL, &l))
		return;
	for (uint32_t i = 0; i < l.num_sends; i++)
		mw_entry_set(call, &l.sends[i], sbuf, (int64_t)i * scount, 0, scount, stype);
	for (uint32_t i = 0; i < l.num_recvs; i++)
		mw_entry_set(call, &l.recvs[i], rbuf, (int64_t)i * rcount, 0, rcount, rtype);
	end(call, mc, &l);
}

static void describe_neighbor_alltoallv(struct mw_call *call, const struct mc_comm *mc,
					const void *sbuf, const int *scounts, const int *sdispls,
					MPI_Datatype stype, void *rbuf, const int *rcounts,
					const int *rdispls, MPI_Datatype rtype)
{
	struct mc_lists l;

	if (!begin(call, mc, MC_NEIGHBOR_ALLTOALLV, &l))
		return;
	for (uint32_t i = 0; i < l.num_sends; i++)
		mw_entry_set(call, &l.sends[i], sbuf, sdispls[i], 0, scounts[i], stype);
	for (uint32_t i = 0; i < l.num_recvs; i++)
		mw_entry_set(call, &l.recvs[i], rbuf, rdispls[i], 0, rcounts[i], rtype);
	end(call, mc, &l);
}

static void describe_neighbor_alltoallw(struct mw_call *call, const struct mc_comm *mc,
					const void *sbuf, const int *scounts,
					const MPI_Aint *sdispls, const MPI_Datatype *stypes,
					void *rbuf, const int *rcounts, const MPI_Aint *rdispls,
					const MPI_Datatype *rtypes)
{
	struct mc_lists l;

	if (!begin(call, mc, MC_NEIGHBOR_ALLTOALLW, &l))
		return;
	for (uint32_t i = 0; i < l.num_sends; i++)
		mw_entry_set(call, &l.sends[i], sbuf, 0, sdispls[i], scounts[i], stypes[i]);
	for (uint32_t i = 0; i < l.num_recvs; i++)
		mw_entry_set(call, &l.recvs[i], rbuf, 0, rdispls[i], rcounts[i], rtypes[i]);
	end(call, mc, &l);
}

MW_DEFINE(neighbor_allgather, Neighbor_allgather,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
	   MPI_Datatype rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype))
MW_DEFINE(neighbor_allgatherv, Neighbor_allgatherv,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, const int *rcounts,
	   const int *displs, MPI_Datatype rtype),
	  (sbuf, scount, stype, rbuf, rcounts, displs, rtype))
MW_DEFINE(neighbor_alltoall, Neighbor_alltoall,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
	   MPI_Datatype rtype),
	  (sbuf, scount, stype, rbuf, rcount, rtype))
MW_DEFINE(neighbor_alltoallv, Neighbor_alltoallv,
	  (const void *sbuf, const int *scounts, const int *sdispls, MPI_Datatype stype, void *rbuf,
	   const int *rcounts, const int *rdispls, MPI_Datatype rtype),
	  (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype))
MW_DEFINE(neighbor_alltoallw, Neighbor_alltoallw,
	  (const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
	   const MPI_Datatype *stypes, void *rbuf, const int *rcounts, const MPI_Aint *rdispls,
	   const MPI_Datatype *rtypes),
	  (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes))
