/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench: measures weft NICs and checks every byte on the way. Calls opts.c, then one mode
 * (bench.h).
 */
#include "tools/usage.h"
#include "tools/weft-bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tools/weft-bench/pair.h"
#include "tools/weft-bench/pattern.h"

/* A server gets its task only after it has met its client. */
static int run_measurement(struct opts *o)
{
	struct pair p;
	int rc = BENCH_FAILED;

	if (!pair_open(&p, o)) {
		if (o->op >= BENCH_READ)
			rc = pull_run(&p);
		else
			rc = o->mode == BENCH_LAT ? lat_run(&p) : bw_run(&p);
	}
	pair_close(&p);
	return rc;
}

static int run_mode(struct opts *o)
{
	switch (o->mode) {
	case BENCH_LAT:
	case BENCH_BW:
	case BENCH_RATE:
		return run_measurement(o);
	case BENCH_FILE:
		return file_run(o);
	case BENCH_COUNTER:
		return counter_run(o);
	case BENCH_MEM:
		return mem_run(o);
	case BENCH_CREATE:
		return create_run(o);
	case BENCH_STAGES:
		return stages_run(o);
	case BENCH_LADDER:
		return ladder_run(o);
	case BENCH_REG:
		return reg_run(o);
	case BENCH_SRQ:
		return srq_run(o);
	case BENCH_MPI3:
		return mpi3_run(o);
	case BENCH_TAG:
		return tag_run(o);
	case BENCH_GROW:
		return grow_run(o);
	case BENCH_MODES:
		break;
	}
	return BENCH_FAILED;
}

int main(int argc, char **argv)
{
	struct opts o;
	int rc = opts_parse(&o, argc, argv);

	if (rc < 0 && o.run_dir && setenv("WEFT_RUN_DIR", o.run_dir, 1)) {
		fail("--run-dir: %s", strerror(errno));
		return BENCH_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	pattern_use_stamps(o.stamps);
	if (rc < 0)
		rc = run_mode(&o);
	return output_end(rc);
}
