/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives whose blocks differ: gatherv, scatterv, allgatherv, alltoallv, alltoallw.
 *
 * A rank knows the sizes of its own blocks alone, but for allgatherv. So the decision who carries
 * the call out cannot go by them. Calls mc_list.c, mw_type.c, mw_req.c.
 */
#include "host_driver/mpich/mw.h"

/* The blocks of one direction. */
struct blocks {
	const void *buf;
	const int *counts, *displs;
	MPI_Datatype type;         /* of all blocks; displacements count its extents */
	const MPI_Datatype *types; /* of each, where not NULL; displacements are bytes */
};

static void entry(struct mw_call *call, struct mc_entry *e, int rank, const void *buf,
		  int64_t displ, int64_t bytes, int count, MPI_Datatype type)
{
	e->rank = rank;
	mw_entry_set(call, e, buf, displ, bytes, count, type);
}

static void entries(struct mw_call *call, struct mc_entry *list, uint32_t ranks,
		    const struct blocks *b)
{
	for (uint32_t i = 0; i < ranks; i++)
		entry(call, &list[i], (int)i, b->buf, b->types ? 0 : b->displs[i],
		      b->types ? b->displs[i] : 0, b->counts[i], b->types ? b->types[i] : b->type);
}

/* Begins a call and its lists; false: it is left to the rules, or broken. */
static bool begin(struct mw_call *call, const struct mc_comm *mc, enum mc_coll coll, int root,
		  struct mc_lists *l, uint32_t sends, uint32_t recvs)
{
	mw_call_init(call, coll, 0, 0);
	if (mc_lists_left(&call->mc, call->form, mc))
		return false;
	if (root < 0 || (uint32_t)root >= mc->ranks) {
		call->mc.reason = MC_REASON_ARGUMENT;
		return false;
	}
	return mc_lists_begin(&call->mc, l, sends, recvs);
}

static void end(struct mw_call *call, const struct mc_comm *mc, struct mc_lists *l)
{
	call->list = mc_lists_end(&call->mc, l, mc->rank, &call->send, &call->recv);
}

static void describe_gatherv(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			     int scount, MPI_Datatype stype, void *rbuf, const int *rcounts,
			     const int *displs, MPI_Datatype rtype, int root)
{
	bool is_root = mc->rank == (uint32_t)root, in_place = is_root && sbuf == MPI_IN_PLACE;
	const struct blocks in = {rbuf, rcounts, displs, rtype, NULL};
	struct mc_lists l;

	if (!begin(call, mc, MC_GATHERV, root, &l, !in_place, is_root ? mc->ranks : 0))
		return;
	if (!in_place)
		entry(call, &l.sends[0], root, sbuf, 0, 0, scount, stype);
	if (is_root)
		entries(call, l.recvs, mc->ranks, &in);
	if (in_place)
		l.recvs[root].rank = -1;
	end(call, mc, &l);
}

static void describe_scatterv(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			      const int *scounts, const int *displs, MPI_Datatype stype, void *rbuf,
			      int rcount, MPI_Datatype rtype, int root)
{
	bool is_root = mc->rank == (uint32_t)root, in_place = is_root && rbuf == MPI_IN_PLACE;
	const struct blocks out = {sbuf, scounts, displs, stype, NULL};
	struct mc_lists l;

	if (!begin(call, mc, MC_SCATTERV, root, &l, is_root ? mc->ranks : 0, !in_place))
		return;
	if (is_root)
		entries(call, l.sends, mc->ranks, &out);
	if (in_place)
		l.sends[root].rank = -1;
	else
		entry(call, &l.recvs[0], root, rbuf, 0, 0, rcount, rtype);
	end(call, mc, &l);
}

/* All ranks know all counts: the rules go by the average block. */
static void describe_allgatherv(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
				int scount, MPI_Datatype stype, void *rbuf, const int *rcounts,
				const int *displs, MPI_Datatype rtype)
{
	const struct blocks in = {rbuf, rcounts, displs, rtype, NULL};
	uint32_t ranks = mc->ranks, i;
	uint64_t bytes = 0;
	struct mc_lists l;

	mw_call_init(call, MC_ALLGATHERV, 0, 0);
	for (i = 0; i < ranks; i++)
		bytes += mw_type_bytes(call, rcounts[i], rtype);
	if (call->mc.reason == MC_TAKEN &&
	    (mc->left != MC_TAKEN ||
	     !mc_rules_take(MC_ALLGATHERV, call->form, ranks, bytes / ranks)))
		call->mc.reason = MC_REASON_RULE;
	if (call->mc.reason == MC_TAKEN && mc_lists_begin(&call->mc, &l, ranks, ranks)) {
		l.one_send = l.rounds = true;
		entries(call, l.recvs, ranks, &in);
		if (sbuf == MPI_IN_PLACE)
			mw_side_set_part(&call->send, &l.recvs[mc->rank]);
		else
			mw_side_set(call, &call->send, sbuf, scount, stype);
		for (i = 0; i < ranks; i++)
			l.sends[i].rank = (int)i;
		if (sbuf == MPI_IN_PLACE)
			l.sends[mc->rank].rank = l.recvs[mc->rank].rank = -1;
		end(call, mc, &l);
	}
	call->mc.unequal = false;
	call->mc.large_bytes = bytes;
	call->mc.block_bytes = bytes / ranks;
}

static void describe_exchange(struct mw_call *call, const struct mc_comm *mc, enum mc_coll coll,
			      const struct blocks *out, const struct blocks *in)
{
	struct mc_lists l;

	if (!begin(call, mc, coll, 0, &l, mc->ranks, mc->ranks))
		return;
	l.rounds = true;
	l.copy = out->buf == MPI_IN_PLACE;
	entries(call, l.recvs, mc->ranks, in);
	entries(call, l.sends, mc->ranks, l.copy ? in : out);
	end(call, mc, &l);
}

static void describe_alltoallv(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			       const int *scounts, const int *sdispls, MPI_Datatype stype,
			       void *rbuf, const int *rcounts, const int *rdispls,
			       MPI_Datatype rtype)
{
	const struct blocks out = {sbuf, scounts, sdispls, stype, NULL},
			    in = {rbuf, rcounts, rdispls, rtype, NULL};

	describe_exchange(call, mc, MC_ALLTOALLV, &out, &in);
}

static void describe_alltoallw(struct mw_call *call, const struct mc_comm *mc, const void *sbuf,
			       const int *scounts, const int *sdispls, const MPI_Datatype *stypes,
			       void *rbuf, const int *rcounts, const int *rdispls,
			       const MPI_Datatype *rtypes)
{
	const struct blocks out = {sbuf, scounts, sdispls, MPI_DATATYPE_NULL, stypes},
			    in = {rbuf, rcounts, rdispls, MPI_DATATYPE_NULL, rtypes};

	describe_exchange(call, mc, MC_ALLTOALLW, &out, &in);
}

MW_DEFINE(gatherv, Gatherv,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, const int *rcounts,
	   const int *displs, MPI_Datatype rtype, int root),
	  (sbuf, scount, stype, rbuf, rcounts, displs, rtype, root))
MW_DEFINE(scatterv, Scatterv,
	  (const void *sbuf, const int *scounts, const int *displs, MPI_Datatype stype, void *rbuf,
	   int rcount, MPI_Datatype rtype, int root),
	  (sbuf, scounts, displs, stype, rbuf, rcount, rtype, root))
MW_DEFINE(allgatherv, Allgatherv,
	  (const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, const int *rcounts,
	   const int *displs, MPI_Datatype rtype),
	  (sbuf, scount, stype, rbuf, rcounts, displs, rtype))
MW_DEFINE(alltoallv, Alltoallv,
	  (const void *sbuf, const int *scounts, const int *sdispls, MPI_Datatype stype, void *rbuf,
	   const int *rcounts, const int *rdispls, MPI_Datatype rtype),
	  (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype))
MW_DEFINE(alltoallw, Alltoallw,
	  (const void *sbuf, const int *scounts, const int *sdispls, const MPI_Datatype *stypes,
	   void *rbuf, const int *rcounts, const int *rdispls, const MPI_Datatype *rtypes),
	  (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes))
