/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors whose close() takes long delay only their own user's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/client/fd_drop.h"
#include "lib/clock.h"
#include "tests/ut.h"

enum {
	LIMIT_MS = 20000,
	SLOW = 70,
	SLOW_USER = 4242,
	OTHER_USER = 4243,
	BLOCK_BYTES = 65536,
};

static int peers[SLOW];

/* A socket that lingers for an hour; its peer, which never reads, into *peer. */
static int lingering(int *peer)
{
	static char block[BLOCK_BYTES];
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger linger = {1, 3600};
	const int small = 4096;
	socklen_t bytes = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	if (bind(listener, (struct sockaddr *)&addr, bytes) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &bytes) ||
	    connect(fd, (struct sockaddr *)&addr, bytes)) {
		close(listener);
		return -1;
	}
	*peer = accept(listener, NULL, NULL);
	close(listener);
	while (send(fd, block, sizeof(block), MSG_DONTWAIT) > 0)
		;
	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) ? -1 : fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Waits; the limit ends a hang. */
static bool closes(int fd)
{
	uint64_t end_ms = clock_now_ms() + LIMIT_MS;

	while (is_open(fd) && clock_now_ms() < end_ms)
		usleep(1000);
	return !is_open(fd);
}

static void test_memory(void)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	fd_drop_of(fd, SLOW_USER);
	CU_ASSERT_FALSE(is_open(fd));
	fd_drop(-1);
}

static void test_slow(void)
{
	int fds[2];

	for (int i = 0; i < SLOW; i++) {
		int fd = lingering(&peers[i]);

		CU_ASSERT_TRUE_FATAL(fd >= 0);
		if (i < FD_DROP_OWED)
			CU_ASSERT_FALSE(fd_drop_owed(SLOW_USER));
		fd_drop_of(fd, SLOW_USER);
	}
	for (uint64_t end_ms = clock_now_ms() + LIMIT_MS;
	     !fd_drop_owed(SLOW_USER) && clock_now_ms() < end_ms;)
		usleep(1000);
	CU_ASSERT_TRUE(fd_drop_owed(SLOW_USER));
	CU_ASSERT_FALSE(fd_drop_owed(OTHER_USER));
	for (int i = 0; i < 20; i++) {
		CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
		fd_drop_of(fds[0], OTHER_USER);
		fd_drop(fds[1]);
		CU_ASSERT_TRUE(closes(fds[0]));
		CU_ASSERT_TRUE(closes(fds[1]));
	}
	/* Once their peers are closed, all of them are closed. */
	for (int i = 0; i < SLOW; i++)
		close(peers[i]);
	for (uint64_t end_ms = clock_now_ms() + LIMIT_MS;
	     fd_drop_owed(SLOW_USER) && clock_now_ms() < end_ms;)
		usleep(1000);
	CU_ASSERT_FALSE(fd_drop_owed(SLOW_USER));
}

UT_MAIN("dpdk_app/fd_drop", UT(test_memory), UT(test_slow))
