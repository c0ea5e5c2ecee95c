/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `serve`: clients of weft-measure serve, and requests of
 * weft-tune. FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_serve_begin();
	CU_ASSERT_TRUE(fuzz_replay("serve", fuzz_serve) > 0);
}

UT_MAIN("fuzz/serve", UT(corpus))
