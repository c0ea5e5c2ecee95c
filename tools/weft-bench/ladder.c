/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ladder: response time of one small frame, by the layer that answers it. Frames are sent on an
 * interface of the kernel (a raw socket) whose other end is a port of weftd. They are answered
 *
 *	port		by the port, before the firmware (weftd --port-echo)
 *	firmware	by the firmware of shard 0 (EDP echo)
 *	coll		by the firmware of the last shard for collectives, on another core: over an
 *			rte_ring there, and over another one back to the core of the port
 *	host		by a process with a UD queue pair
 *
 * Calls ladder_frame.c, ladder_host.c. ESPGOAL 6.7 compares a hook in the kernel, a workqueue and a
 * process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "shared_defs/wire_esp.h"
#include "tools/weft-bench/ladder_frame.h"
#include "tools/weft-bench/ladder_host.h"
#include "tools/weft-bench/report.h"

enum {
	LADDER_TRIES = 10,             /* frames of a round, until one is answered */
	LADDER_PATIENCE_NS = 50000000, /* wait for each */
	LADDER_BLOCK = 100,            /* rounds of a rung at a time */
	LADDER_WARM = 10,              /* first rounds, which do not count */
};

enum rung_kind {
	RUNG_PORT,
	RUNG_FIRMWARE,
	RUNG_COLL,
	RUNG_HOST,
	RUNGS
};

static const char *const rung_names[RUNGS] = {"port", "firmware", "coll", "host"};

struct rung {
	bool there;
	uint16_t port;
	uint64_t again; /* frames sent again */
	struct samples samples;
};

struct ladder {
	const struct opts *o;
	int fd;
	struct ladder_ends ends;
	struct weft_device_attr dev;
	uint32_t round;
	uint32_t qpn; /* queue pair of the process that answers */
	pid_t child;
	struct rung rung[RUNGS];
};

/* ---- the interface */

static int open_netdev(struct ladder *l)
{
	struct sockaddr_ll ll = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct ifreq ifr = {0};

	l->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	if (l->fd < 0)
		return fail("a raw socket: %s", strerror(errno));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", l->o->netdev);
	if (ioctl(l->fd, SIOCGIFINDEX, &ifr))
		return fail("--netdev %s: %s", l->o->netdev, strerror(errno));
	ll.sll_ifindex = ifr.ifr_ifindex;
	if (ioctl(l->fd, SIOCGIFHWADDR, &ifr) || bind(l->fd, (struct sockaddr *)&ll, sizeof(ll)))
		return fail("--netdev %s: %s", l->o->netdev, strerror(errno));
	memcpy(l->ends.mac, ifr.ifr_hwaddr.sa_data, sizeof(l->ends.mac));
	return 0;
}

/* Finds the NIC at the other end, and an address of its subnet for ourselves. */
static int ask_nic(struct ladder *l)
{
	struct weft_context *context = weft_open_tool(l->o->device);
	struct weft_port_attr port;
	uint32_t ip;
	int rc;

	if (!context)
		return fail("cannot open %s: %s; is weftd running? (weftctl list)",
			    l->o->device ? l->o->device : "a NIC", strerror(errno));
	rc = weft_query_device(context, &l->dev);
	if (!rc)
		rc = weft_query_port(context, &port);
	weft_close_device(context);
	if (rc)
		return fail("%s does not answer: %s", l->dev.name, strerror(-rc));
	memcpy(l->ends.nic_mac, port.mac, sizeof(l->ends.nic_mac));
	l->ends.nic_ip = port.ip;
	ip = ntohl(port.ip);
	l->ends.ip = htonl(l->o->peer_ip ? l->o->peer_ip : (ip & 0xff) == 254 ? ip - 1 : ip + 1);
	return 0;
}

/* Takes the next frame from the interface, if there is one. */
static bool next_frame(const struct ladder *l, struct frame *f)
{
	ssize_t n = recv(l->fd, f->b, sizeof(f->b), MSG_DONTWAIT);

	f->n = n > 0 ? (uint32_t)n : 0;
	return n > 0;
}

/* Reads the number of its queue pair; meanwhile answers its NIC's ARP. */
static int await_host(struct ladder *l, int fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = l->fd, .events = POLLIN}};
	struct frame frame, reply;

	while (poll(p, 2, -1) > 0) {
		if (next_frame(l, &frame) && ladder_arp(&frame, &l->ends, &reply) &&
		    send(l->fd, reply.b, reply.n, 0) < 0)
			return fail("--netdev %s: %s", l->o->netdev, strerror(errno));
		/* On failure it has printed the reason. */
		if (p[0].revents)
			return read(fd, &l->qpn, sizeof(l->qpn)) == sizeof(l->qpn) ? 0 : -1;
	}
	return fail("poll: %s", strerror(errno));
}

static int start_host(struct ladder *l)
{
	int rc;

	int fd[2];

	if (pipe(fd))
		return fail("a pipe: %s", strerror(errno));
	l->child = fork();
	if (l->child < 0)
		return fail("a process that answers: %s", strerror(errno));
	if (!l->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[0]);
		_exit(ladder_host(l->o->device, l->ends.ip, fd[1]));
	}
	close(fd[1]);
	rc = await_host(l, fd[0]);
	close(fd[0]);
	return rc;
}

/* ---- one round */

static void build(struct ladder *l, enum rung_kind kind, struct frame *frame)
{
	if (kind == RUNG_HOST)
		ladder_datagram(frame, &l->ends, l->qpn, BENCH_QKEY, l->round);
	else
		ladder_echo(frame, &l->ends, l->rung[kind].port, l->round);
}

static bool is_answer(const struct ladder *l, enum rung_kind kind, struct frame *frame)
{
	if (kind == RUNG_HOST)
		return ladder_is_datagram(frame, l->round);
	return ladder_is_echo_reply(frame, l->round);
}

/* Polls until the answer arrives, and answers ARP meanwhile. Returns the time; 0: no answer. */
static uint64_t await(struct ladder *l, enum rung_kind kind, uint64_t from_ns)
{
	struct frame frame, reply;
	uint64_t now;

	do {
		bool came = next_frame(l, &frame);

		now = clock_now_ns();
		/* The process that answers may have no CPU but ours. */
		if (!came && kind == RUNG_HOST)
			sched_yield();
		if (!came)
			continue;
		/* Our own frames are captured here, too. */
		if (!memcmp(frame.b + sizeof(l->ends.mac), l->ends.mac, sizeof(l->ends.mac)))
			continue;
		if (is_answer(l, kind, &frame))
			return now;
		if (ladder_arp(&frame, &l->ends, &reply) && send(l->fd, reply.b, reply.n, 0) < 0)
			return 0;
	} while (now - from_ns < LADDER_PATIENCE_NS);
	return 0;
}

static int one_round(struct ladder *l, enum rung_kind kind, bool counts)
{
	struct rung *rung = &l->rung[kind];
	struct frame frame;

	for (int i = 0; i < LADDER_TRIES; i++) {
		uint64_t from_ns, to_ns;

		l->round++;
		build(l, kind, &frame);
		from_ns = clock_now_ns();
		if (send(l->fd, frame.b, frame.n, 0) < 0)
			return fail("--netdev %s: %s", l->o->netdev, strerror(errno));
		to_ns = await(l, kind, from_ns);
		if (to_ns)
			return counts ? samples_add(&rung->samples, to_ns - from_ns) : 0;
		/* Warm-up: time for ARP. */
		rung->again += counts;
	}
	return fail("%s: no answer; is --netdev the other end of its port?", rung_names[kind]);
}

/* ---- all of them */

static int climb(struct ladder *l)
{
	/* In turn, so that changes over time affect all rungs. */
	for (uint64_t done = 0; done < l->o->iters; done += LADDER_BLOCK) {
		for (int k = 0; k < RUNGS; k++) {
			for (int i = -LADDER_WARM; i < LADDER_BLOCK && l->rung[k].there; i++)
				if (one_round(l, (enum rung_kind)k, i >= 0))
					return -1;
		}
	}
	return 0;
}

/*
 * The firmware answers echoes to any port, so the counters must show that the port answered its
 * own.
 */
static int check_port(const struct ladder *l)
{
	struct weft_context *context = weft_open_tool(l->o->device);
	uint64_t echoes = 0;
	struct weft_stat stats[64];
	uint32_t cursor = 0;
	int n = -ENODEV;

	while (context && (n = weft_stats(context, 0, &cursor, stats, 64)) > 0)
		for (int i = 0; i < n; i++)
			if (!strcmp(stats[i].name, "port_echoes"))
				echoes = stats[i].value;
	if (context)
		weft_close_device(context);
	if (n < 0)
		return fail("counters of %s: %s", l->dev.name, strerror(-n));
	if (echoes < l->rung[RUNG_PORT].samples.count)
		return fail("port: the firmware answered in its place; start weftd with "
			    "--port-echo");
	return 0;
}

static void report(struct ladder *l)
{
	json_t *rungs = json_array(), *all;

	if (!l->o->json)
		printf("round trips of a frame on %s to %s, answered by\n"
		       " %-10s %10s %10s %10s %10s %8s\n",
		       l->o->netdev, l->dev.name, "", "frames", "min[us]", "median[us]", "max[us]",
		       "again");
	for (int k = 0; k < RUNGS; k++) {
		struct rung *r = &l->rung[k];
		struct samples *s = &r->samples;

		if (!r->there)
			continue;
		stats_sort_u32(s->ns, s->count);
		if (!l->o->json)
			printf(" %-10s %10zu %10.2f %10.2f %10.2f %8llu\n", rung_names[k], s->count,
			       s->ns[0] / 1e3, s->ns[s->count / 2] / 1e3, s->ns[s->count - 1] / 1e3,
			       (unsigned long long)r->again);
		json_array_append_new(
		    rungs, json_pack("{s:s, s:I, s:f, s:f, s:f, s:I}", "name", rung_names[k],
				     "frames", (json_int_t)s->count, "min_us", s->ns[0] / 1e3,
				     "median_us", s->ns[s->count / 2] / 1e3, "max_us",
				     s->ns[s->count - 1] / 1e3, "again", (json_int_t)r->again));
	}
	all = json_pack("{s:s, s:s, s:o}", "mode", bench_mode_str(l->o->mode), "nic", l->dev.name,
			"rungs", rungs);
	if (all && l->o->json)
		report_json(all);
	else
		json_decref(all);
}

/* Finds the available rungs; without a core for collectives that one is left out. */
static void plan(struct ladder *l)
{
	l->rung[RUNG_PORT] = (struct rung){.there = true, .port = WIRE_EDP_PORT_ECHO};
	l->rung[RUNG_FIRMWARE] = (struct rung){.there = true, .port = WIRE_EDP_PORT_BASE};
	l->rung[RUNG_COLL] = (struct rung){
	    .there = l->dev.num_coll_shards > 0,
	    .port = (uint16_t)(WIRE_EDP_PORT_BASE + (l->dev.num_shards - 1) * WIRE_EDP_PORT_SPAN),
	};
	l->rung[RUNG_HOST] = (struct rung){.there = true};
}

int ladder_run(struct opts *o)
{
	struct ladder l = {.o = o, .fd = -1};
	int rc = open_netdev(&l);

	if (!rc)
		rc = ask_nic(&l);
	if (!rc) {
		plan(&l);
		rc = start_host(&l);
	}
	if (!rc)
		rc = climb(&l);
	if (!rc)
		rc = check_port(&l);
	if (!rc)
		report(&l);
	if (l.child > 0) {
		kill(l.child, SIGKILL);
		waitpid(l.child, NULL, 0);
	}
	for (int k = 0; k < RUNGS; k++)
		samples_free(&l.rung[k].samples);
	if (l.fd >= 0)
		close(l.fd);
	return rc ? BENCH_FAILED : BENCH_OK;
}
