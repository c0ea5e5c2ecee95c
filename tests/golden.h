/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the files of tests/golden: bytes that were computed by hand from the standards, or cut from
 * captures of other implementations, never printed by weft itself.
 *
 * A file holds sections. "= name" starts one; hex digits in pairs follow, blanks and line ends
 * wherever they help the eye; # starts a comment. Unit tests run from the root of the tree.
 */
#ifndef WEFT_TESTS_GOLDEN_H
#define WEFT_TESTS_GOLDEN_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A test without its golden bytes must not pass: end the program. */
_Noreturn static inline void golden_die(const char *path, const char *name, const char *why)
{
	fprintf(stderr, "%s: section '%s': %s\n", path, name, why);
	exit(1);
}

/*
 * Fills out with section name of file (relative to tests/golden) and returns its length in
 * bytes. Ends the program if the section is missing, malformed, empty or longer than max.
 */
static inline size_t golden_load(const char *file, const char *name, uint8_t *out, size_t max)
{
	char path[256], line[512], title[64];
	int inside = 0;
	size_t bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "tests/golden/%s", file);
	f = fopen(path, "r");
	if (!f)
		golden_die(path, name, "cannot be read; run tests from the root of the tree");
	while (fgets(line, sizeof(line), f)) {
		const char *p = line;

		line[strcspn(line, "#\n")] = '\0';
		if (sscanf(line, " = %63s", title) == 1) {
			if (inside)
				break;
			inside = !strcmp(title, name);
			continue;
		}
		while (inside) {
			char pair[3];

			while (isspace((unsigned char)*p))
				p++;
			if (!*p)
				break;
			if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]))
				golden_die(path, name, "not pairs of hex digits");
			if (bytes == max)
				golden_die(path, name, "longer than the test expects");
			memcpy(pair, p, 2);
			pair[2] = '\0';
			out[bytes++] = (uint8_t)strtoul(pair, NULL, 16);
			p += 2;
		}
	}
	fclose(f);
	if (!bytes)
		golden_die(path, name, "missing or empty");
	return bytes;
}

#endif /* WEFT_TESTS_GOLDEN_H */
