/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flips bits of the memory that a process shares with its NIC, from outside, while the process
 * works: the header of the BAR, doorbells, rings, queues, records, the NIC's own words.
 *
 *	bitflip PID SEED FLIPS
 *
 * The targets are the resident pages of the process's mappings of "weft-bar". Most bits are
 * restored soon after, so that the process goes on and reaches more of the NIC's code. Ends after
 * FLIPS flips (0: never), or when the process has ended; prints the number of flips. Needs root.
 * proc(5): mem, maps, pagemap.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/prng.h"

enum {
	PAGE = 4096,
	WORDS = PAGE / 8,
	PAGES_MAX = 1 << 16,
	LOOK_EVERY = 512, /* flips between searches for pages */
	LOOK_WORDS = 16,  /* tries in a page to find a word in use */
	BACK_US_MAX = 20,
	LOOKS_MAX = 10000, /* waits of 1 ms for a process that never attaches */
};

static uint64_t page[PAGES_MAX];
static uint32_t num_pages;
static uint64_t seed;
static int mem_fd, pagemap_fd;

static void look_at(uint64_t start, uint64_t end)
{
	static uint64_t entry[WORDS];

	for (uint64_t at = start; at < end; at += (uint64_t)WORDS * PAGE) {
		ssize_t n = pread(pagemap_fd, entry, sizeof(entry), (off_t)(at / PAGE * 8));

		for (ssize_t i = 0; i < n / 8 && at + (uint64_t)i * PAGE < end; i++)
			if (entry[i] >> 63 && num_pages < PAGES_MAX)
				page[num_pages++] = at + (uint64_t)i * PAGE;
	}
}

/* Finds the resident pages; false: the process has ended. */
static bool look(const char *maps_path)
{
	FILE *maps = fopen(maps_path, "re");
	char line[512];
	uint64_t start, end;

	num_pages = 0;
	if (!maps)
		return false;
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:weft-bar") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
			look_at(start, end);
	fclose(maps);
	return true;
}

/* Draws a word of a page, a nonzero one if a few tries find one. */
static uint64_t choose(void)
{
	uint64_t at = 0, word = 0;
	uint64_t in = page[prng_next(&seed) % num_pages];

	for (uint32_t i = 0; i < LOOK_WORDS && !word; i++) {
		at = in + prng_next(&seed) % WORDS * 8;
		if (pread(mem_fd, &word, sizeof(word), (off_t)at) != sizeof(word))
			return 0;
	}
	return at;
}

static bool flip(uint64_t at, uint64_t bits)
{
	uint64_t word;

	if (pread(mem_fd, &word, sizeof(word), (off_t)at) != sizeof(word))
		return false;
	word ^= bits;
	return pwrite(mem_fd, &word, sizeof(word), (off_t)at) == sizeof(word);
}

static int open_of(const char *pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "bitflip: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	char maps_path[64];
	uint64_t flips, done = 0, tries = 0;
	uint32_t looks = 0;

	if (argc != 4) {
		fputs("bitflip PID SEED FLIPS\n", stderr);
		return 2;
	}
	snprintf(maps_path, sizeof(maps_path), "/proc/%s/maps", argv[1]);
	mem_fd = open_of(argv[1], "mem", O_RDWR);
	pagemap_fd = open_of(argv[1], "pagemap", O_RDONLY);
	seed = strtoull(argv[2], NULL, 0);
	flips = strtoull(argv[3], NULL, 0);
	while (!flips || done < flips) {
		uint64_t at, bits;

		if (tries++ % LOOK_EVERY == 0 || !num_pages) {
			if (!look(maps_path))
				break;
			/* The process has not attached yet, or is about to end. */
			if (!num_pages) {
				usleep(1000);
				if (++looks > LOOKS_MAX)
					break;
				continue;
			}
		}
		at = choose();
		bits = UINT64_C(1) << prng_next(&seed) % 64;
		if (!at || !flip(at, bits))
			break;
		done++;
		if (prng_next(&seed) % 16) {
			usleep((useconds_t)(prng_next(&seed) % BACK_US_MAX));
			if (!flip(at, bits))
				break;
		}
	}
	printf("%" PRIu64 " bits flipped\n", done);
	return 0;
}
