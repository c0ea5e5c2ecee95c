/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedules of sched.h.
 */
#include "tests/fuzz/sched.h"

#include "lib/prng.h"

/* A schedule under construction; an operation depends at most on the one before. */
struct making {
	uint64_t state;
	uint32_t rank;
	const uint32_t *slot_bytes;
	uint32_t num;
	bool wild;
	bool groups;    /* multicasts in the place of empty operations */
	bool free_next; /* the next operation must not depend on this one */
	struct goal_insn insn[SCHED_INSNS];
	uint32_t num_pieces;
	struct goal_piece piece[SCHED_PIECES];
};

static uint32_t below(struct making *m, uint32_t n)
{
	return (uint32_t)prng_below(&m->state, n);
}

/* Memory for that many bytes: slots, scratchpad, or a list of pieces of those. */
static uint64_t any_buf(struct making *m, uint32_t bytes)
{
	uint32_t slot = below(m, 4), room, first, n;
	uint64_t ref;

	if (slot >= SCHED_SLOTS || bytes > m->slot_bytes[slot])
		slot =
		    bytes > SCHED_SCRATCH_BYTES || !(slot & 1) ? 0u : (uint32_t)GOAL_SLOT_SCRATCH;
	room = slot == GOAL_SLOT_SCRATCH ? (uint32_t)SCHED_SCRATCH_BYTES : m->slot_bytes[slot];
	ref = GOAL_REF(slot, below(m, room - bytes + 1) & ~7u);
	if (bytes < 16 || bytes % 8 || m->num_pieces || below(m, 3))
		return ref;
	/* The same bytes, with the halves swapped. */
	first = m->num_pieces;
	n = bytes / 16 * 8;
	m->piece[m->num_pieces++] = (struct goal_piece){ref + n, bytes - n};
	m->piece[m->num_pieces++] = (struct goal_piece){ref, 0};
	m->piece[m->num_pieces++] = (struct goal_piece){ref, n};
	return GOAL_REF_PIECES(first, 3);
}

static struct goal_insn *add(struct making *m, uint8_t kind)
{
	struct goal_insn *insn = &m->insn[m->num];

	memset(insn, 0, sizeof(*insn));
	insn->kind = kind;
	if (m->num && !m->free_next && below(m, 2)) {
		insn->deps = 1;
		if (below(m, 8))
			m->insn[m->num - 1].num_edges = 1;
		else
			m->insn[m->num - 1].num_start_edges = 1;
	}
	m->free_next = false;
	m->num++;
	return insn;
}

static void add_msg(struct making *m, uint8_t kind, uint32_t peer, uint32_t tag, uint32_t bytes)
{
	bool any = m->wild && kind == GOAL_INSN_RECV && !below(m, 2);
	struct goal_insn *insn = add(m, kind);
	const struct goal_insn *before;

	insn->peer = any ? GOAL_RANK_ANY : peer;
	insn->tag = any && tag & 1 ? GOAL_TAG_ANY : tag;
	insn->amount = bytes;
	insn->buf[0] = any_buf(m, bytes);
	for (before = m->insn; before < insn; before++)
		insn->count +=
		    before->kind == kind && before->peer == insn->peer && before->tag == insn->tag;
}

static void add_local(struct making *m)
{
	static const uint8_t widths[] = {8, 16, 32, 64};
	struct goal_insn *insn = add(m, GOAL_INSN_LOCAL);
	uint32_t i, bytes;

	insn->sub = (uint8_t)below(m, GOAL_LOCAL_USER);
	insn->type = (uint8_t)below(m, GOAL_TYPES);
	insn->width = widths[below(m, 4)];
	insn->amount = 1 + below(m, 64);
	if (insn->sub == GOAL_LOCAL_WTIME)
		insn->amount = 1;
	if (insn->type == GOAL_TYPE_FLOAT && insn->width < 32)
		insn->width = 64;
	if (insn->sub >= GOAL_LOCAL_AND)
		insn->type = GOAL_TYPE_UINT;
	if (insn->type >= GOAL_TYPE_COMPLEX) {
		insn->width = insn->width < 64 ? 64 : 128;
		insn->sub = insn->type == GOAL_TYPE_COMPLEX ? GOAL_LOCAL_MUL : GOAL_LOCAL_MIN;
	}
	if (insn->sub == GOAL_LOCAL_WTIME) {
		insn->type = GOAL_TYPE_FLOAT;
		insn->width = 64;
	}
	bytes = (uint32_t)insn->amount * (insn->width / 8u);
	for (i = 0; i < 3; i++)
		insn->buf[i] = any_buf(m, bytes);
}

/* Both ranks draw the same numbers, whichever part is theirs. */
static void add_any(struct making *m)
{
	static const uint32_t sizes[] = {0, 1, 64, 65, 128, 129, 1000, 1408, 3000, 6000};
	uint32_t what = below(m, 10), bytes = sizes[below(m, 10)], tag = below(m, 3);
	uint64_t both = m->state;

	if (what < 6)
		add_msg(m, (what < 3) == !m->rank ? GOAL_INSN_SEND : GOAL_INSN_RECV, !m->rank, tag,
			bytes);
	else if (what == 6) {
		add_msg(m, GOAL_INSN_RECV, m->rank, tag, bytes);
		/* A large send ends with its receive. */
		m->free_next = true;
		add_msg(m, GOAL_INSN_SEND, m->rank, tag, bytes);
	} else if (what == 7) {
		add_local(m);
	} else if (m->groups && what > 7) {
		bool sends = (what == 8) == !m->rank;

		add_msg(m, sends ? GOAL_INSN_MCAST_SEND : GOAL_INSN_MCAST_RECV, what == 8 ? 0 : 1,
			tag, bytes);
	} else if (what == 8) {
		add(m, GOAL_INSN_CALC)->amount = bytes;
	} else {
		add(m, GOAL_INSN_NOP);
	}
	m->state = both ^ what;
}

static uint32_t put(uint8_t *out, uint32_t at, const void *data, size_t bytes)
{
	memcpy(out + at, data, bytes);
	return at + (uint32_t)bytes;
}

static uint32_t finish(struct making *m, uint8_t *out)
{
	struct goal_header h = {
	    .magic = GOAL_FORMAT_MAGIC,
	    .version = GOAL_FORMAT_VERSION,
	    .header_bytes = sizeof(h),
	    .rank = m->rank,
	    .num_ranks = 2,
	    .num_slots = SCHED_SLOTS,
	    .num_ops = m->num,
	    .num_pieces = m->num_pieces,
	    .num_cpus = 1,
	    .scratch_bytes = SCHED_SCRATCH_BYTES,
	    .slots_offset = sizeof(h),
	    .ops_offset = sizeof(h) + SCHED_SLOTS * sizeof(struct goal_slot),
	};
	uint32_t at = sizeof(h), i;

	for (i = 0; i < SCHED_SLOTS; i++) {
		struct goal_slot slot = {m->slot_bytes[i], GOAL_SLOT_READ | GOAL_SLOT_WRITE, 0};

		at = put(out, at, &slot, sizeof(slot));
	}
	for (i = 0; i < m->num; i++) {
		m->insn[i].first_edge = h.num_edges;
		h.num_edges += m->insn[i].num_start_edges + m->insn[i].num_edges;
		h.num_roots += !m->insn[i].deps;
		at = put(out, at, &m->insn[i], sizeof(m->insn[i]));
	}
	h.pieces_offset = at;
	at = put(out, at, m->piece, m->num_pieces * sizeof(m->piece[0]));
	h.edges_offset = at;
	for (i = 0; i < m->num; i++) {
		struct goal_edge edge = {i + 1};

		if (m->insn[i].num_start_edges + m->insn[i].num_edges)
			at = put(out, at, &edge, sizeof(edge));
	}
	h.total_bytes = at;
	(void)put(out, 0, &h, sizeof(h));
	return at;
}

uint32_t sched_build(uint8_t out[SCHED_BYTES], uint32_t rank, uint32_t seed,
		     const uint32_t slot_bytes[SCHED_SLOTS])
{
	struct making m = {.state = seed, .rank = rank, .slot_bytes = slot_bytes};
	uint32_t n;

	if (seed == SCHED_EXCHANGE) {
		add_msg(&m, GOAL_INSN_SEND, !rank, 0, SCHED_EXCHANGE_BYTES);
		m.free_next = true;
		add_msg(&m, GOAL_INSN_RECV, !rank, 0, SCHED_EXCHANGE_BYTES);
		m.insn[0].buf[0] = GOAL_REF(0, 0);
		m.insn[1].buf[0] = GOAL_REF(0, SCHED_EXCHANGE_BYTES);
		m.num_pieces = 0;
		return finish(&m, out);
	}
	m.groups = seed & SCHED_GROUPS;
	m.wild = !below(&m, 4);
	for (n = 1 + below(&m, SCHED_INSNS / 2); n; n--)
		add_any(&m);
	return finish(&m, out);
}
