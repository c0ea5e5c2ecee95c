/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goal-run's command line.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_harness/sim.h"
#include "tools/goal-run/goal_run.h"
#include "tools/usage.h"

const char tool_name[] = "goal-run";

static const char help[] =
    "Usage: goal-run [OPTION]... FILE                    on the NICs of a running weftd\n"
    "       goal-run --sim [OPTION]... FILE              the same firmware in the simulator\n"
    "       goal-run --model L,o,g,G,O,S [--json] FILE   by the rules of LogGOPS alone\n"
    "       goal-run [--sim] --coll NAME[=ALGORITHM] --ranks N [OPTION]...\n"
    "\n"
    "Carries out the GOAL schedules in FILE, one for each rank, in LogGOPSim's textual or binary\n"
    "format (docs/goal-format.md; - is standard input), or predicts how long they take. Messages\n"
    "hold made-up data, of which every byte is checked; a calc is a timer of the NIC.\n"
    "\n"
    "Options\n"
    "  --repeat N         runs that are measured, one after another (1): medians are printed\n"
    "  --warmup N         runs before them, which open the streams (1)\n"
    "  --timeout MS       after which a run ends with an error at every rank (10000; 0: never)\n"
    "  --eager BYTES      largest message that is sent unasked (131072)\n"
    "  --coll NAME[=ALGORITHM], --ranks N, --bytes N, --root R\n"
    "                     instead of FILE: barrier, bcast or allreduce (of 64-bit numbers), by "
    "the\n"
    "                     algorithm that is chosen automatically unless one is named\n"
    "  --json             one JSON object\n"
    "  --help, --version\n"
    "On NICs\n"
    "  --device A,B,...   NICs that the ranks take in turn (WEFT_DEVICE, else all)\n"
    "In the simulator\n"
    "  --link L,o,g,G,O,S latency and gap in ns, gap per byte in ns, largest eager message in\n"
    "                     bytes; o and O: time of a core for each frame and byte, - for what\n"
    "                     the firmware's own work costs (without --link: 25 Gb/s, 2 us)\n"
    "  --seed N           of all that is random (1)\n"
    "  --loss PERCENT, --faults LIST\n"
    "                     as weft-sim has them\n"
    "  --mtu BYTES        largest IP packet of a NIC (4096)\n"
    "  --ranks-per-nic N  (1)\n"
    "The model\n"
    "  --model L,o,g,G,O,S\n"
    "                     predicts: whole numbers: latency, overhead and gap per message in ns,\n"
    "                     gap and overhead per byte in ns, and the largest eager message in bytes\n"
    "\n"
    "Prints a line \"rank N T\" for each rank: the time in ns, from the common start, at which "
    "its\n"
    "NIC was finished (in the model: at which its last cpu is free); last a line \"finish_ns N\",\n"
    "the time of the rank that finishes last. If by the model the schedules come to a stop before\n"
    "their end, the last line is \"deadlock\", and the exit status 1.\n"
    "\n"
    "Exit status: 0 done, 1 failure (bad schedule, deadlock, wrong byte, time-out), 2 usage.\n";

enum {
	OPT_MODEL = 256,
	OPT_SIM,
	OPT_JSON,
	OPT_REPEAT,
	OPT_WARMUP,
	OPT_TIMEOUT,
	OPT_EAGER,
	OPT_COLL,
	OPT_RANKS,
	OPT_BYTES,
	OPT_ROOT,
	OPT_DEVICE,
	OPT_LINK,
	OPT_SEED,
	OPT_LOSS,
	OPT_FAULTS,
	OPT_MTU,
	OPT_RANKS_PER_NIC,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"model", required_argument, NULL, OPT_MODEL},
    {"sim", no_argument, NULL, OPT_SIM},
    {"json", no_argument, NULL, OPT_JSON},
    {"repeat", required_argument, NULL, OPT_REPEAT},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"eager", required_argument, NULL, OPT_EAGER},
    {"coll", required_argument, NULL, OPT_COLL},
    {"ranks", required_argument, NULL, OPT_RANKS},
    {"bytes", required_argument, NULL, OPT_BYTES},
    {"root", required_argument, NULL, OPT_ROOT},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"link", required_argument, NULL, OPT_LINK},
    {"seed", required_argument, NULL, OPT_SEED},
    {"loss", required_argument, NULL, OPT_LOSS},
    {"faults", required_argument, NULL, OPT_FAULTS},
    {"mtu", required_argument, NULL, OPT_MTU},
    {"ranks-per-nic", required_argument, NULL, OPT_RANKS_PER_NIC},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

/* Options that were given, beyond their values. */
struct given {
	bool sim_only, coll, runs;
	const char *last_sim, *last_nics, *last_coll; /* names of options */
};

static int parse_params(const char *text, struct model_params *p)
{
	uint64_t *value[] = {&p->L, &p->o, &p->g, &p->G, &p->O, &p->S};
	const char *at = text;
	char *end;

	for (int i = 0; i < 6; i++) {
		errno = 0;
		*value[i] = strtoull(at, &end, 10);
		if (*at < '0' || *at > '9' || errno || *value[i] > MODEL_MAX_PARAM ||
		    *end != (i < 5 ? ',' : '\0'))
			return usage("--model takes six whole numbers L,o,g,G,O,S of at most %llu, "
				     "not '%s'",
				     MODEL_MAX_PARAM, text);
		at = end + 1;
	}
	return -1;
}

static int decimal(const char *name, double high, double *value)
{
	char *end;

	*value = strtod(optarg, &end);
	if (*optarg < '0' || *optarg > '9' || *end || *value < 0 || *value > high)
		return usage("--%s takes a number from 0 to %g, not '%s'", name, high, optarg);
	return -1;
}

static int parse_link(const char *text, struct run_link *link)
{
	double S = 0, *value[] = {&link->L, &link->o, &link->g, &link->G, &link->O, &S};
	bool *own[] = {NULL, &link->own_o, NULL, NULL, &link->own_O, NULL};
	const char *at = text;
	char *end;

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
			return -1;
		}
	}
	return usage("--link takes six numbers L,o,g,G,O,S, of which o and O may be -, not '%s'",
		     text);
}

static int parse_coll(struct opts *o)
{
	char name[40];
	int coll, alg = GOAL_ALG_AUTO;
	char *equals;

	snprintf(name, sizeof(name), "%s", optarg);
	equals = strchr(name, '=');
	if (equals)
		*equals = '\0';
	for (coll = 0; coll < GOAL_COLLECTIVES; coll++)
		if (!strcmp(name, GOAL_CollectiveName((GOAL_Collective)coll)))
			break;
	if (coll != GOAL_COLL_BARRIER && coll != GOAL_COLL_BCAST && coll != GOAL_COLL_ALLREDUCE)
		return usage("--coll takes barrier, bcast or allreduce, not '%s'", name);
	if (equals)
		alg = GOAL_AlgorithmByName(equals + 1);
	if (alg < 0 || (alg != GOAL_ALG_AUTO &&
			!GOAL_HasAlgorithm((GOAL_Collective)coll, (GOAL_Algorithm)alg)))
		return usage("%s has no algorithm '%s'", name, equals + 1);
	o->coll = (GOAL_Collective)coll;
	o->alg = (GOAL_Algorithm)alg;
	return -1;
}

/* Options of every mode that runs schedules. -2: another option. */
static int take_run_option(struct opts *o, int opt)
{
	uint64_t ms = 0;
	int rc;

	switch (opt) {
	case OPT_REPEAT:
		return take_number32("--repeat", optarg, 1, 1000000, &o->repeat);
	case OPT_WARMUP:
		return take_number32("--warmup", optarg, 0, 1000000, &o->warmup);
	case OPT_TIMEOUT:
		rc = take_number("--timeout", optarg, 0, 1000000000, &ms);
		o->timeout_ns = ms * 1000000;
		return rc;
	case OPT_EAGER:
		return take_number("--eager", optarg, 0, HW_MAX_GOAL_EAGER_BYTES, &o->eager_bytes);
	case OPT_COLL:
		return parse_coll(o);
	case OPT_RANKS:
		return take_number32("--ranks", optarg, 1, 65536, &o->ranks);
	case OPT_BYTES:
		return take_number("--bytes", optarg, 0, UINT64_C(1) << 32, &o->bytes);
	case OPT_ROOT:
		return take_number32("--root", optarg, 0, 65535, &o->root);
	case OPT_DEVICE:
		o->devices = optarg;
		return -1;
	default:
		return -2;
	}
}

static int take_sim_option(struct opts *o, int opt)
{
	switch (opt) {
	case OPT_LINK:
		o->link_set = true;
		return parse_link(optarg, &o->link);
	case OPT_SEED:
		return take_number("--seed", optarg, 0, INT64_MAX, &o->seed);
	case OPT_LOSS:
		return decimal("loss", 90, &o->loss_percent);
	case OPT_FAULTS:
		o->faults = optarg;
		return -1;
	case OPT_MTU:
		return take_number32("--mtu", optarg, 1280, 9216, &o->mtu);
	case OPT_RANKS_PER_NIC:
		return take_number32("--ranks-per-nic", optarg, 1, 256, &o->ranks_per_nic);
	default:
		return -2;
	}
}

/* -1: accepted; else an exit code. */
static int take_option(struct opts *o, struct given *given, int opt, char **argv)
{
	int rc;

	switch (opt) {
	case OPT_MODEL:
		o->mode = RUN_MODEL;
		return parse_params(optarg, &o->model);
	case OPT_SIM:
		given->sim_only = true;
		return -1;
	case OPT_JSON:
		o->json = true;
		return -1;
	case 'h':
	case OPT_HELP:
		fputs(help, stdout);
		return RUN_OK;
	case OPT_VERSION:
		printf("goal-run %s\n", WEFT_VERSION);
		return RUN_OK;
	case ':':
	case '?':
		return usage_option(opt, argv, longopts);
	default:
		break;
	}
	given->runs = true;
	given->coll = given->coll || opt == OPT_COLL;
	if (opt == OPT_RANKS || opt == OPT_BYTES || opt == OPT_ROOT)
		given->last_coll = option_name(opt, longopts);
	if (opt == OPT_DEVICE)
		given->last_nics = option_name(opt, longopts);
	rc = take_run_option(o, opt);
	if (rc == -2) {
		given->last_sim = option_name(opt, longopts);
		rc = take_sim_option(o, opt);
	}
	return rc;
}

/* Options that exclude each other. */
static int check(struct opts *o, const struct given *given)
{
	if (o->mode == RUN_MODEL && (given->sim_only || given->runs))
		return usage("--model goes with --json alone: it runs nothing");
	if (o->mode != RUN_MODEL && given->sim_only)
		o->mode = RUN_IN_SIM;
	if (o->mode == RUN_ON_NICS && given->last_sim)
		return usage("--%s is the simulator's: add --sim", given->last_sim);
	if (o->mode == RUN_IN_SIM && given->last_nics)
		return usage("--%s is for NICs: not with --sim", given->last_nics);
	if (given->coll && !o->ranks)
		return usage("--coll: of how many? --ranks N");
	if (!given->coll && given->last_coll)
		return usage("--%s is for --coll", given->last_coll);
	if (given->coll && o->root >= o->ranks)
		return usage("--root %" PRIu32 " is no rank", o->root);
	if (given->coll && o->coll == GOAL_COLL_ALLREDUCE && o->bytes % 8)
		return usage("--bytes: allreduce adds numbers of 8 bytes");
	if (given->coll && o->coll == GOAL_COLL_BARRIER && o->bytes)
		return usage("--bytes: a barrier has none");
	if (o->link_set && !o->eager_bytes)
		o->eager_bytes = !o->link.S                            ? 1
				 : o->link.S < HW_MAX_GOAL_EAGER_BYTES ? o->link.S
								       : HW_MAX_GOAL_EAGER_BYTES;
	return -1;
}

int opts_parse(struct opts *o, int argc, char **argv)
{
	struct given given = {0};
	int opt, rc;

	*o = (struct opts){
	    .repeat = 1,
	    .warmup = 1,
	    .timeout_ns = UINT64_C(10000000000),
	    .seed = 1,
	    .mtu = 4096,
	    .ranks_per_nic = 1,
	};
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", longopts, NULL)) != -1) {
		rc = take_option(o, &given, opt, argv);
		if (rc >= 0)
			return rc;
	}
	rc = check(o, &given);
	if (rc >= 0)
		return rc;
	if (given.coll && optind < argc)
		return usage("--coll takes no file, '%s' is one too many", argv[optind]);
	if (given.coll)
		return -1;
	if (optind == argc)
		return usage("which FILE of schedules?");
	if (argc - optind > 1)
		return usage("one FILE at a time, not '%s' too", argv[optind + 1]);
	o->file = argv[optind];
	return -1;
}
