/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that rings for its NIC's core from one CPU by the descriptors of all CPUs, as often as
 * it can, and has no work:
 *
 *	rings NIC CPU SECONDS
 *
 * It stays on CPU. Before and beside that a child of it on the next CPU computes for SECONDS each.
 * Prints "ringing" when it begins, and at its end how much the child computed beside the rings, in
 * thousandths of how much before, and the rings of a second.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/int/host.h"

enum {
	FDS_MAX = 16,
};

static int fd[FDS_MAX];
static int num_fds;

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	host_check(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Begins to compute on the CPU; *turns is what it has done when it has ended. */
static pid_t computes(int cpu, uint64_t ns, volatile uint64_t *turns)
{
	pid_t pid = fork();
	uint64_t until_ns = now_ns() + ns;

	host_check(pid >= 0);
	if (pid)
		return pid;
	stay_on(cpu);
	for (*turns = 0; now_ns() < until_ns;)
		(*turns)++;
	_exit(0);
}

int main(int argc, char **argv)
{
	volatile uint64_t *turns =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t alone, rings = 0, one = 1, ns;
	struct host_end end = {0};
	int cpu, status;
	pid_t pid;

	if (argc != 4) {
		fputs("rings NIC CPU SECONDS\n", stderr);
		return 2;
	}
	cpu = atoi(argv[2]);
	ns = (uint64_t)atoi(argv[3]) * 1000000000;
	host_check(turns != MAP_FAILED);
	host_open(&end, argv[1], 4096);
	num_fds = host_eventfds(fd, FDS_MAX);
	waitpid(computes(cpu + 1, ns, turns), &status, 0);
	alone = *turns;
	pid = computes(cpu + 1, ns, turns);
	stay_on(cpu);
	puts("ringing");
	fflush(stdout);
	while (!waitpid(pid, &status, WNOHANG))
		for (int i = 0; i < 64; i++) {
			for (int k = 0; k < num_fds; k++)
				(void)!write(fd[k], &one, sizeof(one));
			rings++;
		}
	printf("%llu of a thousand, %llu rings a second\n",
	       (unsigned long long)(*turns * 1000 / alone),
	       (unsigned long long)(rings * 1000000000 / ns));
	return 0;
}
