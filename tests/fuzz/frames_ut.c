/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `frames`: frames into a NIC. FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_frames_begin();
	CU_ASSERT_TRUE(fuzz_replay("frames", fuzz_frames) > 0);
}

UT_MAIN("fuzz/frames", UT(corpus))
