/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much computation a message hides: section 3.6.1 of the thesis (equation 3.4), for sends and
 * for receives apart, and the overlap benchmark of the SCI paper (figure 7, equation 3). Called by
 * mpi3.c; calls mpi3_busy.c and mp_io.c. Rank 0 measures; its partner sleeps while it waits, so
 * that it takes nothing from who computes where processors are short.
 */
#include <stdlib.h>

#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

enum {
	REPS_MAX = 15, /* of one amount of computation; the median counts */
	STEPS = 20,    /* of a tenth of the message's time each */
	SCI_REPS = 15,
};

struct overlap {
	struct crew *c;
	struct mp *mp;
	struct mpi3_busy busy;
	uint8_t *buf;
	uint64_t seq;
	size_t bytes;
	bool recv;
	bool daxpy;
};

static const char *proto_str(const struct mp_config *cfg, size_t bytes)
{
	if (bytes <= cfg->eager_bytes)
		return "eager";
	return cfg->proto == MP_GET ? "get" : "put";
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void compute(struct overlap *v, double us)
{
	if (us <= 0)
		return;
	if (v->daxpy)
		mpi3_busy_daxpy(&v->busy, us);
	else
		mpi3_busy_fixed(&v->busy, us);
}

/* From before the call that begins the message until it is waited for, with work between; us. */
static int once(struct overlap *v, double busy_us, double *us)
{
	struct mp_req *req;
	uint64_t start, ns;

	v->seq++;
	if (!v->recv)
		pattern_fill(v->buf, v->bytes, v->seq, 1);
	if (mpi3_tell(v->mp, v->recv ? MPI3_SEND : MPI3_RECEIVE, v->bytes, v->seq))
		return -1;
	start = now_ns();
	req = v->recv ? mp_irecv(v->mp, v->buf, v->bytes) : mp_isend(v->mp, v->buf, v->bytes);
	if (!req)
		return -1;
	compute(v, busy_us);
	if (mp_wait(v->mp, req))
		return -1;
	*us = (double)(now_ns() - start) / 1e3;
	if (!v->recv)
		return mpi3_answer(v->mp, &ns);
	return pattern_check(v->buf, v->bytes, v->seq, 1) == v->bytes
		   ? 0
		   : fail("a message of %zu bytes is wrong", v->bytes);
}

static int median_of(struct overlap *v, double busy_us, uint32_t reps, double *us)
{
	double sample[SCI_REPS] = {0};

	for (uint32_t i = 0; i < reps; i++)
		if (once(v, busy_us, &sample[i]))
			return -1;
	qsort(sample, reps, sizeof(*sample), by_double);
	*us = sample[reps / 2];
	return 0;
}

/*
 * Equation 3.4: computation is increased by a tenth of the message's time l0 until that has grown
 * by a tenth; of the last step before, what of the computation was hidden, in l0.
 */
static int ratio_block(struct overlap *v, uint32_t reps, double *l0_us, double *ratio)
{
	double l0, lm, c;

	if (median_of(v, 0, reps, &l0))
		return -1;
	*l0_us = l0;
	*ratio = 0;
	for (int step = 1; step <= STEPS; step++) {
		c = l0 * step / 10;
		if (median_of(v, c, reps, &lm))
			return -1;
		if (lm >= 1.1 * l0)
			break;
		*ratio = (c - (lm - l0)) / l0;
	}
	return 0;
}

static int overlap_rows(struct overlap *v, const struct mp_config *cfg)
{
	double l0[CREW_BLOCKS], ratio[CREW_BLOCKS];
	uint32_t reps = v->c->o->iters < REPS_MAX ? (uint32_t)v->c->o->iters : REPS_MAX;
	json_t *row;

	for (v->bytes = 1024; v->bytes <= v->c->o->size; v->bytes *= 4) {
		/* Eager messages are the same whatever the rendezvous. */
		if (cfg->proto == MP_PUT && v->bytes <= cfg->eager_bytes)
			continue;
		for (int b = 0; b < CREW_BLOCKS; b++)
			if (ratio_block(v, reps, &l0[b], &ratio[b]))
				return -1;
		row = json_pack("{s:s, s:s, s:s, s:I}", "part", "overlap", "side",
				v->recv ? "recv" : "send", "protocol", proto_str(cfg, v->bytes),
				"bytes", (json_int_t)v->bytes);
		crew_figure(row, "l0_us", l0);
		crew_figure(row, "ratio", ratio);
		if (crew_row(v->c, row))
			return -1;
	}
	return 0;
}

int mpi3_overlap(struct crew *c, void *arg)
{
	(void)arg;
	mpi3_pin(c);
	for (int proto = MP_GET; proto <= MP_PUT; proto++) {
		struct mp_config cfg = {.eager_bytes = MPI3_EAGER_BYTES,
					.proto = (enum mp_proto)proto,
					.policy = WEFT_MR_CACHE_LAZY,
					.block = c->rank,
					.sync = true};
		struct overlap v = {.c = c, .seq = 1};
		struct mp mp;
		int rc;

		if (mp_open(&mp, c, &cfg))
			return -1;
		v.mp = &mp;
		if (c->rank) {
			rc = mpi3_serve(&mp, c->o->size);
		} else {
			v.buf = mp_alloc(&mp, c->o->size);
			rc = !v.buf || mpi3_busy_open(&v.busy, 0) || overlap_rows(&v, &cfg);
			v.recv = true;
			rc =
			    rc || overlap_rows(&v, &cfg) || mpi3_tell(&mp, MPI3_END, 0, 0) ? -1 : 0;
			mpi3_busy_close(&v.busy);
		}
		if (rc)
			return rc;
		crew_barrier(c);
		mp_close(&mp);
		mp_free(&mp, v.buf, v.buf ? c->o->size : 0);
	}
	return 0;
}

/* ---- the SCI paper's --------------------------------------------------------------------------
 */

static const double busy_us[] = {50, 100, 200, 500, 1000, 2000};

/* The work alone. */
static double pure_us(struct overlap *v, double us, uint32_t reps)
{
	double sample[SCI_REPS] = {0};

	for (uint32_t i = 0; i < reps; i++) {
		uint64_t start = now_ns();

		compute(v, us);
		sample[i] = (double)(now_ns() - start) / 1e3;
	}
	qsort(sample, reps, sizeof(*sample), by_double);
	return sample[reps / 2];
}

static int sci_rows(struct overlap *v, const char *memory, const char *protocol)
{
	double l_busy[CREW_BLOCKS], l_msg[CREW_BLOCKS], l_overlap[CREW_BLOCKS], eff[CREW_BLOCKS];
	uint32_t reps = v->c->o->iters < SCI_REPS ? (uint32_t)v->c->o->iters : SCI_REPS;
	json_t *row;

	for (size_t i = 0; i < sizeof(busy_us) / sizeof(busy_us[0]); i++) {
		for (int b = 0; b < CREW_BLOCKS; b++) {
			l_busy[b] = pure_us(v, busy_us[i], reps);
			if (median_of(v, 0, reps, &l_msg[b]) ||
			    median_of(v, busy_us[i], reps, &l_overlap[b]))
				return -1;
			/* Equation 3. */
			eff[b] = 1 - (l_overlap[b] - l_busy[b]) / l_msg[b];
		}
		row = json_pack("{s:s, s:s, s:s, s:s, s:I}", "part", "sci", "busy",
				v->daxpy ? "DAXPY" : "FIXED", "memory", memory, "protocol",
				protocol, "bytes", (json_int_t)v->bytes);
		crew_figure(row, "l_busy_us", l_busy);
		crew_figure(row, "l_msg_us", l_msg);
		crew_figure(row, "l_overlap_us", l_overlap);
		crew_figure(row, "efficiency", eff);
		if (crew_row(v->c, row))
			return -1;
	}
	return 0;
}

/* Both kinds of work, two sizes; the work's vectors are as long as the message. */
static int sci_measure(struct overlap *v, const char *memory, const char *protocol)
{
	int rc = 0;

	for (v->bytes = 64 << 10; v->bytes <= 256 << 10 && v->bytes <= v->c->o->size && !rc;
	     v->bytes *= 4) {
		v->buf = mp_alloc(v->mp, v->bytes);
		rc = !v->buf || mpi3_busy_open(&v->busy, v->bytes);
		v->daxpy = false;
		rc = rc || sci_rows(v, memory, protocol);
		v->daxpy = true;
		rc = rc || sci_rows(v, memory, protocol) ? -1 : 0;
		mpi3_busy_close(&v->busy);
		mp_free(v->mp, v->buf, v->bytes);
	}
	return rc;
}

int mpi3_sci(struct crew *c, void *arg)
{
	static const struct {
		const char *memory, *protocol;
		enum bench_mem mem;
		uint32_t eager_bytes;
		enum mp_proto proto;
	} variants[] = {
	    {"weft_alloc", "get", BENCH_MEM_WEFT, MPI3_EAGER_BYTES, MP_GET},
	    {"malloc", "get", BENCH_MEM_MALLOC, MPI3_EAGER_BYTES, MP_GET},
	    {"malloc", "put", BENCH_MEM_MALLOC, MPI3_EAGER_BYTES, MP_PUT},
	    {"malloc", "copy", BENCH_MEM_MALLOC, 256 << 10, MP_GET},
	};
	struct opts o = *c->o;
	struct crew mine = *c;

	(void)arg;
	mpi3_pin(c);
	mine.o = &o;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		struct mp_config cfg = {.eager_bytes = variants[i].eager_bytes,
					.proto = variants[i].proto,
					.policy = WEFT_MR_CACHE_LAZY,
					.block = c->rank,
					.sync = true};
		struct overlap v = {.c = &mine, .seq = 1};
		struct mp mp;
		int rc;

		o.mem = variants[i].mem;
		if (mp_open(&mp, &mine, &cfg))
			return -1;
		v.mp = &mp;
		if (c->rank) {
			rc = mpi3_serve(&mp, 256 << 10);
		} else {
			rc = sci_measure(&v, variants[i].memory, variants[i].protocol) ||
				     mpi3_tell(&mp, MPI3_END, 0, 0)
				 ? -1
				 : 0;
		}
		if (rc)
			return rc;
		crew_barrier(c);
		mp_close(&mp);
	}
	return 0;
}
