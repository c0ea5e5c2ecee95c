/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire between two interfaces of the kernel that loses, delays, duplicates and reorders frames,
 * by the switch's own impairments (dpdk_app/wire/impair.c) and a seed, for kernels without netem.
 *
 * Each frame that the kernel hands to one interface (from the other end of its veth) leaves by the
 * other. Prints "ready"; ends on SIGTERM and prints how many frames it lost. Exit codes: 0, 1
 * failure, 2 usage. --help lists the options.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/wire/impair.h"
#include "lib/cli.h"
#include "lib/clock.h"

enum {
	FRAME_BYTES = 9216,
	BATCH = 64,
};

struct frame {
	uint32_t refs;
	uint32_t bytes;
	uint8_t data[];
};

/* Frames that came in by one interface, on their way to the other. */
struct way {
	int fd;
	uint64_t held_until_ns;
	struct impair impair;
	_Atomic(uint64_t) busy_until_ns;
};

static volatile sig_atomic_t stop;

static void on_term(int signo)
{
	(void)signo;
	stop = 1;
}

static int open_interface(const char *name)
{
	struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	const int one = 1, room = 4 << 20;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));

	addr.sll_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || !addr.sll_ifindex || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one))) {
		fprintf(stderr, "lossy_wire: %s: %s\n", name, strerror(errno));
		exit(1);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return fd;
}

static void put(struct frame *frame)
{
	if (!--frame->refs)
		free(frame);
}

static bool is_mpa_reply(const uint8_t *data, size_t bytes)
{
	return memmem(data, bytes < 160 ? bytes : 160, "MPA ID Rep Frame", 16) != NULL;
}

static void take_in(struct way *way, struct way *back, uint64_t hold_ns)
{
	static uint8_t data[FRAME_BYTES];
	enum impair_verdict verdict;
	struct frame *frame;
	uint64_t now;
	ssize_t n;

	for (int i = 0; i < BATCH && (n = recv(way->fd, data, sizeof(data), 0)) > 0; i++) {
		frame = malloc(sizeof(*frame) + (size_t)n);
		if (!frame)
			exit(1);
		frame->bytes = (uint32_t)n;
		memcpy(frame->data, data, (size_t)n);
		now = clock_now_ns();
		if (hold_ns && is_mpa_reply(data, (size_t)n))
			back->held_until_ns = now + hold_ns;
		if (now < way->held_until_ns)
			now = way->held_until_ns;
		frame->refs = 1;
		if (impair_loses(&way->impair, now)) {
			put(frame);
			continue;
		}
		verdict = impair_in(&way->impair, now, frame, frame->bytes);
		frame->refs = verdict == IMPAIR_TAKEN_TWICE ? 2 : 1;
		if (verdict == IMPAIR_FULL)
			put(frame);
	}
}

static void let_out(struct way *way, int fd)
{
	void *out[BATCH];
	uint32_t n = impair_out(&way->impair, clock_now_ns(), out, BATCH);

	for (uint32_t i = 0; i < n; i++) {
		struct frame *frame = out[i];

		/* Frames that do not fit into the interface's queue are lost, as on any wire. */
		(void)!send(fd, frame->data, frame->bytes, 0);
		put(frame);
	}
}

/* Time until a frame is due. */
static struct timespec wait_time(const struct way *way)
{
	uint64_t now = clock_now_ns(), due = now + 100000000;

	for (int i = 0; i < 2; i++) {
		uint64_t next = impair_next_ns(&way[i].impair);

		due = next < due ? next : due;
	}
	return (struct timespec){.tv_nsec = due <= now ? 0 : (long)(due - now)};
}

struct values {
	double loss, reorder, duplicate; /* percent */
	uint32_t delay_us, hold_ms;
	uint64_t seed;
};

static const struct cli_option rows[] = {
    {.name = "loss",
     .letter = 'l',
     .value = "PERCENT",
     .help = "frames that are lost",
     .kind = CLI_REAL,
     .most = 100,
     CLI_FIELD(struct values, loss)},
    {.name = "reorder",
     .letter = 'r',
     .value = "PERCENT",
     .help = "frames that are overtaken",
     .kind = CLI_REAL,
     .most = 100,
     CLI_FIELD(struct values, reorder)},
    {.name = "duplicate",
     .letter = 'd',
     .value = "PERCENT",
     .help = "frames that come twice",
     .kind = CLI_REAL,
     .most = 100,
     CLI_FIELD(struct values, duplicate)},
    {.name = "delay",
     .letter = 't',
     .value = "US",
     .help = "delay of each frame",
     .kind = CLI_NUMBER,
     .high = UINT32_MAX,
     CLI_FIELD(struct values, delay_us)},
    {.name = "seed",
     .letter = 's',
     .value = "N",
     .help = "seed of the faults",
     .kind = CLI_NUMBER,
     .initial = "1",
     CLI_FIELD(struct values, seed)},
    {.name = "hold",
     .letter = 'm',
     .value = "MS",
     .help = "hold the way back for MS after an MPA reply",
     .kind = CLI_NUMBER,
     .high = UINT32_MAX,
     CLI_FIELD(struct values, hold_ms)},
};

static const struct cli_program program = {
    .name = "lossy_wire",
    .usage = "lossy_wire INTERFACE INTERFACE [OPTION]...",
    .about = "A wire between two interfaces that loses, delays, duplicates and reorders frames.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(*rows),
};

int main(int argc, char **argv)
{
	static struct way way[2];
	struct values v = {0};
	struct hw_fault conf;
	struct pollfd wait[2];
	struct cli cli;
	int rc = cli_take(&cli, &program, &v, NULL, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (cli.num_words != 2) {
		cli_wrong(&cli, "the command line names two interfaces");
		return cli_say(&cli);
	}
	conf = (struct hw_fault){
	    .chance.loss_ppm = fault_ppm(v.loss),
	    .chance.reorder_ppm = fault_ppm(v.reorder),
	    .chance.dup_ppm = fault_ppm(v.duplicate),
	    .delay_ns = (uint64_t)v.delay_us * 1000,
	    .seed = v.seed,
	};
	signal(SIGTERM, on_term);
	for (int i = 0; i < 2; i++) {
		way[i].fd = open_interface(cli.words[i]);
		impair_init(&way[i].impair, &conf, (uint64_t)i + 1, IMPAIR_QUEUE_MAX,
			    &way[i].busy_until_ns);
		wait[i] = (struct pollfd){.fd = way[i].fd, .events = POLLIN};
	}
	printf("ready\n");
	fflush(stdout);
	while (!stop) {
		struct timespec limit = wait_time(way);

		(void)ppoll(wait, 2, &limit, NULL);
		for (int i = 0; i < 2; i++) {
			take_in(&way[i], &way[!i], (uint64_t)v.hold_ms * 1000000);
			let_out(&way[i], way[!i].fd);
		}
	}
	printf("lost %llu and %llu\n", (unsigned long long)way[0].impair.stats.lost,
	       (unsigned long long)way[1].impair.stats.lost);
	return 0;
}
