/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One interleaving of a few sends and receives between two NICs, for tag_order_ut.c.
 */
#ifndef WEFT_TESTS_TAG_ORDER_RUN_H
#define WEFT_TESTS_TAG_ORDER_RUN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	MOST = 3,       /* sends, receives */
	OPS = MOST + 1, /* a cancellation may follow */
};

/* A send: letters of its protocol and tag. */
enum send_kind {
	SEND_EAGER,
	SEND_LONG,
	SEND_SYNC,
	SEND_OTHER, /* long, with a tag of its own */
	SEND_KINDS
};

enum recv_kind {
	RECV_EXACT, /* room for long ones: announced if nothing forbids it */
	RECV_SHORT, /* room for short ones: not announced */
	RECV_ANY,   /* any source, any tag */
	RECV_OTHER,
	RECV_KINDS
};

struct mix {
	uint32_t sends, recvs;
	enum send_kind send[MOST];
	enum recv_kind recv[MOST];
	uint32_t cancel; /* receive that is cancelled after the last was posted; MOST: none */
};

/* Frames that each NIC has received before it posts its i-th request. */
struct schedule {
	uint32_t before[2][OPS];
	uint32_t newest; /* bit i: the i-th frame of a direction that is delivered is the newest */
};

enum tag_order_end {
	TAG_ORDER_RIGHT,
	TAG_ORDER_WAITS,          /* the schedule cannot be: the sender waits in vain */
	TAG_ORDER_RECEIVER_WAITS, /* it cannot be: the receiver alone does */
	TAG_ORDER_WRONG,          /* and the run was printed */
};

/* Over all runs. */
struct tag_order_counts {
	uint64_t checked, impossible, announced, used;
};
extern struct tag_order_counts tag_order_counts;

/* Carries a schedule out. *received: requests that the receiver has posted. */
enum tag_order_end tag_order_run(const struct mix *mix, const struct schedule *schedule,
				 uint32_t *received);

/* Ends the simulation. */
void tag_order_close(void);

#endif /* WEFT_TESTS_TAG_ORDER_RUN_H */
