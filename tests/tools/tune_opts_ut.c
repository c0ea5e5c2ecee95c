/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-tune's command line: defaults, limits, and that what makes no sense is refused with exit
 * code 2 before anything is opened.
 */
#include "tests/tools/tune_fix.h"
#include "tests/tools/words.h"
#include "tests/ut.h"
#include "tools/weft-tune/apply.h"
#include "tools/weft-tune/opts.h"

#include <stdlib.h>
#include <unistd.h>

static int parse(struct tune_opts *o, const char *line)
{
	struct words *w = words_of(line);

	return opts_parse(o, w->argc, w->argv);
}

static void defaults(void)
{
	struct tune_opts o;

	CU_ASSERT_EQUAL(parse(&o, "--sim"), -1);
	CU_ASSERT_EQUAL(o.command, TUNE_RUN);
	CU_ASSERT_EQUAL(o.plan.method, TUNE_HALVING);
	CU_ASSERT_EQUAL(o.plan.objective, TUNE_LATENCY);
	CU_ASSERT_EQUAL(o.plan.seed, 1);
	CU_ASSERT_EQUAL(o.plan.repeats, 1);
	CU_ASSERT_EQUAL(o.plan.samples, 250);
	CU_ASSERT_EQUAL(o.plan.budget, 0);
	CU_ASSERT_EQUAL(o.plan.space.params, 0);
	CU_ASSERT_STRING_EQUAL(o.plan.target, "sim");
	CU_ASSERT_STRING_EQUAL(o.plan.name, "");
	CU_ASSERT_STRING_EQUAL(o.out, "weft-tune-latency-halving");
	CU_ASSERT_EQUAL(parse(&o, "--sim --paper"), -1);
	CU_ASSERT(o.plan.paper);
	CU_ASSERT_STRING_EQUAL(o.out, "weft-tune-paper");
}

static void values(void)
{
	struct tune_opts o;

	CU_ASSERT_EQUAL(parse(&o, "--sim=espgoal --objective bandwidth --method grid --grid "
				  "0,10,1023 --params rx-usecs,tx-frames-irq --budget 7 --seed "
				  "18446744073709551615 --repeats 3 --out x/y --json --quiet"),
			-1);
	CU_ASSERT_STRING_EQUAL(o.plan.name, "espgoal");
	CU_ASSERT_EQUAL(o.plan.objective, TUNE_BANDWIDTH);
	CU_ASSERT_EQUAL(o.plan.method, TUNE_GRID);
	CU_ASSERT_EQUAL(o.plan.num_grid, 3);
	CU_ASSERT_EQUAL(o.plan.grid[2], 1023);
	CU_ASSERT_EQUAL(o.plan.space.params,
			1 << HW_COALESCE_rx_usecs | 1 << HW_COALESCE_tx_frames_irq);
	CU_ASSERT_EQUAL(o.plan.budget, 7);
	CU_ASSERT_EQUAL(o.plan.seed, UINT64_MAX);
	CU_ASSERT_EQUAL(o.plan.repeats, 3);
	CU_ASSERT_STRING_EQUAL(o.out, "x/y");
	CU_ASSERT(o.json && o.quiet);
	CU_ASSERT_EQUAL(parse(&o, "--sim --method hill"), -1);
	CU_ASSERT_EQUAL(o.plan.start.kind, TUNE_START_INITIAL);
	CU_ASSERT_EQUAL(parse(&o, "--sim --method hill --start rx-usecs=5,tx-frames=0"), -1);
	CU_ASSERT_EQUAL(o.plan.start.kind, TUNE_START_GIVEN);
	CU_ASSERT_EQUAL(o.plan.start.params,
			1 << HW_COALESCE_rx_usecs | 1 << HW_COALESCE_tx_frames);
	CU_ASSERT_EQUAL(o.plan.start.value[HW_COALESCE_rx_usecs], 5);
	CU_ASSERT_EQUAL(parse(&o, "--netdev eth1 --peer 10.0.0.2:7000"), -1);
	CU_ASSERT_STRING_EQUAL(o.plan.name, "eth1@10.0.0.2:7000");
	CU_ASSERT_EQUAL(parse(&o, "--resume dir"), -1);
	CU_ASSERT_EQUAL(o.command, TUNE_RESUME);
	CU_ASSERT_STRING_EQUAL(o.path, "dir");
	CU_ASSERT_EQUAL(parse(&o, "report dir --json"), -1);
	CU_ASSERT_EQUAL(o.command, TUNE_REPORT);
	CU_ASSERT_EQUAL(parse(&o, "apply dir --device weft3 --objective pareto --dry-run"), -1);
	CU_ASSERT_EQUAL(o.command, TUNE_APPLY);
	CU_ASSERT_EQUAL(o.objective, TUNE_PARETO);
	CU_ASSERT(o.dry_run);
}

static void refused(void)
{
	static const char *const lines[] = {
	    "",
	    "--sim --device weft0",
	    "--device",
	    "--sim --peer weft1",
	    "--sim --objective speed",
	    "--sim --method magic",
	    "--sim --budget 0",
	    "--sim --budget -1",
	    "--sim --budget 1e9",
	    "--sim --seed x",
	    "--sim --repeats 65",
	    "--sim --params rx-usec",
	    "--sim --params rx-usecs,",
	    "--sim --also speed",
	    "--sim --also lat_us,",
	    "--sim --grid 1,2",
	    "--sim --method grid",
	    "--sim --method grid --grid 1024",
	    "--sim --method grid --grid 1,,2",
	    "--sim --method grid --grid ,",
	    "--sim --samples 10",
	    "--sim --start off",
	    "--sim --method hill --start there",
	    "--sim --method hill --start rx-usecs",
	    "--sim --method hill --start rx-usecs=5,",
	    "--sim --method hill --start rx-usecs=x",
	    "--sim --paper --method random",
	    "--sim --paper --objective latency",
	    "--sim --paper --grid 1",
	    "--sim --objective pareto --method linear",
	    "--sim --objective pareto --method hill",
	    "--sim --dry-run",
	    "--sim --frobnicate",
	    "--sim again",
	    "search dir",
	    "report",
	    "report a b",
	    "report a --seed 3",
	    "report a --sim",
	    "apply dir",
	    "apply dir --sim",
	    "apply dir --device weft0 --budget 3",
	    "--resume dir --budget 3",
	    "--resume dir --device weft0",
	    "--resume dir other",
	    "--resume dir --objective cpu",
	};
	int saved = dup(STDERR_FILENO);
	struct tune_opts o;

	/* What it says there is for people. */
	CU_ASSERT_PTR_NOT_NULL(freopen("/dev/null", "w", stderr));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int rc = parse(&o, lines[i]);

		if (rc != EXIT_USAGE)
			printf("'%s' gives %d\n", lines[i], rc);
		CU_ASSERT_EQUAL(rc, EXIT_USAGE);
	}
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

/* The line that a report names makes the same plan. */
static void command_again(void)
{
	static const char *const lines[] = {
	    "--sim --budget 10 --also bw_1m,cpu_us_per_msg",
	    "--sim=espgoal --method genetic --objective cpu --budget 5 --seed 9 --repeats 4",
	    "--device weft0 --peer weft1 --method grid --grid 0,1,2 --params rx-usecs,rx-frames "
	    "--budget 20",
	    "--sim --paper --samples 30 --budget 600",
	    "--sim --paper --start off --budget 600",
	    "--sim --method hill --budget 99 --start rx-usecs=7,tx-frames=0",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct tune_opts o, again;
		char command[TUNE_TEXT_CHARS];

		CU_ASSERT_EQUAL_FATAL(parse(&o, lines[i]), -1);
		if (!o.plan.space.params)
			o.plan.space.params = HW_COALESCE_SET_PARAMS;
		opts_command(&o.plan, command, sizeof(command));
		CU_ASSERT(!strncmp(command, "weft-tune ", 10));
		CU_ASSERT_EQUAL_FATAL(parse(&again, command + 10), -1);
		if (!again.plan.space.params)
			again.plan.space.params = HW_COALESCE_SET_PARAMS;
		CU_ASSERT(!memcmp(&o.plan, &again.plan, sizeof(o.plan)));
	}
}

static void by_hand(void)
{
	const struct tune_setting s = {.param = {5, 16, 72, 0, 1, 2, 3, 4}};
	char text[TUNE_TEXT_CHARS];

	tune_by_hand("netdev", "eth0@10.0.0.2", &s, 3, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "ethtool -C eth0 rx-usecs 5 rx-frames 16");
	tune_by_hand("device", "weft1", &s, 1 << HW_COALESCE_tx_frames, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "weftctl coalesce weft1 set tx-frames 0");
	CU_ASSERT_EQUAL(tune_param_by_word("rx-usecs", 8), HW_COALESCE_rx_usecs);
	CU_ASSERT_EQUAL(tune_param_by_word("rx-usecs-irq", 8), HW_COALESCE_rx_usecs);
	CU_ASSERT_EQUAL(tune_param_by_word("rx", 2), -1);
}

UT_MAIN("tools/tune_opts", UT(defaults), UT(values), UT(refused), UT(command_again), UT(by_hand))
