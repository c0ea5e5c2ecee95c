/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verifier of schedules: schedules that it accepts, and each error with its reason. The
 * interpreter trusts a verified schedule. A correct schedule is spoiled in one place at a time.
 */
#include "tests/nic_fw/coll/goal_load_fix.h"

/* Asserts a refusal with this reason at this operation, and that nothing is held. */
static void refused(const struct sched *s, const char *why, uint32_t op)
{
	uint32_t steps;

	CU_ASSERT_EQUAL(run(&s->h, s, &steps), FW_EINVAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(load.fault.why);
	CU_ASSERT_PTR_NOT_NULL(strstr(load.fault.why, why));
	CU_ASSERT_EQUAL(load.fault.op, op);
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].goal_bytes, 0);
}

static void what_is_right(void)
{
	struct sched s;
	uint32_t steps;

	fw_ut_begin(&ut);
	make(&s);
	CU_ASSERT_EQUAL(run(&s.h, &s, &steps), 0);
	CU_ASSERT_FALSE(schedule.wildcards || schedule.groups);
	CU_ASSERT_EQUAL(schedule.peers[0], 1u << 0 | 1u << 2);
	CU_ASSERT_EQUAL(schedule.neighbours[0], 0);
	CU_ASSERT_TRUE(schedule.roots[0] == 0 && schedule.roots[1] == 1);
	CU_ASSERT_TRUE(schedule.deps[2] == 2 && schedule.deps[3] == 2);
	goal_schedule_free(ut.nic, &schedule);

	s.ops[1].peer = GOAL_RANK_ANY;
	s.ops[1].tag = GOAL_TAG_ANY;
	CU_ASSERT_EQUAL(run(&s.h, &s, &steps), 0);
	CU_ASSERT_TRUE(schedule.wildcards);
	CU_ASSERT_EQUAL(schedule.peers[0] & 0xf, 0xf);
	goal_schedule_free(ut.nic, &schedule);

	/* Below rank 3 of four, rank 1 has rank 2 below it. */
	s.ops[1].kind = GOAL_INSN_MCAST_RECV;
	s.ops[1].peer = 3;
	s.ops[1].tag = 7;
	CU_ASSERT_EQUAL(run(&s.h, &s, &steps), 0);
	CU_ASSERT_TRUE(schedule.groups);
	CU_ASSERT_EQUAL(schedule.neighbours[0], 1u << 3 | 1u << 2);
	goal_schedule_free(ut.nic, &schedule);

	make(&s);
	s.ops[3].kind = GOAL_INSN_CALC;
	passes(&s);
	s.ops[2].sub = GOAL_LOCAL_WTIME;
	s.ops[2].amount = 1;
	passes(&s);
	fw_ut_end(&ut);
}

/* Spoils the header in way i; returns the reason of the refusal, NULL: no more ways. */
static const char *spoil_header(struct goal_header *h, uint32_t i)
{
	static const char reserved[] = "reserved fields", limit[] = "exceeds a limit",
			  other[] = "another rank", roots[] = "can start";

	switch (i) {
	case 0:
		h->magic++;
		return "no compiled schedule";
	case 1:
		h->version++;
		return "another version";
	case 2:
		h->header_bytes -= 8;
		return "another version";
	case 3:
		h->flags = 1;
		return reserved;
	case 4:
		h->reserved = 1;
		return reserved;
	case 5:
		h->rank = 0;
		return other;
	case 6:
		h->num_ranks = RANKS + 1;
		return other;
	case 7:
		h->num_ops = 0;
		return limit;
	case 8:
		h->num_ops = GOAL_FORMAT_MAX_OPS + 1;
		return limit;
	case 9:
		h->num_edges = GOAL_MAX_EDGES + 1;
		return limit;
	case 10:
		h->num_pieces = GOAL_MAX_PIECES + 1;
		return limit;
	case 11:
		h->num_slots = GOAL_MAX_SLOTS + 1;
		return limit;
	case 12:
		h->scratch_bytes = GOAL_MAX_SCRATCH_BYTES + 1;
		return limit;
	case 13:
		h->num_cpus = GOAL_MAX_CPUS + 1;
		return limit;
	case 14:
		h->num_roots = 0;
		return roots;
	case 15:
		h->num_roots = 5;
		return roots;
	default:
		return NULL;
	}
}

static void headers(void)
{
	static const size_t part[] = {offsetof(struct goal_header, slots_offset),
				      offsetof(struct goal_header, ops_offset),
				      offsetof(struct goal_header, edges_offset),
				      offsetof(struct goal_header, pieces_offset)};
	const uint64_t wrong[] = {0,
				  sizeof(struct goal_header) - 8,
				  sizeof(struct goal_header) + 4,
				  sizeof(struct sched) - 8,
				  sizeof(struct sched) + 8,
				  UINT64_MAX - 7};
	const char *why;
	struct sched s;
	uint32_t i, j;

	fw_ut_begin(&ut);
	for (i = 0;; i++) {
		make(&s);
		why = spoil_header(&s.h, i);
		if (!why)
			break;
		refused(&s, why, UINT32_MAX);
	}
	CU_ASSERT_EQUAL(i, 16);
	for (i = 0; i < 4; i++)
		for (j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++) {
			make(&s);
			memcpy((uint8_t *)&s.h + part[i], &wrong[j], sizeof(wrong[j]));
			refused(&s, "lies outside", UINT32_MAX);
		}
	fw_ut_end(&ut);
}

/* Spoils messages in way i. */
static const char *spoil_message(struct sched *s, uint32_t i, uint32_t *op)
{
	static const char outside[] = "lies outside of its slot";

	*op = i < 6 ? 0 : 1;
	switch (i) {
	case 0:
		s->ops[0].peer = RANKS;
		return "not a rank";
	case 1:
		s->ops[0].peer = GOAL_RANK_ANY;
		return "not a rank";
	case 2:
		s->ops[0].tag = GOAL_TAG_ANY;
		return "without a tag";
	case 3:
		s->ops[0].amount = SLOT_BYTES + 1;
		return outside;
	case 4:
		s->ops[0].buf[0] = GOAL_REF(2, 0);
		return outside;
	case 5:
		s->ops[0].amount = GOAL_MAX_MSG_BYTES + 1;
		return "too long";
	case 6:
		s->ops[1].buf[0] = GOAL_REF(1, 1);
		return outside;
	case 7:
		s->ops[1].buf[0] = GOAL_REF(0, SLOT_BYTES + 1);
		return outside;
	case 8:
		s->ops[1].buf[0] = GOAL_REF(GOAL_SLOT_SCRATCH, 8);
		return outside;
	case 9:
		s->ops[1].kind = GOAL_INSN_MCAST_RECV;
		s->ops[1].peer = RANKS;
		return "root of a multicast";
	case 10:
		s->ops[1].kind = GOAL_INSN_MCAST_RECV;
		s->ops[1].peer = RANK;
		return "sent by its root";
	case 11:
		s->ops[1].kind = GOAL_INSN_MCAST_SEND;
		return "sent by its root";
	case 12:
		s->ops[1].kind = GOAL_INSN_MCAST_RECV;
		s->ops[1].tag = GOAL_TAG_ANY;
		return "without a tag";
	case 13:
		s->ops[1].kind = GOAL_INSN_MCAST_RECV;
		s->ops[1].amount++;
		return outside;
	case 14:
		s->ops[1].kind = GOAL_INSN_MCAST_RECV;
		s->ops[1].amount = GOAL_MAX_MSG_BYTES + 1;
		return "too long";
	default:
		return NULL;
	}
}

/* Spoils local operations in way i. */
static const char *spoil_local(struct sched *s, uint32_t i, uint32_t *op)
{
	static const char outside[] = "cuts an element", legal[] = "no such local operation";
	struct goal_insn *local = &s->ops[2];

	*op = i < 14 ? 2 : 3;
	switch (i) {
	case 0:
		local->sub = GOAL_LOCALS;
		return legal;
	case 1:
		local->width = 24;
		return legal;
	case 2:
		local->type = GOAL_TYPES;
		return legal;
	case 3:
		local->amount = GOAL_MAX_MSG_BYTES;
		return "too long";
	case 4:
		local->sub = GOAL_LOCAL_WTIME;
		return "one element";
	case 5:
		local->buf[0] += 1;
		return outside;
	case 6:
		local->buf[2] += 1;
		return outside;
	case 7:
		local->buf[1] = GOAL_REF_PIECES(0, 1);
		return outside;
	case 8:
		s->h.num_pieces = 1; /* the second stays in memory */
		return outside;
	case 9:
		local->buf[1] = GOAL_REF_PIECES(3, 0);
		return outside;
	case 10:
		s->pieces[0].ref = GOAL_REF_PIECES(1, 1);
		return outside;
	case 11:
		s->pieces[0].bytes = 14;
		s->pieces[1].bytes = 18;
		return outside;
	case 12:
		s->pieces[1].ref = GOAL_REF(1, SHORT_BYTES - 12);
		return outside;
	case 13:
		s->pieces[0].bytes = UINT64_MAX - 15;
		s->pieces[1].bytes = 48;
		return outside;
	case 14:
		s->ops[3].kind = GOAL_INSN_CALC;
		s->ops[3].sub = 1;
		return "names a cpu";
	case 15:
		s->ops[3].kind = GOAL_INSN_KINDS;
		return "unknown kind";
	case 16:
		s->ops[3].kind = 0;
		return "unknown kind";
	default:
		return NULL;
	}
}

/* Spoils edges, counters and numbers in way i. */
static const char *spoil_order(struct sched *s, uint32_t i, uint32_t *op)
{
	static const char behind[] = "not behind the one before";

	*op = UINT32_MAX;
	switch (i) {
	case 0:
		*op = 1;
		s->ops[1].first_edge = 2;
		return behind;
	case 1:
		*op = 1;
		s->ops[1].num_edges = UINT32_MAX;
		return behind;
	case 2:
		*op = 3;
		s->ops[3].num_edges = 1;
		return behind;
	case 3:
		s->ops[2].num_edges = 0;
		s->ops[3].first_edge = 3;
		return "belong to no operation";
	case 4:
		s->edges[3].target = 4;
		return "not an operation";
	case 5:
		*op = 2;
		s->ops[2].deps = 1;
		return "not the number of edges";
	case 6:
		*op = 1;
		s->h.num_roots = 1;
		return "more operations can start";
	case 7:
		s->h.num_roots = 3;
		return "fewer operations can start";
	case 8:
		s->edges[3].target = 2;
		s->ops[2].deps = 3;
		s->ops[3].deps = 1;
		return "in a circle";
	case 9:
		*op = 0;
		s->ops[0].count = 1;
		return "not numbered in the order";
	case 10:
		*op = 1;
		s->ops[1].kind = GOAL_INSN_SEND;
		s->ops[1].peer = 2;
		s->ops[1].tag = 5;
		return "not numbered in the order";
	default:
		return NULL;
	}
}

static void operations(void)
{
	static const char *(*const spoils[])(struct sched *, uint32_t, uint32_t *) = {
	    spoil_message, spoil_local, spoil_order};
	static const uint32_t ways[] = {15, 17, 11};
	const char *why;
	struct sched s;
	uint32_t k, i, op;

	fw_ut_begin(&ut);
	for (k = 0; k < 3; k++) {
		for (i = 0;; i++) {
			make(&s);
			why = spoils[k](&s, i, &op);
			if (!why)
				break;
			refused(&s, why, op);
		}
		CU_ASSERT_EQUAL(i, ways[k]);
	}
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_load", UT(what_is_right), UT(headers), UT(operations))
