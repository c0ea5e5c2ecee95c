/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of tests of messages that a rank sends: operations of the schedule of goal_rank_fix.h
 * become sends to one rank. Included by goal_msg_ut.c, goal_msg_lost_ut.c.
 */
#ifndef WEFT_TESTS_GOAL_SEND_FIX_H
#define WEFT_TESTS_GOAL_SEND_FIX_H

#include "tests/nic_fw/coll/goal_rank_fix.h"

enum {
	TO = 3,
	TAG = 50,
};

/* Makes an operation of the schedule a send to rank 3. */
static inline void make_send(uint32_t op, uint32_t bytes, uint64_t buf)
{
	memory.code.ops[op] = receive(TO, TAG + op, bytes, buf);
	memory.code.ops[op].kind = GOAL_INSN_SEND;
	if (op == SHORT) {
		memory.code.ops[op].first_edge = 0;
		memory.code.ops[op].num_edges = 1;
	}
	if (op == THEN)
		memory.code.ops[op].deps = 1;
}

static inline void fill_memory(void)
{
	memcpy(memory.slot, bytes_of, SLOT_BYTES);
	memcpy(memory.brief, bytes_of + 77, 2 * SHORT_BYTES);
}

/* The message of the link to rank 3 that an operation has sent, over or not; NULL: none. */
static inline struct goal_send *message_of(uint32_t op)
{
	const struct goal_link *link = link_to(TO);
	const struct fw_list *at;

	for (at = link->sends.next; at != &link->sends; at = at->next)
		if (FW_CONTAINER(at, struct goal_send, link_node)->key.tag == TAG + op)
			return FW_CONTAINER(at, struct goal_send, link_node);
	return NULL;
}

static inline uint32_t payload_most(void)
{
	return esp_payload_bytes(link_to(TO)->stream) - (uint32_t)sizeof(struct wire_goal);
}

#endif /* WEFT_TESTS_GOAL_SEND_FIX_H */
