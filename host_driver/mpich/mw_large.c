/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forms with large counts (MPI_Bcast_c and others, MPI 4.0): MPICH carries them out, and they
 * are counted. Calls mw_call.c.
 */
#include "host_driver/mpich/mw.h"

/* Defines MPI_NAME_c, MPI_INAME_c and MPI_NAME_init_c. */
#define MW_LARGE(name, Name, params, args)                                                         \
	int MPI_##Name##_c(MW_ARGS params, MPI_Comm comm)                                          \
	{                                                                                          \
		mw_call_count(comm, (enum mc_coll)MC_OF_##name, MC_BLOCKING);                      \
		return PMPI_##Name##_c(MW_ARGS args, comm);                                        \
	}                                                                                          \
	int MPI_I##name##_c(MW_ARGS params, MPI_Comm comm, MPI_Request *request)                   \
	{                                                                                          \
		mw_call_count(comm, (enum mc_coll)MC_OF_##name, MC_NONBLOCKING);                   \
		return PMPI_I##name##_c(MW_ARGS args, comm, request);                              \
	}                                                                                          \
	int MPI_##Name##_init_c(MW_ARGS params, MPI_Comm comm, MPI_Info info,                      \
				MPI_Request *request)                                              \
	{                                                                                          \
		mw_call_count(comm, (enum mc_coll)MC_OF_##name, MC_NONBLOCKING);                   \
		return PMPI_##Name##_init_c(MW_ARGS args, comm, info, request);                    \
	}

/* Arguments that several have in common: a block, blocks of one type, of several types. */
#define BLOCK(buf, count, type) const void *buf, MPI_Count count, MPI_Datatype type
#define BLOCKS(buf, counts, displs, type)                                                          \
	const void *buf, const MPI_Count counts[], const MPI_Aint displs[], MPI_Datatype type
#define BLOCKS_OF(buf, counts, displs, types)                                                      \
	const void *buf, const MPI_Count counts[], const MPI_Aint displs[],                        \
	    const MPI_Datatype types[]
#define INTO(buf, count, type) void *buf, MPI_Count count, MPI_Datatype type
#define INTO_BLOCKS(buf, counts, displs, type)                                                     \
	void *buf, const MPI_Count counts[], const MPI_Aint displs[], MPI_Datatype type
#define INTO_BLOCKS_OF(buf, counts, displs, types)                                                 \
	void *buf, const MPI_Count counts[], const MPI_Aint displs[], const MPI_Datatype types[]

MW_LARGE(bcast, Bcast, (INTO(buf, count, type), int root), (buf, count, type, root))
MW_LARGE(gather, Gather, (BLOCK(sbuf, scount, stype), INTO(rbuf, rcount, rtype), int root),
	 (sbuf, scount, stype, rbuf, rcount, rtype, root))
MW_LARGE(gatherv, Gatherv,
	 (BLOCK(sbuf, scount, stype), INTO_BLOCKS(rbuf, rcounts, displs, rtype), int root),
	 (sbuf, scount, stype, rbuf, rcounts, displs, rtype, root))
MW_LARGE(scatter, Scatter, (BLOCK(sbuf, scount, stype), INTO(rbuf, rcount, rtype), int root),
	 (sbuf, scount, stype, rbuf, rcount, rtype, root))
MW_LARGE(scatterv, Scatterv,
	 (BLOCKS(sbuf, scounts, displs, stype), INTO(rbuf, rcount, rtype), int root),
	 (sbuf, scounts, displs, stype, rbuf, rcount, rtype, root))
MW_LARGE(allgather, Allgather, (BLOCK(sbuf, scount, stype), INTO(rbuf, rcount, rtype)),
	 (sbuf, scount, stype, rbuf, rcount, rtype))
MW_LARGE(allgatherv, Allgatherv,
	 (BLOCK(sbuf, scount, stype), INTO_BLOCKS(rbuf, rcounts, displs, rtype)),
	 (sbuf, scount, stype, rbuf, rcounts, displs, rtype))
MW_LARGE(alltoall, Alltoall, (BLOCK(sbuf, scount, stype), INTO(rbuf, rcount, rtype)),
	 (sbuf, scount, stype, rbuf, rcount, rtype))
MW_LARGE(alltoallv, Alltoallv,
	 (BLOCKS(sbuf, scounts, sdispls, stype), INTO_BLOCKS(rbuf, rcounts, rdispls, rtype)),
	 (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype))
MW_LARGE(alltoallw, Alltoallw,
	 (BLOCKS_OF(sbuf, scounts, sdispls, stypes),
	  INTO_BLOCKS_OF(rbuf, rcounts, rdispls, rtypes)),
	 (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes))
MW_LARGE(reduce, Reduce, (const void *sbuf, INTO(rbuf, count, type), MPI_Op op, int root),
	 (sbuf, rbuf, count, type, op, root))
MW_LARGE(allreduce, Allreduce, (const void *sbuf, INTO(rbuf, count, type), MPI_Op op),
	 (sbuf, rbuf, count, type, op))
MW_LARGE(reduce_scatter_block, Reduce_scatter_block,
	 (const void *sbuf, INTO(rbuf, count, type), MPI_Op op), (sbuf, rbuf, count, type, op))
MW_LARGE(reduce_scatter, Reduce_scatter,
	 (const void *sbuf, void *rbuf, const MPI_Count counts[], MPI_Datatype type, MPI_Op op),
	 (sbuf, rbuf, counts, type, op))
MW_LARGE(scan, Scan, (const void *sbuf, INTO(rbuf, count, type), MPI_Op op),
	 (sbuf, rbuf, count, type, op))
MW_LARGE(exscan, Exscan, (const void *sbuf, INTO(rbuf, count, type), MPI_Op op),
	 (sbuf, rbuf, count, type, op))
MW_LARGE(neighbor_allgather, Neighbor_allgather,
	 (BLOCK(sbuf, scount, stype), INTO(rbuf, rcount, rtype)),
	 (sbuf, scount, stype, rbuf, rcount, rtype))
MW_LARGE(neighbor_allgatherv, Neighbor_allgatherv,
	 (BLOCK(sbuf, scount, stype), INTO_BLOCKS(rbuf, rcounts, displs, rtype)),
	 (sbuf, scount, stype, rbuf, rcounts, displs, rtype))
MW_LARGE(neighbor_alltoall, Neighbor_alltoall,
	 (BLOCK(sbuf, scount, stype), INTO(rbuf, rcount, rtype)),
	 (sbuf, scount, stype, rbuf, rcount, rtype))
MW_LARGE(neighbor_alltoallv, Neighbor_alltoallv,
	 (BLOCKS(sbuf, scounts, sdispls, stype), INTO_BLOCKS(rbuf, rcounts, rdispls, rtype)),
	 (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype))
MW_LARGE(neighbor_alltoallw, Neighbor_alltoallw,
	 (BLOCKS_OF(sbuf, scounts, sdispls, stypes),
	  INTO_BLOCKS_OF(rbuf, rcounts, rdispls, rtypes)),
	 (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes))
