/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `control`: what processes send weftd. FUZZ_INPUT=FILE runs
 * one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_control_begin();
	CU_ASSERT_TRUE(fuzz_replay("control", fuzz_control) > 0);
}

UT_MAIN("fuzz/control", UT(corpus))
