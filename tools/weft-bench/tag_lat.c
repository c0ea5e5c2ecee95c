/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ping-pong of tagged messages: latency by size, and behind long lists of receives and messages.
 * Calls tag_end.c.
 */
#include <stdlib.h>

#include "lib/clock.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/tag.h"

enum {
	LAT_MIN_BYTES = 8,
	LAT_STEP = 4,
	MATCH_BYTES = 8,
	MATCH_CHUNK = 256, /* completions at a time; fewer than the completion queue has */
};

struct lat {
	struct tag_end e;
	struct end_mem tx, rx;
	struct end_mem other; /* behind the lists */
	uint64_t seq;
	uint32_t *number; /* of the receives in the list */
};

static int send_one(struct tag_end *e, const struct end_mem *tx, size_t bytes, uint64_t seq)
{
	/* Inline data was copied. */
	if (bytes > e->ep->qp->cap.max_inline_bytes || e->c->o->no_inline)
		if (tag_wait_sends(e, 0))
			return -1;
	pattern_refill(tx->p, bytes, seq, 1);
	return tag_isend(e, tx, 0, bytes, TAG_DATA, NULL);
}

static int receive_one(struct tag_end *e, const struct end_mem *rx, size_t bytes, uint64_t seq)
{
	return tag_wait_recv(e) || tag_check(e, rx->p, bytes, seq, 1) ? -1 : 0;
}

static int post_recv(struct tag_end *e, const struct end_mem *rx, size_t bytes)
{
	return tag_irecv(e, rx, 0, bytes, TAG_DATA, 0, NULL);
}

int tag_ping(struct tag_end *e, const struct end_mem *tx, const struct end_mem *rx, size_t bytes,
	     uint32_t reps, uint64_t *seq, double *us)
{
	bool first = e->c->rank == 0;
	uint64_t start_ns = 0;

	pattern_fill(tx->p, bytes, *seq, 1);
	if (!first && post_recv(e, rx, bytes))
		return -1;
	crew_barrier(e->c);
	/* One round trip warms up. */
	for (uint32_t i = 0; i <= reps; i++, ++*seq) {
		if (i == 1)
			start_ns = clock_now_ns();
		if (first && (send_one(e, tx, bytes, *seq) || post_recv(e, rx, bytes)))
			return -1;
		if (receive_one(e, rx, bytes, *seq))
			return -1;
		if (!first &&
		    (send_one(e, tx, bytes, *seq) || (i < reps && post_recv(e, rx, bytes))))
			return -1;
	}
	*us = (double)(clock_now_ns() - start_ns) / 2e3 / reps;
	return tag_wait_sends(e, 0);
}

static int block(struct lat *l, size_t bytes, uint32_t reps, double *us)
{
	return tag_ping(&l->e, &l->tx, &l->rx, bytes, reps, &l->seq, us);
}

static int lat_rows(struct lat *l, const struct opts *o)
{
	double us[CREW_BLOCKS];
	json_t *row;

	for (size_t bytes = LAT_MIN_BYTES; bytes <= o->size; bytes *= LAT_STEP) {
		for (int b = 0; b < CREW_BLOCKS; b++)
			if (block(l, bytes, mpi3_reps(o, bytes), &us[b]))
				return -1;
		row = json_pack("{s:s, s:I}", "part", "lat", "bytes", (json_int_t)bytes);
		crew_figure(row, "us", us);
		if (l->e.c->rank)
			json_decref(row);
		else if (crew_row(l->e.c, row))
			return -1;
	}
	return 0;
}

static int open_lat(struct lat *l, struct crew *c, size_t bytes)
{
	const struct tag_config cfg = {0};

	l->seq = 0;
	return tag_open(&l->e, c, &cfg) || tag_alloc(&l->e, &l->tx, bytes) ||
		       tag_alloc(&l->e, &l->rx, bytes) ||
		       tag_alloc(&l->e, &l->other, MATCH_CHUNK * MATCH_BYTES)
		   ? -1
		   : 0;
}

static int close_lat(struct lat *l)
{
	tag_free(&l->tx);
	tag_free(&l->rx);
	tag_free(&l->other);
	tag_close(&l->e);
	return 0;
}

int tag_lat(struct crew *c, void *arg)
{
	static struct lat l;

	(void)arg;
	if (open_lat(&l, c, c->o->size) || lat_rows(&l, c->o))
		return -1;
	return close_lat(&l);
}

/* ---- long lists -------------------------------------------------------------------------------
 */

static int post_others(struct lat *l, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (tag_irecv(&l->e, &l->other, 0, MATCH_BYTES, TAG_OTHER | i, i, &l->number[i]))
			return -1;
	return 0;
}

static int cancel_others(struct lat *l, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (tag_icancel(&l->e, l->number[i]))
			return -1;
		if ((i + 1) % MATCH_CHUNK && i + 1 < count)
			continue;
		for (uint32_t n = i % MATCH_CHUNK + 1; n; n--)
			if (tag_wait_canceled(&l->e))
				return -1;
	}
	return 0;
}

static int send_others(struct lat *l, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t at = i % MATCH_CHUNK * MATCH_BYTES;

		if (i % MATCH_CHUNK == 0 && tag_wait_sends(&l->e, 0))
			return -1;
		pattern_fill(l->other.p + at, MATCH_BYTES, i, 1);
		if (tag_isend(&l->e, &l->other, at, MATCH_BYTES, TAG_OTHER | i, NULL))
			return -1;
	}
	if (tag_wait_sends(&l->e, 0))
		return -1;
	crew_barrier(l->e.c);
	return 0;
}

/* Last ones first, some at a time. */
static int receive_others(struct lat *l, uint32_t count)
{
	while (count) {
		uint32_t chunk = count % MATCH_CHUNK ? count % MATCH_CHUNK : MATCH_CHUNK, i;

		for (i = 0; i < chunk; i++)
			if (tag_irecv(&l->e, &l->other, i * MATCH_BYTES, MATCH_BYTES,
				      TAG_OTHER | (count - 1 - i), i, NULL))
				return -1;
		for (i = 0; i < chunk; i++) {
			uint64_t at;

			if (tag_wait_recv(&l->e))
				return -1;
			at = l->e.last_recv.wr_id;
			if (tag_check(&l->e, l->other.p + at * MATCH_BYTES, MATCH_BYTES,
				      count - 1 - at, 1))
				return -1;
		}
		count -= chunk;
	}
	return 0;
}

static int match_row(struct lat *l, bool unexpected, uint32_t count)
{
	double us[CREW_BLOCKS], empty[CREW_BLOCKS], ratio[CREW_BLOCKS];
	uint32_t reps = mpi3_reps(l->e.c->o, MATCH_BYTES);
	json_t *row;

	for (int b = 0; b < CREW_BLOCKS; b++) {
		if (block(l, MATCH_BYTES, reps, &empty[b]))
			return -1;
		if (unexpected ? send_others(l, count) : post_others(l, count))
			return -1;
		if (block(l, MATCH_BYTES, reps, &us[b]))
			return -1;
		if (unexpected ? receive_others(l, count) : cancel_others(l, count))
			return -1;
		ratio[b] = us[b] / empty[b];
	}
	if (l->e.c->rank)
		return 0;
	row = json_pack("{s:s, s:s, s:I, s:I}", "part", "match", "list",
			unexpected ? "unexpected" : "posted", "length", (json_int_t)count, "bytes",
			(json_int_t)MATCH_BYTES);
	crew_figure(row, "us", us);
	crew_figure(row, "empty_us", empty);
	crew_figure(row, "ratio", ratio);
	return crew_row(l->e.c, row);
}

int tag_match(struct crew *c, void *arg)
{
	static struct lat l;

	(void)arg;
	l.number = calloc(c->o->list, sizeof(*l.number));
	if (!l.number)
		return fail("no memory for %u receives", c->o->list);
	if (open_lat(&l, c, MATCH_BYTES))
		return -1;
	for (int unexpected = 0; unexpected < 2; unexpected++)
		for (uint32_t count = 10; count <= c->o->list; count *= 10)
			if (match_row(&l, unexpected, count))
				return -1;
	free(l.number);
	return close_lat(&l);
}
