/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's UDP, and a ping-pong of its TCP: the baseline of weft's rows.
 *
 *	udp_base loop NS_A IP_A NS_B IP_B SECONDS
 *		one thread, two sockets: round trip
 *	udp_base tcp NS_A IP_A NS_B IP_B SECONDS
 *		one thread, a TCP connection: round trip
 *	udp_base pair NS_A IP_A NS_B IP_B SECONDS spin|block
 *		two processes: round trip
 *	udp_base rate NS_A IP_A NS_B IP_B SECONDS
 *		one thread, sendmmsg and recvmmsg of 64
 *
 * 64-byte messages between two network namespaces (made by bench.py), every payload checked at the
 * receiver. Prints one number: microseconds (median round trip), or messages a second. Exit status
 * 0, 1 when something failed, 2 usage. tools/bench/bench.py runs it.
 */
#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/bench/base.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	MSG_BYTES = 64,
	BATCH = 64,
	MAX_SAMPLES = 1 << 22,
	PORT = 9753,
};

/* Both ends of a TCP connection that sends at once. */
static void open_tcp(char **where, int *a, int *b)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	const int one = 1;
	int listener;

	enter(where[2]);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, where[3], &addr.sin_addr);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(listener, 1))
		die("listen");
	enter(where[0]);
	*a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*a < 0 || connect(*a, (struct sockaddr *)&addr, sizeof(addr)))
		die("connect");
	*b = accept(listener, NULL, NULL);
	if (*b < 0)
		die("accept");
	close(listener);
	setsockopt(*a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(*b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A UDP socket in the named namespace, connected to peer. */
static int open_in(const char *ns, const char *ip, const char *peer)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int bytes = 8 << 20;
	int fd;

	enter(ns);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	inet_pton(AF_INET, ip, &a.sin_addr);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
		die(ip);
	inet_pton(AF_INET, peer, &a.sin_addr);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die(peer);
	return fd;
}

static void fill(uint64_t *msg, uint64_t seq)
{
	for (size_t i = 0; i < MSG_BYTES / sizeof(*msg); i++)
		msg[i] = seq * 0x9e3779b97f4a7c15u + i;
}

static void check(const uint64_t *msg, uint64_t seq)
{
	for (size_t i = 0; i < MSG_BYTES / sizeof(*msg); i++) {
		if (msg[i] == seq * 0x9e3779b97f4a7c15u + i)
			continue;
		fprintf(stderr, "udp_base: wrong bytes in message %llu\n", (unsigned long long)seq);
		exit(1);
	}
}

static void send_one(int fd, uint64_t seq)
{
	uint64_t msg[MSG_BYTES / 8];

	fill(msg, seq);
	while (send(fd, msg, sizeof(msg), 0) != sizeof(msg))
		if (errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
			die("send");
}

/* Waits for message seq: spinning with MSG_DONTWAIT, or blocking. */
static void recv_one(int fd, uint64_t seq, int flags)
{
	uint64_t msg[MSG_BYTES / 8];
	ssize_t n;

	do
		n = recv(fd, msg, sizeof(msg), flags);
	while (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED));
	if (n != sizeof(msg))
		die("recv");
	check(msg, seq);
}

static void print_median(uint32_t *sample, size_t n)
{
	stats_sort_u32(sample, n);
	printf("%.3f\n", sample[n / 2] / 1000.0);
}

static void loop_mode(int a, int b, double seconds)
{
	uint32_t *sample = malloc(MAX_SAMPLES * sizeof(*sample));
	uint64_t end = clock_now_ns() + (uint64_t)(seconds * 1e9);
	size_t n = 0;

	if (!sample)
		die("memory");
	for (uint64_t seq = 0; n < MAX_SAMPLES; seq++) {
		uint64_t t = clock_now_ns();

		if (t > end)
			break;
		send_one(a, seq);
		recv_one(b, seq, MSG_DONTWAIT);
		send_one(b, seq);
		recv_one(a, seq, MSG_DONTWAIT);
		sample[n++] = (uint32_t)(clock_now_ns() - t);
	}
	print_median(sample, n);
	free(sample);
}

/* The far side of pair mode: echoes until it is killed. */
static void echo(int fd, int flags)
{
	for (uint64_t seq = 0;; seq++) {
		recv_one(fd, seq, flags);
		send_one(fd, seq);
	}
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void pair_mode(int a, int b, double seconds, int flags)
{
	uint32_t *sample = malloc(MAX_SAMPLES * sizeof(*sample));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t child = fork();
	uint64_t end;
	size_t n = 0;

	if (!sample || child < 0)
		die("fork");
	if (!child) {
		pin((int)(cpus - 1));
		echo(b, flags);
	}
	pin(0);
	end = clock_now_ns() + (uint64_t)(seconds * 1e9);
	for (uint64_t seq = 0; n < MAX_SAMPLES; seq++) {
		uint64_t t = clock_now_ns();

		if (t > end)
			break;
		send_one(a, seq);
		recv_one(a, seq, flags);
		sample[n++] = (uint32_t)(clock_now_ns() - t);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	print_median(sample, n);
	free(sample);
}

static void rate_mode(int a, int b, double seconds)
{
	static uint64_t out[BATCH][MSG_BYTES / 8], in[BATCH][MSG_BYTES / 8];
	struct mmsghdr tx[BATCH] = {0}, rx[BATCH] = {0};
	struct iovec tv[BATCH], rv[BATCH];
	uint64_t seq = 0, got = 0, start = clock_now_ns();
	uint64_t end = start + (uint64_t)(seconds * 1e9);

	for (int i = 0; i < BATCH; i++) {
		tv[i] = (struct iovec){out[i], MSG_BYTES};
		rv[i] = (struct iovec){in[i], MSG_BYTES};
		tx[i].msg_hdr.msg_iov = &tv[i];
		rx[i].msg_hdr.msg_iov = &rv[i];
		tx[i].msg_hdr.msg_iovlen = rx[i].msg_hdr.msg_iovlen = 1;
	}
	while (clock_now_ns() < end) {
		int sent, n;

		for (int i = 0; i < BATCH; i++)
			fill(out[i], seq + (uint64_t)i);
		sent = sendmmsg(a, tx, BATCH, 0);
		if (sent < 0)
			die("sendmmsg");
		for (int left = sent; left > 0; left -= n) {
			n = recvmmsg(b, rx, (unsigned)left, MSG_DONTWAIT, NULL);
			if (n < 0 && errno == EAGAIN)
				break; /* dropped on the way: not counted */
			if (n < 0)
				die("recvmmsg");
			for (int i = 0; i < n; i++)
				check(in[i], seq + (uint64_t)(sent - left + i));
			got += (uint64_t)n;
		}
		seq += (uint64_t)sent;
	}
	printf("%.0f\n", (double)got * 1e9 / (double)(clock_now_ns() - start));
}

int main(int argc, char **argv)
{
	double seconds;
	int a, b;

	seconds = argc > 6 ? atof(argv[6]) : 0;
	if (!(seconds > 0) || (strcmp(argv[1], "loop") && strcmp(argv[1], "tcp") &&
			       strcmp(argv[1], "pair") && strcmp(argv[1], "rate"))) {
		fprintf(stderr, "usage: udp_base loop|tcp|pair|rate NS_A IP_A NS_B IP_B SECONDS "
				"[spin|block]\n");
		return 2;
	}
	if (!strcmp(argv[1], "tcp")) {
		open_tcp(argv + 2, &a, &b);
		loop_mode(a, b, seconds);
		return 0;
	}
	a = open_in(argv[2], argv[3], argv[5]);
	b = open_in(argv[4], argv[5], argv[3]);
	if (!strcmp(argv[1], "loop"))
		loop_mode(a, b, seconds);
	else if (!strcmp(argv[1], "pair"))
		pair_mode(a, b, seconds, argc > 7 && !strcmp(argv[7], "spin") ? MSG_DONTWAIT : 0);
	else
		rate_mode(a, b, seconds);
	return 0;
}
