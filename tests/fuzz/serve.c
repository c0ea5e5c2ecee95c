/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: `weft-measure serve`, which tunes an interface for a client on another host, and the
 * requests that weft-tune sends to a weft-measure on its own.
 *
 * The first byte of an input chooses. A client of serve sends text in pieces, reads as much of the
 * bulk as it likes, and goes; each of its lines has one answer of one line, the interface gets no
 * value beyond what it can, and has its first values again when the client has gone. A request of
 * JSON is refused with a reason or holds values within bounds.
 *
 * Runs serve.c, net_wire.c and request.c; the interface and /proc are played.
 */
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/take.h"

#include "tools/weft-measure/net_wire.c"
#include "tools/weft-measure/request.c"
#include "tools/weft-measure/serve.c"

enum {
	CAN = 0x0f,
	HIGHEST = 1000,
	STEPS = 64,
	PIECE = 80,
};

static struct take in;
static struct eth_coal coal;
static const struct eth_coal initial = {.there = CAN, .value = {1, 2, 3, 4}};

int eth_coal_get(const char *name, struct eth_coal *to, char *error)
{
	(void)name;
	(void)error;
	*to = coal;
	return 0;
}

int eth_coal_highest(const char *name, const struct eth_coal *at,
		     uint32_t highest[HW_COALESCE_NUM_PARAMS], char *error)
{
	(void)name;
	(void)at;
	(void)error;
	(void)highest;
	return CAN;
}

int eth_coal_set(const char *name, const struct eth_coal *set, char *error)
{
	(void)name;
	take_check(!(set->there & ~(uint32_t)(CAN | ETH_COAL_ADAPTIVE)),
		   "a value that is not there");
	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		take_check(!(set->there >> i & 1) || set->value[i] <= HIGHEST,
			   "a value beyond what the interface can");
	/* Restoring works at once, so that it can be checked. */
	if (memcmp(set->value, initial.value, sizeof(set->value)) != 0 && take_u8(&in) > 0xf0) {
		snprintf(error, TUNE_ERROR_CHARS, "refused");
		return -EINVAL;
	}
	coal = *set;
	return 0;
}

int net_host_read(const char *name, struct net_host *host)
{
	(void)name;
	*host = (struct net_host){.irqs = take_u32(&in), .has_irqs = take_u8(&in) & 1};
	return take_u8(&in) > 0xf0 ? -ENOENT : 0;
}

int tune_error(char *error, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, TUNE_ERROR_CHARS, format, args);
	va_end(args);
	return rc;
}

/* ---- a client of serve ----------------------------------------------------------------------- */

static struct serve served;
static int client[2]; /* its ends: lines, bulk; -1: none */

static void connect_one(int which)
{
	int pair[2], small = 4096;

	if (served.fd[which].fd >= 0)
		return;
	take_check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
		   "no sockets");
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	served.fd[which].fd = pair[0];
	if (client[which - FD_CONTROL] >= 0)
		close(client[which - FD_CONTROL]);
	client[which - FD_CONTROL] = pair[1];
}

/* Reads what serve has sent; returns the number of lines. */
static uint32_t read_lines(void)
{
	char text[NET_LINE_CHARS * 8];
	uint32_t lines = 0;
	ssize_t n;

	while ((n = recv(client[0], text, sizeof(text), MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	return lines;
}

/* Sends a piece of text, and compares the number of lines with that of answers. */
static void send_text(void)
{
	static const char *const words[] = {
	    NET_HELLO "\n", "set 1 2 3 4 5 6 7 8", " adaptive\n", "restore\n",
	    "host\n",       "send 70000\n",        "send ",       "\n"};
	uint8_t what = take_u8(&in);
	uint32_t bytes = what & 0x80 ? what % PIECE : 0, lines = 0, answers;
	char text[PIECE];

	take_bytes(&in, text, bytes);
	if (!bytes) {
		bytes = (uint32_t)strlen(words[what % 8]);
		memcpy(text, words[what % 8], bytes);
	}
	if (send(client[0], text, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)bytes)
		return;
	control(&served);
	for (uint32_t i = 0; i < bytes; i++)
		lines += text[i] == '\n';
	answers = read_lines();
	take_check(answers <= lines, "answers without a line");
	if (served.fd[FD_CONTROL].fd < 0) {
		take_check(!served.owed && served.fd[FD_BULK].fd < 0, "a client that stays");
		take_check(!memcmp(coal.value, initial.value, sizeof(coal.value)),
			   "values that stay when the client has gone");
	}
	take_check(served.line.chars < sizeof(served.line.text), "a line beyond its room");
}

static void read_bulk(void)
{
	uint8_t some[4096];
	uint64_t owed = served.owed;

	if (served.fd[FD_BULK].fd < 0)
		return;
	served.fd[FD_BULK].revents = POLLOUT;
	bulk(&served);
	take_check(served.owed <= owed, "more is owed after sending");
	if (take_u8(&in) & 1 && client[1] >= 0)
		(void)!recv(client[1], some, sizeof(some), MSG_DONTWAIT);
}

static void hang_up_client(void)
{
	int which = take_u8(&in) & 1;

	if (client[which] >= 0)
		close(client[which]);
	client[which] = -1;
	if (!which && served.fd[FD_CONTROL].fd >= 0)
		control(&served);
}

static void serve_one(void)
{
	memset(&served, 0, sizeof(served));
	for (int i = 0; i < FDS; i++)
		served.fd[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	client[0] = client[1] = -1;
	coal = initial;
	snprintf(served.nif.name, sizeof(served.nif.name), "eth0");
	served.nif.initial = initial;
	served.nif.can = CAN;
	for (uint32_t i = 0; i < HW_COALESCE_NUM_PARAMS; i++)
		served.nif.highest[i] = HIGHEST;
	for (uint32_t steps = 0; in.left && steps < STEPS; steps++) {
		if (served.fd[FD_CONTROL].fd < 0)
			connect_one(FD_CONTROL);
		switch (take_u8(&in) & 7) {
		case 0:
			connect_one(FD_BULK);
			break;
		case 1:
			read_bulk();
			break;
		case 2:
			hang_up_client();
			break;
		default:
			if (client[0] >= 0)
				send_text();
		}
	}
	drop_client(&served);
	for (int i = 0; i < 2; i++)
		if (client[i] >= 0)
			close(client[i]);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void request_one(void)
{
	char error[TUNE_ERROR_CHARS] = "";
	struct request request;
	char *line = malloc(in.left + 1);

	take_check(line != NULL, "no memory");
	memcpy(line, in.at, in.left);
	line[in.left] = '\0';
	if (!request_parse(line, &request, error)) {
		json_t *answer = answer_error(-EINVAL, error);

		take_check(error[0] && memchr(error, 0, sizeof(error)) && answer,
			   "refused without a word");
		json_decref(answer);
	} else if (!request.restore) {
		take_check(request.setting.mode < TUNE_MODES &&
			       !(request.effort.metrics >> TUNE_NUM_METRICS),
			   "a mode or a metric of no name");
		take_check(!request.effort.metrics ||
			       (request.effort.seed && request.effort.effort > 0 &&
				request.effort.effort <= 1),
			   "an effort out of bounds");
	}
	free(line);
}

void fuzz_serve_begin(void)
{
	/* Replies to a client that has gone. */
	(void)signal(SIGPIPE, SIG_IGN);
}

void fuzz_serve(const uint8_t *data, size_t bytes)
{
	in = (struct take){data, bytes};
	if (take_u8(&in) & 1)
		serve_one();
	else
		request_one();
}
