/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of an MPI library on the NIC: the layer that knows no MPI library.
 *
 * An MPI side (host_driver/mpich, host_driver/ompi) describes a call as a collective of libgoal
 * (struct mc_call) and asks whether the NIC takes it (mc_call.c, by the rules of mc_rules.c;
 * mc_count.c counts). It starts a run (mc_run.c) of a schedule that libgoal caches. A decision uses
 * only what is equal at all ranks: bytes, operations, roots. docs/mpich.md, docs/openmpi.md.
 */
#ifndef WEFT_MC_H
#define WEFT_MC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"

/* The collectives: names in rules and of MPI's functions, ours, and those of libgoal. */
#define MC_COLLECTIVES(X)                                                                          \
	X(barrier, BARRIER, BARRIER)                                                               \
	X(bcast, BCAST, BCAST)                                                                     \
	X(gather, GATHER, GATHER)                                                                  \
	X(gatherv, GATHERV, EXCHANGE)                                                              \
	X(scatter, SCATTER, SCATTER)                                                               \
	X(scatterv, SCATTERV, EXCHANGE)                                                            \
	X(allgather, ALLGATHER, ALLGATHER)                                                         \
	X(allgatherv, ALLGATHERV, EXCHANGE)                                                        \
	X(alltoall, ALLTOALL, ALLTOALL)                                                            \
	X(alltoallv, ALLTOALLV, EXCHANGE)                                                          \
	X(alltoallw, ALLTOALLW, EXCHANGE)                                                          \
	X(reduce, REDUCE, REDUCE)                                                                  \
	X(allreduce, ALLREDUCE, ALLREDUCE)                                                         \
	X(reduce_scatter_block, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER)                              \
	X(reduce_scatter, REDUCE_SCATTER, REDUCE_SCATTER)                                          \
	X(scan, SCAN, SCAN)                                                                        \
	X(exscan, EXSCAN, EXSCAN)                                                                  \
	X(neighbor_allgather, NEIGHBOR_ALLGATHER, EXCHANGE)                                        \
	X(neighbor_allgatherv, NEIGHBOR_ALLGATHERV, EXCHANGE)                                      \
	X(neighbor_alltoall, NEIGHBOR_ALLTOALL, EXCHANGE)                                          \
	X(neighbor_alltoallv, NEIGHBOR_ALLTOALLV, EXCHANGE)                                        \
	X(neighbor_alltoallw, NEIGHBOR_ALLTOALLW, EXCHANGE)

enum mc_coll {
#define X(name, id, goal) MC_##id,
	MC_COLLECTIVES(X)
#undef X
	MC_COLLS
};

enum mc_form {
	MC_BLOCKING = 0,
	MC_NONBLOCKING = 1, /* and persistent */
	MC_FORMS
};

/* The same by the names of MPI's functions, for macros that define one of them. */
enum {
#define X(name, id, goal) MC_OF_##name = MC_##id,
	MC_COLLECTIVES(X)
#undef X
};

/*
 * Why the MPI library itself carries out a call: by what is called, then by the communicator. The
 * last ones do not occur with every MPI library (mc_settings.num_reasons).
 */
#define MC_REASONS(X)                                                                              \
	X(RULE, "rule")                                                                            \
	X(SIZE, "size")                                                                            \
	X(OP, "operation")                                                                         \
	X(TYPE, "type")                                                                            \
	X(INTER, "inter")                                                                          \
	X(SINGLE, "single")                                                                        \
	X(JOB, "job")                                                                              \
	X(ROOM, "room")                                                                            \
	X(ARGUMENT, "argument")                                                                    \
	X(IDUP, "idup")                                                                            \
	X(LARGE, "large")

enum mc_reason {
#define X(name, text) MC_REASON_##name,
	MC_REASONS(X)
#undef X
	MC_REASON_COUNT,
	MC_TAKEN = MC_REASON_COUNT,
};

/* One rank's call, without its buffers. */
struct mc_call {
	enum mc_coll coll;
	GOAL_CollectiveCall goal;
	uint64_t block_bytes;  /* what the rules go by: a rank's block, or the vector */
	uint64_t large_bytes;  /* the largest buffer of any rank */
	bool unequal;          /* ranks know neither: the rules of any size apply */
	bool broken;           /* this rank cannot describe its part: the run fails */
	bool refused;          /* a program of the user's operations is not there: an error */
	enum mc_reason reason; /* MC_TAKEN: libgoal can do it */
};

/* The program that an info key of a communicator names for operations of MPI_Op_create(). */
struct mc_user {
	enum {
		MC_USER_NONE,  /* the communicator has no such key */
		MC_USER_READY, /* op is registered at all ranks */
		MC_USER_FAILED /* it is not: such operations are errors at all ranks */
	} state;
	GOAL_Op op;
	uint32_t elem_bytes;
};

/* The NIC's side of a communicator. It lasts as long as the MPI side's and its runs. */
struct mc_comm {
	GOAL_Comm goal;
	GOAL_Cache cache;      /* schedules of calls, without buffers */
	GOAL_Schedule barrier; /* always there: also the run that fails when no other can start */
	struct mc_comm *job;   /* outlives this one; NULL: goal is the job's, of GOAL_Join() */
	enum mc_reason left;   /* MC_TAKEN; else the NIC serves no call of it, and goal is NULL */
	struct mc_user user;
	/* A persistent request has a communicator of its own, whose job this one is. */
	bool is_alone;
	uint32_t num_alone; /* atomic; of this communicator's requests */
	bool alone_off;     /* a rank failed to make one: at all ranks */
	uint32_t refs;      /* atomic */
	uint64_t last_ns;   /* atomic; NIC's time for this rank's part of the last run */
	uint32_t ranks, rank;
};

/* A call under way. The MPI side has it within a request of its own. */
struct mc_run {
	struct mc_run *next; /* in the list of runs under way */
	struct mc_comm *comm;
	GOAL_Schedule sched; /* of the cache; NULL: it could not be loaded */
	enum mc_coll coll;
	void *send, *recv; /* contiguous; NULL: this rank has none */
	/* A block of this rank to itself, which the host copies; bytes 0: none. */
	struct {
		void *to;
		const void *from;
		size_t bytes;
	} own;
	GOAL_Handle handle;
	bool waiting; /* for a free run record */
	/* The MPI side can end its request before over() is called (mc_run_start()). */
	bool may_end_early;
	bool early; /* it was requested to */
	int error;  /* GOAL_SUCCESS, or why the run was started to fail; at the end the outcome */
	/*
	 * The run is over, with GOAL_SUCCESS or an error. Called once for each start, without any
	 * lock; the run may be started again, or end, from then on.
	 */
	void (*over)(struct mc_run *run, int error);
};

/* Settings of the process. The MPI side sets them before mc_rules_load(). */
struct mc_settings {
	const char *who;      /* begins messages */
	const char *library;  /* carries out what the NIC does not take, in messages */
	const char *left;     /* "left to the library by": begins the reasons in counts */
	uint32_t num_reasons; /* of MC_REASONS: so many occur */
	int verbose;          /* 1: rank 0 prints counts at the end; 2: every rank, by collective */
	char *rules;          /* file; NULL: built-in rules */
	size_t max_bytes;     /* larger buffers stay with the MPI library */
	int force;       /* 1: all to the NIC, 2: all to the library; 0: by rules. May change */
	bool threads;    /* several threads of the program may call at a time */
	uint64_t config; /* hash of what decides where a call goes: equal at all ranks */
	/* The rules leave all calls, whatever their sizes. Set by mc_rules_load(). */
	bool leaves[MC_COLLS][MC_FORMS];
};
extern struct mc_settings mc_settings;

/* ---- calls (mc_call.c) ---------------------------------------------------------------------- */

/*
 * Why such calls stay with the MPI library whatever is in them. MC_TAKEN: that depends on the call.
 * A blocking call on the host takes 3 us, so this looks at nothing else.
 */
static inline enum mc_reason mc_call_left(enum mc_coll coll, enum mc_form form,
					  const struct mc_comm *comm)
{
	if (comm->left != MC_TAKEN)
		return comm->left;
	/* Operations of the program's own are errors, which no rule hands on. */
	if (comm->user.state == MC_USER_FAILED)
		return MC_TAKEN;
	if (mc_settings.force ? mc_settings.force != 1 : mc_settings.leaves[coll][form])
		return MC_REASON_RULE;
	return MC_TAKEN;
}
/* Fills what all collectives share; alg AUTO, width 8. */
void mc_call_init(struct mc_call *call, enum mc_coll coll, uint64_t count, int root);
/* Decides, and counts the decision. True: the NIC takes the call. */
bool mc_call_taken(struct mc_call *call, enum mc_form form, const struct mc_comm *comm);
/* The same, but a call that the NIC can take is not counted yet (mc_comm_alone()). */
bool mc_call_fits(struct mc_call *call, enum mc_form form, const struct mc_comm *comm);

/* ---- buffers, lists of blocks (mc_list.c) ---------------------------------------------------- */

/* Elements of a type of the MPI library. */
struct mc_part {
	void *user;
	int count;
	void *type;
};

/* One buffer of a call. Not contiguous memory is packed for the run, by the MPI side. */
struct mc_side {
	void *addr;     /* contiguous memory of bytes; NULL: this rank has none, or packs */
	uint64_t bytes; /* packed */
	/* Only where the buffer is packed: one part (it has a type), or a list. */
	struct mc_part one;
	struct mc_part *parts;
	uint32_t num_parts;
	int pair; /* of the one part: a form of the MPI side's, 0: none */
};

/* Elements of a buffer for one rank, or from it. */
struct mc_entry {
	int rank; /* -1: no message */
	int tag;
	struct mc_part part;
	uint64_t bytes; /* packed */
	char *at;       /* contiguous memory of the elements; NULL: it has gaps */
};

/* The entries of both directions of a call, under construction. */
struct mc_lists {
	struct mc_entry *sends, *recvs;
	uint32_t num_sends, num_recvs;
	bool one_send; /* all sends are of one buffer, the send side */
	bool copy;     /* what is sent must be copied: it will be received upon */
	bool rounds;   /* an entry for each rank: send and receive with each in turn */
};

/*
 * True if the communicator or the rules leave the call to the MPI library whatever its sizes, which
 * is its reason then: it need not be described.
 */
bool mc_lists_left(struct mc_call *call, enum mc_form form, const struct mc_comm *comm);
/* Begins with empty entries. False: no memory; the call is broken. */
bool mc_lists_begin(struct mc_call *call, struct mc_lists *lists, uint32_t num_sends,
		    uint32_t num_recvs);
/* A rank's neighbours in a topology, in the order of its buffers; negative: MPI_PROC_NULL. */
struct mc_neighbors {
	int *from, *to;
	uint32_t num_from, num_to;
	bool cartesian;
};

/*
 * The same for a neighbourhood: entries have their ranks and tags. In a Cartesian topology each
 * dimension has a neighbour in its negative and one in its positive direction; what is sent in one
 * direction arrives from the other, also where both are one rank. Messages of a graph match in
 * order.
 */
bool mc_lists_begin_near(struct mc_call *call, struct mc_lists *lists,
			 const struct mc_neighbors *near);
/*
 * Makes the call's sides and its list of the entries, and frees them. Returns the memory of the
 * list, until the call has a schedule; the sides' parts are the caller's, too. NULL: the call is
 * broken.
 */
void *mc_lists_end(struct mc_call *call, struct mc_lists *lists, uint32_t rank,
		   struct mc_side *send, struct mc_side *recv);

/* ---- communicators (mc_comm.c) -------------------------------------------------------------- */

/*
 * Takes goal over, which may be NULL. job NULL: it is of GOAL_Join(). NULL: there is no
 * communicator, nothing is left of goal.
 */
struct mc_comm *mc_comm_new(GOAL_Comm goal, struct mc_comm *job);
/*
 * A communicator whose calls all stay with the MPI library, and are counted with that reason. NULL:
 * no memory.
 */
struct mc_comm *mc_comm_new_left(enum mc_reason left, uint32_t ranks, uint32_t rank);
/*
 * True if calls are to be counted without a description, and without bytes: on an intercommunicator
 * a rank may leave most arguments undefined.
 */
static inline bool mc_comm_is_opaque(const struct mc_comm *comm)
{
	return comm->left == MC_REASON_INTER;
}
/*
 * Makes the communicator of one persistent request. Ranks may start persistent requests in any
 * order (MPI 4.0, 6.13), but the runs of one communicator in one order only. All ranks call it,
 * when they make the request. agree: true if all ranks say mine; *any becomes true if some rank has
 * set it. Counts the call, which fits. NULL, at all ranks: there is no room, and the reason of the
 * call says so.
 */
struct mc_comm *mc_comm_alone(struct mc_comm *comm, struct mc_call *call, enum mc_form form,
			      bool (*agree)(void *arg, bool mine, bool *any), void *arg);
void mc_comm_get(struct mc_comm *comm);
/* The last reference frees libgoal's communicator; with the last one of a job its rank leaves. */
void mc_comm_put(struct mc_comm *comm);

/* ---- operations of users (mc_user.c) --------------------------------------------------------- */

#define MC_USER_KEY "weft"
enum {
	MC_USER_VALUE_BYTES = 1024, /* of the key's value, with its end */
};

/*
 * Registers the program that the value of the communicator's info key names, "FILE:SECTION". NULL:
 * this rank has no such key, but another one has. All ranks call, when they make the communicator.
 */
void mc_user_register(struct mc_comm *comm, const char *value);
/*
 * Sets a reduction by a function of the program's on elements of that size, packed, or the reason
 * why the MPI library carries it out.
 */
void mc_user_set(struct mc_call *call, const struct mc_comm *comm, bool commutes,
		 uint64_t elem_bytes);

/* ---- runs (mc_run.c) ------------------------------------------------------------------------ */

/*
 * Gets the call's schedule, and a reference to the communicator, for any number of starts. The host
 * copies a small block of this rank to itself at each start: then the call becomes one in place,
 * and the side that the NIC does not need is empty.
 */
void mc_run_init(struct mc_run *run, struct mc_comm *comm, struct mc_call *call,
		 struct mc_side *send, struct mc_side *recv);
/* Gives both back; the run is not under way. */
void mc_run_end(struct mc_run *run);
/*
 * Starts a run. The caller has set send, recv, over and may_end_early. error: not GOAL_SUCCESS if
 * this rank cannot take part. A failure is the outcome of the run.
 *
 * Returns true if the run's early is set: this rank only sends, and its data are copied, so the
 * program has nothing to wait for. The MPI side ends the request now; over() comes later, may come
 * before mc_run_start() returns, and does not end it again.
 */
bool mc_run_start(struct mc_run *run, int error);
/* Waits for the runs whose requests have ended early: what they send does not outlast the rank. */
void mc_run_drain(void);
/* Looks at the runs under way and calls over() of those that are. Returns how many. Any thread. */
int mc_run_progress(void);

/* True if some run is under way. */
bool mc_run_any(void);

/* ---- mc_pause.c */

/*
 * After each look of the calling thread; found: a run was over, or none is under way. Yields the
 * processor after many looks in vain, one right after the other.
 */
void mc_pause(bool found);

/* ---- rules and counts (mc_rules.c, mc_count.c) ---------------------------------------------- */

const char *mc_coll_name(enum mc_coll coll);
/* Reads the rules; false: they are not valid, a message was printed. */
bool mc_rules_load(void);
/* True: the NIC takes collectives of that form, number of ranks and block. */
bool mc_rules_take(enum mc_coll coll, enum mc_form form, uint32_t ranks, uint64_t bytes);

/* From now on counts go to `weftctl colls`, too; NULL: no more. */
void mc_count_show(GOAL_Comm goal);
/* bytes: of the largest buffer of any rank. Any thread, where mc_settings.threads says so. */
void mc_count(enum mc_coll coll, enum mc_form form, enum mc_reason reason, uint64_t bytes);
/* Prints the lines at the end, as mc_settings.verbose says. */
void mc_count_report(int rank);

#endif /* WEFT_MC_H */
