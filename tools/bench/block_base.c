/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's UDP and TCP between two processes that block: the baseline for weft's cost to the
 * host.
 *
 *	block_base udp|tcp pingpong|stream NS_A IP_A NS_B IP_B SIZE COUNT
 *
 * COUNT messages of SIZE bytes from A, in network namespaces made by the caller; pingpong: each is
 * answered by one of the same size; stream: at most 16 UDP datagrams are in flight (B grants more),
 * TCP has its own windows. Every byte is checked at the receiver. Prints nothing; exit status 0, 1
 * when something failed, 2 usage. A lost UDP datagram ends the program by an alarm after 30 s.
 * tools/plot/overhead.py runs it and counts its wake-ups with weft-irqs.
 */
#include "tools/bench/base.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	PORT = 9754,
	WINDOW = 16, /* datagrams of a stream in flight */
	LIMIT_S = 30,
	MAX_SIZE = 1 << 20,
};

struct run {
	bool tcp;
	bool stream;
	size_t size;
	uint64_t count;
	uint8_t *buffer;
};

static int make_socket(const struct run *r, const char *ns, const char *ip)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	const int one = 1, bytes = 4 << 20;
	int fd;

	enter(ns);
	fd = socket(AF_INET, (r->tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, ip, &addr.sin_addr);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die(ip);
	if (!r->tcp)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	return fd;
}

static void connect_to(int fd, const char *ip)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	inet_pton(AF_INET, ip, &addr.sin_addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("connect");
}

/* Both ends, connected. */
static void open_both(const struct run *r, char **where, int *a, int *b)
{
	const int one = 1;
	int listener;

	*b = make_socket(r, where[2], where[3]);
	if (r->tcp && listen(*b, 1))
		die("listen");
	*a = make_socket(r, where[0], where[1]);
	connect_to(*a, where[3]);
	if (!r->tcp) {
		connect_to(*b, where[1]);
		return;
	}
	listener = *b;
	*b = accept(listener, NULL, NULL);
	close(listener);
	if (*b < 0 || setsockopt(*a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    setsockopt(*b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("accept");
}

static void fill(uint8_t *message, size_t size, uint64_t seq)
{
	uint64_t word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		word = (seq + 1) * 0x9e3779b97f4a7c15u + at;
		memcpy(message + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
	}
}

static void check(const uint8_t *message, size_t size, uint64_t seq)
{
	uint64_t word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		word = (seq + 1) * 0x9e3779b97f4a7c15u + at;
		if (!memcmp(message + at, &word,
			    size - at < sizeof(word) ? size - at : sizeof(word)))
			continue;
		fprintf(stderr, "block_base: wrong bytes in message %llu\n",
			(unsigned long long)seq);
		exit(1);
	}
}

static void put(int fd, const uint8_t *bytes, size_t size)
{
	ssize_t n;

	for (size_t at = 0; at < size; at += (size_t)n) {
		n = send(fd, bytes + at, size - at, 0);
		if (n < 0)
			die("send");
	}
}

static void get(int fd, uint8_t *bytes, size_t size)
{
	ssize_t n;

	for (size_t at = 0; at < size; at += (size_t)n) {
		n = recv(fd, bytes + at, size - at, 0);
		if (n <= 0)
			die("recv");
	}
}

static void put_message(const struct run *r, int fd, uint64_t seq)
{
	fill(r->buffer, r->size, seq);
	put(fd, r->buffer, r->size);
}

static void get_message(const struct run *r, int fd, uint64_t seq)
{
	get(fd, r->buffer, r->size);
	check(r->buffer, r->size, seq);
}

/* A: sends first. */
static void near_end(const struct run *r, int fd)
{
	uint8_t grant;

	for (uint64_t seq = 0; seq < r->count; seq++) {
		put_message(r, fd, seq);
		if (!r->stream)
			get_message(r, fd, seq);
		else if (!r->tcp && seq % (WINDOW / 2) == WINDOW / 2 - 1 && seq > WINDOW / 2)
			get(fd, &grant, 1);
	}
	/* The other end has received them all. */
	if (r->stream)
		do
			get(fd, &grant, 1);
		while (!grant);
}

static void far_end(const struct run *r, int fd)
{
	const uint8_t grant = 0, end = 1;

	for (uint64_t seq = 0; seq < r->count; seq++) {
		get_message(r, fd, seq);
		if (!r->stream)
			put_message(r, fd, seq);
		else if (!r->tcp && seq % (WINDOW / 2) == WINDOW / 2 - 1)
			put(fd, &grant, 1);
	}
	if (r->stream)
		put(fd, &end, 1);
}

static bool parse(struct run *r, int argc, char **argv)
{
	if (argc != 9)
		return false;
	r->tcp = !strcmp(argv[1], "tcp");
	r->stream = !strcmp(argv[2], "stream");
	r->size = strtoul(argv[7], NULL, 10);
	r->count = strtoull(argv[8], NULL, 10);
	return (r->tcp || !strcmp(argv[1], "udp")) && (r->stream || !strcmp(argv[2], "pingpong")) &&
	       r->size && r->size <= MAX_SIZE && r->count;
}

int main(int argc, char **argv)
{
	struct run r = {0};
	int a, b, status;
	pid_t child;

	if (!parse(&r, argc, argv)) {
		fprintf(
		    stderr,
		    "usage: block_base udp|tcp pingpong|stream NS_A IP_A NS_B IP_B SIZE COUNT\n");
		return 2;
	}
	r.buffer = malloc(r.size);
	if (!r.buffer)
		die("memory");
	open_both(&r, argv + 3, &a, &b);
	child = fork();
	if (child < 0)
		die("fork");
	alarm(LIMIT_S);
	if (!child) {
		close(a);
		far_end(&r, b);
		return 0;
	}
	close(b);
	near_end(&r, a);
	free(r.buffer);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status) ? 0
												: 1;
}
