/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL: communicators, runs, and the messages between their ranks; schedules: goal_schedule.h.
 *
 *	goal_heap.c	memory of the NIC for all of them, charged to clients
 *	goal_share.c	limits of one client in the tables
 *	goal_cmd.c	commands
 *	goal_comm.c	communicators, links to their ranks, the pool of unexpected messages
 *	goal_stall.c	operations that wait for room in the pool, and cycles among them
 *	goal_circle.c	cycles over several ranks
 *	goal_orphan.c	messages of an ended process that its peers still need
 *	goal_load.c	copies a compiled schedule in and verifies it, once
 *	goal_run.c	runs: begin, memory, end
 *	goal_step.c	the interpreter: ready queues, dependencies
 *	goal_ending.c	the end of a run: its record, notification of ranks about a failure
 *	goal_lost.c	ranks that are lost: the runs that need them fail
 *	goal_slow.c	operations and packets that wait for pages of the process
 *	goal_sweep.c	removal of messages of ended runs
 *	goal_localop.c	arithmetic
 *	goal_buf.c	(slot, offset) and lists of pieces to memory
 *	goal_msg.c	outgoing messages; announcements, aborts
 *	goal_msg_rx.c	incoming messages
 *	goal_take.c	messages of the pool, into it and out of it, in slices
 *	goal_trace.c	PERFTRACE
 *	goal_match.c	receives that wait, messages without a receive: goal_match.h
 *	goal_wild.c	the same for schedules with wildcards
 *	goal_group.c	multicasts: messages to all ranks over the reliable group (mgrp.h)
 *
 * Calls esp.h and mem.h. Source: ESPGOAL chapters 2 and 4; docs/collectives.md follows a run and a
 * message through the files.
 */
#ifndef WEFT_FW_GOAL_H
#define WEFT_FW_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/stream/esp.h"
#include "nic_fw/coll/goal_heap.h"
#include "nic_fw/coll/goal_schedule.h"
#include "nic_fw/coll/goal_stall.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/multi.h"
#include "nic_fw/host/mem.h"
#include "nic_fw/coll/mgrp.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/goal_format.h"
#include "shared_defs/hw_goal.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/wire_goal.h"

struct fw_client;
struct fw_nic;
struct goal_recv;
struct goal_unexp;

enum {
	GOAL_EAGER_BYTES = 128 * 1024,
	GOAL_LOCAL_QUANTUM_BYTES = 64 * 1024, /* of one local operation in a turn */
	/* Each stretch of memory is looked up separately, so it counts as at least this much. */
	GOAL_STRETCH_LEAST_BYTES = 512,
	/* A buffer of more pieces is copied first, so that the pieces need not be scanned. */
	GOAL_MAX_SPANS = 1024,
};

/* ---- shares of the tables (goal_share.c) --------------------------------------------------- */

/* Tables whose elements processes share; struct fw_client counts what each holds. */
enum goal_table {
	GOAL_TABLE_LINKS,
	GOAL_TABLE_RUNS,
	GOAL_TABLE_SENDS,
	GOAL_TABLE_RECVS,
	GOAL_TABLE_UNEXPS,
	GOAL_TABLE_CALCS,
	GOAL_TABLE_SPACES,
	GOAL_TABLES
};

/* Takes an element, its content undefined. NULL: none is left, or the client has its share. */
void *goal_take(struct fw_nic *nic, uint32_t client, enum goal_table table);
/* Returns an element; client is the one that it was taken for. */
void goal_give(struct fw_nic *nic, uint32_t client, enum goal_table table, void *elem);
/* Charges an element to another client. */
void goal_move(struct fw_nic *nic, uint32_t from, uint32_t to, enum goal_table table);
/* Returns the number of elements of the table. */
uint32_t goal_table_max(struct fw_nic *nic, enum goal_table table);

/* ---- communicators (goal_comm.c) ----------------------------------------------------------- */

enum {
	GOAL_MAX_LINKS = 65536,    /* of a shard: (communicator, peer) with a stream */
	GOAL_MAX_RUNS = 8192,      /* of a shard */
	GOAL_MAX_SENDS = 1 << 17,  /* outgoing messages, of a shard */
	GOAL_MAX_RECVS = 1 << 18,  /* receives that wait */
	GOAL_MAX_UNEXP = 1 << 18,  /* messages without a receive */
	GOAL_MAX_CALCS = 1 << 16,  /* timers of calc operations */
	GOAL_MAX_LOADS = 16,       /* loads under way */
	GOAL_POOL_REGIONS = 8,     /* of a communicator */
	GOAL_MAX_ANNOUNCED = 4096, /* of a link: announcements before their sends */
	GOAL_HASH_SIZE = 1 << 14,
	GOAL_MAX_ABORTS = 64, /* runs that failed elsewhere before they started here */
	GOAL_SMALL_BYTES =
	    128, /* payload that is copied into the NIC, so that the send finishes at once */
	/* Messages of a process on the way; beyond that a small send ends with its ACK. */
	GOAL_MAX_AHEAD = 4096,
	GOAL_ANY_RANKS = 64,      /* ranks checked in a step for receives from any rank */
	GOAL_WILD_SHAPES = 4,     /* of receives: any rank or one, any tag or one */
	GOAL_CLIENT_QUANTUM = 32, /* operations that one run may start before the next run's turn */
};
#define GOAL_ANY_NS UINT64_C(20000000) /* between such steps */

/* Memory of the client for unexpected messages; the heap holds their descriptions. */
struct goal_pool_region {
	uint32_t stag;
	uint64_t addr; /* tagged offset */
	struct buddy buddy;
};

/* TRUNCATED: length of the message, and of the receive that is too short for it. */
struct goal_lengths {
	uint64_t message_bytes, room_bytes;
};

/* A run that failed elsewhere before it was started here. */
struct goal_abort {
	uint32_t instance;
	uint32_t status; /* hw_goal_status */
	uint32_t rank;
	struct goal_lengths lengths;
};

struct goal_comm {
	bool used;
	uint16_t client;
	uint32_t pd;
	uint64_t key, key2;
	uint32_t rank, num_ranks;
	uint32_t eager_bytes;
	uint32_t next_instance;
	struct hw_goal_peer *peers; /* heap: num_ranks */
	uint32_t *links;            /* heap: link number of each rank, FW_NONE */
	struct fw_list all_links;   /* goal_link.node */
	struct fw_list schedules;   /* goal_schedule.node */
	struct fw_list runs;        /* goal_run.comm_node, active, by instance */
	struct fw_list lost;        /* goal_link.lost_node: runs that need them fail */
	struct fw_list *lost_run;   /* of runs: the next to look at for the first; NULL: none */
	struct fw_list lost_node;   /* in nic->goal.lost while lost is not empty */
	struct fw_list endings;     /* goal_ending.node: failed runs, in their order */
	struct fw_list ending_node; /* in slices.endings while endings is not empty */
	struct fw_list unexps;      /* goal_unexp.comm_node, in order of arrival */
	bool wild;                  /* a schedule with wildcards was loaded: unexps are indexed */
	struct fw_list *wild_built; /* the last one indexed, unexps: none; NULL: all are */
	struct fw_list announced;   /* goal_send.run_node: announcements before their sends */
	/* goal_sweep.c removes messages of ended runs, some in a turn. */
	struct fw_list *sweep_unexp, *sweep_announced; /* position; at the list's head: done */
	bool sweep_again;                              /* a run ended meanwhile */
	struct fw_list sweep_node;                     /* in slices.sweeps */
	struct fw_list blocked; /* goal_link.blocked_node: streams that wait for room */
	/* goal_link.blocked_node: streams that may find room and are resumed, some in a turn. */
	struct fw_list resuming;
	struct fw_timer resume_timer;
	struct fw_list slow; /* goal_link.slow_node: streams that wait for pages */
	struct fw_timer slow_timer;
	struct goal_pool_region regions[GOAL_POOL_REGIONS];
	uint32_t num_regions, num_aborts, num_ops;
	struct goal_abort aborts[GOAL_MAX_ABORTS];
	struct goal_op *ops[GOAL_OPS_PER_COMM]; /* heap; goal_user.h */
	struct goal_stall stall;
	struct goal_circle circle;
	/* Waiting receives from any rank. While there are any, all ranks are watched. */
	uint32_t any_recvs;
	uint32_t any_rank;    /* the next to be checked */
	uint32_t any_watched; /* links that are watched for these receives */
	struct fw_timer any_timer;
	struct goal_group {
		uint8_t mac[6];
		uint32_t next;           /* in the table by key: communicator + 1 */
		uint32_t *spaces;        /* heap: number of each root's space, FW_NONE */
		struct fw_list all;      /* mgrp_space.node */
		struct fw_list blocked;  /* mgrp_space.blocked_node: wait for room */
		struct fw_list resuming; /* likewise: as resuming above */
	} group;
	bool closing; /* destroyed; ranks below it in a tree may still need repairs */
	bool leaving; /* its process has ended: links are being notified */
	bool left;    /* all links have been notified */
	bool ungrouped;
	struct fw_timer end_timer;
	struct fw_list node; /* of the client */
};

/* One peer of a communicator: its stream, opened when first needed. */
struct goal_link {
	uint32_t comm; /* FW_NONE: the communicator is gone, the stream drains */
	uint16_t client;
	uint32_t rank;
	struct esp_stream *stream; /* NULL: ended, the rank is lost */
	uint32_t awaiting;         /* messages and announcements that it owes to this rank */
	uint32_t announced;        /* GOAL_SEND_ANNOUNCED of it */
	uint32_t abort_mark;       /* instance + 1 of the last ABORT sent */
	bool any_watched;          /* awaited by receives from any rank */
	bool lost;                 /* its stream ended other than by a close */
	bool told_left;            /* it was notified that our process has ended */
	/* goal_lost.c: looks for the runs that need it. */
	struct fw_list lost_node;              /* in comm->lost, or nic->goal.drains */
	struct fw_list lost_sends, lost_recvs; /* of sends and recvs: not looked at */
	bool lost_closed, lost_left;
	uint8_t lost_status;  /* hw_goal_status */
	bool left;            /* its process has ended: it takes no part in run left_at and later */
	uint32_t left_at;     /* instance */
	struct fw_list sends; /* goal_send.link_node */
	struct fw_list recvs; /* goal_recv.link_node: that wait for it */
	uint64_t until_ns;    /* of a closing link without a process: its time limit */
	uint32_t blocked_instance; /* of the message that finds no room */
	struct fw_list node, blocked_node, slow_node;
};

/* Finds the local communicator of that key and rank; NULL: none. */
struct goal_comm *goal_comm_find(struct fw_nic *nic, uint64_t key, uint64_t key2, uint32_t rank);
/* Returns the link to a rank, and opens its stream. NULL: the rank is lost, or no link is left. */
struct goal_link *goal_link_get(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank);
/* True if the rank is lost to this run, not only done with all runs. Opens a missing link. */
bool goal_link_lost(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank, uint32_t instance);
/* Notes that the rank takes no part in this run and later ones. */
void goal_link_left(struct fw_nic *nic, struct goal_link *link, uint32_t instance);
/* Returns the link as it is; NULL: there is none. */
struct goal_link *goal_link_at(struct fw_nic *nic, const struct goal_comm *comm, uint32_t rank);
/* Starts or stops waiting for something of the rank. */
void goal_link_await(struct fw_nic *nic, struct goal_link *link, bool on);
/* A receive from any rank starts (on) or stops waiting. */
void goal_comm_await_any(struct fw_nic *nic, struct goal_comm *comm, bool on);
/* Room for an unexpected message: region and offset; false: full. */
bool goal_pool_alloc(struct goal_comm *comm, uint64_t bytes, uint32_t *region, uint64_t *offset);
void goal_pool_free(struct goal_comm *comm, uint32_t region, uint64_t offset);
void goal_comm_init(struct goal_comm *comm);
/* note: a run failed elsewhere before it started here. take: true if this run is one of them. */
void goal_comm_note_abort(struct goal_comm *comm, uint32_t instance, enum hw_goal_status status,
			  uint32_t rank, struct goal_lengths lengths);
bool goal_comm_take_abort(struct goal_comm *comm, uint32_t instance, struct goal_abort *abort);
/* Accepts a stream that the rank opened; NULL: it had one before. */
struct goal_link *goal_link_accept(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank,
				   struct esp_stream *stream);
/* Resumes streams that waited for room or for a receive (goal_stall.c). */
void goal_comm_unblock(struct fw_nic *nic, struct goal_comm *comm);
/* Frees the context of a link whose stream has ended. */
void goal_link_free(struct fw_nic *nic, struct goal_link *link);
/*
 * Frees all that its process had of it, in slices: runs, schedules, messages. left: notifies the
 * ranks of runs in flight. False: units ran out.
 */
bool goal_comm_empty(struct fw_nic *nic, struct goal_comm *comm, bool left);
/* Its process has ended: fails runs in flight and notifies their ranks. False: units ran out. */
bool goal_comm_leave(struct fw_nic *nic, struct goal_comm *comm);
/* Schedules the end of a destroyed communicator that no rank needs any more. */
void goal_comm_try_end(struct fw_nic *nic, struct goal_comm *comm);
/*
 * Ends an empty communicator: gracefully (its process requested it), or at once (its process is
 * gone). The timer does the rest when units run out.
 */
void goal_comm_destroy(struct fw_nic *nic, struct goal_comm *comm, bool at_once);
/* Detach: frees everything of the client. False: units ran out. */
bool goal_client_leave(struct fw_nic *nic, uint32_t client);

/* ---- state that outlives its process (goal_orphan.c) --------------------------------------- */

void goal_orphan_init(struct fw_nic *nic);
/* A process has ended: keeps its communicators and links for a while if a peer still needs them. */
bool goal_orphan_take(struct fw_nic *nic, struct fw_client *owner);
/* Keeps a link whose stream closes and whose process is gone. */
void goal_orphan_link(struct fw_nic *nic, struct goal_link *link);

/* ---- buffers (goal_buf.c) ------------------------------------------------------------------- */

struct goal_run;

/* A position in a buffer of an operation; pieces are walked front to back. */
struct goal_cursor {
	uint64_t ref;         /* of the buffer */
	uint64_t offset;      /* bytes walked */
	uint32_t piece;       /* of a list: the current one */
	uint64_t piece_start; /* offset where the current one begins */
};

/* A contiguous stretch of a buffer. */
struct goal_span {
	struct fw_mem mem; /* ptr also for the scratchpad */
	uint64_t bytes;
};

void goal_cursor_init(struct goal_cursor *cursor, uint64_t ref);
/* Moves to an offset; forward is cheap. */
void goal_cursor_seek(const struct goal_schedule *schedule, struct goal_cursor *cursor,
		      uint64_t offset);
/*
 * Returns the stretch from here on, at most max bytes, and advances. need: HW_ACCESS_* of the
 * slot's region. False: the memory is no longer registered.
 */
bool goal_cursor_next(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		      uint64_t max, uint32_t need, struct goal_span *span);
/*
 * Copies bytes into, or out of, a buffer at the cursor. False: the memory is not there, or
 * (nic->host.mem_busy) not now; the cursor stays.
 */
bool goal_buf_write(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		    const void *src, uint64_t bytes);
bool goal_buf_read(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		   void *dst, uint64_t bytes);

/* ---- runs (goal_run.c) ---------------------------------------------------------------------- */

/* Points of a trace that are not written yet, in their order. */
struct goal_trace_late {
	struct hw_goal_trace *points; /* heap; NULL: none */
	uint32_t room, count, written;
	struct fw_timer timer;
};

struct goal_run {
	uint16_t client;
	uint16_t record; /* index of its run record */
	uint32_t serial;
	uint32_t instance;
	uint32_t remaining; /* operations whose end was not yet handled */
	struct goal_comm *comm;
	struct goal_schedule *schedule;
	uint64_t start_ns;
	const struct hw_goal_bind *binds; /* the schedule's, or own_binds */
	struct hw_goal_bind own_binds[HW_GOAL_RUN_BUFFERS];
	bool unmapped;      /* some of them were not mapped when it began */
	uint8_t *memory;    /* heap: block that the next pointers point into */
	uint32_t *counters; /* of each operation: number of edges not released yet */
	uint32_t *ready;    /* ring of num_ops: operations that may start */
	uint32_t *locals;   /* ring of num_ops: local work to do */
	uint32_t *finished; /* ring of 2 * num_ops: operations whose edges are to be released */
	uint64_t *cpu_free_ns;
	uint8_t *scratch;
	uint32_t ready_head, num_ready;
	uint32_t local_head, num_locals;
	uint32_t finished_head, finished_tail, num_finished;
	uint32_t edges_done;                /* of the first finished one */
	uint64_t local_done;                /* bytes of the first local operation */
	struct goal_cursor local_cursor[3]; /* of it */
	enum hw_goal_status fault;          /* the run will fail in its next step with this */
	uint32_t fault_rank, fault_op;
	struct goal_lengths lengths;
	uint32_t any_recvs; /* its receives that may be for any rank */
	/* goal_wild.c: started receives that match by arrival, of each shape; their numbers. */
	uint32_t wild_recvs[GOAL_WILD_SHAPES], wild_serial;
	bool slow;     /* memory is not available: slow_timer runs */
	bool again;    /* the operation to be started was started before (goal_slow.c) */
	uint8_t *kept; /* heap: a part of a local operation's result, not yet written; NULL */
	uint32_t kept_bytes, kept_done;
	struct goal_cursor kept_at;
	/* A block of a user's operation that is being copied: heap, NULL; bytes so far. */
	uint8_t *op_copies;
	uint32_t op_copied;
	struct fw_timer slow_timer;
	bool ending;      /* it has failed: in comm->endings */
	uint32_t fail_op; /* then: the operation that failed here, FW_NONE */
	/* And the operations under way, as in hw_goal_run. */
	uint32_t num_waits, waits[HW_GOAL_WAITS];
	uint32_t notified_ranks; /* its process ends: ranks below this one were notified */
	uint32_t hash_next;      /* in its chain of nic->goal.run_hash, index + 1 */
	bool tracing;            /* PERFTRACE */
	uint32_t trace_stag, trace_entries, traced, trace_lost;
	uint64_t trace_addr;
	struct goal_trace_late late; /* its points whose page has not come */
	bool over;                   /* complete but for these points: nothing else moves */
	uint64_t finish_ns;          /* then */
	struct fw_list traced_sends; /* goal_send.trace_node */
	struct fw_timer timeout;
	struct fw_list sends;      /* goal_send.run_node */
	struct fw_list staging;    /* goal_send.stage_node: in order */
	struct fw_list bulk;       /* likewise, announced messages */
	struct fw_list recvs;      /* goal_recv.run_node */
	struct fw_list copies;     /* goal_recv.copy_node: in the order of locals */
	struct fw_list keeps;      /* goal_send.stage_node: likewise, messages of the rank itself */
	struct fw_list self_sends; /* goal_send.self_node: no receive has taken them */
	struct fw_list calcs;      /* goal_calc.run_node */
	struct fw_list client_node; /* in client->goal_ready while it can proceed */
	struct fw_list comm_node;
};

/* A calc operation under way. */
struct goal_calc {
	struct fw_timer timer;
	struct goal_run *run;
	uint32_t op;
	struct fw_list run_node;
};

/* Handles the host's doorbell for a run record. */
void goal_run_doorbell(struct fw_nic *nic, uint32_t client, uint32_t record);
/* Marks the run as able to proceed. */
void goal_run_wake(struct fw_nic *nic, struct goal_run *run);
/*
 * Fails the run here: status and rank at fault go to all its peers and into its record, in slices.
 * op: the operation at fault, FW_NONE. For callers the run is gone on return.
 */
void goal_run_fail(struct fw_nic *nic, struct goal_run *run, enum hw_goal_status status,
		   uint32_t rank, uint32_t op);
/* Makes all lists of a run empty. */
void goal_run_init_lists(struct goal_run *run);

/* The active run of that instance, which has not failed; NULL. */
struct goal_run *goal_run_find(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance);
/* Stops the run: it takes no part in anything any more, but keeps all that it holds. */
void goal_run_stop(struct fw_nic *nic, struct goal_run *run);
/* Its process has ended: notifies the ranks of its messages. False: units ran out. */
bool goal_run_left(struct fw_nic *nic, struct goal_run *run);
/* Ends a run without notifying any rank: its process is gone, or has been notified. */
void goal_run_drop(struct fw_nic *nic, struct goal_run *run);
/* Frees the large parts of a run in slices, before the run is dropped. False: units ran out. */
bool goal_run_trim(struct fw_nic *nic, struct goal_run *run);
/* All its operations are over: reports that, once its trace is written. */
void goal_run_complete(struct fw_nic *nic, struct goal_run *run);
/* A complete run's trace is written: the run ends. */
void goal_run_over(struct fw_nic *nic, struct goal_run *run);
/* Makes the run fail in its next step, for callers that still need it. The first fault counts. */
void goal_run_fault(struct fw_nic *nic, struct goal_run *run, enum hw_goal_status status,
		    uint32_t rank, uint32_t op);

/* ---- the interpreter (goal_step.c) ----------------------------------------------------------- */

/* One turn of the interpreter: at most about budget operations. Returns how many. */
uint32_t goal_step_poll(struct fw_nic *nic, uint32_t budget);
/* True while some run can proceed without an event from outside. */
bool goal_step_pending(const struct fw_nic *nic);
/* Finishes a started operation: its dependents are released. */
void goal_step_finish_op(struct fw_nic *nic, struct goal_run *run, uint32_t op);
/* Queues local work: a local operation, a receive that copies, or a send into the pool. */
void goal_step_add_local(struct fw_nic *nic, struct goal_run *run, uint32_t op);

/* ---- PERFTRACE (goal_trace.c) ---------------------------------------------------------------- */

struct goal_send;

/* Starts a run's trace if its record requests one. */
void goal_trace_begin(struct goal_run *run, const struct hw_goal_run *line);
/* No point is recorded from now on. */
void goal_trace_end(struct goal_run *run);
/* True while points of the run wait for their page. */
bool goal_trace_waits(const struct goal_run *run);
/* Points that wait are lost. */
void goal_trace_give_up(struct fw_nic *nic, struct goal_run *run);
void goal_trace_put(struct fw_nic *nic, struct goal_run *run, enum hw_goal_point point,
		    uint32_t op);
/* Records a point that the run passed. */
static inline void goal_run_trace(struct fw_nic *nic, struct goal_run *run,
				  enum hw_goal_point point, uint32_t op)
{
	if (__builtin_expect(run->tracing, 0))
		goal_trace_put(nic, run, point, op);
}
/* A message of the run is about to be queued: traces its way through the transport, too. */
void goal_trace_send(struct goal_run *run, struct goal_send *send, uint32_t op);
void goal_trace_passed(struct fw_nic *nic, struct goal_send *send, enum esp_point point);
/* Records the first piece of a message that has no receive yet. */
void goal_trace_arrived(struct fw_nic *nic, struct goal_comm *comm, uint32_t instance);

/* ---- messages (goal_msg.c) ------------------------------------------------------------------- */

/* Identifies a message of a run, on the receiver's side and the sender's alike. */
struct goal_key4 {
	uint32_t instance;
	uint32_t rank; /* the other end */
	uint32_t tag;
	uint32_t count;
	bool group; /* a multicast; rank is its root */
};

enum goal_send_kind {
	GOAL_SEND_SMALL, /* payload copied; the operation may be finished already */
	GOAL_SEND_EAGER,
	GOAL_SEND_WAITING,   /* large: HEADER is sent, the announcement is awaited */
	GOAL_SEND_DATA,      /* large, announced */
	GOAL_SEND_CONTROL,   /* HEADER, ANNOUNCE, ABORT */
	GOAL_SEND_ANNOUNCED, /* no send yet: its announcement came first */
	GOAL_SEND_SELF,      /* large, to this rank itself */
	GOAL_SEND_GROUP,     /* a multicast, not yet wholly in the ring */
};

/* An outgoing message, or an announcement whose send has not started. */
struct goal_send {
	struct esp_xfer xfer;
	enum goal_send_kind kind;
	bool hashed;
	bool staging; /* not yet passed to the stream (goal_stage.c) */
	bool awaited; /* counted in link->awaiting; SELF: joined with its receive */
	uint16_t client;
	struct goal_link *link; /* NULL: SELF, GROUP */
	struct goal_run *run;   /* NULL: needs nothing of a run any more */
	uint32_t op;
	struct goal_key4 key;
	uint8_t type; /* wire_goal_type of its packets */
	uint32_t sink;
	uint64_t bytes;        /* of the message; ANNOUNCED: room of the receive */
	uint64_t room_bytes;   /* ABORT: bytes of the receive that was too short */
	uint64_t staged_bytes; /* staging: bytes copied so far */
	uint32_t piece_bytes;  /* payload of each packet but the last */
	struct goal_cursor cursor;
	uint8_t *staged;            /* heap: a copy, where a frame cannot hold the pieces; NULL */
	uint32_t next;              /* in its hash chain while WAITING or ANNOUNCED, index + 1 */
	struct goal_run *trace_run; /* traced run that has not ended; NULL */
	uint32_t trace_op;
	struct fw_list run_node, link_node, trace_node;
	struct fw_list stage_node; /* staging: in run->staging or bulk; in run->keeps */
	struct goal_unexp *unexp;  /* then: its place in the pool */
	struct fw_list self_node;  /* SELF: in run->self_sends while it waits for a receive */
	struct fw_multi self_at;   /* then: in nic->goal.self_hash */
	uint8_t small[GOAL_SMALL_BYTES];
};

static inline struct goal_send *goal_send_of(struct esp_xfer *xfer)
{
	return FW_CONTAINER(xfer, struct goal_send, xfer);
}

extern const struct esp_ops goal_msg_ops;
/* Starts a SEND or RECV. 0: under way or finished; otherwise the status that the run fails with. */
enum hw_goal_status goal_msg_send(struct fw_nic *nic, struct goal_run *run, uint32_t op);
enum hw_goal_status goal_msg_recv(struct fw_nic *nic, struct goal_run *run, uint32_t op);
/* Notifies a peer that the run failed. */
void goal_msg_abort(struct fw_nic *nic, struct goal_link *link, const struct goal_abort *abort);
/* A message is longer than its receive: notes both lengths. Returns HW_GOAL_TRUNCATED. */
enum hw_goal_status goal_run_truncated(struct goal_run *run, uint32_t op, uint64_t message_bytes);
/* Notifies a peer that this rank's process has ended. False: no memory. */
bool goal_msg_left(struct fw_nic *nic, struct goal_link *link, uint32_t instance);
/* Sends ANNOUNCE for a receive whose message is, or may be, large. False: no memory. */
bool goal_msg_announce(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link);
/* goal_stage.c: queues a message that is copied first, or that follows such a message. */
void goal_stage_add(struct fw_nic *nic, struct goal_run *run, struct goal_send *send);
/* True if ordered messages of the run must queue behind others. */
bool goal_stage_line(const struct goal_run *run);
/* Continues with the oldest message. Returns its cost in operations; 0: there is none. */
uint32_t goal_stage_step(struct fw_nic *nic, struct goal_run *run);
/* Sends a message in its turn: its payload was copied, or needs no copy. */
void goal_msg_staged(struct fw_nic *nic, struct goal_run *run, struct goal_send *send);
/* Starts a large send whose receive is ready; on failure the send is gone. */
enum hw_goal_status goal_msg_send_announced(struct fw_nic *nic, struct goal_send *send,
					    struct goal_run *run, uint32_t op, uint32_t sink);
/* The run ends: detaches its sends and receives. */
void goal_msg_drop_run(struct fw_nic *nic, struct goal_run *run);
bool goal_msg_trim_run(struct fw_nic *nic, struct goal_run *run); /* for goal_run_trim() */
/* Removes an announcement that came before its send. */
void goal_send_unannounce(struct fw_nic *nic, struct goal_send *send);
/* True if this run is still to come, or active. */
bool goal_run_is_current(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance);
/* The layer above ESP, struct esp_ops. */
bool goal_msg_expects(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac);
void *goal_msg_accept(struct fw_nic *nic, const struct esp_key *key, struct esp_stream *stream);
enum esp_verdict goal_msg_receive(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				  uint32_t offset, uint32_t bytes);
void goal_msg_opened(struct fw_nic *nic, void *ctx);
void goal_msg_ended(struct fw_nic *nic, void *ctx, enum esp_end why);

/* Takes a piece of a multicast, in order: wire_goal, payload. Must not end the communicator. */
enum esp_verdict goal_group_receive(struct fw_nic *nic, struct goal_comm *comm, uint32_t root,
				    const struct fw_rx_frame *frame, uint32_t offset,
				    uint32_t bytes);
/* Gives a receive the message that came before it, in part or as a whole. */
enum hw_goal_status goal_recv_unexpected(struct fw_nic *nic, struct goal_run *run, uint32_t op,
					 struct goal_unexp *unexp);
/* Starts a MCAST_SEND or MCAST_RECV operation (goal_group.c). */
enum hw_goal_status goal_group_send(struct fw_nic *nic, struct goal_run *run, uint32_t op);
enum hw_goal_status goal_group_recv(struct fw_nic *nic, struct goal_run *run, uint32_t op);

/* The last byte of a message has arrived: the receive is finished. */
void goal_msg_rx_finish(struct fw_nic *nic, struct goal_recv *recv);

/* Contexts of outgoing messages; found by key while WAITING or ANNOUNCED. */
struct goal_send *goal_send_new(struct fw_nic *nic, uint32_t client, struct goal_link *link,
				enum goal_send_kind kind, uint8_t type,
				const struct goal_key4 *key);
/* Makes it the send of an operation. */
void goal_send_tie(struct goal_run *run, uint32_t op, struct goal_send *send);
void goal_send_free(struct fw_nic *nic, struct goal_send *send);
/* Its stream has ended: frees it, or leaves it to the end of its run. */
void goal_send_lost(struct fw_nic *nic, struct goal_send *send);
void goal_send_hash(struct fw_nic *nic, struct goal_send *send);
struct goal_send *goal_send_find(struct fw_nic *nic, const struct goal_link *link,
				 const struct goal_key4 *key);
/* Maps an unexpected message in the pool; false: the memory is gone. */
bool goal_unexp_mem(struct fw_nic *nic, const struct goal_unexp *unexp, uint64_t offset,
		    uint64_t bytes, struct fw_mem *mem);

/* ---- local operations (goal_localop.c) ---------------------------------------------------- */

/*
 * Computes result[i] = a[i] op b[i] for count elements; no alignment is needed, and result may be a
 * or b (the same address). If it overlaps them otherwise, or if they change meanwhile, the result
 * is undefined, without other effects. b is not read for COPY. False: a division by zero or of the
 * least value by -1; result is undefined then.
 */
bool goal_local_run(uint8_t op, uint8_t type, uint8_t width, void *result, const void *a,
		    const void *b, uint64_t count);

#endif /* WEFT_FW_GOAL_H */
