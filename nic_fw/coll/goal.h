/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL: communicators, schedules, runs, and the messages between their ranks.
 *
 * goal_heap.c	memory of the NIC for all of them, charged to clients
 * goal_share.c	what one client may hold of the tables
 * goal_cmd.c	commands
 * goal_comm.c	communicators, links to their ranks, the pool of unexpected messages
 * goal_stall.c	who waits for room in the pool, and circles among them; goal_circle.c: over ranks
 * goal_orphan.c	what a process that has ended leaves behind, until others have it
 * goal_load.c	copies a compiled schedule in and verifies it, once
 * goal_run.c	the interpreter: ready queues, dependencies
 * goal_ending.c	the end of a run: what its record says, and ranks that hear of a failure
 * goal_sweep.c	what came for runs that are over
 * goal_localop.c	arithmetic
 * goal_buf.c	(slot, offset) and lists of pieces to memory
 * goal_msg.c	packets of messages out and in; announcements, aborts
 * goal_trace.c	PERFTRACE
 * goal_match.c	receives that wait, messages that nobody waits for yet
 * goal_group.c	multicasts: messages to all ranks over the reliable group (mgrp.h)
 *
 * Called by cmd.c, db.c, fw.c (goal_run_poll()), esp_*.c; calls esp.h and mem.h. Source:
 * ESPGOAL chapters 2 and 4; docs/collectives.md walks a run and a message through it.
 */
#ifndef WEFT_FW_GOAL_H
#define WEFT_FW_GOAL_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/stream/esp.h"
#include "nic_fw/coll/goal_heap.h"
#include "nic_fw/coll/goal_stall.h"
#include "nic_fw/base/list.h"
#include "nic_fw/host/mem.h"
#include "nic_fw/coll/mgrp.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/goal_format.h"
#include "shared_defs/hw_goal.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/wire_goal.h"

struct fw_client;
struct fw_nic;

enum {
	GOAL_EAGER_BYTES = 128 * 1024,
	GOAL_LOCAL_QUANTUM_BYTES = 64 * 1024, /* of one local operation in a turn */
	/* A stretch of memory is looked up and copied by itself: it counts as so much at least. */
	GOAL_STRETCH_LEAST_BYTES = 512,
	/* A buffer of more pieces is copied before it is sent: nobody looks through them first. */
	GOAL_MAX_SPANS = 1024,
};
/* A schedule that passed verification; nothing of it is written to while it lives. */
struct goal_schedule {
	bool used;
	bool wildcards; /* some receive takes any source or any tag */
	bool unmapped;  /* some slot was not mapped when it was loaded */
	bool unloading; /* freed with its last run */
	bool groups;    /* some operation is a multicast */
	uint16_t client;
	uint32_t comm;
	uint32_t pd;
	uint32_t refs; /* runs */
	struct goal_header header;
	uint8_t *code; /* heap: the whole schedule */
	const struct goal_insn *ops;
	const struct goal_edge *edges;
	const struct goal_piece *pieces;
	const struct goal_slot *slots;
	uint32_t *roots;            /* heap: header.num_roots */
	uint32_t *deps;             /* heap: in-degrees, what a run's counters begin with */
	uint64_t *peers;            /* heap: bit for each rank that it exchanges messages with */
	uint64_t *neighbours;       /* heap: the same for neighbours in trees of multicasts */
	struct hw_goal_bind *binds; /* heap: header.num_slots */
	void *idle_run;             /* memory of a finished run, kept for the next; heap */
	struct fw_list node;        /* of the communicator */
};

/* What is wrong with a schedule, for hw_resp_goal_load. */
struct goal_fault {
	uint32_t op; /* 0xffffffff: none in particular */
	const char *why;
};

enum goal_load_phase {
	GOAL_LOAD_COPY,
	GOAL_LOAD_OPS,
	GOAL_LOAD_EDGES,
	GOAL_LOAD_ROOTS,
	GOAL_LOAD_ORDER,
	GOAL_LOAD_COUNTS,
	GOAL_LOAD_DONE,
	GOAL_LOAD_FAILED,
};

/*
 * A load under way. It copies a compiled schedule out of a client's memory and verifies it: sizes,
 * offsets, references inside slots and scratchpad, peers, legal local operations, acyclic,
 * counters equal in-degrees, numbers of equal keys. In steps, so that a large schedule holds up
 * nobody.
 */
struct goal_load {
	enum goal_load_phase phase;
	struct goal_schedule *schedule;
	uint32_t rank, num_ranks; /* of the communicator */
	uint64_t bytes;
	uint64_t at;           /* item of the phase */
	uint32_t next_edge;    /* where the next operation's edges begin */
	uint32_t *degree;      /* heap: in-degrees as the edges give them */
	uint32_t *order;       /* heap: operations in an order that respects all edges */
	uint32_t head, tail;   /* of order */
	struct goal_key *keys; /* heap: hash of (kind, peer, tag) */
	uint32_t key_mask;
	/* Lists of pieces of the operation at `at`, which may be longer than a step. */
	uint32_t walk_buf;    /* of its buffers */
	uint32_t walk_at;     /* piece of that list */
	uint64_t walk_sum[3]; /* bytes of each list */
	bool walk_bad[3];     /* a piece of it is wrong */
	int status;           /* FAILED: a positive errno */
	struct goal_fault fault;
};

enum {
	GOAL_LOAD_QUANTUM = 1024, /* items of one step; one load has a step in a turn */
	GOAL_LOAD_COPY_BYTES = 64 * 1024,
};

/* Begins: checks the header (a copy). False: load->status and fault say why; nothing is held. */
bool goal_load_begin(struct fw_nic *nic, struct goal_load *load, struct goal_schedule *schedule,
		     const struct goal_header *header, uint32_t rank, uint32_t num_ranks);
/*
 * Carries on, source being the schedule in the client's memory as checked just now. Returns true
 * when it is over: phase DONE, or FAILED with nothing held any more.
 */
bool goal_load_step(struct fw_nic *nic, struct goal_load *load, const struct fw_mem *source);
/* Gives up a load under way. */
void goal_load_cancel(struct fw_nic *nic, struct goal_load *load);
/* Frees all that a schedule holds in the heap. */
void goal_schedule_free(struct fw_nic *nic, struct goal_schedule *schedule);

/* A GOAL_LOAD command under way (goal_cmd.c). */
struct goal_loading {
	bool used;
	uint16_t client;
	uint32_t tag;
	uint32_t stag;
	uint64_t addr;
	struct goal_load load;
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

/* An element for the client, its content undefined; NULL: all are taken, or it has its share. */
void *goal_take(struct fw_nic *nic, uint32_t client, enum goal_table table);
/* Gives it back; client: the one that it was taken for. */
void goal_give(struct fw_nic *nic, uint32_t client, enum goal_table table, void *elem);
/* An element counts as another client's from now on. */
void goal_move(struct fw_nic *nic, uint32_t from, uint32_t to, enum goal_table table);
/* How many elements the table has. */
uint32_t goal_table_max(struct fw_nic *nic, enum goal_table table);

/* ---- communicators (goal_comm.c) ----------------------------------------------------------- */

enum {
	GOAL_MAX_LINKS = 65536,    /* of a shard: (communicator, peer) with a stream */
	GOAL_MAX_RUNS = 8192,      /* of a shard */
	GOAL_MAX_SENDS = 1 << 17,  /* messages on their way out, of a shard */
	GOAL_MAX_RECVS = 1 << 18,  /* receives that wait */
	GOAL_MAX_UNEXP = 1 << 18,  /* messages without a receive */
	GOAL_MAX_CALCS = 1 << 16,  /* timers of calc operations */
	GOAL_MAX_LOADS = 16,       /* loads under way */
	GOAL_POOL_REGIONS = 8,     /* of a communicator */
	GOAL_MAX_ANNOUNCED = 4096, /* of a link: announcements before their sends */
	GOAL_HASH_SIZE = 1 << 14,
	GOAL_MAX_ABORTS = 64, /* runs not yet started here that failed elsewhere */
	GOAL_SMALL_BYTES =
	    128,             /* payload that is copied into the NIC, so that the send is finished */
	GOAL_ANY_RANKS = 64, /* looked at in a step for receives from any rank */
	GOAL_CLIENT_QUANTUM = 32, /* operations that one run may start before the next one's turn */
};
#define GOAL_ANY_NS UINT64_C(20000000) /* between such steps */

/* Memory of the client for unexpected messages; what is known of it lies in the heap. */
struct goal_pool_region {
	uint32_t stag;
	uint64_t addr; /* tagged offset */
	struct buddy buddy;
};

/* TRUNCATED: of the message, and of the receive that is too short for it. */
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
	struct fw_list endings;     /* goal_ending.node: runs that failed, in their order */
	struct fw_list ending_node; /* in slices.endings while there are such */
	struct fw_list unexps;      /* goal_unexp.comm_node, as they came */
	struct fw_list announced;   /* goal_send.run_node: announcements before their sends */
	/* goal_sweep.c looks for what came for runs that are over, some in a turn. */
	struct fw_list *sweep_unexp, *sweep_announced; /* how far; the lists themselves: through */
	bool sweep_again;                              /* a run was over meanwhile */
	struct fw_list sweep_node;                     /* in slices.sweeps */
	struct fw_list blocked; /* goal_link.blocked_node: streams that wait for room */
	struct goal_pool_region regions[GOAL_POOL_REGIONS];
	uint32_t num_regions;
	uint32_t num_aborts;
	struct goal_abort aborts[GOAL_MAX_ABORTS];
	struct goal_stall stall;
	struct goal_circle circle;
	/* Receives from any rank that wait: while there are such, all ranks are watched. */
	uint32_t any_recvs;
	uint32_t any_rank;    /* the next to be looked at */
	uint32_t any_watched; /* links that are watched for their sake */
	struct fw_timer any_timer;
	struct goal_group {
		uint8_t mac[6];
		uint32_t next;          /* in the table by key: communicator + 1 */
		uint32_t *spaces;       /* heap: number of each root's space, FW_NONE */
		struct fw_list all;     /* mgrp_space.node */
		struct fw_list blocked; /* mgrp_space.blocked_node: wait for room */
	} group;
	bool closing; /* destroyed; ranks below it in a tree may still need repairs */
	bool leaving; /* its process has: links are being told */
	bool left;    /* and have been */
	bool ungrouped;
	struct fw_timer end_timer;
	struct fw_list node; /* of the client */
};

/* One peer of a communicator: its stream, opened when first needed. */
struct goal_link {
	uint32_t comm; /* FW_NONE: the communicator is gone, the stream drains */
	uint16_t client;
	uint32_t rank;
	struct esp_stream *stream; /* NULL: over, the rank is lost */
	uint32_t awaiting;         /* messages and announcements that it owes us */
	uint32_t announced;        /* GOAL_SEND_ANNOUNCED of it */
	uint32_t abort_mark;       /* instance + 1 of the last ABORT sent */
	bool any_watched;          /* awaited by receives from any rank */
	bool lost;                 /* its stream has ended otherwise than by a close */
	bool told_left;            /* that our process has ended */
	bool left;            /* its process has ended: it takes no part in left_at and later */
	uint32_t left_at;     /* instance */
	struct fw_list sends; /* goal_send.link_node */
	uint64_t until_ns;    /* of one that closes, its process gone: how long it may take */
	uint32_t blocked_instance; /* of the message that finds no room */
	struct fw_list node, blocked_node;
};

/* The communicator of that key and rank here; NULL. */
struct goal_comm *goal_comm_find(struct fw_nic *nic, uint64_t key, uint64_t key2, uint32_t rank);
/* The link to a rank, its stream opened; NULL: the rank is lost, or there is no link left. */
struct goal_link *goal_link_get(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank);
/*
 * The rank is lost to this run, not only done with the communicator. Opens the link if there is
 * none yet.
 */
bool goal_link_lost(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank, uint32_t instance);
/* The rank takes no part in this run and later ones. */
void goal_link_left(struct fw_nic *nic, struct goal_link *link, uint32_t instance);
/* The link as it is; NULL: there is none. */
struct goal_link *goal_link_at(struct fw_nic *nic, const struct goal_comm *comm, uint32_t rank);
/* Something is awaited of the rank, or no longer. */
void goal_link_await(struct fw_nic *nic, struct goal_link *link, bool on);
/* A receive from any rank waits, or does so no longer. */
void goal_comm_await_any(struct fw_nic *nic, struct goal_comm *comm, bool on);
/* Room for an unexpected message: region and offset; false: full. */
bool goal_pool_alloc(struct goal_comm *comm, uint64_t bytes, uint32_t *region, uint64_t *offset);
void goal_pool_free(struct goal_comm *comm, uint32_t region, uint64_t offset);
void goal_comm_init(struct goal_comm *comm);
/* A run that failed elsewhere and is still to be started here; and whether this one is such a run.
 */
void goal_comm_note_abort(struct goal_comm *comm, uint32_t instance, enum hw_goal_status status,
			  uint32_t rank, struct goal_lengths lengths);
bool goal_comm_take_abort(struct goal_comm *comm, uint32_t instance, struct goal_abort *abort);
/* The rank opened the stream; NULL: it has had one. */
struct goal_link *goal_link_accept(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank,
				   struct esp_stream *stream);
/* Streams that waited for room or for a receive may go on (goal_stall.c). */
void goal_comm_unblock(struct fw_nic *nic, struct goal_comm *comm);
/* Gives the context back; its stream is over. */
void goal_link_free(struct fw_nic *nic, struct goal_link *link);
/*
 * Frees what its process had of it, in slices: runs, schedules, messages. left: their ranks are
 * told of runs in flight. False: units ran out.
 */
bool goal_comm_empty(struct fw_nic *nic, struct goal_comm *comm, bool left);
/* Its process has ended: runs in flight fail, and their ranks are told. False: units ran out. */
bool goal_comm_leave(struct fw_nic *nic, struct goal_comm *comm);
/* A destroyed communicator of which nobody needs anything any more goes soon. */
void goal_comm_try_end(struct fw_nic *nic, struct goal_comm *comm);
/*
 * Ends a communicator that is empty: gracefully (its process asked), or at once (its process is
 * gone). What units run out for is done by its timer.
 */
void goal_comm_destroy(struct fw_nic *nic, struct goal_comm *comm, bool at_once);
/* Detach: all that the client has. False: units ran out. */
bool goal_client_leave(struct fw_nic *nic, uint32_t client);

/* ---- what outlives its process (goal_orphan.c) ------------------------------------------------
 */

void goal_orphan_init(struct fw_nic *nic);
/* A process has ended: communicators and links that somebody still needs stay for a while. */
bool goal_orphan_take(struct fw_nic *nic, struct fw_client *owner);
/* A link whose stream closes, and whose process is gone. */
void goal_orphan_link(struct fw_nic *nic, struct goal_link *link);

/* ---- buffers (goal_buf.c) ---------------------------------------------------------------------
 */

struct goal_run;

/* Where in a buffer of an operation one stands; pieces are walked front to back. */
struct goal_cursor {
	uint64_t ref;         /* of the buffer */
	uint64_t offset;      /* bytes walked */
	uint32_t piece;       /* of a list: the one it stands in */
	uint64_t piece_start; /* offset where that one begins */
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
 * The stretch from here on, at most max bytes; advances. need: HW_ACCESS_* of the slot's region.
 * False: the memory is no longer registered.
 */
bool goal_cursor_next(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		      uint64_t max, uint32_t need, struct goal_span *span);
/* Copies bytes into, or out of, a buffer at the cursor; false: memory not there. */
bool goal_buf_write(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		    const void *src, uint64_t bytes);
bool goal_buf_read(struct fw_nic *nic, const struct goal_run *run, struct goal_cursor *cursor,
		   void *dst, uint64_t bytes);

/* ---- runs (goal_run.c) ---------------------------------------------------------------------- */

struct goal_run {
	uint16_t client;
	uint16_t record; /* index of its run record */
	uint32_t serial;
	uint32_t instance;
	uint32_t remaining; /* operations whose end was not yet dealt with */
	struct goal_comm *comm;
	struct goal_schedule *schedule;
	uint64_t start_ns;
	uint8_t *memory;    /* heap: what the next pointers point into */
	uint32_t *counters; /* of each operation: edges that have not been released */
	uint32_t *ready;    /* ring of num_ops: operations that may start */
	uint32_t *locals;   /* ring of num_ops: local work to be done */
	uint32_t *finished; /* ring of 2 * num_ops: operations whose edges are to be released */
	uint64_t *cpu_free_ns;
	uint8_t *scratch;
	uint32_t ready_head, num_ready;
	uint32_t local_head, num_locals;
	uint32_t finished_head, finished_tail, num_finished;
	uint32_t edges_done;                /* of the first finished one */
	uint64_t local_done;                /* bytes of the first local operation */
	struct goal_cursor local_cursor[3]; /* of it */
	enum hw_goal_status fault;          /* it is to fail in its next step */
	uint32_t fault_rank, fault_op;
	struct goal_lengths lengths;
	bool ending;                              /* it has failed: comm->endings */
	uint32_t fail_op;                         /* then: that failed here, FW_NONE */
	uint32_t num_waits, waits[HW_GOAL_WAITS]; /* and what was under way, as hw_goal_run */
	uint32_t told_ranks;                      /* its process ends: ranks below this one know */
	uint32_t hash_next; /* in its chain of nic->goal.run_hash, index + 1 */
	bool tracing;       /* PERFTRACE */
	uint32_t trace_stag, trace_entries, traced, trace_lost;
	uint64_t trace_addr;
	struct fw_list traced_sends; /* goal_send.trace_node */
	struct fw_timer timeout;
	struct fw_list sends;       /* goal_send.run_node */
	struct fw_list staging;     /* goal_send.stage_node: in their order */
	struct fw_list bulk;        /* likewise, announced */
	struct fw_list recvs;       /* goal_recv.run_node */
	struct fw_list calcs;       /* goal_calc.run_node */
	struct fw_list client_node; /* in client->goal_ready while it can go on */
	struct fw_list comm_node;
};

/* A calc operation under way. */
struct goal_calc {
	struct fw_timer timer;
	struct goal_run *run;
	uint32_t op;
	struct fw_list run_node;
};

/* The host rang for a run record. */
void goal_run_doorbell(struct fw_nic *nic, uint32_t client, uint32_t record);
/* It can go on. */
void goal_run_wake(struct fw_nic *nic, struct goal_run *run);
/* One turn of the interpreter: at most about budget operations. Returns how many. */
uint32_t goal_run_poll(struct fw_nic *nic, uint32_t budget);
/* True while some run can go on without anything from outside. */
bool goal_run_pending(const struct fw_nic *nic);
/* An operation that was started is finished: releases what waits for it. */
void goal_run_finish_op(struct fw_nic *nic, struct goal_run *run, uint32_t op);
/*
 * The run fails here: status and rank at fault go to all its peers and into its record, in slices.
 * op: the operation at fault, FW_NONE. For callers the run is gone on return.
 */
void goal_run_fail(struct fw_nic *nic, struct goal_run *run, enum hw_goal_status status,
		   uint32_t rank, uint32_t op);
/* Makes all lists of a run empty. */
void goal_run_init_lists(struct goal_run *run);

/* The active run of that instance, which has not failed; NULL. */
struct goal_run *goal_run_find(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance);
/* It takes no part in anything any more, but has all that it had. */
void goal_run_stop(struct fw_nic *nic, struct goal_run *run);
/* Its process has ended: the ranks that it talks to are told so. False: units ran out. */
bool goal_run_left(struct fw_nic *nic, struct goal_run *run);
/* Ends a run without a word to anyone: its process is gone, or has been told. */
void goal_run_drop(struct fw_nic *nic, struct goal_run *run);
/* What may be very much of it, in slices; then it is to be dropped. False: units ran out. */
bool goal_run_trim(struct fw_nic *nic, struct goal_run *run);
/* It is to fail in its next step: for callers that still need it. Only the first counts. */
void goal_run_fault(struct fw_nic *nic, struct goal_run *run, enum hw_goal_status status,
		    uint32_t rank, uint32_t op);
/* Queues local work: a local operation, or a receive that copies from the rank itself. */
void goal_run_add_local(struct fw_nic *nic, struct goal_run *run, uint32_t op);
/* A part of a local operation (goal_local.c); true: it is over, or the run has a fault. */
bool goal_local_step(struct fw_nic *nic, struct goal_run *run, uint32_t op, uint32_t *cost);

/* ---- PERFTRACE (goal_trace.c) ---------------------------------------------------------------- */

struct goal_send;

/* A run starts: whether and where it is traced, as its record says. */
void goal_trace_begin(struct goal_run *run, const struct hw_goal_run *line);
/* It is over. */
void goal_trace_end(struct goal_run *run);
void goal_trace_put(struct fw_nic *nic, struct goal_run *run, enum hw_goal_point point,
		    uint32_t op);
/* A point that the run passed. */
static inline void goal_run_trace(struct fw_nic *nic, struct goal_run *run,
				  enum hw_goal_point point, uint32_t op)
{
	if (__builtin_expect(run->tracing, 0))
		goal_trace_put(nic, run, point, op);
}
/* A message of the run is about to be queued: what the transport does with it is traced, too. */
void goal_trace_send(struct goal_run *run, struct goal_send *send, uint32_t op);
void goal_trace_passed(struct fw_nic *nic, struct goal_send *send, enum esp_point point);
/* The first piece of a message that no receive waits for. */
void goal_trace_arrived(struct fw_nic *nic, struct goal_comm *comm, uint32_t instance);

/* ---- messages (goal_match.c, goal_msg.c) ---------------------------------------------------- */

/* Names a message of a run, from the receiver's side and the sender's alike. */
struct goal_key4 {
	uint32_t instance;
	uint32_t rank; /* the other end */
	uint32_t tag;
	uint32_t count;
	bool group; /* a multicast; rank is its root */
};

/* A receive that was started and is not finished. */
struct goal_recv {
	uint32_t next; /* in its hash chain, index + 1; first, for the pool writes here, too */
	uint32_t op;
	struct goal_run *run;   /* NULL: free, which a sink of a peer may name all the same */
	struct goal_key4 key;   /* exact, or as its message turned out */
	bool matched;           /* a message was found for it */
	bool hashed;            /* in the table under its key */
	bool any;               /* counted in comm->any_recvs: it may be for any rank */
	uint8_t generation;     /* of the sink that names it */
	struct goal_link *link; /* from which it is awaited; NULL: any, or this rank */
	struct goal_send *self; /* of this rank, being copied */
	uint64_t bytes;         /* of the message once matched */
	uint64_t received;
	struct goal_cursor cursor;
	struct fw_list run_node;
};
static_assert(offsetof(struct goal_recv, run) >= sizeof(uint32_t), "fw_pool's link comes first");

/* A message, or the header of a large one, that came before its receive. */
struct goal_unexp {
	uint32_t comm;
	struct goal_key4 key;
	bool header; /* WIRE_GOAL_HEADER: no data */
	uint64_t bytes, received;
	uint32_t region; /* of the pool; FW_NONE: the data lie in small */
	uint64_t offset;
	struct goal_link *link; /* to announce on */
	uint32_t next;          /* in its hash chain, index + 1 */
	struct fw_list comm_node;
	uint8_t small[64];
};

enum goal_send_kind {
	GOAL_SEND_SMALL, /* payload copied; the operation is finished already */
	GOAL_SEND_EAGER,
	GOAL_SEND_WAITING,   /* large: HEADER is out, the announcement is awaited */
	GOAL_SEND_DATA,      /* large, announced */
	GOAL_SEND_CONTROL,   /* HEADER, ANNOUNCE, ABORT */
	GOAL_SEND_ANNOUNCED, /* no send yet: an announcement that came before it */
	GOAL_SEND_SELF,      /* large, to this rank itself */
	GOAL_SEND_GROUP,     /* a multicast, not wholly in the ring */
};

/* A message on its way out, or what is known of one to come. */
struct goal_send {
	struct esp_xfer xfer;
	enum goal_send_kind kind;
	bool hashed;
	bool staging; /* not the stream's yet (goal_stage.c) */
	bool awaited; /* counted in link->awaiting; SELF: joined with its receive */
	uint16_t client;
	struct goal_link *link; /* NULL: SELF, GROUP */
	struct goal_run *run;   /* NULL: nothing of a run is needed any more */
	uint32_t op;
	struct goal_key4 key;
	uint8_t type; /* wire_goal_type of its packets */
	uint32_t sink;
	uint64_t bytes;        /* of the message; ANNOUNCED: room of the receive */
	uint64_t room_bytes;   /* ABORT: of the receive that was too short */
	uint64_t staged_bytes; /* staging: of them, copied so far */
	uint32_t piece_bytes;  /* payload of each packet but the last */
	struct goal_cursor cursor;
	uint8_t *staged;            /* heap: a copy, where pieces are too many for a frame; NULL */
	uint32_t next;              /* in its hash chain while WAITING or ANNOUNCED, index + 1 */
	struct goal_run *trace_run; /* traced, and not over; NULL */
	uint32_t trace_op;
	struct fw_list run_node, link_node, trace_node;
	struct fw_list stage_node; /* staging: in run->staging or bulk */
	uint8_t small[GOAL_SMALL_BYTES];
};

void goal_msg_init(struct fw_nic *nic);
/* Starts a SEND or RECV operation. 0: under way or finished, else why the run fails. */
enum hw_goal_status goal_msg_send(struct fw_nic *nic, struct goal_run *run, uint32_t op);
enum hw_goal_status goal_msg_recv(struct fw_nic *nic, struct goal_run *run, uint32_t op);
/* Tells a peer that the run failed. */
void goal_msg_abort(struct fw_nic *nic, struct goal_link *link, const struct goal_abort *abort);
/* A message is longer than its receive: what to say of it. Returns HW_GOAL_TRUNCATED. */
enum hw_goal_status goal_run_truncated(struct goal_run *run, uint32_t op, uint64_t message_bytes);
/* Tells a peer that this rank's process has ended. False: no memory. */
bool goal_msg_left(struct fw_nic *nic, struct goal_link *link, uint32_t instance);
/* ANNOUNCE for a receive whose message is, or may be, large. False: no memory. */
bool goal_msg_announce(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link);
/* goal_stage.c: a message is copied before it is sent, or stands behind one that is. */
void goal_stage_add(struct fw_nic *nic, struct goal_run *run, struct goal_send *send);
/* Whether messages of the run that are to keep their order must stand behind others. */
bool goal_stage_line(const struct goal_run *run);
/* Goes on with the oldest one. Returns what that cost, as operations count; 0: there is none. */
uint32_t goal_stage_step(struct fw_nic *nic, struct goal_run *run);
/* It has its turn: its payload is copied, or needs not be. */
void goal_msg_staged(struct fw_nic *nic, struct goal_run *run, struct goal_send *send);
/* A large send whose receive is ready; on failure the send is gone. */
enum hw_goal_status goal_msg_send_announced(struct fw_nic *nic, struct goal_send *send,
					    struct goal_run *run, uint32_t op, uint32_t sink);
/* The run ends: its sends and receives let go of it. */
void goal_msg_drop_run(struct fw_nic *nic, struct goal_run *run);
bool goal_msg_trim_run(struct fw_nic *nic, struct goal_run *run); /* for goal_run_trim() */
/* An announcement that came before its send is used up, or gone. */
void goal_send_unannounce(struct fw_nic *nic, struct goal_send *send);
/* Whether this run is still to come, or active. */
bool goal_run_is_current(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance);
/* The layer above ESP, struct esp_ops. */
bool goal_msg_expects(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac);
void *goal_msg_accept(struct fw_nic *nic, const struct esp_key *key, struct esp_stream *stream);
enum esp_verdict goal_msg_receive(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				  uint32_t offset, uint32_t bytes);
void goal_msg_opened(struct fw_nic *nic, void *ctx);
void goal_msg_ended(struct fw_nic *nic, void *ctx, enum esp_end why);

/* A piece of a multicast, in order: wire_goal and payload. Must not end the communicator. */
enum esp_verdict goal_group_receive(struct fw_nic *nic, struct goal_comm *comm, uint32_t root,
				    const struct fw_rx_frame *frame, uint32_t offset,
				    uint32_t bytes);
/* A message that came before its receive, in part or as a whole, is its from now on. */
enum hw_goal_status goal_recv_unexpected(struct fw_nic *nic, struct goal_run *run, uint32_t op,
					 struct goal_unexp *unexp);
/* Starts a MCAST_SEND or MCAST_RECV operation (goal_group.c). */
enum hw_goal_status goal_group_send(struct fw_nic *nic, struct goal_run *run, uint32_t op);
enum hw_goal_status goal_group_recv(struct fw_nic *nic, struct goal_run *run, uint32_t op);

/* Messages of a rank to itself (goal_self.c). */
enum hw_goal_status goal_msg_self(struct fw_nic *nic, struct goal_run *run, uint32_t op,
				  const struct goal_key4 *key);
/* Moves a message that waits for room into the pool. False: the pool has no room yet. */
bool goal_self_keep(struct fw_nic *nic, struct goal_send *send);
/* A receive starts: true when a message of this rank waited for it. */
bool goal_self_recv(struct fw_nic *nic, struct goal_recv *recv);
/* Copies a part; true: over, or the run has a fault. op: the receive. */
bool goal_self_step(struct fw_nic *nic, struct goal_run *run, uint32_t op);

/* Contexts of messages out; found by key while WAITING or ANNOUNCED. */
struct goal_send *goal_send_new(struct fw_nic *nic, uint32_t client, struct goal_link *link,
				enum goal_send_kind kind, uint8_t type,
				const struct goal_key4 *key);
void goal_send_free(struct fw_nic *nic, struct goal_send *send);
void goal_send_hash(struct fw_nic *nic, struct goal_send *send);
struct goal_send *goal_send_find(struct fw_nic *nic, const struct goal_link *link,
				 const struct goal_key4 *key);
/* Where an unexpected message lies in the pool; false: the memory is gone. */
bool goal_unexp_mem(struct fw_nic *nic, const struct goal_unexp *unexp, uint64_t offset,
		    uint64_t bytes, struct fw_mem *mem);

/* Finds a receive for the first piece of a message; NULL: none waits. */
struct goal_recv *goal_match_arrival(struct fw_nic *nic, struct goal_comm *comm,
				     const struct goal_key4 *key);
/* Finds an unexpected message for a receive that starts; NULL. */
struct goal_unexp *goal_match_recv(struct fw_nic *nic, struct goal_comm *comm,
				   const struct goal_schedule *schedule,
				   const struct goal_key4 *key);
struct goal_recv *goal_recv_find(struct fw_nic *nic, struct goal_comm *comm,
				 const struct goal_key4 *key);
struct goal_unexp *goal_unexp_find(struct fw_nic *nic, struct goal_comm *comm,
				   const struct goal_key4 *key);
struct goal_recv *goal_recv_new(struct fw_nic *nic, struct goal_run *run, uint32_t op);
/* A message was found for it, of that link; NULL: of this rank itself, or whole. */
void goal_recv_matched(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link,
		       uint64_t bytes);
void goal_recv_hash(struct fw_nic *nic, struct goal_recv *recv);
void goal_recv_free(struct fw_nic *nic, struct goal_recv *recv);
struct goal_unexp *goal_unexp_new(struct fw_nic *nic, struct goal_comm *comm,
				  const struct goal_key4 *key, uint64_t bytes, bool header);
void goal_unexp_free(struct fw_nic *nic, struct goal_unexp *unexp);

/* ---- commands (goal_cmd.c) ------------------------------------------------------------------ */

/* The client's own schedule of that handle; NULL. */
struct goal_schedule *goal_schedule_own(struct fw_nic *nic, uint32_t client, uint32_t handle);
/* A run is over: an unloaded schedule goes with its last one. */
void goal_schedule_put(struct fw_nic *nic, struct goal_schedule *schedule);
void goal_schedule_destroy(struct fw_nic *nic, struct goal_schedule *schedule);
/* A step of the loads under way; returns how many made one. */
uint32_t goal_load_poll(struct fw_nic *nic);
/* Gives up the loads of a client that is gone. */
void goal_load_forget_client(struct fw_nic *nic, uint32_t client);

/* ---- local operations (goal_localop.c) ---------------------------------------------------- */

/* Whether weft carries out this operation on such elements. */
bool goal_local_legal(uint8_t op, uint8_t type, uint8_t width);
/*
 * result[i] = a[i] op b[i] for count elements; no alignment is needed, result may be a or b (the
 * same address). Where it overlaps them otherwise, or where they change meanwhile, what it gets is
 * undefined, and nothing else happens. b is not read for COPY. False: a division by zero or of the
 * least value by -1; result is undefined then.
 */
bool goal_local_run(uint8_t op, uint8_t type, uint8_t width, void *result, const void *a,
		    const void *b, uint64_t count);

#endif /* WEFT_FW_GOAL_H */
