/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-sim: one simulation from the command line.
 *
 * Makes the NICs, runs one workload under the faults asked for, prints what happened and, as
 * the last line, a digest that is the same for the same command. Exit status 0: every check
 * held; 1: one failed, with the command that replays it; 2: wrong usage. Calls
 * sim_workload_run().
 */
#include "sim_harness/sim_workload.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared_defs/hw_limits.h"

struct options {
	uint64_t seed;
	uint64_t nics;
	uint64_t duration_ms;
	uint64_t shards;
	uint64_t mtu;
	uint64_t gbps;
	uint64_t latency_ns;
	const char *workload; /* with its parameters, as it was given */
	uint64_t param[SIM_PARAMS_MAX];
	const char *faults;
	const char *trace;
	const char *pcap;
	bool cc_off;
};

static void usage(FILE *f)
{
	const struct sim_workload *w;
	const struct sim_param *p;
	uint32_t i;

	fprintf(f, "Usage: weft-sim [OPTION]...\n"
		   "\n"
		   "Runs the firmware of several NICs in one process, on a virtual network and in\n"
		   "virtual time. All that happens follows from the seed and the options.\n"
		   "\n"
		   "  --seed N          seed of everything random (1)\n"
		   "  --nics K          NICs, 2 to 1024 (4)\n"
		   "  --shards S        firmware instances of each NIC, 1 to 8 (1)\n"
		   "  --duration-ms T   virtual milliseconds during which work is posted (10)\n"
		   "  --workload NAME   what the processes do (rd_mix):\n");
	for (i = 0; (w = sim_workload_at(i)); i++)
		fprintf(f, "                      %-10s %s\n", w->name, w->help);
	fprintf(f, "                    NAME:PARAM=VALUE,... sets what a workload can be told:\n");
	for (i = 0; (w = sim_workload_at(i)); i++) {
		for (p = w->params; p && p->name; p++)
			fprintf(f, "                      %-10s %-10s %s (%" PRIu64 ")\n", w->name,
				p->name, p->help, p->value);
	}
	fprintf(
	    f,
	    "  --faults LIST     what goes wrong, separated by commas (nothing); see below\n"
	    "  --mtu BYTES       largest IPv4 packet, %d to %d (4096)\n"
	    "  --gbps N          speed of each link, 1 to 400 (25)\n"
	    "  --latency-ns N    from NIC to NIC (2000)\n"
	    "  --cc-off          reliable datagrams without congestion control\n"
	    "  --trace FILE      every event of the firmware, one a line; - is standard output\n"
	    "  --pcap FILE       every frame with virtual time, pcapng\n"
	    "  --help            this text\n"
	    "\n"
	    "Faults, with their default value:\n"
	    "%s"
	    "\n"
	    "When the duration is over all faults end, and everything under way must complete.\n"
	    "The last line is a digest: the same in every run of the same command.\n"
	    "Exit status: 0 all checks held, 1 one failed, 2 wrong usage.\n",
	    HW_MIN_MTU, HW_MAX_MTU, sim_faults_help());
}

static int bad_usage(const char *what)
{
	fprintf(stderr, "weft-sim: %s (weft-sim --help)\n", what);
	return 2;
}

/* A number within bounds into *value; false: it is none, and a line says so. */
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

enum {
	OPT_SEED = 1,
	OPT_NICS,
	OPT_SHARDS,
	OPT_DURATION,
	OPT_WORKLOAD,
	OPT_FAULTS,
	OPT_MTU,
	OPT_GBPS,
	OPT_LATENCY,
	OPT_CC_OFF,
	OPT_TRACE,
	OPT_PCAP,
	OPT_HELP,
};

static const struct option long_options[] = {
    {"seed", required_argument, NULL, OPT_SEED},
    {"nics", required_argument, NULL, OPT_NICS},
    {"shards", required_argument, NULL, OPT_SHARDS},
    {"duration-ms", required_argument, NULL, OPT_DURATION},
    {"workload", required_argument, NULL, OPT_WORKLOAD},
    {"faults", required_argument, NULL, OPT_FAULTS},
    {"mtu", required_argument, NULL, OPT_MTU},
    {"gbps", required_argument, NULL, OPT_GBPS},
    {"latency-ns", required_argument, NULL, OPT_LATENCY},
    {"cc-off", no_argument, NULL, OPT_CC_OFF},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"pcap", required_argument, NULL, OPT_PCAP},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* One option; false: it was wrong, and a line said so. */
static bool option(struct options *o, int opt)
{
	switch (opt) {
	case OPT_SEED:
		return number("seed", optarg, 0, UINT64_MAX, &o->seed);
	case OPT_NICS:
		return number("nics", optarg, 2, SIM_MAX_NICS, &o->nics);
	case OPT_SHARDS:
		return number("shards", optarg, 1, SIM_MAX_SHARDS, &o->shards);
	case OPT_DURATION:
		return number("duration-ms", optarg, 1, 1000000, &o->duration_ms);
	case OPT_MTU:
		return number("mtu", optarg, HW_MIN_MTU, HW_MAX_MTU, &o->mtu);
	case OPT_GBPS:
		return number("gbps", optarg, 1, 400, &o->gbps);
	case OPT_LATENCY:
		return number("latency-ns", optarg, 0, 1000000000, &o->latency_ns);
	case OPT_WORKLOAD:
		o->workload = optarg;
		return true;
	case OPT_FAULTS:
		o->faults = optarg;
		return true;
	case OPT_TRACE:
		o->trace = optarg;
		return true;
	case OPT_PCAP:
		o->pcap = optarg;
		return true;
	case OPT_CC_OFF:
		o->cc_off = true;
		return true;
	default:
		fputs("weft-sim: see weft-sim --help\n", stderr);
		return false;
	}
}

static struct sim *make(const struct options *o, const struct sim_workload *workload)
{
	struct sim_config config;
	struct sim *sim;

	sim_config_default(&config);
	config.num_shards = (uint32_t)o->shards;
	config.mtu = (uint32_t)o->mtu;
	config.link.gap_ps_per_byte = 8000 / o->gbps;
	config.link.latency_ns = o->latency_ns;
	config.cc_off = o->cc_off;
	if (workload->config)
		workload->config(o->param, &config);
	sim = sim_new(&config, o->seed);
	return sim;
}

static void report(const struct options *o, struct sim *sim, const struct sim_run *run,
		   double real_s)
{
	uint64_t tx = 0, retransmits = 0;
	double virtual_ms = (double)sim_now_ns(sim) / 1e6;
	uint32_t i;
	int op;

	printf("seed %" PRIu64 ", %s on %" PRIu64 " NICs, faults: %s\n", o->seed, o->workload,
	       o->nics, o->faults[0] ? o->faults : "none");
	for (op = 0; op < SIM_OPS; op++) {
		if (run->done[op])
			printf("%12" PRIu64 "  %s\n", run->done[op], sim_op_name((enum sim_op)op));
	}
	for (i = 0; i < run->num_figures; i++)
		printf("%12.3f  %s\n", run->figure[i].value, run->figure[i].name);
	printf("%12" PRIu64 "  messages received\n%12" PRIu64 "  bytes verified\n", run->received,
	       run->bytes);
	for (i = 0; i < sim_nic_count(sim); i++) {
		tx += sim_nic_counts(sim_nic_at(sim, i))->tx_frames;
		retransmits += sim_nic_stat(sim_nic_at(sim, i), "rd_tx_retransmits");
	}
	printf("%12" PRIu64 "  frames, %" PRIu64 " retransmissions\n", tx, retransmits);
	printf("%12" PRIu64 "  events in %.1f virtual ms", sim_events(sim), virtual_ms);
	/* Real time differs from run to run: it must not be in what a digest is compared with. */
	fflush(stdout);
	fprintf(stderr, "weft-sim: %.2f s, %.0f events/s, %.4f virtual seconds per second\n",
		real_s, (double)sim_events(sim) / real_s, virtual_ms / 1e3 / real_s);
	putchar('\n');
}

static void replay_line(const struct options *o)
{
	printf("replay: weft-sim --seed %" PRIu64 " --nics %" PRIu64 " --shards %" PRIu64
	       " --duration-ms %" PRIu64 " --workload %s --mtu %" PRIu64 " --gbps %" PRIu64
	       " --latency-ns %" PRIu64 "%s%s%s --trace - --pcap weft-sim.pcapng\n",
	       o->seed, o->nics, o->shards, o->duration_ms, o->workload, o->mtu, o->gbps,
	       o->latency_ns, o->cc_off ? " --cc-off" : "", o->faults[0] ? " --faults " : "",
	       o->faults);
}

static int simulate(const struct options *o, const struct sim_workload *workload)
{
	struct timespec begin, end;
	struct sim *sim = make(o, workload);
	struct sim_run run;
	char message[160];
	int rc = 0;
	uint64_t i;

	if (!sim) {
		fputs("weft-sim: out of memory or address space\n", stderr);
		return 1;
	}
	if (sim_faults_parse(sim, o->faults, message, sizeof(message))) {
		sim_free(sim);
		return bad_usage(message);
	}
	if (o->trace)
		rc = sim_trace_open(sim, o->trace);
	if (!rc && o->pcap)
		rc = sim_pcap_open(sim, o->pcap);
	if (rc) {
		fprintf(stderr, "weft-sim: cannot write the trace or capture file: %s\n",
			strerror(-rc));
		sim_free(sim);
		return 1;
	}
	for (i = 0; i < o->nics; i++)
		sim_nic_new(sim);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	rc = sim_workload_run_with(&run, sim, workload, o->param, o->duration_ms * 1000000,
				   UINT64_C(20000000000));
	clock_gettime(CLOCK_MONOTONIC, &end);
	report(o, sim, &run,
	       (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	if (rc) {
		printf("FAILED: %s\n", run.failure);
		replay_line(o);
	}
	printf("digest %016" PRIx64 "\n", sim_digest(sim));
	sim_free(sim);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options o = {.seed = 1,
			    .nics = 4,
			    .duration_ms = 10,
			    .shards = 1,
			    .mtu = 4096,
			    .gbps = 25,
			    .latency_ns = 2000,
			    .workload = "rd_mix",
			    .faults = ""};
	const struct sim_workload *workload;
	char message[160];
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			usage(stdout);
			return 0;
		}
		if (!option(&o, opt))
			return 2;
	}
	if (optind < argc) {
		snprintf(message, sizeof(message), "'%s' is not an option", argv[optind]);
		return bad_usage(message);
	}
	workload = sim_workload_parse(o.workload, o.param, message, sizeof(message));
	if (!workload)
		return bad_usage(message);
	if (workload->nics)
		o.nics = workload->nics(o.param);
	return simulate(&o, workload);
}
