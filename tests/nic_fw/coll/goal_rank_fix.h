/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of tests of one rank: its run is real, and the test makes the packets of the other ranks.
 *
 * Included by goal_msg*_ut.c, goal_run_ut.c and goal_comm_ut.c. The streams to the other ranks
 * never open: what this rank sends stays with them.
 */
#ifndef WEFT_TESTS_GOAL_RANK_FIX_H
#define WEFT_TESTS_GOAL_RANK_FIX_H

#include "tests/bench/host.h"

enum {
	RANK = 1,
	RANKS = 100, /* two words of a set of ranks, and two steps of a look at all */
	RUNS = 4,
	SLOT_BYTES = 8192,
	SHORT_BYTES = 64,
	EAGER_BYTES = 2000,
	LARGE_BYTES = 3000,
	HEAP_BYTES = 1 << 20,
	POOL_BYTES = 16384,
	TRACE_ENTRIES = 64,
	PIECE_BYTES = 16,
	PIECES = 40,
	SEGS = 4, /* of a frame, at most */
	/* Operations. */
	SHORT = 0, /* 64 bytes of rank 0, tag 7 */
	EAGER,     /* 2000 bytes of rank 0, tag 8 */
	SCATTER,   /* 640 bytes of rank 2, tag 9, into 40 pieces */
	LARGE,     /* 3000 bytes of rank 0, tag 10: announced */
	SEND,      /* 3000 bytes to rank 2, tag 5: waits for an announcement */
	THEN,      /* 64 bytes of rank 0, tag 11, when SHORT is over */
	OPS,
};

struct code {
	struct goal_header h;
	struct goal_slot slots[2];
	struct goal_insn ops[OPS];
	struct goal_edge edges[1];
	struct goal_piece pieces[PIECES];
};

static struct memory {
	struct hw_goal_peer peers[RANKS];
	struct code code;
	struct hw_goal_bind binds[2];
	uint8_t slot[SLOT_BYTES];
	uint8_t brief[2 * SHORT_BYTES];
	uint8_t pool[POOL_BYTES];
	struct hw_goal_trace trace[TRACE_ENTRIES];
} memory;

static struct fw_ut ut;
static struct goal_comm *comm;
static struct hw_goal_run *record;
static uint32_t client, pd, schedule, serial;
static uint32_t eq;                  /* of runs with an event */
static uint32_t stag, loose;         /* of all memory, mapped and not */
static uint8_t bytes_of[SLOT_BYTES]; /* payload: each place has a byte of its own */

static inline struct goal_insn receive(uint32_t peer, uint32_t tag, uint32_t bytes, uint64_t buf)
{
	return (struct goal_insn){.kind = GOAL_INSN_RECV,
				  .first_edge = 1,
				  .peer = peer,
				  .tag = tag,
				  .amount = bytes,
				  .buf = {buf}};
}

static inline void make_code(struct code *c)
{
	*c = (struct code){
	    .h = {.magic = GOAL_FORMAT_MAGIC,
		  .version = GOAL_FORMAT_VERSION,
		  .header_bytes = sizeof(c->h),
		  .total_bytes = sizeof(*c),
		  .rank = RANK,
		  .num_ranks = RANKS,
		  .num_slots = 2,
		  .num_ops = OPS,
		  .num_edges = 1,
		  .num_pieces = PIECES,
		  .num_roots = OPS - 1,
		  .num_cpus = 1,
		  .slots_offset = offsetof(struct code, slots),
		  .ops_offset = offsetof(struct code, ops),
		  .edges_offset = offsetof(struct code, edges),
		  .pieces_offset = offsetof(struct code, pieces)},
	    .slots = {{.bytes = SLOT_BYTES}, {.bytes = 2 * SHORT_BYTES}},
	    .edges = {{THEN}},
	};
	c->ops[SHORT] = receive(0, 7, SHORT_BYTES, GOAL_REF(1, 0));
	c->ops[SHORT].first_edge = 0;
	c->ops[SHORT].num_edges = 1;
	c->ops[EAGER] = receive(0, 8, EAGER_BYTES, GOAL_REF(0, 0));
	c->ops[SCATTER] = receive(2, 9, PIECES * PIECE_BYTES, GOAL_REF_PIECES(0, PIECES));
	c->ops[LARGE] = receive(0, 10, LARGE_BYTES, GOAL_REF(0, 4096));
	c->ops[SEND] = receive(2, 5, LARGE_BYTES, GOAL_REF(0, 4096));
	c->ops[SEND].kind = GOAL_INSN_SEND;
	c->ops[THEN] = receive(0, 11, SHORT_BYTES, GOAL_REF(1, SHORT_BYTES));
	c->ops[THEN].deps = 1;
	for (uint32_t i = 0; i < PIECES; i++)
		c->pieces[i] =
		    (struct goal_piece){GOAL_REF(0, 2048 + 2 * i * PIECE_BYTES), PIECE_BYTES};
}

static inline void turns(uint32_t n)
{
	while (n--)
		fw_ut_poll(&ut, 1000);
}

static inline void load(bool unmapped)
{
	uint32_t reg = unmapped ? loose : stag;
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_LOAD,
			     .u.goal_load = {.addr = (uintptr_t)&memory.code,
					     .bytes = sizeof(memory.code),
					     .stag = stag,
					     .binds_addr = (uintptr_t)memory.binds,
					     .binds_stag = stag,
					     .comm = (uint32_t)(comm - ut.nic->goal.comms)}};
	struct hw_cmd_resp resp = {0};

	memory.binds[0] = (struct hw_goal_bind){(uintptr_t)memory.slot, SLOT_BYTES, reg, 0};
	memory.binds[1] = (struct hw_goal_bind){(uintptr_t)memory.brief, 2 * SHORT_BYTES, reg, 0};
	if (host_cmd(ut.nic, client, &cmd, &resp) < 0) {
		turns(100);
		resp = ut.port.done;
	}
	if (resp.status)
		printf("\n    load: %s", resp.u.goal_load.why);
	CU_ASSERT_EQUAL_FATAL(resp.status, 0);
	schedule = resp.u.goal_load.schedule;
}

/* A communicator with a pool; the test may change memory.code before load(). */
static inline void prepare(bool pool_unmapped)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .pid = 1, .uid = 1};
	struct hw_cmd open = {.op = HW_CMD_GOAL_OPEN, .u.goal_open = {.runs = RUNS}};
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_CREATE};
	struct hw_cmd_resp resp;

	memset(&memory, 0, sizeof(memory));
	make_code(&memory.code);
	for (uint32_t i = 0; i < RANKS; i++)
		memory.peers[i] = (struct hw_goal_peer){.mac = {2, 0x77, 0, 0, 1, (uint8_t)i}};
	for (uint32_t i = 0; i < SLOT_BYTES; i++)
		bytes_of[i] = (uint8_t)(i * 7 + i / 256 + 1);
	fw_ut_begin(&ut);
	for (uint32_t kind = 0; kind < HW_SHARES_SHARD; kind++)
		params.limits.process[kind] = params.limits.user[kind] = 256;
	params.limits.process[HW_SHARE_GOAL] = params.limits.user[HW_SHARE_GOAL] = HEAP_BYTES;
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	pd = host_pd(ut.nic, client);
	stag = host_reg(ut.nic, client, pd, &memory, sizeof(memory), HW_ACCESS_LOCAL_WRITE, true);
	loose = host_reg(ut.nic, client, pd, &memory, sizeof(memory), HW_ACCESS_LOCAL_WRITE, false);
	eq = fw_ut_eq(&ut, client, 16);
	open.u.goal_open.eq = eq;
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, client, &open, &resp), 0);
	record =
	    (struct hw_goal_run *)(void *)(ut.client[client].bar + resp.u.goal_open.runs_offset);
	cmd.u.goal_comm = (struct hw_cmd_goal_comm){.key = 1,
						    .key2 = 2,
						    .rank = RANK,
						    .num_ranks = RANKS,
						    .pd = pd,
						    .eager_bytes = EAGER_BYTES,
						    .peers_stag = stag,
						    .peers_addr = (uintptr_t)memory.peers};
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	comm = &ut.nic->goal.comms[resp.u.handle];
	cmd = (struct hw_cmd){.op = HW_CMD_GOAL_POOL,
			      .u.goal_comm = {.comm = resp.u.handle,
					      .pool_stag = pool_unmapped ? loose : stag,
					      .pool_addr = (uintptr_t)memory.pool,
					      .pool_bytes = POOL_BYTES}};
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	serial = 0;
}

/* All memory is mapped, and no run has begun. */
static inline void begin(void)
{
	prepare(false);
	load(false);
}

static inline void end(void)
{
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

/* Starts a run in that record, with a trace if traced; returns it. Its operations have begun. */
static inline struct goal_run *start_in(uint32_t index, bool traced)
{
	struct hw_goal_run *line = &record[index];

	line->serial = ++serial;
	line->schedule = schedule;
	line->flags = 0;
	line->timeout_ns = 0;
	line->trace_addr = traced ? (uintptr_t)memory.trace : 0;
	line->trace_stag = stag;
	line->trace_entries = TRACE_ENTRIES;
	goal_run_doorbell(ut.nic, client, index);
	turns(4);
	return goal_run_find(ut.nic, comm, comm->next_instance - 1);
}

static inline struct goal_run *start(void)
{
	struct goal_run *run = start_in(0, false);

	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	return run;
}

/* Waits for the end of the run of the first record, with that outcome. */
static inline void ends_with(enum hw_goal_status status, uint32_t rank, uint32_t op)
{
	for (uint32_t i = 0; i < 100 && record->done != serial; i++)
		turns(1);
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(record->status, status);
	CU_ASSERT_EQUAL(record->rank, rank);
	CU_ASSERT_EQUAL(record->op, op);
}

/* ---- packets of another rank ---------------------------------------------------------------- */

struct packet {
	uint32_t from;
	uint8_t type;
	uint32_t instance, tag, count;
	uint64_t bytes, offset;
	uint32_t sink, piece_bytes;
	uint32_t segs;  /* of the payload: 0, 1: one */
	uint32_t carry; /* payload that it has; 0: piece_bytes */
};

static inline struct packet piece_of(uint8_t type, uint32_t from, uint32_t tag, uint64_t bytes,
				     uint64_t offset, uint32_t piece_bytes)
{
	return (struct packet){.from = from,
			       .type = type,
			       .instance = comm->next_instance - 1,
			       .tag = tag,
			       .bytes = bytes,
			       .offset = offset,
			       .piece_bytes = piece_bytes};
}

/* Makes its frame: the header, and bytes_of from its offset on. Returns its length. */
static inline uint32_t frame_of(const struct packet *p, struct fw_rx_frame *frame)
{
	static struct wire_goal wire;
	uint32_t carry = p->carry ? p->carry : p->piece_bytes, segs = p->segs ? p->segs : 1, at = 0;

	wire = (struct wire_goal){.type = p->type,
				  .instance = be32_put(p->instance),
				  .tag = be32_put(p->tag),
				  .count = be32_put(p->count),
				  .bytes = be64_put(p->bytes),
				  .offset = be64_put(p->offset),
				  .sink = be32_put(p->sink),
				  .piece_bytes = be32_put(p->piece_bytes)};
	*frame =
	    (struct fw_rx_frame){.seg = {{(const uint8_t *)&wire, sizeof(wire)}}, .num_seg = 1};
	for (uint32_t i = 0; i < segs && carry; i++) {
		uint32_t n = i + 1 < segs ? carry / segs : carry - at;

		frame->seg[frame->num_seg++] =
		    (struct fw_rx_seg){bytes_of + p->offset % SLOT_BYTES + at, n};
		at += n;
	}
	frame->bytes = (uint32_t)sizeof(wire) + carry;
	return frame->bytes;
}

static inline struct goal_link *link_to(uint32_t rank)
{
	struct goal_link *link = goal_link_get(ut.nic, comm, rank);

	CU_ASSERT_PTR_NOT_NULL_FATAL(link);
	return link;
}

/* The stream to a rank ends; its link stays. Returns it. */
static inline struct goal_link *lose(uint32_t rank, enum esp_end why)
{
	struct goal_link *link = link_to(rank);

	esp_end(ut.nic, link->stream, why);
	return link;
}

static inline enum esp_verdict arrives(const struct packet *p)
{
	struct fw_rx_frame frame;
	uint32_t bytes = frame_of(p, &frame);

	return goal_msg_receive(ut.nic, link_to(p->from), &frame, 0, bytes);
}

/* A packet that is not what it says: it is dropped and counted. */
static inline bool is_malformed(const struct packet *p)
{
	uint64_t before = ut.nic->counters.goal_malformed;

	return arrives(p) == ESP_TAKEN && ut.nic->counters.goal_malformed == before + 1;
}

/* ---- what this rank sends ------------------------------------------------------------------- */

/* Returns how many messages of that type the link has. */
static inline uint32_t queued(uint32_t rank, uint8_t type)
{
	const struct goal_link *link = link_to(rank);
	const struct fw_list *at;
	uint32_t found = 0;

	for (at = link->sends.next; at != &link->sends; at = at->next)
		found += FW_CONTAINER(at, struct goal_send, link_node)->type == type;
	return found;
}

/* The large message to that rank that waits to be announced; NULL: there is none. */
static inline struct goal_send *send_of(uint32_t to, uint32_t tag)
{
	const struct goal_key4 key = {comm->next_instance - 1, to, tag, 0, false};

	return goal_send_find(ut.nic, link_to(to), &key);
}

/* The message of an operation of the run that began last; NULL: there is none. */
static inline struct goal_send *sent_by(uint32_t op)
{
	const struct goal_run *run = goal_run_find(ut.nic, comm, comm->next_instance - 1);
	const struct fw_list *at;

	for (at = run->sends.next; at != &run->sends; at = at->next)
		if (FW_CONTAINER(at, struct goal_send, run_node)->op == op)
			return FW_CONTAINER(at, struct goal_send, run_node);
	return NULL;
}

#endif /* WEFT_TESTS_GOAL_RANK_FIX_H */
