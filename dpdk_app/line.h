/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line of a card, as a clock: when the frames that were passed to it will have left.
 *
 * A card's transmit queue holds a thousand frames, over a millisecond at 10 Gb/s. Sessions that
 * share it would take its delay for congestion of their paths, each at another moment, and their
 * shares would drift apart. So a NIC passes no more to the card than the line sends in
 * LINE_QUEUE_NS; the rest waits in the firmware, which serves its sessions in turn. The kernel's
 * byte queue limits do the same (Documentation/networking, BQL). The clock runs slower than the
 * line by one in LINE_MARGIN, since drivers report no departures: what a fast clock lets through
 * would stay in the card for as long as it is busy. docs/congestion.md, "Outcast". One core per
 * clock; each shard of a NIC has its own, at the full speed, because it cannot know what others
 * send.
 */
#ifndef WEFT_APP_LINE_H
#define WEFT_APP_LINE_H

#include <stdint.h>

enum {
	LINE_QUEUE_NS = 20000,
	LINE_MARGIN = 512,
	LINE_LEAST_FRAMES = 8, /* what a card needs to send without a gap */
	LINE_FRAME_EXTRA = 24, /* preamble, FCS and gap, in bytes */
	LINE_FRAME_LEAST = 60, /* shorter ones are padded */
};

struct line {
	uint64_t free_ns;    /* when all frames will have left */
	uint64_t ps_per_kib; /* time of 1,024 bytes; 0: no limit */
	uint32_t queue_ns;   /* what may wait: LINE_QUEUE_NS, or LINE_LEAST_FRAMES of full length */
	uint32_t frame_ns;   /* of full length */
};

/* Returns the time that a frame takes, rounded up. */
static inline uint64_t line_bytes_ns(const struct line *line, uint32_t bytes)
{
	return ((bytes + LINE_FRAME_EXTRA) * line->ps_per_kib + 1024 * 1000 - 1) / (1024 * 1000);
}

/* mbps 0: the speed is not known, no limit. frame_bytes: the longest, without FCS. */
static inline void line_init(struct line *line, uint32_t mbps, uint32_t frame_bytes)
{
	*line = (struct line){0};
	if (!mbps)
		return;
	line->ps_per_kib = UINT64_C(8000000) * 1024 / mbps;
	line->ps_per_kib += line->ps_per_kib / LINE_MARGIN + 1;
	line->frame_ns = (uint32_t)line_bytes_ns(line, frame_bytes);
	line->queue_ns = LINE_LEAST_FRAMES * line->frame_ns;
	if (line->queue_ns < LINE_QUEUE_NS)
		line->queue_ns = LINE_QUEUE_NS;
}

/* A frame was passed to the card. */
static inline void line_sent(struct line *line, uint64_t now_ns, uint32_t bytes)
{
	uint64_t from_ns = line->free_ns > now_ns ? line->free_ns : now_ns;

	if (!line->ps_per_kib)
		return;
	if (bytes < LINE_FRAME_LEAST)
		bytes = LINE_FRAME_LEAST;
	line->free_ns = from_ns + line_bytes_ns(line, bytes);
}

/* Returns how many frames of full length may be passed to the card now; UINT32_MAX: no limit. */
static inline uint32_t line_room(const struct line *line, uint64_t now_ns)
{
	uint64_t waiting_ns = line->free_ns > now_ns ? line->free_ns - now_ns : 0;

	if (!line->ps_per_kib)
		return UINT32_MAX;
	if (waiting_ns >= line->queue_ns)
		return 0;
	return (uint32_t)((line->queue_ns - waiting_ns + line->frame_ns - 1) / line->frame_ns);
}

#endif /* WEFT_APP_LINE_H */
