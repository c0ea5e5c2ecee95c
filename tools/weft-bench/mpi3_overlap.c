/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation that a message hides: Rashti's thesis, section 3.6.1 (equation 3.4), for sends and
 * for receives apart, and the overlap benchmark of SCI-MPICH (figure 7, equation 3). Calls
 * mpi3_busy.c, mpi3_partner.c and mp_io.c. Rank 0 measures; its partner sleeps while it waits, so
 * that it takes nothing from the computing rank where processors are short.
 */
#include "lib/clock.h"
#include "lib/stats.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"

enum {
	REPS_MAX = 15, /* repetitions of one amount of computation; the median counts */
	STEPS = 20,    /* steps of a tenth of the message's time each */
	SCI_REPS = 15,
	SCI_MAX_BYTES = 256 << 10,
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
	const char *memory, *protocol; /* block of SCI-MPICH's rows */
};

static void compute(struct overlap *v, double us)
{
	if (us <= 0)
		return;
	if (v->daxpy)
		mpi3_busy_daxpy(&v->busy, us);
	else
		mpi3_busy_fixed(&v->busy, us);
}

/*
 * Time from before the call that begins the message to the end of its wait, with work between; us.
 */
static int once_send(struct overlap *v, double busy_us, double *us)
{
	struct mp_req *req;
	uint64_t start, ns;

	pattern_fill(v->buf, v->bytes, v->seq, 1);
	if (mpi3_tell(v->mp, MPI3_RECEIVE, v->bytes, v->seq))
		return -1;
	start = clock_now_ns();
	req = mp_isend(v->mp, v->buf, v->bytes);
	if (!req)
		return -1;
	compute(v, busy_us);
	if (mp_wait(v->mp, req))
		return -1;
	*us = (double)(clock_now_ns() - start) / 1e3;
	return mpi3_answer(v->mp, &ns);
}

static int once_recv(struct overlap *v, double busy_us, double *us)
{
	struct mpi3_pull pull;
	uint64_t start;

	if (mpi3_prepare(v->mp, &pull, v->bytes, v->seq))
		return -1;
	start = clock_now_ns();
	if (mpi3_pull(v->mp, &pull, v->buf))
		return -1;
	compute(v, busy_us);
	if (mpi3_pulled(v->mp, &pull))
		return -1;
	*us = (double)(clock_now_ns() - start) / 1e3;
	return mpi3_check(v->buf, v->bytes, v->seq);
}

static int median_of(struct overlap *v, double busy_us, uint32_t reps, double *us)
{
	double sample[SCI_REPS] = {0};

	for (uint32_t i = 0; i < reps; i++) {
		v->seq++;
		if (v->recv ? once_recv(v, busy_us, &sample[i]) : once_send(v, busy_us, &sample[i]))
			return -1;
	}
	*us = stats_median(sample, reps);
	return 0;
}

/*
 * Equation 3.4: computation grows by a tenth of the message's time l0 until the total time has
 * grown by a tenth. The result is the hidden computation of the last step before, in l0.
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

static int overlap_rows(struct overlap *v)
{
	const struct mp_config *cfg = &v->mp->cfg;
	double l0[CREW_BLOCKS], ratio[CREW_BLOCKS];
	uint32_t reps = v->c->o->iters < REPS_MAX ? (uint32_t)v->c->o->iters : REPS_MAX;
	json_t *row;

	for (v->bytes = 1024; v->bytes <= v->c->o->size; v->bytes *= 4) {
		/* Eager messages do not depend on the rendezvous protocol. */
		if (cfg->proto == MP_PUT && v->bytes <= cfg->eager_bytes)
			continue;
		for (int b = 0; b < CREW_BLOCKS; b++)
			if (ratio_block(v, reps, &l0[b], &ratio[b]))
				return -1;
		row = json_pack("{s:s, s:s, s:s, s:I}", "part", "overlap", "side",
				v->recv ? "recv" : "send", "protocol",
				mpi3_proto_str(cfg, v->bytes), "bytes", (json_int_t)v->bytes);
		crew_figure(row, "l0_us", l0);
		crew_figure(row, "ratio", ratio);
		if (crew_row(v->c, row))
			return -1;
	}
	return 0;
}

static int both_sides(struct mp *mp, void *arg)
{
	struct overlap *v = arg;
	size_t bytes = v->c->o->size;
	int rc;

	v->mp = mp;
	v->buf = mp_alloc(mp, bytes);
	rc = !v->buf || mpi3_busy_open(&v->busy, 0);
	v->recv = false;
	rc = rc || overlap_rows(v);
	v->recv = true;
	rc = rc || overlap_rows(v) ? -1 : 0;
	mpi3_busy_close(&v->busy);
	mp_free(mp, v->buf, v->buf ? bytes : 0);
	return rc;
}

int mpi3_overlap(struct crew *c, void *arg)
{
	struct overlap v = {.c = c, .seq = 1};

	(void)arg;
	mpi3_pin(c);
	for (int proto = MP_GET; proto <= MP_PUT; proto++) {
		struct mpi3_way way = {MPI3_EAGER_BYTES, (enum mp_proto)proto};

		if (mpi3_with_partner(c, &way, c->o->size, both_sides, &v))
			return -1;
	}
	return 0;
}

/* ---- SCI-MPICH's benchmark ---- */

static const double busy_us[] = {50, 100, 200, 500, 1000, 2000};

/* The work alone. */
static double pure_us(struct overlap *v, double us, uint32_t reps)
{
	double sample[SCI_REPS] = {0};

	for (uint32_t i = 0; i < reps; i++) {
		uint64_t start = clock_now_ns();

		compute(v, us);
		sample[i] = (double)(clock_now_ns() - start) / 1e3;
	}
	return stats_median(sample, reps);
}

static int sci_rows(struct overlap *v)
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
				v->daxpy ? "DAXPY" : "FIXED", "memory", v->memory, "protocol",
				v->protocol, "bytes", (json_int_t)v->bytes);
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
static int sci_measure(struct mp *mp, void *arg)
{
	struct overlap *v = arg;
	int rc = 0;

	v->mp = mp;
	for (v->bytes = 64 << 10; v->bytes <= SCI_MAX_BYTES && v->bytes <= v->c->o->size && !rc;
	     v->bytes *= 4) {
		v->buf = mp_alloc(mp, v->bytes);
		rc = !v->buf || mpi3_busy_open(&v->busy, v->bytes);
		v->daxpy = false;
		rc = rc || sci_rows(v);
		v->daxpy = true;
		rc = rc || sci_rows(v) ? -1 : 0;
		mpi3_busy_close(&v->busy);
		mp_free(mp, v->buf, v->bytes);
	}
	return rc;
}

int mpi3_sci(struct crew *c, void *arg)
{
	static const struct {
		const char *memory, *protocol;
		enum bench_mem mem;
		struct mpi3_way way;
	} variants[] = {
	    {"weft_alloc", "get", BENCH_MEM_WEFT, {MPI3_EAGER_BYTES, MP_GET}},
	    {"malloc", "get", BENCH_MEM_MALLOC, {MPI3_EAGER_BYTES, MP_GET}},
	    {"malloc", "put", BENCH_MEM_MALLOC, {MPI3_EAGER_BYTES, MP_PUT}},
	    {"malloc", "copy", BENCH_MEM_MALLOC, {SCI_MAX_BYTES, MP_GET}},
	};
	struct opts o = *c->o;
	struct crew mine = *c;
	struct overlap v = {.c = &mine, .seq = 1};

	(void)arg;
	mpi3_pin(c);
	mine.o = &o;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		o.mem = variants[i].mem;
		v.memory = variants[i].memory;
		v.protocol = variants[i].protocol;
		if (mpi3_with_partner(&mine, &variants[i].way, SCI_MAX_BYTES, sci_measure, &v))
			return -1;
	}
	return 0;
}
