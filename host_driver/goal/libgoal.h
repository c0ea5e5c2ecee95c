/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of libGOAL share. An instance belongs to one context of libweft; the functions
 * without a communicator in goal.h use the one that GOAL_Init() made, which is the only global
 * state, so the simulator runs many ranks in one process through libgoal_attach().
 *
 * libgoal_api.c: goal.h's graphs and errors; libgoal_comm.c: instances, communicators, pools;
 * libgoal_sched.c: schedules; libgoal_run.c: runs; libgoal_trace.c: traces of them;
 * libgoal_shadow.c: copies of buffers that the NIC cannot map; libgoal_why.c: failures in words;
 * libgoal_launch.c: GOAL_Init() and how ranks find each other.
 */
#ifndef WEFT_LIBGOAL_H
#define WEFT_LIBGOAL_H

#include <pthread.h>
#include <stdbool.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/compile/goal_graph.h"
#include "host_driver/weft_goal.h"

enum {
	LIBGOAL_RUNS = 1024, /* in flight */
	LIBGOAL_POOLS = 8,
	LIBGOAL_TRACE_MAX = 1 << 24, /* points of a run */
	LIBGOAL_SHADOW_SIZES = 15,   /* of blocks: 64 bytes to 1 MiB */
	LIBGOAL_DETAIL = 1280,       /* bytes of a sentence on an error */
};
#define LIBGOAL_POOL_BYTES     (UINT64_C(1) << 20) /* of a communicator at first */
#define LIBGOAL_POOL_MAX_BYTES (UINT64_C(256) << 20)
/* Limits of WEFT_GOAL_POOL. A pool of that size is made at the start, and does not grow. */
#define LIBGOAL_POOL_SAID_MIN UINT64_C(4096)
#define LIBGOAL_POOL_SAID_MAX (UINT64_C(1) << 30)
#define LIBGOAL_EAGER_BYTES   UINT64_C(131072)

/* What became of the last use of a run record. */
struct libgoal_slot {
	uint32_t use; /* number of that use: the upper half of its handle */
	bool running; /* not yet seen to be over */
	GOAL_Schedule sched;
	struct libgoal_trace *trace; /* of that use, while it holds it; NULL */
	struct weft_goal_result result;
	char *why; /* of a run that failed: libgoal_why(); NULL */
};

struct libgoal {
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_goal *goal;
	GOAL_Comm world;
	pthread_mutex_t lock; /* of slots, counts, communicators' pools, shadows */
	struct libgoal_slot slots[LIBGOAL_RUNS];
	uint32_t running;
	uint64_t pool_bytes, pool_max_bytes; /* of a communicator at first, and at last */
	struct weft_mr_cache *cache;         /* buffers of schedules, watched */
	struct libgoal_chunk *chunks;        /* that shadows are cut from */
	void *blocks[LIBGOAL_SHADOW_SIZES];
	uint64_t shadow_bytes; /* of all chunks */
	bool no_shadows;       /* the NIC does not map them either */
};

/* Lists of ranks that communicators were made of: each member counts those of equal lists alike. */
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
	struct libgoal_list *lists; /* of communicators made of it; under the lock */
	uint32_t refs;              /* schedules */
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
	uint32_t refs;   /* runs, and one of the user */
	struct goal_code code;
	struct weft_goal_bind *binds;
	struct weft_mr **mrs;         /* one for each range; NULL: it has a shadow, or is gone */
	void **shadows;               /* NULL: no range has one */
	uint32_t flying;              /* runs not yet seen to be over; under the lock */
	bool exclusive;               /* user's buffers are its work space: one run at a time */
	struct libgoal_trace *traces; /* for its runs; libgoal_trace.c */
};

/* Notes the thread's error and returns it; detail may be NULL. */
int libgoal_error(int error, const char *detail);
/* The GOAL_ERR_* of a negative errno of libweft. */
int libgoal_errno(int rc);

/* An instance on an open context; GOAL_SUCCESS or an error. */
int libgoal_attach(struct weft_context *context, struct libgoal **lib);
/* Frees it; the context stays the caller's. */
void libgoal_detach(struct libgoal *lib);
/* The first communicator: peers are libgoal's own of all ranks, key the same at all. */
int libgoal_world(struct libgoal *lib, uint32_t rank, uint32_t size,
		  const struct weft_goal_peer *peers, const uint64_t key[2]);
/* The instance of GOAL_Init(), NULL. */
struct libgoal *libgoal_default(void);
/* This process is a child of fork: the instance is its parent's. */
bool libgoal_is_forked(void);
/* A whole number in decimal, from least to most, and nothing else. */
bool libgoal_parse(const char *text, uint64_t least, uint64_t most, uint64_t *number);
/* Frees a communicator, GOAL_CommWorld() too. */
int libgoal_comm_end(GOAL_Comm comm);
/* Runs that the NIC left unfinished when it went are over: GOAL_ERR_NIC_GONE. How many. */
uint32_t libgoal_reap_gone(struct libgoal *lib);
/* Memory that was there when the schedule was made has gone: binds it to what is there now. */
int libgoal_sched_refresh(GOAL_Schedule sched);
/* Under the lock: whether some of its memory has. */
bool libgoal_sched_is_stale(const struct GOAL_Schedule_s *sched);

/* An operation of compiled code: "vertex 3, a send of 8 bytes with tag 0 to rank 1"; or "". */
void libgoal_describe(const struct goal_code *code, uint32_t vertex, char *what, size_t room);
/* The same of a graph that is not compiled. */
void libgoal_describe_vertex(const struct goal_graph *graph, uint32_t vertex, char *what,
			     size_t room);
/* Why a run failed, and what it waited for; from malloc(), or NULL. */
char *libgoal_why(const struct GOAL_Schedule_s *sched, const struct weft_goal_result *result);

/* At least so much room for unexpected messages, as far as the limit allows. */
int libgoal_pool_grow(GOAL_Comm comm, uint64_t bytes);
/* Schedules: takes and gives up a reference. */
void libgoal_sched_get(GOAL_Schedule sched);
void libgoal_sched_put(GOAL_Schedule sched);

/* Starts a run; its record and the number of its use. GOAL_SUCCESS or an error. */
int libgoal_start(GOAL_Schedule sched, struct weft_goal_run_attr *attr, uint32_t *record,
		  uint32_t *use);

/*
 * Binds a range that the NIC cannot map to a shadow; false: it has to be bound as it is. _put()
 * gives all back, _in() and _out() copy at the start and the end of a run; all under the lock.
 */
bool libgoal_shadow_get(GOAL_Schedule sched, uint32_t range);
void libgoal_shadow_put(GOAL_Schedule sched);
/* False: memory of the process is not there any more. */
bool libgoal_shadow_in(const struct GOAL_Schedule_s *sched);
bool libgoal_shadow_out(const struct GOAL_Schedule_s *sched);
/* The instance ends. */
void libgoal_shadow_end(struct libgoal *lib);

/* The run of this record is over: its trace may be used anew. Under the lock. */
void libgoal_trace_over(struct libgoal_slot *slot);
/* The schedule ends. */
void libgoal_trace_free(GOAL_Schedule sched);

#endif /* WEFT_LIBGOAL_H */
