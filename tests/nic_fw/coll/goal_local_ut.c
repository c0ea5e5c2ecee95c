/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_local.c, goal_step.c: local operations of a run whose operands lie together or
 * in short pieces, in memory that is mapped, or not, or comes late; and dependencies.
 */
#include "tests/nic_fw/coll/goal_rank_fix.h"

enum {
	CUT = 12,                 /* bytes of a piece: three elements */
	COUNT = PIECES * CUT / 4, /* elements of four bytes */
	A_AT = 0,                 /* of the operand that lies together, and of the result */
	SUM_AT = 1024,
	PIECES_AT = 2049, /* no element is aligned */
	EVERY = 32,       /* a piece begins */
};

static uint32_t element(const uint8_t *at, uint32_t i)
{
	uint32_t value;

	memcpy(&value, at + 4 * i, 4);
	return value;
}

/* The same of the operand in pieces. */
static uint32_t element_in_pieces(const uint8_t *from, uint32_t i)
{
	uint8_t bytes[4];
	uint32_t value;

	for (uint32_t k = 0; k < 4; k++) {
		uint32_t at = 4 * i + k;

		bytes[k] = from[PIECES_AT + at / CUT * EVERY + at % CUT];
	}
	memcpy(&value, bytes, 4);
	return value;
}

/* EAGER is the operation; LARGE and the others but SHORT are nothing. result: its buffer. */
static void make_local(uint8_t sub, uint64_t a, uint64_t b, uint64_t result)
{
	prepare(false);
	for (uint32_t op = EAGER; op < THEN; op++)
		memory.code.ops[op] = (struct goal_insn){.kind = GOAL_INSN_NOP, .first_edge = 1};
	memory.code.ops[EAGER] = (struct goal_insn){.kind = GOAL_INSN_LOCAL,
						    .sub = sub,
						    .type = GOAL_TYPE_UINT,
						    .width = 32,
						    .first_edge = 1,
						    .amount = COUNT,
						    .buf = {a, b, result}};
	for (uint32_t i = 0; i < PIECES; i++)
		memory.code.pieces[i] =
		    (struct goal_piece){GOAL_REF(0, PIECES_AT + i * EVERY), CUT};
}

static void fill_operands(void)
{
	for (uint32_t i = 0; i < SLOT_BYTES; i++)
		memory.slot[i] = bytes_of[i];
}

/* Waits until nothing but SHORT and THEN is left, in so many turns at most. */
static struct goal_run *carried_out(uint32_t most)
{
	struct goal_run *run = start();

	for (uint32_t i = 0; i < most && run->remaining > 2; i++)
		turns(1);
	CU_ASSERT_EQUAL(run->remaining, 2);
	return run;
}

static void sums(bool unmapped)
{
	uint32_t i, wrong = 0;

	/* Together and in pieces. */
	make_local(GOAL_LOCAL_ADD, GOAL_REF(0, A_AT), GOAL_REF_PIECES(0, PIECES),
		   GOAL_REF(0, SUM_AT));
	load(unmapped);
	fill_operands();
	(void)carried_out(5000);
	for (i = 0; i < COUNT; i++)
		wrong += element(memory.slot + SUM_AT, i) !=
			 element(bytes_of + A_AT, i) + element_in_pieces(bytes_of, i);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(memcmp(memory.slot + SUM_AT + 4 * COUNT, bytes_of + SUM_AT + 4 * COUNT, 64) == 0);
	CU_ASSERT(memcmp(memory.slot + A_AT, bytes_of + A_AT, 4 * COUNT) == 0);
	end();
	/* The result is in pieces, and is an operand. */
	make_local(GOAL_LOCAL_SUB, GOAL_REF_PIECES(0, PIECES), GOAL_REF(0, A_AT),
		   GOAL_REF_PIECES(0, PIECES));
	load(unmapped);
	fill_operands();
	(void)carried_out(5000);
	for (i = 0; i < COUNT; i++)
		wrong += element_in_pieces(memory.slot, i) !=
			 element_in_pieces(bytes_of, i) - element(bytes_of + A_AT, i);
	CU_ASSERT_EQUAL(wrong, 0);
	/* The bytes between the pieces stay. */
	for (i = 0; i < PIECES; i++)
		wrong += memcmp(memory.slot + PIECES_AT + i * EVERY + CUT,
				bytes_of + PIECES_AT + i * EVERY + CUT, EVERY - CUT) != 0;
	CU_ASSERT_EQUAL(wrong, 0);
	end();
	/* A copy reads one operand. */
	make_local(GOAL_LOCAL_COPY, GOAL_REF_PIECES(0, PIECES), GOAL_REF(0, A_AT),
		   GOAL_REF(0, SUM_AT));
	load(unmapped);
	fill_operands();
	(void)carried_out(5000);
	for (i = 0; i < COUNT; i++)
		wrong += element(memory.slot + SUM_AT, i) != element_in_pieces(bytes_of, i);
	CU_ASSERT_EQUAL(wrong, 0);
	end();
}

static void mapped(void)
{
	sums(false);
}

static void not_mapped(void)
{
	sums(true);
}

/* Memory that comes late is waited for; memory that is gone ends the run. */
static void late_and_gone(void)
{
	struct goal_run *run;

	make_local(GOAL_LOCAL_ADD, GOAL_REF(0, A_AT), GOAL_REF_PIECES(0, PIECES),
		   GOAL_REF(0, SUM_AT));
	load(true);
	fill_operands();
	ut.port.host_busy = true;
	run = start();
	turns(1000);
	CU_ASSERT_EQUAL(run->remaining, 3);
	CU_ASSERT(memcmp(memory.slot + SUM_AT, bytes_of + SUM_AT, 4 * COUNT) == 0);
	ut.port.host_busy = false;
	for (uint32_t i = 0; i < 10000 && run->remaining > 2; i++)
		turns(1);
	CU_ASSERT_EQUAL(run->remaining, 2);
	CU_ASSERT_EQUAL(element(memory.slot + SUM_AT, COUNT - 1),
			element(bytes_of, COUNT - 1) + element_in_pieces(bytes_of, COUNT - 1));
	ut.port.host_fault = true;
	(void)start_in(1, false);
	turns(200);
	CU_ASSERT_EQUAL(record[1].done, serial);
	CU_ASSERT_EQUAL(record[1].status, HW_GOAL_MEMORY);
	CU_ASSERT_EQUAL(record[1].rank, RANK);
	CU_ASSERT_EQUAL(record[1].op, EAGER);
	ut.port.host_fault = false;
	end();
}

/* A division by zero ends the run with its operation. */
static void division_by_zero(void)
{
	make_local(GOAL_LOCAL_DIV, GOAL_REF(0, A_AT), GOAL_REF(0, A_AT), GOAL_REF(0, SUM_AT));
	load(false);
	fill_operands();
	memset(memory.slot + A_AT + 4 * (COUNT - 1), 0, 4);
	(void)start_in(0, false);
	ends_with(HW_GOAL_DIVIDE, RANK, EAGER);
	end();
}

/* An operation begins when each one before it has begun, or is over, as its edge says. */
static void dependencies(void)
{
	struct goal_run *run;

	for (uint32_t at_start = 0; at_start < 2; at_start++) {
		prepare(false);
		for (uint32_t op = EAGER; op < THEN; op++)
			memory.code.ops[op] =
			    (struct goal_insn){.kind = GOAL_INSN_NOP, .first_edge = 1};
		memory.code.ops[SHORT].num_start_edges = at_start;
		memory.code.ops[SHORT].num_edges = 1 - at_start;
		load(false);
		run = start();
		/* SHORT waits for its message; THEN for its start, or its end. */
		CU_ASSERT_EQUAL(run->remaining, 2);
		CU_ASSERT_EQUAL(ut.nic->goal.recvs.used, 1 + at_start);
		CU_ASSERT_FALSE(fw_list_linked(&run->client_node));
		{
			struct packet p =
			    piece_of(WIRE_GOAL_EAGER, 0, 7, SHORT_BYTES, 0, SHORT_BYTES);

			CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
			turns(2);
			CU_ASSERT_EQUAL(run->remaining, 1);
			CU_ASSERT_EQUAL(ut.nic->goal.recvs.used, 1);
			p.tag = 11;
			CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
		}
		turns(2);
		CU_ASSERT_EQUAL(record->done, serial);
		CU_ASSERT_EQUAL(record->status, HW_GOAL_OK);
		end();
	}
}

UT_MAIN("nic_fw/coll/goal_local", UT(mapped), UT(not_mapped), UT(late_and_gone),
	UT(division_by_zero), UT(dependencies))
