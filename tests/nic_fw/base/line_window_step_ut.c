/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/base/line_window.c: each decision with its numbers, worked out by hand. How a window does
 * on a line is in line_window_ut.c.
 */
#include "nic_fw/base/line_window.h"

#include "tests/ut.h"

enum {
	PKT = 1000,
	BYTES = 64000,    /* the window at the start: a 16th of it is 4000 */
	CAME = BYTES / 8, /* of each sample: a round of 8 ends with the last of them */
	SENDERS = 3,
};
#define BEGIN_NS UINT64_C(5000000000)
#define PATH_NS  UINT64_C(50000)
#define HIGH_NS  LINE_WINDOW_TARGET_NS /* the least delays of each kind, and the largest */
#define LOW_NS   (LINE_WINDOW_TARGET_NS / 4)
#define LEAST_NS (LOW_NS - 1)

static struct line_window w;
static struct line_sample sample;
static uint64_t now_ns;

/* A window that was shared and measured just now, and never changed. */
static void begin(uint64_t bytes)
{
	now_ns = BEGIN_NS;
	line_window_init(&w);
	w.bytes = bytes;
	w.shared_ns = now_ns;
	w.drained_ns = now_ns;
	sample = (struct line_sample){
	    .path_ns = PATH_NS, .rtt_ns = PATH_NS, .pkt_bytes = PKT, .came_bytes = CAME};
}

/* Takes so many samples with that delay in the queue. */
static void take(uint32_t n, uint64_t queue_ns)
{
	sample.rtt_ns = PATH_NS + queue_ns;
	while (n--)
		line_window_sample(&w, now_ns, SENDERS, &sample);
}

static void parts(void)
{
	begin(100000);
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 7), 25000);
	w.path_ns = 90000;
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 90000), 25000);
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 190000), 50000);
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 0), 2500);
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 1590000), 400000);
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 1690000), 400000);
	w.drain = 1;
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 90000), LINE_WINDOW_MIN_BYTES / 4);
	w.drain = 0;
	CU_ASSERT_EQUAL(line_window_part(&w, 4, 90000), 25000);
}

/* A round of so many samples of each kind; returns the window behind it. */
static uint64_t round_of(uint32_t high, uint32_t low, uint32_t least, bool short_of)
{
	w.short_of = short_of;
	take(high, HIGH_NS);
	take(low, LOW_NS);
	take(least, LEAST_NS);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
	CU_ASSERT_EQUAL(w.round_bytes, 0);
	CU_ASSERT_EQUAL(w.round_low, 0);
	CU_ASSERT_EQUAL(w.round_least, 0);
	CU_ASSERT_FALSE(w.short_of);
	return w.bytes;
}

static void rounds(void)
{
	begin(BYTES);
	CU_ASSERT_EQUAL(round_of(8, 0, 0, true), BYTES - BYTES / 16);
	CU_ASSERT_EQUAL(w.grown_bytes, 0);
	CU_ASSERT_EQUAL(w.changed_ns, now_ns);
	begin(BYTES);
	CU_ASSERT_EQUAL(round_of(7, 1, 0, true), BYTES - PKT);
	begin(BYTES);
	CU_ASSERT_EQUAL(round_of(6, 2, 0, false), BYTES);
	CU_ASSERT_EQUAL(w.changed_ns, 0);
	begin(BYTES);
	CU_ASSERT_EQUAL(round_of(6, 2, 0, true), BYTES + PKT);
	CU_ASSERT_EQUAL(w.grown_bytes, PKT);
	CU_ASSERT_EQUAL(w.changed_ns, now_ns);
	begin(BYTES);
	CU_ASSERT_EQUAL(round_of(0, 4, 4, true), BYTES + PKT);
	begin(BYTES);
	CU_ASSERT_EQUAL(round_of(0, 3, 5, true), BYTES + BYTES / 16);
	CU_ASSERT_EQUAL(w.grown_bytes, BYTES / 16);
	begin(BYTES);
	CU_ASSERT_EQUAL(round_of(0, 0, 8, false), BYTES);
	/* Two of nine are less than a quarter. */
	begin(BYTES);
	w.ramp = true;
	sample.came_bytes = CAME - 1;
	CU_ASSERT_EQUAL(round_of(7, 2, 0, false), BYTES - PKT);
	CU_ASSERT_FALSE(w.ramp);
}

/* A step is a packet at least; the window stays within its bounds. */
static void bounds_of_the_window(void)
{
	begin(40000);
	sample.pkt_bytes = 3000;
	CU_ASSERT_EQUAL(round_of(0, 0, 8, true), 43000);
	begin(40000);
	sample.pkt_bytes = 3000;
	CU_ASSERT_EQUAL(round_of(8, 0, 0, true), 37000);
	begin(BYTES);
	sample.pkt_bytes = BYTES / 16 - 1;
	CU_ASSERT_EQUAL(round_of(8, 0, 0, true), BYTES - BYTES / 16);
	begin(33000);
	CU_ASSERT_EQUAL(round_of(8, 0, 0, true), LINE_WINDOW_MIN_BYTES);
	begin(BYTES);
	sample.pkt_bytes = 2 * BYTES;
	CU_ASSERT_EQUAL(round_of(8, 0, 0, true), LINE_WINDOW_MIN_BYTES);
	begin(LINE_WINDOW_MAX_BYTES - 100);
	sample.came_bytes = LINE_WINDOW_MAX_BYTES / 8;
	CU_ASSERT_EQUAL(round_of(0, 0, 8, true), LINE_WINDOW_MAX_BYTES);
	CU_ASSERT_EQUAL(w.grown_bytes, 100);
}

/* A round is eight samples and a window of bytes. */
static void lengths_of_rounds(void)
{
	begin(BYTES);
	sample.came_bytes = BYTES;
	take(7, HIGH_NS);
	CU_ASSERT_EQUAL(w.round_pkts, 7);
	CU_ASSERT_EQUAL(w.bytes, BYTES);
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.bytes, BYTES - BYTES / 16);
	begin(BYTES);
	sample.came_bytes = CAME - 1;
	take(8, HIGH_NS);
	CU_ASSERT_EQUAL(w.bytes, BYTES);
	sample.came_bytes = 7;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.bytes, BYTES);
	sample.came_bytes = 1;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.bytes, BYTES - BYTES / 16);
}

/* Samples of packets from before a growth take it back, once, if they are a round. */
static void growth_is_undone(void)
{
	begin(BYTES);
	(void)round_of(0, 0, 8, true);
	now_ns++;
	take(7, HIGH_NS);
	/* The first packet that was granted since ends the round, which was too short. */
	now_ns += PATH_NS + HIGH_NS - 1;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.bytes, BYTES + BYTES / 16);
	CU_ASSERT_EQUAL(w.round_pkts, 1);
	CU_ASSERT_FALSE(w.round_stale);

	begin(BYTES);
	(void)round_of(0, 0, 8, true);
	now_ns += PATH_NS + HIGH_NS - 1;
	sample.came_bytes = 1;
	take(8, HIGH_NS);
	CU_ASSERT_TRUE(w.round_stale);
	CU_ASSERT_EQUAL(w.bytes, BYTES + BYTES / 16);
	now_ns++;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.bytes, BYTES);
	CU_ASSERT_EQUAL(w.grown_bytes, 0);
	CU_ASSERT_EQUAL(w.changed_ns, now_ns);

	/* A window that shrank, or had little delay, keeps its length. */
	begin(BYTES);
	(void)round_of(0, 0, 8, true);
	now_ns++;
	sample.came_bytes = BYTES;
	CU_ASSERT_EQUAL(round_of(6, 2, 0, false), BYTES + BYTES / 16);
	begin(BYTES);
	(void)round_of(8, 0, 0, true);
	now_ns++;
	CU_ASSERT_EQUAL(round_of(8, 0, 0, true), BYTES - BYTES / 16);
	begin(BYTES);
	(void)round_of(0, 0, 8, true);
	now_ns++;
	sample.came_bytes = BYTES;
	CU_ASSERT_EQUAL(round_of(0, 0, 8, true), BYTES + BYTES / 16);
	CU_ASSERT_EQUAL(w.changed_ns, now_ns - 1);
}

/* A fresh round with delay shrinks by its own rule, also right behind a growth. */
static void fresh_rounds_undo_nothing(void)
{
	begin(BYTES);
	(void)round_of(0, 0, 8, true);
	now_ns += PATH_NS + HIGH_NS;
	sample.came_bytes = BYTES;
	CU_ASSERT_EQUAL(round_of(7, 1, 0, true), BYTES + BYTES / 16 - PKT);
	/* A packet that was long under way does not count in a round of fresh ones. */
	now_ns += PATH_NS + LEAST_NS;
	take(2, LEAST_NS);
	take(3, HIGH_NS);
	CU_ASSERT_EQUAL(w.round_pkts, 2);
	CU_ASSERT_FALSE(w.round_stale);
}

static void path_without_queues(void)
{
	begin(BYTES);
	take(1, 0);
	CU_ASSERT_EQUAL(w.path_ns, PATH_NS);
	sample.path_ns = PATH_NS - 6400;
	take(1, 0);
	CU_ASSERT_EQUAL(w.path_ns, PATH_NS - 100);
	CU_ASSERT_EQUAL(w.round_pkts, 2);
	CU_ASSERT_EQUAL(w.round_low, 2);
	CU_ASSERT_EQUAL(w.round_least, 1);
	/* Packets without a path, and those that are sooner than it, show nothing. */
	now_ns += 5;
	sample.path_ns = 0;
	take(1, 0);
	sample.path_ns = PATH_NS + 1;
	take(1, 0);
	CU_ASSERT_EQUAL(w.round_pkts, 2);
	CU_ASSERT_EQUAL(w.path_ns, PATH_NS - 100);
	CU_ASSERT_EQUAL(w.shared_ns, now_ns);
}

static void a_line_that_was_not_shared(void)
{
	begin(BYTES);
	take(3, LOW_NS);
	w.train_path_ns = 9;
	line_window_shared(&w, BEGIN_NS + LINE_WINDOW_ALONE_NS, SENDERS);
	CU_ASSERT_EQUAL(line_window_bytes(&w), BYTES);
	CU_ASSERT_EQUAL(w.round_pkts, 3);
	CU_ASSERT_FALSE(w.ramp);
	line_window_joined(&w);
	CU_ASSERT_EQUAL(w.drain, 0);
	w.short_of = true;
	w.round_stale = true;
	line_window_shared(&w, BEGIN_NS + LINE_WINDOW_ALONE_NS + 1, SENDERS);
	CU_ASSERT_EQUAL(w.bytes, LINE_WINDOW_MIN_BYTES);
	CU_ASSERT_TRUE(w.ramp);
	CU_ASSERT_EQUAL(w.train_path_ns, 0);
	CU_ASSERT_EQUAL(w.drained_ns, BEGIN_NS + LINE_WINDOW_ALONE_NS + 1);
	CU_ASSERT_EQUAL(w.drain, 4 + SENDERS);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
	CU_ASSERT_EQUAL(w.round_bytes, 0);
	CU_ASSERT_EQUAL(w.round_low, 0);
	CU_ASSERT_FALSE(w.short_of || w.round_stale);
	line_window_joined(&w);
	CU_ASSERT_EQUAL(w.drain, 6 + SENDERS);
}

/* The window is small for so many packets, each of full length. */
static void small_for_some_packets(void)
{
	begin(BYTES);
	w.drain = 4;
	sample.came_bytes = 3 * PKT - 1;
	line_window_path(&w, &sample);
	CU_ASSERT_EQUAL(w.drain, 2);
	CU_ASSERT_EQUAL(line_window_bytes(&w), LINE_WINDOW_MIN_BYTES);
	sample.came_bytes = 3 * PKT;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.drain, 0);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
	CU_ASSERT_EQUAL(line_window_bytes(&w), BYTES);
	line_window_path(&w, &sample);
	CU_ASSERT_EQUAL(w.drain, 0);
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.round_pkts, 1);
}

/* Now and then the window is small again, not for ever. */
static void small_again(void)
{
	begin(BYTES);
	sample.came_bytes = PKT;
	now_ns += LINE_WINDOW_DRAIN_NS;
	take(3, HIGH_NS);
	CU_ASSERT_EQUAL(w.drain, 0);
	CU_ASSERT_EQUAL(w.round_pkts, 3);
	now_ns++;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.drain, 4 + SENDERS - 1);
	CU_ASSERT_EQUAL(w.drained_ns, now_ns);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
	CU_ASSERT_EQUAL(w.bytes, BYTES);
	now_ns += LINE_WINDOW_SMALL_NS;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.drain, 4 + SENDERS - 2);
	now_ns++;
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.drain, 0);
	CU_ASSERT_EQUAL(w.round_pkts, 1);
}

static void ramp_of(uint64_t bytes)
{
	begin(bytes);
	w.ramp = true;
	w.short_of = true;
}

/* A sample lets the ramp grow by what came, a quarter at most, if it was hardly delayed. */
static void ramp_steps(void)
{
	ramp_of(BYTES);
	take(1, HIGH_NS - 1);
	CU_ASSERT_EQUAL(w.bytes, BYTES + CAME);
	sample.came_bytes = BYTES;
	take(1, 0);
	CU_ASSERT_EQUAL(w.bytes, (BYTES + CAME) / 4 * 5);
	take(1, HIGH_NS);
	CU_ASSERT_EQUAL(w.bytes, (BYTES + CAME) / 4 * 5);
	w.short_of = false;
	take(1, 0);
	CU_ASSERT_EQUAL(w.bytes, (BYTES + CAME) / 4 * 5);
	ramp_of(LINE_WINDOW_MAX_BYTES);
	take(1, 0);
	CU_ASSERT_EQUAL(w.bytes, LINE_WINDOW_MAX_BYTES);
	/* Packets from before a change count on the ramp. */
	ramp_of(BYTES);
	w.changed_ns = now_ns;
	take(1, 0);
	CU_ASSERT_EQUAL(w.round_pkts, 1);
	CU_ASSERT_FALSE(w.round_stale);
}

/* A round with delay ends the ramp, and one with hardly any does not. */
static void rounds_of_the_ramp(void)
{
	ramp_of(BYTES);
	w.short_of = false;
	take(6, HIGH_NS);
	take(2, LOW_NS);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
	CU_ASSERT_TRUE(w.ramp);
	take(7, HIGH_NS);
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.round_pkts, 0);
	CU_ASSERT_FALSE(w.ramp);
}

/*
 * Packets that waited leave the queue at the rate of the line: 30,000 bytes in 12 us are 150,000 in
 * the 60 us of path and target.
 */
static void trains(void)
{
	ramp_of(BYTES);
	sample.every = true;
	sample.came_bytes = 10000;
	take(1, LEAST_NS);
	CU_ASSERT_EQUAL(w.train_ns, now_ns);
	CU_ASSERT_EQUAL(w.train_bytes, 0);
	CU_ASSERT_EQUAL(w.bytes, BYTES + 10000);
	w.short_of = false;
	now_ns += HIGH_NS - 1;
	take(2, LOW_NS);
	CU_ASSERT_EQUAL(w.train_bytes, 20000);
	CU_ASSERT_TRUE(w.ramp);
	now_ns += 2001;
	take(1, LOW_NS);
	CU_ASSERT_FALSE(w.ramp);
	CU_ASSERT_EQUAL(w.bytes, 150000);
	/* After the ramp nothing is measured. */
	now_ns += 5;
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.train_bytes, 30000);
}

/* The shortest path counts; a train that says less ends the ramp alone; none says more than all. */
static void trains_and_bounds(void)
{
	ramp_of(BYTES);
	w.short_of = false;
	sample.every = true;
	sample.came_bytes = 10000;
	take(1, 0);
	sample.path_ns = PATH_NS - 20000;
	take(1, 0);
	CU_ASSERT_EQUAL(w.train_path_ns, PATH_NS - 20000);
	sample.path_ns = PATH_NS;
	now_ns += HIGH_NS;
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.train_path_ns, PATH_NS - 20000);
	CU_ASSERT_FALSE(w.ramp);
	CU_ASSERT_EQUAL(w.bytes, 20000 * (30000 + 10000) / 10000);

	ramp_of(BYTES);
	w.short_of = false;
	sample.every = true;
	take(1, 0);
	sample.came_bytes = 10000;
	now_ns += HIGH_NS;
	take(1, LOW_NS);
	CU_ASSERT_FALSE(w.ramp);
	CU_ASSERT_EQUAL(w.bytes, BYTES);

	ramp_of(BYTES);
	sample.every = true;
	take(1, 0);
	now_ns += HIGH_NS;
	sample.came_bytes = LINE_WINDOW_MAX_BYTES;
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.bytes, LINE_WINDOW_MAX_BYTES);
}

/* A train ends with a packet that did not wait, and after a millisecond. */
static void trains_end(void)
{
	ramp_of(BYTES);
	w.short_of = false;
	sample.every = true;
	sample.came_bytes = 10;
	take(1, 0);
	now_ns += 1000;
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.train_bytes, 10);
	take(1, LEAST_NS);
	CU_ASSERT_EQUAL(w.train_bytes, 0);
	CU_ASSERT_EQUAL(w.train_ns, now_ns);
	now_ns += 1000000;
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.train_bytes, 10);
	CU_ASSERT_FALSE(w.ramp);
	ramp_of(BYTES);
	sample.every = true;
	take(1, 0);
	now_ns += 1000001;
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.train_bytes, 0);
	CU_ASSERT_EQUAL(w.train_ns, now_ns);
	CU_ASSERT_TRUE(w.ramp);
	/* Where only some packets bring a sample, trains do not show. */
	ramp_of(BYTES);
	take(1, 0);
	now_ns += HIGH_NS;
	take(1, LOW_NS);
	CU_ASSERT_EQUAL(w.train_bytes, 0);
	CU_ASSERT_TRUE(w.ramp);
}

UT_MAIN("nic_fw/base/line_window_step", UT(parts), UT(rounds), UT(bounds_of_the_window),
	UT(lengths_of_rounds), UT(growth_is_undone), UT(fresh_rounds_undo_nothing),
	UT(path_without_queues), UT(a_line_that_was_not_shared), UT(small_for_some_packets),
	UT(small_again), UT(ramp_steps), UT(rounds_of_the_ramp), UT(trains), UT(trains_and_bounds),
	UT(trains_end))
