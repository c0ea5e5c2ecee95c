/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `answers`: answers and completions of a hostile weftd.
 * FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_answers_begin();
	CU_ASSERT_TRUE(fuzz_replay("answers", fuzz_answers) > 0);
}

UT_MAIN("fuzz/answers", UT(corpus))
