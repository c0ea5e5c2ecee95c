/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lengths of turns by the work done in them, and turns in which the kernel ran other threads.
 */
#include <string.h>
#include <sys/rseq.h>
#include <time.h>

#include "dpdk_app/control/stats.h"
#include "dpdk_app/turns.h"
#include "shared_defs/hw_cmd.h"
#include "tests/ut.h"

enum {
	TRIES = 100000,
};

static struct turns t;

/* Runs until a turn that the kernel did not interrupt; most are. */
static void turn(uint64_t ns)
{
	uint64_t lost = t.lost_turns;
	struct turns before = t;
	int i;

	for (i = 0; i < TRIES; i++) {
		t = before;
		turns_ends(&t);
		t.lost = false;
		turns_next(&t, ns);
		if (t.lost_turns == lost)
			return;
	}
	CU_FAIL("each turn was interrupted");
}

static uint64_t stat(const char *name)
{
	struct hw_stat all[TURNS_STATS];
	uint32_t i;

	turns_stats(&t, all);
	for (i = 0; i < TURNS_STATS; i++)
		if (!strcmp(all[i].name, name))
			return all[i].value;
	CU_FAIL("no such counter");
	return 0;
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	turns_ends(&t);
	/* The start of the first turn is not known. */
	turns_next(&t, UINT64_MAX);
	CU_ASSERT_EQUAL(stat("core_turn_ns_max"), 0);
}

static void longest_of_each_kind(void)
{
	begin();
	turn(100);
	turn(300);
	turn(200);
	CU_ASSERT_EQUAL(stat("core_turns_plain"), 3);
	CU_ASSERT_EQUAL(stat("core_ns_max_plain"), 300);
	turns_note(&t, TURN_LEAVE);
	turns_note(&t, TURN_FLUSH);
	turn(TURNS_LONG_NS + 1);
	CU_ASSERT_EQUAL(stat("core_ns_max_flush"), 0);
	CU_ASSERT_EQUAL(stat("core_ns_max_leave"), TURNS_LONG_NS + 1);
	CU_ASSERT_EQUAL(stat("core_long_leave"), 1);
	CU_ASSERT_EQUAL(stat("core_long_plain"), 0);
	turns_note_command(&t, HW_CMD_REG_MR);
	turn(5000);
	turns_note_command(&t, HW_CMD_CREATE_QP);
	turn(4000);
	CU_ASSERT_EQUAL(stat("core_turns_command"), 2);
	CU_ASSERT_EQUAL(stat("core_turn_op_max"), HW_CMD_REG_MR);
	CU_ASSERT_EQUAL(stat("core_turn_ns_max"), TURNS_LONG_NS + 1);
}

static void broken_turn_has_no_length(void)
{
	begin();
	turns_note(&t, TURN_DETACH);
	turns_break(&t);
	turn(1000000);
	CU_ASSERT_EQUAL(stat("core_turn_ns_max"), 0);
	/* It does not count for the next one, either. */
	turn(10);
	CU_ASSERT_EQUAL(stat("core_turns_detach"), 0);
	CU_ASSERT_EQUAL(stat("core_turns_plain"), 1);
}

static void turn_that_others_had(void)
{
	struct timespec wait = {0, 1000000};

	begin();
	turns_ends(&t);
	turns_next(&t, 10);
	/* The thread yields its CPU in the middle of a turn. */
	nanosleep(&wait, NULL);
	turns_ends(&t);
	turns_next(&t, 1000000);
	CU_ASSERT_EQUAL(stat("core_turn_ns_max"), 1000000);
	if (__rseq_size) {
		CU_ASSERT(stat("core_turns_lost") >= 1);
		CU_ASSERT_EQUAL(stat("core_long_plain"), 0);
	}
}

UT_MAIN("dpdk_app/turns", UT(longest_of_each_kind), UT(broken_turn_has_no_length),
	UT(turn_that_others_had))
