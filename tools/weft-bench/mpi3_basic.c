/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latency and bandwidth of messages between two processes, between several pairs, and with reused
 * or new buffers: Rashti's thesis, sections 3.3.2, 3.4.2 and 3.5.2. Calls mp_io.c.
 */
#include <stdlib.h>

#include "lib/clock.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

enum {
	WINDOW = 16, /* messages each way of the test of both ways */
	REUSE_BUFFERS = 64,
	REUSE_BUDGET_BYTES = 32 << 20,
	REUSE_MIN_BUFFERS = 8,
};

static const struct mp_config config = {
    .eager_bytes = MPI3_EAGER_BYTES, .proto = MP_GET, .policy = WEFT_MR_CACHE_LAZY};

/* Slots of one size to send from and to receive into. */
struct room {
	uint8_t *to[WINDOW];
	uint8_t *from[WINDOW];
	uint8_t *all;
	size_t stride;
	size_t bytes;
};

static int room_open(struct room *r, struct mp *mp, size_t max_bytes)
{
	r->stride = (max_bytes + 4095) & ~(size_t)4095;
	r->bytes = 2 * WINDOW * r->stride;
	r->all = mp_alloc(mp, r->bytes);
	for (int i = 0; r->all && i < WINDOW; i++) {
		r->to[i] = r->all + (size_t)i * r->stride;
		r->from[i] = r->all + (size_t)(WINDOW + i) * r->stride;
	}
	return r->all ? 0 : -1;
}

/* Half a round trip, us. */
static int ping_block(struct crew *c, struct mp *mp, struct room *r, size_t bytes, uint32_t reps,
		      uint64_t seq, double *us)
{
	uint64_t start;

	pattern_fill(r->to[0], bytes, seq + (uint64_t)c->rank, 1);
	crew_barrier(c);
	start = clock_now_ns();
	for (uint32_t i = 0; i < reps; i++)
		if (c->rank % 2 == 0
			? mp_send(mp, r->to[0], bytes) || mp_recv(mp, r->from[0], bytes)
			: mp_recv(mp, r->from[0], bytes) || mp_send(mp, r->to[0], bytes))
			return -1;
	*us = (double)(clock_now_ns() - start) / 2e3 / reps;
	return mpi3_check(r->from[0], bytes, seq + (uint64_t)(c->rank ^ 1));
}

/* Both partners send a window, then receive one. MiB/s, sum of both directions. */
static int both_block(struct crew *c, struct mp *mp, struct room *r, size_t bytes, uint32_t reps,
		      uint64_t seq, double *mib_s)
{
	struct mp_req *to[WINDOW], *from[WINDOW];
	uint64_t start;
	uint32_t i, k;

	for (k = 0; k < WINDOW; k++)
		pattern_fill(r->to[k], bytes, seq + (uint64_t)c->rank + CREW_MAX * k, 1);
	crew_barrier(c);
	start = clock_now_ns();
	for (i = 0; i < reps; i++) {
		for (k = 0; k < WINDOW; k++)
			if (!(to[k] = mp_isend(mp, r->to[k], bytes)))
				return -1;
		for (k = 0; k < WINDOW; k++)
			if (!(from[k] = mp_irecv(mp, r->from[k], bytes)))
				return -1;
		for (k = 0; k < WINDOW; k++)
			if (mp_wait(mp, to[k]) || mp_wait(mp, from[k]))
				return -1;
	}
	*mib_s = 2.0 * WINDOW * reps * (double)bytes / (1 << 20) * 1e9 /
		 (double)(clock_now_ns() - start);
	for (k = 0; k < WINDOW; k++)
		if (mpi3_check(r->from[k], bytes, seq + (uint64_t)(c->rank ^ 1) + CREW_MAX * k))
			return -1;
	return 0;
}

static uint32_t both_reps(const struct opts *o, size_t bytes)
{
	uint32_t reps = mpi3_reps(o, bytes) / WINDOW;

	return reps < 2 ? 2 : reps;
}

int mpi3_basic(struct crew *c, void *arg)
{
	double us[CREW_BLOCKS], one[CREW_BLOCKS], both[CREW_BLOCKS];
	struct room r;
	struct mp mp;
	uint64_t seq = 1000;

	(void)arg;
	if (mp_open(&mp, c, &config) || room_open(&r, &mp, c->o->size))
		return -1;
	for (size_t bytes = 1; bytes <= c->o->size; bytes *= 4) {
		uint32_t reps = mpi3_reps(c->o, bytes);
		json_t *row;

		/* Block -1 is the warm-up. */
		for (int b = -1; b < CREW_BLOCKS; b++, seq += 1000) {
			int at = b < 0 ? 0 : b;

			if (ping_block(c, &mp, &r, bytes, reps, seq, &us[at]) ||
			    both_block(c, &mp, &r, bytes, both_reps(c->o, bytes), seq, &both[at]))
				return -1;
			one[at] = (double)bytes / (1 << 20) * 1e6 / us[at];
		}
		if (c->rank)
			continue;
		row = json_pack("{s:s, s:I, s:s}", "part", "basic", "bytes", (json_int_t)bytes,
				"protocol", bytes <= MPI3_EAGER_BYTES ? "eager" : "rendezvous");
		crew_figure(row, "latency_us", us);
		crew_figure(row, "pingpong_mib_s", one);
		crew_figure(row, "bothway_mib_s", both);
		if (crew_row(c, row))
			return -1;
	}
	crew_barrier(c);
	mp_close(&mp);
	mp_free(&mp, r.all, r.bytes);
	return 0;
}

int mpi3_pairs(struct crew *c, void *arg)
{
	static const size_t sizes[] = {64, 1024, 16 << 10, 128 << 10};
	double us[CREW_BLOCKS], norm[CREW_BLOCKS], both[CREW_BLOCKS], x;
	int pairs = c->ranks / 2;
	struct room r;
	struct mp mp;
	uint64_t seq = 1000;

	(void)arg;
	if (mp_open(&mp, c, &config) || room_open(&r, &mp, sizes[3]))
		return -1;
	for (int s = 0; s < 4 && sizes[s] <= c->o->size; s++) {
		uint32_t reps = mpi3_reps(c->o, sizes[s] * (size_t)pairs);
		json_t *row;

		for (int b = -1; b < CREW_BLOCKS; b++, seq += 1000) {
			int at = b < 0 ? 0 : b;

			if (ping_block(c, &mp, &r, sizes[s], reps, seq, &x))
				return -1;
			us[at] = crew_sum(c, x) / c->ranks;
			norm[at] = us[at] / pairs;
			if (both_block(c, &mp, &r, sizes[s], both_reps(c->o, sizes[s]), seq, &x))
				return -1;
			/* Both partners return the same. */
			both[at] = crew_sum(c, x) / 2;
		}
		if (c->rank)
			continue;
		row = json_pack("{s:s, s:i, s:I}", "part", "pairs", "pairs", pairs, "bytes",
				(json_int_t)sizes[s]);
		crew_figure(row, "latency_us", us);
		crew_figure(row, "normalized_us", norm);
		crew_figure(row, "bothway_mib_s", both);
		if (crew_row(c, row))
			return -1;
	}
	crew_barrier(c);
	mp_close(&mp);
	mp_free(&mp, r.all, r.bytes);
	return 0;
}

/* ---- buffers used again or not ----------------------------------------------------------------
 */

/* Ping-pong of count messages; share percent of them use the previous buffer. */
static int reuse_block(struct crew *c, struct mp *mp, size_t bytes, uint32_t count, int share,
		       uint64_t seq, double *us)
{
	uint32_t buffers = share == 100 ? 1 : share == 50 ? (count + 1) / 2 : count, i;
	uint8_t *buf[REUSE_BUFFERS] = {NULL};
	uint64_t start, want = seq + count - 1;
	uint8_t *p;
	int rc = 0;

	for (i = 0; i < buffers; i++)
		if (!(buf[i] = mp_alloc(mp, bytes)))
			return -1;
	/* The received bytes are sent back: rank 0 makes only the first message of a buffer. */
	for (i = 0; c->rank == 0 && i < buffers; i++)
		pattern_fill(buf[i], bytes, want, 1);
	crew_barrier(c);
	start = clock_now_ns();
	for (i = 0; i < count && !rc; i++) {
		p = buf[share == 100 ? 0 : share == 50 ? i / 2 : i];
		rc = c->rank == 0 ? mp_send(mp, p, bytes) || mp_recv(mp, p, bytes)
				  : mp_recv(mp, p, bytes) || mp_send(mp, p, bytes);
	}
	*us = (double)(clock_now_ns() - start) / 2e3 / count;
	for (i = 0; i < buffers; i++) {
		rc = rc || mpi3_check(buf[i], bytes, want);
		mp_free(mp, buf[i], bytes);
	}
	return rc ? -1 : 0;
}

int mpi3_reuse(struct crew *c, void *arg)
{
	static const int shares[] = {0, 50, 100};
	double us[CREW_BLOCKS];
	struct opts o = *c->o;
	struct crew mine = *c;
	struct mp mp;
	uint64_t seq = 1000;

	(void)arg;
	/* As a program's own buffers are. */
	o.mem = BENCH_MEM_MALLOC;
	mine.o = &o;
	if (mp_open(&mp, &mine, &config))
		return -1;
	for (size_t bytes = 64; bytes <= c->o->size; bytes *= 4)
		for (int s = 0; s < 3; s++) {
			uint32_t count = (uint32_t)(REUSE_BUDGET_BYTES / bytes);
			json_t *row;

			count = count > REUSE_BUFFERS ? REUSE_BUFFERS : count;
			count = count > c->o->iters ? (uint32_t)c->o->iters : count;
			count = count < REUSE_MIN_BUFFERS ? REUSE_MIN_BUFFERS : count;
			for (int b = -1; b < CREW_BLOCKS; b++, seq += 1000)
				if (reuse_block(&mine, &mp, bytes, count, shares[s], seq,
						&us[b < 0 ? 0 : b]))
					return -1;
			if (c->rank)
				continue;
			row = json_pack("{s:s, s:I, s:i, s:i}", "part", "reuse", "bytes",
					(json_int_t)bytes, "reuse_percent", shares[s], "messages",
					(int)count);
			crew_figure(row, "latency_us", us);
			if (crew_row(c, row))
				return -1;
		}
	crew_barrier(c);
	mp_close(&mp);
	return 0;
}
