/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `xdp`: frames to the XDP program and to a NIC.
 * FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_xdp_begin();
	CU_ASSERT_TRUE(fuzz_replay("xdp", fuzz_xdp) > 0);
}

UT_MAIN("fuzz/xdp", UT(corpus))
