/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-coll-tune: an MPI program that measures which collectives of Open MPI are quicker on the NIC
 * and writes the rules of coll/weft. Calls measure.c. docs/openmpi.md "Choice by measurement".
 */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cli.h"
#include "tools/usage.h"
#include "tools/weft-coll-tune/tune.h"

const char tool_name[] = "weft-coll-tune";

struct opts {
	const char *rules, *sizes;
	uint32_t iterations;
	bool json;
};

static const struct cli_option rows[] = {
    {.name = "rules",
     .letter = 'r',
     .value = "FILE",
     .kind = CLI_TEXT,
     CLI_FIELD(struct opts, rules),
     .shown = "standard output",
     .help = "write the rules to FILE"},
    {.name = "sizes",
     .letter = 's',
     .value = "BYTES,...",
     .kind = CLI_TEXT,
     CLI_FIELD(struct opts, sizes),
     .initial = "8,256,4096,65536,1048576",
     .help = "bytes of a rank's block, ascending; multiples of 8"},
    {.name = "iterations",
     .letter = 'i',
     .value = "N",
     .kind = CLI_NUMBER,
     CLI_FIELD(struct opts, iterations),
     .low = 1,
     .high = TUNE_ITERATIONS,
     .initial = "50",
     .help = "calls of each kind by each"},
    {.name = "json",
     .kind = CLI_FLAG,
     CLI_FIELD(struct opts, json),
     .help = "print each measurement as a JSON object on a line; needs --rules"},
};

static const struct cli_program program = {
    .name = tool_name,
    .section = 1,
    .version = WEFT_VERSION,
    .summary = "measures which collectives of MPI are quicker on the NIC",
    .usage = "weft-run mpirun -n RANKS weft-coll-tune [--rules FILE] [--sizes LIST] [--json]",
    .about =
	"Measures the collectives of Open MPI on the NIC and without it, blocking and\n"
	"non-blocking, by the ranks that mpirun starts, and writes the file of rules that sends\n"
	"each size where it was quicker. A non-blocking one has a computation behind it that\n"
	"takes as long as the quicker one alone. Names of collectives and times go to standard\n"
	"error, or as JSON to standard output.",
    .after = "Exit status: 0 done, 1 failure, 2 usage.\n"
	     "\n"
	     "Example:\n"
	     "  weft-run mpirun -n 4 weft-coll-tune --rules rules\n"
	     "  OMPI_MCA_coll_weft_rules=$PWD/rules weft-run mpirun -n 4 ./program",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
};

struct plan {
	const struct opts *opts;
	size_t sizes[TUNE_SIZES];
	uint32_t num_sizes;
	int rank, ranks;
	FILE *rules; /* rank 0 */
};

static bool parse_sizes(struct plan *plan)
{
	const char *at = plan->opts->sizes;
	char *end;

	for (; *at; at = *end == ',' ? end + 1 : end) {
		unsigned long bytes = strtoul(at, &end, 10);
		size_t last = plan->num_sizes ? plan->sizes[plan->num_sizes - 1] : 0;

		if (end == at || (*end && *end != ',') || bytes <= last || bytes % 8 ||
		    bytes > 1 << 24 || plan->num_sizes == TUNE_SIZES)
			return false;
		plan->sizes[plan->num_sizes++] = bytes;
	}
	return plan->num_sizes;
}

static void print_times(const struct plan *plan, const char *name, size_t bytes,
			struct tune_times t)
{
	if (plan->rank)
		return;
	if (plan->opts->json)
		printf("{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %zu, \"weft_us\": %.3f, "
		       "\"previous_us\": %.3f}\n",
		       name, plan->ranks, bytes, t.weft * 1e6, t.previous * 1e6);
	else
		fprintf(stderr, "%-22s %8zu bytes: weft %10.2f us, previous %10.2f us\n", name,
			bytes, t.weft * 1e6, t.previous * 1e6);
	fflush(stdout);
}

/* One rule for each run of sizes with one choice; the last one has no limit. */
static void print_rules(FILE *f, const char *name, const struct plan *plan, const bool *weft,
			uint32_t num)
{
	uint32_t i;

	fprintf(f, "%s: ", name);
	for (i = 0; i + 1 < num; i++)
		if (weft[i] != weft[i + 1])
			fprintf(f, "%zu=%s, ", plan->sizes[i], weft[i] ? "weft" : "previous");
	fprintf(f, "%s\n", weft[num - 1] ? "weft" : "previous");
}

static void tune(const struct plan *plan, uint32_t coll, bool nonblocking)
{
	const struct tune_coll *c = &tune_colls[coll];
	uint32_t num = c->sized ? plan->num_sizes : 1, i, better = 0;
	bool weft[TUNE_SIZES];
	char name[40];

	snprintf(name, sizeof(name), "%s%s", nonblocking ? "i" : "", c->name);
	for (i = 0; i < num; i++) {
		size_t bytes = c->sized ? plan->sizes[i] : 0;
		struct tune_times t =
		    tune_measure(coll, nonblocking, bytes, plan->opts->iterations);

		weft[i] = t.weft < t.previous;
		better += weft[i];
		print_times(plan, name, bytes, t);
	}
	/* Where ranks do not know each other's bytes, one choice is for all: the more frequent. */
	if (c->unequal) {
		weft[0] = 2 * better > num;
		num = 1;
	}
	if (plan->rules)
		print_rules(plan->rules, name, plan, weft, num);
}

static int run(struct plan *plan)
{
	const char *why;
	uint32_t i;

	if (!tune_find(&why)) {
		if (!plan->rank)
			fprintf(stderr, "%s: %s\n", tool_name, why);
		return 1;
	}
	if (!plan->rank) {
		plan->rules = plan->opts->rules ? fopen(plan->opts->rules, "we") : stdout;
		if (!plan->rules) {
			fprintf(stderr, "%s: %s: %s\n", tool_name, plan->opts->rules,
				strerror(errno));
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
		fprintf(plan->rules, "# measured by weft-coll-tune on %d ranks\n", plan->ranks);
	}
	if (!tune_begin(plan->sizes[plan->num_sizes - 1]))
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (i = 0; i < tune_num_colls; i++) {
		tune(plan, i, false);
		tune(plan, i, true);
	}
	tune_end();
	if (plan->rules && plan->rules != stdout && fclose(plan->rules) != 0) {
		fprintf(stderr, "%s: %s: %s\n", tool_name, plan->opts->rules, strerror(errno));
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct opts opts = {0};
	struct plan plan = {.opts = &opts};
	struct cli cli;
	int rc = cli_take(&cli, &program, &opts, NULL, argc, argv), provided;

	if (rc != CLI_RUN)
		return rc == CLI_DONE ? output_end(0) : rc;
	if (cli.num_words)
		return usage("takes no word, not '%s'", cli.words[0]);
	if (!parse_sizes(&plan))
		return usage(
		    "--sizes takes up to %d ascending multiples of 8 up to 16 MiB, not '%s'",
		    TUNE_SIZES, opts.sizes);
	if (opts.json && !opts.rules)
		return usage("--json needs --rules, since both go to standard output");
	MPI_Init(&argc, &argv);
	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &plan.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &plan.ranks);
	rc = run(&plan);
	MPI_T_finalize();
	MPI_Finalize();
	return plan.rank ? rc : output_end(rc);
}
