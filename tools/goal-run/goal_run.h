/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to the files of goal-run: the options, a job, its ranks, the measured times.
 *
 * main.c reads the command line (opts.c) and calls predict.c (--model), or makes a job (job_file.c:
 * the schedules of a file; job_coll.c: a collective) and has it run by on_nics.c or on_sim.c, which
 * open the ranks, and by ranks.c, which has their common part; trace.c saves the trace of the last
 * run (--trace). output.c prints. Functions that fail have printed the reason on standard error.
 */
#ifndef WEFT_GOAL_RUN_H
#define WEFT_GOAL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/goal/goal_coll.h"
#include "host_driver/goal/compile/goal_graph.h"
#include "host_driver/goal/compile/goal_set.h"
#include "host_driver/weft_goal.h"
#include "shared_defs/hw_goal.h"
#include "tools/goal-run/model.h"

enum {
	RUN_OK = 0,
	RUN_FAILED = 1,
	RUN_USAGE = 2,
};

enum run_mode {
	RUN_ON_NICS,
	RUN_IN_SIM,
	RUN_MODEL,
};

/* The network of --sim, in LogGP's words. */
struct run_link {
	double L, g, G;    /* ns, ns, ns per byte */
	double o, O;       /* a core's time for a frame, and for each of its bytes */
	bool own_o, own_O; /* costs as measured of the firmware */
	uint64_t S;        /* largest eager message */
};

struct opts {
	const char *file; /* NULL: coll */
	enum run_mode mode;
	bool json;
	struct model_params model;
	uint32_t repeat, warmup;
	uint64_t timeout_ns;
	uint64_t eager_bytes; /* 0: the default */
	const char *devices;  /* names, separated by commas; NULL: all */
	const char *trace;    /* folder for the traces of the last run; NULL: none */
	/* --sim */
	uint64_t seed; /* up to INT64_MAX: JSON has no more */
	const char *faults;
	double loss_percent;
	bool link_set;
	struct run_link link;
	uint32_t mtu, ranks_per_nic;
	/* --coll */
	GOAL_Collective coll;
	GOAL_Algorithm alg;
	uint32_t ranks, root;
	uint64_t bytes;
};

/* -1: run; else an exit code. */
int opts_parse(struct opts *o, int argc, char **argv);

/* One line on standard error: "goal-run: ...". Returns RUN_FAILED. */
int run_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The operations of the ranks, and their data. run numbers the runs from 0, each with data of its
 * own.
 */
struct job;
struct job_ops {
	/* Bytes of the rank's buffer, at least 1. */
	uint64_t (*bytes)(const struct job *job, uint32_t rank);
	/* NULL, after an error message. */
	struct goal_graph *(*graph)(const struct job *job, uint32_t rank, uint8_t *buf);
	void (*fill)(const struct job *job, uint32_t rank, uint32_t run, uint8_t *buf);
	/* False: bytes are wrong, after a message about which. */
	bool (*check)(const struct job *job, uint32_t rank, uint32_t run, const uint8_t *buf);
	/* Describes operation op of the rank in words; "": no description. */
	void (*describe)(const struct job *job, uint32_t rank, uint32_t op, char *text,
			 size_t bytes);
	void (*free)(struct job *job);
};
struct job {
	const struct job_ops *ops;
	const char *name;
	uint32_t num_ranks;
	uint64_t num_ops; /* of all ranks */
};

/* The set must live as long as the job. NULL: it cannot be run. */
struct job *job_file(const char *name, const struct goal_set *set);
struct job *job_coll(const struct opts *o);

/* Bytes that both ends can compute: word number i of the message with this seed. */
static inline uint64_t job_word(uint64_t seed, uint64_t i)
{
	uint64_t h = (seed + i) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 27;
}
void job_fill(uint64_t seed, uint8_t *at, uint64_t bytes);
/* The first byte that differs; bytes: none does. */
uint64_t job_differs(uint64_t seed, const uint8_t *at, uint64_t bytes);

struct sim_proc;
struct rank {
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_goal *goal;
	struct weft_mr *mr, *pool_mr;
	uint8_t *buf, *pool;
	uint64_t bytes, pool_bytes;
	uint32_t comm, schedule, run;
	struct weft_goal_result result;
	struct sim_proc *proc; /* on_sim.c */
	uint64_t clock_ns;     /* on_sim.c: its NIC's clock at the start of the run */
	struct rank_trace {    /* trace.c; mr NULL: not traced */
		struct goal_code code;
		struct hw_goal_trace *entries;
		struct weft_mr *mr;
		uint64_t bytes;
		uint32_t max;
	} trace;
};

struct ranks {
	const struct job *job;
	uint32_t num;
	struct rank *rank;
	struct weft_goal_peer *peers;
	uint64_t eager_bytes, timeout_ns;
	uint64_t key[2];   /* key of the communicator: unique on these NICs */
	const char *trace; /* folder for traces; NULL: none */
	uint32_t last_run; /* the run whose trace is saved, unless one before fails */
	/* Memory of the rank that its NIC may map; on_*.c frees it. NULL and errno. */
	void *(*alloc)(struct ranks *ranks, uint32_t rank, uint64_t bytes);
};

/* Measured times: ns from the common start, medians over the runs. */
struct finish {
	uint64_t *rank_ns; /* num of them */
	uint64_t *run_ns;  /* last rank of each counted run */
	uint32_t num_ranks, runs;
	uint64_t finish_ns;
	uint32_t last_rank;
	uint64_t events, frames; /* --sim */
	uint32_t nics;
};

/* ranks.c. ranks_begin() once, then on_*.c sets each context, then ranks_join(). */
int ranks_begin(struct ranks *ranks, const struct job *job, const struct opts *o);
/* Sets up a rank whose context is open: memory, its table of runs, its address. */
int ranks_open(struct ranks *ranks, uint32_t rank);
/* All are open: communicators, schedules. */
int ranks_join(struct ranks *ranks);
/* Fills the buffers for a run, and starts it at every rank. */
int ranks_start(struct ranks *ranks, uint32_t run);
/* Takes the results of a run that is over at every rank, and checks every byte. */
int ranks_check(struct ranks *ranks, uint32_t run);
/* Closes the tables of runs; on_*.c frees contexts and memory. */
void ranks_end(struct ranks *ranks);

/*
 * trace.c. Makes room for the points of the rank's runs; *code becomes the rank's, and is empty
 * then.
 */
int trace_open(struct ranks *ranks, uint32_t rank, struct goal_code *code);
/* Attaches the room to a run that begins; without room the run is not traced. */
void trace_attach(const struct rank *r, struct weft_goal_run_attr *attr);
/* Writes the points of the run that is over, a file for each rank. */
int trace_save(const struct ranks *ranks);
void trace_close(struct rank *r);

/* Room for the times of a job; false: no memory. */
bool finish_begin(struct finish *f, const struct opts *o, uint32_t num_ranks);
/* Time of a rank in counted run number run. */
void finish_set(struct finish *f, uint32_t run, uint32_t rank, uint64_t ns);
/* All are set: computes medians. */
int finish_sum(struct finish *f);
void finish_free(struct finish *f);

/* Run the job, repeat times after warmup ones. RUN_OK or RUN_FAILED. */
int run_on_nics(const struct job *job, const struct opts *o, struct finish *f);
int run_in_sim(const struct job *job, const struct opts *o, struct finish *f);
int predict(const struct opts *o, const struct goal_set *set);
/*
 * Prints operations that find no partner when the schedules run, on standard error, introduced by
 * the text said; returns their number.
 */
uint32_t predict_unmatched(const char *name, const struct goal_set *set,
			   const struct goal_set *said);
/* The same for the set of a job_file(), with its messages matched as NICs match them. */
uint32_t job_file_unmatched(const struct job *job, const struct goal_set *set);
/* "3" or "any" */
const char *goal_number_or_any(char text[12], uint32_t value);

int output(const struct opts *o, const struct job *job, const struct finish *f);

#endif /* WEFT_GOAL_RUN_H */
