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
	uint32_t came_bytes; /* since the last sample */
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

enum {
	FRESH_NS = 2 * LONG_PATH_NS,
	SHORT_NS = 1000,
	LONG_NS = 30000
};

/*
 * Senders in step bring their short packets together, which leaves room on the line for a while. A
 * window that counted packets granted before its last change took that change again and again, and
 * left the line idle then.
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
	while (line.now_ns < begin_ns + MEASURED_NS)
		arrive(&line);
	CU_ASSERT((double)line.bytes * NS_PER_10_BYTES / 10 > 0.96 * MEASURED_NS);
}

/* Takes a round of samples with such a delay in the queue. */
static void round_of(struct line_window *w, uint64_t now_ns, uint64_t queue_ns)
{
	struct line_sample sample = {.path_ns = LONG_PATH_NS,
				     .rtt_ns = LONG_PATH_NS + queue_ns,
				     .pkt_bytes = PKT_BYTES,
				     .came_bytes = PKT_BYTES};
	uint64_t bytes = w->bytes, came_bytes = 0;

	w->short_of = true;
	do {
		line_window_sample(w, now_ns, SENDERS, &sample);
		came_bytes += PKT_BYTES;
	} while (came_bytes < bytes || came_bytes < 8 * PKT_BYTES);
}

/* A window whose last change was an ordinary growth or shrinking at the time that it returns. */
static uint64_t changed(struct line_window *w, uint64_t queue_ns)
{
	uint64_t now_ns = 1000000000, before;

	line_window_init(w);
	w->drained_ns = now_ns;
	w->shared_ns = now_ns;
	before = w->bytes;
	round_of(w, now_ns, queue_ns);
	CU_ASSERT_NOT_EQUAL_FATAL(w->bytes, before);
	return now_ns;
}

/* Delay of packets that were granted before the window grew: it should not have grown. */
static void delay_before_growth(void)
{
	struct line_window w;
	uint64_t now_ns = changed(&w, SHORT_NS), grown = w.bytes;

	round_of(&w, now_ns + 1, SHORT_NS);
	CU_ASSERT_EQUAL(w.bytes, grown);
	round_of(&w, now_ns + 2, LONG_NS);
	CU_ASSERT_TRUE(w.bytes < grown);
}

/* Packets that were granted before the window shrank neither shrink it again nor let it grow. */
static void delay_before_shrinking(void)
{
	struct line_window w;
	uint64_t now_ns = changed(&w, LONG_NS), shrunk = w.bytes;

	round_of(&w, now_ns + 1, LONG_NS);
	CU_ASSERT_EQUAL(w.bytes, shrunk);
	round_of(&w, now_ns + 2, SHORT_NS);
	CU_ASSERT_EQUAL(w.bytes, shrunk);
	round_of(&w, now_ns + FRESH_NS, SHORT_NS);
	CU_ASSERT_TRUE(w.bytes > shrunk);
}

/* The window is small for so many packets, also for those of senders that do not use their part. */
static void small_window(void)
{
	struct line_sample sample = {.path_ns = LONG_PATH_NS,
				     .rtt_ns = LONG_PATH_NS,
				     .pkt_bytes = PKT_BYTES,
				     .came_bytes = PKT_BYTES};
	struct line_window w;
	uint32_t pkts = 0;

	line_window_init(&w);
	w.bytes = 4 * (uint64_t)LINE_WINDOW_MIN_BYTES;
	line_window_shared(&w, 1000000000, 2);
	w.bytes = 4 * (uint64_t)LINE_WINDOW_MIN_BYTES;
	for (; line_window_bytes(&w) == LINE_WINDOW_MIN_BYTES && pkts < 100; pkts++)
		line_window_path(&w, &sample);
	CU_ASSERT_TRUE(pkts >= 2 && pkts < 20);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
}

/* A window on its ramp, after the packets for which it is small. */
static void begin_ramp(struct line_window *w)
{
	struct line_sample sample = {.path_ns = LONG_PATH_NS,
				     .rtt_ns = LONG_PATH_NS,
				     .pkt_bytes = PKT_BYTES,
				     .came_bytes = PKT_BYTES};

	line_window_init(w);
	line_window_shared(w, 1000000000, 2);
	while (w->drain)
		line_window_path(w, &sample);
	w->short_of = true;
}

/*
 * The first round trips of a path are the longest, as senders begin with bursts. A ramp that
 * learned nothing from each shorter one lost a round trip.
 */
static void ramp_finds_path(void)
{
	struct line_sample sample = {.path_ns = LONG_PATH_NS,
				     .rtt_ns = LONG_PATH_NS - 1,
				     .pkt_bytes = PKT_BYTES,
				     .came_bytes = PKT_BYTES};
	struct line_window w;

	begin_ramp(&w);
	line_window_sample(&w, 1000000000 + LONG_PATH_NS, 2, &sample);
	CU_ASSERT_EQUAL(w.bytes, LINE_WINDOW_MIN_BYTES + PKT_BYTES);
	/* Once the ramp has ended, such a packet shows nothing. */
	w.ramp = false;
	w.round_pkts = 0;
	line_window_sample(&w, 1000000000 + LONG_PATH_NS, 2, &sample);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
}

/* The head of a long burst was not delayed, but those behind it may have been. */
static void ramp_head_of_burst(void)
{
	struct line_sample sample = {.path_ns = LONG_PATH_NS,
				     .rtt_ns = LONG_PATH_NS,
				     .pkt_bytes = PKT_BYTES,
				     .came_bytes = 40 * PKT_BYTES};
	struct line_window w;

	begin_ramp(&w);
	line_window_sample(&w, 1000000000 + LONG_PATH_NS, 2, &sample);
	CU_ASSERT_EQUAL(w.bytes, LINE_WINDOW_MIN_BYTES / 4 * 5);
}

UT_MAIN("nic_fw/base/line_window", UT(long_path), UT(delay_before_growth),
	UT(delay_before_shrinking), UT(small_window), UT(ramp_finds_path), UT(ramp_head_of_burst))
