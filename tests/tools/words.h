/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command line of one string, for tests of parsers.
 */
#ifndef WEFT_TESTS_TOOLS_WORDS_H
#define WEFT_TESTS_TOOLS_WORDS_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
	WORDS_MAX = 40,
};

/* Words of the last words_of(), valid until the next one. */
struct words {
	char text[512];
	char *argv[WORDS_MAX + 1];
	int argc;
};

/* Splits line, behind the name of a program. */
static inline struct words *words_of(const char *line)
{
	static struct words w;
	char *rest, *word;

	assert(strlen(line) < sizeof(w.text));
	strcpy(w.text, line);
	w.argv[0] = "program";
	w.argc = 1;
	for (word = strtok_r(w.text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		assert(w.argc < WORDS_MAX);
		w.argv[w.argc++] = word;
	}
	w.argv[w.argc] = NULL;
	return &w;
}

#endif /* WEFT_TESTS_TOOLS_WORDS_H */
