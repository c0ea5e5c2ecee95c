/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as the NIC provides them: runs, communicators, compiled schedules.
 *
 * This is the layer below libgoal (host_driver/goal), and an interface for programs that build
 * schedules themselves; most programs include goal.h instead. Objects belong to a context and end
 * with it. Conventions as in weft.h: negative errno, units last, every call from any thread.
 * docs/host-interface.md, "Collectives"; shared_defs/goal_format.h for the schedules.
 */
#ifndef WEFT_GOAL_H
#define WEFT_GOAL_H

#include "host_driver/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A process's table of runs; one per context. */
struct weft_goal;

/*
 * Opens the table. runs: maximum number in flight, a power of two, at most 4,096. NULL and errno on
 * failure.
 */
WEFT_API struct weft_goal *weft_goal_open(struct weft_context *context, uint32_t runs);
/* Call it before the context is closed. Runs in flight continue, but their end is not reported. */
WEFT_API void weft_goal_close(struct weft_goal *goal);

/* Address of a rank, as weft_goal_self() returned it in that process. */
struct weft_goal_peer {
	uint8_t mac[6];
	uint8_t shard;
	uint8_t switch_id; /* of the built-in switch of its weftd; 0: a wire, or not known */
	uint32_t ip;       /* network byte order */
	uint32_t client;   /* number of the process at its NIC */
};

/*
 * Counts a collective of an MPI library of this process, for `weftctl colls`: it ran on the NIC, or
 * the library carried it out itself. Any thread.
 */
WEFT_API void weft_goal_count(const struct weft_goal *goal, bool on_nic, uint64_t bytes);

WEFT_API void weft_goal_self(const struct weft_goal *goal, struct weft_goal_peer *self);

struct weft_goal_comm_attr {
	uint64_t key[2]; /* the same at all ranks, random and secret */
	uint32_t rank, num_ranks;
	const struct weft_goal_peer *peers; /* num_ranks entries */
	struct weft_pd *pd;   /* protection domain of all memory that its schedules use */
	uint32_t eager_bytes; /* largest message sent without a request, up to 1 MiB; 0: 128 KiB */
};

/* Creates a communicator. -EINVAL, -EBUSY (that key and rank exist here), -ENOSPC. */
WEFT_API WEFT_CHECK_RET int weft_goal_comm_create(struct weft_goal *goal,
						  const struct weft_goal_comm_attr *attr,
						  uint32_t *comm);
/* Destroys a communicator. -EBUSY while a run or a load is in progress. */
WEFT_API WEFT_CHECK_RET int weft_goal_comm_destroy(struct weft_goal *goal, uint32_t comm);
/*
 * Adds registered memory for messages that arrive before their receives. -ENOSPC: more than eight
 * calls.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_pool(struct weft_goal *goal, uint32_t comm,
					   const struct weft_mr *mr);

/* A user's operation: a program of eBPF, and what it works on. docs/user-ops.md. */
struct weft_goal_op_attr {
	const void *insns; /* of 8 bytes each */
	uint32_t num_insns;
	uint32_t elem_bytes;
	uint32_t block; /* elements of a call */
	uint32_t mark;  /* schedules repeat it */
	const void *args;
	uint32_t args_bytes; /* at most 64 */
};
/*
 * Registers an operation on a communicator, for its lifetime. -EINVAL: the NIC refused the program,
 * with a reason in why (WEFT_GOAL_WHY_BYTES) and the instruction in *insn, UINT32_MAX: none in
 * particular. -ENOSPC: no room for another.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_op(struct weft_goal *goal, uint32_t comm,
					 const struct weft_goal_op_attr *attr, uint32_t *number,
					 char *why, uint32_t *insn);

/*
 * Returns true if the range is private memory of the process and fully mapped. No other process
 * sees it, so a copy may replace it until the process accesses it. Reads /proc/self/maps.
 */
WEFT_API bool weft_goal_private(const void *addr, size_t bytes);

/* The buffer to which a slot of a schedule is bound. */
struct weft_goal_bind {
	void *addr;
	size_t bytes;
	const struct weft_mr *mr;
};

enum {
	WEFT_GOAL_WHY_BYTES = 96,
	WEFT_GOAL_RUN_BINDS = 2, /* buffers that a run may name */
};

/*
 * Loads a compiled schedule; pd is the communicator's. The NIC keeps a copy: neither code nor binds
 * are needed afterwards, but the buffers must stay registered. -EINVAL with a reason in why
 * (WEFT_GOAL_WHY_BYTES, may be NULL) if the NIC rejects it; -ENOSPC if its memory is exhausted.
 * binds NULL: each run of the schedule names its buffers, at most WEFT_GOAL_RUN_BINDS.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_load(struct weft_goal *goal, uint32_t comm,
					   struct weft_pd *pd, const void *code, size_t bytes,
					   const struct weft_goal_bind *binds, uint32_t num_binds,
					   uint32_t *schedule, char *why);
/*
 * As weft_goal_load(); *op is the operation that caused a rejection, UINT32_MAX: none in
 * particular.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_load_op(struct weft_goal *goal, uint32_t comm,
					      struct weft_pd *pd, const void *code, size_t bytes,
					      const struct weft_goal_bind *binds,
					      uint32_t num_binds, uint32_t *schedule, char *why,
					      uint32_t *op);
/* Unloads a schedule. Waits for its runs in flight. */
WEFT_API WEFT_CHECK_RET int weft_goal_unload(struct weft_goal *goal, uint32_t schedule);

struct weft_goal_run_attr {
	uint32_t schedule;
	/* a buffer is unmapped: the run fails with HW_GOAL_MEMORY at every rank. */
	bool memory_gone;
	uint64_t timeout_ns; /* 0: none */
	/* The buffer of each slot, in place of those that were bound at load; NULL: those. */
	const struct weft_goal_bind *binds;
	uint32_t num_binds; /* at most WEFT_GOAL_RUN_BINDS */
	/* PERFTRACE: destination of entries of 16 bytes (hw_goal_trace); NULL: none */
	const struct weft_mr *trace_mr;
	void *trace;
	uint32_t trace_entries;
};

/*
 * Starts a run with one doorbell. All ranks of a communicator must start its runs in the same
 * order. Stores the run in *run; -EAGAIN: all records are in use.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_start(struct weft_goal *goal,
					    const struct weft_goal_run_attr *attr, uint32_t *run);

enum {
	WEFT_GOAL_WAITS = 10,
	WEFT_GOAL_WAITS_COUNTED = 256,
};

struct weft_goal_result {
	uint32_t status; /* enum hw_goal_status */
	uint32_t rank;   /* rank at fault */
	uint32_t op;     /* operation that failed at this rank; UINT32_MAX: none */
	uint32_t ops;    /* operations executed */
	uint32_t instance;
	uint32_t traced, trace_lost;  /* points recorded by PERFTRACE, and points dropped */
	uint64_t start_ns, finish_ns; /* of the NIC's clock */
	/*
	 * For a failed run: lengths of message and receive (HW_GOAL_TRUNCATED, else 0) and
	 * operations that still waited.
	 */
	uint64_t message_bytes, room_bytes;
	/* The first are listed. WEFT_GOAL_WAITS_COUNTED + 1: more than are counted. */
	uint32_t num_waits;
	uint32_t waits[WEFT_GOAL_WAITS];
};

/*
 * Returns true when the run is over; one memory read. The record stays the caller's until
 * weft_goal_finish().
 */
WEFT_API bool weft_goal_test(const struct weft_goal *goal, uint32_t run);
/* Returns true if the NIC is gone, checked every 10 ms: unfinished runs will not finish. */
WEFT_API bool weft_goal_gone(const struct weft_goal *goal);
/*
 * Blocks until the run is over. Returns 0, -EINTR, -EIO or -ETIMEDOUT. timeout_ns UINT64_MAX: no
 * limit.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_wait(struct weft_goal *goal, uint32_t run,
					   uint64_t timeout_ns);
/*
 * Waiting for the ends of runs beside other descriptors: poll both of fd, which stay the table's.
 * They are readable from an event on until weft_goal_heard(). One listener at a time, named by any
 * pointer, which may listen several times; -EBUSY: there is another. -ENOSYS: a simulated NIC.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_listen(struct weft_goal *goal, const void *listener,
					     int fd[2]);
WEFT_API void weft_goal_unlisten(struct weft_goal *goal);
/* Takes the events. Look at all runs that events were requested for after it, not before. */
WEFT_API void weft_goal_heard(struct weft_goal *goal);
/* Requests an event at the end of the run. True: it is over. */
WEFT_API bool weft_goal_request(struct weft_goal *goal, uint32_t run);
/* Returns the result of a finished run and frees its record. */
WEFT_API void weft_goal_finish(struct weft_goal *goal, uint32_t run,
			       struct weft_goal_result *result);
/* Makes the run fail at every rank with HW_GOAL_CANCELED; no effect when it is over. */
WEFT_API WEFT_CHECK_RET int weft_goal_cancel(struct weft_goal *goal, uint32_t run);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_GOAL_H */
