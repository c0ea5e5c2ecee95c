/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-run's command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cli.h"
#include "sim_harness/sim.h"
#include "tools/goal-run/goal_run.h"
#include "tools/usage.h"

const char tool_name[] = "goal-run";

#define SIM_GROUP "In the simulator"

static bool take_model(struct cli *cli, const char *text);
static bool take_link(struct cli *cli, const char *text);
static bool take_coll(struct cli *cli, const char *text);
static bool take_timeout(struct cli *cli, const char *text);
static bool take_sim(struct cli *cli, const char *text);

#define FIELD(member) CLI_FIELD(struct opts, member)
#define NUMBER(word, unit, member, least_value, most_value, otherwise, shows, text)                \
	{                                                                                          \
		.name = word, .value = unit, .kind = CLI_NUMBER, FIELD(member),                    \
		.low = least_value, .high = most_value, .initial = otherwise, .shown = shows,      \
		.help = text                                                                       \
	}

static const struct cli_option rows[] = {
    {.name = "Where", .kind = CLI_GROUP},
    {.name = "sim", .apply = take_sim, .help = "run in the simulator instead of on NICs"},
    {.name = "model",
     .value = "L,o,g,G,O,S",
     .apply = take_model,
     .help = "predict by the LogGOPS model; whole numbers: latency, overhead and gap per message "
	     "in ns, gap and overhead per byte in ns, and the largest eager message in bytes"},
    {.name = "json", .kind = CLI_FLAG, FIELD(json), .help = "one JSON object"},
    {CLI_CONFIG, .apply = cli_config},
    {.name = "Runs", .kind = CLI_GROUP},
    NUMBER("repeat", "N", repeat, 1, 1000000, "1", NULL,
	   "measured runs, one after another; medians are printed"),
    NUMBER("warmup", "N", warmup, 0, 1000000, "1", NULL,
	   "runs before the measured ones; they open the streams"),
    {.name = "timeout",
     .value = "MS",
     .apply = take_timeout,
     .high = 1000000000,
     .initial = "10000",
     .help = "time after which a run ends with an error at every rank; 0: never"},
    NUMBER("eager", "BYTES", eager_bytes, 0, HW_MAX_GOAL_EAGER_BYTES, NULL, "131072",
	   "largest message that is sent before the receiver requests it"),
    {.name = "trace",
     .value = "FOLDER",
     .kind = CLI_TEXT,
     FIELD(trace),
     .help = "write the trace of each rank's last run, or of one that fails, to "
	     "FOLDER/rankN.trace, for goal-dump"},
    {.name = "coll",
     .value = "NAME[=ALGORITHM]",
     .apply = take_coll,
     .help = "instead of FILE: barrier, bcast or allreduce (of 64-bit numbers), by the algorithm "
	     "that is chosen automatically unless one is named"},
    NUMBER("ranks", "N", ranks, 1, 65536, NULL, NULL, "ranks of --coll"),
    NUMBER("bytes", "N", bytes, 0, UINT64_C(1) << 32, NULL, NULL, "bytes of --coll"),
    NUMBER("root", "R", root, 0, 65535, NULL, NULL, "root of --coll"),
    {.name = "On NICs", .kind = CLI_GROUP},
    {.name = "device",
     .value = "A,B,...",
     .kind = CLI_TEXT,
     FIELD(devices),
     .shown = "$WEFT_DEVICE, else all",
     .help = "NICs that the ranks take in turn"},
    {.name = SIM_GROUP, .kind = CLI_GROUP},
    {.name = "link",
     .value = "L,o,g,G,O,S",
     .apply = take_link,
     .shown = "25 Gb/s, 2 us",
     .help = "latency and gap in ns, gap per byte in ns, largest eager message in bytes; o and O: "
	     "time of a core for each frame and byte, - for the cost of the firmware's own work"},
    NUMBER("seed", "N", seed, 0, INT64_MAX, "1", NULL, "seed of all random numbers"),
    {.name = "loss",
     .value = "PERCENT",
     .kind = CLI_REAL,
     FIELD(loss_percent),
     .most = 90,
     .help = "share of frames that are lost, as in weft-sim"},
    {.name = "faults",
     .value = "LIST",
     .kind = CLI_TEXT,
     FIELD(faults),
     .help = "faults, as in weft-sim"},
    NUMBER("mtu", "BYTES", mtu, 1280, 9216, "4096", NULL, "largest IP packet of a NIC"),
    NUMBER("ranks-per-nic", "N", ranks_per_nic, 1, 256, "1", NULL, "ranks of one NIC"),
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "carries out GOAL schedules, or predicts how long they take",
    .usage = "goal-run [OPTION]... FILE                    on the NICs of a running weftd\n"
	     "goal-run --sim [OPTION]... FILE              the same firmware in the simulator\n"
	     "goal-run --model L,o,g,G,O,S [--json] FILE   by the rules of LogGOPS alone\n"
	     "goal-run [--sim] --coll NAME[=ALGORITHM] --ranks N [OPTION]...",
    .about = "Carries out the GOAL schedules in FILE, one for each rank, in LogGOPSim's textual or "
	     "binary\n"
	     "format (docs/goal-format.md; - is standard input), or predicts how long they take. "
	     "Messages\n"
	     "hold made-up data, of which every byte is checked; a calc is a timer of the NIC.",
    .after =
	"Prints a line \"rank N T\" for each rank: the time in ns, from the common start, at "
	"which\n"
	"its NIC was finished (in the model: at which its last cpu is free); last a line\n"
	"\"finish_ns N\", the time of the rank that finishes last. If by the model the schedules\n"
	"come to a stop before their end, the last line is \"deadlock\", and the exit status 1.\n"
	"\n"
	"Exit status: 0 done, 1 failure (bad schedule, deadlock, wrong byte, time-out), 2 usage.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
};

static bool take_model(struct cli *cli, const char *text)
{
	struct opts *o = cli->values;
	struct model_params *p = &o->model;
	uint64_t *value[] = {&p->L, &p->o, &p->g, &p->G, &p->O, &p->S};
	const char *at = text;
	char *end;

	for (int i = 0; i < 6; i++) {
		errno = 0;
		*value[i] = strtoull(at, &end, 10);
		if (*at < '0' || *at > '9' || errno || *value[i] > MODEL_MAX_PARAM ||
		    *end != (i < 5 ? ',' : '\0'))
			return cli_wrong(
			    cli,
			    "--model takes six whole numbers L,o,g,G,O,S of at most %llu, "
			    "not '%.80s'",
			    MODEL_MAX_PARAM, text);
		at = end + 1;
	}
	o->mode = RUN_MODEL;
	return true;
}

static bool take_link(struct cli *cli, const char *text)
{
	struct opts *o = cli->values;
	struct run_link *link = &o->link;
	double S = 0, *value[] = {&link->L, &link->o, &link->g, &link->G, &link->O, &S};
	bool *own[] = {NULL, &link->own_o, NULL, NULL, &link->own_O, NULL};
	const char *at = text;
	char *end;

	o->link_set = true;
	for (int i = 0; i < 6; i++) {
		if (own[i] && *at == '-') {
			*own[i] = true;
			end = (char *)(uintptr_t)at + 1;
		} else {
			*value[i] = strtod(at, &end);
			if (*at < '0' || *at > '9' || !(*value[i] <= 4e9))
				break;
		}
		if (*end != (i < 5 ? ',' : '\0'))
			break;
		at = end + 1;
		if (i == 5) {
			link->S = (uint64_t)S;
			return true;
		}
	}
	return cli_wrong(
	    cli, "--link takes six numbers L,o,g,G,O,S, of which o and O may be -, not '%.80s'",
	    text);
}

static bool take_coll(struct cli *cli, const char *text)
{
	struct opts *o = cli->values;
	char name[40];
	int coll, alg = GOAL_ALG_AUTO;
	char *equals;

	snprintf(name, sizeof(name), "%s", text);
	equals = strchr(name, '=');
	if (equals)
		*equals = '\0';
	for (coll = 0; coll < GOAL_COLLECTIVES; coll++)
		if (!strcmp(name, GOAL_CollectiveName((GOAL_Collective)coll)))
			break;
	if (coll != GOAL_COLL_BARRIER && coll != GOAL_COLL_BCAST && coll != GOAL_COLL_ALLREDUCE)
		return cli_wrong(cli, "--coll takes barrier, bcast or allreduce, not '%s'", name);
	if (equals)
		alg = GOAL_AlgorithmByName(equals + 1);
	if (alg < 0 || (alg != GOAL_ALG_AUTO &&
			!GOAL_HasAlgorithm((GOAL_Collective)coll, (GOAL_Algorithm)alg)))
		return cli_wrong(cli, "%s has no algorithm '%s'", name, equals + 1);
	o->coll = (GOAL_Collective)coll;
	o->alg = (GOAL_Algorithm)alg;
	return true;
}

static bool take_timeout(struct cli *cli, const char *text)
{
	struct opts *o = cli->values;
	uint64_t ms;

	if (!cli_number(cli, text, &ms))
		return false;
	o->timeout_ns = ms * 1000000;
	return true;
}

static bool take_sim(struct cli *cli, const char *text)
{
	struct opts *o = cli->values;

	(void)text;
	if (o->mode != RUN_MODEL)
		o->mode = RUN_IN_SIM;
	return true;
}

/* The option that was given last of a group of rows; NULL: none was. */
static const char *given_of(const struct cli *cli, const char *group)
{
	const char *in = NULL, *name = NULL;

	for (uint32_t i = 0; i < program.num_options; i++) {
		if (rows[i].kind == CLI_GROUP)
			in = rows[i].name;
		else if (cli->given[i] && in && !strcmp(in, group))
			name = rows[i].name;
	}
	return name;
}

static bool runs(const struct cli *cli)
{
	return given_of(cli, "Runs") || given_of(cli, "On NICs") || given_of(cli, SIM_GROUP);
}

/* Options that exclude each other. */
static int check(struct opts *o, const struct cli *cli)
{
	const char *sim = given_of(cli, SIM_GROUP);
	bool coll = cli_given(cli, "coll");

	if (o->mode == RUN_MODEL && (cli_given(cli, "sim") || runs(cli)))
		return usage("--model goes with --json alone: it runs nothing");
	if (o->mode == RUN_ON_NICS && sim)
		return usage("--%s is the simulator's: add --sim", sim);
	if (o->mode == RUN_IN_SIM && o->devices)
		return usage("--device is for NICs: not with --sim");
	if (coll && !o->ranks)
		return usage("--coll: of how many? --ranks N");
	if (!coll && (cli_given(cli, "ranks") || cli_given(cli, "bytes") || cli_given(cli, "root")))
		return usage("--ranks, --bytes and --root are for --coll");
	if (coll && o->root >= o->ranks)
		return usage("--root %" PRIu32 " is no rank", o->root);
	if (coll && o->coll == GOAL_COLL_ALLREDUCE && o->bytes % 8)
		return usage("--bytes: allreduce adds numbers of 8 bytes");
	if (coll && o->coll == GOAL_COLL_BARRIER && o->bytes)
		return usage("--bytes: a barrier has none");
	if (o->link_set && !o->eager_bytes)
		o->eager_bytes = !o->link.S                            ? 1
				 : o->link.S < HW_MAX_GOAL_EAGER_BYTES ? o->link.S
								       : HW_MAX_GOAL_EAGER_BYTES;
	return -1;
}

int opts_parse(struct opts *o, int argc, char **argv)
{
	struct cli cli;
	int rc;

	*o = (struct opts){.timeout_ns = UINT64_C(10000000000)};
	rc = cli_take(&cli, &program, o, NULL, argc, argv);
	if (rc == CLI_RUN)
		rc = check(o, &cli);
	if (rc != CLI_RUN)
		return rc;
	if (cli_given(&cli, "coll"))
		return cli.num_words
			   ? usage("--coll takes no file, '%s' is one too many", cli.words[0])
			   : CLI_RUN;
	if (!cli.num_words)
		return usage("no FILE of schedules is given");
	if (cli.num_words > 1)
		return usage("one FILE at a time, not '%s' too", cli.words[1]);
	o->file = cli.words[0];
	return CLI_RUN;
}
