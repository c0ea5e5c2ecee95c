/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `options`: command lines and configuration files.
 * FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_options_begin();
	CU_ASSERT_TRUE(fuzz_replay("options", fuzz_options) > 0);
}

UT_MAIN("fuzz/options", UT(corpus))
