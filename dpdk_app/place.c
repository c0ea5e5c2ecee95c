/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement of long payload: through the caches or past them, whichever is quicker now (place.h).
 *
 * Calls nothing. The stores past the caches are SSE2's, which each x86-64 has; other processors
 * copy one way.
 */
#include "dpdk_app/place.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum {
	LINE_BYTES = 64,
	SHARE = 8,       /* of a measurement in the mean of the way in use */
	SHARE_TRIED = 2, /* likewise of the other, which is measured rarely */
	OUTLIER = 4,     /* times the mean: a call that was interrupted counts as no more */
	GAIN = 8,        /* the other way is taken if it is quicker by an eighth */
};

enum place_way place_next(struct place *place)
{
	bool tries = place->calls++ % PLACE_TRY_CALLS == PLACE_TRY_CALLS - 1;

	return tries ? PLACE_WAYS - 1 - place->way : place->way;
}

void place_note(struct place *place, enum place_way way, uint64_t bytes, uint64_t ticks)
{
	uint32_t *mean = &place->ticks[way];
	uint64_t other, most = *mean ? (uint64_t)OUTLIER * *mean : UINT32_MAX;
	uint64_t now = ticks * 16 * 1024 / bytes + 1;

	if (now > most)
		now = most;
	if (now > UINT32_MAX)
		now = UINT32_MAX;
	if (*mean)
		*mean = (uint32_t)((int64_t)*mean + ((int64_t)now - (int64_t)*mean) /
							(way == place->way ? SHARE : SHARE_TRIED));
	else
		*mean = (uint32_t)now;
	other = place->ticks[PLACE_WAYS - 1 - place->way];
	if (other && other + other / GAIN < place->ticks[place->way])
		place->way = PLACE_WAYS - 1 - place->way;
}

#if defined(__x86_64__)
/* Lines that are written whole bypass the caches; the rest of the first and last one does not. */
static void stream_copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t head = (uint32_t)(-(uintptr_t)to % LINE_BYTES);

	if (head > bytes)
		head = bytes;
	memcpy(to, from, head);
	to += head;
	from += head;
	bytes -= head;
	for (; bytes >= LINE_BYTES; bytes -= LINE_BYTES, to += LINE_BYTES, from += LINE_BYTES) {
		__m128i a = _mm_loadu_si128((const void *)from);
		__m128i b = _mm_loadu_si128((const void *)(from + 16));
		__m128i c = _mm_loadu_si128((const void *)(from + 32));
		__m128i d = _mm_loadu_si128((const void *)(from + 48));

		_mm_stream_si128((void *)to, a);
		_mm_stream_si128((void *)(to + 16), b);
		_mm_stream_si128((void *)(to + 32), c);
		_mm_stream_si128((void *)(to + 48), d);
	}
	memcpy(to, from, bytes);
}

/* They become visible before any later store: before the completion. */
static void stream_end(void)
{
	_mm_sfence();
}
#else
static void stream_copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	memcpy(to, from, bytes);
}

static void stream_end(void)
{
}
#endif

static bool overlap(const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
	return (uintptr_t)a - (uintptr_t)b < bytes || (uintptr_t)b - (uintptr_t)a < bytes;
}

uint64_t place_copy(enum place_way way, void *dst, const struct fw_rx_seg *seg, uint32_t num_seg)
{
	uint8_t *to = dst;

	for (uint32_t i = 0; i < num_seg; to += seg[i].bytes, i++) {
		/* A frame may be memory of the same process. */
		if (way == PLACE_CACHED || overlap(to, seg[i].data, seg[i].bytes))
			memmove(to, seg[i].data, seg[i].bytes);
		else
			stream_copy(to, seg[i].data, seg[i].bytes);
	}
	if (way == PLACE_STREAMED)
		stream_end();
	return (uint64_t)(to - (uint8_t *)dst);
}
