/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a message moves on while its process computes: section 3.6.2 of the thesis. Called by
 * mpi3.c; calls mpi3_busy.c and mp_io.c.
 *
 * Sender's side: rank 0 begins a send, computes, then waits; the time is the blocking receive's at
 * the partner. Receiver's side: rank 0 begins a receive, computes in pieces and looks at the
 * buffer's last word between them, then waits; the time is its own, and when the last word came.
 * Where time grows with the computation the message waited for the next call of the library.
 */
#include <stdlib.h>

#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

enum {
	PROGRESS_REPS = 7, /* the median counts */
	PIECES = 64,
};

static const double delays_us[] = {0, 200, 400, 800, 1600};

struct progress {
	struct crew *c;
	struct mp *mp;
	struct mpi3_busy busy;
	uint8_t *buf;
	uint64_t seq;
	size_t bytes;
};

static int once_send(struct progress *p, double delay_us, double *us)
{
	struct mp_req *req;
	uint64_t ns;

	pattern_fill(p->buf, p->bytes, ++p->seq, 1);
	if (mpi3_tell(p->mp, MPI3_RECEIVE, p->bytes, p->seq))
		return -1;
	req = mp_isend(p->mp, p->buf, p->bytes);
	if (!req)
		return -1;
	mpi3_busy_fixed(&p->busy, delay_us);
	if (mp_wait(p->mp, req) || mpi3_answer(p->mp, &ns))
		return -1;
	*us = (double)ns / 1e3;
	return 0;
}

/* arrived_us: 0 when it was not seen during the computation. */
static int once_recv(struct progress *p, double delay_us, double *us, double *arrived_us)
{
	const volatile uint64_t *last;
	uint64_t start, before;
	struct mp_req *req;

	last = (const volatile uint64_t *)(const void *)(p->buf + p->bytes - 8);
	/* The last word differs from one message to the next by the marks of its block alone. */
	pattern_fill(p->buf, p->bytes, 0, 1);
	p->seq++;
	for (size_t i = 0; i < p->bytes; i++)
		p->buf[i] = (uint8_t)~p->buf[i];
	before = *last;
	*arrived_us = 0;
	if (mpi3_tell(p->mp, MPI3_SEND, p->bytes, p->seq))
		return -1;
	start = now_ns();
	req = mp_irecv(p->mp, p->buf, p->bytes);
	if (!req)
		return -1;
	for (int i = 0; i < PIECES; i++) {
		mpi3_busy_fixed(&p->busy, delay_us / PIECES);
		if (*arrived_us <= 0 && *last != before)
			*arrived_us = (double)(now_ns() - start) / 1e3;
	}
	if (mp_wait(p->mp, req))
		return -1;
	*us = (double)(now_ns() - start) / 1e3;
	return pattern_check(p->buf, p->bytes, p->seq, 1) == p->bytes
		   ? 0
		   : fail("a message of %zu bytes is wrong", p->bytes);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int figure(struct progress *p, bool recv, double delay_us, double *us, double *arrived_us)
{
	double time[PROGRESS_REPS], arrived[PROGRESS_REPS] = {0};

	for (int i = 0; i < PROGRESS_REPS; i++)
		if (recv ? once_recv(p, delay_us, &time[i], &arrived[i])
			 : once_send(p, delay_us, &time[i]))
			return -1;
	qsort(time, PROGRESS_REPS, sizeof(*time), by_double);
	qsort(arrived, PROGRESS_REPS, sizeof(*arrived), by_double);
	*us = time[PROGRESS_REPS / 2];
	*arrived_us = arrived[PROGRESS_REPS / 2];
	return 0;
}

static int side_rows(struct progress *p, const struct mp_config *cfg, bool recv)
{
	double us[CREW_BLOCKS], arrived[CREW_BLOCKS];
	bool eager = p->bytes <= cfg->eager_bytes;
	json_t *row;

	for (size_t d = 0; d < sizeof(delays_us) / sizeof(delays_us[0]); d++) {
		for (int b = 0; b < CREW_BLOCKS; b++)
			if (figure(p, recv, delays_us[d], &us[b], &arrived[b]))
				return -1;
		row = json_pack("{s:s, s:s, s:s, s:I, s:f}", "part", "progress", "side",
				recv ? "recv" : "send", "protocol",
				eager                  ? "eager"
				: cfg->proto == MP_GET ? "get"
						       : "put",
				"bytes", (json_int_t)p->bytes, "delay_us", delays_us[d]);
		crew_figure(row, "latency_us", us);
		crew_figure(row, "arrived_us", arrived);
		if (crew_row(p->c, row))
			return -1;
	}
	return 0;
}

static int rows(struct progress *p, const struct mp_config *cfg)
{
	static const size_t sizes[] = {8 << 10, 256 << 10};

	for (int i = cfg->proto == MP_PUT; i < 2; i++) {
		p->bytes = sizes[i];
		if (p->bytes <= p->c->o->size &&
		    (side_rows(p, cfg, false) || side_rows(p, cfg, true)))
			return -1;
	}
	return 0;
}

int mpi3_progress(struct crew *c, void *arg)
{
	enum {
		MAX_BYTES = 256 << 10
	};

	(void)arg;
	mpi3_pin(c);
	for (int proto = MP_GET; proto <= MP_PUT; proto++) {
		struct mp_config cfg = {.eager_bytes = MPI3_EAGER_BYTES,
					.proto = (enum mp_proto)proto,
					.policy = WEFT_MR_CACHE_LAZY,
					.block = c->rank,
					.sync = true};
		struct progress p = {.c = c, .seq = 1};
		struct mp mp;
		int rc;

		if (mp_open(&mp, c, &cfg))
			return -1;
		p.mp = &mp;
		if (c->rank) {
			rc = mpi3_serve(&mp, MAX_BYTES);
		} else {
			p.buf = mp_alloc(&mp, MAX_BYTES);
			rc = !p.buf || mpi3_busy_open(&p.busy, 0) || rows(&p, &cfg) ||
				     mpi3_tell(&mp, MPI3_END, 0, 0)
				 ? -1
				 : 0;
			mpi3_busy_close(&p.busy);
		}
		if (rc)
			return rc;
		crew_barrier(c);
		mp_close(&mp);
		mp_free(&mp, p.buf, p.buf ? MAX_BYTES : 0);
	}
	return 0;
}
