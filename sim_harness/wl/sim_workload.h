/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads: seeded traffic that checks itself.
 *
 * sim_workload.c runs one: start, let it work for a while, stop it, end all faults, wait
 * until everything under way is done (liveness), check what must hold at the end, close all
 * processes and audit the NICs (sim_audit.c). The workloads are sim_wl_*.c. Used by sim_play.c
 * and tests/sim.
 */
#ifndef WEFT_SIM_WORKLOAD_H
#define WEFT_SIM_WORKLOAD_H

#include "sim_harness/sim_end.h"

/* Operations as the report counts them. */
enum sim_op {
	SIM_OP_SEND,
	SIM_OP_SEND_IMM,
	SIM_OP_WRITE,
	SIM_OP_WRITE_IMM,
	SIM_OP_READ,
	SIM_OP_FETCH_ADD,
	SIM_OP_CMP_SWAP,
	SIM_OPS
};

enum {
	SIM_PARAMS_MAX = 12,
	SIM_FIGURES_MAX = 20,
	SIM_AUDIT_GAUGES = 48,
};

/* A number that a workload takes: --workload NAME:PARAM=VALUE,... */
struct sim_param {
	const char *name; /* NULL ends a list */
	const char *help;
	uint64_t value; /* the default */
	uint64_t min, max;
};

/* A number that a workload found out; its unit is in its name. */
struct sim_figure {
	const char *name;
	double value;
};

struct sim_run {
	struct sim *sim;
	const struct sim_workload *workload;
	void *state;   /* the workload's */
	bool stopping; /* nothing new is posted */
	bool closed;   /* all processes are gone: events of the workload do nothing any more */
	uint64_t drained_ns; /* from the end of all faults until nothing was under way */
	uint64_t done[SIM_OPS];
	uint64_t received; /* messages */
	uint64_t bytes;    /* verified */
	char failure[256]; /* the first one; empty: none */
	uint64_t param[SIM_PARAMS_MAX];
	uint64_t duration_ns;      /* for how long work is to be posted */
	char table[1024];          /* what a workload that measures shows besides its figures */
	uint64_t begin_ns, end_ns; /* while work was posted; end 0: it still is */
	struct sim_figure figure[SIM_FIGURES_MAX];
	uint32_t num_figures;
	uint32_t audit_at[SIM_AUDIT_GAUGES]; /* sim_audit.c: numbers of the gauges it reads */
};

struct sim_workload {
	const char *name;
	const char *help;
	/* Makes the processes on all NICs and posts the first requests. 0 or -errno. */
	int (*start)(struct sim_run *run);
	/* Nothing is under way any more. */
	bool (*quiet)(struct sim_run *run);
	/* What must hold at the end; failures go to sim_run_fail(). */
	void (*check)(struct sim_run *run);
	void (*stop)(struct sim_run *run); /* closes what is open; frees state */
	/* The rest may be absent. */
	/*
	 * Closes all processes and keeps state: the simulation runs on, with run->closed set, until
	 * the NICs are empty. Without it the workload is not audited.
	 */
	void (*close)(struct sim_run *run);
	bool bears_death;                        /* takes the events of sim_on_fault() */
	bool bears_forgery;                      /* believes nothing of what it gets */
	bool bears_busy;                         /* no atomics, no GOAL: those fail (security.md) */
	uint64_t drain_ns;                       /* what it needs to end, at least */
	uint32_t weight;                         /* how often a soak draws it; 0: never */
	const struct sim_param *params;          /* what it can be told */
	uint32_t (*nics)(const uint64_t *param); /* how many it wants */
	/* Settings of the simulation that the parameters ask for; before sim_new(). */
	void (*config)(const uint64_t *param, struct sim_config *config);
	bool measures; /* gives figures; no table is looked at while it runs */
};

extern const struct sim_workload sim_wl_ud_send;
extern const struct sim_workload sim_wl_ud_long;
extern const struct sim_workload sim_wl_rd_mix;
extern const struct sim_workload sim_wl_rd_send;
extern const struct sim_workload sim_wl_verbs;
extern const struct sim_workload sim_wl_incast;
extern const struct sim_workload sim_wl_outcast;
extern const struct sim_workload sim_wl_all;
extern const struct sim_workload sim_wl_isolation;
extern const struct sim_workload sim_wl_hostile;
extern const struct sim_workload sim_wl_goal;
extern const struct sim_workload sim_wl_record;
extern const struct sim_workload sim_wl_rc_tcp;

/* The workload of that name, NULL; the i-th, NULL past the last. */
const struct sim_workload *sim_workload_find(const char *name);
const struct sim_workload *sim_workload_at(uint32_t i);

/*
 * Runs a workload on all NICs of the simulation: work for duration_ns, then at most
 * drain_ns until all is quiet. The simulation can be looked at afterwards but not run on. 0, or -1
 * with run->failure set. Adds the outcome to the digest.
 */
int sim_workload_run(struct sim_run *run, struct sim *sim, const struct sim_workload *workload,
		     uint64_t duration_ns, uint64_t drain_ns);

/* The same with parameters of the workload's own, as many as it has. */
int sim_workload_run_with(struct sim_run *run, struct sim *sim, const struct sim_workload *workload,
			  const uint64_t *param, uint64_t duration_ns, uint64_t drain_ns);

/* sim_params.c: "NAME" or "NAME:PARAM=VALUE,..."; NULL with what is wrong in message. */
const struct sim_workload *sim_workload_parse(const char *text, uint64_t param[SIM_PARAMS_MAX],
					      char *message, size_t message_bytes);
void sim_params_default(const struct sim_workload *workload, uint64_t param[SIM_PARAMS_MAX]);

/* Notes a figure; from check(). */
void sim_run_figure(struct sim_run *run, const char *name, double value);
/* The figure of that name; -1 when there is none. */
double sim_run_figure_of(const struct sim_run *run, const char *name);

/*
 * Notes a failure; only the first is kept. It begins with the name of the oracle that saw it and a
 * colon: "completion: ", "order: ", "shadow: ", "liveness: ", "audit: " ...
 */
void sim_run_fail(struct sim_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * sim_audit.c. Looks now and then, while the workload runs, whether tables and pools of every NIC
 * stay within their limits and agree with each other.
 */
void sim_audit_watch(struct sim_run *run);
/*
 * All processes are closed: runs the simulation until every table and pool of every NIC is as
 * empty as at its start, at most limit_ns; no frame held, no mapping of memory left.
 */
void sim_audit_empty(struct sim_run *run, uint64_t limit_ns);

const char *sim_op_name(enum sim_op op);

/* Bytes that only (seed, a, b, n) determine: what a message must contain. */
void sim_pattern(const struct sim *sim, uint32_t a, uint32_t b, uint32_t n, uint8_t *dst,
		 size_t bytes);
/* True when they are there. */
bool sim_pattern_check(const struct sim *sim, uint32_t a, uint32_t b, uint32_t n,
		       const uint8_t *data, size_t bytes);

#endif /* WEFT_SIM_WORKLOAD_H */
