/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Length of turns: trials, success, trials in vain. Runs nic_fw/fw_pace.c alone.
 */
#include "nic_fw/fw_pace.h"
#include "tests/ut.h"

enum {
	SECOND = 1000000000,
};

/* Lone requests every gap_ns for a second; returns the share of the time with short turns, in %. */
static uint64_t short_percent(struct fw_pace *pace, uint64_t from_ns, uint64_t gap_ns)
{
	const uint64_t step_ns = 1000;
	uint64_t found = 0, next_ns = from_ns;

	for (uint64_t at_ns = from_ns; at_ns < from_ns + SECOND; at_ns += step_ns) {
		bool lone = at_ns >= next_ns;

		if (lone)
			next_ns += gap_ns;
		found += fw_pace_budget(pace, at_ns) == FW_TURN_SHORT;
		fw_pace_note(pace, lone ? FW_DID_LONE | FW_DID_FLUSH : FW_DID_FLUSH, at_ns);
	}
	return found * step_ns * 100 / SECOND;
}

static void long_at_first(void)
{
	struct fw_pace pace = {0};

	CU_ASSERT_EQUAL(fw_pace_budget(&pace, 0), FW_TURN_LONG);
	CU_ASSERT_EQUAL(fw_pace_budget(&pace, SECOND), FW_TURN_LONG);
	fw_pace_note(&pace, FW_DID_FLUSH | FW_DID_LEAVE | FW_DID_COMMAND, SECOND);
	CU_ASSERT_EQUAL(fw_pace_budget(&pace, SECOND), FW_TURN_LONG);
}

/* The first lone request makes turns short, for a time. */
static void trial(void)
{
	struct fw_pace pace = {0};

	fw_pace_note(&pace, FW_DID_LONE, SECOND);
	CU_ASSERT_EQUAL(fw_pace_budget(&pace, SECOND), FW_TURN_SHORT);
	CU_ASSERT_EQUAL(fw_pace_budget(&pace, SECOND + FW_PACE_HOLD_NS - 1), FW_TURN_SHORT);
	CU_ASSERT_EQUAL(fw_pace_budget(&pace, SECOND + FW_PACE_HOLD_NS), FW_TURN_LONG);
	/* No trial follows one in vain at once. */
	fw_pace_note(&pace, FW_DID_LONE, SECOND + FW_PACE_HOLD_NS);
	CU_ASSERT_EQUAL(fw_pace_budget(&pace, SECOND + FW_PACE_HOLD_NS), FW_TURN_LONG);
}

static void to_and_fro(void)
{
	struct fw_pace pace = {0};

	CU_ASSERT_TRUE(short_percent(&pace, 0, 10000) >= 99);
	/* After a pause the first one of the next series suffices. */
	fw_pace_note(&pace, FW_DID_LONE, 2 * (uint64_t)SECOND);
	CU_ASSERT_EQUAL(fw_pace_budget(&pace, 2 * (uint64_t)SECOND), FW_TURN_SHORT);
}

/* Credits of bulk cost it little. */
static void in_vain(void)
{
	struct fw_pace pace = {0};

	CU_ASSERT_TRUE(short_percent(&pace, 0, 64000) <= 2);
	CU_ASSERT_TRUE(short_percent(&pace, SECOND, 64000) <= 1);
	/* Messages to and fro are met in time. */
	CU_ASSERT_TRUE(short_percent(&pace, 2 * (uint64_t)SECOND, 10000) >= 97);
}

UT_MAIN("nic_fw/base/pace", UT(long_at_first), UT(trial), UT(to_and_fro), UT(in_vain))
