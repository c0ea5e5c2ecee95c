/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to the files of weftctl.
 *
 * main.c parses the command line and calls one command: lists.c (list, clients, qps, mrs, cqs,
 * neigh, peers, groups), shares.c (users), colls.c, xdp.c, stats.c, counters.c, metrics.c,
 * top.c, doctor.c, cdi.c, upgrade.c, coalesce.c, change.c (fault, log, quota, reload) or capture.c.
 * They query weftd through weft_open_tool() and print through out.c.
 */
#ifndef WEFT_CTL_CTL_H
#define WEFT_CTL_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "host_driver/weft.h"
#include "shared_defs/hw_coalesce.h"

/* Exit codes of the program. */
enum {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
};

enum {
	CTL_BATCH = 64, /* items or counters requested at once */
	CTL_WORDS_CHARS = 512,
};

struct ctl {
	const char *command;
	const char *nic; /* NULL: every NIC of the run directory */
	bool json;
	bool nonzero;     /* stats */
	bool per_shard;   /* stats */
	const char *file; /* capture, cdi */
	uint64_t count;   /* capture: frames; coalesce: lines; 0: no end */
	double seconds;   /* capture: 0: no end */
	bool has_vector;  /* coalesce: one vector */
	uint32_t vector;
	bool stats;                     /* coalesce: counters */
	double watch_s;                 /* coalesce: 0: once */
	struct hw_cmd_coalesce setting; /* coalesce: .set 0: show */
	const char *listen;             /* metrics: "ADDR:PORT"; NULL: print them once */
	const char *textfile;           /* metrics: NULL: standard output */
	uint64_t most;                  /* metrics: rows of a list; 0: the default */
	bool markdown;                  /* counters */
	const char *sort;               /* top: a column; NULL: each table by its own */
	const char *root;               /* doctor: where /proc and /sys are; NULL: / */
	char words[CTL_WORDS_CHARS];    /* fault, log, quota, mtu, ip, gw: the setting; "": show */
	const char *firmware;           /* upgrade: NULL: the one installed with weftctl */
	bool check;                     /* upgrade: change nothing */
	const char *filter;             /* top: rows with this text; NULL: all */
};

/* Prints "weftctl: ..." on stderr and returns CTL_FAILED. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A table whose columns are as wide as their longest cell, or a JSON array of objects. Cells
 * are JSON values: the table shows strings and numbers as they are.
 */
struct out_column {
	const char *key;   /* in JSON */
	const char *title; /* of the table */
};

/* Prints rows (an array of objects) and drops it. An exit code. */
int out_table(const struct ctl *ctl, const struct out_column *columns, size_t num_columns,
	      json_t *rows);
/* Prints an object in JSON and drops it. An exit code; NULL is a failure. */
int out_json(json_t *value);

/* Text for JSON and tables; the caller gets a new reference. */
json_t *out_ip(uint32_t ip); /* network byte order */
json_t *out_mac(const uint8_t mac[6]);
json_t *out_hex(uint64_t value);

/* out_table() of the NICs' rows, if some answered; rc is the exit code if printing succeeds. */
int out_rows(const struct ctl *ctl, int rc, bool some, const struct out_column *columns,
	     size_t num_columns, json_t *rows);

/*
 * Calls fn for the named NIC, else for each NIC, also after failures. CTL_FAILED: fn or a NIC
 * failed, or there is none. *some: fn succeeded at least once.
 */
int each_nic(const struct ctl *ctl, int (*fn)(struct weft_context *context, void *arg), void *arg,
	     bool *some);

/* A sentence for the errno that weft_open_tool() left. Thread-safe. */
const char *ctl_open_error(void);

/* The commands: exit codes. */
int run_list(const struct ctl *ctl);
int run_objects(const struct ctl *ctl);
int run_stats(const struct ctl *ctl);
int run_capture(const struct ctl *ctl);
int run_xdp(const struct ctl *ctl);
int run_coalesce(const struct ctl *ctl);
int run_users(const struct ctl *ctl);
int run_colls(const struct ctl *ctl);
int run_metrics(const struct ctl *ctl);
int run_counters(const struct ctl *ctl);
int run_doctor(const struct ctl *ctl);
int run_top(const struct ctl *ctl);
int run_fault(const struct ctl *ctl);
int run_log(const struct ctl *ctl);
int run_quota(const struct ctl *ctl);
int run_mtu(const struct ctl *ctl);
int run_ip(const struct ctl *ctl);
int run_gw(const struct ctl *ctl);
int run_plug(const struct ctl *ctl);
int run_reload(const struct ctl *ctl);
int run_upgrade(const struct ctl *ctl);
int run_cdi(const struct ctl *ctl);
/* Opens the firmware of --firmware, or the one beside weftctl; *file names it. -1: errno. */
int upgrade_open(const struct ctl *ctl, const char **file);
/* Runs a listing every ctl->watch_s seconds, ctl->count times (0: until a signal). An exit code. */
int top_watch(const struct ctl *ctl, int (*run)(const struct ctl *ctl));

/* shares.c: the name of a user, or its number; a new reference. Thread-safe. */
json_t *shares_user(uint32_t uid);
/*
 * Reads the shares that processes have of a shard's tables and of weftd into *shares, a new
 * reference. Returns an exit code.
 */
int shares_of_processes(struct weft_context *context, uint32_t shard, json_t **shares);
/* "qp:50%": the kind of which the process has the largest part of its share. A new reference. */
json_t *shares_largest(const json_t *shares, uint32_t uid, uint32_t pid);

/* stats.c. Reads one counter of a shard. Returns 0 or -errno; -ENOENT: it has none of that name. */
int stats_value(struct weft_context *context, uint32_t shard, const char *name, uint64_t *value);

/* True if command is one of run_objects(). */
bool is_objects(const char *command);

#endif /* WEFT_CTL_CTL_H */
