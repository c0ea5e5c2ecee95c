/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of tagged messages: bandwidth by size, rate of small ones. Calls tag_end.c.
 *
 * Rank 0 sends. The receiver has a window of receives posted and returns an empty message for each
 * half window, so that all messages find a receive; it checks and times them.
 */
#include "lib/clock.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/tag.h"

enum {
	FLOW_BUDGET_BYTES = 4 << 20, /* in flight */
	FLOW_WINDOW_MIN = 4,
	FLOW_WINDOW_MAX = 128,
	BW_MIN_BYTES = 4096,
	BW_STEP = 4,
	BW_REPS = 8, /* times what a block of another part moves */
	RATE_BYTES = 64,
	RATE_REPS = 100, /* times --iters */
};

struct stream {
	struct tag_end e;
	struct end_mem buf;
	size_t bytes;
	uint32_t window;
	uint32_t half;
	uint64_t seq;
	uint32_t open[FLOW_WINDOW_MAX]; /* 1: the send from this slot has not completed */
};

static uint32_t window_of(size_t bytes)
{
	size_t n = FLOW_BUDGET_BYTES / bytes;

	return n < FLOW_WINDOW_MIN   ? FLOW_WINDOW_MIN
	       : n > FLOW_WINDOW_MAX ? FLOW_WINDOW_MAX
				     : (uint32_t)n;
}

static size_t slot_at(const struct stream *s, uint64_t seq)
{
	return seq % s->window * s->bytes;
}

/* One receive for credit is always posted. A slot is written again when its last send completed. */
static int send_block(struct stream *s, uint64_t count)
{
	uint64_t credit = s->window;

	for (uint64_t i = 0; i < count; i++, s->seq++) {
		uint32_t *open = &s->open[s->seq % s->window];

		while (!credit) {
			if (tag_wait_recv(&s->e) ||
			    tag_irecv(&s->e, &s->buf, 0, 0, TAG_CREDIT, 0, NULL))
				return -1;
			credit += s->half;
		}
		if (tag_wait_open(&s->e, open))
			return -1;
		pattern_refill(s->buf.p + slot_at(s, s->seq), s->bytes, s->seq, s->window);
		if (tag_isend(&s->e, &s->buf, slot_at(s, s->seq), s->bytes, TAG_DATA, open))
			return -1;
		credit--;
	}
	/* The credit of the rest. */
	while (credit < s->window) {
		if (tag_wait_recv(&s->e) || tag_irecv(&s->e, &s->buf, 0, 0, TAG_CREDIT, 0, NULL))
			return -1;
		credit += s->half;
	}
	return tag_wait_sends(&s->e, 0);
}

static int receive_block(struct stream *s, uint64_t count, double *seconds)
{
	uint64_t start_ns = 0;

	for (uint64_t i = 0; i < count; i++, s->seq++) {
		if (tag_wait_recv(&s->e))
			return -1;
		if (!i)
			start_ns = clock_now_ns();
		if (s->e.last_recv.wr_id != s->seq % s->window)
			return fail("message %llu came to receive %llu", (unsigned long long)s->seq,
				    (unsigned long long)s->e.last_recv.wr_id);
		if (tag_check(&s->e, s->buf.p + slot_at(s, s->seq), s->bytes, s->seq, s->window) ||
		    tag_irecv(&s->e, &s->buf, slot_at(s, s->seq), s->bytes, TAG_DATA,
			      s->seq % s->window, NULL))
			return -1;
		if ((i + 1) % s->half == 0 && tag_isend(&s->e, &s->buf, 0, 0, TAG_CREDIT, NULL))
			return -1;
	}
	*seconds = (double)(clock_now_ns() - start_ns) / 1e9;
	return tag_wait_sends(&s->e, 0);
}

static int start(struct stream *s)
{
	uint32_t i;

	s->seq = 0;
	for (i = 0; i < s->window; i++)
		pattern_fill(s->buf.p + i * s->bytes, s->bytes, i, s->window);
	if (!s->e.c->rank)
		return tag_irecv(&s->e, &s->buf, 0, 0, TAG_CREDIT, 0, NULL);
	for (i = 0; i < s->window; i++)
		if (tag_irecv(&s->e, &s->buf, i * s->bytes, s->bytes, TAG_DATA, i, NULL))
			return -1;
	return 0;
}

/*
 * Figures of one size: Gb/s, or million messages a second. Receives are left posted, so each size
 * has endpoints of its own.
 */
static int stream_row(struct crew *c, const char *part, size_t bytes, uint64_t reps)
{
	const struct tag_config cfg = {0};
	double seconds[CREW_BLOCKS] = {0}, figure[CREW_BLOCKS];
	struct stream s = {.bytes = bytes, .window = window_of(bytes)};
	json_t *row;

	s.half = s.window / 2;
	/* Whole windows, so that all credit is given. */
	reps = (reps + s.window - 1) / s.window * s.window;
	if (tag_open(&s.e, c, &cfg) || tag_alloc(&s.e, &s.buf, s.window * bytes) || start(&s))
		return -1;
	for (int b = 0; b < CREW_BLOCKS; b++) {
		crew_barrier(c);
		if (c->rank ? receive_block(&s, reps, &seconds[b]) : send_block(&s, reps))
			return -1;
		figure[b] = part[0] == 'b' ? (double)((reps - 1) * bytes) * 8e-9 / seconds[b]
					   : (double)(reps - 1) * 1e-6 / seconds[b];
	}
	if (c->rank) {
		row = json_pack("{s:s, s:I, s:I}", "part", part, "bytes", (json_int_t)bytes,
				"window", (json_int_t)s.window);
		crew_figure(row, part[0] == 'b' ? "gbit_s" : "mmsg_s", figure);
		if (crew_row(c, row))
			return -1;
	}
	tag_free(&s.buf);
	tag_close(&s.e);
	return 0;
}

int tag_bw(struct crew *c, void *arg)
{
	(void)arg;
	for (size_t bytes = BW_MIN_BYTES; bytes <= c->o->size; bytes *= BW_STEP)
		if (stream_row(c, "bw", bytes, (uint64_t)BW_REPS * mpi3_reps(c->o, bytes)))
			return -1;
	return 0;
}

int tag_rate(struct crew *c, void *arg)
{
	(void)arg;
	return stream_row(c, "rate", RATE_BYTES, RATE_REPS * c->o->iters);
}
