/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends weftd descriptors whose close() takes as long as this process likes: TCP sockets that
 * linger for an hour, since their peer, this process too, does not read the bytes left in them.
 * weftd has the last descriptor of each, so its close() waits.
 *
 *	fd_close SOCKET COUNT
 *
 * Prints "sent" once weftd has them, and waits to be killed. socket(7) SO_LINGER, unix(7)
 * SCM_RIGHTS.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared_defs/hw_cmd.h"

enum {
	HOUR_S = 3600,
	BLOCK_BYTES = 65536,
};

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* Makes a socket with bytes in it that its peer does not read. */
static int lingering(void)
{
	static char block[BLOCK_BYTES];
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger linger = {1, HOUR_S};
	socklen_t bytes = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	check(listener >= 0 && fd >= 0, "socket");
	check(!bind(listener, (struct sockaddr *)&addr, bytes) && !listen(listener, 1) &&
		  !getsockname(listener, (struct sockaddr *)&addr, &bytes),
	      "listen");
	check(!connect(fd, (struct sockaddr *)&addr, bytes) && accept(listener, NULL, NULL) >= 0,
	      "connect");
	while (send(fd, block, sizeof(block), MSG_DONTWAIT) > 0)
		;
	check(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), "SO_LINGER");
	close(listener);
	return fd;
}

static int attach(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	check(sock >= 0 && strlen(path) < sizeof(addr.sun_path), "socket");
	strcpy(addr.sun_path, path);
	check(!connect(sock, (struct sockaddr *)&addr, sizeof(addr)), path);
	return sock;
}

static void give(int sock, int fd)
{
	/* No command of weftd takes such a descriptor. */
	const struct hw_cmd cmd = {.op = HW_CMD_QUERY_DEVICE};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)&cmd, sizeof(cmd)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes)};

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	/* This process has closed its own before weftd receives them. */
	check(sendmsg(sock, &mh, 0) == sizeof(cmd), "sendmsg");
	close(fd);
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? strtol(argv[2], NULL, 10) : 0;

	if (n < 1) {
		fputs("usage: fd_close SOCKET COUNT\n", stderr);
		return 2;
	}
	while (n--)
		give(attach(argv[1]), lingering());
	puts("sent");
	fflush(stdout);
	for (;;)
		pause();
}
