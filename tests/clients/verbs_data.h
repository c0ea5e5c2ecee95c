/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of verbs_data.c: a batch of requests. verbs_post.c posts it.
 */
#ifndef WEFT_TESTS_VERBS_DATA_H
#define WEFT_TESTS_VERBS_DATA_H

#include "tests/clients/verbs_ends.h"

enum {
	MAX_OPS = 24,
	NUM_LANES = 8,
	SRQ_BYTES = 16384, /* most of a Send to an SRQ */
};

enum kind {
	SEND,
	SEND_IMM,
	WRITE,
	WRITE_IMM,
	READ,
	SWAP,
	ADD,
	NUM_KINDS,
};

struct op {
	struct lane *lane;
	int from; /* the end that posts it */
	enum kind kind;
	uint32_t bytes, imm;
	struct pieces local;
	struct piece remote; /* WRITE*, READ, atomics */
	uint64_t operand, compare;
	bool signalled, is_inline, received, completed;
};

struct recv {
	struct op *op; /* NULL: an SRQ's, for any QP */
	struct pieces pieces;
	bool used;
};

extern struct end end[2];
extern struct op op[MAX_OPS];
extern struct recv recv_of[2][MAX_OPS];
extern uint32_t num_ops, num_recvs[2];

static inline bool takes_receive(const struct op *o)
{
	return o->kind == SEND || o->kind == SEND_IMM || o->kind == WRITE_IMM;
}

/* verbs_post.c. Queues the receives that the batch takes. */
void post_receives(void);
/* The address of the remote memory of a request, as its region has it. */
uint64_t remote_addr(const struct op *o);
void to_wr(struct op *o, struct ibv_send_wr *wr, struct ibv_sge *sge);
/* Posts the requests of a lane that an end has in the batch. */
void post_lane(struct lane *l, int from);

#endif /* WEFT_TESTS_VERBS_DATA_H */
