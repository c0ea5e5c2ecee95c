/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `gso`: TCP segments in large frames, to the kernel and from
 * it. FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_gso_begin();
	CU_ASSERT_TRUE(fuzz_replay("gso", fuzz_gso) > 0);
}

UT_MAIN("fuzz/gso", UT(corpus))
