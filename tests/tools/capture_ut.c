/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weftctl capture: whole pcapng blocks however the pipe cuts them, the count of frames, and input
 * that is not pcapng.
 */
#include "tools/weftctl/capture.c"

#include <stdarg.h>

#include "tests/ut.h"

int fail(const char *fmt, ...)
{
	(void)fmt;
	return CTL_FAILED;
}

int out_json(json_t *value)
{
	json_decref(value);
	return CTL_OK;
}

int each_nic(const struct ctl *ctl, int (*fn)(struct weft_context *context, void *arg), void *arg,
	     bool *some)
{
	(void)ctl;
	(void)fn;
	(void)arg;
	*some = false;
	return CTL_FAILED;
}

static struct ctl ctl;
static struct capture c;
static uint8_t stream[4096];
static size_t stream_bytes;

static void add_block(uint32_t type, uint32_t length)
{
	memset(stream + stream_bytes, 0xab, length);
	memcpy(stream + stream_bytes, &type, 4);
	memcpy(stream + stream_bytes + 4, &length, 4);
	stream_bytes += length;
}

static void set_up(uint64_t count)
{
	memset(&ctl, 0, sizeof(ctl));
	ctl.file = "memory";
	ctl.count = count;
	memset(&c, 0, sizeof(c));
	c.ctl = &ctl;
	c.buf = malloc(CAPTURE_BUFFER);
	c.out = fileno(tmpfile());
	stop = 0;
	stream_bytes = 0;
	add_block(0x0a0d0d0a, 28);
	add_block(1, 20);
	add_block(6, 100);
	add_block(6, 64);
	add_block(6, 32);
}

static size_t written(void)
{
	uint8_t back[4096];
	ssize_t n = pread(c.out, back, sizeof(back), 0);

	CU_ASSERT(n >= 0);
	CU_ASSERT_EQUAL(memcmp(back, stream, (size_t)n), 0);
	return (size_t)n;
}

static void tear_down(void)
{
	free(c.buf);
	close(c.out);
}

static int feed(size_t from, size_t bytes)
{
	memcpy(c.buf + c.have, stream + from, bytes);
	c.have += bytes;
	return write_blocks(&c);
}

static void any_cut(void)
{
	size_t cut, at;

	for (cut = 1; cut < 50; cut++) {
		set_up(0);
		for (at = 0; at < stream_bytes; at += cut)
			CU_ASSERT_EQUAL(feed(at, stream_bytes - at < cut ? stream_bytes - at : cut),
					0);
		CU_ASSERT_EQUAL(written(), stream_bytes);
		CU_ASSERT_EQUAL(c.frames, 3);
		CU_ASSERT_EQUAL(c.have, 0);
		tear_down();
	}
}

static void half_a_block_is_kept_back(void)
{
	set_up(0);
	CU_ASSERT_EQUAL(feed(0, 28 + 20 + 99), 0);
	CU_ASSERT_EQUAL(written(), 28 + 20);
	CU_ASSERT_EQUAL(c.frames, 0);
	tear_down();
}

static void ends_with_the_count(void)
{
	set_up(2);
	CU_ASSERT_EQUAL(feed(0, stream_bytes), 0);
	CU_ASSERT_EQUAL(written(), 28 + 20 + 100 + 64);
	CU_ASSERT_EQUAL(c.frames, 2);
	CU_ASSERT(stop);
	tear_down();
}

static void no_pcapng(void)
{
	static const uint32_t lengths[] = {0, 8, 13, CAPTURE_BUFFER + 4, UINT32_MAX};
	size_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		set_up(0);
		memcpy(stream + 28 + 4, &lengths[i], 4);
		CU_ASSERT_EQUAL(feed(0, stream_bytes), CTL_FAILED);
		tear_down();
	}
}

UT_MAIN("tools/capture", UT(any_cut), UT(half_a_block_is_kept_back), UT(ends_with_the_count),
	UT(no_pcapng))
