/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of reliable groups: one member or root of a hundred ranks, the frames of the
 * others made by the test, and those that the NIC sent. Included by mgrp_*_ut.c.
 */
#ifndef WEFT_TESTS_MGRP_NODE_FIX_H
#define WEFT_TESTS_MGRP_NODE_FIX_H

#include <stdlib.h>

#include "tests/nic_fw/coll/goal_rank_fix.h"

enum {
	ROOT = 97, /* its tree has this rank (1) below it, and ranks 2 and 3 below this one */
	LEFT_CHILD = 2,
	RIGHT_CHILD = 3,
	STRANGER = 50,
	EPOCH = 0x12345,
	SENT_MAX = 512,
	HEAD_BYTES = sizeof(struct wire_eth) + sizeof(struct wire_edp) + sizeof(struct wire_mgrp),
};
#define BASE 0xfffffffeu /* numbers wrap behind the second packet */

/* A frame of another rank. */
struct note {
	uint8_t type;
	uint32_t src, dst, root, epoch, base, psn, own, from;
	uint64_t missing;
	uint16_t mtu;
	uint32_t count, bytes; /* of the message that the packet is */
	const uint8_t *mac;    /* of its station; NULL: the rank's own */
	int32_t more;          /* bytes beyond those of its type */
};

/* A frame that the NIC sent. */
struct sent {
	struct wire_mgrp wire;
	uint8_t dst[6];
	uint32_t n; /* bytes behind the header, with the CRC32C */
	uint8_t data[64];
	uint32_t flags;
};

static struct sent sent[SENT_MAX];
static uint32_t num_sent;

static inline void keep_sent(struct bench_port *port, struct bench_frame *frame)
{
	const struct wire_edp *edp = (const void *)(frame->b + sizeof(struct wire_eth));

	(void)port;
	if (frame->n >= HEAD_BYTES && (edp->ver_type & 15) == WIRE_EDP_GROUP) {
		struct sent *s = &sent[num_sent++];

		CU_ASSERT_FATAL(num_sent <= SENT_MAX);
		memset(s, 0, sizeof(*s));
		memcpy(&s->wire, frame->b + HEAD_BYTES - sizeof(s->wire), sizeof(s->wire));
		memcpy(s->dst, frame->b, 6);
		s->n = frame->n - HEAD_BYTES;
		memcpy(s->data, frame->b + HEAD_BYTES,
		       s->n < sizeof(s->data) ? s->n : sizeof(s->data));
		s->flags = frame->flags;
		/* All of it are of this rank and communicator. */
		CU_ASSERT_EQUAL(be32_get(s->wire.src_rank), RANK);
		CU_ASSERT_EQUAL(be64_get(s->wire.key), 1);
		CU_ASSERT_EQUAL(be64_get(s->wire.key2), 2);
	}
	free(frame->b);
}

static inline void begin_group(void)
{
	prepare(false);
	load(false);
	num_sent = 0;
	ut.port.sent = keep_sent;
	turns(2);
}

static inline struct note note_of(uint8_t type, uint32_t src, uint32_t psn)
{
	return (struct note){.type = type,
			     .src = src,
			     .dst = type == WIRE_MGRP_DATA ? WIRE_MGRP_ALL : (uint32_t)RANK,
			     .root = ROOT,
			     .epoch = EPOCH,
			     .base = BASE,
			     .psn = psn,
			     .count = psn - BASE,
			     .bytes = 16};
}

/* It arrives: DATA and REPAIR are a message of the next run, each of its own. */
static inline void group_arrives(const struct note *g)
{
	static uint8_t b[2048];
	struct wire_eth *eth = (void *)b;
	struct wire_mgrp *wire = (void *)(b + HEAD_BYTES - sizeof(*wire));
	struct wire_goal *goal = (void *)(b + HEAD_BYTES);
	bool data = g->type == WIRE_MGRP_DATA || g->type == WIRE_MGRP_REPAIR;
	uint32_t n = HEAD_BYTES + (data ? (uint32_t)sizeof(*goal) + g->bytes : 0);
	struct fw_rx_frame frame;

	memset(b, 0, sizeof(b));
	memcpy(eth->dst, g->type == WIRE_MGRP_DATA ? comm->group.mac : ut.nic->config.mac, 6);
	memcpy(eth->src, g->mac ? g->mac : memory.peers[g->src].mac, 6);
	*wire = (struct wire_mgrp){.type = g->type,
				   .mtu = be16_put(g->mtu),
				   .root = be32_put(g->root),
				   .src_rank = be32_put(g->src),
				   .dst_rank = be32_put(g->dst),
				   .key = be64_put(1),
				   .key2 = be64_put(2),
				   .epoch = be32_put(g->epoch),
				   .base = be32_put(g->base),
				   .psn = be32_put(g->psn),
				   .own = be32_put(g->own),
				   .from = be32_put(g->from),
				   .missing = be64_put(g->missing)};
	if (data) {
		*goal = (struct wire_goal){.type = WIRE_GOAL_EAGER,
					   .instance = be32_put(comm->next_instance),
					   .tag = be32_put(6),
					   .count = be32_put(g->count),
					   .bytes = be64_put(g->bytes),
					   .piece_bytes = be32_put(g->bytes)};
		memcpy(goal + 1, bytes_of + g->count % 256, g->bytes);
	}
	n += (uint32_t)g->more;
	frame = (struct fw_rx_frame){.seg = {{b, n}}, .num_seg = 1, .bytes = n};
	mgrp_rx(ut.nic, &frame, n - (uint32_t)sizeof(*eth));
}

static inline void data(uint32_t psn)
{
	const struct note g = note_of(WIRE_MGRP_DATA, ROOT, psn);

	group_arrives(&g);
}

/* A STATUS of a child: it has all before own, its subtree all before ack. */
static inline struct note status_of(uint32_t child, uint32_t own, uint32_t ack)
{
	struct note g = note_of(WIRE_MGRP_STATUS, child, ack);

	g.own = own;
	return g;
}

static inline void status(uint32_t child, uint32_t own, uint32_t ack)
{
	const struct note g = status_of(child, own, ack);

	group_arrives(&g);
}

static inline struct mgrp_space *space(uint32_t root)
{
	struct mgrp_space *found = mgrp_space_find(ut.nic, comm, root);

	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	return found;
}

/* Messages of the root that wait for their receives. */
static inline uint32_t delivered(void)
{
	const struct fw_list *at;
	uint32_t n = 0;

	for (at = comm->unexps.next; at != &comm->unexps; at = at->next) {
		const struct goal_unexp *unexp = FW_CONTAINER(at, struct goal_unexp, comm_node);

		CU_ASSERT_TRUE(unexp->key.group);
		/* They are delivered in their order. */
		CU_ASSERT_EQUAL(unexp->key.count, n);
		CU_ASSERT(memcmp(unexp->small, bytes_of + n % 256, unexp->bytes) == 0);
		n++;
	}
	return n;
}

#endif /* WEFT_TESTS_MGRP_NODE_FIX_H */
