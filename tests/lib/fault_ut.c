/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions about frames: chances, bursts, damage, and what a setting of nothing draws.
 *
 * Runs lib/fault.c.
 */
#include <string.h>

#include "lib/fault.h"
#include "tests/ut.h"

enum {
	FRAMES = 100000,
};

static struct xoshiro prng;
static struct fault fault;

static void start(uint64_t seed)
{
	xoshiro_init(&prng, seed);
	fault_init(&fault, &prng);
}

/* The first numbers of the state 1, 2, 3, 4, as other implementations test them. */
static void generator(void)
{
	struct xoshiro x = {{1, 2, 3, 4}};

	CU_ASSERT_EQUAL(xoshiro_next(&x), 11520);
	CU_ASSERT_EQUAL(xoshiro_next(&x), 0);
	CU_ASSERT_EQUAL(xoshiro_next(&x), 1509978240);
	CU_ASSERT_EQUAL(xoshiro_next(&x), 1215971899390074240u);
	CU_ASSERT_EQUAL(xoshiro_below(&x, 0), 0);
	CU_ASSERT_EQUAL(xoshiro_range(&x, 9, 9), 9);
}

static void chances(void)
{
	const struct hw_fault_chances c = {
	    .loss_ppm = 10000, .dup_ppm = 20000, .reorder_ppm = 30000, .corrupt_ppm = 40000};
	uint32_t n[4] = {0};

	start(7);
	for (int i = 0; i < FRAMES; i++) {
		n[0] += fault_loses(&fault, &c, 0);
		n[1] += fault_doubles(&fault, &c);
		n[2] += fault_reorders(&fault, &c);
		n[3] += fault_corrupts(&fault, &c);
	}
	/* The generator is fixed, so the counts never change: 1, 2, 3 and 4 per cent of the frames.
	 */
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT(n[i] > (i + 1) * 900 && n[i] < (i + 1) * 1100);
}

static void nothing_draws_nothing(void)
{
	const struct hw_fault_chances none = {0};
	struct xoshiro before;

	start(3);
	before = prng;
	CU_ASSERT_FALSE(fault_loses(&fault, &none, 5));
	CU_ASSERT_FALSE(fault_doubles(&fault, &none));
	CU_ASSERT_FALSE(fault_reorders(&fault, &none));
	CU_ASSERT_FALSE(fault_corrupts(&fault, &none));
	CU_ASSERT_EQUAL(fault_jitter_ns(&fault, 0), 0);
	CU_ASSERT_EQUAL(memcmp(&before, &prng, sizeof(prng)), 0);
}

static void bursts(void)
{
	const struct hw_fault_chances c = {.burst_ppm = 1000, .burst_frames = 10};
	uint32_t lost = 0, runs = 0;
	bool before = false;

	start(11);
	for (int i = 0; i < FRAMES; i++) {
		bool now = fault_loses(&fault, &c, 0);

		lost += now;
		runs += now && !before;
		before = now;
	}
	CU_ASSERT(runs > 70 && runs < 130);
	CU_ASSERT(lost > 7 * runs && lost < 14 * runs);
	/* A burst ends after a millisecond, and when it is told to. */
	fault.burst_left = 5;
	fault.burst_until_ns = 1000000;
	CU_ASSERT_TRUE(fault_loses(&fault, &(struct hw_fault_chances){0}, 999999));
	CU_ASSERT_FALSE(fault_loses(&fault, &(struct hw_fault_chances){0}, 1000000));
	fault.burst_left = 5;
	fault_end_burst(&fault);
	CU_ASSERT_FALSE(fault_loses(&fault, &(struct hw_fault_chances){0}, 0));
}

static void damage(void)
{
	uint8_t frame[64], one = 0;

	start(13);
	for (int i = 0; i < 1000; i++) {
		uint32_t changed = 0;

		memset(frame, 0, sizeof(frame));
		fault_corrupt(&fault, frame, sizeof(frame));
		for (size_t k = 0; k < sizeof(frame); k++)
			changed += frame[k] != 0;
		/* Two changes of one byte may take each other back. */
		CU_ASSERT(changed <= 4);
		one |= changed != 0;
	}
	CU_ASSERT_TRUE(one);
	fault_corrupt(&fault, frame, 1);
}

static void percentages(void)
{
	CU_ASSERT_EQUAL(fault_ppm(0), 0);
	CU_ASSERT_EQUAL(fault_ppm(-1), 0);
	CU_ASSERT_EQUAL(fault_ppm(1), 10000);
	CU_ASSERT_EQUAL(fault_ppm(0.00001), 1);
	CU_ASSERT_EQUAL(fault_ppm(50), 500000);
	CU_ASSERT_EQUAL(fault_ppm(100), HW_FAULT_PPM);
	CU_ASSERT_EQUAL(fault_ppm(1000), HW_FAULT_PPM);
}

static void wanted(void)
{
	CU_ASSERT_FALSE(fault_wanted(&(struct hw_fault){.seed = 5, .chance.burst_frames = 8}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.chance.loss_ppm = 1}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.chance.burst_ppm = 1}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.chance.dup_ppm = 1}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.chance.reorder_ppm = 1}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.chance.corrupt_ppm = 1}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.delay_ns = 1}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.jitter_ns = 1}));
	CU_ASSERT_TRUE(fault_wanted(&(struct hw_fault){.rate_bps = 1}));
}

UT_MAIN("lib/fault", UT(generator), UT(chances), UT(nothing_draws_nothing), UT(bursts), UT(damage),
	UT(percentages), UT(wanted))
