/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/goal/file/goal_bin.c: LogGOPSim's binary schedules, from bytes made by hand.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/golden.h"
#include "tests/host_driver/goal_help.h"
#include "tests/ut.h"

enum {
	/* Offsets in the golden bytes. */
	AT_RANKS = 8,
	AT_MAX_CPU = 12,
	AT_MAX_NIC = 13,
	AT_JUMP0 = 14,
	AT_JUMP1 = 30,
	AT_NODES0 = 46,
	AT_ROOTS0 = 50,
	AT_ROOT0 = 54,
	AT_NODE00 = 58,
	AT_NODE01 = 97,
	AT_APPENDIX0 = 136,
	BYTES = 234,

	NODE_TYPE = 4,
	NODE_PEER = 5,
	NODE_STARTS = 31, /* number of operations that wait for the start, and their first index */
};

static void load(uint8_t bytes[BYTES])
{
	CU_ASSERT_EQUAL_FATAL(golden_load("goal_bin.hex", "two_ranks", bytes, BYTES), BYTES);
}

static void by_hand(void)
{
	uint8_t bytes[BYTES];
	struct goal_error err;
	struct goal_set set;
	char *text;

	load(bytes);
	CU_ASSERT(goal_bin_is(bytes, BYTES));
	CU_ASSERT_EQUAL_FATAL(help_read(bytes, BYTES, &set, &err), 0);
	text = help_write(&set);
	CU_ASSERT_STRING_EQUAL(text, "num_ranks 2\n"
				     "\nrank 0 {\n"
				     "l1: send 8b to 1 tag 3 cpu 1 nic 2\n"
				     "l2: calc 100\n"
				     "l2 irequires l1\n"
				     "}\n"
				     "\nrank 1 {\n"
				     "l1: recv 8b from -1 tag -1\n"
				     "l2: calc 5\n"
				     "l2 requires l1\n"
				     "}\n");
	free(text);
	goal_set_free(&set);
}

/* Sets the byte at to value and expects that error. */
static void refused(size_t at, uint8_t value, const char *error)
{
	uint8_t bytes[BYTES];
	struct goal_error err;
	struct goal_set set;

	load(bytes);
	CU_ASSERT_NOT_EQUAL(bytes[at], value);
	bytes[at] = value;
	CU_ASSERT_EQUAL(help_read(bytes, BYTES, &set, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, error);
}

static void what_is_wrong(void)
{
	const char *roots = "x: rank 0: the list of operations without dependencies is wrong";

	refused(AT_RANKS, 15, "x: the file is too short for 15 ranks");
	refused(AT_RANKS + 3, 1, "x: the file is too short for 16777218 ranks");
	refused(AT_RANKS, 1, "x: there is data after the last rank");
	refused(AT_RANKS, 0, "x: there is data after the last rank");
	refused(AT_MAX_CPU, 0,
		"x: rank 0, operation 0: its cpu or nic is above the file's own maximum");
	refused(AT_MAX_NIC, 1,
		"x: rank 0, operation 0: its cpu or nic is above the file's own maximum");
	/* Into the jump table; into rank 0, which a file may not have twice; beyond the end. */
	refused(AT_JUMP0, 0x25,
		"x: rank 0: its position is outside the file or within another rank");
	refused(AT_JUMP1, 0x26,
		"x: rank 1: its position is outside the file or within another rank");
	refused(AT_JUMP1 + 8, 0xe3,
		"x: rank 1: its position is outside the file or within another rank");
	refused(AT_JUMP1 + 8, 0x83,
		"x: rank 1: its position is outside the file or within another rank");
	refused(AT_JUMP1 + 15, 0x80,
		"x: rank 1: its position is outside the file or within another rank");
	refused(AT_JUMP0 + 8, 0x2a, "x: rank 0: it is cut short");
	refused(AT_JUMP0 + 8, 0x7f, "x: rank 0: it is cut short");
	refused(AT_JUMP1 + 8, 0xe1, "x: rank 1: it is cut short");
	refused(AT_NODES0, 3, "x: rank 0: it is cut short");
	refused(AT_NODES0 + 3, 0xff, "x: rank 0: it is cut short");
	refused(AT_ROOTS0 + 3, 0xff, "x: rank 0: it is cut short");
	refused(AT_ROOT0, 1, roots);
	refused(AT_ROOT0, 2, roots);
	refused(AT_NODE00, 1,
		"x: rank 0, operation 0: its number of dependencies does not match the edges");
	refused(AT_NODE01, 0,
		"x: rank 0, operation 1: its number of dependencies does not match the edges");
	refused(AT_NODE00 + NODE_TYPE, 0,
		"x: rank 0, operation 0: its type is not send, recv or calc");
	refused(AT_NODE00 + NODE_TYPE, 4,
		"x: rank 0, operation 0: its type is not send, recv or calc");
	refused(AT_NODE00 + NODE_PEER, 2,
		"x: rank 0, operation 0: send to rank 2: the ranks are 0 to 1");
	refused(AT_NODE00 + NODE_STARTS, 2,
		"x: rank 0, operation 0: its dependents lie outside the appendix");
	refused(AT_NODE00 + NODE_STARTS + 4, 1,
		"x: rank 0, operation 0: its dependents lie outside the appendix");
	refused(AT_NODE00 + NODE_STARTS + 7, 0xff,
		"x: rank 0, operation 0: its dependents lie outside the appendix");
	refused(AT_APPENDIX0, 0, "x: rank 0, operation 0: this operation waits for itself");
	refused(AT_APPENDIX0, 2,
		"x: rank 0, operation 0: a dependent is not an operation of this rank");
}

static void used_up(void)
{
	uint8_t bytes[BYTES];
	struct goal_error err;
	struct goal_set set;

	load(bytes);
	bytes[0] = 2342 & 0xff;
	bytes[1] = 2342 >> 8;
	CU_ASSERT_EQUAL(help_read(bytes, BYTES, &set, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--save-mem has consumed this file"));
	CU_ASSERT_EQUAL(goal_bin_read("num_ranks 1\n", 12, "x", &set, &err), -EINVAL);
	CU_ASSERT(!goal_bin_is(bytes, 7));
}

/* Two lists of dependents may not share entries, or a small file would be a large graph. */
static void shared_appendix(void)
{
	uint8_t bytes[BYTES];
	struct goal_error err;
	struct goal_set set;

	load(bytes);
	bytes[AT_NODE01 + NODE_STARTS] = 1;
	bytes[AT_NODE01 + NODE_STARTS + 4] = 0;
	CU_ASSERT_EQUAL(help_read(bytes, BYTES, &set, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text,
			       "x: rank 0, operation 1: its dependents lie outside the appendix");
}

static void broken_bytes(void)
{
	uint8_t bytes[BYTES];
	unsigned int good;

	load(bytes);
	good = help_torture(bytes, BYTES, 30000, 0xbf58476d1ce4e5b9);
	/* Sizes, tags and unused fields may change. */
	CU_ASSERT(good > 500 && good < 25000);
}

UT_MAIN("host_driver/goal_bin", UT(by_hand), UT(what_is_wrong), UT(used_up), UT(shared_appendix),
	UT(broken_bytes))
