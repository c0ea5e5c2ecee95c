/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entry points for libFuzzer. Compiled once for each target, with FUZZ_TARGET its name and
 * FUZZ_MUTATE the mutator of its inputs, if it has one.
 *
 * Calls the functions of fuzz.h.
 */
#include "tests/fuzz/fuzz.h"

#define CONCAT(a, b)       a##b
#define TARGET(name)       CONCAT(fuzz_, name)
#define BEGIN(name)        CONCAT(name, _begin)
#define TARGET_BEGIN(name) BEGIN(name)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	TARGET_BEGIN(TARGET(FUZZ_TARGET))();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	TARGET(FUZZ_TARGET)(data, bytes);
	return 0;
}

#ifdef FUZZ_MUTATE
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned int seed)
{
	return FUZZ_MUTATE(data, bytes, max, seed, LLVMFuzzerMutate);
}
#endif
