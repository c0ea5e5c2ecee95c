/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-sim: simulations from the command line.
 *
 * A single run creates the NICs, runs one workload under the given faults, prints the results and,
 * as the last line, a digest that is equal for equal commands. --soak runs one seed after another.
 * Exit status 0: all checks passed; 1: one failed, printed with the command that replays it; 2:
 * wrong usage. Calls sim_play() and sim_soak().
 */
#include "sim_harness/sim_plan.h"

#include <inttypes.h>
#include <string.h>

static int run_one(const struct sim_opts *opts)
{
	struct sim_outcome outcome;
	struct sim_plan plan;
	char text[SIM_PLAN_TEXT_BYTES];
	int rc;

	sim_opts_plan(opts, opts->seed, &plan);
	sim_plan_format(&plan, text, sizeof(text));
	if (opts->random)
		printf("drawn:%s\n", text);
	rc = sim_play(&plan, opts->trace, opts->pcap, true, &outcome);
	if (rc) {
		fprintf(stderr, "weft-sim: cannot write the trace or capture file: %s\n",
			strerror(-rc));
		return 1;
	}
	if (outcome.failure[0]) {
		printf("FAILED: %s\n", outcome.failure);
		printf("replay: %s%s --trace - --pcap weft-sim.pcapng\n", opts->program, text);
	}
	printf("digest %016" PRIx64 "\n", outcome.digest);
	return outcome.failure[0] ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct sim_opts opts;
	int rc = sim_opts_parse(&opts, argc, argv);

	if (rc >= 0)
		return rc;
	return opts.soak ? sim_soak(&opts) : run_one(&opts);
}
