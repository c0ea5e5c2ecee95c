/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL messages on an ESP stream: the header that precedes each packet's payload.
 *
 * A stream belongs to a communicator and a pair of its ranks (named in wire_esp_open), so the
 * header names neither. Packets of one message arrive in order; packets of different messages may
 * interleave. nic_fw/coll/goal_msg.c implements it. Source: ESPGOAL, figure 4.6 and 4.2.2;
 * docs/collectives.md explains matching.
 */
#ifndef WEFT_WIRE_GOAL_H
#define WEFT_WIRE_GOAL_H

#include "shared_defs/be.h"

enum wire_goal_type {
	WIRE_GOAL_EAGER = 1,    /* a piece of a message sent without a request */
	WIRE_GOAL_HEADER = 2,   /* a large message waits for an announcement; no payload */
	WIRE_GOAL_ANNOUNCE = 3, /* the receive with this count is ready, for this many bytes */
	WIRE_GOAL_DATA = 4,     /* a piece of an announced message */
	/*
	 * The run failed: tag is the hw_goal_status, count the rank at fault. TRUNCATED: bytes is
	 * the length of the message, offset that of its receive.
	 */
	WIRE_GOAL_ABORT = 5,
	WIRE_GOAL_LEFT =
	    6, /* the rank's process has ended; it takes no part in this or later runs */
	WIRE_GOAL_TYPES
};

/*
 * count: index of this message among those with the same run, source, destination and tag, in
 * schedule order from 0. Both ends count alike, so (instance, tag, count) identifies one send and
 * one receive.
 */
struct wire_goal {
	uint8_t type; /* wire_goal_type */
	uint8_t reserved[3];
	struct be32 instance; /* number of the run on this communicator, from 0, modulo 2^32 */
	struct be32 tag;
	struct be32 count;
	struct be64 bytes;       /* length of the whole message; ANNOUNCE: length of the receive */
	struct be64 offset;      /* offset of this piece; ANNOUNCE and DATA: see sink */
	struct be32 sink;        /* ANNOUNCE: identifies the receive; DATA: copied from it */
	struct be32 piece_bytes; /* length of the payload that follows */
};
static_assert(sizeof(struct wire_goal) == 40, "docs/collectives.md, messages");
static_assert(offsetof(struct wire_goal, instance) == 4, "");
static_assert(offsetof(struct wire_goal, count) == 12, "");
static_assert(offsetof(struct wire_goal, bytes) == 16, "");
static_assert(offsetof(struct wire_goal, offset) == 24, "");
static_assert(offsetof(struct wire_goal, sink) == 32, "");
static_assert(offsetof(struct wire_goal, piece_bytes) == 36, "");

#endif /* WEFT_WIRE_GOAL_H */
