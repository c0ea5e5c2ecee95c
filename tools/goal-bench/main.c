/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-bench: measures collectives on the NIC. Parses the command line and calls one mode in each
 * rank (ranks.c). bench.h.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/goal-bench/bench.h"
#include "tools/usage.h"

const char tool_name[] = "goal-bench";

static const char help[] =
    "Usage: goal-bench coll COLLECTIVE... [options]\n"
    "       goal-bench overlap barrier|allreduce:BYTES... [options]\n"
    "       goal-bench matmul COLLECTIVE N... [options]\n"
    "       goal-bench pingpong BYTES... [options]\n"
    "       goal-bench start [options]\n"
    "       goal-bench localop BYTES... [options]\n"
    "       goal-bench turns [options]\n"
    "\n"
    "Measures collectives that NICs carry out, and checks every result. Starts its ranks itself,\n"
    "one on each NIC of this host in turn; under mpirun or srun, or with WEFT_PEERS, it is one "
    "rank\n"
    "of theirs.\n"
    "\n"
    "Modes\n"
    "  coll      GOAL_Run() and GOAL_Wait(), mean over the ranks, median over the runs (us), and\n"
    "            the NICs' part of it\n"
    "  overlap   how much of a collective's time rank 0 can compute while the others sleep: the\n"
    "            formula of the OSU benchmarks\n"
    "  matmul    how much a collective slows a multiplication of N x N floats down at rank 0\n"
    "  pingpong  100 rounds in one schedule, by the NIC's clock; half a round (us)\n"
    "  start     GOAL_Run() alone, and with GOAL_Wait() for one operation of 8 bytes\n"
    "  localop   local operations of several types beside compiled loops\n"
    "  turns     what the CPUs alone take for a barrier of as many processes\n"
    "\n"
    "COLLECTIVE is NAME[:BYTES[:ALGORITHM]]: barrier, bcast, allreduce, gather; BYTES a multiple\n"
    "of 8 (8 if not said), of gather those of one rank; ALGORITHM as goal_coll.h names them.\n"
    "\n"
    "Options\n"
    "  --ranks N          processes to start (2; start, localop 1)\n"
    "  --nics N           share the first N NICs (all there are)\n"
    "  --seconds S        of each measurement, about (0.5)\n"
    "  --iters N          runs of each measurement instead\n"
    "  --threads N        matmul: of rank 0 (one for each CPU that the process may use)\n"
    "  --alone            matmul N...: no NIC, no collective\n"
    "  --heap             coll: buffers in the brk heap, which the NIC cannot map\n"
    "  --run-dir DIR      where the NICs' sockets are (WEFT_RUN_DIR, else /run/weft)\n"
    "  --help, --version\n"
    "\n"
    "Prints a JSON array with an object for each measurement. Exit status: 0 every result was\n"
    "right, 1 failure, 2 usage.\n";

enum {
	OPT_RANKS = 256,
	OPT_NICS,
	OPT_SECONDS,
	OPT_ITERS,
	OPT_THREADS,
	OPT_ALONE,
	OPT_HEAP,
	OPT_RUN_DIR,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"ranks", required_argument, NULL, OPT_RANKS},
    {"nics", required_argument, NULL, OPT_NICS},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"iters", required_argument, NULL, OPT_ITERS},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"alone", no_argument, NULL, OPT_ALONE},
    {"heap", no_argument, NULL, OPT_HEAP},
    {"run-dir", required_argument, NULL, OPT_RUN_DIR},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

/* Arguments of a mode. */
enum takes {
	TAKES_NOTHING,
	TAKES_SPECS,
	TAKES_SIZES,
	TAKES_SPEC_AND_SIZES,
};

static const struct mode {
	const char *name;
	int (*run)(struct bench *b);
	enum takes takes;
	int ranks;
} modes[] = {
    {"coll", coll_run, TAKES_SPECS, 2},
    {"overlap", overlap_run, TAKES_SPECS, 2},
    {"matmul", matmul_bench_run, TAKES_SPEC_AND_SIZES, 2},
    {"pingpong", pingpong_run, TAKES_SIZES, 2},
    {"start", start_run, TAKES_NOTHING, 1},
    {"localop", localop_run, TAKES_SIZES, 1},
    {"turns", turns_run, TAKES_NOTHING, 2},
};

int bench_fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "goal-bench: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}

int bench_goal_fail(const char *what)
{
	const char *detail = GOAL_LastErrorDetail();

	return bench_fail("rank %d: %s: %s%s%s", GOAL_MyRank(), what,
			  GOAL_StrError(GOAL_LastError()), detail[0] ? ": " : "", detail);
}

/* The value of an option: a whole number from 1 to most. */
static int number(const char *name, uint32_t most, int *out)
{
	uint32_t v = 0;
	int rc = take_number32(name, optarg, 1, most, &v);

	*out = (int)v;
	return rc;
}

/* -1: accepted; else an exit code. */
static int option(struct bench *b, int opt, char **argv)
{
	switch (opt) {
	case OPT_RANKS:
		return number("--ranks", BENCH_MAX_RANKS, &b->ranks);
	case OPT_NICS:
		return number("--nics", BENCH_MAX_RANKS, &b->nics);
	case OPT_SECONDS:
		return take_seconds("--seconds", optarg, 0.001, 3600, &b->seconds);
	case OPT_ITERS:
		return number("--iters", 1000000, &b->iters);
	case OPT_THREADS:
		return number("--threads", 64, &b->threads);
	case OPT_ALONE:
		b->alone = true;
		return -1;
	case OPT_HEAP:
		b->heap = true;
		return -1;
	case OPT_RUN_DIR:
		if (setenv("WEFT_RUN_DIR", optarg, 1)) {
			bench_fail("%s", strerror(errno));
			return BENCH_FAILED;
		}
		return -1;
	case 'h':
	case OPT_HELP:
		fputs(help, stdout);
		return BENCH_OK;
	case OPT_VERSION:
		puts("goal-bench " WEFT_VERSION);
		return BENCH_OK;
	default:
		return usage_option(opt, argv, longopts);
	}
}

static int sizes(struct bench *b, const char *mode, int argc, char **argv)
{
	uint64_t n;
	int i, rc;

	for (i = 0; i < argc; i++) {
		rc = take_number(mode, argv[i], 1, SPEC_MAX_BYTES, &n);
		if (rc >= 0)
			return rc;
		if (n % 8)
			return usage("%s takes multiples of 8, not '%s'", mode, argv[i]);
		b->size[b->num_sizes++] = (size_t)n;
	}
	return argc ? -1 : usage("a number is missing");
}

static int specs(struct bench *b, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		struct spec *spec = &b->spec[b->num_specs++];

		if (spec_parse(argv[i], spec) < 0)
			return usage("'%s' is no NAME[:BYTES[:ALGORITHM]] of a collective",
				     argv[i]);
		if (GOAL_AlgorithmByName(spec->alg) < 0)
			return usage("'%s': there is no algorithm '%s'", argv[i], spec->alg);
	}
	return argc ? -1 : usage("a collective is missing");
}

static int arguments(struct bench *b, const struct mode *mode, int argc, char **argv)
{
	int rc = -1;

	if (argc > SPEC_MAX)
		return usage("at most %d measurements", SPEC_MAX);
	switch (mode->takes) {
	case TAKES_NOTHING:
		return argc ? usage("what is '%s'?", argv[0]) : -1;
	case TAKES_SPECS:
		return specs(b, argc, argv);
	case TAKES_SPEC_AND_SIZES:
		if (!b->alone && argc) {
			rc = specs(b, 1, argv);
			argc--;
			argv++;
		}
		return rc >= 0 ? rc : sizes(b, mode->name, argc, argv);
	case TAKES_SIZES:
		return sizes(b, mode->name, argc, argv);
	}
	return BENCH_USAGE;
}

static int goal_bench(int argc, char **argv)
{
	struct bench b = {.seconds = 0.5};
	const struct mode *mode = NULL;
	int opt, rc;
	size_t i;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", longopts, NULL)) != -1) {
		rc = option(&b, opt, argv);
		if (rc >= 0)
			return rc;
	}
	for (i = 0; optind < argc && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[optind], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode)
		return optind < argc ? usage("there is no mode '%s'", argv[optind])
				     : usage("which mode?");
	if (b.alone && mode->run != matmul_bench_run)
		return usage("--alone is matmul's");
	if (b.heap && mode->run != coll_run)
		return usage("--heap is coll's");
	rc = arguments(&b, mode, argc - optind - 1, argv + optind + 1);
	if (rc >= 0)
		return rc;
	b.mode = mode->run;
	if (!b.ranks)
		b.ranks = mode->ranks;
	return ranks_run(&b);
}

int main(int argc, char **argv)
{
	return output_end(goal_bench(argc, argv));
}
