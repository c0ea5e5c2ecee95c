/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See sk_calls.h. Plain calls of the C library.
 */
#include "tests/clients/sk_calls.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

struct sockaddr_in server = {.sin_family = AF_INET};

int listener(const char *ip)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	socklen_t len = sizeof(to);

	to.sin_addr = server.sin_addr;
	CHECK(!ip || inet_pton(AF_INET, ip, &to.sin_addr) == 1);
	CHECK(fd >= 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	CHECK(listen(fd, 64) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&to, &len) == 0 && to.sin_port);
	server.sin_port = to.sin_port;
	return fd;
}

int client(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&server, sizeof(server)) == 0);
	return fd;
}

void pair(int listen_fd, int fd[2])
{
	struct sockaddr_in a, b;
	socklen_t len = sizeof(a);

	fd[0] = client();
	fd[1] = accept(listen_fd, (struct sockaddr *)&a, &len);
	CHECK(fd[1] >= 0 && len == sizeof(a));
	CHECK(getsockname(fd[0], (struct sockaddr *)&b, &len) == 0);
	CHECK(a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr);
	CHECK(getpeername(fd[0], (struct sockaddr *)&b, &len) == 0);
	CHECK(b.sin_port == server.sin_port && b.sin_addr.s_addr == server.sin_addr.s_addr);
}

short poll_one(int fd, short events, int ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	CHECK(poll(&p, 1, ms) >= 0);
	return p.revents;
}

void expect(int fd, const char *text)
{
	char buf[100];
	size_t bytes = strlen(text);

	CHECK(recv(fd, buf, bytes, MSG_WAITALL) == (ssize_t)bytes);
	CHECK(memcmp(buf, text, bytes) == 0);
}
