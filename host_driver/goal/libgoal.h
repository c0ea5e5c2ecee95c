/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private declarations shared by the files of libGOAL.
 *
 * An instance belongs to one context of libweft. Functions of goal.h without a communicator use the
 * instance that GOAL_Init() made; GOAL_JoinBegin() may make further ones, one for each NIC, whose
 * numbers stand in the handles of their runs. These are the only global state. The simulator
 * therefore runs many ranks in one process through libgoal_attach().
 *
 * libgoal_api.c: graphs and errors of goal.h; libgoal_comm.c: instances, communicators, pools;
 * libgoal_sched.c: schedules; libgoal_run.c: runs; libgoal_trace.c: traces of runs;
 * libgoal_coll.c, libgoal_collv.c: collectives; libgoal_bound.c: runs that name their buffers;
 * libgoal_gaps.c: what they leave alone; libgoal_shadow.c: copies of buffers that the NIC
 * cannot map; libgoal_why.c: texts of failures; libgoal_instance.c: the instance of the process;
 * libgoal_launch.c: GOAL_Init() and the discovery of the other ranks; libgoal_join.c: the same for
 * a library; libgoal_op.c: operations of users.
 */
#ifndef WEFT_LIBGOAL_H
#define WEFT_LIBGOAL_H

#include <pthread.h>
#include <stdbool.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/compile/goal_graph.h"
#include "host_driver/weft_goal.h"

enum {
	LIBGOAL_RUN_BITS = 10,
	LIBGOAL_RUNS = 1 << LIBGOAL_RUN_BITS, /* in flight */
	LIBGOAL_INSTANCES = 64,
	LIBGOAL_POOLS = 8,
	LIBGOAL_TRACE_MAX = 1 << 24, /* trace points of one run */
	LIBGOAL_SHADOW_SIZES = 15,   /* block sizes: 64 bytes to 1 MiB */
	LIBGOAL_DETAIL = 1280,       /* bytes of an error's detail text */
	LIBGOAL_KEPT = 64,           /* outcomes of runs whose records are in use again */
};
#define LIBGOAL_POOL_BYTES     (UINT64_C(1) << 20) /* initial pool of a communicator */
#define LIBGOAL_POOL_MAX_BYTES (UINT64_C(256) << 20)
/* Limits of WEFT_GOAL_POOL. A pool of that size is allocated at the start and does not grow. */
#define LIBGOAL_POOL_SAID_MIN UINT64_C(4096)
#define LIBGOAL_POOL_SAID_MAX (UINT64_C(1) << 30)
#define LIBGOAL_EAGER_BYTES   UINT64_C(131072)

/* A part of a buffer. */
struct libgoal_piece {
	uint64_t at, bytes;
};

/* Buffers that a run names itself: registered, or copied to blocks of mapped memory. */
struct libgoal_bound {
	uint32_t num;
	struct libgoal_bound_buf {
		void *user;
		uint64_t bytes;
		bool write;         /* the schedule writes it */
		void *block;        /* copy; NULL: the NIC uses the buffer itself */
		struct weft_mr *mr; /* of the buffer; NULL with a copy */
	} buf[WEFT_GOAL_RUN_BINDS];
};

/* State of the last use of a run record. */
struct libgoal_slot {
	uint32_t use; /* sequence number of that use: the upper half of its handle */
	bool running; /* not yet reaped */
	GOAL_Schedule sched;
	struct libgoal_trace *trace; /* trace of that use while attached; NULL */
	struct libgoal_bound bound;  /* of a schedule without buffers */
	struct weft_goal_result result;
	char *why;      /* detail of a failed run, from libgoal_why(); NULL */
	bool unfetched; /* GOAL_Wait() has not returned the outcome */
};

/* Outcome of a run that nothing waited for before its record was used again. */
struct libgoal_outcome {
	uint32_t record, use;
	struct weft_goal_result result;
	char *why;
};

struct libgoal {
	uint32_t number; /* among the instances of the process */
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_goal *goal;
	GOAL_Comm world;
	pthread_mutex_t lock; /* protects slots, counts, pools of communicators, shadows */
	struct libgoal_slot slots[LIBGOAL_RUNS];
	struct libgoal_outcome kept_outcomes[LIBGOAL_KEPT];
	uint32_t num_outcomes; /* kept so far; the latest ones are there */
	uint32_t running;
	uint64_t pool_bytes, pool_max_bytes; /* initial and maximum pool of a communicator */
	struct weft_mr_cache *cache;  /* of schedules: a region ends with the last that names it */
	struct weft_mr_cache *kept;   /* of runs that name their buffers: kept for the next run */
	struct libgoal_chunk *chunks; /* memory from which shadows are cut */
	void *blocks[LIBGOAL_SHADOW_SIZES];
	uint64_t shadow_bytes; /* of all chunks */
	bool no_shadows;       /* the NIC cannot map shadows either, or WEFT_MEM forbids it */
};

/*
 * A list of ranks from which communicators were made. Each member counts the communicators of equal
 * lists, so all members agree on their numbers.
 */
struct libgoal_list {
	struct libgoal_list *next;
	uint64_t id[2]; /* hash of the list */
	uint32_t made;
};

struct GOAL_Comm_s {
	struct libgoal *lib;
	uint32_t handle; /* of the NIC */
	uint32_t rank, size;
	uint64_t key[2];
	struct libgoal_list *lists;    /* lists of communicators made of it; under the lock */
	uint32_t refs;                 /* number of schedules */
	struct goal_user_ops user_ops; /* added by the thread that registers */
	bool joined;                   /* made by GOAL_Join(), or of such a one */
	bool near;                     /* all ranks share a built-in switch */
	struct weft_goal_peer *peers;
	uint64_t eager_bytes;
	uint64_t pool_bytes;
	uint32_t num_pools;
	struct {
		void *mem;
		size_t bytes;
		struct weft_mr *mr;
	} pool[LIBGOAL_POOLS];
};

struct GOAL_Graph_s {
	GOAL_Comm comm;
	struct goal_graph *graph;
};

struct GOAL_Schedule_s {
	GOAL_Comm comm;
	uint32_t handle; /* of the NIC */
	uint32_t refs;   /* runs, plus one for the user */
	struct goal_code code;
	struct weft_goal_bind *binds;
	/* One per range; NULL: the range has a shadow, or its memory is gone. */
	struct weft_mr **mrs;
	void **shadows;                     /* NULL: no range has a shadow */
	uint32_t flying;                    /* runs not yet reaped; under the lock */
	bool unbound;                       /* each run names the buffers */
	bool receives[WEFT_GOAL_RUN_BINDS]; /* then: the slot is the receive buffer */
	/* Parts of the receive buffer that an unbound schedule writes; 0: all of the slot. */
	struct libgoal_piece *pieces;
	uint32_t num_pieces;
	bool exclusive;               /* the user's buffers are its work space: one run at a time */
	struct libgoal_trace *traces; /* traces of its runs; libgoal_trace.c */
};

/* Records the thread's error and returns it; detail may be NULL. */
int libgoal_error(int error, const char *detail);
/* Converts a negative errno of libweft to a GOAL_ERR_*. */
int libgoal_errno(int rc);

/* Creates an instance on an open context. Returns GOAL_SUCCESS or an error. */
int libgoal_attach(struct weft_context *context, struct libgoal **lib);
/* Frees the instance. The caller keeps the context. */
void libgoal_detach(struct libgoal *lib);
/*
 * Creates the world communicator. peers holds the addresses of all ranks and becomes libgoal's; key
 * is the same at all ranks.
 */
int libgoal_world(struct libgoal *lib, uint32_t rank, uint32_t size,
		  const struct weft_goal_peer *peers, const uint64_t key[2]);
/*
 * Returns true if these ranks share a built-in switch. All ranks come to the same answer, since
 * each said of itself where it is.
 */
bool libgoal_are_near(const struct weft_goal_peer *peers, uint32_t size);
/* Creates a communicator of these ranks and copies peers. */
int libgoal_comm_new(struct libgoal *lib, uint32_t rank, uint32_t size,
		     const struct weft_goal_peer *peers, const uint64_t key[2], GOAL_Comm *out);
/* Frees any communicator. GOAL_ERR_STATE: it has schedules. */
int libgoal_comm_end(GOAL_Comm comm);
/* Returns the instance of GOAL_Init(), or NULL. */
struct libgoal *libgoal_default(void);

/* A run of an instance: bits 0 to 9 the record, 10 to 15 the instance, from 16 on the use. */
struct libgoal_run {
	struct libgoal *lib;
	uint32_t record, use;
};

static inline GOAL_Handle libgoal_handle(const struct libgoal *lib, uint32_t use, uint32_t record)
{
	return (GOAL_Handle)use << 16 | lib->number << LIBGOAL_RUN_BITS | record;
}

/* Reads a handle; false: its instance does not exist. */
bool libgoal_find(GOAL_Handle handle, struct libgoal_run *run);
/* Returns true in a child of fork: the instance belongs to the parent. */
bool libgoal_is_forked(void);
/* Parses a decimal number from least to most; rejects any other text. */
bool libgoal_parse(const char *text, uint64_t least, uint64_t most, uint64_t *number);
/*
 * Reaps the runs that were unfinished when the NIC went away, as GOAL_ERR_NIC_GONE. Returns their
 * number.
 */
uint32_t libgoal_reap_gone(struct libgoal *lib);
/*
 * Rebinds ranges whose memory was unmapped since the schedule was made to the memory now at their
 * addresses.
 */
int libgoal_sched_refresh(GOAL_Schedule sched);
/* Returns true if some of its memory was unmapped. Under the lock. */
bool libgoal_sched_is_stale(const struct GOAL_Schedule_s *sched);

/*
 * Describes an operation of compiled code: "vertex 3, a send of 8 bytes with tag 0 to rank 1"; or
 * "".
 */
void libgoal_describe(const struct goal_code *code, uint32_t vertex, char *what, size_t room);
/* Describes an operation of a graph that is not compiled. */
void libgoal_describe_vertex(const struct goal_graph *graph, uint32_t vertex, char *what,
			     size_t room);
/* Describes why a run failed and what it waited for. Returns malloc() memory, or NULL. */
char *libgoal_why(const struct GOAL_Schedule_s *sched, const struct weft_goal_result *result);

/*
 * Loads code, which it takes over. unbound: its runs name the buffers. NULL and libgoal_error() on
 * failure.
 */
GOAL_Schedule libgoal_load(GOAL_Comm comm, struct goal_code *code, bool unbound);
/* Grows the pool for unexpected messages to at least bytes, within the limit. */
int libgoal_pool_grow(GOAL_Comm comm, uint64_t bytes);
/*
 * Builds and compiles a collective. count, width and root are the user's arguments, unchecked. NULL
 * and libgoal_error() on failure.
 */
struct goal_coll_call;
GOAL_Schedule libgoal_coll(GOAL_Comm comm, struct goal_coll_call *call, int64_t count, int width,
			   int root);
/* Take and release a reference to a schedule. */
void libgoal_sched_get(GOAL_Schedule sched);
void libgoal_sched_put(GOAL_Schedule sched);

/*
 * Starts a run; returns its record and the number of its use. GOAL_SUCCESS or an error. bound: the
 * buffers of an unbound schedule, taken over; otherwise NULL.
 */
int libgoal_start(GOAL_Schedule sched, struct weft_goal_run_attr *attr,
		  const struct libgoal_bound *bound, uint32_t *record, uint32_t *use);

/*
 * Lists what the graph writes of the window at base, in order, if the list has gaps. Returns 0 or
 * -ENOMEM; *pieces is malloc() memory or NULL.
 */
int libgoal_gaps(const struct goal_graph *graph, uintptr_t base, struct libgoal_piece **pieces,
		 uint32_t *num);

/*
 * Copies results to the process's buffers, and gives up what the run held of them. Under the lock.
 */
void libgoal_bound_out(const struct GOAL_Schedule_s *sched, const struct libgoal_bound *bound);
void libgoal_bound_drop(struct libgoal *lib, struct libgoal_bound *bound);

/*
 * Binds a range that the NIC cannot map to a shadow; false: it must be bound without one. _put()
 * releases all shadows; _in() and _out() copy at the start and the end of a run. All run under the
 * lock.
 */
bool libgoal_shadow_get(GOAL_Schedule sched, uint32_t range);
void libgoal_shadow_put(GOAL_Schedule sched);
/* Both return false when the process's memory is unmapped. */
bool libgoal_shadow_in(const struct GOAL_Schedule_s *sched);
bool libgoal_shadow_out(const struct GOAL_Schedule_s *sched);
/* A block of mapped memory and its region, or NULL; returned by _put(). Under the lock. */
void *libgoal_block_get(struct libgoal *lib, uint64_t bytes, const struct weft_mr **mr);
void libgoal_block_put(struct libgoal *lib, void *mem, uint64_t bytes);
/*
 * Returns true for memory that cannot be unmapped: static data, the brk heap, the caller's own
 * stack.
 */
bool libgoal_memory_stays(uintptr_t addr, uint64_t bytes);
/* Reads WEFT_MEM: runs do not, since a look at a large environment takes 1,000 instructions. */
void libgoal_shadow_begin(struct libgoal *lib);
/* Frees the instance's shadows. */
void libgoal_shadow_end(struct libgoal *lib);

/* The run of this record is over: its trace may be reused. Under the lock. */
void libgoal_trace_over(struct libgoal_slot *slot);
/* Frees the traces of a schedule. */
void libgoal_trace_free(GOAL_Schedule sched);

#endif /* WEFT_LIBGOAL_H */
