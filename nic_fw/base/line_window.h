/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of a receiver: bytes that all its senders together may have under way to its line.
 *
 * Its owner (rd_grant.c, tcp_grant.c) divides it among the senders and reports a sample for each
 * packet. docs/congestion.md "Grants".
 */
#ifndef WEFT_FW_LINE_WINDOW_H
#define WEFT_FW_LINE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LINE_WINDOW_MIN_BYTES = 32768,
	LINE_WINDOW_MAX_BYTES = 1 << 23,
	LINE_WINDOW_START_BYTES = 65536, /* before several senders ever shared the line */
	LINE_WINDOW_FAR_TIMES = 16, /* the longest path that counts, as a multiple of the mean */
};
#define LINE_WINDOW_TARGET_NS UINT64_C(10000)    /* target of the delay in the last queue */
#define LINE_WINDOW_ALONE_NS  UINT64_C(10000000) /* age at which measurements may be wrong */
#define LINE_WINDOW_DRAIN_NS  UINT64_C(1000000000)
#define LINE_WINDOW_SMALL_NS  UINT64_C(100000000) /* longest time of the small window */

struct line_window {
	uint64_t bytes;   /* the window, unless drain makes it small */
	uint64_t path_ns; /* mean round trip without queues, by packets */

	uint64_t round_bytes; /* received since the window was last checked */
	uint32_t round_pkts;
	uint32_t round_low;   /* samples of the round that were hardly delayed */
	uint32_t round_least; /* and samples that were not delayed */
	bool round_stale;     /* it has packets that were granted before the last change */
	uint64_t grown_bytes; /* by the last change; 0: it shrank */
	uint32_t drain;       /* packets for which the window stays small */
	bool ramp;            /* every round since the start found the line idle */
	bool short_of;        /* a sender had to wait for room in the window; the owner's to set */
	uint64_t train_ns;    /* of the ramp: time of a packet that was hardly delayed */
	uint64_t train_bytes; /* packets since then, which all waited in the queue */
	uint64_t train_path_ns; /* shortest path that the ramp has seen; 0: none yet */
	uint64_t shared_ns;     /* time when packets of several senders last came */
	uint64_t drained_ns;    /* time when the window was last drained */
	uint64_t changed_ns;    /* time when a round last changed the window */
};

void line_window_init(struct line_window *w);

/* Returns the window as it is now. */
static inline uint64_t line_window_bytes(const struct line_window *w)
{
	return w->drain ? LINE_WINDOW_MIN_BYTES : w->bytes;
}

/* Returns the part of one of so many senders, in bytes: longer paths need more. */
uint64_t line_window_part(const struct line_window *w, uint32_t senders, uint64_t path_ns);
/* A second sender begins. The window starts afresh when the line was not shared for a while. */
void line_window_shared(struct line_window *w, uint64_t now_ns, uint32_t senders);
/* A sender begins, whether others share the line or not. */
void line_window_joined(struct line_window *w);

/* The round trip of a packet. Lengths are those on the line. */
struct line_sample {
	uint64_t path_ns; /* the sender's least round trip before this packet; 0: none */
	uint64_t rtt_ns;
	uint32_t pkt_bytes;
	uint32_t came_bytes; /* all packets since the last sample, with this one */
	bool every;          /* each packet brings a sample, so trains of packets show */
};

/* Takes a sample, while so many senders share the line. */
void line_window_sample(struct line_window *w, uint64_t now_ns, uint32_t senders,
			const struct line_sample *sample);
/* Takes a sample of a sender that does not use its part yet: it shows the path, but no queue. */
void line_window_path(struct line_window *w, const struct line_sample *sample);

#endif /* WEFT_FW_LINE_WINDOW_H */
