/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads: seeded traffic that checks itself.
 *
 * sim_workload.c runs one: starts it, lets it work for a while, stops it, ends all faults, waits
 * until all outstanding requests are done (liveness), checks the final conditions, closes all
 * processes and audits the NICs (sim_audit.c). The workloads are sim_wl_*.c.
 */
#ifndef WEFT_SIM_WORKLOAD_H
#define WEFT_SIM_WORKLOAD_H

#include "sim_harness/sim_end.h"

/* Operations, as counted in the report. */
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

/* A parameter of a workload: --workload NAME:PARAM=VALUE,... */
struct sim_param {
	const char *name; /* NULL ends a list */
	const char *help;
	uint64_t value; /* the default */
	uint64_t min, max;
};

/* A result of a workload; its unit is in its name. */
struct sim_figure {
	const char *name;
	double value;
};

struct sim_run {
	struct sim *sim;
	const struct sim_workload *workload;
	void *state;         /* owned by the workload */
	bool stopping;       /* no new posts */
	bool closed;         /* all processes are gone: events of the workload have no effect */
	uint64_t drained_ns; /* from the end of all faults until nothing was outstanding */
	uint64_t done[SIM_OPS];
	uint64_t received; /* messages */
	uint64_t bytes;    /* verified bytes */
	char failure[256]; /* the first failure; empty: none */
	uint64_t param[SIM_PARAMS_MAX];
	uint64_t duration_ns;      /* duration of posting */
	char table[1024];          /* output of a measuring workload besides its results */
	uint64_t begin_ns, end_ns; /* period of posting; end 0: still posting */
	struct sim_figure figure[SIM_FIGURES_MAX];
	uint32_t num_figures;
	uint32_t audit_at[SIM_AUDIT_GAUGES]; /* sim_audit.c: indices of the gauges it reads */
};

struct sim_workload {
	const char *name;
	const char *help;
	/* Creates the processes on all NICs and posts the first requests. Returns 0 or -errno. */
	int (*start)(struct sim_run *run);
	/* Returns true if nothing is outstanding. */
	bool (*quiet)(struct sim_run *run);
	/* Checks the final conditions; reports failures by sim_run_fail(). */
	void (*check)(struct sim_run *run);
	void (*stop)(struct sim_run *run); /* closes open objects; frees state */
	/* The rest is optional. */
	/*
	 * Closes all processes and keeps state: the simulation continues, with run->closed set,
	 * until the NICs are empty. Without it the workload is not audited.
	 */
	void (*close)(struct sim_run *run);
	bool bears_death;                        /* handles the events of sim_on_fault() */
	bool bears_forgery;                      /* trusts no received data */
	bool bears_busy;                         /* nothing of it fails where pages are slow */
	bool calm;                               /* a soak draws it without faults */
	uint64_t drain_ns;                       /* minimum time that it needs to end */
	uint32_t weight;                         /* relative frequency in a soak; 0: never */
	const struct sim_param *params;          /* its parameters */
	uint32_t (*nics)(const uint64_t *param); /* number of NICs that it needs */
	/* Changes the simulation's configuration according to the parameters; before sim_new(). */
	void (*config)(const uint64_t *param, struct sim_config *config);
	bool measures; /* has results; tables are not audited while it runs */
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
extern const struct sim_workload sim_wl_tag;
extern const struct sim_workload sim_wl_cost;
extern const struct sim_workload sim_wl_uc;
extern const struct sim_workload sim_wl_xrc;
extern const struct sim_workload sim_wl_mcast;
extern const struct sim_workload sim_wl_calm;

/* Return the workload of that name, or NULL; the i-th one, or NULL after the last. */
const struct sim_workload *sim_workload_find(const char *name);
const struct sim_workload *sim_workload_at(uint32_t i);

/*
 * Runs a workload on all NICs of the simulation: work for duration_ns, then at most drain_ns until
 * nothing is outstanding. Afterwards the simulation can be inspected but not continued. Returns 0,
 * or -1 with run->failure set. Adds the result to the digest.
 */
int sim_workload_run(struct sim_run *run, struct sim *sim, const struct sim_workload *workload,
		     uint64_t duration_ns, uint64_t drain_ns);

/* Likewise, with values for all parameters of the workload. */
int sim_workload_run_with(struct sim_run *run, struct sim *sim, const struct sim_workload *workload,
			  const uint64_t *param, uint64_t duration_ns, uint64_t drain_ns);

/* sim_params.c: parses "NAME" or "NAME:PARAM=VALUE,..."; NULL with an error in message. */
const struct sim_workload *sim_workload_parse(const char *text, uint64_t param[SIM_PARAMS_MAX],
					      char *message, size_t message_bytes);
void sim_params_default(const struct sim_workload *workload, uint64_t param[SIM_PARAMS_MAX]);

/* Records a result; called from check(). */
void sim_run_figure(struct sim_run *run, const char *name, double value);
/* Returns the result of that name; -1: none. */
double sim_run_figure_of(const struct sim_run *run, const char *name);

/*
 * Reports a failure; only the first is kept. It begins with the name of the oracle that found it
 * and a colon: "completion: ", "order: ", "shadow: ", "liveness: ", "audit: " etc.
 */
void sim_run_fail(struct sim_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * sim_audit.c: periodically checks, while the workload runs, that tables and pools of every NIC
 * stay within their limits and are consistent.
 */
void sim_audit_watch(struct sim_run *run);
/*
 * After all processes are closed: runs the simulation until every table and pool of every NIC is as
 * empty as at its start, at most limit_ns; no frame held, no memory mapped.
 */
void sim_audit_empty(struct sim_run *run, uint64_t limit_ns);

const char *sim_op_name(enum sim_op op);

/* Fills in bytes determined by (seed, a, b, n) only: the expected content of a message. */
void sim_pattern(const struct sim *sim, uint32_t a, uint32_t b, uint32_t n, uint8_t *dst,
		 size_t bytes);
/* Returns true if the data matches. */
bool sim_pattern_check(const struct sim *sim, uint32_t a, uint32_t b, uint32_t n,
		       const uint8_t *data, size_t bytes);

#endif /* WEFT_SIM_WORKLOAD_H */
