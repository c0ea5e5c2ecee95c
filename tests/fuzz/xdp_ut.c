/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program beside the NIC's own rules: the kept inputs of the fuzz target `xdp`
 * (FUZZ_INPUT=FILE runs one), and frames that are drawn.
 *
 * FUZZ_XDP_FRAMES=N draws N frames, FUZZ_XDP_SEED=N from that seed on, one for each 64 frames. A
 * find lies within the TOLD inputs from the last seed that was printed.
 */
#include <stdbool.h>

#include "dpdk_app/xdp/weft_xdp.h"
#include "lib/prng.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/replay.h"
#include "tests/ut.h"

enum {
	INPUT_FRAMES = 64, /* of an input, as in xdp.c */
	HEAD_BYTES = 6,    /* what is mended, length, bytes that are given */
	FRAME_BYTES = 255,
	ALL_FRAMES = 1000000,
	TOLD = 1000,
};

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Once in a process. */
static void begin(void)
{
	static bool begun;

	if (!begun)
		fuzz_xdp_begin();
	begun = true;
}

static void corpus(void)
{
	begin();
	CU_ASSERT_TRUE(fuzz_replay("xdp", fuzz_xdp) > 0);
}

/*
 * Draws an input of the target. Most frames are short and have all of their mendable parts right
 * but for one in eight, so that each rule is met with the ones before it kept and broken.
 */
static size_t draw(uint64_t seed, uint8_t *input)
{
	size_t at = 0;

	for (uint32_t i = 0; i < INPUT_FRAMES; i++) {
		uint64_t r = prng_next(&seed), wrong = prng_next(&seed) & prng_next(&seed);
		/* Bits that choose among values, such as the protocol's, are drawn evenly. */
		uint32_t choices = 3u << 1 | 1u << 5 | 3u << 10 | 1u << 15 | 15u << 18;
		uint32_t right = (~(uint32_t)(wrong & wrong >> 32) & ~choices) |
				 ((uint32_t)r & (choices | 1u << 3));
		uint32_t bytes = (uint32_t)(r >> 32) % (r >> 60 ? 90 : FRAME_BYTES + 1);
		uint32_t given = r >> 57 & 1 ? bytes : (uint32_t)(r >> 40) % (bytes + 1);

		memcpy(input + at, &right, sizeof(right));
		input[at + 4] = (uint8_t)bytes;
		input[at + 5] = (uint8_t)given;
		at += HEAD_BYTES;
		while (given--)
			input[at++] = (uint8_t)(prng_next(&seed) >> (r >> 58 & 1 ? 60 : 56));
	}
	return at;
}

/* Every reason is met, but those of a weftd that is not ready, and of a queue without a socket. */
static void drawn(void)
{
	uint64_t frames = number("FUZZ_XDP_FRAMES", ALL_FRAMES);
	uint64_t seed = number("FUZZ_XDP_SEED", 1), i;
	uint8_t input[INPUT_FRAMES * (HEAD_BYTES + FRAME_BYTES)];

	begin();
	for (i = 0; i * INPUT_FRAMES < frames; i++) {
		size_t bytes = draw(prng_mix(seed + i), input);

		if (i % TOLD == 0) {
			printf("\n    seed %llu", (unsigned long long)(seed + i));
			fflush(stdout);
		}
		fuzz_xdp(input, bytes);
	}
	printf("\n    %llu frames", (unsigned long long)(i * INPUT_FRAMES));
	for (uint32_t what = 0; frames >= ALL_FRAMES && what < WEFT_XDP_COUNTS; what++)
		if (what != WEFT_XDP_PASSED_IDLE && what != WEFT_XDP_DROPPED_NO_SOCKET)
			CU_ASSERT_TRUE(fuzz_xdp_verdicts(what) > 0);
}

UT_MAIN("fuzz/xdp", UT(corpus), UT(drawn))
