/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `host`: hostile processes. FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_host_begin();
	CU_ASSERT_TRUE(fuzz_replay("host", fuzz_host) > 0);
}

UT_MAIN("fuzz/host", UT(corpus))
