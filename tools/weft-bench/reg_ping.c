/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Table 2 of SCI-MPICH: ping-pong bandwidth of 1, 10 and 100 repetitions with new buffers, of
 * weft_alloc() ("regular" segments there) or of malloc() ("user"), with the registration cache on
 * and off. Calls mp.c, whose messages go by rendezvous and RDMA Read, without a copy.
 *
 * A figure is the data that one end sent and received in all of a run's repetitions, over their
 * total time, so that with few repetitions the first registration of a buffer counts. Runs are
 * repeated with new buffers until they are long enough to measure. Every byte of each run's last
 * message is checked, at both ends.
 */
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/mp.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/reg.h"

enum {
	PING_EAGER_BYTES = 1024, /* all measured messages go by rendezvous */
	PING_RUNS_MIN = 1,       /* for one block */
	PING_MESSAGES = 10,      /* ns of a block, at least */
};

struct cell {
	uint32_t reps;
	size_t bytes;
	bool cached;
	bool regular;
};

/* One run with new buffers: repetitions back and forth. Seconds, or -1. */
static double ping_run(struct crew *c, struct mp *mp, const struct cell *cell, uint64_t seq)
{
	uint8_t *to = mp_alloc(mp, cell->bytes), *from = mp_alloc(mp, cell->bytes);
	uint64_t start;
	double s = -1;
	int rc = !to || !from;

	if (!rc)
		pattern_fill(to, cell->bytes, seq + (uint64_t)c->rank, 1);
	crew_barrier(c);
	start = clock_now_ns();
	for (uint32_t i = 0; i < cell->reps && !rc; i++) {
		if (c->rank == 0)
			rc = mp_send(mp, to, cell->bytes) || mp_recv(mp, from, cell->bytes);
		else
			rc = mp_recv(mp, from, cell->bytes) || mp_send(mp, to, cell->bytes);
	}
	s = (double)(clock_now_ns() - start) / 1e9;
	if (!rc && pattern_check(from, cell->bytes, seq + !c->rank, 1) != cell->bytes)
		rc = fail("%zu bytes did not come as they were sent", cell->bytes);
	mp_free(mp, to, cell->bytes);
	mp_free(mp, from, cell->bytes);
	return rc ? -1 : s;
}

static int ping_cell(struct crew *c, struct mp *mp, const struct cell *cell)
{
	uint32_t runs = (PING_MESSAGES + cell->reps - 1) / cell->reps, i;
	double mib_s[CREW_BLOCKS], s, sum;
	uint64_t seq = 0;
	json_t *row;

	runs = runs < PING_RUNS_MIN ? PING_RUNS_MIN : runs;
	/* Warms up queues and caches of both ends, but not the buffers. */
	if (ping_run(c, mp, cell, seq) < 0)
		return -1;
	for (int block = 0; block < CREW_BLOCKS; block++) {
		for (sum = 0, i = 0; i < runs; i++) {
			s = ping_run(c, mp, cell, seq += 2);
			if (s < 0)
				return -1;
			sum += s;
		}
		mib_s[block] = 2.0 * runs * cell->reps * (double)cell->bytes / (1 << 20) / sum;
	}
	if (c->rank)
		return 0;
	row = json_pack("{s:s, s:i, s:s, s:s, s:I}", "part", "table2", "reps", (int)cell->reps,
			"cache", cell->cached ? "yes" : "no", "memory",
			cell->regular ? "weft_alloc" : "malloc", "bytes", (json_int_t)cell->bytes);
	crew_figure(row, "mib_s", mib_s);
	return crew_row(c, row);
}

int reg_ping(struct crew *c, void *arg)
{
	static const uint32_t reps[] = {1, 10, 100};
	static const size_t sizes[] = {128 << 10, 512 << 10, 2 << 20};
	struct opts o = *c->o;
	struct crew mine = *c;

	(void)arg;
	mine.o = &o;
	for (int kind = 0; kind < 4; kind++) {
		struct cell cell = {.cached = kind / 2, .regular = !(kind % 2)};
		struct mp_config cfg = {.eager_bytes = PING_EAGER_BYTES,
					.proto = MP_GET,
					.policy =
					    cell.cached ? WEFT_MR_CACHE_LAZY : WEFT_MR_CACHE_OFF};
		struct mp mp;

		o.mem = cell.regular ? BENCH_MEM_WEFT : BENCH_MEM_MALLOC;
		if (mp_open(&mp, &mine, &cfg))
			return -1;
		for (int r = 0; r < 3; r++)
			for (int s = 0; s < 3; s++) {
				cell.reps = reps[r];
				cell.bytes = sizes[s];
				if (cell.bytes <= c->o->size && cell.reps <= c->o->iters &&
				    ping_cell(&mine, &mp, &cell))
					return -1;
			}
		crew_barrier(c);
		mp_close(&mp);
	}
	return 0;
}
