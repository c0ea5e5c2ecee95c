/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that share a built-in switch, by what each says of its own NIC.
 */
#include "host_driver/goal/libgoal.h"
#include "tests/ut.h"

static void one_switch(void)
{
	struct weft_goal_peer peers[3] = {{.switch_id = 7}, {.switch_id = 7}, {.switch_id = 7}};

	CU_ASSERT_TRUE(libgoal_are_near(peers, 1));
	CU_ASSERT_TRUE(libgoal_are_near(peers, 3));
	peers[2].switch_id = 8;
	CU_ASSERT_FALSE(libgoal_are_near(peers, 3));
	CU_ASSERT_TRUE(libgoal_are_near(peers, 2));
	peers[2].switch_id = 7;
	peers[0].switch_id = 8;
	CU_ASSERT_FALSE(libgoal_are_near(peers, 3));
}

/* A rank on a wire, and one of a launcher that says MACs alone. */
static void wires(void)
{
	const struct weft_goal_peer peers[2] = {{.switch_id = 0}, {.switch_id = 0}};
	const struct weft_goal_peer mixed[2] = {{.switch_id = 255}, {.switch_id = 0}};

	CU_ASSERT_FALSE(libgoal_are_near(peers, 2));
	CU_ASSERT_FALSE(libgoal_are_near(peers, 1));
	CU_ASSERT_FALSE(libgoal_are_near(mixed, 2));
}

UT_MAIN("host_driver/libgoal_near", UT(one_switch), UT(wires))
