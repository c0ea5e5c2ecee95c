/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of temporary files and folders of tests, below $TMPDIR (default: /tmp).
 *
 * The names are short and every user may reach the folder, which the folder of a test's output
 * (WEFT_TMP) does not promise: some tests bind sockets there or change their user.
 */
#ifndef WEFT_TESTS_TMP_H
#define WEFT_TESTS_TMP_H

#include <stdio.h>
#include <stdlib.h>

enum {
	TMP_PATH_BYTES = 64,
};

/* Returns the folder that temporary files lie in. */
static inline const char *tmp_root(void)
{
	const char *root = getenv("TMPDIR");

	return root && *root ? root : "/tmp";
}

/* Writes the template of a name for mkstemp() or mkdtemp(). Ends the test if it is too long. */
static inline void tmp_template(char path[TMP_PATH_BYTES])
{
	int n = snprintf(path, TMP_PATH_BYTES, "%s/weft-ut-XXXXXX", tmp_root());

	if (n >= TMP_PATH_BYTES) {
		fprintf(stderr, "TMPDIR=%s: too long, at most %d characters\n", tmp_root(),
			TMP_PATH_BYTES - (int)sizeof("/weft-ut-XXXXXX"));
		exit(1);
	}
}

/* Creates an empty file of mode 0600. Returns its descriptor and its path; the caller removes it.
 */
static inline int tmp_file(char path[TMP_PATH_BYTES])
{
	tmp_template(path);
	return mkstemp(path);
}

/* Creates a folder of mode 0700, which the caller removes. Returns path, or NULL with errno. */
static inline char *tmp_folder(char path[TMP_PATH_BYTES])
{
	tmp_template(path);
	return mkdtemp(path);
}

#endif /* WEFT_TESTS_TMP_H */
