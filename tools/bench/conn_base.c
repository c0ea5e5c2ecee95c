/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up and end of stream connections, as a program of TCP sockets sees them.
 *
 *	conn_base serve IP PORT
 *		accepts one connection after the other, answers each byte, closes when the client
 *has conn_base connect IP PORT SECONDS connects, exchanges a byte, closes, and so on
 *
 * The client prints the medians of connect(), of the exchange and of close(), the whole
 *connection's and its 99th percentile, in microseconds, as JSON. It knows nothing of weft: apps.py
 *starts it over weft-run --sockets and over a veth. Exit status 0, 1 when something failed, 2
 *usage.
 */
#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/bench/base.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum {
	MAX_SAMPLES = 1 << 18,
	BACKLOG = 16,
};

static struct sockaddr_in address(char **argv)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)atoi(argv[3]))};

	if (inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
		die(argv[2]);
	return addr;
}

static int serve(const struct sockaddr_in *addr)
{
	const int one = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	char byte;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listener < 0 || bind(listener, (const struct sockaddr *)addr, sizeof(*addr)) ||
	    listen(listener, BACKLOG))
		die("listen");
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (recv(fd, &byte, 1, 0) == 1)
			if (send(fd, &byte, 1, 0) != 1)
				break;
		close(fd);
	}
	die("accept");
}

/* One connection; the four moments of its life. */
static void once(const struct sockaddr_in *addr, uint64_t at[4])
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte = 'x', back = 0;

	at[0] = clock_now_ns();
	if (fd < 0 || connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		die("connect");
	at[1] = clock_now_ns();
	if (send(fd, &byte, 1, 0) != 1 || recv(fd, &back, 1, 0) != 1 || back != byte)
		die("exchange");
	at[2] = clock_now_ns();
	if (close(fd))
		die("close");
	at[3] = clock_now_ns();
}

static int measure(const struct sockaddr_in *addr, double seconds)
{
	static double part[4][MAX_SAMPLES];
	uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * 1e9), at[4];
	size_t n = 0;

	do {
		once(addr, at);
		for (int i = 0; i < 3; i++)
			part[i][n] = (double)(at[i + 1] - at[i]) / 1e3;
		part[3][n++] = (double)(at[3] - at[0]) / 1e3;
	} while (at[3] < end_ns && n < MAX_SAMPLES);
	printf("{\"connections\": %zu, \"connect_us\": %.1f, \"exchange_us\": %.1f, \"close_us\": "
	       "%.1f, \"whole_us\": %.1f, \"whole_p99_us\": %.1f}\n",
	       n, stats_median(part[0], n), stats_median(part[1], n), stats_median(part[2], n),
	       stats_median(part[3], n), part[3][n * 99 / 100]);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr;

	if (argc < 4 || (strcmp(argv[1], "serve") && (strcmp(argv[1], "connect") || argc < 5))) {
		fprintf(stderr,
			"usage: conn_base serve IP PORT | conn_base connect IP PORT SECONDS\n");
		return 2;
	}
	addr = address(argv);
	return argv[1][0] == 's' ? serve(&addr) : measure(&addr, atof(argv[4]));
}
