/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-sim's command line, and conversion of a plan to a command line.
 *
 * Options that change the plan are kept as given. In a soak they are applied to each drawn plan,
 * and they are part of the command that repeats a run. Calls lib/cli.h.
 */
#include "sim_harness/sim_plan.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/cli.h"
#include "shared_defs/hw_limits.h"

static bool plan_option(struct cli *cli, const char *text);
static bool plan_workload(struct cli *cli, const char *text);
static bool plan_faults(struct cli *cli, const char *text);
static bool take_soak(struct cli *cli, const char *text);

/* A number and a switch of the plan; a number of the run. */
#define NUMBER(word, unit, member, least_value, most_value, otherwise, text)                       \
	{                                                                                          \
		.name = word, .value = unit, .kind = CLI_NUMBER, .apply = plan_option,             \
		CLI_FIELD(struct sim_plan, member), .low = least_value, .high = most_value,        \
		.initial = otherwise, .help = text                                                 \
	}
#define SWITCH(word, member, text)                                                                 \
	{                                                                                          \
		.name = word, .kind = CLI_FLAG, .apply = plan_option,                              \
		CLI_FIELD(struct sim_plan, member), .help = text                                   \
	}
#define COUNT(word, unit, member, least_value, most_value, otherwise, none, text)                  \
	{                                                                                          \
		.name = word, .value = unit, .kind = CLI_NUMBER,                                   \
		CLI_FIELD(struct sim_opts, member), .low = least_value, .high = most_value,        \
		.initial = otherwise, .shown = none, .help = text                                  \
	}
#define FILE_NAME(word, member, text)                                                              \
	{                                                                                          \
		.name = word, .value = "FILE", .kind = CLI_TEXT,                                   \
		CLI_FIELD(struct sim_opts, member), .help = text                                   \
	}

static const struct cli_option sim_rows[] = {
    {.name = "The run", .kind = CLI_GROUP},
    COUNT("seed", "N", seed, 0, 0, "1", NULL, "seed of everything random"),
    {.name = "random",
     .kind = CLI_FLAG,
     CLI_FIELD(struct sim_opts, random),
     .help = "draw options that are not given from the seed"},
    {.name = "workload",
     .value = "NAME",
     .apply = plan_workload,
     .initial = "rd_mix",
     .help = "activity of the processes; NAME:PARAM=VALUE,... sets parameters of a workload; see "
	     "below"},
    NUMBER("nics", "N", nics, 2, SIM_MAX_NICS, "4", "NICs"),
    NUMBER("shards", "N", shards, 1, SIM_MAX_SHARDS, "1", "firmware instances per NIC"),
    NUMBER("duration-ms", "MS", duration_ms, 1, 1000000, "10",
	   "virtual time during which work is posted"),
    NUMBER("drain-ms", "MS", drain_ms, 1, 1000000, "20000", "time limit for completion after that"),
    NUMBER("mtu", "BYTES", mtu, HW_MIN_MTU, HW_MAX_MTU, "4096", "largest IPv4 packet"),
    NUMBER("gbps", "N", gbps, 1, 400, "25", "speed of each link"),
    NUMBER("latency-ns", "NS", latency_ns, 0, 1000000000, "2000", "latency from NIC to NIC"),
    NUMBER("queue-kib", "KIB", queue_kib, 10, 1048576, "1024", "switch queue towards a NIC"),
    NUMBER("rx-frames", "N", rx_frames, 1, 65536, "1024", "receive queue of a shard"),
    NUMBER("tx-frames", "N", tx_frames, 1, 65536, "256", "transmit queue of a NIC"),
    NUMBER("poll-ns", "NS", poll_ns, 1, 1000000, "100", "cost of a turn of a core"),
    NUMBER("budget", "N", budget, 1, 1024, "32", "frames and requests per turn"),
    NUMBER("host-busy", "N", host_busy, 0, 1000, "0",
	   "per mille of accesses to unmapped memory that meet a slow page"),
    NUMBER("split", "PERCENT", split, 0, 100, "20", "share of frames delivered in pieces"),
    SWITCH("cc-off", cc_off, "reliable datagrams without congestion control"),
    SWITCH("no-bundle", no_bundle, "each message of a reliable datagram in a frame of its own"),
    SWITCH("wrap-soon", wrap_soon, "numbers that wrap start just below 2^32"),
    SWITCH("tx-room", tx_room, "the port reports its free room to the NICs"),
    SWITCH("unmapped", no_host_map, "the NICs map no process memory"),
    SWITCH("borrow", borrow, "payload from 1 KiB on stays in its sender's memory under way"),
    SWITCH(
	"no-crc", no_crc,
	"frames arrive without CRC32C and checksum, known to be right (not with corrupt, forge)"),
    {.name = "faults",
     .value = "LIST",
     .apply = plan_faults,
     .shown = "none",
     .help = "faults, separated by commas; see below"},
    FILE_NAME("trace", trace, "every event of the firmware, one per line; - is standard output"),
    FILE_NAME("pcap", pcap, "every frame with its virtual time, as pcapng"),
    {CLI_CONFIG, .apply = cli_config},
    {.name = "Soak: one run after another with seeds N, N + 1 ... (a random N), as with --random",
     .kind = CLI_GROUP},
    {.name = "soak", .apply = take_soak, .help = "run until interrupted or until a limit below"},
    COUNT("seconds", "S", seconds, 1, 10000000, NULL, "no limit", "duration of the soak"),
    COUNT("cpu-seconds", "S", cpu_seconds, 1, 10000000, NULL, "no limit",
	  "total processor time of the runs"),
    COUNT("runs", "R", runs, 1, UINT64_MAX, NULL, "no limit", "number of runs"),
    COUNT("failures", "F", failures, 1, UINT64_MAX, NULL, "no limit", "failures that end the soak"),
    COUNT("jobs", "J", jobs, 1, 256, "1", NULL, "concurrent runs"),
    COUNT("hang-seconds", "S", hang_seconds, 1, 100000, "60", NULL,
	  "processor time after which a run counts as hanging"),
    FILE_NAME("json", json, "the summary, and every failure"),
    FILE_NAME("record", record, "counts the runs of each workload since its last failure"),
};

enum {
	ROWS = sizeof(sim_rows) / sizeof(sim_rows[0]),
};

static void print_more(FILE *f)
{
	const struct sim_workload *w;
	const struct sim_param *p;
	uint32_t i;

	fprintf(f, "Workloads, with the parameters that they take and their values\n");
	for (i = 0; (w = sim_workload_at(i)); i++) {
		fprintf(f, "  %-12s %s\n", w->name, w->help);
		for (p = w->params; p && p->name; p++)
			fprintf(f, "    %-14s %s (%" PRIu64 ")\n", p->name, p->help, p->value);
	}
	fprintf(f, "\nFaults, with their default value\n%s", sim_faults_help());
}

static const struct cli_program sim_program = {
    .name = "weft-sim",
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "runs the firmware of several NICs on a virtual network in virtual time",
    .usage = "weft-sim [OPTION]...\n"
	     "weft-sim --soak [--seconds S] [--jobs J] [OPTION]...",
    .about = "Runs the firmware of several NICs in one process, on a virtual network and in\n"
	     "virtual time. The seed and the options determine everything.\n"
	     "\n"
	     "Each run of a soak is a process of its own. A crash, a hang or a failed check is\n"
	     "printed with the command that repeats it. Ctrl+C ends a soak with the summary.",
    .after = "After the duration all faults end, and all outstanding work must complete.\n"
	     "The last line of a run is a digest: the same in every run of the same command.\n"
	     "Exit status: 0 all checks passed, 1 one failed, 2 wrong usage.",
    .options = sim_rows,
    .num_options = ROWS,
    .more = print_more,
};

/* Keeps a correct option of the plan for sim_opts_plan(). */
static bool keep(struct cli *cli, const char *text)
{
	struct sim_opts *o = cli->values;

	if (o->num_given == SIM_OPTS_MAX)
		return cli_wrong(cli, "more than %d options", SIM_OPTS_MAX);
	o->given[o->num_given++] = (struct sim_opt){(int)(cli->row - sim_rows), text};
	return true;
}

static bool plan_option(struct cli *cli, const char *text)
{
	uint64_t v;

	return (cli->row->kind == CLI_FLAG || cli_number(cli, text, &v)) && keep(cli, text);
}

static bool plan_workload(struct cli *cli, const char *text)
{
	uint64_t param[SIM_PARAMS_MAX];
	char message[160];

	return sim_workload_parse(text, param, message, sizeof(message))
		   ? keep(cli, text)
		   : cli_wrong(cli, "%s", message);
}

static bool plan_faults(struct cli *cli, const char *text)
{
	struct sim *sim = sim_new(NULL, 0);
	char message[160] = "too long";
	int rc;

	assert(sim || !"out of memory, or of address space");
	rc = strlen(text) >= SIM_PLAN_FAULTS_BYTES
		 ? -EINVAL
		 : sim_faults_parse(sim, text, message, sizeof(message));
	sim_free(sim);
	return rc ? cli_wrong(cli, "--faults: %s", message) : keep(cli, text);
}

static bool take_soak(struct cli *cli, const char *text)
{
	struct sim_opts *o = cli->values;

	(void)text;
	o->soak = o->random = true;
	return true;
}

int sim_opts_parse(struct sim_opts *opts, int argc, char **argv)
{
	struct cli cli;
	int rc;

	memset(opts, 0, sizeof(*opts));
	opts->program = argv[0];
	rc = cli_take(&cli, &sim_program, opts, NULL, argc, argv);
	if (rc != CLI_RUN)
		return rc;
	opts->seed_given = cli_given(&cli, "seed");
	if (cli.num_words)
		cli_wrong(&cli, "'%.80s' is not an option", cli.words[0]);
	else if (opts->soak && (opts->trace || opts->pcap))
		cli_wrong(&cli, "--trace and --pcap are for one run, not for --soak");
	else
		return CLI_RUN;
	return cli_say(&cli);
}

static void store(struct sim_plan *plan, const struct cli_option *row, const char *value)
{
	struct cli cli = {.program = &sim_program};
	bool good = cli_store(&cli, row, plan, value);

	assert(good || !"checked when it was given");
	(void)good;
}

static void apply(struct sim_plan *plan, const struct sim_opt *given)
{
	const struct cli_option *row = &sim_rows[given->opt];
	char message[160];

	if (row->apply == plan_workload)
		plan->workload =
		    sim_workload_parse(given->value, plan->param, message, sizeof(message));
	else if (row->apply == plan_faults)
		snprintf(plan->faults, sizeof(plan->faults), "%s", given->value);
	else
		store(plan, row, given->value);
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
	for (i = 0; i < ROWS; i++)
		if (sim_rows[i].apply == plan_option && sim_rows[i].kind == CLI_NUMBER)
			store(plan, &sim_rows[i], sim_rows[i].initial);
	/* The requested workload determines which faults can be drawn. */
	for (i = 0; i < opts->num_given; i++) {
		if (sim_rows[opts->given[i].opt].apply == plan_workload)
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

static void format_row(const struct sim_plan *plan, const struct cli_option *row, char *text,
		       size_t bytes)
{
	const char *field = (const char *)plan + row->offset;
	char value[SIM_PLAN_TEXT_BYTES / 2];
	uint64_t number;

	if (row->apply == plan_workload) {
		format_workload(plan, value, sizeof(value));
		append(text, bytes, row->name, value);
	} else if (row->apply == plan_faults) {
		if (plan->faults[0])
			append(text, bytes, row->name, plan->faults);
	} else if (row->kind == CLI_NUMBER) {
		memcpy(&number, field, sizeof(number));
		snprintf(value, sizeof(value), "%" PRIu64, number);
		append(text, bytes, row->name, value);
	} else if (*(const bool *)field) {
		append(text, bytes, row->name, NULL);
	}
}

static bool is_of_plan(const struct cli_option *row)
{
	return row->apply == plan_option || row->apply == plan_workload ||
	       row->apply == plan_faults;
}

void sim_plan_format(const struct sim_plan *plan, char *text, size_t bytes)
{
	char value[32];
	uint32_t i;

	text[0] = '\0';
	snprintf(value, sizeof(value), "%" PRIu64, plan->seed);
	append(text, bytes, "seed", value);
	for (i = 0; i < ROWS; i++)
		if (is_of_plan(&sim_rows[i]))
			format_row(plan, &sim_rows[i], text, bytes);
}

void sim_opts_format(const struct sim_opts *opts, char *text, size_t bytes)
{
	uint32_t i;

	text[0] = '\0';
	for (i = 0; i < opts->num_given; i++)
		append(text, bytes, sim_rows[opts->given[i].opt].name, opts->given[i].value);
}
