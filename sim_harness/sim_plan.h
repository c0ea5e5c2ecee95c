/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run of weft-sim: its plan and its outcome.
 *
 * A plan contains everything on which a run depends; every part is an option of the command line.
 * sim_draw.c draws a plan from its seed, sim_opts.c reads one from options, sim_play.c executes it,
 * sim_soak.c does so in child processes with one seed after another.
 */
#ifndef WEFT_SIM_PLAN_H
#define WEFT_SIM_PLAN_H

#include <stdio.h>
#include <sys/types.h>

#include "sim_harness/wl/sim_workload.h"

enum {
	SIM_PLAN_FAULTS_BYTES = 320,
	SIM_PLAN_TEXT_BYTES = 1024, /* longest command line of a plan */
	SIM_OPTS_MAX = 64,          /* options per command line */
	SIM_TALLY_MAX = 32,         /* workloads that are counted */
};

struct sim_plan {
	uint64_t seed;
	uint64_t nics;
	uint64_t shards;
	uint64_t duration_ms;
	uint64_t drain_ms; /* time limit for completion after the faults have ended */
	uint64_t mtu;
	uint64_t gbps;
	uint64_t latency_ns;
	uint64_t queue_kib; /* the switch's queue towards each NIC */
	uint64_t rx_frames; /* queue per shard */
	uint64_t tx_frames; /* queue per NIC */
	uint64_t poll_ns;   /* cost of a turn */
	uint64_t budget;    /* limit of a turn */
	/* Per mille of accesses to unmapped memory that return "not now". */
	uint64_t host_busy;
	uint64_t split; /* per cent of frames delivered in several pieces */
	const struct sim_workload *workload;
	uint64_t param[SIM_PARAMS_MAX]; /* parameters of the workload */
	char faults[SIM_PLAN_FAULTS_BYTES];
	bool cc_off;
	bool no_bundle;
	bool wrap_soon;
	bool no_host_map;
	bool tx_room;
	bool borrow;
	bool no_crc;
};

/* Outcome of a run. */
struct sim_outcome {
	bool done; /* it ended normally; otherwise the process died */
	uint64_t virtual_ns;
	uint64_t events;
	uint64_t drained_ns;
	uint64_t received; /* messages */
	uint64_t matches;  /* of tagged messages, each checked; other workloads: 0 */
	uint64_t digest;
	char failure[256]; /* empty: all checks passed */
};

/* An option that changes the plan, as given. */
struct sim_opt {
	int opt;
	const char *value;
};

/* The command line. */
struct sim_opts {
	bool random; /* values not given are drawn from the seed */
	bool soak;
	bool seed_given;
	uint64_t seed;
	uint64_t seconds;      /* duration of a soak; 0: until stopped */
	uint64_t cpu_seconds;  /* likewise in processor time; 0: unlimited */
	uint64_t jobs;         /* concurrent runs */
	uint64_t runs;         /* runs of a soak; 0: unlimited */
	uint64_t failures;     /* failures that end a soak; 0: unlimited */
	uint64_t hang_seconds; /* processor time after which a run counts as hanging */
	const char *json;
	const char *record; /* file that counts consecutive successful seeds; NULL: none */
	const char *trace;
	const char *pcap;
	const char *program; /* argv[0], for the commands that repeat a run */
	uint32_t num_given;
	struct sim_opt given[SIM_OPTS_MAX];
};

/* sim_draw.c: draws a plan from the seed, including the workload if NULL. */
void sim_plan_draw(struct sim_plan *plan, uint64_t seed, const struct sim_workload *workload);

/* sim_opts.c */
/* Parses the command line. Returns -1, or the exit status: after --help, or an error line on
 * stderr. */
int sim_opts_parse(struct sim_opts *opts, int argc, char **argv);
/*
 * Builds the plan of a seed: defaults or drawn values, modified by the given options, which
 * sim_opts_parse() has checked.
 */
void sim_opts_plan(const struct sim_opts *opts, uint64_t seed, struct sim_plan *plan);
/* Formats all options of this plan, for output and for tests/sim/seeds.txt. */
void sim_plan_format(const struct sim_plan *plan, char *text, size_t bytes);
/* Formats the given options except the seed, each preceded by a blank. */
void sim_opts_format(const struct sim_opts *opts, char *text, size_t bytes);

/*
 * sim_play.c: executes one run and prints nothing except trace and capture. Returns 0, or -errno of
 * a file.
 */
int sim_play(const struct sim_plan *plan, const char *trace, const char *pcap, bool verbose,
	     struct sim_outcome *outcome);

/* Runs of each workload since its last failure, indexed as for sim_workload_at(). */
struct sim_tally {
	uint64_t runs[SIM_TALLY_MAX];
};

/* sim_tally.c: return 0 or -errno; a missing file counts as zero runs. */
int sim_tally_load(struct sim_tally *tally, const char *path);
int sim_tally_save(const struct sim_tally *tally, const char *path);
void sim_tally_add(struct sim_tally *tally, const struct sim_workload *workload, bool failed);
/* Prints one line on stdout. */
void sim_tally_print(const struct sim_tally *tally);

/* sim_soak.c: returns the exit status. */
int sim_soak(const struct sim_opts *opts);
/* Returns how long a process has waited for a processor, in seconds; 0 if that is not known. */
double sim_soak_waited_s(pid_t pid);
/* True if a process is stopped by a signal or a debugger. */
bool sim_soak_is_stopped(pid_t pid);

/* How long a run has lived, without times in which it, the soak or the machine stood still. */
struct sim_soak_age {
	double s;
	double looked_s; /* when that was looked at last */
};

/* A look at now_s; a soak looks several times in a second. Returns the age. */
double sim_soak_look(struct sim_soak_age *age, double now_s, bool stopped);

#endif /* WEFT_SIM_PLAN_H */
