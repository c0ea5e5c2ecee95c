/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A refusal by a parser of words (coalesce_words_ut.c, fault_words_ut.c): one line, which says what
 * is wrong.
 */
#ifndef WEFT_TESTS_LIB_WORDS_REFUSE_H
#define WEFT_TESTS_LIB_WORDS_REFUSE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/ut.h"

/* parsed: of the text, with this error, of which part is expected. */
static inline void words_refuse(bool parsed, const char *text, const char *error, const char *part)
{
	CU_ASSERT_FALSE(parsed);
	CU_ASSERT_PTR_NULL(strchr(error, '\n'));
	CU_ASSERT_PTR_NOT_NULL(strstr(error, part));
	if (!strstr(error, part))
		fprintf(stderr, "\"%s\": \"%s\" has no \"%s\"\n", text, error, part);
}

#endif /* WEFT_TESTS_LIB_WORDS_REFUSE_H */
