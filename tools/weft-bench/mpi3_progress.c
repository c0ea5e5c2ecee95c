/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress of a message while its process computes: Rashti's thesis, section 3.6.2. Calls
 * mpi3_busy.c, mpi3_partner.c and mp_io.c.
 *
 * Sender's side: rank 0 begins a send, computes, then waits; the time is the blocking receive's at
 * the partner. Receiver's side: rank 0 begins a receive, computes in pieces and polls the buffer's
 * last word between them, then waits; the times are its own, and that of the last word's arrival.
 * If the time grows with the computation, the message waited for the next call of the library.
 */
#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

enum {
	PROGRESS_REPS = 7, /* the median counts */
	PIECES = 64,
	MAX_BYTES = 256 << 10,
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

/* arrived_us: 0 if its arrival was not seen during the computation. */
static int once_recv(struct progress *p, double delay_us, double *us, double *arrived_us)
{
	const volatile uint64_t *last;
	struct mpi3_pull pull;
	uint64_t start, before;

	last = (const volatile uint64_t *)(const void *)(p->buf + p->bytes - 8);
	/* The last word of successive messages differs only by the marks of its block. */
	pattern_fill(p->buf, p->bytes, 0, 1);
	p->seq++;
	for (size_t i = 0; i < p->bytes; i++)
		p->buf[i] = (uint8_t)~p->buf[i];
	before = *last;
	*arrived_us = 0;
	if (mpi3_prepare(p->mp, &pull, p->bytes, p->seq))
		return -1;
	start = clock_now_ns();
	if (mpi3_pull(p->mp, &pull, p->buf))
		return -1;
	for (int i = 0; i < PIECES; i++) {
		mpi3_busy_fixed(&p->busy, delay_us / PIECES);
		if (*arrived_us <= 0 && *last != before)
			*arrived_us = (double)(clock_now_ns() - start) / 1e3;
	}
	if (mpi3_pulled(p->mp, &pull))
		return -1;
	*us = (double)(clock_now_ns() - start) / 1e3;
	return mpi3_check(p->buf, p->bytes, p->seq);
}

static int figure(struct progress *p, bool recv, double delay_us, double *us, double *arrived_us)
{
	double time[PROGRESS_REPS], arrived[PROGRESS_REPS] = {0};

	for (int i = 0; i < PROGRESS_REPS; i++)
		if (recv ? once_recv(p, delay_us, &time[i], &arrived[i])
			 : once_send(p, delay_us, &time[i]))
			return -1;
	*us = stats_median(time, PROGRESS_REPS);
	*arrived_us = stats_median(arrived, PROGRESS_REPS);
	return 0;
}

static int side_rows(struct progress *p, bool recv)
{
	double us[CREW_BLOCKS], arrived[CREW_BLOCKS];
	json_t *row;

	for (size_t d = 0; d < sizeof(delays_us) / sizeof(delays_us[0]); d++) {
		for (int b = 0; b < CREW_BLOCKS; b++)
			if (figure(p, recv, delays_us[d], &us[b], &arrived[b]))
				return -1;
		row = json_pack("{s:s, s:s, s:s, s:I, s:f}", "part", "progress", "side",
				recv ? "recv" : "send", "protocol",
				mpi3_proto_str(&p->mp->cfg, p->bytes), "bytes",
				(json_int_t)p->bytes, "delay_us", delays_us[d]);
		crew_figure(row, "latency_us", us);
		crew_figure(row, "arrived_us", arrived);
		if (crew_row(p->c, row))
			return -1;
	}
	return 0;
}

static int rows(struct progress *p)
{
	static const size_t sizes[] = {8 << 10, MAX_BYTES};

	/* Eager messages do not depend on the rendezvous protocol. */
	for (int i = p->mp->cfg.proto == MP_PUT; i < 2; i++) {
		p->bytes = sizes[i];
		if (p->bytes <= p->c->o->size && (side_rows(p, false) || side_rows(p, true)))
			return -1;
	}
	return 0;
}

static int measure(struct mp *mp, void *arg)
{
	struct progress *p = arg;
	int rc;

	p->mp = mp;
	p->buf = mp_alloc(mp, MAX_BYTES);
	rc = !p->buf || mpi3_busy_open(&p->busy, 0) || rows(p) ? -1 : 0;
	mpi3_busy_close(&p->busy);
	mp_free(mp, p->buf, p->buf ? MAX_BYTES : 0);
	return rc;
}

int mpi3_progress(struct crew *c, void *arg)
{
	struct progress p = {.c = c, .seq = 1};

	(void)arg;
	mpi3_pin(c);
	for (int proto = MP_GET; proto <= MP_PUT; proto++) {
		struct mpi3_way way = {MPI3_EAGER_BYTES, (enum mp_proto)proto};

		if (mpi3_with_partner(c, &way, MAX_BYTES, measure, &p))
			return -1;
	}
	return 0;
}
