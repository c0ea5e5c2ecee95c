/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host interface of the GOAL interpreter: communicators, schedules, runs.
 *
 * A process creates a table of run records in its BAR (HW_CMD_GOAL_OPEN) and communicators
 * (GOAL_COMM_CREATE), and loads schedules (GOAL_LOAD). It then starts a run with one doorbell
 * (HW_DB_GOAL_RUN | record) and detects its end with one memory read (hw_goal_run.done). In between
 * the NIC needs no action of the host.
 *
 * host_driver/weft_goal_run.c and nic_fw/coll/goal_*.c use this header. docs/host-interface.md,
 * "Collectives".
 */
#ifndef WEFT_HW_GOAL_H
#define WEFT_HW_GOAL_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/goal_op.h"

enum {
	HW_MAX_GOAL_RUNS = 4096,      /* run records per process: runs in flight */
	HW_MAX_GOAL_COMMS = 1024,     /* per shard */
	HW_MAX_GOAL_SCHEDULES = 4096, /* loaded, per shard */
	HW_MAX_GOAL_RANKS = 65536,    /* per communicator */
	/* largest message that a communicator may send without a request */
	HW_MAX_GOAL_EAGER_BYTES = 1 << 20,
	HW_GOAL_RUN_BUFFERS = 2,     /* that a run may name itself */
	HW_GOAL_WAITS = 10,          /* waiting operations that a failed run lists */
	HW_GOAL_WAITS_COUNTED = 256, /* and counts */
};

/* Outcome of a run; libGOAL's error codes are derived from these. */
enum hw_goal_status {
	HW_GOAL_OK = 0,
	HW_GOAL_CANCELED = 1,      /* GOAL_Cancel was called at some rank */
	HW_GOAL_TIMEOUT = 2,       /* the run exceeded the time limit in its record */
	HW_GOAL_TRUNCATED = 3,     /* a message was longer than its receive */
	HW_GOAL_MEMORY = 4,        /* a buffer is no longer registered or mapped */
	HW_GOAL_DIVIDE = 5,        /* integer division by zero, or of the minimum by -1 */
	HW_GOAL_UNEXPECTED = 6,    /* messages without a receive exceeded the pool's limit */
	HW_GOAL_PEER_LOST = 7,     /* a rank died, or its NIC does not respond */
	HW_GOAL_UNREACHABLE = 8,   /* a rank's NIC never responded */
	HW_GOAL_RESOURCES = 9,     /* the NIC had no memory for the run */
	HW_GOAL_BAD_SCHEDULE = 10, /* handle unknown, of another communicator, or unloaded */
	HW_GOAL_USER_OP = 11,      /* a user's operation reported a failure */
	HW_GOAL_STATUSES
};

/*
 * A run record: three lines of the BAR. The host fills line 0 and rings the doorbell; the record
 * then belongs to the NIC until done equals serial. The NIC stores lines 1 and 2, done last with
 * release order (pair G1). A new serial reuses the record.
 */
struct hw_goal_run {
	/* line 0: host */
	uint32_t serial;     /* number of this use of the record; never 0 */
	uint32_t schedule;   /* handle of GOAL_LOAD */
	uint32_t rung;       /* pair D2 */
	uint32_t flags;      /* HW_GOAL_RUN_F_* */
	uint64_t timeout_ns; /* 0: none */
	uint64_t trace_addr; /* PERFTRACE: address for hw_goal_trace entries; 0: none */
	uint32_t trace_stag;
	uint32_t trace_entries;
	/* RUN_F_BUFFERS: memory of each slot in this run; as many bytes as the slot says. */
	uint64_t buf_addr[HW_GOAL_RUN_BUFFERS]; /* tagged offsets */
	uint32_t buf_stag[HW_GOAL_RUN_BUFFERS];
	/* line 1: NIC */
	uint32_t done;   /* serial of the last finished use */
	uint32_t status; /* hw_goal_status */
	uint32_t rank;   /* rank that caused a failure, as far as known */
	uint32_t op;     /* operation that failed at this rank; 0xffffffff: none */
	/* The NIC's clock at the doorbell and at the end of the last operation. */
	uint64_t start_ns, finish_ns;
	uint32_t ops;        /* operations executed */
	uint32_t instance;   /* number of the run on its communicator */
	uint32_t traced;     /* trace entries written */
	uint32_t trace_lost; /* trace entries dropped for lack of space or memory */
	uint32_t reserved1[4];
	/* line 2: NIC, unless status is OK */
	/* TRUNCATED: lengths of the message and its receive; otherwise 0. */
	uint64_t message_bytes, room_bytes;
	/*
	 * Operations waiting at this rank, of which the first are listed; HW_GOAL_WAITS_COUNTED +
	 * 1: more than are counted.
	 */
	uint32_t num_waits;
	uint32_t waits[HW_GOAL_WAITS];
	uint32_t reserved2;
};
static_assert(sizeof(struct hw_goal_run) == 192, "");
static_assert(offsetof(struct hw_goal_run, message_bytes) == 128, "");
static_assert(offsetof(struct hw_goal_run, waits) == 148, "");
static_assert(offsetof(struct hw_goal_run, timeout_ns) == 16, "");
static_assert(offsetof(struct hw_goal_run, buf_addr) == 40, "");
static_assert(offsetof(struct hw_goal_run, done) == 64, "");
static_assert(offsetof(struct hw_goal_run, start_ns) == 80, "");
static_assert(offsetof(struct hw_goal_run, trace_lost) == 108, "");

enum {
	HW_GOAL_RUN_F_EVENT = 0x01, /* raise HW_EVENT_GOAL_RUN when the run finishes */
	/*
	 * Set when the doorbell is rung: the process knows that a buffer is unmapped, so the run
	 * must fail.
	 */
	HW_GOAL_RUN_F_MEMORY = 0x02,
	/* buf_addr and buf_stag replace the bindings of a schedule of up to HW_GOAL_RUN_BUFFERS
	 * slots. */
	HW_GOAL_RUN_F_BUFFERS = 0x04,
};

/* Address of a rank; GOAL_COMM_CREATE reads a table of them. */
struct hw_goal_peer {
	uint8_t mac[6];
	uint8_t shard;
	uint8_t reserved;
	uint32_t ip;     /* network byte order; 0: MAC only (same Ethernet) */
	uint32_t client; /* client number at that NIC; distinguishes ranks that share a NIC */
};
static_assert(sizeof(struct hw_goal_peer) == 16, "");

/* Binding of a slot; GOAL_LOAD reads a table of them. */
struct hw_goal_bind {
	uint64_t addr; /* tagged offset within the region */
	uint64_t bytes;
	uint32_t stag;
	uint32_t reserved;
};
static_assert(sizeof(struct hw_goal_bind) == 24, "");

/* PERFTRACE: a trace point that a run passed. */
struct hw_goal_trace {
	uint64_t ns;    /* the NIC's clock */
	uint32_t point; /* hw_goal_point */
	uint32_t op;
};
static_assert(sizeof(struct hw_goal_trace) == 16, "");

/*
 * X(name, meaning of op). Numbers are stable: new points are appended. Operations without
 * prerequisites are ready at RUN_START. MSG_SENT: passed to the transport. Its points PACKET_* and
 * MSG_ACKED concern messages to other ranks, while the run lasts.
 */
#define HW_GOAL_POINTS(X)                                                                          \
	X(RUN_START, "operations of the schedule")                                                 \
	X(OP_READY, "operation")                                                                   \
	X(OP_START, "operation")                                                                   \
	X(OP_FINISH, "operation")                                                                  \
	X(MSG_SENT, "operation")                                                                   \
	X(MSG_ACKED, "operation")                                                                  \
	X(MSG_ARRIVED, "operation; 0xffffffff while unexpected")                                   \
	X(MSG_MATCHED, "operation")                                                                \
	X(ANNOUNCED, "operation")                                                                  \
	X(RUN_FINISH, "operations carried out")                                                    \
	X(PACKET_FIRST, "operation; the message's first packet left")                              \
	X(PACKET_LAST, "operation; its last packet left, where there are several")                 \
	X(PACKET_AGAIN, "operation; one of its packets was sent again")

enum hw_goal_point {
#define X(name, arg) HW_GOAL_POINT_##name,
	HW_GOAL_POINTS(X)
#undef X
	HW_GOAL_POINT_COUNT
};

/* ---- commands (hw_cmd.u) ----------------------------------------------------------------- */

struct hw_cmd_goal_open {
	uint32_t runs; /* records, a power of two, at most HW_MAX_GOAL_RUNS */
	uint32_t eq;   /* queue for HW_EVENT_GOAL_RUN; or HW_EQ_NONE */
};

struct hw_cmd_goal_comm {
	uint64_t key, key2; /* random, the same at all ranks */
	uint32_t rank, num_ranks;
	uint32_t pd;
	uint32_t peers_stag; /* hw_goal_peer[num_ranks] */
	uint64_t peers_addr;
	uint32_t comm;        /* DESTROY, POOL */
	uint32_t eager_bytes; /* 0: the default, 128 KiB; at most HW_MAX_GOAL_EAGER_BYTES */
	/* POOL: additional memory for unexpected messages */
	uint32_t pool_stag;
	uint32_t reserved;
	uint64_t pool_addr, pool_bytes;
};
static_assert(sizeof(struct hw_cmd_goal_comm) == 72, "");

struct hw_cmd_goal_load {
	uint64_t addr, bytes; /* the compiled schedule, in registered memory */
	/*
	 * hw_goal_bind[num_slots]. Address and STag 0: not bound, each run names its buffers; for
	 * up to HW_GOAL_RUN_BUFFERS slots.
	 */
	uint64_t binds_addr;
	uint32_t stag, binds_stag;
	uint32_t comm;
	uint32_t schedule; /* UNLOAD */
	uint32_t run;      /* CANCEL: run record */
	uint32_t serial;   /* CANCEL: serial of the use */
};
static_assert(sizeof(struct hw_cmd_goal_load) == 48, "");

/* GOAL_OP: registers a user's operation; goal_op_insn[num_insns] follow the command. */
struct hw_cmd_goal_op {
	uint32_t comm;
	uint32_t num_insns;  /* at most GOAL_OP_MAX_INSNS */
	uint32_t elem_bytes; /* at most GOAL_OP_MAX_ELEM_BYTES */
	uint32_t block;      /* elements of a call */
	uint32_t mark;       /* schedules repeat it: the first bytes of the operation's digest */
	uint32_t reserved;
	uint8_t args[GOAL_OP_ARGS_BYTES];
};
static_assert(sizeof(struct hw_cmd_goal_op) == 88, "");

struct hw_resp_goal_open {
	uint64_t runs_offset; /* within the BAR */
	uint32_t runs;
	uint32_t eager_bytes; /* default limit */
	/* Limit of all loaded schedules and runs of a process together. */
	uint64_t max_schedule_bytes;
};

/* Reason for which a schedule was rejected at load, in addition to the errno. */
struct hw_resp_goal_load {
	uint32_t schedule;
	uint32_t op;  /* operation at fault; 0xffffffff: none in particular */
	char why[96]; /* readable message, NUL-terminated */
};

struct hw_resp_goal_op {
	uint32_t op;     /* number on the communicator, from 0 */
	uint32_t insn;   /* instruction at fault; 0xffffffff: none in particular */
	uint32_t native; /* 1: compiled; 0: interpreted */
	char why[96];
};

#endif /* WEFT_HW_GOAL_H */
