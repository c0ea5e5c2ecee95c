/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libGOAL: describe a collective as a graph, let the NIC carry it out.
 *
 *	GOAL_Init();
 *	GOAL_Graph g = GOAL_CreateGraph();
 *	GOAL_Vertex r = GOAL_Recv(g, in, 8, 0), s = GOAL_Send(g, in, 8, 2);
 *	GOAL_Requires(g, r, s);			the send waits for the receive
 *	GOAL_Schedule sched = GOAL_Compile(g);
 *	GOAL_Handle h = GOAL_Run(sched);
 *	... compute ...
 *	GOAL_Wait(h);
 *
 * The functions of the paper (espgoal) chapter 2, name for name; what weft adds is marked
 * "extension". For C11 and C++: arguments that the paper gives defaults may be left out in
 * both (tag 0, GOAL_USERSPACE). The tag comes before the memory type, as the paper's
 * prototypes have it and some of its examples do not.
 *
 * Errors: vertices are GOAL_INVALID_VERTEX, pointers NULL, other results a negative GOAL_ERR_*;
 * GOAL_LastError() of the thread says why, GOAL_StrError() in words.
 * Threads: a graph belongs to one thread at a time; everything else may be called from any. Runs
 * of one communicator must be started in the same order by all its ranks.
 * Environment: docs/collectives.md "Starting programs".
 */
#ifndef WEFT_GOAL_PUBLIC_H
#define WEFT_GOAL_PUBLIC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define GOAL_DEFAULT(value) = value
#else
#define GOAL_DEFAULT(value)
#endif

#ifdef __GNUC__
#define GOAL_API __attribute__((visibility("default")))
#else
#define GOAL_API
#endif

typedef struct GOAL_Graph_s *GOAL_Graph;
typedef struct GOAL_Schedule_s *GOAL_Schedule;
typedef struct GOAL_Comm_s *GOAL_Comm; /* extension */
typedef int GOAL_Vertex;
typedef int64_t GOAL_Handle; /* negative: the run could not be started */

#define GOAL_INVALID_VERTEX (-1)
#define INVALID_VERTEX      GOAL_INVALID_VERTEX
#define GOAL_ANY_SOURCE     (-1) /* extension: of receives */
#define GOAL_ANY_TAG        (-1)

typedef enum {
	GOAL_USERSPACE = 0,  /* pointers of the process */
	GOAL_SCRATCHPAD = 1, /* offsets in the schedule's scratchpad, cast to pointers */
} GOAL_MemType;

typedef enum {
	GOAL_MAX = 0,
	GOAL_MIN = 1,
	GOAL_ADD = 2,
	GOAL_SUB = 3,
	GOAL_DIV = 4,
	GOAL_MUL = 5,
	GOAL_COPY = 6,
	GOAL_AND = 7,
	GOAL_OR = 8,
	GOAL_XOR = 9,
	GOAL_WTIME = 10, /* the NIC's clock in seconds, a double, into the result */
} GOAL_Op;

typedef enum {
	GOAL_SINT = 0,
	GOAL_UINT = 1,
	GOAL_FLOAT = 2,
} GOAL_DataType;

/* Positive statuses of a run are enum hw_goal_status with their sign turned. */
enum {
	GOAL_SUCCESS = 0,
	GOAL_ERR_CANCELED = -1,
	GOAL_ERR_TIMEOUT = -2,
	GOAL_ERR_TRUNCATED = -3,   /* a message was longer than its receive */
	GOAL_ERR_MEMORY = -4,      /* a buffer was unmapped or deregistered */
	GOAL_ERR_DIVIDE = -5,      /* integer division by zero, or of the least value by -1 */
	GOAL_ERR_UNEXPECTED = -6,  /* a full pool (WEFT_GOAL_POOL), and a circle through it */
	GOAL_ERR_PEER_LOST = -7,   /* a rank died, or does not answer */
	GOAL_ERR_UNREACHABLE = -8, /* a rank was never reached */
	GOAL_ERR_RESOURCES = -9,   /* the NIC had no memory for it */
	GOAL_ERR_BAD_SCHEDULE = -10,
	GOAL_ERR_ARG = -32,        /* an argument that cannot be */
	GOAL_ERR_STATE = -33,      /* not initialised, or already; an object that is in use */
	GOAL_ERR_NO_MEMORY = -34,  /* of the process */
	GOAL_ERR_NO_DEVICE = -35,  /* no weftd, no such NIC */
	GOAL_ERR_NIC_GONE = -36,   /* weftd ended */
	GOAL_ERR_CYCLE = -37,      /* operations wait for each other in a circle */
	GOAL_ERR_LAUNCH = -38,     /* ranks did not find each other */
	GOAL_ERR_FILE = -39,       /* no compiled schedule, or a damaged one */
	GOAL_ERR_SCRATCHPAD = -40, /* an offset outside of the scratchpad */
	GOAL_ERR_BUSY = -41,       /* too many runs in flight */
	GOAL_ERR_LIMIT = -42,      /* too large for the NIC */
};

/* In words; never NULL. */
GOAL_API const char *GOAL_StrError(int error);
/* The error of the thread's last call that failed. */
GOAL_API int GOAL_LastError(void);
/* More about it: the operation at fault, the NIC's reason; "" if there is nothing more. */
GOAL_API const char *GOAL_LastErrorDetail(void);

/* ---- initialisation (2.2.1) -------------------------------------------------------------------
 */

/* Opens a NIC and finds the other ranks. Once in a process. GOAL_SUCCESS or an error. */
GOAL_API int GOAL_Init(void);
GOAL_API int GOAL_IsInitialized(void);
GOAL_API int GOAL_GroupSize(void);
GOAL_API int GOAL_MyRank(void);
/*
 * GOAL_ERR_STATE while runs are in flight. GOAL_ERR_NIC_GONE: weftd ended during some; everything
 * is freed all the same.
 */
GOAL_API int GOAL_Finalize(void);
/* 1: finalized, or not initialised yet. */
GOAL_API int GOAL_IsFinalized(void);

/* ---- communicators (extension) ------------------------------------------------------------------
 */

/* All ranks, in the order of GOAL_MyRank(). */
GOAL_API GOAL_Comm GOAL_CommWorld(void);
/*
 * A communicator of some ranks of another one, in that order; called by just these ranks. The n-th
 * call with one list of ranks on one parent makes the same communicator at all of them, whatever
 * else each has made. Does not communicate; a call that fails changes nothing.
 */
GOAL_API GOAL_Comm GOAL_CommCreate(GOAL_Comm parent, const int *ranks, int num_ranks);
/* GOAL_ERR_STATE: schedules of it exist. GOAL_ERR_ARG: GOAL_CommWorld(). */
GOAL_API int GOAL_CommFree(GOAL_Comm comm);
GOAL_API int GOAL_CommRank(GOAL_Comm comm);
GOAL_API int GOAL_CommSize(GOAL_Comm comm);

/* ---- graphs (2.2.2 to 2.2.5)
 * ---------------------------------------------------------------------- */

GOAL_API GOAL_Graph GOAL_CreateGraph(void);
GOAL_API GOAL_Graph GOAL_CreateGraphOn(GOAL_Comm comm); /* extension */
GOAL_API int GOAL_FreeGraph(GOAL_Graph graph);

GOAL_API GOAL_Vertex GOAL_Send(GOAL_Graph graph, const void *buf, int64_t count, int dest,
			       int tag GOAL_DEFAULT(0),
			       GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
GOAL_API GOAL_Vertex GOAL_Recv(GOAL_Graph graph, void *buf, int64_t count, int source,
			       int tag GOAL_DEFAULT(0),
			       GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
GOAL_API GOAL_Vertex GOAL_SendVec(GOAL_Graph graph, void **offsets, const int *lengths,
				  int num_elements, int dest, int tag GOAL_DEFAULT(0),
				  GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
GOAL_API GOAL_Vertex GOAL_RecvVec(GOAL_Graph graph, void **offsets, const int *lengths,
				  int num_elements, int source, int tag GOAL_DEFAULT(0),
				  GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
/* element_width in bits: 8, 16, 32, 64; floats 32, 64. The result may be one of the operands. */
GOAL_API GOAL_Vertex GOAL_LocalOp(GOAL_Graph graph, const void *b1, const void *b2, void *bres,
				  GOAL_Op op, GOAL_DataType type, int element_width,
				  int64_t num_elements,
				  GOAL_MemType b1_mem GOAL_DEFAULT(GOAL_USERSPACE),
				  GOAL_MemType b2_mem GOAL_DEFAULT(GOAL_USERSPACE),
				  GOAL_MemType bres_mem GOAL_DEFAULT(GOAL_USERSPACE));
/* Lengths in bytes, whole elements each; the three lists may be cut differently. */
GOAL_API GOAL_Vertex GOAL_LocalOpVec(GOAL_Graph graph, void **buf1, const int *lengths1,
				     int num_elements1, void **buf2, const int *lengths2,
				     int num_elements2, void **buf3, const int *lengths3,
				     int num_elements3, char datatype, char datatype_width, char op,
				     GOAL_MemType b1_mem GOAL_DEFAULT(GOAL_USERSPACE),
				     GOAL_MemType b2_mem GOAL_DEFAULT(GOAL_USERSPACE),
				     GOAL_MemType b3_mem GOAL_DEFAULT(GOAL_USERSPACE));
/*
 * Extension: to all other ranks of the communicator at once, which receive it with
 * GOAL_McastRecv() naming this one as root. Every rank takes part in each multicast. Matching and
 * lengths are those of GOAL_Send() and GOAL_Recv(), apart from them; several roots may be under
 * way.
 */
GOAL_API GOAL_Vertex GOAL_McastSend(GOAL_Graph graph, const void *buf, int64_t count,
				    int tag GOAL_DEFAULT(0),
				    GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
GOAL_API GOAL_Vertex GOAL_McastRecv(GOAL_Graph graph, void *buf, int64_t count, int root,
				    int tag GOAL_DEFAULT(0),
				    GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
/* Extension: a timer of the NIC. Those of one cpu (0 to 255) run one after another. */
GOAL_API GOAL_Vertex GOAL_Calc(GOAL_Graph graph, uint64_t ns, int cpu GOAL_DEFAULT(0));

/* target waits for the end of prereq. */
GOAL_API int GOAL_Requires(GOAL_Graph graph, GOAL_Vertex prereq, GOAL_Vertex target);
/* Extension: target waits for the start of prereq. */
GOAL_API int GOAL_RequiresStart(GOAL_Graph graph, GOAL_Vertex prereq, GOAL_Vertex target);

GOAL_API int GOAL_AllocateScratchpad(GOAL_Graph graph, size_t bytes);

/* ---- schedules (2.2.6)
 * ------------------------------------------------------------------------------ */

/*
 * Compiles a graph and loads it into the NIC; registers the buffers that it names for as long as
 * the schedule lives.
 */
GOAL_API GOAL_Schedule GOAL_Compile(GOAL_Graph graph);
GOAL_API int GOAL_IsScheduleValid(GOAL_Schedule sched);
/*
 * The NIC never changes a schedule: every one may be run again, and while it runs, but for those of
 * goal_coll.h that have buffers: GOAL_Run().
 */
GOAL_API void GOAL_MakeScheduleReusable(GOAL_Schedule sched);
GOAL_API void GOAL_MakeScheduleReuseable(GOAL_Schedule sched);
/* Unlike in the paper, a schedule that still runs is freed after its last run. */
GOAL_API int GOAL_FreeSchedule(GOAL_Schedule sched);

/* Extension: compiled schedules as files. Buffers are named by number: GOAL_ScheduleBuffers(). */
GOAL_API int GOAL_SaveSchedule(GOAL_Schedule sched, const char *path);
typedef struct {
	void *addr;
	size_t bytes;
} GOAL_Buffer;
/* Buffers that the schedule uses, in order; returns their number. At most max are written. */
GOAL_API int GOAL_ScheduleBuffers(GOAL_Schedule sched, GOAL_Buffer *buffers, int max);
/* Binds the file's buffers to these, each at least as long as the one it was compiled with. */
GOAL_API GOAL_Schedule GOAL_LoadSchedule(GOAL_Comm comm, const char *path,
					 const GOAL_Buffer *buffers, int num_buffers);

/* ---- runs (2.2.7)
 * -------------------------------------------------------------------------------------- */

/*
 * GOAL_ERR_STATE: a ready-made collective that is in flight has the user's buffers for work space,
 * as a persistent one of MPI has; a barrier has none, and graphs are the user's own.
 * A run uses the memory that is at its buffers' addresses when it is started. Where there is none
 * any more it fails with GOAL_ERR_MEMORY at every rank. docs/collectives.md "Buffers".
 */
GOAL_API GOAL_Handle GOAL_Run(GOAL_Schedule sched);
/* 1 when it is finished, well or not, or its NIC is gone; else 0. One memory read. */
GOAL_API int GOAL_Test(GOAL_Handle handle);
/* Blocks. GOAL_SUCCESS, or why the run failed. */
GOAL_API int GOAL_Wait(GOAL_Handle handle);

/* Extension: a run that fails with GOAL_ERR_TIMEOUT at every rank after so long; 0: never. */
GOAL_API GOAL_Handle GOAL_RunTimeout(GOAL_Schedule sched, uint64_t timeout_ns);
/* Extension: GOAL_ERR_CANCELED at every rank, unless it is finished. */
GOAL_API int GOAL_Cancel(GOAL_Handle handle);

/* Extension: what the NIC measured. */
typedef struct {
	int status;
	int rank;                     /* at fault */
	GOAL_Vertex vertex;           /* that failed here */
	uint32_t ops;                 /* operations carried out */
	uint64_t start_ns, finish_ns; /* of the NIC's clock */
} GOAL_Result;
/* Waits, and tells. */
GOAL_API int GOAL_WaitResult(GOAL_Handle handle, GOAL_Result *result);

/* Extension: PERFTRACE. Which points there are: docs/collectives.md "Tracing". */
typedef struct {
	uint64_t ns;     /* of the NIC's clock */
	uint32_t point;  /* GOAL_TracePointName() */
	uint32_t vertex; /* UINT32_MAX: of none */
} GOAL_TraceEntry;
/*
 * A run that notes when it passed which point of interpreter and transport, the first max of them.
 * *trace (may be NULL) is valid after GOAL_Wait(), until the schedule is freed or traced again.
 */
GOAL_API GOAL_Handle GOAL_RunTraced(GOAL_Schedule sched, uint32_t max,
				    const GOAL_TraceEntry **trace);
/* After GOAL_Wait(): entries of *trace; points that found no room. */
GOAL_API int GOAL_TraceCount(GOAL_Handle handle);
GOAL_API int GOAL_TraceLost(GOAL_Handle handle);
GOAL_API const char *GOAL_TracePointName(uint32_t point);
/* The trace of a run that is over, for goal-dump --trace. */
GOAL_API int GOAL_SaveTrace(GOAL_Handle handle, const char *path);

/* ---- extensions (2.3)
 * ------------------------------------------------------------------------------------ */

typedef enum {
	GOAL_EXT_COMMUNICATORS = 1,
	GOAL_EXT_CALC = 2,
	GOAL_EXT_START_EDGES = 3,
	GOAL_EXT_FILES = 4,
	GOAL_EXT_TIMEOUT = 5,
	GOAL_EXT_CANCEL = 6,
	GOAL_EXT_PERFTRACE = 7,
	GOAL_EXT_COLLECTIVES = 8,
	GOAL_EXT_MULTICAST = 9,
	GOAL_EXT_USER_OPS = 10, /* local operations of the user's own */
} GOAL_ExtensionId;
GOAL_API int GOAL_IsExtensionAvailable(GOAL_ExtensionId ext);

#ifdef __cplusplus
}
#else
/* Arguments that may be left out: the macro's name is the function's, which it does not expand
 * again. */
#define GOAL_Send(...)                                                                             \
	GOAL_SEND_N(__VA_ARGS__, GOAL_SEND_6, GOAL_SEND_5, GOAL_SEND_4, 0, 0, 0)                   \
	(GOAL_Send, __VA_ARGS__)
#define GOAL_Recv(...)                                                                             \
	GOAL_SEND_N(__VA_ARGS__, GOAL_SEND_6, GOAL_SEND_5, GOAL_SEND_4, 0, 0, 0)                   \
	(GOAL_Recv, __VA_ARGS__)
#define GOAL_SEND_N(a, b, c, d, e, f, name, ...)       name
#define GOAL_SEND_4(fn, g, buf, count, peer)           (fn)(g, buf, count, peer, 0, GOAL_USERSPACE)
#define GOAL_SEND_5(fn, g, buf, count, peer, tag)      (fn)(g, buf, count, peer, tag, GOAL_USERSPACE)
#define GOAL_SEND_6(fn, g, buf, count, peer, tag, mem) (fn)(g, buf, count, peer, tag, mem)
#define GOAL_McastSend(...)                                                                        \
	GOAL_MCAST_N(__VA_ARGS__, GOAL_MCAST_5, GOAL_MCAST_4, GOAL_MCAST_3, 0, 0)(__VA_ARGS__)
#define GOAL_MCAST_N(a, b, c, d, e, name, ...) name
#define GOAL_MCAST_3(g, buf, count)            (GOAL_McastSend)(g, buf, count, 0, GOAL_USERSPACE)
#define GOAL_MCAST_4(g, buf, count, tag)       (GOAL_McastSend)(g, buf, count, tag, GOAL_USERSPACE)
#define GOAL_MCAST_5(g, buf, count, tag, mem)  (GOAL_McastSend)(g, buf, count, tag, mem)
#define GOAL_McastRecv(...)                                                                        \
	GOAL_SEND_N(__VA_ARGS__, GOAL_SEND_6, GOAL_SEND_5, GOAL_SEND_4, 0, 0, 0)                   \
	(GOAL_McastRecv, __VA_ARGS__)
#define GOAL_SendVec(...)                                                                          \
	GOAL_VEC_N(__VA_ARGS__, GOAL_VEC_7, GOAL_VEC_6, GOAL_VEC_5, 0, 0, 0, 0)                    \
	(GOAL_SendVec, __VA_ARGS__)
#define GOAL_RecvVec(...)                                                                          \
	GOAL_VEC_N(__VA_ARGS__, GOAL_VEC_7, GOAL_VEC_6, GOAL_VEC_5, 0, 0, 0, 0)                    \
	(GOAL_RecvVec, __VA_ARGS__)
#define GOAL_VEC_N(a, b, c, d, e, f, g, name, ...) name
#define GOAL_VEC_5(fn, g, o, l, n, peer)           (fn)(g, o, l, n, peer, 0, GOAL_USERSPACE)
#define GOAL_VEC_6(fn, g, o, l, n, peer, tag)      (fn)(g, o, l, n, peer, tag, GOAL_USERSPACE)
#define GOAL_VEC_7(fn, g, o, l, n, peer, tag, mem) (fn)(g, o, l, n, peer, tag, mem)
#define GOAL_LocalOp(...)                                                                          \
	GOAL_LOCAL_N(__VA_ARGS__, GOAL_LOCAL_11, GOAL_LOCAL_10, GOAL_LOCAL_9, GOAL_LOCAL_8, 0, 0,  \
		     0, 0, 0, 0, 0)                                                                \
	(__VA_ARGS__)
#define GOAL_LOCAL_N(a, b, c, d, e, f, g, h, i, j, k, name, ...) name
#define GOAL_LOCAL_8(g, b1, b2, br, op, t, w, n)                                                   \
	(GOAL_LocalOp)(g, b1, b2, br, op, t, w, n, GOAL_USERSPACE, GOAL_USERSPACE, GOAL_USERSPACE)
#define GOAL_LOCAL_9(g, b1, b2, br, op, t, w, n, m1)                                               \
	(GOAL_LocalOp)(g, b1, b2, br, op, t, w, n, m1, GOAL_USERSPACE, GOAL_USERSPACE)
#define GOAL_LOCAL_10(g, b1, b2, br, op, t, w, n, m1, m2)                                          \
	(GOAL_LocalOp)(g, b1, b2, br, op, t, w, n, m1, m2, GOAL_USERSPACE)
#define GOAL_LOCAL_11(g, b1, b2, br, op, t, w, n, m1, m2, m3)                                      \
	(GOAL_LocalOp)(g, b1, b2, br, op, t, w, n, m1, m2, m3)
#define GOAL_LocalOpVec(...)                                                                       \
	GOAL_LVEC_N(__VA_ARGS__, GOAL_LVEC_16, GOAL_LVEC_15, GOAL_LVEC_14, GOAL_LVEC_13, 0, 0, 0,  \
		    0, 0, 0, 0, 0, 0, 0, 0, 0)                                                     \
	(__VA_ARGS__)
#define GOAL_LVEC_N(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name, ...) name
#define GOAL_LVEC_13(...)                                                                          \
	(GOAL_LocalOpVec)(__VA_ARGS__, GOAL_USERSPACE, GOAL_USERSPACE, GOAL_USERSPACE)
#define GOAL_LVEC_14(...)               (GOAL_LocalOpVec)(__VA_ARGS__, GOAL_USERSPACE, GOAL_USERSPACE)
#define GOAL_LVEC_15(...)               (GOAL_LocalOpVec)(__VA_ARGS__, GOAL_USERSPACE)
#define GOAL_LVEC_16(...)               (GOAL_LocalOpVec)(__VA_ARGS__)
#define GOAL_Calc(...)                  GOAL_CALC_N(__VA_ARGS__, GOAL_CALC_3, GOAL_CALC_2, 0, 0)(__VA_ARGS__)
#define GOAL_CALC_N(a, b, c, name, ...) name
#define GOAL_CALC_2(g, ns)              (GOAL_Calc)(g, ns, 0)
#define GOAL_CALC_3(g, ns, cpu)         (GOAL_Calc)(g, ns, cpu)
#endif

#endif /* WEFT_GOAL_PUBLIC_H */
