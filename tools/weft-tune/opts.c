/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune's command line; see opts.h. What makes no sense is refused here, before anything is
 * opened.
 */
#include "tools/usage.h"
#include "tools/weft-tune/opts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char tool_name[] = "weft-tune";

static const char help[] =
    "Usage: weft-tune --device NIC | --netdev IFACE | --sim [OPTION]...\n"
    "       weft-tune --resume DIR\n"
    "       weft-tune report DIR\n"
    "       weft-tune apply DIR|FILE --device NIC | --netdev IFACE [--objective O] [--dry-run]\n"
    "       weft-tune serve [--port P] [--bind ADDRESS] [IFACE]\n"
    "\n"
    "Finds the interrupt moderation (rx-usecs, rx-frames, tx-usecs, tx-frames and their -irq\n"
    "forms) that suits an objective best, by measuring. The initial settings are put back\n"
    "at the end, after errors and signals too; apply sets the best ones.\n"
    "\n"
    "Where\n"
    "  --device NIC         a NIC of weftd; --peer NIC: the other end, of the same weftd\n"
    "                       (the next one)\n"
    "  --netdev IFACE       an interface of Linux with ethtool -c, to a host on which\n"
    "                       weft-tune serve runs: --peer ADDRESS[:PORT]; as root\n"
    "  --sim[=PROFILE]      simulated NICs and hosts: weft, or espgoal (the paper's kind)\n"
    "What\n"
    "  --objective O        latency, bandwidth, overlap, cpu, or pareto: latency, interrupts a\n"
    "                       second and bandwidth at once (latency)\n"
    "  --also LIST          what a search measures besides, as lat_us,bw_1m,bw_10m: for the "
    "pictures\n"
    "                       and models of random settings\n"
    "  --params LIST        only these, as rx-usecs,rx-frames; the others stay (all)\n"
    "How\n"
    "  --method M           random: settings drawn evenly; linear: the optimum of a least-squares\n"
    "                       model of them; hill: climbing with restarts; genetic: 50 generations;\n"
    "                       halving: short measurements of many, longer ones of the better\n"
    "                       halves; grid: all combinations of --grid (halving)\n"
    "  --budget N           measurements in all (250; genetic 2640; grid what it takes; --paper:\n"
    "                       of each genetic search, 25590)\n"
    "  --start S            hill: where the first climb begins: initial, off, random, or values\n"
    "                       as rx-usecs=5,rx-frames=16 (initial)\n"
    "  --grid LIST          values of each parameter, as 0,1,10,100\n"
    "  --repeats N          measurements of each setting of a search (1)\n"
    "  --seed S             of all that is random (1)\n"
    "  --paper              the whole study of espgoal 6.2: random settings with linear models,\n"
    "                       hill climbing, genetic, halving with a tenth of its measurements,\n"
    "                       and both optima side by side\n"
    "  --samples N          paper: random settings, and runs of both optima (250)\n"
    "Results\n"
    "  --out DIR            new folder for them (weft-tune-OBJECTIVE-METHOD)\n"
    "  --resume DIR         goes on with a run that was stopped\n"
    "  --json               the result on standard output as JSON\n"
    "  --quiet              nothing but errors\n"
    "  --dry-run            apply: say what would be set\n"
    "  --help, --version\n"
    "\n"
    "In DIR: measurements.csv and .json (every measurement), result.json, report.md and\n"
    "report.html with pictures (gnuplot).\n"
    "\n"
    "Exit status: 0 done, 1 failure or stopped, 2 usage.\n";

enum {
	OPT_SIM = 256,
	OPT_DEVICE,
	OPT_NETDEV,
	OPT_PEER,
	OPT_OBJECTIVE,
	OPT_METHOD,
	OPT_BUDGET,
	OPT_SEED,
	OPT_REPEATS,
	OPT_SAMPLES,
	OPT_PARAMS,
	OPT_ALSO,
	OPT_GRID,
	OPT_START,
	OPT_PAPER,
	OPT_OUT,
	OPT_RESUME,
	OPT_JSON,
	OPT_QUIET,
	OPT_DRY_RUN,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longopts[] = {
    {"sim", optional_argument, NULL, OPT_SIM},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"netdev", required_argument, NULL, OPT_NETDEV},
    {"peer", required_argument, NULL, OPT_PEER},
    {"objective", required_argument, NULL, OPT_OBJECTIVE},
    {"method", required_argument, NULL, OPT_METHOD},
    {"budget", required_argument, NULL, OPT_BUDGET},
    {"seed", required_argument, NULL, OPT_SEED},
    {"repeats", required_argument, NULL, OPT_REPEATS},
    {"samples", required_argument, NULL, OPT_SAMPLES},
    {"params", required_argument, NULL, OPT_PARAMS},
    {"also", required_argument, NULL, OPT_ALSO},
    {"grid", required_argument, NULL, OPT_GRID},
    {"start", required_argument, NULL, OPT_START},
    {"paper", no_argument, NULL, OPT_PAPER},
    {"out", required_argument, NULL, OPT_OUT},
    {"resume", required_argument, NULL, OPT_RESUME},
    {"json", no_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

/* What was given, beyond values. */
struct given {
	const char *target, *name, *peer, *out; /* target: the option */
	const char *search;                     /* last option that is for a new run alone */
	bool method, samples, start, dry_run;
};

static int parse_params(struct tune_plan *plan)
{
	plan->space.params = 0;
	for (const char *at = optarg;;) {
		size_t chars = strcspn(at, ",");
		int param = tune_param_by_word(at, chars);

		if (param < 0)
			return usage("there is no parameter '%.*s': --params takes rx-usecs, "
				     "rx-frames, tx-usecs, tx-frames and the same with -irq, "
				     "separated by commas",
				     (int)chars, at);
		plan->space.params |= UINT32_C(1) << param;
		if (!at[chars])
			return -1;
		at += chars + 1;
	}
}

static int parse_also(struct tune_plan *plan)
{
	plan->also = 0;
	for (const char *at = optarg;;) {
		size_t chars = strcspn(at, ",");
		char name[32];
		int metric;

		snprintf(name, sizeof(name), "%.*s", (int)chars, at);
		metric = tune_metric_by_name(name);
		if (metric < 0)
			return usage("there is no metric '%.*s': --also takes names as in "
				     "measurements.csv (lat_us, bw_1m, bw_10m, ...), separated by "
				     "commas",
				     (int)chars, at);
		plan->also |= UINT32_C(1) << metric;
		if (!at[chars])
			return -1;
		at += chars + 1;
	}
}

static int parse_grid(struct tune_plan *plan)
{
	char *end;

	plan->num_grid = 0;
	for (const char *at = optarg;; at = end + 1) {
		unsigned long value;

		errno = 0;
		value = strtoul(at, &end, 10);
		if (*at < '0' || *at > '9' || errno || value > 1023 || (*end && *end != ','))
			return usage("--grid takes whole numbers from 0 to 1023, separated by "
				     "commas, not '%s'",
				     optarg);
		if (plan->num_grid == TUNE_MAX_GRID)
			return usage("--grid takes at most %d values", TUNE_MAX_GRID);
		plan->grid[plan->num_grid++] = (uint32_t)value;
		if (!*end)
			return -1;
	}
}

static int parse_start(struct tune_plan *plan)
{
	if (tune_start_parse(optarg, &plan->start))
		return -1;
	return usage("--start takes initial, off, random, or values as rx-usecs=5,rx-frames=16, "
		     "not '%s'",
		     optarg);
}

static int parse_objective(struct tune_opts *o)
{
	o->objective = tune_objective_by_name(optarg);
	if (o->objective < 0)
		return usage(
		    "--objective takes latency, bandwidth, overlap, cpu or pareto, not '%s'",
		    optarg);
	o->plan.objective = (enum tune_objective)o->objective;
	return -1;
}

static int parse_method(struct tune_opts *o)
{
	int method = tune_method_by_name(optarg);

	if (method < 0)
		return usage("--method takes random, linear, hill, genetic, halving or grid, not "
			     "'%s'",
			     optarg);
	o->plan.method = (enum tune_method)method;
	return -1;
}

static int take_target(struct given *given, const char *target)
{
	if (given->target)
		return usage("one of --device, --netdev and --sim, not --%s and --%s",
			     given->target, target);
	given->target = target;
	given->name = optarg;
	return -1;
}

/* Options of a new run alone. -2: another one. */
static int take_search(struct tune_opts *o, struct given *given, int opt)
{
	switch (opt) {
	case OPT_METHOD:
		given->method = true;
		return parse_method(o);
	case OPT_BUDGET:
		return take_number("--budget", optarg, 1, 100000000, &o->plan.budget);
	case OPT_SEED:
		return take_number("--seed", optarg, 0, UINT64_MAX, &o->plan.seed);
	case OPT_REPEATS:
		return take_number32("--repeats", optarg, 1, 64, &o->plan.repeats);
	case OPT_SAMPLES:
		given->samples = true;
		return take_number32("--samples", optarg, 2, 100000, &o->plan.samples);
	case OPT_PARAMS:
		return parse_params(&o->plan);
	case OPT_ALSO:
		return parse_also(&o->plan);
	case OPT_GRID:
		return parse_grid(&o->plan);
	case OPT_START:
		given->start = true;
		return parse_start(&o->plan);
	case OPT_PAPER:
		o->plan.paper = true;
		return -1;
	case OPT_OUT:
		given->out = optarg;
		return -1;
	default:
		return -2;
	}
}

/* -1: taken; else an exit code. */
static int take_option(struct tune_opts *o, struct given *given, int opt, char **argv)
{
	int rc;

	switch (opt) {
	case OPT_SIM:
		return take_target(given, "sim");
	case OPT_DEVICE:
		return take_target(given, "device");
	case OPT_NETDEV:
		return take_target(given, "netdev");
	case OPT_PEER:
		given->peer = optarg;
		return -1;
	case OPT_OBJECTIVE:
		return parse_objective(o);
	case OPT_RESUME:
		o->command = TUNE_RESUME;
		o->path = optarg;
		return -1;
	case OPT_JSON:
		o->json = true;
		return -1;
	case OPT_QUIET:
		o->quiet = true;
		return -1;
	case OPT_DRY_RUN:
		o->dry_run = true;
		return -1;
	case 'h':
	case OPT_HELP:
		fputs(help, stdout);
		return EXIT_DONE;
	case OPT_VERSION:
		printf("weft-tune %s\n", WEFT_VERSION);
		return EXIT_DONE;
	case ':':
	case '?':
		return usage_option(opt, argv, longopts);
	default:
		break;
	}
	rc = take_search(o, given, opt);
	if (rc == -1)
		given->search = option_name(opt, longopts);
	return rc;
}

/* The words that are no options: nothing, report DIR, apply PATH. */
static int take_words(struct tune_opts *o, int num, char **words)
{
	if (!num)
		return -1;
	if (o->command == TUNE_RESUME)
		return usage("--resume takes one DIR, '%s' is one too many", words[0]);
	if (!strcmp(words[0], "report"))
		o->command = TUNE_REPORT;
	else if (!strcmp(words[0], "apply"))
		o->command = TUNE_APPLY;
	else
		return usage("there is no command '%s': report, apply, serve, or none to search",
			     words[0]);
	if (num < 2)
		return usage("%s: of which run? give its DIR", words[0]);
	if (num > 2)
		return usage("%s takes one DIR, '%s' is one too many", words[0], words[2]);
	o->path = words[1];
	return -1;
}

static int set_target(struct tune_opts *o, const struct given *given)
{
	const char *name = given->name ? given->name : "";
	int chars;

	if (!given->target)
		return usage("where? --device NIC, --netdev IFACE or --sim");
	if (given->peer && !strcmp(given->target, "sim"))
		return usage("--peer is for --device and --netdev: a simulated NIC has its own");
	if (!*name && strcmp(given->target, "sim"))
		return usage("--%s: which one?", given->target);
	snprintf(o->plan.target, sizeof(o->plan.target), "%s", given->target);
	chars = snprintf(o->plan.name, sizeof(o->plan.name), "%s%s%s", name, given->peer ? "@" : "",
			 given->peer ? given->peer : "");
	if (chars >= (int)sizeof(o->plan.name))
		return usage("--%s, --peer: the names are too long", given->target);
	return -1;
}

/* Options of a search that do not go together. */
static int check_search(struct tune_opts *o, const struct given *given)
{
	const struct tune_plan *plan = &o->plan;

	if (plan->paper && (given->method || o->objective >= 0))
		return usage("--paper has its own methods and objectives: without --method and "
			     "--objective");
	if (plan->paper && plan->num_grid)
		return usage("--grid is for --method grid");
	if (given->start && !plan->paper && plan->method != TUNE_HILL)
		return usage("--start is for --method hill: %s does not begin at a setting",
			     tune_method_name(plan->method));
	if (!plan->paper && given->samples)
		return usage("--samples is for --paper; --budget says how much else is measured");
	if (plan->method == TUNE_GRID && !plan->num_grid)
		return usage("--method grid: of which values? --grid 0,1,10,100");
	if (plan->method != TUNE_GRID && plan->num_grid)
		return usage("--grid is for --method grid");
	if (plan->objective == TUNE_PARETO && plan->method != TUNE_RANDOM &&
	    plan->method != TUNE_GENETIC && plan->method != TUNE_HALVING &&
	    plan->method != TUNE_GRID)
		return usage("--objective pareto goes with --method random, genetic, halving or "
			     "grid: %s climbs towards one figure alone",
			     tune_method_name(plan->method));
	return -1;
}

static int check(struct tune_opts *o, const struct given *given)
{
	int rc;

	if (o->dry_run && o->command != TUNE_APPLY)
		return usage("--dry-run is for apply");
	if (o->command != TUNE_RUN && given->search)
		return usage("--%s is for a new run: a record has all that by itself",
			     given->search);
	if (o->command == TUNE_RESUME || o->command == TUNE_REPORT) {
		if (given->target || given->peer || o->objective >= 0)
			return usage("a record knows where it was measured, and for what: without "
				     "--%s",
				     given->target ? given->target
				     : given->peer ? "peer"
						   : "objective");
		return -1;
	}
	rc = set_target(o, given);
	if (rc >= 0)
		return rc;
	if (o->command == TUNE_APPLY)
		return strcmp(given->target, "sim") ? -1
						    : usage("apply: to what? --device NIC or "
							    "--netdev IFACE");
	rc = check_search(o, given);
	if (rc >= 0)
		return rc;
	if (given->out && strlen(given->out) >= sizeof(o->out))
		return usage("--out: the name is too long");
	if (given->out)
		snprintf(o->out, sizeof(o->out), "%s", given->out);
	else if (o->plan.paper)
		snprintf(o->out, sizeof(o->out), "weft-tune-paper");
	else
		snprintf(o->out, sizeof(o->out), "weft-tune-%s-%s",
			 tune_objective_name(o->plan.objective), tune_method_name(o->plan.method));
	return -1;
}

int opts_parse(struct tune_opts *o, int argc, char **argv)
{
	struct given given = {0};
	int opt, rc;

	*o = (struct tune_opts){
	    .objective = -1,
	    .plan = {.method = TUNE_HALVING, .seed = 1, .repeats = 1, .samples = 250},
	};
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", longopts, NULL)) != -1) {
		rc = take_option(o, &given, opt, argv);
		if (rc >= 0)
			return rc;
	}
	rc = take_words(o, argc - optind, argv + optind);
	return rc >= 0 ? rc : check(o, &given);
}

void opts_command(const struct tune_plan *plan, char *text, size_t chars)
{
	const char *peer = strchr(plan->name, '@');
	char start[TUNE_START_CHARS];
	size_t at;

	at =
	    (size_t)snprintf(text, chars, "weft-tune --%s%s%.*s", plan->target,
			     *plan->name ? strcmp(plan->target, "sim") ? " " : "=" : "",
			     (int)(peer ? peer - plan->name : (int)strlen(plan->name)), plan->name);
	if (peer)
		at += (size_t)snprintf(text + at, chars - at, " --peer %s", peer + 1);
	if (plan->paper)
		at += (size_t)snprintf(text + at, chars - at, " --paper --samples %" PRIu32,
				       plan->samples);
	else
		at += (size_t)snprintf(text + at, chars - at, " --objective %s --method %s",
				       tune_objective_name(plan->objective),
				       tune_method_name(plan->method));
	at += (size_t)snprintf(text + at, chars - at, " --budget %" PRIu64 " --seed %" PRIu64,
			       plan->budget, plan->seed);
	for (unsigned int i = 0, n = 0; i < TUNE_NUM_METRICS; i++)
		if (plan->also & (UINT32_C(1) << i))
			at += (size_t)snprintf(text + at, chars - at, "%s%s",
					       n++ ? "," : " --also ", tune_metric_name(i));
	if (plan->repeats > 1)
		at += (size_t)snprintf(text + at, chars - at, " --repeats %" PRIu32, plan->repeats);
	if (plan->start.kind != TUNE_START_INITIAL && (plan->paper || plan->method == TUNE_HILL))
		at += (size_t)snprintf(text + at, chars - at, " --start %s",
				       tune_start_text(&plan->start, start));
	for (uint32_t i = 0; i < plan->num_grid; i++)
		at += (size_t)snprintf(text + at, chars - at, "%s%" PRIu32, i ? "," : " --grid ",
				       plan->grid[i]);
	if (plan->space.params == HW_COALESCE_SET_PARAMS)
		return;
	for (unsigned int i = 0, n = 0; i < TUNE_P; i++)
		if (plan->space.params & (UINT32_C(1) << i))
			at += (size_t)snprintf(text + at, chars - at, "%s%s",
					       n++ ? "," : " --params ", tune_param_word(i));
}
