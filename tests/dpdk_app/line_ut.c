/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a card's line (dpdk_app/line.h): room, time, short and long frames, no limit.
 */
#include "dpdk_app/line.h"
#include "tests/ut.h"

enum {
	FULL = 1514,
};

/* 20 us of a line of 10 Gb/s are 17 frames; each leaves after 1,233 ns: 1,230.4, and a margin. */
static void fills_and_drains(void)
{
	struct line line;
	uint64_t now_ns = 1000000;
	uint32_t sent = 0;

	line_init(&line, 10000, FULL);
	while (line_room(&line, now_ns)) {
		line_sent(&line, now_ns, FULL);
		sent++;
	}
	CU_ASSERT_EQUAL(sent, 17);
	CU_ASSERT_EQUAL(line.free_ns - now_ns, 17 * 1233);
	/* Frames beyond the room wait as well. */
	line_sent(&line, now_ns, FULL);
	CU_ASSERT_EQUAL(line_room(&line, now_ns + 1233), 0);
	CU_ASSERT_EQUAL(line_room(&line, now_ns + 3 * 1233), 2);
	/* All have left. */
	CU_ASSERT_EQUAL(line_room(&line, now_ns + 100000), 17);
	line_sent(&line, now_ns + 100000, FULL);
	CU_ASSERT_EQUAL(line.free_ns, now_ns + 100000 + 1233);
}

/* Short frames are counted by the bytes that the line takes, so more of them fit. */
static void short_frames(void)
{
	struct line line;
	uint32_t sent = 0;

	line_init(&line, 10000, FULL);
	for (; line_room(&line, 0); sent++)
		line_sent(&line, 0, sent % 2 ? 60 : 1);
	/* 84 bytes take 67.4 ns with the margin, and each begins at a whole one. */
	CU_ASSERT_EQUAL(sent, 295);
}

/* A slow line takes 8 frames, however long they last; a quick one takes 20 us. */
static void speeds(void)
{
	struct line line;

	line_init(&line, 100, FULL);
	CU_ASSERT_EQUAL(line_room(&line, 5), 8);
	line_init(&line, 100000, 9014);
	CU_ASSERT_EQUAL(line_room(&line, 5), 28);
	line_init(&line, 400000, FULL);
	CU_ASSERT_TRUE(line_room(&line, 5) > 600);
}

/* However fast the line, the clock is slower, by less than half a per cent. */
static void slower_than_the_line(void)
{
	static const uint32_t mbps[] = {10, 100, 1000, 2500, 10000, 25000, 56000, 100000, 400000};

	for (uint32_t i = 0; i < sizeof(mbps) / sizeof(mbps[0]); i++) {
		uint64_t true_ps = UINT64_C(8000000) * (FULL + LINE_FRAME_EXTRA) / mbps[i], ps;
		struct line line;

		line_init(&line, mbps[i], FULL);
		ps = (FULL + LINE_FRAME_EXTRA) * line.ps_per_kib / 1024;
		CU_ASSERT_TRUE(ps > true_ps);
		CU_ASSERT_TRUE(ps - true_ps < true_ps / 200);
	}
}

static void no_limit(void)
{
	struct line line;

	line_init(&line, 0, FULL);
	for (int i = 0; i < 1000; i++)
		line_sent(&line, 7, FULL);
	CU_ASSERT_EQUAL(line_room(&line, 7), UINT32_MAX);
	CU_ASSERT_EQUAL(line.free_ns, 0);
}

UT_MAIN("dpdk_app/line", UT(fills_and_drains), UT(short_frames), UT(speeds),
	UT(slower_than_the_line), UT(no_limit))
