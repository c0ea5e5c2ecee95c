/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a message; see pattern.h.
 *
 * Word j (8 bytes, of the machine's order) of a block of 128 is a multiple-of-j sum from a seed:
 * additions only, which the compiler turns into vector code.
 */
#include "tools/weft-bench/pattern.h"

#include <string.h>

#define PATTERN_STEP 0x9e3779b97f4a7c15ull

enum {
	PATTERN_WIPED = 0xee,
};

static bool pattern_stamps;

void pattern_use_stamps(bool stamps)
{
	pattern_stamps = stamps;
}

/* Scrambles a number, so that neighbours differ everywhere. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185ull;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44dull;
	return x ^ x >> 33;
}

/* The seed of all words of message seq but the stamps. */
static uint64_t seed_of(size_t bytes, uint64_t seq, uint32_t slots)
{
	return mix((bytes <= PATTERN_SMALL_BYTES || !pattern_stamps ? seq : seq % slots) + 1);
}

static uint64_t stamp_of(uint64_t seq, size_t word)
{
	return seq + mix(word) * (word != 0);
}

static uint64_t word_of(uint64_t seed, uint64_t seq, size_t j)
{
	if (j % PATTERN_STAMP_WORDS == 0)
		return stamp_of(seq, j);
	return seed + j * PATTERN_STEP;
}

void pattern_fill(uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots)
{
	uint64_t seed = seed_of(bytes, seq, slots);
	size_t words = bytes / 8, j;
	uint64_t w;

	for (j = 0; j < words; j++) {
		w = word_of(seed, seq, j);
		memcpy(p + 8 * j, &w, 8);
	}
	w = word_of(seed, seq, j);
	memcpy(p + 8 * j, &w, bytes % 8);
}

void pattern_refill(uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots)
{
	size_t j, at;
	uint64_t w;

	if (bytes <= PATTERN_SMALL_BYTES || !pattern_stamps) {
		pattern_fill(p, bytes, seq, slots);
		return;
	}
	for (at = 0; at < bytes; at += 8 * PATTERN_STAMP_WORDS) {
		j = at / 8;
		w = stamp_of(seq, j);
		memcpy(p + at, &w, bytes - at < 8 ? bytes - at : 8);
	}
}

/* Eight words at a time; the compiler splits them by the target's registers. */
typedef uint64_t pattern_vec __attribute__((vector_size(64)));

/* Checks the words of one block behind its stamp, from the sum's start: 0 if all are right. */
static inline __attribute__((always_inline)) uint64_t block_diff(const uint8_t *p, uint64_t first)
{
	const uint64_t s = PATTERN_STEP;
	pattern_vec want = {first,         first + s,     first + 2 * s, first + 3 * s,
			    first + 4 * s, first + 5 * s, first + 6 * s, first + 7 * s};
	const pattern_vec step = {8 * s, 8 * s, 8 * s, 8 * s, 8 * s, 8 * s, 8 * s, 8 * s};
	pattern_vec have, diff;
	size_t at;

	memcpy(&have, p, sizeof(have));
	diff = have ^ want;
	diff[0] = 0; /* the stamp */
	for (at = sizeof(have); at < 8 * PATTERN_STAMP_WORDS; at += sizeof(have)) {
		memcpy(&have, p + at, sizeof(have));
		want += step;
		diff |= have ^ want;
	}
	return diff[0] | diff[1] | diff[2] | diff[3] | diff[4] | diff[5] | diff[6] | diff[7];
}

/* Byte by byte, to find the place. */
static size_t find_diff(const uint8_t *p, size_t from, size_t bytes, uint64_t seed, uint64_t seq)
{
	size_t i;
	uint64_t w;

	for (i = from; i < bytes; i++) {
		w = word_of(seed, seq, i / 8);
		if (p[i] != ((const uint8_t *)&w)[i % 8])
			return i;
	}
	return bytes;
}

static inline __attribute__((always_inline)) size_t check(const uint8_t *p, size_t bytes,
							  uint64_t seq, uint32_t slots)
{
	const size_t block = 8 * (size_t)PATTERN_STAMP_WORDS;
	uint64_t seed = seed_of(bytes, seq, slots), w, want;
	size_t at;

	for (at = 0; at + block <= bytes; at += block) {
		memcpy(&w, p + at, 8);
		want = stamp_of(seq, at / 8);
		if (w != want || block_diff(p + at, seed + at / 8 * PATTERN_STEP))
			return find_diff(p, at, bytes, seed, seq);
	}
	for (; at + 8 <= bytes; at += 8) {
		memcpy(&w, p + at, 8);
		if (w != word_of(seed, seq, at / 8))
			return find_diff(p, at, bytes, seed, seq);
	}
	return find_diff(p, at, bytes, seed, seq);
}

/*
 * The same code for each of the processor's instruction sets: checks by the client must not be
 * slower than transfers by the NIC.
 */
#if defined(__x86_64__)
__attribute__((target("avx512f"))) static size_t check_avx512(const uint8_t *p, size_t bytes,
							      uint64_t seq, uint32_t slots)
{
	return check(p, bytes, seq, slots);
}

__attribute__((target("avx2"))) static size_t check_avx2(const uint8_t *p, size_t bytes,
							 uint64_t seq, uint32_t slots)
{
	return check(p, bytes, seq, slots);
}

size_t pattern_check(const uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots)
{
	if (__builtin_cpu_supports("avx512f"))
		return check_avx512(p, bytes, seq, slots);
	if (__builtin_cpu_supports("avx2"))
		return check_avx2(p, bytes, seq, slots);
	return check(p, bytes, seq, slots);
}
#else
size_t pattern_check(const uint8_t *p, size_t bytes, uint64_t seq, uint32_t slots)
{
	return check(p, bytes, seq, slots);
}
#endif

size_t pattern_check_two(const uint8_t *p, size_t bytes, uint64_t seq, uint64_t other,
			 uint32_t slots)
{
	uint64_t seed = seed_of(bytes, seq, slots), other_seed = seed_of(bytes, other, slots);
	size_t i = 0;

	while (i < bytes && (find_diff(p, i, i + 1, seed, seq) > i ||
			     find_diff(p, i, i + 1, other_seed, other) > i))
		i++;
	return i;
}

void pattern_wipe(uint8_t *p, size_t bytes)
{
	if (!pattern_stamps)
		memset(p, PATTERN_WIPED, bytes);
}

uint64_t pattern_seq(const uint8_t *p, size_t bytes)
{
	uint64_t seq = 0;

	memcpy(&seq, p, bytes < 8 ? bytes : 8);
	return seq;
}
