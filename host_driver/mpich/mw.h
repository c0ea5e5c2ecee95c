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
	MPI_Comm comm;     /* likewise */
	void *list;        /* memory of goal's lists, until there is a run */
	struct mc_side send, recv;
	struct mc_comm *alone; /* of a persistent request, until there is one */
};

/* ---- calls (mw_call.c) ---------------------------------------------------------------------- */

/* Fills what all collectives share but form and communicator; alg AUTO, width 8. */
void mw_call_init(struct mw_call *call, enum mc_coll coll, uint64_t count, int root);
/* Decides, and counts the decision. True: the NIC takes the call. False: it is dropped. */
bool mw_call_taken(const struct mc_comm *mc, struct mw_call *call);
/* Counts a call with large counts, which MPICH carries out. */
void mw_call_count(MPI_Comm comm, enum mc_coll coll, enum mc_form form);
/* Frees the lists of a call that no request took over. */
void mw_call_drop(struct mw_call *call);

/* ---- communicators (mw_comm.c) -------------------------------------------------------------- */

/* After MPI_Init: all ranks of MPI_COMM_WORLD join, or none does. */
void mw_comm_join(void);
/* Before MPI_Finalize. */
void mw_comm_leave(void);
/* The NIC's side of a communicator. NULL: the NIC is not used, or there is no memory. */
struct mc_comm *mw_comm_of(MPI_Comm comm);
/*
 * Decides about a persistent request, and makes its communicator (mc_comm_alone()). All ranks call
 * it. True: the NIC takes the call. False, at all ranks: the call is dropped.
 */
bool mw_comm_alone(struct mc_comm *mc, struct mw_call *call);

/* ---- types and operations (mw_type.c) ------------------------------------------------------- */

/* Bytes of the elements; the call is handed on if MPICH must say what is wrong with them. */
uint64_t mw_type_bytes(struct mw_call *call, int count, MPI_Datatype type);
/* The entry's elements are at a displacement of so many extents and bytes; its rank stays. */
void mw_entry_set(struct mw_call *call, struct mc_entry *e, const void *buf, int64_t displ,
		  int64_t bytes, int count, MPI_Datatype type);
/* The side is an entry's buffer. */
void mw_side_set_part(struct mc_side *side, const struct mc_entry *entry);
/* Describes a buffer. */
void mw_side_set(struct mw_call *call, struct mc_side *side, const void *buf, int64_t count,
		 MPI_Datatype type);

/* The buffers of a call that is taken over, for one run or for several. */
struct mw_sides {
	struct mc_side send, recv;
	bool filled; /* a run reads the receive buffer */
	bool kept;   /* their types are there; false: every run fails at this rank */
};

/* Takes the call's buffers over; their types stay, also if the program frees them. */
void mw_sides_take(struct mw_sides *sides, const struct mw_call *call);
/* Before a run: packs what it reads. Returns the error for mc_run_start(). */
int mw_sides_begin(struct mw_sides *sides, struct mc_run *run);
/* After a run: spreads what it received. */
void mw_sides_end(struct mw_sides *sides, bool success);
/* Gives the types back. */
void mw_sides_release(struct mw_sides *sides);

/* Sets operation, type and width of libgoal, or the reason why there are none. */
void mw_op_set(struct mw_call *call, const struct mc_comm *mc, MPI_Op op, MPI_Datatype type);

/* ---- requests (mw_req.c, mw_persist.c) ------------------------------------------------------ */

/* The three forms of a call that is taken, and taken over; MPI error codes. */
int mw_call_run(struct mc_comm *mc, struct mw_call *call, MPI_Comm comm);
int mw_call_start(struct mc_comm *mc, struct mw_call *call, MPI_Comm comm, MPI_Request *request);
int mw_call_keep(struct mw_call *call, MPI_Request *request);
/* Refuses a call whose operation is a program that is not there. */
int mw_call_refuse(MPI_Comm comm);
/* Before any persistent request, and behind the last; false: MPICH has no room. */
bool mw_persist_begin(void);
void mw_persist_end(void);
/* Frees a persistent request of ours; false: it is none. */
bool mw_persist_free(MPI_Request *request);
/* True: the request is one of ours under way, and ends by itself from now on. */
bool mw_req_forget(MPI_Request request);
/* Waits for all runs under way. */
void mw_req_drain(void);
/* A turn of a loop that waits: looks at runs, and gives the CPU up now and then. */
void mw_req_turn(uint32_t turn);

#define MW_ARGS(...) __VA_ARGS__

/* Describes a call, unless it is only counted. */
#define MW_DESCRIBE(name, ...)                                                                     \
	do {                                                                                       \
		if (mc_comm_is_opaque(mc))                                                         \
			mw_call_init(&call, (enum mc_coll)MC_OF_##name, 0, 0);                     \
		else                                                                               \
			describe_##name(&call, mc, __VA_ARGS__);                                   \
	} while (0)

/*
 * Defines MPI_NAME, MPI_INAME and MPI_NAME_init from describe_NAME(call, comm, arguments), which
 * describes the call.
 */
#define MW_DEFINE(name, Name, params, args)                                                        \
	int MPI_##Name(MW_ARGS params, MPI_Comm comm)                                              \
	{                                                                                          \
		struct mc_comm *mc = mw_comm_of(comm);                                             \
		struct mw_call call = {.form = MC_BLOCKING, .comm = comm};                         \
                                                                                                   \
		if (mc) {                                                                          \
			MW_DESCRIBE(name, MW_ARGS args);                                           \
			if (mw_call_taken(mc, &call))                                              \
				return mw_call_run(mc, &call, comm);                               \
		}                                                                                  \
		return PMPI_##Name(MW_ARGS args, comm);                                            \
	}                                                                                          \
	int MPI_I##name(MW_ARGS params, MPI_Comm comm, MPI_Request *request)                       \
	{                                                                                          \
		struct mc_comm *mc = mw_comm_of(comm);                                             \
		struct mw_call call = {.form = MC_NONBLOCKING, .comm = comm};                      \
                                                                                                   \
		if (mc && request) {                                                               \
			MW_DESCRIBE(name, MW_ARGS args);                                           \
			if (mw_call_taken(mc, &call))                                              \
				return mw_call_start(mc, &call, comm, request);                    \
		}                                                                                  \
		return PMPI_I##name(MW_ARGS args, comm, request);                                  \
	}                                                                                          \
	int MPI_##Name##_init(MW_ARGS params, MPI_Comm comm, MPI_Info info, MPI_Request *request)  \
	{                                                                                          \
		struct mc_comm *mc = mw_comm_of(comm);                                             \
		struct mw_call call = {.form = MC_NONBLOCKING, .comm = comm};                      \
                                                                                                   \
		if (mc && request) {                                                               \
			MW_DESCRIBE(name, MW_ARGS args);                                           \
			if (mw_comm_alone(mc, &call))                                              \
				return mw_call_keep(&call, request);                               \
		}                                                                                  \
		return PMPI_##Name##_init(MW_ARGS args, comm, info, request);                      \
	}

#endif /* WEFT_MW_H */
