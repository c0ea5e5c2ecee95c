/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable groups: every rank of a communicator receives the packets of one rank, in order.
 *
 *	mgrp_space.c	spaces of packet numbers: the tree, the ring, acknowledgements, the end
 *	mgrp_data.c	packets of the root, singly and as runs
 *	mgrp_tx.c	repairs, statuses and probes; timers
 *	mgrp_rx.c	incoming packets: their members, order, gaps
 *	goal_group.c	above: the multicast operations of schedules
 *
 * A frame goes over the wire once, to the group's address. Ranks form a binomial tree below the
 * sender, the root. A child that sees a gap requests the packets from its parent at once. A parent
 * repairs from a ring of packets, which it keeps until all members below have them, and probes
 * silent children. Acknowledgements go up the tree; the root is never ahead of them by more than
 * the ring. The ESP link to a neighbour (goal_comm.c) detects its death; the link is watched while
 * something is awaited. docs/wire-group.md has the rules; ESPGOAL has no multicast.
 */
#ifndef WEFT_FW_MGRP_H
#define WEFT_FW_MGRP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/rtt.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/wire_esp.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_mgrp.h"

struct eth_run_kind;
struct fw_nic;
struct fw_rx_frame;
struct fw_tx_frame;
struct goal_comm;
struct goal_link;
struct goal_send;
struct wire_goal;

enum {
	/* Before wire_goal. */
	MGRP_HDR_BYTES =
	    sizeof(struct wire_eth) + sizeof(struct wire_edp) + sizeof(struct wire_mgrp),
	MGRP_WINDOW = WIRE_MGRP_WINDOW,
	/*
	 * Limit of a root's unacknowledged bytes. Members keep them in their pools, which must also
	 * have room for a large message without a receive.
	 */
	MGRP_WINDOW_BYTES = 384 << 10,
	MGRP_MAX_SPACES = 1 << 14, /* of a shard: (communicator, root) */
	MGRP_MAX_CHILDREN = 17,    /* of a binomial tree of HW_MAX_GOAL_RANKS */
	MGRP_HASH_SIZE = 1024,     /* heads of the table of communicators by key */
	MGRP_ACK_EVERY = 16,       /* packets; fewer wait for more */
	MGRP_TX_QUANTUM = 16,      /* of one of several spaces in a turn, in eth_tx_cost() */
};
#define MGRP_ACK_NS       UINT64_C(20000)
#define MGRP_FIRST_RTO_NS UINT64_C(500000)
#define MGRP_MIN_RTO_NS   UINT64_C(100000)
#define MGRP_MAX_RTO_NS   UINT64_C(50000000)
#define MGRP_DRAIN_NS     UINT64_C(10000000000) /* how long an ended communicator still repairs */

/* A packet of the window. */
struct mgrp_slot {
	/*
	 * Heap: wire_goal of the first packet in it, then payload of all; those have numbers in a
	 * row, and all but the last have as much payload as the first. NULL: missing, or not kept.
	 */
	uint8_t *block;
	uint32_t bytes;   /* of its wire_goal and payload */
	uint32_t wanted;  /* children that requested it, one bit each */
	uint64_t sent_ns; /* time when it was sent, or came */
	bool repaired;    /* sent more than once: no sample of the round trip */
	uint8_t at;       /* its place in the block */
	bool ends;        /* it is the last in the block, which is freed with it */
	bool lent;        /* with ends: a port may read the block */
};

struct mgrp_child {
	uint32_t rank;
	uint32_t own; /* the first packet that it lacks */
	uint32_t ack; /* the first that a member of its subtree lacks */
	uint16_t mtu; /* of its subtree; 0: not known yet */
	bool gone;    /* lost, or closed: nothing is awaited of it */
	bool awaiting;
	uint8_t probes;   /* since its last packet */
	uint8_t answers;  /* to probes since it told something new */
	uint64_t from_ns; /* since when it is silent */
};

/*
 * One root's packets at one member. low <= next <= high; packets from low on that have arrived are
 * in the ring. At the root itself next == high is the number of its next packet.
 */
struct mgrp_space {
	uint32_t comm;
	uint16_t client; /* it is charged to */
	uint32_t root;
	bool known; /* epoch and base */
	uint32_t epoch, base;
	uint32_t low;           /* everything before was acknowledged by the whole subtree */
	uint32_t next;          /* the first that was not delivered, or not sent */
	uint32_t high;          /* no packet from here on is known to exist */
	uint32_t requested;     /* gaps before were requested */
	struct mgrp_slot *ring; /* heap: MGRP_WINDOW, by number */
	uint32_t ring_bytes;    /* of the blocks in it */
	uint32_t wanted;        /* slots whose wanted bits are set and that are here, an estimate */
	bool blocked;           /* the layer above has no room for next */
	bool slow;              /* the next packet waits for a page: goal_slow.c */
	bool resume;            /* it may have room now */

	/* Towards the parent. */
	uint32_t parent; /* rank; FW_NONE at the root */
	bool parent_gone;
	uint32_t reported_own, reported_ack; /* by the last STATUS */
	uint64_t request_ns;                 /* time of the last request, or of a later repair */
	uint8_t retries;                     /* requests without an answer */
	bool requesting;                     /* no repair has come since */
	struct fw_rtt request_rtt;

	/* Towards the children. */
	struct mgrp_child child[MGRP_MAX_CHILDREN];
	uint32_t num_children;
	struct fw_rtt rtt;

	/* At the root only. */
	struct fw_list queue;  /* goal_send.link_node: messages not wholly sent */
	uint32_t frame_bytes;  /* largest Ethernet payload that all members take */
	bool to_wire, to_loop; /* members elsewhere; on this NIC */

	struct fw_timer timer;     /* repeats requests, probes */
	struct fw_timer ack_timer; /* a STATUS that waits for more packets */
	struct fw_list node;       /* of the communicator */
	struct fw_list ready_node; /* in nic->mgrp.ready: has something to send or to deliver */
	struct fw_list due_node;   /* in nic->mgrp.due: owes a STATUS now */
	struct fw_list blocked_node;
	uint32_t blocked_instance; /* of the message that finds no room */
};

/* A message between ranks outside all streams: ASK or TELL of wire_mgrp. */
struct mgrp_note {
	uint8_t type;  /* wire_mgrp_type */
	bool moves;    /* TELL: it can proceed */
	uint32_t rank; /* the other end */
	uint32_t question;
	uint32_t instance; /* ASK */
	/* TELL; bits are ranks. */
	uint32_t changes;
	uint64_t ranks; /* ranks that it waits for */
	uint64_t held;  /* ranks that have reported no room for its messages */
	uint64_t stops; /* ranks whose messages find no room here */
};

/* ---- mgrp_space.c ---------------------------------------------------------------------------- */

static inline struct mgrp_slot *mgrp_slot(const struct mgrp_space *space, uint32_t psn)
{
	return &space->ring[psn % MGRP_WINDOW];
}

void mgrp_init(struct fw_nic *nic);
/* mgrp_tx.c. False: no room in the port, and the note is lost. */
bool mgrp_note_send(struct fw_nic *nic, const struct goal_comm *comm, const struct mgrp_note *note);
/* Enters the communicator into the table by key. FW_ENOSPC, FW_ENOMEM. */
int mgrp_join(struct fw_nic *nic, struct goal_comm *comm);
/* Frees all that it has of its group. */
bool mgrp_leave(struct fw_nic *nic, struct goal_comm *comm);
/* True if no member below needs anything of it any more. */
bool mgrp_drained(const struct goal_comm *comm);
/* Members of that key at this shard, one after another; NULL: no more. */
struct goal_comm *mgrp_first_member(struct fw_nic *nic, uint64_t key, uint64_t key2);
struct goal_comm *mgrp_next_member(struct fw_nic *nic, const struct goal_comm *comm);
/* The group's address. */
void mgrp_mac(uint64_t key, uint64_t key2, uint8_t *mac);
/* Returns the root's space at this member, made when it is first needed; NULL: no memory. */
struct mgrp_space *mgrp_space_get(struct fw_nic *nic, struct goal_comm *comm, uint32_t root);
/* The same, if it exists; otherwise NULL. */
struct mgrp_space *mgrp_space_find(const struct fw_nic *nic, const struct goal_comm *comm,
				   uint32_t root);
/* Returns a neighbour in the tree that is lost to this run; FW_NONE: none is. */
uint32_t mgrp_lost(struct fw_nic *nic, const struct mgrp_space *space, uint32_t instance);
/* The link to a rank has ended. */
void mgrp_link_over(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank);
/* The link to a rank is established: the rank may have joined just now. */
void mgrp_link_opened(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank);
/* Parent of a rank in the tree below root; FW_NONE: it is the root. */
uint32_t mgrp_parent(uint32_t num_ranks, uint32_t root, uint32_t rank);
/* Children; returns how many, at most MGRP_MAX_CHILDREN. */
uint32_t mgrp_children(uint32_t num_ranks, uint32_t root, uint32_t rank, uint32_t *children);
/* Starts a space at a number, of which nothing was seen before. */
void mgrp_adopt(struct mgrp_space *space, uint32_t epoch, uint32_t base);
/* True if delivered packets must be kept for a member. */
bool mgrp_keeps(const struct mgrp_space *space);
/* next has advanced: starts to wait for children that lack packets. */
void mgrp_taken(struct fw_nic *nic, struct mgrp_space *space);
/*
 * An acknowledgement arrived: frees packets that all below have, notifies the parent, opens the
 * window.
 */
void mgrp_advance(struct fw_nic *nic, struct mgrp_space *space);
/* Frees a packet; those of a block are freed in their order. */
void mgrp_free_block(struct fw_nic *nic, struct mgrp_space *space, struct mgrp_slot *slot);
/* Resumes spaces of group.resuming, so many at most, whose packets wait in the layer above. */
void mgrp_resume(struct fw_nic *nic, struct goal_comm *comm, uint32_t most);

/* ---- mgrp_data.c ---------------------------------------------------------------------------- */

/* Puts n packets of a block of so many bytes, the first number psn, into the ring. */
void mgrp_data_keep(const struct fw_nic *nic, struct mgrp_space *space, uint32_t psn,
		    uint8_t *block, uint32_t n, uint32_t bytes);
/* Makes a frame that has the packet, and nothing before it; its header is in *wire. */
void mgrp_data_show(const struct mgrp_slot *slot, struct wire_goal *wire,
		    struct fw_rx_frame *frame);
/* Adds wire_goal of a packet to a frame, and so many bytes from its payload on. */
void mgrp_data_put(struct fw_nic *nic, const struct mgrp_space *space, const struct mgrp_slot *slot,
		   uint32_t bytes, struct fw_tx_frame *frame);
/*
 * True if the root has something to send, and the window has room for it. A packet whose page is
 * slow is tried again when its time has come (goal_slow.c), and not in each turn.
 */
bool mgrp_data_is_next(const struct mgrp_space *space);
/*
 * Sends the next packet, or several as a run, up to units of work (eth_tx_cost()). False: there is
 * none, or no room.
 */
bool mgrp_data_send(struct fw_nic *nic, struct mgrp_space *space, uint32_t units);

extern const struct eth_run_kind mgrp_data_run_kind;

/* ---- mgrp_tx.c ------------------------------------------------------------------------------ */

/* Begins a frame of a space, up to wire_mgrp, which is *wire; NULL: no room. */
struct fw_tx_frame *mgrp_tx_begin(struct fw_nic *nic, const struct mgrp_space *space,
				  const uint8_t *mac, uint32_t shard, uint8_t type,
				  uint32_t dst_rank, struct wire_mgrp **wire);
/* Queues the space: it has something to send. */
void mgrp_ready(struct fw_nic *nic, struct mgrp_space *space);
/* Schedules a STATUS: now, or within MGRP_ACK_NS. */
void mgrp_owe(struct fw_nic *nic, struct mgrp_space *space, bool now);
/* Lets each ready space send one quantum in turn, then sends statuses. A stage of fw_poll(). */
uint32_t mgrp_run(struct fw_nic *nic, uint32_t budget);
/* True if nic->mgrp.ready or mgrp.due has entries. */
bool mgrp_pending(const struct fw_nic *nic);
void mgrp_timer_update(struct fw_nic *nic, struct mgrp_space *space);
void mgrp_timer_fire(struct fw_nic *nic, struct fw_timer *timer);
void mgrp_ack_fire(struct fw_nic *nic, struct fw_timer *timer);

/* ---- mgrp_rx.c ------------------------------------------------------------------------------ */

/*
 * Receives a frame of type WIRE_EDP_GROUP that passed the checks of edp.c; bytes from wire_edp on.
 */
void mgrp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, uint32_t bytes);
/* True if a frame to a group's address is for a local communicator. The CRC is not checked yet. */
bool mgrp_wants(struct fw_nic *nic, const struct fw_rx_frame *frame);
/* Delivers the packets that are here and in order. */
void mgrp_deliver(struct fw_nic *nic, struct mgrp_space *space);

#endif /* WEFT_FW_MGRP_H */
