/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the files of a corpus, one after another; see replay.h.
 */
#include "tests/fuzz/replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	INPUT_MAX = 1 << 16,
};

static void run_file(const char *path, void (*run)(const uint8_t *data, size_t bytes))
{
	uint8_t *data = malloc(INPUT_MAX), *exact;
	FILE *f = fopen(path, "rb");
	size_t bytes;

	if (!f || !data) {
		perror(path);
		exit(1);
	}
	printf("  %s\n", path);
	fflush(stdout);
	bytes = fread(data, 1, INPUT_MAX, f);
	fclose(f);
	/* A buffer of the exact size, so that the sanitizer detects reads beyond it. */
	exact = realloc(data, bytes ? bytes : 1);
	if (!exact)
		exit(1);
	run(exact, bytes);
	free(exact);
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

unsigned int fuzz_replay(const char *target, void (*run)(const uint8_t *data, size_t bytes))
{
	const char *one = getenv("FUZZ_INPUT");
	struct dirent **list;
	char path[512];
	int i, n;

	if (one) {
		run_file(one, run);
		return 1;
	}
	snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", target);
	n = scandir(path, &list, is_file, alphasort);
	if (n < 0) {
		perror(path);
		return 0;
	}
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "tests/fuzz/corpus/%s/%s", target, list[i]->d_name);
		run_file(path, run);
		free(list[i]);
	}
	free(list);
	return (unsigned int)n;
}
