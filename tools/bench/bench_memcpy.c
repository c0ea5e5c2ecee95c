/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What weft's large writes are compared with: one core copying one MiB again and again from one
 * buffer to another. Started by tools/bench/bench.py.
 *
 *	bench_memcpy BYTES SECONDS
 *
 * Prints one JSON object. Exit status 0, 1 failure, 2 usage.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	size_t bytes = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	double seconds = argc == 3 ? strtod(argv[2], NULL) : 0, start, end;
	unsigned long long count = 0;
	uint8_t *from, *to;

	if (bytes < 4096 || bytes > 1ul << 30 || !(seconds > 0)) {
		fprintf(stderr, "usage: bench_memcpy BYTES (4096 to 2^30) SECONDS\n");
		return 2;
	}
	from = aligned_alloc(4096, (bytes + 4095) & ~4095ul);
	to = aligned_alloc(4096, (bytes + 4095) & ~4095ul);
	if (!from || !to) {
		fprintf(stderr, "bench_memcpy: no memory for %zu bytes\n", bytes);
		return 1;
	}
	memset(from, 1, bytes);
	memset(to, 2, bytes);
	start = now_s();
	do {
		/* A byte that changes, so that no copy can be left out. */
		from[count % bytes] = (uint8_t)count;
		memcpy(to, from, bytes);
		__asm__ volatile("" : : "r"(to) : "memory");
		count++;
		end = now_s();
	} while (end - start < seconds);
	if (memcmp(from, to, bytes)) {
		fprintf(stderr, "bench_memcpy: the copy is wrong\n");
		return 1;
	}
	printf("{\"copies\": %llu, \"gbps\": %.6f}\n", count,
	       (double)count * (double)bytes * 8e-9 / (end - start));
	free(from);
	free(to);
	return 0;
}
