/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process whose registered memory must stay untouched: fills memory that weftd maps, prints
 * "ready", waits until the writer of FIFO closes it, and checks every byte. usage: memif_canary NIC
 * FIFO. Exit status 0: no byte has changed. Run by memif_stranger.sh.
 */
#include "tests/int/host.h"

#include <fcntl.h>

enum {
	CANARY_BYTES = 64 << 20,
};

static uint64_t word(uint64_t at)
{
	return (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

int main(int argc, char **argv)
{
	struct host_end end = {0};
	uint64_t *mem;
	int fifo;
	char c;

	host_check(argc == 3);
	host_open(&end, argv[1], CANARY_BYTES);
	host_check(end.mr->mapped);
	mem = (void *)end.mem;
	for (uint64_t i = 0; i < CANARY_BYTES / 8; i++)
		mem[i] = word(i);
	puts("ready");
	fflush(stdout);
	fifo = open(argv[2], O_RDONLY);
	host_check(fifo >= 0);
	while (read(fifo, &c, 1) > 0)
		continue;
	for (uint64_t i = 0; i < CANARY_BYTES / 8; i++)
		if (mem[i] != word(i))
			host_die("byte %llu of the memory was overwritten",
				 (unsigned long long)(i * 8));
	host_close(&end);
	return 0;
}
