/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of the programs that measure the kernel; each is one file, so the code is here. Included
 * by block_base.c, socket_base.c and udp_base.c.
 */
#ifndef WEFT_BENCH_BASE_H
#define WEFT_BENCH_BASE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline _Noreturn void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

/* Moves this process's further sockets to the network namespace of that name ("ip netns"). */
static inline void enter(const char *ns)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

#endif /* WEFT_BENCH_BASE_H */
