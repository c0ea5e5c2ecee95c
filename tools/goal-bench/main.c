/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-bench: measures collectives on the NIC. Parses the command line and calls one mode in each
 * rank (ranks.c). bench.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cli.h"
#include "tools/goal-bench/bench.h"
#include "tools/usage.h"

const char tool_name[] = "goal-bench";

static bool take_run_dir(struct cli *cli, const char *text);
static bool take_user_ops(struct cli *cli, const char *text);

#define FIELD(member) CLI_FIELD(struct bench, member)
#define NUMBER(word, unit, member, most_value, shows, text)                                        \
	{                                                                                          \
		.name = word, .value = unit, .kind = CLI_NUMBER, FIELD(member), .low = 1,          \
		.high = most_value, .shown = shows, .help = text                                   \
	}

static const struct cli_option rows[] = {
    NUMBER("ranks", "N", ranks, BENCH_MAX_RANKS, "2; start, localop, userop 1",
	   "processes to start"),
    NUMBER("nics", "N", nics, BENCH_MAX_RANKS, "all there are", "share the first N NICs"),
    {.name = "seconds",
     .value = "S",
     .kind = CLI_REAL,
     FIELD(seconds),
     .least = 0.001,
     .most = 3600,
     .initial = "0.5",
     .help = "approximate time of each measurement"},
    NUMBER("iters", "N", iters, 1000000, NULL, "runs of each measurement instead"),
    NUMBER("threads", "N", threads, 64, "one for each CPU that the process may use",
	   "matmul: of rank 0"),
    {.name = "alone",
     .kind = CLI_FLAG,
     FIELD(alone),
     .of = "matmul",
     .help = "matmul N...: no NIC, no collective"},
    {.name = "heap",
     .kind = CLI_FLAG,
     FIELD(heap),
     .of = "coll",
     .help = "coll: buffers in the brk heap, which the NIC cannot map"},
    {.name = "user-ops",
     .value = "DIR",
     .apply = take_user_ops,
     .of = "userop",
     .help = "userop: where the programs are, compiled from docs/examples/user-ops"},
    {.name = "run-dir",
     .value = "DIR",
     .apply = take_run_dir,
     .shown = "$WEFT_RUN_DIR, else /run/weft",
     .help = "where the NICs' sockets are"},
    {CLI_CONFIG, .apply = cli_config},
};

static const struct cli_command commands[] = {
    {"coll", "COLLECTIVE...",
     "GOAL_Run() and GOAL_Wait(), mean over the ranks, median over the "
     "runs (us), and the NICs' part of it"},
    {"overlap", "barrier|allreduce:BYTES...",
     "how much of a collective's time rank 0 can compute while the others sleep: the formula of "
     "the OSU benchmarks"},
    {"matmul", "COLLECTIVE N...",
     "how much a collective slows a multiplication of N x N floats down at rank 0"},
    {"pingpong", "BYTES...",
     "100 rounds in one schedule, by the NIC's clock; half a round (us), and the same from host to "
     "host, a run for each message (hosts_us)"},
    {"start", NULL, "GOAL_Run() alone, and with GOAL_Wait() for one operation of 8 bytes"},
    {"localop", "BYTES...", "local operations of several types beside compiled loops"},
    {"userop", "BYTES...", "operations of users beside built-in ones of like kind"},
    {"turns", NULL, "time of the CPUs alone for a barrier of as many processes"},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "measures collectives on the NIC",
    .usage = "goal-bench coll COLLECTIVE... [options]\n"
	     "goal-bench overlap barrier|allreduce:BYTES... [options]\n"
	     "goal-bench matmul COLLECTIVE N... [options]\n"
	     "goal-bench pingpong BYTES... [options]\n"
	     "goal-bench start [options]\n"
	     "goal-bench localop BYTES... [options]\n"
	     "goal-bench userop BYTES... --user-ops DIR [options]\n"
	     "goal-bench turns [options]",
    .about =
	"Measures collectives that NICs carry out, and checks every result. Starts its ranks\n"
	"itself, one on each NIC of this host in turn; under mpirun or srun, or with WEFT_PEERS, "
	"it\n"
	"is one rank of theirs.\n"
	"\n"
	"COLLECTIVE is NAME[:BYTES[:ALGORITHM]]: barrier, bcast, allreduce, gather; BYTES a\n"
	"multiple of 8 (8 by default), of gather those of one rank; ALGORITHM as goal_coll.h\n"
	"names them.",
    .after =
	"Prints a JSON array with an object for each measurement. Exit status: 0 every result\n"
	"was right, 1 failure, 2 usage.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
    .commands = commands,
    .num_commands = sizeof(commands) / sizeof(commands[0]),
};

static bool take_run_dir(struct cli *cli, const char *text)
{
	return !setenv("WEFT_RUN_DIR", text, 1) ||
	       cli_wrong(cli, "--run-dir %.80s: %s", text, strerror(errno));
}

static bool take_user_ops(struct cli *cli, const char *text)
{
	return userop_folder(text) || cli_wrong(cli, "--user-ops: the path is too long");
}

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
    {"userop", userop_run, TAKES_SIZES, 1},
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

static int sizes(struct bench *b, const char *mode, int argc, char **argv)
{
	uint64_t n;
	int i;

	for (i = 0; i < argc; i++) {
		if (!cli_parse_number(argv[i], &n) || !n || n > SPEC_MAX_BYTES)
			return usage("%s takes whole numbers from 1 to %llu, not '%s'", mode,
				     (unsigned long long)SPEC_MAX_BYTES, argv[i]);
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
		return argc ? usage("'%s' is not a collective", argv[0]) : -1;
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
	struct bench b = {0};
	const struct mode *mode = NULL;
	struct cli cli;
	int rc = cli_take(&cli, &program, &b, NULL, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (!cli.num_words)
		return usage("a mode is missing");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(cli.words[0], modes[i].name) == 0)
			mode = &modes[i];
	}
	if (!mode)
		return usage("there is no mode '%s'", cli.words[0]);
	if (!cli_check_command(&cli, mode->name))
		return cli_say(&cli);
	rc = arguments(&b, mode, cli.num_words - 1, cli.words + 1);
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
