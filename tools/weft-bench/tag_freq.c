/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small messages from memory that is not registered: Rashti's thesis, chapter 5. Ping-pong through
 * weft_tag_get_buf(), which copies, or registers what is used often. Calls tag_end.c.
 *
 *	copy		every message is copied, at both ends
 *	reuse		the same two buffers again and again, which are registered after a while
 *	fresh		each message has other buffers: counting their uses is in vain
 *	fresh_copy	the same, nothing counted
 *
 * gain_us is what registration saves of the latency of a message, limit_us what it could save: C -
 *V at both ends, where C and V are the times of the library's calls for both kinds of buffers,
 * measured without messages. registered: it pays here, and the library does it. All figures are
 * taken in turn.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/clock.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/tag.h"

enum {
	FREQ_MIN_BYTES = 1024,
	FREQ_MAX_BYTES = 16384,
	FREQ_STEP = 2,
	FREQ_SPAN_BYTES = 32 << 20, /* of fresh buffers; each is used once in a turn */
	FREQ_CALLS = 2000,
	FREQ_TRIES = 10, /* of as many calls, until a buffer is registered */
};

struct freq {
	struct tag_end e;
	struct weft_tag_mem *copies; /* never registers */
	struct weft_tag_mem *counts; /* as measured */
	struct weft_tag_mem *fresh;  /* the same with a table of its own */
	uint8_t *tx, *rx;            /* spans of buffers */
	size_t bytes;
	uint64_t seq;
	uint64_t place; /* of the next fresh buffer */
};

/* One ping-pong's buffers: always the first, or the next ones of the spans. */
struct turn {
	struct weft_tag_mem *mem;
	bool fresh;
	uint8_t *tx, *rx;
	struct weft_tag_buf recv;
};

static uint8_t *buffer_at(struct freq *f, uint8_t *span, bool fresh, uint64_t place)
{
	return fresh ? span + place % (FREQ_SPAN_BYTES / f->bytes) * f->bytes : span;
}

static int post_recv(struct freq *f, struct turn *t)
{
	t->rx = buffer_at(f, f->rx, t->fresh, f->place);
	if (weft_tag_get_buf(t->mem, t->rx, f->bytes, true, &t->recv))
		return fail("no memory for a receive");
	return tag_irecv_sge(&f->e, &t->recv.sge, TAG_DATA, 0, NULL);
}

static int send_one(struct freq *f, struct turn *t)
{
	struct weft_tag_buf buf;

	t->tx = buffer_at(f, f->tx, t->fresh, f->place);
	pattern_fill(t->tx, f->bytes, f->seq, 1);
	if (weft_tag_get_buf(t->mem, t->tx, f->bytes, false, &buf))
		return fail("no memory for a send");
	if (tag_isend_sge(&f->e, &buf.sge, TAG_DATA, NULL) || tag_wait_sends(&f->e, 0))
		return -1;
	weft_tag_put_buf(t->mem, &buf, 0);
	return 0;
}

static int receive_one(struct freq *f, struct turn *t)
{
	if (tag_wait_recvs(&f->e, 0))
		return -1;
	weft_tag_put_buf(t->mem, &t->recv, f->e.last_recv.bytes);
	return tag_check(&f->e, t->rx, f->bytes, f->seq, 1);
}

/* Time of half a round trip, us. Both ranks call it. */
static int ping_pong(struct freq *f, struct weft_tag_mem *mem, bool fresh, uint32_t reps,
		     double *us)
{
	struct turn t = {.mem = mem, .fresh = fresh};
	bool first = f->e.c->rank == 0;
	uint64_t start_ns;

	if (post_recv(f, &t))
		return -1;
	crew_barrier(f->e.c);
	start_ns = clock_now_ns();
	for (uint32_t i = 0; i < reps; i++) {
		if (first && send_one(f, &t))
			return -1;
		if (receive_one(f, &t))
			return -1;
		f->place++;
		/* The next receive is there before its message. */
		if (i + 1 < reps && post_recv(f, &t))
			return -1;
		if (!first && send_one(f, &t))
			return -1;
		f->seq++;
	}
	*us = (double)(clock_now_ns() - start_ns) / 2e3 / reps;
	return 0;
}

/* Time of the library's calls for one send and one receive, us. */
static int calls(struct freq *f, struct weft_tag_mem *mem, double *us)
{
	struct weft_tag_buf send, recv;
	uint64_t start_ns = clock_now_ns();

	for (int i = 0; i < FREQ_CALLS; i++) {
		if (weft_tag_get_buf(mem, f->tx, f->bytes, false, &send) ||
		    weft_tag_get_buf(mem, f->rx, f->bytes, true, &recv))
			return fail("no memory for a message");
		weft_tag_put_buf(mem, &send, 0);
		weft_tag_put_buf(mem, &recv, f->bytes);
	}
	*us = (double)(clock_now_ns() - start_ns) / 1e3 / FREQ_CALLS;
	return 0;
}

/* Uses the buffers until they are registered, as the threshold is. */
static int make_frequent(struct freq *f, bool *registered)
{
	struct weft_tag_mem_stats before, after;
	double us;

	weft_query_tag_mem(f->counts, &before);
	for (int i = 0; i < FREQ_TRIES; i++) {
		if (calls(f, f->counts, &us))
			return -1;
		weft_query_tag_mem(f->counts, &after);
		*registered = after.direct > before.direct + FREQ_CALLS;
		if (*registered)
			break;
	}
	return 0;
}

static int freq_row(struct freq *f)
{
	double copy[CREW_BLOCKS], reuse[CREW_BLOCKS], fresh[CREW_BLOCKS], plain[CREW_BLOCKS];
	double gain[CREW_BLOCKS], loss[CREW_BLOCKS], copy_calls, look_calls;
	uint32_t reps = mpi3_reps(f->e.c->o, f->bytes);
	struct weft_tag_mem_stats stats;
	bool registered;
	json_t *row;

	if (make_frequent(f, &registered))
		return -1;
	for (int b = 0; b < CREW_BLOCKS; b++) {
		if (ping_pong(f, f->copies, false, reps, &copy[b]) ||
		    ping_pong(f, f->counts, false, reps, &reuse[b]) ||
		    ping_pong(f, f->copies, true, reps, &plain[b]) ||
		    ping_pong(f, f->fresh, true, reps, &fresh[b]) ||
		    calls(f, f->copies, &copy_calls) || calls(f, f->counts, &look_calls))
			return -1;
		gain[b] = copy[b] - reuse[b];
		loss[b] = fresh[b] / plain[b] - 1;
	}
	if (f->e.c->rank)
		return 0;
	weft_query_tag_mem(f->counts, &stats);
	row = json_pack("{s:s, s:I, s:b, s:f, s:f, s:f, s:f, s:f}", "part", "freq", "bytes",
			(json_int_t)f->bytes, "registered", registered, "reg_ns", stats.reg_ns,
			"copy_8k_ns", stats.copy_ns, "look_ns", stats.look_ns, "copy_calls_us",
			copy_calls, "look_calls_us", look_calls);
	json_object_set_new(row, "limit_us", json_real(copy_calls - look_calls));
	crew_figure(row, "copy_us", copy);
	crew_figure(row, "reuse_us", reuse);
	crew_figure(row, "gain_us", gain);
	crew_figure(row, "fresh_copy_us", plain);
	crew_figure(row, "fresh_us", fresh);
	crew_figure(row, "loss", loss);
	return crew_row(f->e.c, row);
}

static int open_span(uint8_t **span)
{
	void *p =
	    mmap(NULL, FREQ_SPAN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return fail("no memory for buffers");
	*span = p;
	return 0;
}

int tag_freq(struct crew *c, void *arg)
{
	const struct weft_tag_mem_attr never = {.never = true};
	const struct tag_config cfg = {0};
	struct freq f = {.seq = 0};

	(void)arg;
	if (open_span(&f.tx) || open_span(&f.rx) || tag_open(&f.e, c, &cfg))
		return -1;
	f.copies = weft_create_tag_mem(f.e.end.pd, &never);
	f.counts = weft_create_tag_mem(f.e.end.pd, NULL);
	f.fresh = weft_create_tag_mem(f.e.end.pd, NULL);
	if (!f.copies || !f.counts || !f.fresh)
		return fail("no memory for copies");
	for (f.bytes = FREQ_MIN_BYTES; f.bytes <= FREQ_MAX_BYTES && f.bytes <= c->o->size;
	     f.bytes *= FREQ_STEP)
		if (freq_row(&f))
			return -1;
	if (weft_destroy_tag_mem(f.copies) || weft_destroy_tag_mem(f.counts) ||
	    weft_destroy_tag_mem(f.fresh))
		return fail("a buffer was not put back");
	tag_close(&f.e);
	munmap(f.tx, FREQ_SPAN_BYTES);
	munmap(f.rx, FREQ_SPAN_BYTES);
	return 0;
}
