/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libGOAL: an application describes a collective as a graph, and the NIC executes it.
 *
 * 	GOAL_Init();
 * 	GOAL_Graph g = GOAL_CreateGraph();
 * 	GOAL_Vertex r = GOAL_Recv(g, in, 8, 0), s = GOAL_Send(g, in, 8, 2);
 * 	GOAL_Requires(g, r, s);			the send waits for the receive
 * 	GOAL_Schedule sched = GOAL_Compile(g);
 * 	GOAL_Handle h = GOAL_Run(sched);
 * 	... compute ...
 * 	GOAL_Wait(h);
 *
 * The functions have the names of the ESPGOAL paper, chapter 2. Additions of weft are marked
 * "extension". The header is for C11 and C++. Arguments for which ESPGOAL gives defaults may be
 * omitted in both languages (tag 0, GOAL_USERSPACE). The tag precedes the memory type, as in the
 * prototypes of ESPGOAL; some of its examples differ.
 *
 * Errors: a vertex is GOAL_INVALID_VERTEX, a pointer NULL, any other result a negative GOAL_ERR_*.
 * GOAL_LastError() returns the thread's last error and GOAL_StrError() its text.
 *
 * Threads: a graph may be used by one thread at a time. Everything else may be called from any
 * thread. All ranks of a communicator must start their runs in the same order.
 *
 * Environment: docs/collectives.md, "Starting programs".
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
#define GOAL_ANY_SOURCE     (-1) /* extension: any source of a receive */
#define GOAL_ANY_TAG        (-1)

typedef enum {
	GOAL_USERSPACE = 0,  /* pointers into the process's memory */
	GOAL_SCRATCHPAD = 1, /* offsets into the schedule's scratchpad, cast to pointers */
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
	GOAL_WTIME = 10, /* writes the NIC's clock, in seconds as a double, to the result */
	/* Extension: the truth of integers, as 0 or 1. */
	GOAL_LAND = 11,
	GOAL_LOR = 12,
	GOAL_LXOR = 13,
	/* Extension: operations of GOAL_RegisterOp(). */
	GOAL_USER_OP = 64,
	GOAL_USER_OP_LAST = 127,
} GOAL_Op;

typedef enum {
	GOAL_SINT = 0,
	GOAL_UINT = 1,
	GOAL_FLOAT = 2,
	/*
	 * Extensions; the width is that of the whole element, 64 or 128 bits. A complex number is
	 * two floats and has ADD, SUB, MUL and COPY. A pair is a value and a signed index of equal
	 * width; it has COPY, and MAX and MIN of the values, of equal ones the smaller index.
	 */
	GOAL_COMPLEX = 3,
	GOAL_SINT_PAIR = 4,
	GOAL_FLOAT_PAIR = 5,
} GOAL_DataType;

/* Errors of a run are the negated values of enum hw_goal_status. */
enum {
	GOAL_SUCCESS = 0,
	GOAL_ERR_CANCELED = -1,
	GOAL_ERR_TIMEOUT = -2,
	GOAL_ERR_TRUNCATED = -3, /* a message was longer than its receive */
	GOAL_ERR_MEMORY = -4,    /* a buffer was unmapped or deregistered */
	GOAL_ERR_DIVIDE = -5,    /* integer division by zero, or of the minimum by -1 */
	/* The pool is full (WEFT_GOAL_POOL) and runs wait for it in a cycle. */
	GOAL_ERR_UNEXPECTED = -6,
	GOAL_ERR_PEER_LOST = -7,   /* a rank died or does not respond */
	GOAL_ERR_UNREACHABLE = -8, /* a rank never responded */
	GOAL_ERR_RESOURCES = -9,   /* the NIC had too little memory for the run */
	GOAL_ERR_BAD_SCHEDULE = -10,
	/* A user's operation was refused, differs between ranks, or reported a failure in a run. */
	GOAL_ERR_USER_OP = -11,
	GOAL_ERR_ARG = -32,   /* an invalid argument */
	GOAL_ERR_STATE = -33, /* not initialised, or already initialised; or an object is in use */
	GOAL_ERR_NO_MEMORY = -34,  /* the process is out of memory */
	GOAL_ERR_NO_DEVICE = -35,  /* no weftd, or no such NIC */
	GOAL_ERR_NIC_GONE = -36,   /* weftd ended */
	GOAL_ERR_CYCLE = -37,      /* operations depend on each other in a cycle */
	GOAL_ERR_LAUNCH = -38,     /* the ranks did not find each other */
	GOAL_ERR_FILE = -39,       /* not a compiled schedule, or a damaged one */
	GOAL_ERR_SCRATCHPAD = -40, /* an offset beyond the scratchpad */
	GOAL_ERR_BUSY = -41,       /* too many runs in flight */
	GOAL_ERR_LIMIT = -42,      /* exceeds a limit of the NIC */
};

/* Returns the text of an error code; never NULL. */
GOAL_API const char *GOAL_StrError(int error);
/* Returns the error of the thread's last failed call. */
GOAL_API int GOAL_LastError(void);
/* Returns details of the last error (the operation at fault, the NIC's reason), or "". */
GOAL_API const char *GOAL_LastErrorDetail(void);

/* ---- initialisation (2.2.1) ----------------------------------------------------------------- */

/*
 * Opens a NIC and connects to the other ranks. Returns GOAL_SUCCESS or an error; GOAL_ERR_STATE
 * between a call that succeeded and GOAL_Finalize(). All ranks may call it again after
 * GOAL_Finalize(), as after the end of weftd: nothing of the time before is left.
 */
GOAL_API int GOAL_Init(void);
GOAL_API int GOAL_IsInitialized(void);
GOAL_API int GOAL_GroupSize(void);
GOAL_API int GOAL_MyRank(void);
/*
 * Frees the instance. GOAL_ERR_STATE: runs are in flight; nothing is freed. GOAL_ERR_NIC_GONE:
 * weftd ended during a run; everything is freed nevertheless.
 */
GOAL_API int GOAL_Finalize(void);
/* Returns 1 if the library is finalized or not yet initialised. */
GOAL_API int GOAL_IsFinalized(void);

/* ---- communicators (extension) -------------------------------------------------------------- */

/* All ranks, in the order of GOAL_MyRank(). */
GOAL_API GOAL_Comm GOAL_CommWorld(void);
/*
 * Creates a communicator from ranks of a parent, in the given order. Only the listed ranks call it.
 * The n-th call with the same list on the same parent yields the same communicator at all members,
 * independent of other communicators. The call does not communicate. A failed call changes nothing.
 */
GOAL_API GOAL_Comm GOAL_CommCreate(GOAL_Comm parent, const int *ranks, int num_ranks);
/*
 * Frees a communicator. GOAL_ERR_STATE: it still has schedules. GOAL_ERR_ARG: it is
 * GOAL_CommWorld().
 */
GOAL_API int GOAL_CommFree(GOAL_Comm comm);
GOAL_API int GOAL_CommRank(GOAL_Comm comm);
GOAL_API int GOAL_CommSize(GOAL_Comm comm);

/*
 * For libraries that know their ranks, such as a component of an MPI library; a program that uses
 * GOAL_Init() is not affected, before or after. All ranks of the group call GOAL_Join() at the same
 * time. All get a communicator, or none does (NULL, GOAL_LastError()).
 */
typedef struct {
	int rank, size;
	int local_rank; /* among the ranks on this host: chooses the NIC */
	/*
	 * Gathers bytes from each rank into all, in the order of ranks; not 0: it failed at every
	 * rank.
	 */
	int (*allgather)(const void *mine, void *all, size_t bytes, void *arg);
	void *arg;
} GOAL_Group;
GOAL_API GOAL_Comm GOAL_Join(const GOAL_Group *group);
/*
 * The same in steps, for a library that gathers without blocking. GOAL_JoinBegin() opens the NIC of
 * that name and fills in this rank's hello, whatever the outcome; NULL: no memory, or a child of
 * fork. The library gathers the hellos of all ranks. GOAL_JoinMake() makes the communicator of them
 * and fills in the hello anew, which the library gathers again, also after a failure.
 * GOAL_JoinEnd() returns the communicator if every rank has one, else NULL; all NULL: the library
 * gave up. Each joining must end.
 */
typedef struct GOAL_Joining_s *GOAL_Joining;
typedef struct {
	uint64_t words[6];
} GOAL_Hello;
GOAL_API GOAL_Joining GOAL_JoinBegin(const char *device, GOAL_Hello *hello);
GOAL_API int GOAL_JoinMake(GOAL_Joining join, int rank, int size, const GOAL_Hello *all,
			   GOAL_Hello *hello);
GOAL_API GOAL_Comm GOAL_JoinEnd(GOAL_Joining join, const GOAL_Hello *all);
/* Frees such a communicator. GOAL_ERR_STATE: it has schedules. The last user closes the NIC. */
GOAL_API int GOAL_Leave(GOAL_Comm comm);

/* ---- graphs (2.2.2 to 2.2.5) ---------------------------------------------------------------- */

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
/*
 * element_width is in bits: 8, 16, 32 or 64; for floats 32 or 64 (see GOAL_COMPLEX). For operations
 * of GOAL_RegisterOp(): that of the operation, or 0; the type is not looked at. The result may be
 * one of the operands.
 */
GOAL_API GOAL_Vertex GOAL_LocalOp(GOAL_Graph graph, const void *b1, const void *b2, void *bres,
				  GOAL_Op op, GOAL_DataType type, int element_width,
				  int64_t num_elements,
				  GOAL_MemType b1_mem GOAL_DEFAULT(GOAL_USERSPACE),
				  GOAL_MemType b2_mem GOAL_DEFAULT(GOAL_USERSPACE),
				  GOAL_MemType bres_mem GOAL_DEFAULT(GOAL_USERSPACE));
/* Lengths are in bytes and must be whole elements. The three lists may be divided differently. */
GOAL_API GOAL_Vertex GOAL_LocalOpVec(GOAL_Graph graph, void **buf1, const int *lengths1,
				     int num_elements1, void **buf2, const int *lengths2,
				     int num_elements2, void **buf3, const int *lengths3,
				     int num_elements3, char datatype, char datatype_width, char op,
				     GOAL_MemType b1_mem GOAL_DEFAULT(GOAL_USERSPACE),
				     GOAL_MemType b2_mem GOAL_DEFAULT(GOAL_USERSPACE),
				     GOAL_MemType b3_mem GOAL_DEFAULT(GOAL_USERSPACE));
/*
 * Extension: sends to all other ranks of the communicator at once. The others receive with
 * GOAL_McastRecv(), which names this rank as root. Every rank must take part in each multicast.
 * Matching and lengths follow GOAL_Send() and GOAL_Recv(), in a space of their own. Several roots
 * may send concurrently.
 */
GOAL_API GOAL_Vertex GOAL_McastSend(GOAL_Graph graph, const void *buf, int64_t count,
				    int tag GOAL_DEFAULT(0),
				    GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
GOAL_API GOAL_Vertex GOAL_McastRecv(GOAL_Graph graph, void *buf, int64_t count, int root,
				    int tag GOAL_DEFAULT(0),
				    GOAL_MemType mem GOAL_DEFAULT(GOAL_USERSPACE));
/* Extension: a timer of the NIC. Timers of one cpu (0 to 255) run one after another. */
GOAL_API GOAL_Vertex GOAL_Calc(GOAL_Graph graph, uint64_t ns, int cpu GOAL_DEFAULT(0));

/* target starts after prereq has ended. */
GOAL_API int GOAL_Requires(GOAL_Graph graph, GOAL_Vertex prereq, GOAL_Vertex target);
/* Extension: target starts after prereq has started. */
GOAL_API int GOAL_RequiresStart(GOAL_Graph graph, GOAL_Vertex prereq, GOAL_Vertex target);

GOAL_API int GOAL_AllocateScratchpad(GOAL_Graph graph, size_t bytes);

/* ---- schedules (2.2.6) ---------------------------------------------------------------------- */

/*
 * Compiles a graph and loads it into the NIC. Registers the buffers that it names for the lifetime
 * of the schedule.
 */
GOAL_API GOAL_Schedule GOAL_Compile(GOAL_Graph graph);
GOAL_API int GOAL_IsScheduleValid(GOAL_Schedule sched);
/*
 * No effect: the NIC never changes a schedule, so every schedule is reusable, even while it runs.
 * Schedules of goal_coll.h with buffers are the exception: see GOAL_Run().
 */
GOAL_API void GOAL_MakeScheduleReusable(GOAL_Schedule sched);
GOAL_API void GOAL_MakeScheduleReuseable(GOAL_Schedule sched);
/* Frees a schedule. Unlike in ESPGOAL, a schedule in use is freed after its last run. */
GOAL_API int GOAL_FreeSchedule(GOAL_Schedule sched);

/*
 * Extension: compiled schedules as files. Buffers are identified by number; see
 * GOAL_ScheduleBuffers().
 */
GOAL_API int GOAL_SaveSchedule(GOAL_Schedule sched, const char *path);
typedef struct {
	void *addr;
	size_t bytes;
} GOAL_Buffer;
/* Returns the number of buffers that the schedule uses; writes the first max of them in order. */
GOAL_API int GOAL_ScheduleBuffers(GOAL_Schedule sched, GOAL_Buffer *buffers, int max);
/*
 * Loads a schedule and binds its buffers to these. Each must be at least as long as the original.
 */
GOAL_API GOAL_Schedule GOAL_LoadSchedule(GOAL_Comm comm, const char *path,
					 const GOAL_Buffer *buffers, int num_buffers);

/* ---- runs (2.2.7) --------------------------------------------------------------------------- */

/*
 * Starts a run. GOAL_ERR_STATE: a collective of goal_coll.h is in flight and uses the user's
 * buffers as work space, as a persistent collective of MPI does. Barriers and user-built graphs are
 * not restricted. A run uses the memory mapped at its buffers' addresses when it starts. If a
 * buffer is no longer mapped, the run fails with GOAL_ERR_MEMORY at every rank.
 * docs/collectives.md, "Buffers".
 */
GOAL_API GOAL_Handle GOAL_Run(GOAL_Schedule sched);
/*
 * Returns 1 when the run has finished, successfully or not, or when its NIC is gone; otherwise 0.
 * Costs one memory read.
 */
GOAL_API int GOAL_Test(GOAL_Handle handle);
/*
 * Blocks until the run has finished. Returns GOAL_SUCCESS or the run's error. The outcome of a run
 * that nothing has waited for is kept while fewer than 64 later ones are (GOAL_ERR_STATE: no
 * longer).
 */
GOAL_API int GOAL_Wait(GOAL_Handle handle);

/*
 * Extension: as GOAL_Run(); the run fails with GOAL_ERR_TIMEOUT at every rank after timeout_ns (0:
 * no timeout).
 */
GOAL_API GOAL_Handle GOAL_RunTimeout(GOAL_Schedule sched, uint64_t timeout_ns);
/*
 * Extension: as GOAL_Run(), and the run fails with GOAL_ERR_MEMORY at every rank. For a rank that
 * cannot take part in a run that the others start.
 */
GOAL_API GOAL_Handle GOAL_RunFailing(GOAL_Schedule sched);
/* Extension: makes an unfinished run fail with GOAL_ERR_CANCELED at every rank. */
GOAL_API int GOAL_Cancel(GOAL_Handle handle);

/*
 * Extension: a thread waits for runs of a communicator beside other descriptors. It polls both of
 * fd, which remain libgoal's, for input. Before it sleeps it calls GOAL_Heard(), which makes them
 * unreadable, then GOAL_RequestEvent() for each run, which returns 1 if the run is over already:
 * then it does not sleep. A run's end makes them readable.
 *
 * One listener of the process may use the events of a NIC at a time, named by a pointer of its
 * choice; it calls GOAL_Unlisten() as often as GOAL_Listen(), before the communicator goes.
 * GOAL_ERR_STATE: there is another, or the NIC has no descriptors.
 */
GOAL_API int GOAL_Listen(GOAL_Comm comm, const void *listener, int fd[2]);
GOAL_API int GOAL_Unlisten(GOAL_Comm comm);
GOAL_API int GOAL_Heard(GOAL_Comm comm);
GOAL_API int GOAL_RequestEvent(GOAL_Handle handle);

/* Extension: the outcome of a run, with the NIC's measurements. */
typedef struct {
	int status;
	int rank;                     /* rank at fault */
	GOAL_Vertex vertex;           /* vertex that failed at this rank */
	uint32_t ops;                 /* operations executed */
	uint64_t start_ns, finish_ns; /* of the NIC's clock */
} GOAL_Result;
/* Waits as GOAL_Wait() and fills *result. */
GOAL_API int GOAL_WaitResult(GOAL_Handle handle, GOAL_Result *result);

/* Extension: PERFTRACE. docs/collectives.md, "Tracing", lists the trace points. */
typedef struct {
	uint64_t ns;     /* of the NIC's clock */
	uint32_t point;  /* GOAL_TracePointName() */
	uint32_t vertex; /* UINT32_MAX: no vertex */
} GOAL_TraceEntry;
/*
 * Starts a run that records when it passes each trace point of the interpreter and the transport,
 * at most max of them. *trace (may be NULL) is valid after GOAL_Wait(), until the schedule is freed
 * or traced again.
 */
GOAL_API GOAL_Handle GOAL_RunTraced(GOAL_Schedule sched, uint32_t max,
				    const GOAL_TraceEntry **trace);
/*
 * Valid after GOAL_Wait(): the number of entries in *trace, and the number of points dropped for
 * lack of space.
 */
GOAL_API int GOAL_TraceCount(GOAL_Handle handle);
GOAL_API int GOAL_TraceLost(GOAL_Handle handle);
GOAL_API const char *GOAL_TracePointName(uint32_t point);
/*
 * Writes the trace of a finished run, and its schedule, to a file: goal-dump prints it, and draws
 * those of all ranks.
 */
GOAL_API int GOAL_SaveTrace(GOAL_Handle handle, const char *path);

/* ---- extensions (2.3) ----------------------------------------------------------------------- */

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
	GOAL_EXT_USER_OPS = 10, /* user-defined local operations */
} GOAL_ExtensionId;
GOAL_API int GOAL_IsExtensionAvailable(GOAL_ExtensionId ext);

/*
 * User-defined operations, GOAL_EXT_USER_OPS. Registers a program of an object file (clang -target
 * bpf, goal_bpf.h) and returns a GOAL_Op for local operations, their vector form and the reductions
 * of goal_coll.h on that communicator, for its lifetime; or an error. args, up to 64 bytes, are for
 * the program and may be NULL. Registering the same program with the same arguments again returns
 * the same operation.
 *
 * All ranks of the communicator call it at the same point of their runs, and all get an error if
 * one does: GOAL_ERR_USER_OP if the NIC refuses the program, or if programs or arguments differ
 * (compared by SHA-256); GOAL_ERR_FILE at ranks whose file cannot be used. docs/user-ops.md.
 */
GOAL_API int GOAL_RegisterOp(const char *object, const char *section);
GOAL_API int GOAL_RegisterOpOn(GOAL_Comm comm, const char *object, const char *section,
			       const void *args, size_t args_bytes);
/* Returns the bytes of an element of an operation of that communicator; 0: it has none such. */
GOAL_API int GOAL_OpElemBytes(GOAL_Comm comm, GOAL_Op op);

#ifdef __cplusplus
}
#else
/*
 * Default arguments for C: each macro has the name of its function, which the preprocessor does not
 * expand again.
 */
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
