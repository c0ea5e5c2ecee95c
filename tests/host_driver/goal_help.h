/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for the tests of libgoal's formats: schedules from strings and back, compared, and
 * deliberately damaged files. Used by goal_*_ut.c.
 */
#ifndef WEFT_TESTS_GOAL_HELP_H
#define WEFT_TESTS_GOAL_HELP_H

#include "host_driver/goal/file/goal_text.h"

/* Reads from memory of exactly these bytes, so that a sanitizer detects reads beyond them. */
int help_read(const void *data, size_t bytes, struct goal_set *set, struct goal_error *err);
/* As help_read() of a string; it must succeed. */
void help_read_ok(const char *text, struct goal_set *set);
/* Returns its text, which the caller frees. */
char *help_write(const struct goal_set *set);
/* Returns the contents of tests/golden/goal/NAME, which the caller frees. */
char *help_golden(const char *name);
/* True if two sets are equal in everything but lines. */
bool help_equal(const struct goal_set *a, const struct goal_set *b);

/* Returns the next number of a seeded sequence (xorshift). */
uint64_t help_random(uint64_t *seed);
/*
 * Reads every prefix of data, and num mutations of it. A schedule that was read without an error
 * must be equal after writing and reading its text. Returns how many were.
 */
unsigned int help_torture(const void *data, size_t bytes, unsigned int num, uint64_t seed);

#endif /* WEFT_TESTS_GOAL_HELP_H */
