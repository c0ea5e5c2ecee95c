/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives whose blocks differ: gatherv, scatterv, allgatherv, alltoallv, alltoallw.
 *
 * A rank knows the sizes of its own blocks alone, but for allgatherv. So the decision who carries
 * the call out cannot go by them. Calls mc_list.c, cw_list.c, cw_call.c.
 */
#include "host_driver/ompi/cw.h"

/* The elements at a displacement, which counts extents of the type. */
static struct mc_entry entry(int rank, const void *buf, int64_t displ, int count,
			     ompi_datatype_t *type)
{
	ptrdiff_t lb, extent;

	(void)ompi_datatype_get_extent(type, &lb, &extent);
	return (struct mc_entry){.rank = rank,
				 .part = {(char *)(uintptr_t)buf + displ * extent, count, type}};
}

static void entries(struct mc_entry *list, uint32_t ranks, const void *buf, const int *counts,
		    const int *displs, ompi_datatype_t *type)
{
	uint32_t i;

	for (i = 0; i < ranks; i++)
		list[i] = entry((int)i, buf, displs[i], counts[i], type);
}

static void describe_gatherv(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			     int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
			     const int *displs, ompi_datatype_t *rtype, int root)
{
	bool is_root = m->rank == root, in_place = is_root && sbuf == MPI_IN_PLACE;
	struct mc_lists l;

	cw_call_init(call, MC_GATHERV, 0, 0);
	if (!cw_lists_begin(call, m, &l, !in_place, is_root ? m->mc->ranks : 0))
		return;
	if (!in_place)
		l.sends[0] = entry(root, sbuf, 0, scount, stype);
	if (is_root)
		entries(l.recvs, m->mc->ranks, rbuf, rcounts, displs, rtype);
	if (in_place)
		l.recvs[root].rank = -1;
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

static void describe_scatterv(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			      const int *scounts, const int *displs, ompi_datatype_t *stype,
			      void *rbuf, int rcount, ompi_datatype_t *rtype, int root)
{
	bool is_root = m->rank == root, in_place = is_root && rbuf == MPI_IN_PLACE;
	struct mc_lists l;

	cw_call_init(call, MC_SCATTERV, 0, 0);
	if (!cw_lists_begin(call, m, &l, is_root ? m->mc->ranks : 0, !in_place))
		return;
	if (is_root)
		entries(l.sends, m->mc->ranks, sbuf, scounts, displs, stype);
	if (in_place)
		l.sends[root].rank = -1;
	else
		l.recvs[0] = entry(root, rbuf, 0, rcount, rtype);
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

static uint64_t all_bytes(const struct cw_module *m, const ompi_datatype_t *type, const int *counts)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < m->mc->ranks; i++)
		bytes += cw_type_bytes(type, counts[i]);
	return bytes;
}

/* All ranks know all counts: the rules go by the average block. */
static void describe_allgatherv(struct cw_call *call, const struct cw_module *m, const void *sbuf,
				int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
				const int *displs, ompi_datatype_t *rtype)
{
	uint32_t ranks = m->mc->ranks, i;
	struct mc_entry own;
	uint64_t bytes = all_bytes(m, rtype, rcounts);
	struct mc_lists l;

	cw_call_init(call, MC_ALLGATHERV, 0, 0);
	if (!mc_rules_take(MC_ALLGATHERV, call->form, ranks, bytes / ranks)) {
		call->mc.reason = MC_REASON_RULE;
	} else if (mc_lists_begin(&call->mc, &l, ranks, ranks)) {
		l.one_send = l.rounds = true;
		entries(l.recvs, ranks, rbuf, rcounts, displs, rtype);
		own = sbuf == MPI_IN_PLACE ? l.recvs[m->rank] : entry(0, sbuf, 0, scount, stype);
		for (i = 0; i < ranks; i++) {
			l.sends[i] = own;
			l.sends[i].rank = (int)i;
		}
		if (sbuf == MPI_IN_PLACE)
			l.sends[m->rank].rank = l.recvs[m->rank].rank = -1;
		cw_lists_end(call, &l, (uint32_t)m->rank);
	}
	call->mc.unequal = false;
	call->mc.large_bytes = bytes;
	call->mc.block_bytes = bytes / ranks;
}

/* One direction of an exchange with every rank. */
struct exchange {
	const void *buf;
	const int *counts, *displs;
	ompi_datatype_t *type;         /* of all blocks; displacements count its extents */
	ompi_datatype_t *const *types; /* of each, where not NULL; displacements are bytes */
};

static void entries_of(struct mc_entry *list, uint32_t ranks, const struct exchange *x)
{
	uint32_t i;

	if (!x->types) {
		entries(list, ranks, x->buf, x->counts, x->displs, x->type);
		return;
	}
	for (i = 0; i < ranks; i++) {
		list[i] = entry((int)i, x->buf, 0, x->counts[i], x->types[i]);
		list[i].part.user = (char *)list[i].part.user + x->displs[i];
	}
}

static void describe_exchange(struct cw_call *call, const struct cw_module *m, enum mc_coll coll,
			      const struct exchange *out, const struct exchange *in)
{
	struct mc_lists l;

	cw_call_init(call, coll, 0, 0);
	if (!cw_lists_begin(call, m, &l, m->mc->ranks, m->mc->ranks))
		return;
	l.rounds = true;
	l.copy = out->buf == MPI_IN_PLACE;
	entries_of(l.recvs, m->mc->ranks, in);
	entries_of(l.sends, m->mc->ranks, l.copy ? in : out);
	cw_lists_end(call, &l, (uint32_t)m->rank);
}

static void describe_alltoallv(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			       const int *scounts, const int *sdispls, ompi_datatype_t *stype,
			       void *rbuf, const int *rcounts, const int *rdispls,
			       ompi_datatype_t *rtype)
{
	const struct exchange out = {sbuf, scounts, sdispls, stype, NULL},
			      in = {rbuf, rcounts, rdispls, rtype, NULL};

	describe_exchange(call, m, MC_ALLTOALLV, &out, &in);
}

static void describe_alltoallw(struct cw_call *call, const struct cw_module *m, const void *sbuf,
			       const int *scounts, const int *sdispls,
			       ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
			       const int *rdispls, ompi_datatype_t *const *rtypes)
{
	const struct exchange out = {sbuf, scounts, sdispls, NULL, stypes},
			      in = {rbuf, rcounts, rdispls, NULL, rtypes};

	describe_exchange(call, m, MC_ALLTOALLW, &out, &in);
}

CW_DEFINE(gatherv,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
	   const int *displs, ompi_datatype_t *rtype, int root),
	  (sbuf, scount, stype, rbuf, rcounts, displs, rtype, root), 0)
CW_DEFINE(scatterv,
	  (const void *sbuf, const int *scounts, const int *displs, ompi_datatype_t *stype,
	   void *rbuf, int rcount, ompi_datatype_t *rtype, int root),
	  (sbuf, scounts, displs, stype, rbuf, rcount, rtype, root), 0)
CW_DEFINE(allgatherv,
	  (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
	   const int *displs, ompi_datatype_t *rtype),
	  (sbuf, scount, stype, rbuf, rcounts, displs, rtype), all_bytes(m, rtype, rcounts))
CW_DEFINE(alltoallv,
	  (const void *sbuf, const int *scounts, const int *sdispls, ompi_datatype_t *stype,
	   void *rbuf, const int *rcounts, const int *rdispls, ompi_datatype_t *rtype),
	  (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype), 0)
CW_DEFINE(alltoallw,
	  (const void *sbuf, const int *scounts, const int *sdispls, ompi_datatype_t *const *stypes,
	   void *rbuf, const int *rcounts, const int *rdispls, ompi_datatype_t *const *rtypes),
	  (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes), 0)

void cw_vary_install(struct cw_module *module)
{
	CW_INSTALL(module, gatherv);
	CW_INSTALL(module, scatterv);
	CW_INSTALL(module, allgatherv);
	CW_INSTALL(module, alltoallv);
	CW_INSTALL(module, alltoallw);
}
