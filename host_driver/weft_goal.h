/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives, as the NIC offers them: runs, communicators, compiled schedules.
 *
 * The layer beneath libgoal (host_driver/goal), and for whoever makes schedules himself; most
 * programs include goal.h instead. Objects belong to a context and die with it. Conventions as in
 * weft.h: negative errno, units last, every call from any thread. docs/host-interface.md
 * "Collectives", shared_defs/goal_format.h for the schedules.
 */
#ifndef WEFT_GOAL_H
#define WEFT_GOAL_H

#include "host_driver/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A process's table of runs; one for each context. */
struct weft_goal;

/* runs: how many may be in flight, a power of two, at most 4,096. NULL and errno. */
WEFT_API struct weft_goal *weft_goal_open(struct weft_context *context, uint32_t runs);
/* Before the context is closed. Runs in flight go on without anyone to hear of their end. */
WEFT_API void weft_goal_close(struct weft_goal *goal);

/* Where a rank is: what weft_goal_self() of that process said. */
struct weft_goal_peer {
	uint8_t mac[6];
	uint8_t shard;
	uint8_t reserved;
	uint32_t ip;     /* network byte order */
	uint32_t client; /* number of the process at its NIC */
};

WEFT_API void weft_goal_self(const struct weft_goal *goal, struct weft_goal_peer *self);

struct weft_goal_comm_attr {
	uint64_t key[2]; /* the same at all ranks, random; nobody else should know it */
	uint32_t rank, num_ranks;
	const struct weft_goal_peer *peers; /* num_ranks */
	struct weft_pd *pd;                 /* of all memory that its schedules use */
	uint32_t eager_bytes;               /* largest message sent unasked, to 1 MiB; 0: 128 KiB */
};

/* -EINVAL, -EBUSY (that key and rank exist here), -ENOSPC. */
WEFT_API WEFT_CHECK_RET int weft_goal_comm_create(struct weft_goal *goal,
						  const struct weft_goal_comm_attr *attr,
						  uint32_t *comm);
/* -EBUSY while a run or a load is under way. */
WEFT_API WEFT_CHECK_RET int weft_goal_comm_destroy(struct weft_goal *goal, uint32_t comm);
/* Adds registered memory for messages that come before their receives. -ENOSPC: eight times at
 * most. */
WEFT_API WEFT_CHECK_RET int weft_goal_pool(struct weft_goal *goal, uint32_t comm,
					   const struct weft_mr *mr);

/*
 * Private memory of the process, mapped throughout: nobody else sees it, so a copy may stand for it
 * until the process looks. Reads /proc/self/maps.
 */
WEFT_API bool weft_goal_private(const void *addr, size_t bytes);

/* What a slot of a schedule is bound to. */
struct weft_goal_bind {
	void *addr;
	size_t bytes;
	const struct weft_mr *mr;
};

enum {
	WEFT_GOAL_WHY_BYTES = 96,
};

/*
 * Loads a compiled schedule; pd is the communicator's. The NIC keeps a copy: neither code nor binds
 * are needed afterwards, the buffers' registrations are. -EINVAL and a sentence in why
 * (WEFT_GOAL_WHY_BYTES, may be NULL) when the NIC refuses it; -ENOSPC when its memory is used up.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_load(struct weft_goal *goal, uint32_t comm,
					   struct weft_pd *pd, const void *code, size_t bytes,
					   const struct weft_goal_bind *binds, uint32_t num_binds,
					   uint32_t *schedule, char *why);
/* The same; *op is the operation for which the NIC refuses it, UINT32_MAX: none in particular. */
WEFT_API WEFT_CHECK_RET int weft_goal_load_op(struct weft_goal *goal, uint32_t comm,
					      struct weft_pd *pd, const void *code, size_t bytes,
					      const struct weft_goal_bind *binds,
					      uint32_t num_binds, uint32_t *schedule, char *why,
					      uint32_t *op);
/* Runs in flight end first. */
WEFT_API WEFT_CHECK_RET int weft_goal_unload(struct weft_goal *goal, uint32_t schedule);

struct weft_goal_run_attr {
	uint32_t schedule;
	bool memory_gone;    /* a buffer is: the run fails with HW_GOAL_MEMORY at every rank */
	uint64_t timeout_ns; /* 0: none */
	/* PERFTRACE: entries of 16 bytes (hw_goal_trace) go here; NULL: none */
	const struct weft_mr *trace_mr;
	void *trace;
	uint32_t trace_entries;
};

/*
 * Starts a run: one doorbell. Runs of one communicator must be started in the same order by all its
 * ranks. Returns the run, or -EAGAIN: all records are in use.
 */
WEFT_API WEFT_CHECK_RET int weft_goal_start(struct weft_goal *goal,
					    const struct weft_goal_run_attr *attr, uint32_t *run);

enum {
	WEFT_GOAL_WAITS = 10,
};

struct weft_goal_result {
	uint32_t status; /* enum hw_goal_status */
	uint32_t rank;   /* at fault */
	uint32_t op;     /* that failed here; UINT32_MAX */
	uint32_t ops;    /* operations carried out */
	uint32_t instance;
	uint32_t traced, trace_lost;  /* points of PERFTRACE, and those that found no room */
	uint64_t start_ns, finish_ns; /* of the NIC's clock */
	/* A failed run: lengths of message and receive for HW_GOAL_TRUNCATED, else 0; open
	 * operations. */
	uint64_t message_bytes, room_bytes;
	uint32_t num_waits; /* WEFT_GOAL_WAITS + 1: more than are named */
	uint32_t waits[WEFT_GOAL_WAITS];
};

/* One memory read; true when the run is over. It stays the caller's until weft_goal_finish(). */
WEFT_API bool weft_goal_test(const struct weft_goal *goal, uint32_t run);
/* The NIC is gone, which is looked for every 10 ms: runs that are not over never will be. */
WEFT_API bool weft_goal_gone(const struct weft_goal *goal);
/* Blocks until it is over. 0, -EINTR, -EIO. timeout_ns: UINT64_MAX for ever, else -ETIMEDOUT. */
WEFT_API WEFT_CHECK_RET int weft_goal_wait(struct weft_goal *goal, uint32_t run,
					   uint64_t timeout_ns);
/* The result of a run that is over; its record is free again. */
WEFT_API void weft_goal_finish(struct weft_goal *goal, uint32_t run,
			       struct weft_goal_result *result);
/* Fails it at every rank with HW_GOAL_CANCELED; nothing when it is over. */
WEFT_API WEFT_CHECK_RET int weft_goal_cancel(struct weft_goal *goal, uint32_t run);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_GOAL_H */
