/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of a receiver, moved by the delay that packets have in its last queue.
 *
 * It shrinks while even the least delayed packets of a round were delayed, and grows while they
 * were not and a sender waits for room. Packets that were granted before a change carry no
 * information about it, so the next change waits for others. The queue meant here is the last one,
 * which all senders share. Calls nothing. Montazeri et al., "Homa" (SIGCOMM 2018) 3.3; Kumar et
 * al., "Swift" (SIGCOMM 2020) 3.1.
 */
#include "nic_fw/base/line_window.h"

enum {
	DRAIN_PKTS = 4, /* and one of each sender: duration of the small window */
	DRAIN_EACH = 2, /* and more for each sender that begins then */
	ROUND_PKTS = 8, /* samples of a round, at least */
	RAMP_PART = 4,  /* part of the window by which one sample may let it grow */
};
#define TRAIN_NS UINT64_C(1000000) /* longest train of packets that is measured */

static uint64_t line_window_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void begin_round(struct line_window *w)
{
	w->round_bytes = 0;
	w->round_pkts = 0;
	w->round_low = 0;
	w->round_least = 0;
	w->round_stale = false;
	w->short_of = false;
}

void line_window_init(struct line_window *w)
{
	*w = (struct line_window){.bytes = LINE_WINDOW_START_BYTES};
}

uint64_t line_window_part(const struct line_window *w, uint32_t senders, uint64_t path_ns)
{
	uint64_t bytes = line_window_bytes(w) / senders;

	if (!w->path_ns)
		return bytes;
	return line_window_least(bytes * (path_ns + LINE_WINDOW_TARGET_NS) /
				     (w->path_ns + LINE_WINDOW_TARGET_NS),
				 bytes * LINE_WINDOW_FAR_TIMES);
}

/*
 * Returns the window after a round. If a quarter of the packets were hardly delayed, the shared
 * queue is short: the others wait in queues of their own.
 */
static uint64_t after_round(const struct line_window *w, uint32_t pkt_bytes)
{
	uint64_t step = pkt_bytes, bytes = w->bytes;

	if (w->round_low * 4 < w->round_pkts) {
		if (!w->round_low && step < bytes / 16)
			step = bytes / 16;
		bytes -= step < bytes ? step : bytes;
	} else if (w->short_of) {
		if (w->round_least * 2 > w->round_pkts)
			step = bytes / 16;
		bytes += step > pkt_bytes ? step : pkt_bytes;
	}
	if (bytes < LINE_WINDOW_MIN_BYTES)
		return LINE_WINDOW_MIN_BYTES;
	return line_window_least(bytes, LINE_WINDOW_MAX_BYTES);
}

/*
 * Ends a round when a window of bytes has come, or when the first packet comes that was granted
 * since the last change. Packets from before that do not show what the change did, so they justify
 * no other, but for one: delay from before the window grew says that it should not have grown, so
 * that growth is undone. Otherwise a buffer that is smaller than the window drops packets for as
 * long as it takes to see what each change did.
 */
static void end_round(struct line_window *w, uint64_t now_ns, uint32_t pkt_bytes)
{
	uint64_t bytes = after_round(w, pkt_bytes);

	if (w->round_low * 4 < w->round_pkts)
		w->ramp = false;
	if (w->round_stale && w->round_pkts >= ROUND_PKTS && bytes < w->bytes)
		bytes = w->bytes - w->grown_bytes;
	else if (w->round_stale)
		bytes = w->bytes;
	if (bytes != w->bytes) {
		w->grown_bytes = bytes > w->bytes ? bytes - w->bytes : 0;
		w->bytes = bytes;
		w->changed_ns = now_ns;
	}
	begin_round(w);
}

/* Makes the window small until each has sent some packets, to measure paths without queues. */
static void drain(struct line_window *w, uint64_t now_ns, uint32_t senders)
{
	w->drained_ns = now_ns;
	w->drain = DRAIN_PKTS + senders;
	begin_round(w);
}

void line_window_shared(struct line_window *w, uint64_t now_ns, uint32_t senders)
{
	if (now_ns - w->shared_ns <= LINE_WINDOW_ALONE_NS)
		return;
	w->bytes = LINE_WINDOW_MIN_BYTES;
	w->ramp = true;
	w->train_path_ns = 0;
	drain(w, now_ns, senders);
}

void line_window_joined(struct line_window *w)
{
	if (w->drain)
		w->drain += DRAIN_EACH;
}

/*
 * Notes a packet of the ramp: packets that waited left the last queue close behind each other, so
 * the rate of such a train is that of the line.
 */
static void train_add(struct line_window *w, uint64_t now_ns, uint32_t came_bytes, uint64_t excess)
{
	if (excess < LINE_WINDOW_TARGET_NS / 4 || now_ns - w->train_ns > TRAIN_NS) {
		w->train_ns = now_ns;
		w->train_bytes = 0;
		return;
	}
	w->train_bytes += came_bytes;
}

/*
 * Grows the window of the ramp with each packet that was hardly delayed. The packet may be the
 * first of a train whose others did wait, so it does not stand for all bytes that came before it.
 * Once a train has measured the line, the window that fills it is known: doubling would take a
 * round trip each time. The shortest path counts, because a peer may feign a long one.
 */
static void ramp_grow(struct line_window *w, uint64_t now_ns, uint32_t came_bytes, uint64_t excess)
{
	uint64_t took_ns = now_ns - w->train_ns, bytes;

	if (w->train_bytes && took_ns >= LINE_WINDOW_TARGET_NS) {
		bytes = w->train_bytes * (w->train_path_ns + LINE_WINDOW_TARGET_NS) / took_ns;
		w->ramp = false;
		if (bytes > w->bytes)
			w->bytes = line_window_least(bytes, LINE_WINDOW_MAX_BYTES);
	} else if (w->short_of && excess < LINE_WINDOW_TARGET_NS &&
		   w->bytes < LINE_WINDOW_MAX_BYTES) {
		w->bytes += line_window_least(came_bytes, w->bytes / RAMP_PART);
	}
}

/* Counts what came of the packets for which the window is small. Returns false if it was not. */
static bool small_came(struct line_window *w, const struct line_sample *sample)
{
	uint32_t pkts = sample->came_bytes / sample->pkt_bytes;

	if (!w->drain)
		return false;
	w->drain -= pkts < w->drain ? pkts : w->drain;
	return true;
}

void line_window_path(struct line_window *w, const struct line_sample *sample)
{
	(void)small_came(w, sample);
}

/*
 * The path's time without a queue shows only without one, so now and then the window is small until
 * each has sent some packets.
 */
void line_window_sample(struct line_window *w, uint64_t now_ns, uint32_t senders,
			const struct line_sample *sample)
{
	uint64_t path_ns = sample->path_ns, rtt_ns = sample->rtt_ns;
	uint64_t excess = path_ns && rtt_ns > path_ns ? rtt_ns - path_ns : 0;
	bool stale; /* granted before the last change */

	w->shared_ns = now_ns;
	if (w->ramp && sample->every)
		train_add(w, now_ns, sample->came_bytes, excess);
	if (now_ns - w->drained_ns > LINE_WINDOW_DRAIN_NS)
		drain(w, now_ns, senders);
	/* Senders that come and go must not extend it for ever. */
	if (w->drain && now_ns - w->drained_ns > LINE_WINDOW_SMALL_NS)
		w->drain = 0;
	if (small_came(w, sample))
		return;
	/*
	 * It is shorter than any before, so the path is not known yet. The ramp needs no more than
	 * to know that the queue is not longer.
	 */
	if (!path_ns || (rtt_ns < path_ns && !w->ramp))
		return;
	stale = !w->ramp && now_ns < w->changed_ns + rtt_ns;
	if (!stale && w->round_stale)
		end_round(w, now_ns, sample->pkt_bytes);
	if (stale && !w->round_stale && w->round_pkts)
		return;
	w->round_stale = stale;
	w->path_ns = w->path_ns ? (w->path_ns * 63 + path_ns) / 64 : path_ns;
	w->round_low += excess < LINE_WINDOW_TARGET_NS;
	w->round_least += excess < LINE_WINDOW_TARGET_NS / 4;
	w->round_bytes += sample->came_bytes;
	if (w->ramp) {
		if (!w->train_path_ns || path_ns < w->train_path_ns)
			w->train_path_ns = path_ns;
		ramp_grow(w, now_ns, sample->came_bytes, excess);
	}
	if (++w->round_pkts >= ROUND_PKTS && w->round_bytes >= w->bytes)
		end_round(w, now_ns, sample->pkt_bytes);
}
