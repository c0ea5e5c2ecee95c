/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second of scribbling over BARs by a thread: scribble.c.
 */
#include "tests/fuzz/scribble.h"
#include "tests/ut.h"

static void a_second(void)
{
	struct scribble_result r = scribble(1, 1);

	CU_ASSERT_TRUE(r.turns > 0);
	CU_ASSERT_TRUE(r.messages > 0);
	CU_ASSERT_TRUE(r.words > 0);
}

UT_MAIN("fuzz/scribble", UT(a_second))
