/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_scribble SECONDS [SEED]: see scribble.c. The seed is printed first; it repeats each thread's
 * actions, not how they interleave. fuzz.sh runs it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/fuzz/scribble.h"

int main(int argc, char **argv)
{
	struct scribble_result r;
	uint64_t seed = (uint64_t)time(NULL);

	if (argc < 2 || argc > 3 || atoi(argv[1]) < 1) {
		fprintf(stderr, "usage: %s SECONDS [SEED]\n", argv[0]);
		return 2;
	}
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	r = scribble(seed, (uint32_t)atoi(argv[1]));
	printf("%llu turns, %llu messages right, %llu strikes, %llu deaths\n",
	       (unsigned long long)r.turns, (unsigned long long)r.messages,
	       (unsigned long long)r.words, (unsigned long long)r.lives);
	return 0;
}
