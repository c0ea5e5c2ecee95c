/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune's loads: who sends what when, what is measured of it. The two ends are joined by queues
 * of this file, and the clock moves when the test says so.
 */
#include "tools/weft-measure/target.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ut.h"

enum {
	QUEUE = 4096,
	CHUNK = 1000,
	BLOCK = 4,
};

/* Messages from one end to the other that were not delivered yet. */
struct wire {
	uint32_t bytes[QUEUE];
	uint32_t head, tail;
	uint32_t most; /* signalled sends under way at a time */
	struct load *from;
};

static struct load a, b;
static struct wire from_a, from_b;
static uint64_t clock_ns;

static void wire_send(void *ctx, uint32_t bytes)
{
	struct wire *w = ctx;

	CU_ASSERT_FATAL(w->tail - w->head < QUEUE);
	w->bytes[w->tail++ % QUEUE] = bytes;
	if (w->from->under_way > w->most)
		w->most = w->from->under_way;
}

static uint64_t wire_now(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

/* One message arrives, and its send is complete. */
static uint32_t deliver(struct wire *w, struct load *from, struct load *to)
{
	uint32_t bytes;

	CU_ASSERT_FATAL(w->head != w->tail);
	bytes = w->bytes[w->head++ % QUEUE];
	load_received(to, bytes);
	load_sent(from);
	return bytes;
}

static void start(const struct load_plan *plan)
{
	const struct load_io io_a = {&from_a, wire_send, wire_now};
	const struct load_io io_b = {&from_b, wire_send, wire_now};

	memset(&from_a, 0, sizeof(from_a));
	memset(&from_b, 0, sizeof(from_b));
	from_a.from = &a;
	from_b.from = &b;
	clock_ns = 1000000;
	load_init(&a, plan, &io_a, true);
	load_init(&b, plan, &io_b, false);
	load_begin(&b);
	CU_ASSERT(from_b.tail == 0);
	load_begin(&a);
}

static void pings(void)
{
	const struct load_plan plan = {.kind = LOAD_PING, .warmup = 2, .repeats = 5};
	uint32_t i;

	start(&plan);
	for (i = 0; i < 7; i++) {
		CU_ASSERT(from_a.tail == i + 1 && from_b.tail == i);
		clock_ns += 100;
		CU_ASSERT(deliver(&from_a, &a, &b) == LOAD_SMALL_BYTES);
		CU_ASSERT(b.over == (i == 6) && !a.over);
		clock_ns += 100 + 20 * (uint64_t)i;
		CU_ASSERT(deliver(&from_b, &b, &a) == LOAD_SMALL_BYTES);
	}
	CU_ASSERT(load_done(&a) && load_done(&b));
	CU_ASSERT(from_a.tail == 7 && from_b.tail == 7);
	/* Half of 240, 260 ... 320: the two of the warm-up are not there. */
	CU_ASSERT(a.num_samples == 5);
	CU_ASSERT(load_quantile(&a, 0) == 120 && load_quantile(&a, 1) == 160);
	CU_ASSERT(load_quantile(&a, 0.5) == 140);
	CU_ASSERT(fabs(load_quantile(&a, 0.9) - 156) < 1e-9);
	CU_ASSERT(isnan(load_rate(&a)));
}

/* Ten frames and a bit: blocks of four, four and three, two of them asked for at a time. */
static void bulk_blocks(void)
{
	const struct load_plan plan = {.kind = LOAD_BULK,
				       .repeats = 2,
				       .bytes = 10 * CHUNK + 1,
				       .chunk_bytes = CHUNK,
				       .block = BLOCK};
	uint32_t message, i;

	CU_ASSERT(load_frames(&plan) == 11);
	start(&plan);
	for (message = 0; message < 2; message++) {
		CU_ASSERT(from_a.tail - from_a.head == LOAD_AHEAD);
		deliver(&from_a, &a, &b);
		CU_ASSERT(from_b.tail - from_b.head == 4);
		deliver(&from_a, &a, &b);
		CU_ASSERT(from_b.tail - from_b.head == 8);
		for (i = 0; i < 3; i++)
			deliver(&from_b, &b, &a);
		CU_ASSERT(from_a.head == from_a.tail);
		/* The fourth frame asks for the third block, and so does nothing after it. */
		clock_ns += 400;
		CU_ASSERT(deliver(&from_b, &b, &a) == CHUNK);
		CU_ASSERT(from_a.tail - from_a.head == 1);
		deliver(&from_a, &a, &b);
		CU_ASSERT(from_b.tail - from_b.head == 7);
		for (i = 0; i < 6; i++)
			deliver(&from_b, &b, &a);
		CU_ASSERT(from_a.head == from_a.tail && !a.over && a.rounds == message);
		clock_ns += 700;
		deliver(&from_b, &b, &a);
		CU_ASSERT(a.rounds == message + 1);
	}
	CU_ASSERT(load_done(&a) && load_done(&b));
	CU_ASSERT(a.num_samples == 2 && load_quantile(&a, 0.5) == 1100);
	CU_ASSERT(fabs(load_rate(&a) - (10 * CHUNK + 1) * 1e9 / 1100) < 1e-3);
}

/* A part of a message stands for all of it, by the line through the times of its blocks. */
static void bulk_part(void)
{
	const struct load_plan plan = {.kind = LOAD_BULK,
				       .repeats = 1,
				       .bytes = 100 * CHUNK,
				       .chunk_bytes = CHUNK,
				       .block = BLOCK,
				       .part = 12};
	uint32_t i;

	start(&plan);
	deliver(&from_a, &a, &b);
	deliver(&from_a, &a, &b);
	clock_ns += 5000; /* what it takes to begin is counted once */
	for (i = 0; i < 12; i++) {
		clock_ns += 10;
		deliver(&from_b, &b, &a);
		if (from_a.head != from_a.tail)
			deliver(&from_a, &a, &b);
	}
	CU_ASSERT(load_done(&a) && load_done(&b) && from_b.tail == 12);
	CU_ASSERT(fabs(load_quantile(&a, 0.5) - (5000 + 100 * 10)) < 1e-6);
	/* A message smaller than a block. */
	start(&(struct load_plan){.kind = LOAD_BULK,
				  .repeats = 1,
				  .bytes = 1,
				  .chunk_bytes = CHUNK,
				  .block = BLOCK,
				  .part = 12});
	CU_ASSERT(from_a.tail == 1);
	deliver(&from_a, &a, &b);
	clock_ns += 77;
	deliver(&from_b, &b, &a);
	CU_ASSERT(load_done(&a) && load_done(&b) && load_quantile(&a, 0.5) == 77);
}

/* Two blocks go before, and are not counted; frames that come in bursts lie about a line, too. */
static void bulk_warmup_and_bursts(void)
{
	const struct load_plan plan = {.kind = LOAD_BULK,
				       .warmup = 2,
				       .repeats = 2,
				       .bytes = 400 * CHUNK,
				       .chunk_bytes = CHUNK,
				       .block = BLOCK,
				       .part = 80};
	uint32_t i, message;

	start(&plan);
	deliver(&from_a, &a, &b);
	deliver(&from_a, &a, &b);
	clock_ns += 123456;
	for (i = 0; i < 8; i++)
		deliver(&from_b, &b, &a);
	CU_ASSERT(a.rounds == 1 && a.num_samples == 0 && !b.over);
	for (message = 0; message < 2; message++) {
		/* Two blocks are reported at a time, every 80 ns. */
		for (i = 0; i < 80; i++) {
			if (i % 8 == 0) {
				deliver(&from_a, &a, &b);
				deliver(&from_a, &a, &b);
				clock_ns += 80;
			}
			deliver(&from_b, &b, &a);
		}
	}
	CU_ASSERT(load_done(&a) && load_done(&b) && a.num_samples == 2);
	CU_ASSERT(fabs(load_quantile(&a, 0.5) / 4000 - 1) < 0.02);
}

/* The window counts completions: while they are not seen nothing more is sent. */
static void stream_window(void)
{
	const struct load_plan plan = {
	    .kind = LOAD_STREAM, .warmup = 3, .repeats = 20, .chunk_bytes = CHUNK, .window = 5};
	uint32_t i;

	start(&plan);
	CU_ASSERT(from_a.tail == 1 && from_b.tail == 0);
	deliver(&from_a, &a, &b);
	CU_ASSERT(from_b.tail == 5);
	for (i = 0; i < 5; i++)
		load_received(&a, CHUNK);
	CU_ASSERT(from_b.tail == 5);
	for (i = 0; i < 5; i++)
		load_sent(&b);
	CU_ASSERT(from_b.tail == 10 && from_b.most == 5);
	from_b.head = 5;
	while (from_b.head != from_b.tail) {
		clock_ns += 50;
		deliver(&from_b, &b, &a);
	}
	CU_ASSERT(from_b.tail == 23 && from_b.most == 5);
	CU_ASSERT(load_done(&a) && load_done(&b));
	/* The third came with the first five, at once; eighteen more, 50 ns each. */
	CU_ASSERT(fabs(load_rate(&a) - 20.0 * CHUNK * 1e9 / (18 * 50)) < 1e-3);
}

/* Without a window its queue is the bound, for what it is asked for, too. */
static void queue_bound(void)
{
	const struct load_plan plan = {
	    .kind = LOAD_STREAM, .warmup = 1, .repeats = 1000, .chunk_bytes = CHUNK};

	start(&plan);
	deliver(&from_a, &a, &b);
	CU_ASSERT(from_b.tail == LOAD_SENDS && !load_done(&b) && b.over);
	while (from_b.head != from_b.tail)
		deliver(&from_b, &b, &a);
	CU_ASSERT(from_b.most == LOAD_SENDS && from_b.tail == 1001);
	CU_ASSERT(load_done(&a) && load_done(&b));
}

static void names(void)
{
	char name[8];
	const char *peer;

	peer = tune_split_name("weft0@weft1", name, sizeof(name));
	CU_ASSERT(!strcmp(name, "weft0") && peer && !strcmp(peer, "weft1"));
	CU_ASSERT(!tune_split_name("eth0", name, sizeof(name)) && !strcmp(name, "eth0"));
	peer = tune_split_name("a-very-long-name@x@y", name, sizeof(name));
	CU_ASSERT(!strcmp(name, "a-very-") && peer && !strcmp(peer, "x@y"));
	peer = tune_split_name("@", name, sizeof(name));
	CU_ASSERT(!name[0] && peer && !*peer);
}

/* Figures of a run, metric by metric; metrics of other works stay unchanged. */
static void results(void)
{
	struct tune_outcome run = {
	    .load = &a, .seconds = 2, .irqs_a = 30, .irqs_b = 10, .busy_a = 0.5, .busy_b = 0.25};
	struct tune_result r;
	uint32_t all = 0, i, highest[HW_COALESCE_NUM_PARAMS];
	char error[TUNE_ERROR_CHARS];

	for (i = 0; i < TUNE_WORKS; i++) {
		CU_ASSERT(!(all & tune_work_metrics((enum tune_work)i)));
		all |= tune_work_metrics((enum tune_work)i);
	}
	CU_ASSERT(all == (1u << TUNE_NUM_METRICS) - 1);
	pings();
	tune_result_clear(&r);
	tune_work_result(TUNE_WORK_PING, &run, &r);
	CU_ASSERT(r.value[TUNE_lat_us] == 0.14 && isnan(r.value[TUNE_bw_1m]));
	bulk_blocks();
	tune_work_result(TUNE_WORK_BULK_1, &run, &r);
	tune_work_result(TUNE_WORK_BULK_10, &run, &r);
	CU_ASSERT(fabs(r.value[TUNE_bw_1m] - 10.001e3 / 1.1) < 1e-6);
	CU_ASSERT(r.value[TUNE_overlap] == 0.625 && r.value[TUNE_irqs_per_s] == 20);
	run.busy_a = run.busy_b = 1.01; /* rounding of the kernel's accounts */
	tune_work_result(TUNE_WORK_BULK_1, &run, &r);
	CU_ASSERT(r.value[TUNE_overlap] == 0);
	stream_window();
	run.busy_a = 0.5;
	run.wakeups = 46;
	run.switches = 69;
	run.softirqs = NAN;
	tune_work_result(TUNE_WORK_STREAM, &run, &r);
	CU_ASSERT(fabs(r.value[TUNE_irqs_per_msg] - 30.0 / 23) < 1e-9);
	CU_ASSERT(fabs(r.value[TUNE_cpu_us_per_msg] - 1e6 / 23) < 1e-6);
	CU_ASSERT(fabs(r.value[TUNE_wakeups_per_msg] - 2) < 1e-9);
	CU_ASSERT(fabs(r.value[TUNE_switches_per_msg] - 3) < 1e-9);
	CU_ASSERT(isnan(r.value[TUNE_softirqs_per_msg]));
	CU_ASSERT(tune_nic_params(NULL, highest) == 0xff && highest[HW_COALESCE_rx_usecs] == 1023 &&
		  highest[HW_COALESCE_tx_frames_irq] == 255);
	CU_ASSERT(tune_repeats(1000, 0.25, 50) == 250 && tune_repeats(1000, 0.001, 50) == 50);
	CU_ASSERT(tune_error(error, -ENODEV, "%s", "x") == -ENODEV && !strcmp(error, "x"));
}

static uint32_t works; /* that were asked for, by bit */
static int fail_at;    /* the work that fails; TUNE_WORKS: none */

/* Gives all that the work tells, and more: 7 for each of its metrics, and a latency always. */
static int some_work(struct tune_target *target, enum tune_work work,
		     const struct tune_effort *effort, struct tune_result *result,
		     const volatile bool *stop, char *error)
{
	CU_ASSERT(!target && effort->effort == 0.5 && !*stop);
	works |= 1u << work;
	if ((int)work == fail_at)
		return tune_error(error, -EPIPE, "gone");
	for (uint32_t i = 0; i < TUNE_NUM_METRICS; i++)
		if (tune_work_metrics(work) >> i & 1)
			result->value[i] = 7;
	result->value[TUNE_lat_us] = 1;
	return 0;
}

static int measure_some(uint32_t metrics, struct tune_result *r)
{
	struct tune_effort effort = {.metrics = metrics, .effort = 0.5};
	char error[TUNE_ERROR_CHARS] = "";
	const volatile bool stop = false;
	int rc;

	works = 0;
	rc = tune_measure_works(NULL, some_work, &effort, r, &stop, error);
	CU_ASSERT(!rc == !error[0]);
	return rc;
}

/* The works that the metrics need, and of what they tell the metrics that were asked for. */
static void works_of_metrics(void)
{
	struct tune_result r = {{0}};

	fail_at = TUNE_WORKS;
	CU_ASSERT(!measure_some(TUNE_BIT(overlap), &r));
	CU_ASSERT(works == 1u << TUNE_WORK_BULK_1);
	CU_ASSERT(r.value[TUNE_overlap] == 7 && isnan(r.value[TUNE_lat_us]));
	CU_ASSERT(isnan(r.value[TUNE_bw_1m]) && isnan(r.value[TUNE_irqs_per_msg]));
	CU_ASSERT(!measure_some(TUNE_BIT(bw_10m) | TUNE_BIT(lat_us), &r));
	CU_ASSERT(works == (1u << TUNE_WORK_PING | 1u << TUNE_WORK_BULK_10));
	CU_ASSERT(r.value[TUNE_bw_10m] == 7 && r.value[TUNE_lat_us] == 1);
	CU_ASSERT(isnan(r.value[TUNE_overlap]));
	fail_at = TUNE_WORK_BULK_1;
	CU_ASSERT(measure_some(TUNE_ALL_METRICS, &r) == -EPIPE);
	CU_ASSERT(works == (1u << TUNE_WORK_PING | 1u << TUNE_WORK_BULK_1));
	CU_ASSERT(isnan(r.value[TUNE_lat_us]) && isnan(r.value[TUNE_bw_1m]));
}

UT_MAIN("tools/measure_load", UT(pings), UT(bulk_blocks), UT(bulk_part), UT(bulk_warmup_and_bursts),
	UT(stream_window), UT(queue_bound), UT(names), UT(results), UT(works_of_metrics))
