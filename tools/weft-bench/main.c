/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench: measures weft NICs and checks every byte on the way. Started by users, by
 * tools/run, tools/bench and tests/int. Calls opts.c, then one mode (bench.h).
 */
#include "tools/weft-bench/bench.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/weft-bench/pair.h"

static const char *const mode_names[BENCH_MODES] = {
    [BENCH_LAT] = "lat",   [BENCH_BW] = "bw",           [BENCH_RATE] = "rate",
    [BENCH_FILE] = "file", [BENCH_COUNTER] = "counter", [BENCH_MEM] = "mem",
};

static const char *const op_names[BENCH_OPS] = {
    [BENCH_SEND] = "send",     [BENCH_WRITE] = "write", [BENCH_READ] = "read",
    [BENCH_ATOMIC] = "atomic", [BENCH_CAS] = "cas",
};

static int find(const char *const *names, int count, const char *name)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

const char *bench_mode_str(enum bench_mode mode)
{
	return mode_names[mode];
}

const char *bench_op_str(enum bench_op op)
{
	return op_names[op];
}

const char *bench_qp_str(enum weft_qp_type qp)
{
	return qp == WEFT_QPT_UD ? "ud" : "rd";
}

int bench_mode_parse(const char *name)
{
	return find(mode_names, BENCH_MODES, name);
}

int bench_op_parse(const char *name)
{
	return find(op_names, BENCH_OPS, name);
}

int bench_qp_parse(const char *name)
{
	if (!strcmp(name, "ud"))
		return WEFT_QPT_UD;
	return strcmp(name, "rd") ? -1 : WEFT_QPT_RD;
}

int fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "weft-bench: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A server knows only after it has met its client what is asked of it. */
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

int main(int argc, char **argv)
{
	struct opts o;
	int rc = opts_parse(&o, argc, argv);

	if (rc >= 0)
		return rc;
	if (o.run_dir && setenv("WEFT_RUN_DIR", o.run_dir, 1))
		return BENCH_FAILED;
	signal(SIGPIPE, SIG_IGN);
	switch (o.mode) {
	case BENCH_LAT:
	case BENCH_BW:
	case BENCH_RATE:
		return run_measurement(&o);
	case BENCH_FILE:
		return file_run(&o);
	case BENCH_COUNTER:
		return counter_run(&o);
	case BENCH_MEM:
		return mem_run(&o);
	case BENCH_MODES:
		break;
	}
	return BENCH_FAILED;
}
