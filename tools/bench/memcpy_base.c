/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repeated memcpy of 1 MiB: the most that one core could move.
 *
 *	memcpy_base SECONDS	prints Gb/s
 *
 * The pair of buffers changes with each copy, as the buffers of a stream of messages do (four of
 * them, like weft-bench's window of 1 MiB messages). tools/bench/bench.py runs it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"

enum {
	BYTES = 1 << 20,
	BUFFERS = 4,
};

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, start, end;
	uint8_t *from = aligned_alloc(4096, BYTES * BUFFERS);
	uint8_t *to = aligned_alloc(4096, BYTES * BUFFERS);
	uint64_t copies = 0;

	if (!from || !to)
		return 1;
	memset(from, 1, BYTES * BUFFERS);
	memset(to, 2, BYTES * BUFFERS);
	start = clock_now_s();
	do {
		for (int i = 0; i < 64; i++, copies++) {
			memcpy(to + copies % BUFFERS * BYTES, from + copies % BUFFERS * BYTES,
			       BYTES);
			/* The compiler must not drop a copy. */
			__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
		}
		end = clock_now_s();
	} while (end - start < seconds);
	printf("%.3f\n", (double)copies * BYTES * 8 / 1e9 / (end - start));
	free(from);
	free(to);
	return 0;
}
