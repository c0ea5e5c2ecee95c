/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kept inputs of the fuzz target `files`: schedules in files. FUZZ_INPUT=FILE runs one.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

static void corpus(void)
{
	fuzz_files_begin();
	CU_ASSERT_TRUE(fuzz_replay("files", fuzz_files) > 0);
}

UT_MAIN("fuzz/files", UT(corpus))
