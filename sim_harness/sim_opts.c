/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-sim's command line, and conversion of a plan to a command line.
 *
 * Every number of a plan is a row of one table: option, bounds, default, help. Options that change
 * the plan are kept as given. In a soak they are applied to each drawn plan, and they are part of
 * the command that repeats a run.
 */
#include "sim_harness/sim_plan.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/hw_limits.h"

/* Options other than the numbers of a plan, which come first. */
enum {
	OPT_WORKLOAD = 100,
	OPT_FAULTS,
	OPT_CC_OFF,
	OPT_WRAP_SOON,
	OPT_NO_HOST_MAP,
	OPT_TX_ROOM,
	OPT_NOT_PLAN, /* options from here on are not part of a plan */
	OPT_SEED = OPT_NOT_PLAN,
	OPT_RANDOM,
	OPT_SOAK,
	OPT_SECONDS,
	OPT_CPU_SECONDS,
	OPT_JOBS,
	OPT_RUNS,
	OPT_FAILURES,
	OPT_HANG,
	OPT_JSON,
	OPT_RECORD,
	OPT_TRACE,
	OPT_PCAP,
	OPT_HELP,
};

static const struct number {
	const char *name;
	size_t offset;
	uint64_t low, high, otherwise;
	const char *help;
} numbers[] = {
#define NUMBER(name, field, low, high, otherwise, help)                                            \
	{                                                                                          \
		name, offsetof(struct sim_plan, field), low, high, otherwise, help                 \
	}
    NUMBER("nics", nics, 2, SIM_MAX_NICS, 4, "NICs"),
    NUMBER("shards", shards, 1, SIM_MAX_SHARDS, 1, "firmware instances of each NIC"),
    NUMBER("duration-ms", duration_ms, 1, 1000000, 10, "virtual time during which work is posted"),
    NUMBER("drain-ms", drain_ms, 1, 1000000, 20000, "all must be done so long after it"),
    NUMBER("mtu", mtu, HW_MIN_MTU, HW_MAX_MTU, 4096, "largest IPv4 packet, bytes"),
    NUMBER("gbps", gbps, 1, 400, 25, "speed of each link"),
    NUMBER("latency-ns", latency_ns, 0, 1000000000, 2000, "from NIC to NIC"),
    NUMBER("queue-kib", queue_kib, 10, 1048576, 1024, "queue of the switch towards a NIC"),
    NUMBER("rx-frames", rx_frames, 1, 65536, 1024, "receive queue of a shard"),
    NUMBER("tx-frames", tx_frames, 1, 65536, 256, "transmit queue of a NIC"),
    NUMBER("poll-ns", poll_ns, 1, 1000000, 100, "cost of a turn of a core"),
    NUMBER("budget", budget, 1, 1024, 32, "frames and requests of a turn"),
    NUMBER("host-busy", host_busy, 0, 1000, 0,
	   "per mille of accesses to unmapped memory that find a page slow"),
    NUMBER("split", split, 0, 100, 20, "per cent of frames that come in pieces"),
#undef NUMBER
};

enum {
	NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
};

static const struct option other_options[] = {
    {"workload", required_argument, NULL, OPT_WORKLOAD},
    {"faults", required_argument, NULL, OPT_FAULTS},
    {"cc-off", no_argument, NULL, OPT_CC_OFF},
    {"wrap-soon", no_argument, NULL, OPT_WRAP_SOON},
    {"unmapped", no_argument, NULL, OPT_NO_HOST_MAP},
    {"tx-room", no_argument, NULL, OPT_TX_ROOM},
    {"seed", required_argument, NULL, OPT_SEED},
    {"random", no_argument, NULL, OPT_RANDOM},
    {"soak", no_argument, NULL, OPT_SOAK},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"cpu-seconds", required_argument, NULL, OPT_CPU_SECONDS},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"runs", required_argument, NULL, OPT_RUNS},
    {"failures", required_argument, NULL, OPT_FAILURES},
    {"hang-seconds", required_argument, NULL, OPT_HANG},
    {"json", required_argument, NULL, OPT_JSON},
    {"record", required_argument, NULL, OPT_RECORD},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"pcap", required_argument, NULL, OPT_PCAP},
    {"help", no_argument, NULL, OPT_HELP},
};

enum {
	OTHERS = sizeof(other_options) / sizeof(other_options[0]),
};

static void usage_numbers(FILE *f)
{
	const struct number *n;

	for (n = numbers; n < numbers + NUMBERS; n++)
		fprintf(f, "  --%-15s %s, %" PRIu64 " to %" PRIu64 " (%" PRIu64 ")\n", n->name,
			n->help, n->low, n->high, n->otherwise);
}

void sim_opts_usage(FILE *f)
{
	const struct sim_workload *w;
	const struct sim_param *p;
	uint32_t i;

	fprintf(f, "Usage: weft-sim [OPTION]...\n"
		   "       weft-sim --soak [--seconds S] [--jobs J] [OPTION]...\n"
		   "\n"
		   "Runs the firmware of several NICs in one process, on a virtual network and in\n"
		   "virtual time. All that happens follows from the seed and the options.\n"
		   "\n"
		   "  --seed N          seed of everything random (1)\n"
		   "  --random          options that are not given are drawn from the seed\n");
	fprintf(f, "  --workload NAME   what the processes do (rd_mix):\n");
	for (i = 0; (w = sim_workload_at(i)); i++)
		fprintf(f, "                      %-10s %s\n", w->name, w->help);
	fprintf(f, "                    NAME:PARAM=VALUE,... sets what a workload can be told:\n");
	for (i = 0; (w = sim_workload_at(i)); i++) {
		for (p = w->params; p && p->name; p++)
			fprintf(f, "                      %-10s %-10s %s (%" PRIu64 ")\n", w->name,
				p->name, p->help, p->value);
	}
	fprintf(f,
		"  --faults LIST     what goes wrong, separated by commas (nothing); see below\n");
	usage_numbers(f);
	fprintf(
	    f,
	    "  --cc-off          reliable datagrams without congestion control\n"
	    "  --wrap-soon       numbers that wrap start just below 2^32\n"
	    "  --unmapped        no memory of processes is mapped by the NICs\n"
	    "  --tx-room         NICs know how many frames the port takes\n"
	    "  --trace FILE      every event of the firmware, one a line; - is standard output\n"
	    "  --pcap FILE       every frame with virtual time, pcapng\n"
	    "  --help            this text\n"
	    "\n"
	    "Soak: one run after another with seeds N, N + 1 ... (a random N), as with --random,\n"
	    "each in a process of its own. A crash, a hang or a failed check is printed with the\n"
	    "command that repeats it. Ctrl+C ends it with the summary.\n"
	    "  --seconds S       for so long (until interrupted)\n"
	    "  --cpu-seconds S   until the runs have used so much processor time (no limit)\n"
	    "  --runs R          so many runs (no limit)\n"
	    "  --failures F      until so many have failed (no limit)\n"
	    "  --jobs J          so many at a time (1)\n"
	    "  --hang-seconds H  processor time after which a run hangs (60)\n"
	    "  --json FILE       the summary, and every failure\n"
	    "  --record FILE     counts the runs of each workload since its last failure, on and "
	    "on\n"
	    "\n"
	    "Faults, with their default value:\n"
	    "%s"
	    "\n"
	    "When the duration is over all faults end, and everything under way must complete.\n"
	    "The last line of a run is a digest: the same in every run of the same command.\n"
	    "Exit status: 0 all checks held, 1 one failed, 2 wrong usage.\n",
	    sim_faults_help());
}

/* Parses a number within bounds; on failure prints a line and returns false. */
static bool number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (*text && *text != '-' && !*end && !errno && *value >= low && *value <= high)
		return true;
	fprintf(stderr,
		"weft-sim: --%s '%s': give a number from %" PRIu64 " to %" PRIu64
		" (weft-sim --help)\n",
		name, text, low, high);
	return false;
}

/* Returns true if the list of faults is valid; otherwise prints a line. */
static bool check_faults(const char *list)
{
	struct sim *sim = sim_new(NULL, 0);
	char message[160] = "too long";
	int rc;

	assert(sim || !"out of memory, or of address space");
	rc = strlen(list) >= SIM_PLAN_FAULTS_BYTES
		 ? -EINVAL
		 : sim_faults_parse(sim, list, message, sizeof(message));
	if (rc)
		fprintf(stderr, "weft-sim: --faults: %s (weft-sim --help)\n", message);
	sim_free(sim);
	return !rc;
}

/* Checks an option of the plan and keeps it for sim_opts_plan(). */
static bool plan_option(struct sim_opts *o, int opt, const char *value)
{
	uint64_t parsed, param[SIM_PARAMS_MAX];
	char message[160];

	if (opt < NUMBERS &&
	    !number(numbers[opt].name, value, numbers[opt].low, numbers[opt].high, &parsed))
		return false;
	if (opt == OPT_WORKLOAD && !sim_workload_parse(value, param, message, sizeof(message))) {
		fprintf(stderr, "weft-sim: %s (weft-sim --help)\n", message);
		return false;
	}
	if (opt == OPT_FAULTS && !check_faults(value))
		return false;
	if (o->num_given == SIM_OPTS_MAX) {
		fputs("weft-sim: too many options\n", stderr);
		return false;
	}
	o->given[o->num_given++] = (struct sim_opt){opt, value};
	return true;
}

/* Handles one option; on failure prints a line and returns false. */
static bool option(struct sim_opts *o, int opt)
{
	switch (opt) {
	case OPT_SEED:
		o->seed_given = true;
		return number("seed", optarg, 0, UINT64_MAX, &o->seed);
	case OPT_SECONDS:
		return number("seconds", optarg, 1, 10000000, &o->seconds);
	case OPT_CPU_SECONDS:
		return number("cpu-seconds", optarg, 1, 10000000, &o->cpu_seconds);
	case OPT_JOBS:
		return number("jobs", optarg, 1, 256, &o->jobs);
	case OPT_RUNS:
		return number("runs", optarg, 1, UINT64_MAX, &o->runs);
	case OPT_FAILURES:
		return number("failures", optarg, 1, UINT64_MAX, &o->failures);
	case OPT_HANG:
		return number("hang-seconds", optarg, 1, 100000, &o->hang_seconds);
	case OPT_RANDOM:
		o->random = true;
		return true;
	case OPT_SOAK:
		o->soak = o->random = true;
		return true;
	case OPT_JSON:
		o->json = optarg;
		return true;
	case OPT_RECORD:
		o->record = optarg;
		return true;
	case OPT_TRACE:
		o->trace = optarg;
		return true;
	case OPT_PCAP:
		o->pcap = optarg;
		return true;
	case OPT_HELP:
		o->help = true;
		return true;
	case '?':
		fputs("weft-sim: see weft-sim --help\n", stderr);
		return false;
	default:
		return plan_option(o, opt, optarg);
	}
}

int sim_opts_parse(struct sim_opts *opts, int argc, char **argv)
{
	struct option table[NUMBERS + OTHERS + 1] = {{NULL, 0, NULL, 0}};
	int opt, i;

	for (i = 0; i < NUMBERS; i++)
		table[i] = (struct option){numbers[i].name, required_argument, NULL, i};
	memcpy(table + NUMBERS, other_options, sizeof(other_options));
	memset(opts, 0, sizeof(*opts));
	opts->seed = 1;
	opts->jobs = 1;
	opts->hang_seconds = 60;
	opts->program = argv[0];
	while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (!option(opts, opt))
			return 2;
	}
	if (optind < argc) {
		fprintf(stderr, "weft-sim: '%s' is not an option (weft-sim --help)\n",
			argv[optind]);
		return 2;
	}
	if (opts->soak && (opts->trace || opts->pcap)) {
		fputs("weft-sim: --trace and --pcap are for one run, not for --soak\n", stderr);
		return 2;
	}
	return 0;
}

static uint64_t *field(struct sim_plan *plan, const struct number *n)
{
	return (uint64_t *)(void *)((char *)plan + n->offset);
}

static void apply(struct sim_plan *plan, const struct sim_opt *given)
{
	char message[160];

	if (given->opt < NUMBERS)
		*field(plan, &numbers[given->opt]) = strtoull(given->value, NULL, 0);
	else if (given->opt == OPT_WORKLOAD)
		plan->workload =
		    sim_workload_parse(given->value, plan->param, message, sizeof(message));
	else if (given->opt == OPT_FAULTS)
		snprintf(plan->faults, sizeof(plan->faults), "%s", given->value);
	plan->cc_off |= given->opt == OPT_CC_OFF;
	plan->wrap_soon |= given->opt == OPT_WRAP_SOON;
	plan->no_host_map |= given->opt == OPT_NO_HOST_MAP;
	plan->tx_room |= given->opt == OPT_TX_ROOM;
}

void sim_opts_plan(const struct sim_opts *opts, uint64_t seed, struct sim_plan *plan)
{
	struct sim_plan asked;
	uint32_t i;

	memset(plan, 0, sizeof(*plan));
	memset(&asked, 0, sizeof(asked));
	plan->seed = seed;
	plan->workload = sim_workload_at(0);
	sim_params_default(plan->workload, plan->param);
	for (i = 0; i < NUMBERS; i++)
		*field(plan, &numbers[i]) = numbers[i].otherwise;
	/* The requested workload determines which faults can be drawn. */
	for (i = 0; i < opts->num_given; i++) {
		if (opts->given[i].opt == OPT_WORKLOAD)
			apply(&asked, &opts->given[i]);
	}
	if (opts->random)
		sim_plan_draw(plan, seed, asked.workload);
	for (i = 0; i < opts->num_given; i++)
		apply(plan, &opts->given[i]);
	/* Requirements of a workload override options. */
	if (plan->workload->nics)
		plan->nics = plan->workload->nics(plan->param);
}

/* Appends to a text; an overflow is a bug of this file. */
static void append(char *text, size_t bytes, const char *name, const char *value)
{
	size_t at = strlen(text);
	int n = snprintf(text + at, bytes - at, " --%s%s%s", name, value ? " " : "",
			 value ? value : "");

	assert(n > 0 && (size_t)n < bytes - at);
}

/* Formats NAME:PARAM=VALUE,... */
static void format_workload(const struct sim_plan *plan, char *text, size_t bytes)
{
	const struct sim_param *p = plan->workload->params;
	size_t at = (size_t)snprintf(text, bytes, "%s", plan->workload->name);
	uint32_t i;

	for (i = 0; p && p[i].name && at < bytes; i++)
		at += (size_t)snprintf(text + at, bytes - at, "%c%s=%" PRIu64, i ? ',' : ':',
				       p[i].name, plan->param[i]);
	assert(at < bytes);
}

void sim_plan_format(const struct sim_plan *plan, char *text, size_t bytes)
{
	struct sim_plan copy = *plan;
	char value[32], workload[SIM_PLAN_TEXT_BYTES / 2];
	uint32_t i;

	text[0] = '\0';
	snprintf(value, sizeof(value), "%" PRIu64, plan->seed);
	append(text, bytes, "seed", value);
	format_workload(plan, workload, sizeof(workload));
	append(text, bytes, "workload", workload);
	for (i = 0; i < NUMBERS; i++) {
		snprintf(value, sizeof(value), "%" PRIu64, *field(&copy, &numbers[i]));
		append(text, bytes, numbers[i].name, value);
	}
	if (plan->cc_off)
		append(text, bytes, "cc-off", NULL);
	if (plan->wrap_soon)
		append(text, bytes, "wrap-soon", NULL);
	if (plan->tx_room)
		append(text, bytes, "tx-room", NULL);
	if (plan->no_host_map)
		append(text, bytes, "unmapped", NULL);
	if (plan->faults[0])
		append(text, bytes, "faults", plan->faults);
}

void sim_opts_format(const struct sim_opts *opts, char *text, size_t bytes)
{
	uint32_t i, j;

	text[0] = '\0';
	for (i = 0; i < opts->num_given; i++) {
		const struct sim_opt *given = &opts->given[i];

		if (given->opt < NUMBERS)
			append(text, bytes, numbers[given->opt].name, given->value);
		for (j = 0; j < OTHERS; j++) {
			if (other_options[j].val == given->opt)
				append(text, bytes, other_options[j].name, given->value);
		}
	}
}
