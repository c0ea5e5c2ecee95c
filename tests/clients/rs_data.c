/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsockets, call by call: a server and a client in one process, over the NIC with the given
 * address; or one side of a stream in both directions at once, with the other side in another
 * process.
 *
 *	rs_data ADDRESS [server|client|dies]
 *
 * Streams of random sizes in both directions at once, half-closed connections, errors, non-blocking
 * calls, datagrams up to the longest. dies: the errors of sockets once weftd has been killed. Run
 * by tests/clients/rsockets.sh. Prints failures; exit status 0 if there were none.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/clients/stream_data.h"

enum {
	PORT = 7000,
	STREAM_BYTES = 30000000,
	LONGEST = 300000
};

static struct sockaddr_in server = {.sin_family = AF_INET};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static int listener(int port)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), on = 1;

	CHECK(fd >= 0);
	server.sin_port = htons((uint16_t)port);
	CHECK(rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(rbind(fd, (struct sockaddr *)&server, sizeof(server)) == 0);
	CHECK(rlisten(fd, 8) == 0);
	return fd;
}

/* Both ends of a connection. */
static void pair(int listen_fd, int fd[2])
{
	struct sockaddr_in a, b;
	socklen_t len = sizeof(a);

	fd[0] = rsocket(AF_INET, SOCK_STREAM, 0);
	CHECK(fd[0] >= 0);
	CHECK(rconnect(fd[0], (struct sockaddr *)&server, sizeof(server)) == 0);
	fd[1] = raccept(listen_fd, (struct sockaddr *)&a, &len);
	CHECK(fd[1] >= 0 && len == sizeof(a));
	CHECK(rgetsockname(fd[0], (struct sockaddr *)&b, &len) == 0);
	CHECK(a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr);
	CHECK(rgetpeername(fd[0], (struct sockaddr *)&b, &len) == 0);
	CHECK(b.sin_port == server.sin_port && b.sin_addr.s_addr == server.sin_addr.s_addr);
}

struct job {
	int fd, way;
};

static void *sender(void *arg)
{
	struct job *j = arg;
	uint32_t seed = (uint32_t)j->way + 1;
	uint8_t *buf = malloc(LONGEST);
	uint64_t sent = 0;

	CHECK(buf);
	while (sent < STREAM_BYTES) {
		uint32_t r = next_random(&seed), n = r % 3 ? r % 2000 + 1 : r % LONGEST + 1;
		ssize_t got;

		if (n > STREAM_BYTES - sent)
			n = (uint32_t)(STREAM_BYTES - sent);
		for (uint32_t i = 0; i < n; i++)
			buf[i] = byte_at(sent + i, j->way);
		got = rsend(j->fd, buf, n, 0);
		CHECK(got == (ssize_t)n);
		sent += n;
	}
	CHECK(rshutdown(j->fd, SHUT_WR) == 0);
	CHECK(rsend(j->fd, buf, 1, 0) == -1 && errno == EPIPE);
	free(buf);
	return NULL;
}

static void *receiver(void *arg)
{
	struct job *j = arg;
	uint32_t seed = (uint32_t)j->way + 77;
	uint8_t *buf = malloc(LONGEST);
	uint64_t got = 0;
	ssize_t n;

	CHECK(buf);
	for (;;) {
		uint32_t want = next_random(&seed) % LONGEST + 1;

		n = rrecv(j->fd, buf, want, want % 7 ? 0 : MSG_WAITALL);
		CHECK(n >= 0);
		if (n == 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] != byte_at(got + (uint64_t)i, j->way)) {
				fprintf(stderr, "byte %llu is wrong\n", (unsigned long long)got);
				exit(1);
			}
		got += (uint64_t)n;
	}
	CHECK(got == STREAM_BYTES);
	free(buf);
	return NULL;
}

/* Two threads at each end. */
static void both_ways(int listen_fd)
{
	pthread_t t[4];
	struct job j[4];
	int fd[2];

	pair(listen_fd, fd);
	for (int i = 0; i < 4; i++) {
		j[i] = (struct job){fd[(i / 2 + i) % 2], i / 2};
		CHECK(pthread_create(&t[i], NULL, i % 2 ? receiver : sender, &j[i]) == 0);
	}
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(rclose(fd[0]) == 0 && rclose(fd[1]) == 0);
}

/* One side of both_ways(); the client retries until the server listens. */
static void one_side(bool is_server)
{
	pthread_t t[2];
	struct job j[2];
	int fd, listen_fd = -1;

	if (is_server) {
		listen_fd = listener(PORT);
		fd = raccept(listen_fd, NULL, NULL);
		CHECK(fd >= 0 && rclose(listen_fd) == 0);
	} else {
		server.sin_port = htons(PORT);
		fd = rsocket(AF_INET, SOCK_STREAM, 0);
		for (int i = 0; rconnect(fd, (struct sockaddr *)&server, sizeof(server)) < 0; i++) {
			CHECK(errno == ECONNREFUSED && i < 300);
			usleep(100000);
		}
	}
	for (int i = 0; i < 2; i++) {
		j[i] = (struct job){fd, is_server ^ i};
		CHECK(pthread_create(&t[i], NULL, i ? receiver : sender, &j[i]) == 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(rclose(fd) == 0);
}

static short poll_one(int fd, short events, int ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	CHECK(rpoll(&p, 1, ms) >= 0);
	return p.revents;
}

/* A side that stopped sending still receives; data sent before a close arrives. */
static void half_closed(int listen_fd)
{
	char buf[100];
	int fd[2];

	pair(listen_fd, fd);
	CHECK(rsend(fd[0], "question", 8, 0) == 8);
	CHECK(rshutdown(fd[0], SHUT_WR) == 0);
	CHECK(rrecv(fd[1], buf, 8, MSG_WAITALL | MSG_PEEK) > 0);
	CHECK(rrecv(fd[1], buf, sizeof(buf), MSG_WAITALL) == 8 && memcmp(buf, "question", 8) == 0);
	CHECK(rrecv(fd[1], buf, 1, 0) == 0);
	CHECK(poll_one(fd[1], POLLIN | POLLRDHUP, 0) & POLLRDHUP);
	CHECK(rwrite(fd[1], "answer", 6) == 6);
	CHECK(rclose(fd[1]) == 0);
	CHECK(rread(fd[0], buf, sizeof(buf)) == 6 && memcmp(buf, "answer", 6) == 0);
	CHECK(rread(fd[0], buf, sizeof(buf)) == 0);
	CHECK(rclose(fd[0]) == 0);
}

static void errors(int listen_fd)
{
	struct timeval tv = {.tv_usec = 50000};
	struct linger now = {.l_onoff = 1};
	struct sockaddr_in nobody = server;
	char buf[8];
	int fd[2], lone = rsocket(AF_INET, SOCK_STREAM, 0), i;

	nobody.sin_port = htons(PORT + 99);
	CHECK(rconnect(lone, (struct sockaddr *)&nobody, sizeof(nobody)) == -1);
	CHECK(errno == ECONNREFUSED);
	CHECK(rsend(lone, buf, 1, 0) == -1 && errno == ENOTCONN);
	CHECK(rclose(lone) == 0);
	CHECK(rclose(lone) == -1 && errno == EBADF);
	pair(listen_fd, fd);
	CHECK(rsetsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	CHECK(rrecv(fd[0], buf, 1, 0) == -1 && errno == EAGAIN);
	CHECK(rconnect(fd[0], (struct sockaddr *)&server, sizeof(server)) == -1);
	CHECK(errno == EISCONN);
	/* a peer that disappears without closing */
	CHECK(rsetsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
	CHECK(rclose(fd[1]) == 0);
	CHECK(poll_one(fd[0], POLLIN, 10000) & POLLIN);
	CHECK(rrecv(fd[0], buf, 1, 0) == -1 && errno == ECONNRESET);
	CHECK(rrecv(fd[0], buf, 1, 0) == 0);
	CHECK(rsend(fd[0], buf, 1, 0) == -1 && errno == EPIPE);
	CHECK(rclose(fd[0]) == 0);
	/* a peer that closed */
	pair(listen_fd, fd);
	CHECK(rsend(fd[1], buf, 1, 0) == 1 && rclose(fd[1]) == 0);
	CHECK(poll_one(fd[0], POLLIN, 10000) & POLLIN);
	usleep(100000);
	CHECK(!(poll_one(fd[0], POLLIN, 0) & POLLHUP));
	CHECK(rrecv(fd[0], buf, 1, 0) == 1 && rrecv(fd[0], buf, 1, 0) == 0);
	for (i = 0; i < 1000 && rsend(fd[0], buf, 1, 0) == 1; i++)
		usleep(1000);
	CHECK(i < 1000 && (errno == EPIPE || errno == ECONNRESET));
	CHECK(rclose(fd[0]) == 0);
}

static void without_blocking(int listen_fd)
{
	char *buf = calloc(1, LONGEST);
	int fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), peer, err, on = 1;
	socklen_t len = sizeof(err);
	uint64_t sent = 0, got = 0;
	ssize_t n;

	CHECK(buf && fd >= 0);
	CHECK(poll_one(listen_fd, POLLIN, 0) == 0);
	CHECK(rconnect(fd, (struct sockaddr *)&server, sizeof(server)) == -1);
	CHECK(errno == EINPROGRESS);
	CHECK(poll_one(fd, POLLOUT, 10000) == POLLOUT);
	CHECK(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && err == 0);
	CHECK(rsetsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
	CHECK(poll_one(listen_fd, POLLIN, 10000) == POLLIN);
	peer = raccept(listen_fd, NULL, NULL);
	CHECK(peer >= 0 && rfcntl(peer, F_SETFL, O_NONBLOCK) == 0);
	CHECK(rrecv(peer, buf, 1, 0) == -1 && errno == EAGAIN);
	while ((n = rsend(fd, buf, LONGEST, 0)) > 0)
		sent += (uint64_t)n;
	CHECK(n == -1 && errno == EAGAIN && sent > 0);
	CHECK(!(poll_one(fd, POLLOUT, 0) & POLLOUT));
	while (got < sent) {
		CHECK(poll_one(peer, POLLIN, 10000) == POLLIN);
		n = rrecv(peer, buf, LONGEST, 0);
		CHECK(n > 0);
		got += (uint64_t)n;
	}
	CHECK(poll_one(fd, POLLOUT, 10000) == POLLOUT);
	CHECK(rclose(fd) == 0 && rclose(peer) == 0);
	free(buf);
}

/* A message that could not be sent to the peer takes no place in its table. */
static void maps_when_full(const int fd[2], char *mem)
{
	char bytes[1000] = {0};
	ssize_t n;
	size_t sent = 0;

	CHECK(rfcntl(fd[0], F_SETFL, O_NONBLOCK) == 0);
	while ((n = rsend(fd[0], bytes, 1, 0)) > 0)
		sent += (size_t)n;
	CHECK(n == -1 && errno == EAGAIN);
	for (int i = 0; i < 4; i++)
		CHECK(riomap(fd[0], mem, 4096, PROT_WRITE, 0, 0) == -1 && errno == EAGAIN);
	while (sent) {
		n = rrecv(fd[1], bytes, sizeof(bytes), 0);
		CHECK(n > 0);
		sent -= (size_t)n;
	}
	CHECK(poll_one(fd[0], POLLOUT, 20000) & POLLOUT);
	CHECK(riomap(fd[0], mem, 4096, PROT_WRITE, 0, 0) == 0);
}

static void iomaps(int listen_fd)
{
	static char mem[100000], data[100000];
	int size = 2, fd[2];
	char byte = 0;

	CHECK(rsetsockopt(listen_fd, SOL_RDMA, RDMA_IOMAPSIZE, &size, sizeof(size)) == 0);
	pair(listen_fd, fd);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)byte_at(i, 3);
	/* the listener's side has a table: the other side maps memory for it */
	CHECK(riomap(fd[1], mem, sizeof(mem), PROT_WRITE, 0, 500) == -1);
	CHECK(riomap(fd[0], mem, sizeof(mem), PROT_WRITE, 0, 500) == 500);
	CHECK(rsend(fd[0], &byte, 1, 0) == 1 && rrecv(fd[1], &byte, 1, 0) == 1);
	CHECK(riowrite(fd[1], data, sizeof(data), 501, 0) == sizeof(data) - 1);
	CHECK(rsend(fd[1], &byte, 1, 0) == 1 && rrecv(fd[0], &byte, 1, 0) == 1);
	CHECK(mem[0] == 0 && memcmp(mem + 1, data, sizeof(data) - 1) == 0);
	CHECK(riounmap(fd[0], mem, sizeof(mem)) == 0);
	CHECK(rsend(fd[0], &byte, 1, 0) == 1 && rrecv(fd[1], &byte, 1, 0) == 1);
	CHECK(riowrite(fd[1], data, 1, 500, 0) == (size_t)-1 && errno == EINVAL);
	maps_when_full(fd, mem);
	CHECK(rclose(fd[0]) == 0 && rclose(fd[1]) == 0);
}

static void datagrams(void)
{
	static const size_t sizes[] = {0, 1, 992, 993, 1500, 9000, 65507};
	struct sockaddr_in from, mine;
	socklen_t len = sizeof(from);
	char *out = malloc(70000), *in = malloc(70000);
	int a = rsocket(AF_INET, SOCK_DGRAM, 0), b = rsocket(AF_INET, SOCK_DGRAM, 0);

	CHECK(a >= 0 && b >= 0 && in && out);
	server.sin_port = htons(PORT + 1);
	CHECK(rbind(b, (struct sockaddr *)&server, sizeof(server)) == 0);
	CHECK(rrecv(b, in, 10, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(out, (int)i + 1, sizes[i]);
		CHECK(rsendto(a, out, sizes[i], 0, (struct sockaddr *)&server, sizeof(server)) ==
		      (ssize_t)sizes[i]);
		CHECK(poll_one(b, POLLIN, 10000) == POLLIN);
		CHECK(rrecvfrom(b, in, 70000, 0, (struct sockaddr *)&from, &len) ==
		      (ssize_t)sizes[i]);
		CHECK(memcmp(in, out, sizes[i]) == 0);
	}
	CHECK(rsendto(a, out, 65508, 0, (struct sockaddr *)&server, sizeof(server)) == -1);
	CHECK(errno == EMSGSIZE);
	CHECK(rgetsockname(a, (struct sockaddr *)&mine, &len) == 0 &&
	      mine.sin_port == from.sin_port);
	/* back, to a connected socket; too long for the buffer */
	CHECK(rconnect(a, (struct sockaddr *)&server, sizeof(server)) == 0);
	CHECK(rsendto(b, "0123456789", 10, 0, (struct sockaddr *)&from, sizeof(from)) == 10);
	CHECK(rrecv(a, in, 4, 0) == 4 && memcmp(in, "0123", 4) == 0);
	CHECK(rclose(a) == 0 && rclose(b) == 0);
	free(in);
	free(out);
}

static void *reads(void *arg)
{
	char byte;

	(void)!rrecv(*(int *)arg, &byte, 1, 0);
	return NULL;
}

static void *polls(void *arg)
{
	(void)poll_one(*(int *)arg, POLLIN, -1);
	return NULL;
}

static void *accepts(void *arg)
{
	(void)raccept(*(int *)arg, NULL, NULL);
	return NULL;
}

/* Threads are cancelled while they wait: no list keeps them afterwards. */
static void cancelled(int listen_fd)
{
	void *(*const calls[])(void *) = {reads, polls, accepts};
	/* Far away in time. */
	const struct timeval limit = {.tv_sec = INT64_MAX / 2};
	int fd[2], more[2];
	pthread_t thread;
	char byte;
	void *end;

	pair(listen_fd, fd);
	CHECK(rsetsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
	for (int i = 0; i < 9; i++) {
		CHECK(pthread_create(&thread, NULL, calls[i % 3],
				     i % 3 == 2 ? &listen_fd : &fd[0]) == 0);
		usleep(10000); /* it has stopped spinning by then, or not */
		CHECK(pthread_cancel(thread) == 0);
		CHECK(pthread_join(thread, &end) == 0 && end == PTHREAD_CANCELED);
	}
	CHECK(rsend(fd[1], "x", 1, 0) == 1);
	CHECK(poll_one(fd[0], POLLIN, 20000) == POLLIN);
	CHECK(rrecv(fd[0], &byte, 1, 0) == 1 && byte == 'x');
	pair(listen_fd, more);
	for (int i = 0; i < 2; i++)
		CHECK(rclose(fd[i]) == 0 && rclose(more[i]) == 0);
}

static int on_port(void)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0), on = 1;

	CHECK(fd >= 0);
	CHECK(rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	CHECK(rbind(fd, (struct sockaddr *)&server, sizeof(server)) == 0);
	return fd;
}

/* Datagrams to the server's port come to this socket. */
static void comes_to(int from, int to, struct sockaddr_in *peer)
{
	socklen_t len = sizeof(*peer);
	char byte = 0;

	CHECK(rsend(from, "x", 1, 0) == 1 && poll_one(to, POLLIN, 10000) == POLLIN);
	CHECK(rrecvfrom(to, &byte, 1, 0, (struct sockaddr *)peer, &len) == 1 && byte == 'x');
}

static int speaker(void)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0 && rconnect(fd, (struct sockaddr *)&server, sizeof(server)) == 0);
	return fd;
}

/* Several sockets on one port; a new one; data sent just before the end. */
static void shared_port(void)
{
	struct sockaddr_in peer;
	int first, second, third, a, b, c, i;
	char byte;

	server.sin_port = htons(PORT + 2);
	first = on_port();
	a = speaker();
	comes_to(a, first, &peer);
	CHECK(rconnect(first, (struct sockaddr *)&peer, sizeof(peer)) == 0);
	second = on_port();
	b = speaker();
	comes_to(b, second, &peer);
	comes_to(a, first, &peer);
	/* the listener is closed, the other one is found */
	CHECK(rclose(first) == 0);
	c = speaker();
	comes_to(c, second, &peer);
	CHECK(rclose(second) == 0);
	third = on_port();
	for (i = 0; i < 100 && poll_one(third, POLLIN, 100) != POLLIN; i++)
		(void)rsend(b, "y", 1, 0);
	CHECK(rrecv(third, &byte, 1, 0) == 1 && byte == 'y');
	while (rrecv(third, &byte, 1, MSG_DONTWAIT) == 1)
		;
	CHECK(rclose(a) == 0 && rclose(b) == 0 && rclose(c) == 0);
	a = rsocket(AF_INET, SOCK_DGRAM, 0);
	CHECK(rsendto(a, "z", 1, 0, (struct sockaddr *)&server, sizeof(server)) == 1);
	CHECK(rclose(a) == 0 && rrecv(third, &byte, 1, 0) == 1 && byte == 'z');
	CHECK(rclose(third) == 0);
}

/*
 * A child has none of its parent's sockets, the parent keeps all of them; both can make new ones.
 */
static void forks(int listen_fd)
{
	char byte = 1, text[5];
	int fd[2], status;
	pid_t pid;

	pair(listen_fd, fd);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int mine = rsocket(AF_INET, SOCK_STREAM, 0);

		CHECK(rsend(fd[0], &byte, 1, 0) == -1 && errno == EBADF);
		CHECK(rconnect(mine, (struct sockaddr *)&server, sizeof(server)) == 0);
		CHECK(rsend(mine, "child", 5, 0) == 5 && rclose(mine) == 0);
		_exit(0);
	}
	status = raccept(listen_fd, NULL, NULL);
	CHECK(status >= 0 && rrecv(status, text, 5, MSG_WAITALL) == 5);
	CHECK(memcmp(text, "child", 5) == 0 && rclose(status) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(rsend(fd[0], &byte, 1, 0) == 1 && rrecv(fd[1], &byte, 1, 0) == 1);
	CHECK(rclose(fd[0]) == 0 && rclose(fd[1]) == 0);
}

/* No call waits for ever when the NIC is gone. */
static void dies(void)
{
	int fd = listener(PORT), pairs[2], dgram = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd p[2];
	char byte;

	pair(fd, pairs);
	server.sin_port = htons(PORT + 1);
	CHECK(dgram >= 0 && rbind(dgram, (struct sockaddr *)&server, sizeof(server)) == 0);
	CHECK(puts("up") >= 0 && fflush(stdout) == 0);
	CHECK(rrecv(pairs[0], &byte, 1, 0) == -1);
	CHECK(errno == ECONNRESET || errno == ENETDOWN);
	CHECK(rrecv(dgram, &byte, 1, 0) == -1 && errno == ENETDOWN);
	CHECK(raccept(fd, NULL, NULL) == -1 && errno == ENETDOWN);
	p[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	p[1] = (struct pollfd){.fd = pairs[1], .events = POLLIN};
	CHECK(rpoll(p, 2, 10000) == 2 && p[0].revents & POLLERR && p[1].revents & POLLIN);
	CHECK(rclose(pairs[0]) == 0 && rclose(pairs[1]) == 0);
	CHECK(rclose(dgram) == 0 && rclose(fd) == 0);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2 || argc > 3 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1 ||
	    (argc == 3 && strcmp(argv[2], "server") != 0 && strcmp(argv[2], "client") != 0 &&
	     strcmp(argv[2], "dies") != 0)) {
		fprintf(stderr, "usage: rs_data ADDRESS [server|client|dies]\n");
		return 2;
	}
	if (argc == 3 && strcmp(argv[2], "dies") == 0) {
		dies();
		return puts("ok") < 0;
	}
	if (argc == 3) {
		one_side(strcmp(argv[2], "server") == 0);
		return puts("ok") < 0;
	}
	fd = listener(PORT);
	both_ways(fd);
	half_closed(fd);
	errors(fd);
	without_blocking(fd);
	cancelled(fd);
	forks(fd);
	iomaps(fd);
	CHECK(rclose(fd) == 0);
	datagrams();
	shared_port();
	return puts("ok") < 0;
}
