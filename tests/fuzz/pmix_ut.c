/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `pmix`: values of a PMIx server.
 * FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_pmix_begin();
	CU_ASSERT_TRUE(fuzz_replay("pmix", fuzz_pmix) > 0);
}

UT_MAIN("fuzz/pmix", UT(corpus))
