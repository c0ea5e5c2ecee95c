/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Impairments of the switch: a perfect wire, loss, duplication, delay, order, rate, bounds, and
 * repetition by a seed.
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

static void start(struct impair_conf conf)
{
	atomic_store(&line, 0);
	impair_init(&im, &conf, 0, &line);
}

static void nothing_wanted(void)
{
	CU_ASSERT_FALSE(impair_wanted(&(struct impair_conf){.seed = 5}));
	CU_ASSERT_TRUE(impair_wanted(&(struct impair_conf){.loss = 1}));
	CU_ASSERT_TRUE(impair_wanted(&(struct impair_conf){.reorder = 1}));
	CU_ASSERT_TRUE(impair_wanted(&(struct impair_conf){.dup = 1}));
	CU_ASSERT_TRUE(impair_wanted(&(struct impair_conf){.delay_ns = 1}));
	CU_ASSERT_TRUE(impair_wanted(&(struct impair_conf){.rate_gbps = 0.1}));
}

static void probabilities(void)
{
	CU_ASSERT_EQUAL(impair_probability(0), 0);
	CU_ASSERT_EQUAL(impair_probability(-1), 0);
	CU_ASSERT_EQUAL(impair_probability(50), 0x80000000u);
	CU_ASSERT_EQUAL(impair_probability(100), UINT32_MAX);
	CU_ASSERT_EQUAL(impair_probability(1000), UINT32_MAX);
}

static void order_is_kept(void)
{
	void *out[64];

	start((struct impair_conf){.delay_ns = 1000});
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

	start((struct impair_conf){.loss = UINT32_MAX});
	for (uintptr_t i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(impair_in(&im, i, frame(i), 100), IMPAIR_LOST);
	CU_ASSERT_EQUAL(im.stats.lost, 1000);
	start((struct impair_conf){.loss = impair_probability(10), .seed = 3});
	for (uintptr_t i = 0; i < 20000; i++) {
		lost += impair_in(&im, i, frame(i), 100) == IMPAIR_LOST;
		impair_out(&im, i, out, 1);
	}
	/* 2000 expected; the generator is fixed, so the bounds never change. */
	CU_ASSERT(lost > 1850 && lost < 2150);
	CU_ASSERT_EQUAL(im.stats.lost, lost);
}

static void duplicates_come_twice(void)
{
	void *out[4];

	start((struct impair_conf){.dup = UINT32_MAX});
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
	start((struct impair_conf){.reorder = impair_probability(5), .seed = 9});
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

	start((struct impair_conf){.reorder = UINT32_MAX});
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
	start((struct impair_conf){.rate_gbps = 1});
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
	const struct impair_conf conf = {.rate_gbps = 1};

	start(conf);
	impair_init(&other, &conf, 1, &line);
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(0), 101), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_in(&other, 0, frame(1), 101), IMPAIR_TAKEN);
	CU_ASSERT_EQUAL(impair_next_ns(&im), 1000);
	CU_ASSERT_EQUAL(impair_next_ns(&other), 2000);
}

static void queue_is_bounded(void)
{
	static void *out[IMPAIR_QUEUE_MAX];
	uint32_t taken = 0;

	start((struct impair_conf){.delay_ns = 1, .dup = UINT32_MAX});
	while (impair_in(&im, 0, frame(taken), 100) == IMPAIR_TAKEN_TWICE)
		taken++;
	CU_ASSERT_EQUAL(taken, IMPAIR_QUEUE_MAX / 2);
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(0), 100), IMPAIR_FULL);
	CU_ASSERT_EQUAL(im.stats.overflowed, 2);
	CU_ASSERT_EQUAL(impair_out(&im, 1, out, IMPAIR_QUEUE_MAX), IMPAIR_QUEUE_MAX);
	CU_ASSERT_EQUAL(impair_in(&im, 0, frame(0), 100), IMPAIR_TAKEN_TWICE);
}

/* A sum over all verdicts and outputs of a run. */
static uint64_t fingerprint(uint64_t seed, uint64_t stream)
{
	const struct impair_conf conf = {.loss = impair_probability(5),
					 .dup = impair_probability(5),
					 .reorder = impair_probability(5),
					 .delay_ns = 10,
					 .seed = seed};
	uint64_t sum = 0;

	atomic_store(&line, 0);
	impair_init(&im, &conf, stream, &line);
	for (uintptr_t i = 0; i < 3000; i++) {
		void *out[8];
		uint32_t n;

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

UT_MAIN("dpdk_app/impair", UT(nothing_wanted), UT(probabilities), UT(order_is_kept),
	UT(loss_of_all_and_of_some), UT(duplicates_come_twice), UT(overtaken_by_a_few),
	UT(nothing_follows_a_held_frame), UT(line_rate), UT(shards_share_the_line),
	UT(queue_is_bounded), UT(a_seed_repeats_itself))
