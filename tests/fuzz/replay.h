/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the kept inputs of a fuzz target once each, without libFuzzer: the unit tests of this
 * folder, in the root of the tree.
 */
#ifndef WEFT_TESTS_FUZZ_REPLAY_H
#define WEFT_TESTS_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Runs every file of tests/fuzz/corpus/<target>, or the one that FUZZ_INPUT in the environment
 * names. Prints its name first, so that a find has a name. Returns the number of files.
 */
unsigned int fuzz_replay(const char *target, void (*run)(const uint8_t *data, size_t bytes));

#endif /* WEFT_TESTS_FUZZ_REPLAY_H */
