/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of messages with receives: goal_match.c by key, goal_wild.c by arrival.
 *
 * No function blocks; all are the core's alone. Calls goal.h. docs/collectives.md "Matching".
 */
#ifndef WEFT_FW_GOAL_MATCH_H
#define WEFT_FW_GOAL_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/hash.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/multi.h"
#include "nic_fw/coll/goal.h"

struct fw_nic;

/* A receive that was started and is not finished. */
struct goal_recv {
	/* In its hash chain, index + 1; first, because the pool's link overlays it. */
	uint32_t next;
	uint32_t op;
	struct goal_run *run;   /* NULL: free; a peer's sink may still name it */
	struct goal_key4 key;   /* exact, or completed from its message */
	bool matched;           /* a message was found for it */
	bool hashed;            /* in the table under its key */
	bool any;               /* counted in comm->any_recvs: it may be for any rank */
	uint8_t generation;     /* of the sink that identifies it */
	struct goal_link *link; /* link that it waits for; NULL: any, or this rank */
	struct goal_send *self; /* message of this rank that is being copied */
	/* The message that came before it and is being copied, which is this receive's alone. */
	struct goal_unexp *source;
	bool partial;     /* a part of the next packet was placed */
	bool partial_run; /* then: of a run, whose packets come again one by one */
	uint64_t bytes;   /* of the message once matched */
	uint64_t received;
	struct goal_cursor cursor;
	struct fw_list run_node, link_node;
	struct fw_list copy_node; /* in run->copies while self or source is set */
	bool waits;               /* counted in run->wild_recvs, and in nic->goal.wild_recvs */
	uint32_t serial;          /* then: its place among those of the run */
	struct fw_multi wild_at;
};
static_assert(offsetof(struct goal_recv, run) >= sizeof(uint32_t), "fw_pool's link comes first");

/* A message, or the header of a large one, that came before its receive. */
struct goal_unexp {
	uint32_t comm;
	struct goal_key4 key;
	bool header;  /* WIRE_GOAL_HEADER: no data */
	bool keeping; /* a message of this rank that is being copied into the pool */
	bool taken;   /* by a receive (source): no other finds it */
	uint64_t bytes, received;
	uint32_t region; /* of the pool; FW_NONE: the data lie in small */
	uint64_t offset;
	struct goal_link *link; /* link to announce on */
	uint32_t next;          /* in its hash chain, index + 1 */
	struct fw_list comm_node;
	bool indexed; /* in nic->goal.wild_unexps, under each shape */
	struct fw_multi wild_at[GOAL_WILD_SHAPES];
	uint8_t small[64];
};

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
/* Joins a receive with a message of that link. NULL: of this rank itself, or whole. */
void goal_recv_matched(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link,
		       uint64_t bytes);
void goal_recv_hash(struct fw_nic *nic, struct goal_recv *recv);
void goal_recv_free(struct fw_nic *nic, struct goal_recv *recv);
/* The receive waits for the rank of a link; for any rank. */
void goal_recv_await(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link);
void goal_recv_await_any(struct fw_nic *nic, struct goal_recv *recv);
/* It needs nothing more of the rank that it awaited, if any, which may be lost from now on. */
void goal_recv_await_over(struct fw_nic *nic, struct goal_recv *recv);
struct goal_unexp *goal_unexp_new(struct fw_nic *nic, struct goal_comm *comm,
				  const struct goal_key4 *key, uint64_t bytes, bool header);
void goal_unexp_free(struct fw_nic *nic, struct goal_unexp *unexp);
/* A receive takes the message, and frees it once it was copied, or with itself. */
void goal_unexp_take(struct fw_nic *nic, struct goal_unexp *unexp, struct goal_recv *recv);

/* ---- goal_wild.c: schedules with wildcards */

/* A receive waits for a message; or it does not any more, without effect if it did not. */
void goal_wild_await(struct fw_nic *nic, struct goal_recv *recv);
void goal_wild_forget(struct goal_recv *recv);
/* Finds the receive that was started first of those that take such a message; NULL. */
struct goal_recv *goal_wild_find_recv(struct fw_nic *nic, struct goal_run *run,
				      const struct goal_key4 *key);
/*
 * Indexes messages of the communicator, those that wait and those to come. True: all are; else call
 * again in a later turn.
 */
bool goal_wild_index(struct fw_nic *nic, struct goal_comm *comm);
/* A message came, behind all others; or it is freed. */
void goal_wild_add(struct fw_nic *nic, struct goal_comm *comm, struct goal_unexp *unexp);
void goal_wild_remove(struct goal_comm *comm, struct goal_unexp *unexp);
/* Finds the message that came first of those that a receive of this key takes; NULL. */
struct goal_unexp *goal_wild_find_unexp(struct fw_nic *nic, struct goal_comm *comm,
					const struct goal_key4 *key);

#endif /* WEFT_FW_GOAL_MATCH_H */
