/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng blocks; see pcapng.h.
 */
#include "lib/pcapng.h"

#include <string.h>

enum {
	PCAPNG_SECTION_TYPE = 0x0a0d0d0a,
	PCAPNG_MAGIC = 0x1a2b3c4d,
	PCAPNG_INTERFACE_TYPE = 1,
	PCAPNG_ENHANCED_PACKET = 6,
	PCAPNG_LINKTYPE_ETHERNET = 1,
	PCAPNG_OPT_END = 0,
	PCAPNG_OPT_IF_NAME = 2,
	PCAPNG_OPT_IF_TSRESOL = 9,
	PCAPNG_OPT_EPB_FLAGS = 2,
	PCAPNG_OPT_EPB_DROPCOUNT = 4,
	PCAPNG_TSRESOL_NS = 9,
	PCAPNG_NAME_MAX = 15,
};

struct pcapng_writer {
	uint8_t *dst;
	uint32_t used;
};

static void put(struct pcapng_writer *w, const void *data, uint32_t bytes)
{
	memcpy(w->dst + w->used, data, bytes);
	w->used += bytes;
	while (w->used & 3)
		w->dst[w->used++] = 0;
}

static void put32(struct pcapng_writer *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

static void put_option(struct pcapng_writer *w, uint16_t code, const void *data, uint16_t bytes)
{
	put32(w, (uint32_t)bytes << 16 | code);
	put(w, data, bytes);
}

static uint32_t block_begin(struct pcapng_writer *w, uint32_t type)
{
	put32(w, type);
	put32(w, 0);
	return w->used - 8;
}

/* The length appears at the start and at the end of a block. */
static void block_end(struct pcapng_writer *w, uint32_t begin)
{
	uint32_t bytes = w->used + 4 - begin;

	memcpy(w->dst + begin + 4, &bytes, sizeof(bytes));
	put32(w, bytes);
}

uint32_t pcapng_section(uint8_t *dst)
{
	static const uint64_t unknown_length = UINT64_MAX;
	struct pcapng_writer w = {.dst = dst};
	uint32_t begin = block_begin(&w, PCAPNG_SECTION_TYPE);

	put32(&w, PCAPNG_MAGIC);
	put32(&w, 1); /* version 1.0 */
	put(&w, &unknown_length, sizeof(unknown_length));
	block_end(&w, begin);
	return w.used;
}

uint32_t pcapng_interface(uint8_t *dst, const char *name)
{
	const uint8_t resolution = PCAPNG_TSRESOL_NS;
	struct pcapng_writer w = {.dst = dst};
	size_t chars = strlen(name);
	uint32_t begin = block_begin(&w, PCAPNG_INTERFACE_TYPE);

	put32(&w, PCAPNG_LINKTYPE_ETHERNET);
	put32(&w, 0); /* snap length 0: frames are never truncated */
	put_option(&w, PCAPNG_OPT_IF_NAME, name,
		   (uint16_t)(chars < PCAPNG_NAME_MAX ? chars : PCAPNG_NAME_MAX));
	put_option(&w, PCAPNG_OPT_IF_TSRESOL, &resolution, 1);
	put_option(&w, PCAPNG_OPT_END, "", 0);
	block_end(&w, begin);
	return w.used;
}

uint32_t pcapng_packet(uint8_t *dst, uint32_t interface, uint64_t time_ns, uint32_t direction,
		       uint64_t dropped, const void *frame, uint32_t bytes)
{
	struct pcapng_writer w = {.dst = dst};
	uint32_t begin = block_begin(&w, PCAPNG_ENHANCED_PACKET);

	put32(&w, interface);
	put32(&w, (uint32_t)(time_ns >> 32));
	put32(&w, (uint32_t)time_ns);
	put32(&w, bytes);
	put32(&w, bytes);
	put(&w, frame, bytes);
	put_option(&w, PCAPNG_OPT_EPB_FLAGS, &direction, sizeof(direction));
	if (dropped)
		put_option(&w, PCAPNG_OPT_EPB_DROPCOUNT, &dropped, sizeof(dropped));
	put_option(&w, PCAPNG_OPT_END, "", 0);
	block_end(&w, begin);
	return w.used;
}

enum {
	EPB_FRAME_AT = 28,    /* bytes of the block before the frame */
	EPB_CAPTURED_AT = 20, /* of its captured length */
	OPTION_HDR_BYTES = 4,
	BLOCK_END_BYTES = 4, /* the block's length, once more */
};

static uint64_t round_up_4(uint64_t bytes)
{
	return (bytes + 3) & ~UINT64_C(3);
}

uint64_t pcapng_dropped(const uint8_t *block, uint32_t bytes)
{
	uint64_t at, dropped;
	uint32_t captured;
	uint16_t code, length;

	if (bytes < EPB_FRAME_AT + BLOCK_END_BYTES)
		return 0;
	memcpy(&captured, block + EPB_CAPTURED_AT, sizeof(captured));
	at = EPB_FRAME_AT + round_up_4(captured);
	while (at + OPTION_HDR_BYTES + BLOCK_END_BYTES <= bytes) {
		memcpy(&code, block + at, sizeof(code));
		memcpy(&length, block + at + 2, sizeof(length));
		at += OPTION_HDR_BYTES;
		if (code == PCAPNG_OPT_EPB_DROPCOUNT && length == sizeof(dropped) &&
		    at + length + BLOCK_END_BYTES <= bytes) {
			memcpy(&dropped, block + at, sizeof(dropped));
			return dropped;
		}
		at += round_up_4(length);
	}
	return 0;
}
