/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench's patterns: filled bytes pass, any others fail, and the place is reported.
 */
#include "tools/weft-bench/pattern.c"

#include <stdlib.h>

#include "tests/ut.h"

enum {
	SLOTS = 8,
	MOST = 3 * 8 * PATTERN_STAMP_WORDS + 100,
};

/* A word in front and behind shows writes outside. */
static uint64_t room[MOST / 8 + 3];
static uint8_t *const buf = (uint8_t *)&room[1];

static void filled_passes(void)
{
	size_t bytes;
	uint64_t seq;

	for (bytes = 0; bytes <= MOST; bytes += bytes < 300 ? 1 : 37) {
		for (seq = UINT64_MAX - 2; seq != 3; seq++) {
			memset(room, 0x5a, sizeof(room));
			pattern_fill(buf, bytes, seq, SLOTS);
			CU_ASSERT_EQUAL(pattern_check(buf, bytes, seq, SLOTS), bytes);
			CU_ASSERT_EQUAL(buf[bytes], 0x5a);
			CU_ASSERT_EQUAL(buf[-1], 0x5a);
		}
	}
}

static void every_byte_counts(void)
{
	static const size_t sizes[] = {1,    7,    8,    9,    64,
				       1023, 1024, 1025, 2048, 3 * 8 * PATTERN_STAMP_WORDS + 5};
	size_t i, at;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		pattern_fill(buf, sizes[i], 77, SLOTS);
		for (at = 0; at < sizes[i]; at++) {
			buf[at] ^= 0x10;
			CU_ASSERT_EQUAL(pattern_check(buf, sizes[i], 77, SLOTS), at);
			buf[at] ^= 0x10;
		}
		CU_ASSERT_EQUAL(pattern_check(buf, sizes[i], 77, SLOTS), sizes[i]);
	}
}

/* A sender that reuses its slots makes the same bytes as one that starts afresh. */
static void refill_equals_fill(void)
{
	static uint64_t other[sizeof(room) / 8];
	size_t bytes;

	for (bytes = 1; bytes <= MOST; bytes += 41) {
		pattern_fill(buf, bytes, 5, SLOTS);
		pattern_refill(buf, bytes, 5 + 3 * SLOTS, SLOTS);
		pattern_fill((uint8_t *)other, bytes, 5 + 3 * SLOTS, SLOTS);
		CU_ASSERT_EQUAL(memcmp(buf, other, bytes), 0);
	}
}

/* No earlier message passes, not even with a KiB of an old one in the middle. */
static void stale_is_seen(void)
{
	static uint64_t old[sizeof(room) / 8];
	const size_t block = 8 * PATTERN_STAMP_WORDS;

	pattern_fill(buf, MOST, 9, SLOTS);
	CU_ASSERT_EQUAL(pattern_check(buf, MOST, 9 + SLOTS, SLOTS), 0);
	CU_ASSERT_EQUAL(pattern_check(buf, MOST, 10, SLOTS), 0);
	memcpy(old, buf, MOST);
	pattern_fill(buf, MOST, 9 + SLOTS, SLOTS);
	memcpy(buf + block, (uint8_t *)old + block, block);
	CU_ASSERT_EQUAL(pattern_check(buf, MOST, 9 + SLOTS, SLOTS), block);
	/* Two pieces of one message swapped. */
	pattern_fill(buf, MOST, 9, SLOTS);
	memcpy(old, buf, MOST);
	memcpy(buf + block, (uint8_t *)old + 2 * block, block);
	CU_ASSERT_EQUAL(pattern_check(buf, MOST, 9, SLOTS), block);
}

/* A single word that an earlier message left in the slot is seen; with stamps, some words are the
 * same. */
static void stale_words_are_seen(void)
{
	static uint64_t old[sizeof(room) / 8];
	size_t seen[2] = {0};

	for (int stamps = 0; stamps < 2; stamps++) {
		pattern_use_stamps(stamps);
		pattern_fill((uint8_t *)old, MOST, 9, SLOTS);
		for (size_t j = 0; j < MOST / 8; j++) {
			pattern_fill(buf, MOST, 9 + SLOTS, SLOTS);
			memcpy(buf + 8 * j, &old[j], 8);
			seen[stamps] += pattern_check(buf, MOST, 9 + SLOTS, SLOTS) != MOST;
		}
	}
	pattern_use_stamps(false);
	CU_ASSERT_EQUAL(seen[0], MOST / 8);
	CU_ASSERT_EQUAL(seen[1], MOST / 8 / PATTERN_STAMP_WORDS + 1);
}

static void wiped_unless_stamps(void)
{
	pattern_fill(buf, MOST, 3, SLOTS);
	pattern_use_stamps(true);
	pattern_wipe(buf, MOST);
	pattern_use_stamps(false);
	CU_ASSERT_EQUAL(pattern_check(buf, MOST, 3, SLOTS), MOST);
	pattern_wipe(buf, MOST);
	CU_ASSERT_EQUAL(pattern_check(buf, MOST, 3, SLOTS), 0);
	for (size_t i = 0; i < MOST; i++)
		CU_ASSERT_EQUAL(buf[i], PATTERN_WIPED);
}

static void number_can_be_read(void)
{
	pattern_fill(buf, 64, 0x123456789abcdef0, SLOTS);
	CU_ASSERT_EQUAL(pattern_seq(buf, 64), 0x123456789abcdef0);
	CU_ASSERT_EQUAL(pattern_seq(buf, 2), 0xdef0);
	pattern_fill(buf, 2000, 0x123456789abcdef0, SLOTS);
	CU_ASSERT_EQUAL(pattern_seq(buf, 2000), 0x123456789abcdef0);
}

UT_MAIN("tools/pattern", UT(filled_passes), UT(every_byte_counts), UT(refill_equals_fill),
	UT(stale_is_seen), UT(stale_words_are_seen), UT(wiped_unless_stamps),
	UT(number_can_be_read))
