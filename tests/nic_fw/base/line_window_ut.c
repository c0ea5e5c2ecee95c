/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/base/line_window.c: a receiver's window over a model of its line: packets that were
 * granted arrive a path later, one after another at the rate of the line.
 */
#include "nic_fw/base/line_window.h"

#include <string.h>

#include "tests/ut.h"

enum {
	SENDERS = 128,
	PKT_BYTES = 4134,
	SHORT_BYTES = 1394,      /* the last packet of a message */
	PKTS = 17,               /* of a message */
	GRANTED_MAX = 8192,      /* packets under way */
	NS_PER_10_BYTES = 8,     /* 10 Gb/s */
	LONG_PATH_NS = 107000,   /* 50 us each way */
	SETTLE_NS = 20000000,    /* not measured */
	MEASURED_NS = 100000000, /* some 15 messages of each sender */
};

struct line {
	struct line_window window;
	uint64_t now_ns;
	uint64_t granted_ns[GRANTED_MAX];
	uint64_t head, tail; /* of granted_ns */
	uint64_t sent;       /* packets that arrived */
	uint64_t bytes;
	uint32_t came_bytes;              /* since the last sample */
	uint64_t most_bytes, least_bytes; /* of the window, while measured */
};

/* Grants packets of full length as long as the window has room. */
static void grant(struct line *l)
{
	while ((l->tail - l->head + 1) * PKT_BYTES <= line_window_bytes(&l->window)) {
		CU_ASSERT_FATAL(l->tail - l->head < GRANTED_MAX);
		l->granted_ns[l->tail++ % GRANTED_MAX] = l->now_ns;
	}
	l->window.short_of = true;
}

/* All senders have the same share, so their short packets come together. */
static uint32_t next_length(const struct line *l)
{
	return l->sent / SENDERS % PKTS == PKTS - 1 ? SHORT_BYTES : PKT_BYTES;
}

static void arrive(struct line *l)
{
	uint64_t granted_ns = l->granted_ns[l->head++ % GRANTED_MAX];
	uint64_t path_ns = granted_ns + LONG_PATH_NS;
	uint32_t bytes = next_length(l);
	struct line_sample sample = {.path_ns = LONG_PATH_NS, .pkt_bytes = PKT_BYTES};

	if (path_ns > l->now_ns)
		l->now_ns = path_ns;
	l->now_ns += bytes * NS_PER_10_BYTES / 10;
	l->sent++;
	l->bytes += bytes;
	l->came_bytes += bytes;
	/* A shorter packet is faster, which carries no information about the queue. */
	if (bytes == PKT_BYTES) {
		sample.rtt_ns = l->now_ns - granted_ns;
		sample.came_bytes = l->came_bytes;
		l->came_bytes = 0;
		line_window_sample(&l->window, l->now_ns, SENDERS, &sample);
	}
	grant(l);
}

static struct line line;

/*
 * Senders in step bring their short packets together, which leaves room on the line for a while. A
 * window that counted packets granted before its last change took that change again and again, and
 * swung by six packets; with 128 connections of TCP by half of itself.
 */
static void long_path(void)
{
	uint64_t begin_ns;

	memset(&line, 0, sizeof(line));
	line.now_ns = 1000000000;
	line_window_init(&line.window);
	line_window_shared(&line.window, line.now_ns, SENDERS);
	grant(&line);
	while (line.now_ns < 1000000000 + SETTLE_NS)
		arrive(&line);
	begin_ns = line.now_ns;
	line.bytes = 0;
	line.least_bytes = UINT64_MAX;
	while (line.now_ns < begin_ns + MEASURED_NS) {
		uint64_t bytes = line_window_bytes(&line.window);

		arrive(&line);
		line.most_bytes = bytes > line.most_bytes ? bytes : line.most_bytes;
		line.least_bytes = bytes < line.least_bytes ? bytes : line.least_bytes;
	}
	CU_ASSERT(line.most_bytes - line.least_bytes <= 2 * PKT_BYTES);
	CU_ASSERT((double)line.bytes * NS_PER_10_BYTES / 10 > 0.94 * MEASURED_NS);
}

UT_MAIN("nic_fw/base/line_window", UT(long_path))
