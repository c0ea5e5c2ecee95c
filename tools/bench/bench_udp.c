/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What weft's small messages are compared with: the kernel's UDP over a veth whose ends are in two
 * network namespaces. Started by tools/bench/bench.py.
 *
 *	bench_udp loop NS_A IP_A NS_B IP_B BYTES SECONDS	round trips, one thread, two sockets
 *	bench_udp rate NS_A IP_A NS_B IP_B BYTES SECONDS	64 at a time, one thread
 *	bench_udp server|client spin|block IP_OWN IP_PEER BYTES SECONDS
 *								round trips, two processes
 *
 * Every payload is checked. Prints one JSON object; the server prints nothing and ends after
 * SECONDS without a message. Exit status 0, 1 failure, 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	UDP_PORT = 47900,
	UDP_MAX_BYTES = 1400,
	UDP_BATCH = 64,
	UDP_WINDOW = 128, /* as weft-bench has it for small messages */
	UDP_MAX_SAMPLES = 1 << 22,
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_udp: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Makes the payload of message seq, as weft-bench does: every word depends on it. */
static void fill(uint8_t *p, size_t bytes, uint64_t seq)
{
	uint64_t w = seq;
	size_t at;

	for (at = 0; at < bytes; at += 8, w += 0x9e3779b97f4a7c15u)
		memcpy(p + at, &w, bytes - at < 8 ? bytes - at : 8);
}

static void check(const uint8_t *p, size_t bytes, uint64_t seq)
{
	uint8_t want[UDP_MAX_BYTES];

	fill(want, bytes, seq);
	if (memcmp(p, want, bytes)) {
		fprintf(stderr, "bench_udp: message %llu is wrong\n", (unsigned long long)seq);
		exit(1);
	}
}

/* A socket bound in a network namespace (NULL: here) and connected to the peer. */
static int open_socket(const char *ns, const char *own, const char *peer, bool block)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(UDP_PORT)}, b = a;
	int bytes = 4 << 20, fd;

	if (ns) {
		char path[128];

		snprintf(path, sizeof(path), "/var/run/netns/%s", ns);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET))
			die(path);
		close(fd);
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | (block ? 0 : SOCK_NONBLOCK), 0);
	if (inet_pton(AF_INET, own, &a.sin_addr) != 1 || inet_pton(AF_INET, peer, &b.sin_addr) != 1)
		die("not an IPv4 address");
	/* Room for what is on the way, so that nothing is lost. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    connect(fd, (struct sockaddr *)&b, sizeof(b)))
		die("socket");
	return fd;
}

static void send_one(int fd, const uint8_t *p, size_t bytes)
{
	while (send(fd, p, bytes, 0) < 0)
		if (errno != EAGAIN && errno != ECONNREFUSED && errno != EINTR)
			die("send");
}

/* The next message; -1 when none came before end_ns. A spinning one never sleeps. */
static ssize_t recv_one(int fd, uint8_t *p, size_t bytes, uint64_t end_ns)
{
	ssize_t n;

	for (;;) {
		n = recv(fd, p, bytes, 0);
		if (n >= 0)
			return n;
		if (errno != EAGAIN && errno != ECONNREFUSED && errno != EINTR)
			die("recv");
		if (now_ns() > end_ns)
			return -1;
	}
}

static int compare_ns(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void print_rtt(uint32_t *ns, size_t count)
{
	double sum = 0;
	size_t i;

	if (!count) {
		fprintf(stderr, "bench_udp: no message came back\n");
		exit(1);
	}
	qsort(ns, count, sizeof(*ns), compare_ns);
	for (i = 0; i < count; i++)
		sum += ns[i];
	printf("{\"iters\": %zu, \"rtt_us\": {\"min\": %.3f, \"typical\": %.3f, \"avg\": %.3f, "
	       "\"p99\": %.3f}}\n",
	       count, ns[0] * 1e-3, ns[count / 2] * 1e-3, sum * 1e-3 / (double)count,
	       ns[count * 99 / 100] * 1e-3);
}

static uint32_t *sample_space(void)
{
	uint32_t *ns = malloc(UDP_MAX_SAMPLES * sizeof(*ns));

	if (!ns)
		die("memory");
	return ns;
}

static void run_loop(int a, int b, size_t bytes, double seconds)
{
	uint64_t seq, t0 = now_ns(), t1, end = t0 + (uint64_t)(seconds * 1e9);
	uint8_t out[UDP_MAX_BYTES], in[UDP_MAX_BYTES];
	uint32_t *ns = sample_space();
	size_t count = 0;

	for (seq = 0; t0 < end && count < UDP_MAX_SAMPLES; seq += 2, t0 = t1) {
		fill(out, bytes, seq);
		send_one(a, out, bytes);
		if (recv_one(b, in, bytes, end + 1000000000u) != (ssize_t)bytes)
			die("a message was lost");
		check(in, bytes, seq);
		fill(out, bytes, seq + 1);
		send_one(b, out, bytes);
		if (recv_one(a, in, bytes, end + 1000000000u) != (ssize_t)bytes)
			die("a message was lost");
		check(in, bytes, seq + 1);
		t1 = now_ns();
		ns[count++] = (uint32_t)(t1 - t0);
	}
	print_rtt(ns, count);
	free(ns);
}

/* Buffers of one direction of a batch. */
struct batch {
	struct mmsghdr msg[UDP_BATCH];
	struct iovec iov[UDP_BATCH];
	uint8_t data[UDP_BATCH][UDP_MAX_BYTES];
};

static struct batch *make_batch(size_t bytes)
{
	struct batch *b = calloc(1, sizeof(*b));
	int i;

	if (!b)
		die("memory");
	for (i = 0; i < UDP_BATCH; i++) {
		b->iov[i] = (struct iovec){b->data[i], bytes};
		b->msg[i].msg_hdr.msg_iov = &b->iov[i];
		b->msg[i].msg_hdr.msg_iovlen = 1;
	}
	return b;
}

static void run_rate(int a, int b, size_t bytes, double seconds)
{
	struct batch *out = make_batch(bytes), *in = make_batch(bytes);
	uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9), sent = 0, got = 0;
	uint64_t t = start;
	int n, i;

	for (; t < end; t = now_ns()) {
		if (sent - got <= UDP_WINDOW - UDP_BATCH) {
			for (i = 0; i < UDP_BATCH; i++)
				fill(out->data[i], bytes, sent + (uint64_t)i);
			n = sendmmsg(a, out->msg, UDP_BATCH, 0);
			if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED)
				die("sendmmsg");
			sent += n > 0 ? (uint64_t)n : 0;
		}
		n = recvmmsg(b, in->msg, UDP_BATCH, 0, NULL);
		if (n < 0 && errno != EAGAIN)
			die("recvmmsg");
		for (i = 0; i < n; i++)
			check(in->data[i], bytes, got++);
	}
	printf("{\"messages\": %llu, \"seconds\": %.6f, \"mmps\": %.6f}\n", (unsigned long long)got,
	       (double)(t - start) * 1e-9, (double)got * 1e3 / (double)(t - start));
	free(out);
	free(in);
}

static void run_client(int fd, size_t bytes, double seconds)
{
	uint64_t seq, t0 = now_ns(), t1, end = t0 + (uint64_t)(seconds * 1e9);
	uint8_t out[UDP_MAX_BYTES], in[UDP_MAX_BYTES];
	uint32_t *ns = sample_space();
	size_t count = 0;

	for (seq = 0; t0 < end && count < UDP_MAX_SAMPLES; seq++, t0 = t1) {
		fill(out, bytes, seq);
		send_one(fd, out, bytes);
		if (recv_one(fd, in, bytes, end + 1000000000u) != (ssize_t)bytes)
			die("a message was lost");
		check(in, bytes, seq);
		t1 = now_ns();
		ns[count++] = (uint32_t)(t1 - t0);
	}
	print_rtt(ns, count);
	free(ns);
}

/* Says on stderr when it can be reached; ends when nothing came for so long. */
static void run_server(int fd, bool block, size_t bytes, double seconds)
{
	const uint64_t patience = (uint64_t)(seconds * 1e9);
	uint8_t in[UDP_MAX_BYTES];
	struct timeval limit = {(time_t)seconds, (suseconds_t)((seconds - (time_t)seconds) * 1e6)};
	uint64_t seq = 0;

	if (block && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		die("SO_RCVTIMEO");
	fprintf(stderr, "ready\n");
	while (recv_one(fd, in, bytes, now_ns() + patience) >= 0) {
		check(in, bytes, seq++);
		send_one(fd, in, bytes);
	}
}

static void sizes(char **argv, size_t *bytes, double *seconds)
{
	*bytes = strtoul(argv[0], NULL, 10);
	*seconds = strtod(argv[1], NULL);
	if (*bytes < 8 || *bytes > UDP_MAX_BYTES || !(*seconds > 0)) {
		fprintf(stderr, "bench_udp: BYTES from 8 to %d, SECONDS above 0\n", UDP_MAX_BYTES);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	double seconds;
	size_t bytes;
	int a, b;

	if (argc == 8 && (!strcmp(argv[1], "loop") || !strcmp(argv[1], "rate"))) {
		sizes(argv + 6, &bytes, &seconds);
		a = open_socket(argv[2], argv[3], argv[5], false);
		b = open_socket(argv[4], argv[5], argv[3], false);
		if (!strcmp(argv[1], "loop"))
			run_loop(a, b, bytes, seconds);
		else
			run_rate(a, b, bytes, seconds);
		return 0;
	}
	if (argc == 7 && (!strcmp(argv[2], "spin") || !strcmp(argv[2], "block"))) {
		bool block = !strcmp(argv[2], "block");

		sizes(argv + 5, &bytes, &seconds);
		a = open_socket(NULL, argv[3], argv[4], block);
		if (!strcmp(argv[1], "server"))
			run_server(a, block, bytes, seconds);
		else
			run_client(a, bytes, seconds);
		return 0;
	}
	fprintf(stderr, "usage: bench_udp loop|rate NS_A IP_A NS_B IP_B BYTES SECONDS\n"
			"       bench_udp server|client spin|block IP_OWN IP_PEER BYTES SECONDS\n");
	return 2;
}
