/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft-mpich.so: collectives of unchanged MPICH programs on the NIC, by MPI's profiling
 * interface.
 *
 * The library is preloaded and defines MPI_Bcast and others before MPICH does. A call that the NIC
 * takes becomes a run of host_driver/mpi; its request is a generalized request of MPICH, so it may
 * stand among others in every call that tests or ends requests. Everything else goes to MPICH's
 * PMPI_ function. docs/mpich.md.
 */
#ifndef WEFT_MW_H
#define WEFT_MW_H

/* MPI's functions, and nothing else of the library, are seen from outside. */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include "host_driver/mpi/mc.h"

/* One rank's call. */
struct mw_call {
	struct mc_call mc;
	enum mc_form form; /* set before the call is described */
	void *list;        /* memory of goal's lists, until there is a run */
	struct mc_side send, recv;
};

/* ---- calls (mw_call.c) ---------------------------------------------------------------------- */

/* Fills what all collectives share but form; alg AUTO, width 8. */
void mw_call_init(struct mw_call *call, enum mc_coll coll, uint64_t count, int root);
/* Decides, and counts the decision. True: the NIC takes the call. False: it is dropped. */
bool mw_call_taken(const struct mc_comm *mc, struct mw_call *call);

/* ---- communicators (mw_comm.c) -------------------------------------------------------------- */

/* After MPI_Init: all ranks of MPI_COMM_WORLD join, or none does. */
void mw_comm_join(void);
/* Before MPI_Finalize. */
void mw_comm_leave(void);
/* The NIC's side of a communicator; NULL: MPICH carries its collectives out. */
struct mc_comm *mw_comm_of(MPI_Comm comm);

/* ---- types and operations (mw_type.c) ------------------------------------------------------- */

/* Bytes of the elements; the call is handed on if MPICH must say what is wrong with them. */
uint64_t mw_type_bytes(struct mw_call *call, int count, MPI_Datatype type);
/* True if elements of the type follow each other without gaps, in the order of memory. */
bool mw_type_is_dense(MPI_Datatype type);
struct mc_part mw_part(void *user, int count, MPI_Datatype type);
/* The side is an entry's buffer. */
void mw_side_set_part(struct mc_side *side, const struct mc_entry *entry);
/* Describes a buffer. */
void mw_side_set(struct mw_call *call, struct mc_side *side, const void *buf, int64_t count,
		 MPI_Datatype type);
/* Before a run: makes the packed copy, filled if fill is set. False: no memory. */
bool mw_side_begin(struct mc_side *side, bool fill);
/* After a run: spreads the packed copy if wanted, and frees it. */
void mw_side_end(struct mc_side *side, bool spread);
/* Sets operation, type and width of libgoal, or the reason why there are none. */
void mw_op_set(struct mw_call *call, const struct mc_comm *mc, MPI_Op op, MPI_Datatype type);

/* ---- requests (mw_req.c) -------------------------------------------------------------------- */

/* The two forms of a call that is taken, and taken over; MPI error codes. */
int mw_call_run(struct mc_comm *mc, struct mw_call *call, MPI_Comm comm);
int mw_call_start(struct mc_comm *mc, struct mw_call *call, MPI_Comm comm, MPI_Request *request);
/* True: the request is one of ours under way, and ends by itself from now on. */
bool mw_req_forget(MPI_Request request);
/* Waits for all runs under way. */
void mw_req_drain(void);
/* A turn of a loop that waits: looks at runs, and gives the CPU up now and then. */
void mw_req_turn(uint32_t turn);

#define MW_ARGS(...) __VA_ARGS__

/*
 * Defines MPI_NAME and MPI_INAME from describe_NAME(call, comm, arguments), which describes the
 * call.
 */
#define MW_DEFINE(name, Name, params, args)                                                        \
	int MPI_##Name(MW_ARGS params, MPI_Comm comm)                                              \
	{                                                                                          \
		struct mc_comm *mc = mw_comm_of(comm);                                             \
		struct mw_call call = {.form = MC_BLOCKING};                                       \
                                                                                                   \
		if (mc) {                                                                          \
			describe_##name(&call, mc, MW_ARGS args);                                  \
			if (mw_call_taken(mc, &call))                                              \
				return mw_call_run(mc, &call, comm);                               \
		}                                                                                  \
		return PMPI_##Name(MW_ARGS args, comm);                                            \
	}                                                                                          \
	int MPI_I##name(MW_ARGS params, MPI_Comm comm, MPI_Request *request)                       \
	{                                                                                          \
		struct mc_comm *mc = mw_comm_of(comm);                                             \
		struct mw_call call = {.form = MC_NONBLOCKING};                                    \
                                                                                                   \
		if (mc && request) {                                                               \
			describe_##name(&call, mc, MW_ARGS args);                                  \
			if (mw_call_taken(mc, &call))                                              \
				return mw_call_start(mc, &call, comm, request);                    \
		}                                                                                  \
		return PMPI_I##name(MW_ARGS args, comm, request);                                  \
	}

#endif /* WEFT_MW_H */
