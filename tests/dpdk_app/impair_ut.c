/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames under faults: loss, duplication, delay, order, rate, bounds, changes, and repetition by a
 * seed.
 *
 * Runs dpdk_app/wire/impair.c; a frame is its own number here, and time is an argument.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "dpdk_app/wire/impair.h"
#include "tests/ut.h"

static struct impair im;
static _Atomic(uint64_t) line;

static void *frame(uintptr_t number)
{
	return (void *)(number + 1);
}

static uintptr_t number(const void *f)
{
	return (uintptr_t)f - 1;
}

static void start(struct hw_fault conf)
{
	atomic_store(&line, 0);
	impair_init(&im, &conf, 0, IMPAIR_QUEUE_MAX, &line);
}

static void order_is_kept(void)
{
	void *out[64];

	start((struct hw_fault){.delay_ns = 1000});
	CU_ASSERT_EQUAL(impair_next_ns(&im), UINT64_MAX);
	for (uintptr_t i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(impair_in(&im, 500 + i / 16, frame(i), 100), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_next_ns(&im), 1500);
	CU_ASSERT_EQUAL(impair_out(&im, 1499, out, 64), 0);
	CU_ASSERT_EQUAL(impair_out(&im, 1500, out, 10), 10);
	CU_ASSERT_EQUAL(impair_out(&im, 1500, out + 10, 54), 6);
	CU_ASSERT_EQUAL(impair_out(&im, 2000, out + 16, 48), 48);
	for (uintptr_t i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(number(out[i]), i);
	CU_ASSERT_EQUAL(impair_next_ns(&im), UINT64_MAX);
}

static void loss_of_all_and_of_some(void)
{
	uint32_t lost = 0;
	void *out[1];

	start((struct hw_fault){.chance.loss_ppm = HW_FAULT_PPM});
	for (uintptr_t i = 0; i < 1000; i++)
		CU_ASSERT_TRUE(impair_loses(&im, i));
	CU_ASSERT_EQUAL(im.stats.lost, 1000);
	start((struct hw_fault){.chance.loss_ppm = 100000, .seed = 3});
	for (uintptr_t i = 0; i < 20000; i++) {
		if (impair_loses(&im, i)) {
			lost++;
			continue;
		}
		CU_ASSERT_EQUAL(impair_in(&im, i, frame(i), 100), IMPAIR_TAKEN);
		CU_ASSERT_EQUAL(impair_out(&im, i, out, 1), 1);
	}
	/* 2000 expected; the generator is fixed, so the bounds never change. */
	CU_ASSERT(lost > 1850 && lost < 2150);
	CU_ASSERT_EQUAL(im.stats.lost, lost);
}

static void duplicates_come_twice(void)
{
	void *out[4];

	start((struct hw_fault){.chance.dup_ppm = HW_FAULT_PPM});
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(1), 100), IMPAIR_TAKEN_TWICE);
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(2), 100), IMPAIR_TAKEN_TWICE);
	CU_ASSERT_EQUAL(impair_out(&im, 0, out, 4), 4);
	CU_ASSERT_EQUAL(number(out[0]), 1);
	CU_ASSERT_EQUAL(number(out[1]), 1);
	CU_ASSERT_EQUAL(number(out[2]), 2);
	CU_ASSERT_EQUAL(im.stats.duplicated, 2);
}

static void overtaken_by_a_few(void)
{
	static uint8_t seen[10000];
	uintptr_t highest = 0;
	uint32_t late = 0, got = 0;
	void *out[32];

	memset(seen, 0, sizeof(seen));
	start((struct hw_fault){.chance.reorder_ppm = 50000, .seed = 9});
	for (uintptr_t i = 0; i < 10000; i++) {
		uint32_t n;

		CU_ASSERT_EQUAL(impair_in(&im, i, frame(i), 100), IMPAIR_TAKEN);
		n = impair_out(&im, i, out, 32);
		for (uint32_t k = 0; k < n; k++) {
			uintptr_t x = number(out[k]);

			seen[x]++;
			got++;
			if (x < highest) {
				late++;
				/* Held frames keep their order, so it takes a little longer. */
				CU_ASSERT(highest - x <= IMPAIR_OVERTAKE_MAX + IMPAIR_HELD_MAX);
			} else {
				highest = x;
			}
		}
	}
	got += impair_out(&im, 10000 + IMPAIR_HELD_NS, out, 32);
	CU_ASSERT_EQUAL(got, 10000);
	CU_ASSERT(late > 300 && late < 700);
	for (uint32_t i = 0; i < 9000; i++)
		CU_ASSERT_EQUAL(seen[i], 1);
}

static void nothing_follows_a_held_frame(void)
{
	void *out[1];

	start((struct hw_fault){.chance.reorder_ppm = HW_FAULT_PPM});
	CU_ASSERT_EQUAL(impair_in(&im, 100, frame(7), 100), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_out(&im, 100, out, 1), 0);
	CU_ASSERT_EQUAL(impair_next_ns(&im), 100 + IMPAIR_HELD_NS);
	CU_ASSERT_EQUAL(impair_out(&im, 100 + IMPAIR_HELD_NS, out, 1), 1);
	CU_ASSERT_EQUAL(number(out[0]), 7);
}

static void line_rate(void)
{
	void *out[8];

	/* 101 and 24 bytes of overhead at 1 Gbit/s: a microsecond each. */
	start((struct hw_fault){.rate_bps = 1000000000});
	for (uintptr_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(impair_in(&im, 0, frame(i), 101), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_next_ns(&im), 1000);
	CU_ASSERT_EQUAL(impair_out(&im, 999, out, 8), 0);
	CU_ASSERT_EQUAL(impair_out(&im, 2000, out, 8), 2);
	CU_ASSERT_EQUAL(impair_out(&im, 4000, out, 8), 2);
	/* An idle line starts anew. */
	CU_ASSERT_EQUAL(impair_in(&im, 10000, frame(5), 101), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_next_ns(&im), 11000);
}

static void shards_share_the_line(void)
{
	static struct impair other;
	const struct hw_fault conf = {.rate_bps = 1000000000};

	start(conf);
	impair_init(&other, &conf, 1, IMPAIR_QUEUE_MAX, &line);
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(0), 101), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_in(&other, 0, frame(1), 101), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_next_ns(&im), 1000);
	CU_ASSERT_EQUAL(impair_next_ns(&other), 2000);
}

static void queue_is_bounded(void)
{
	static void *out[IMPAIR_QUEUE_MAX];
	uint32_t taken = 0;

	start((struct hw_fault){.delay_ns = 1, .chance.dup_ppm = HW_FAULT_PPM});
	while (impair_in(&im, 0, frame(taken), 100) == IMPAIR_TAKEN_TWICE)
		taken++;
	CU_ASSERT_EQUAL(taken, IMPAIR_QUEUE_MAX / 2);
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(0), 100), IMPAIR_FULL);
	CU_ASSERT_EQUAL(im.stats.overflowed, 2);
	CU_ASSERT_EQUAL(impair_out(&im, 1, out, IMPAIR_QUEUE_MAX), IMPAIR_QUEUE_MAX);
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(0), 100), IMPAIR_TAKEN_TWICE);
}

static void jitter_keeps_the_order(void)
{
	uintptr_t want = 0;
	void *out[8];

	start((struct hw_fault){.delay_ns = 100, .jitter_ns = 1000, .seed = 5});
	for (uint64_t now = 0; want < 200; now += 10) {
		uint32_t n;

		if (now < 2000)
			CU_ASSERT_EQUAL(impair_in(&im, now, frame(now / 10), 100), IMPAIR_TAKEN);
		n = impair_out(&im, now, out, 8);
		for (uint32_t k = 0; k < n; k++) {
			CU_ASSERT(now >= number(out[k]) * 10 + 100);
			CU_ASSERT_EQUAL_FATAL(number(out[k]), want++);
		}
		CU_ASSERT_FATAL(now < 10000);
	}
}

static void a_change_lets_waiting_frames_go(void)
{
	const struct hw_fault none = {.seed = 1};
	void *out[16];

	start((struct hw_fault){.delay_ns = 1000000000, .chance.reorder_ppm = 300000, .seed = 2});
	for (uintptr_t i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(impair_in(&im, i, frame(i), 100), IMPAIR_TAKEN);
	CU_ASSERT(im.num_held > 0);
	CU_ASSERT_EQUAL(impair_out(&im, 10, out, 16), 0);
	impair_change(&im, &none, 0, 10);
	CU_ASSERT_EQUAL(impair_next_ns(&im), 0);
	/* A frame that comes before they have left stays behind them. */
	CU_ASSERT_EQUAL(impair_in(&im, 11, frame(8), 100), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_out(&im, 11, out, 16), 9);
	CU_ASSERT_EQUAL(number(out[8]), 8);
	CU_ASSERT_EQUAL(impair_next_ns(&im), UINT64_MAX);
	CU_ASSERT_EQUAL(impair_in(&im, 12, frame(9), 100), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_out(&im, 12, out, 16), 1);
}

static void taken_at_the_end(void)
{
	uint32_t taken = 0;

	start((struct hw_fault){.delay_ns = 1000, .chance.reorder_ppm = 500000, .seed = 3});
	for (uintptr_t i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(impair_in(&im, i, frame(i), 100), IMPAIR_TAKEN);
	while (impair_take(&im))
		taken++;
	CU_ASSERT_EQUAL(taken, 10);
	CU_ASSERT_EQUAL(impair_next_ns(&im), UINT64_MAX);
}

static void damage_is_counted(void)
{
	start((struct hw_fault){.chance.corrupt_ppm = HW_FAULT_PPM});
	CU_ASSERT_TRUE(impair_corrupts(&im));
	CU_ASSERT_EQUAL(im.stats.corrupted, 1);
	start((struct hw_fault){.chance.loss_ppm = HW_FAULT_PPM});
	CU_ASSERT_FALSE(impair_corrupts(&im));
	CU_ASSERT_EQUAL(im.stats.corrupted, 0);
}

/* A sum over all verdicts and outputs of a run. */
static uint64_t fingerprint(uint64_t seed, uint64_t stream)
{
	const struct hw_fault conf = {
	    .chance = {.loss_ppm = 50000, .dup_ppm = 50000, .reorder_ppm = 50000},
	    .delay_ns = 10,
	    .seed = seed};
	uint64_t sum = 0;

	atomic_store(&line, 0);
	impair_init(&im, &conf, stream, IMPAIR_QUEUE_MAX, &line);
	for (uintptr_t i = 0; i < 3000; i++) {
		void *out[8];
		uint32_t n;

		if (impair_loses(&im, i)) {
			sum = sum * 31 + 7;
			continue;
		}
		sum = sum * 31 + impair_in(&im, i, frame(i), 64);
		n = impair_out(&im, i, out, 8);
		for (uint32_t k = 0; k < n; k++)
			sum = sum * 31 + number(out[k]);
	}
	return sum;
}

static void a_seed_repeats_itself(void)
{
	CU_ASSERT_EQUAL(fingerprint(7, 0), fingerprint(7, 0));
	CU_ASSERT_NOT_EQUAL(fingerprint(7, 0), fingerprint(8, 0));
	CU_ASSERT_NOT_EQUAL(fingerprint(7, 0), fingerprint(7, 1));
}

UT_MAIN("dpdk_app/impair", UT(order_is_kept), UT(loss_of_all_and_of_some),
	UT(duplicates_come_twice), UT(overtaken_by_a_few), UT(nothing_follows_a_held_frame),
	UT(line_rate), UT(shards_share_the_line), UT(queue_is_bounded), UT(jitter_keeps_the_order),
	UT(a_change_lets_waiting_frames_go), UT(taken_at_the_end), UT(damage_is_counted),
	UT(a_seed_repeats_itself))
