/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `rsock`: the wire of rsockets.
 * FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_rsock_begin();
	CU_ASSERT_TRUE(fuzz_replay("rsock", fuzz_rsock) > 0);
}

UT_MAIN("fuzz/rsock", UT(corpus))
