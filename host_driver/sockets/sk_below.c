/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the libraries below apart from the program: moves their descriptors above the program's
 * range, and runs their threads inside (sk_enter()).
 *
 * A program expects the lowest free descriptor, relies on low numbers for select(2), and may, as
 * shells do, use numbers that it was never given. Descriptors of the libraries are therefore moved
 * up when they are created. If the limit of descriptors leaves no room, they stay. Calls the C
 * library.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host_driver/sockets/sk.h"

enum {
	HIGHEST = 4096,
};

/* ---- descriptors ----------------------------------------------------------------------------- */

/* The lower half of the descriptor range is reserved for the program. */
static int lowest(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > HIGHEST)
		return HIGHEST;
	return (int)limit.rlim_cur / 2;
}

int sk_high(int fd)
{
	int saved = errno, flags, high;

	if (fd < 0 || sk_outside())
		return fd;
	flags = REAL->fcntl(fd, F_GETFD);
	high =
	    REAL->fcntl(fd, flags >= 0 && flags & FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, lowest());
	errno = saved;
	if (high < 0)
		return fd;
	(void)REAL->close(fd);
	return high;
}

void sk_high_received(struct msghdr *msg)
{
	if (sk_outside())
		return;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(fd)) <= c->cmsg_len; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			fd = sk_high(fd);
			memcpy(CMSG_DATA(c) + i * sizeof(fd), &fd, sizeof(fd));
		}
	}
}

SK_API int eventfd(unsigned int value, int flags)
{
	return sk_high(REAL->eventfd(value, flags));
}

SK_API int epoll_create1(int flags)
{
	return sk_high(REAL->epoll_create1(flags));
}

/* ---- threads --------------------------------------------------------------------------------- */

struct start {
	void *(*run)(void *);
	void *arg;
};

static void *run_inside(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	sk_enter();
	return s.run(s.arg);
}

SK_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	struct start *s;
	int err;

	if (sk_outside())
		return REAL->pthread_create(thread, attr, run, arg);
	s = malloc(sizeof(*s));
	if (!s)
		return EAGAIN;
	*s = (struct start){run, arg};
	err = REAL->pthread_create(thread, attr, run_inside, s);
	if (err)
		free(s);
	return err;
}
