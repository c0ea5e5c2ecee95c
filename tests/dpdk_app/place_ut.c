/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpdk_app/place.c: both ways copy each byte, of any alignment, and none beyond; the quicker way is
 * taken, also when it changes; a call that was interrupted changes nothing.
 */
#include "dpdk_app/place.h"

#include <stdlib.h>
#include <string.h>

#include "tests/ut.h"

enum {
	ROOM = 3 * 1024,
	MARK = 0xa5,
	KIB = 1024,
	NEAR = 400, /* ticks of a KiB */
	FAR = 2000,
};

static uint8_t from[ROOM], to[ROOM + 64];

static void fill(void)
{
	for (uint32_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	memset(to, MARK, sizeof(to));
}

static void expect(uint32_t at, uint32_t source, uint32_t bytes)
{
	CU_ASSERT(memcmp(to + at, from + source, bytes) == 0);
	for (uint32_t i = 0; i < sizeof(to); i++)
		if ((i < at || i >= at + bytes) && to[i] != MARK)
			CU_FAIL_FATAL("a byte beside the target was written");
}

static void alignments(void)
{
	static const uint32_t lengths[] = {0, 1, 15, 63, 64, 65, 127, 128, 129, 200, 1408, 1449};

	for (uint32_t way = 0; way < PLACE_WAYS; way++)
		for (uint32_t at = 0; at < 65; at++)
			for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
				const struct fw_rx_seg seg = {from + (at * 5 & 63), lengths[i]};

				fill();
				CU_ASSERT_EQUAL(place_copy(way, to + at, &seg, 1), lengths[i]);
				expect(at, at * 5 & 63, lengths[i]);
			}
}

static void pieces(void)
{
	for (uint32_t way = 0; way < PLACE_WAYS; way++) {
		const struct fw_rx_seg seg[] = {
		    {from, 100}, {from + 100, 0}, {from + 100, 1}, {from + 101, 1400}};

		fill();
		CU_ASSERT_EQUAL(place_copy(way, to + 3, seg, 4), 1501);
		expect(3, 0, 1501);
		CU_ASSERT_EQUAL(place_copy(way, to, seg, 0), 0);
	}
}

/* Source and target are memory of one process: the result is that of memmove(). */
static void overlaps(void)
{
	static const int32_t moves[] = {-200, -64, -1, 0, 1, 64, 200};
	uint8_t expected[sizeof(from)];

	for (uint32_t way = 0; way < PLACE_WAYS; way++)
		for (uint32_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
			const struct fw_rx_seg seg = {from + 512, 1024};

			fill();
			memcpy(expected, from, sizeof(from));
			memmove(expected + 512 + moves[i], expected + 512, 1024);
			(void)place_copy(way, from + 512 + moves[i], &seg, 1);
			CU_ASSERT(memcmp(from, expected, sizeof(from)) == 0);
		}
}

/* Calls of so many KiB on a machine on which the ways take so long; returns those that streamed. */
static uint32_t play(struct place *place, uint32_t calls, uint64_t cached, uint64_t streamed)
{
	uint32_t n = 0;

	while (calls--) {
		enum place_way way = place_next(place);

		n += way == PLACE_STREAMED;
		place_note(place, way, 22 * KIB, 22 * (way == PLACE_STREAMED ? streamed : cached));
	}
	return n;
}

static void the_quicker_way(void)
{
	struct place place = {0};

	CU_ASSERT_EQUAL(place.way, PLACE_CACHED);
	/* The other one is tried once in so many calls, and not taken. */
	CU_ASSERT_EQUAL(play(&place, 8 * PLACE_TRY_CALLS, NEAR, NEAR + 100), 8);
	CU_ASSERT_EQUAL(place.way, PLACE_CACHED);
	/* The CPUs are far from each other now: the next try at the latest shows it. */
	(void)play(&place, 2 * PLACE_TRY_CALLS, FAR, NEAR + 100);
	CU_ASSERT_EQUAL(place.way, PLACE_STREAMED);
	CU_ASSERT_EQUAL(play(&place, 8 * PLACE_TRY_CALLS, FAR, NEAR + 100),
			8 * PLACE_TRY_CALLS - 8);
	/* And near again: two tries halve what was measured twice. */
	(void)play(&place, 6 * PLACE_TRY_CALLS, NEAR, NEAR + 100);
	CU_ASSERT_EQUAL(place.way, PLACE_CACHED);
}

/* Ways that differ by less than an eighth are not exchanged for each other. */
static void alike(void)
{
	struct place place = {0};

	(void)play(&place, 4 * PLACE_TRY_CALLS, NEAR + 40, NEAR);
	CU_ASSERT_EQUAL(place.way, PLACE_CACHED);
	(void)play(&place, 4 * PLACE_TRY_CALLS, NEAR + 60, NEAR);
	CU_ASSERT_EQUAL(place.way, PLACE_STREAMED);
	(void)play(&place, 4 * PLACE_TRY_CALLS, NEAR, NEAR + 40);
	CU_ASSERT_EQUAL(place.way, PLACE_STREAMED);
}

static void interruptions(void)
{
	struct place place = {0};
	uint32_t ticks;

	(void)play(&place, 2 * PLACE_TRY_CALLS, NEAR, 2 * NEAR);
	ticks = place.ticks[PLACE_CACHED];
	place_note(&place, PLACE_CACHED, 4096, UINT64_MAX / 16384);
	CU_ASSERT(place.ticks[PLACE_CACHED] > ticks && place.ticks[PLACE_CACHED] < 2 * ticks);
	CU_ASSERT_EQUAL(place.way, PLACE_CACHED);
	/* The first measurement of a way is believed, whatever it is; later ones mend it. */
	place = (struct place){0};
	place_note(&place, PLACE_CACHED, 4096, UINT64_MAX / 16384);
	CU_ASSERT_EQUAL(place.ticks[PLACE_CACHED], UINT32_MAX);
	(void)play(&place, 4 * PLACE_TRY_CALLS, NEAR, 2 * NEAR);
	CU_ASSERT_EQUAL(place.way, PLACE_CACHED);
	/* A clock that does not move is no division by zero, and no way that was never measured. */
	place = (struct place){0};
	(void)play(&place, 2 * PLACE_TRY_CALLS, 0, 0);
	CU_ASSERT_EQUAL(place.way, PLACE_CACHED);
	CU_ASSERT(place.ticks[PLACE_CACHED] && place.ticks[PLACE_STREAMED]);
}

UT_MAIN("dpdk_app/place", UT(alignments), UT(pieces), UT(overlaps), UT(the_quicker_way), UT(alike),
	UT(interruptions))
