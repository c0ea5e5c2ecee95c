/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run of weft-sim: what makes it, and what became of it.
 *
 * A plan is all that a run depends on, and every part of it is an option of the command line.
 * sim_draw.c draws a plan from its seed, sim_opts.c reads one from options, sim_play.c carries
 * it out, sim_soak.c does so in child processes with one seed after another. Used by
 * sim_main.c.
 */
#ifndef WEFT_SIM_PLAN_H
#define WEFT_SIM_PLAN_H

#include <stdio.h>

#include "sim_harness/wl/sim_workload.h"

enum {
	SIM_PLAN_FAULTS_BYTES = 320,
	SIM_PLAN_TEXT_BYTES = 1024, /* longest command line of a plan */
	SIM_OPTS_MAX = 64,          /* options of a command line */
	SIM_TALLY_MAX = 32,         /* workloads that are counted */
};

struct sim_plan {
	uint64_t seed;
	uint64_t nics;
	uint64_t shards;
	uint64_t duration_ms;
	uint64_t drain_ms; /* within which all must be done when the faults have ended */
	uint64_t mtu;
	uint64_t gbps;
	uint64_t latency_ns;
	uint64_t queue_kib; /* of the switch towards each NIC */
	uint64_t rx_frames; /* queue of a shard */
	uint64_t tx_frames; /* queue of a NIC */
	uint64_t poll_ns;   /* cost of a turn */
	uint64_t budget;    /* of a turn */
	uint64_t
	    host_busy;  /* per mille of accesses to unmapped memory that are answered "not now" */
	uint64_t split; /* per cent of frames that come in several pieces */
	const struct sim_workload *workload;
	uint64_t param[SIM_PARAMS_MAX]; /* of the workload */
	char faults[SIM_PLAN_FAULTS_BYTES];
	bool cc_off;
	bool wrap_soon;
	bool no_host_map;
	bool tx_room;
};

/* What became of a run. */
struct sim_outcome {
	bool done; /* it came to its end; else the process died */
	uint64_t virtual_ns;
	uint64_t events;
	uint64_t drained_ns;
	uint64_t digest;
	char failure[256]; /* empty: all checks held */
};

/* An option that says something about the plan, as given. */
struct sim_opt {
	int opt;
	const char *value;
};

/* The command line. */
struct sim_opts {
	bool random; /* what is not given is drawn from the seed */
	bool soak;
	bool seed_given;
	uint64_t seed;
	uint64_t seconds;      /* of a soak; 0: until told to stop */
	uint64_t cpu_seconds;  /* the same in processor time; 0: no limit */
	uint64_t jobs;         /* runs at a time */
	uint64_t runs;         /* of a soak; 0: no limit */
	uint64_t failures;     /* that end a soak; 0: no limit */
	uint64_t hang_seconds; /* of processor time after which a run hangs */
	const char *json;
	const char *record; /* of seeds in a row; NULL: none */
	const char *trace;
	const char *pcap;
	const char *program; /* argv[0], for commands to repeat */
	bool help;
	uint32_t num_given;
	struct sim_opt given[SIM_OPTS_MAX];
};

/* sim_draw.c: a plan in which everything comes from the seed; workload NULL: this too. */
void sim_plan_draw(struct sim_plan *plan, uint64_t seed, const struct sim_workload *workload);

/* sim_opts.c */
void sim_opts_usage(FILE *f);
/* Reads the command line. 0, or 2 after a line on stderr said what is wrong. */
int sim_opts_parse(struct sim_opts *opts, int argc, char **argv);
/*
 * The plan of a seed: the defaults, or what is drawn, changed by what was given. The options were
 * checked by sim_opts_parse().
 */
void sim_opts_plan(const struct sim_opts *opts, uint64_t seed, struct sim_plan *plan);
/* The options that make this plan, all of them; for people and for tests/sim/seeds.txt. */
void sim_plan_format(const struct sim_plan *plan, char *text, size_t bytes);
/* The options that were given beside the seed, each after a blank. */
void sim_opts_format(const struct sim_opts *opts, char *text, size_t bytes);

/* sim_play.c: one run, without a word but for trace and capture. 0, or -errno of a file. */
int sim_play(const struct sim_plan *plan, const char *trace, const char *pcap, bool verbose,
	     struct sim_outcome *outcome);

/* Runs of each workload since its last failure, by sim_workload_at()'s number. */
struct sim_tally {
	uint64_t runs[SIM_TALLY_MAX];
};

/* sim_tally.c: 0 or -errno; a file that is not there has counted nothing. */
int sim_tally_load(struct sim_tally *tally, const char *path);
int sim_tally_save(const struct sim_tally *tally, const char *path);
void sim_tally_add(struct sim_tally *tally, const struct sim_workload *workload, bool failed);
/* One line on stdout. */
void sim_tally_print(const struct sim_tally *tally);

/* sim_soak.c: returns the exit status. */
int sim_soak(const struct sim_opts *opts);

#endif /* WEFT_SIM_PLAN_H */
