/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of a run: what was asked for (run.json), and every single measurement
 * (measurements.csv), written as it goes. What is shown in the end (results, pictures, report) is
 * made from it alone, and a run that was stopped goes on from it: its methods are carried out
 * anew, and what they ask for is answered by the record as far as it reaches.
 *
 * Called by run.c, the analysis and main.c; calls jansson. One thread.
 */
#ifndef WEFT_TUNE_RECORD_H
#define WEFT_TUNE_RECORD_H

#include "tools/weft-tune/start.h"

enum tune_method {
	TUNE_RANDOM,
	TUNE_LINEAR,
	TUNE_HILL,
	TUNE_GENETIC,
	TUNE_HALVING,
	TUNE_GRID,
	TUNE_METHODS
};

/* What a measurement was for. */
enum tune_phase {
	TUNE_SEARCH,
	TUNE_SIMPLIFY, /* the best one with single parameters as they were at first */
	TUNE_FINAL,    /* the best of a search measured again, in turn, with the initial setting */
	TUNE_COMPARE,  /* two optima side by side */
	/* Reference rows: measured beside the finals, in the same rounds. */
	TUNE_REF_OFF, /* one interrupt for one event */
	TUNE_REF_ADAPTIVE,
	TUNE_REF_TARGET,
	TUNE_PHASES
};
enum {
	TUNE_REFERENCES = TUNE_PHASES - TUNE_REF_OFF,
};

/* "off", "adaptive", "target p99=20us": the words of weftctl coalesce. NULL: no reference. */
const char *tune_reference_name(enum tune_phase phase);

/* The setting of a reference, for a target whose limits are base's: these stand beside a mode. */
void tune_reference(enum tune_phase phase, const struct tune_setting *base,
		    struct tune_setting *setting);

const char *tune_method_name(unsigned int method);
int tune_method_by_name(const char *name); /* -1: none */
const char *tune_phase_name(unsigned int phase);

enum {
	TUNE_MAX_GRID = 64,
	TUNE_NAME_CHARS = 128,
	TUNE_TEXT_CHARS = 1024,
	TUNE_PATH_CHARS = 512,
};

/* What was asked for, and where; all that a resumed run and the report need. */
struct tune_plan {
	char target[16];            /* "sim", "device", "netdev" */
	char name[TUNE_NAME_CHARS]; /* of the device or interface, as the target takes it */
	enum tune_method method;
	enum tune_objective objective;
	bool paper;
	uint64_t budget; /* measurements; paper: of each genetic search */
	uint64_t seed;
	uint32_t repeats;
	uint32_t samples; /* paper: random settings, and runs of both optima */
	uint32_t num_grid, grid[TUNE_MAX_GRID];
	struct tune_start start;       /* of hill climbing */
	struct tune_space space;       /* base: the initial setting */
	uint32_t metrics;              /* that the target can measure */
	uint32_t also;                 /* what searches measure beside their objective */
	char what[TUNE_TEXT_CHARS];    /* the target's own words */
	char command[TUNE_TEXT_CHARS]; /* that makes this run again */
};

/* One measurement. */
struct tune_entry {
	enum tune_method method;
	enum tune_objective objective;
	enum tune_phase phase;
	uint32_t step;      /* generation, rung, step of a climb */
	uint32_t candidate; /* within its search */
	uint32_t repeat;
	struct tune_setting setting;
	struct tune_effort effort;
	struct tune_result result;
	double when_s, took_s; /* time of day when it was done, and how long it took */
};

struct tune_record {
	char dir[TUNE_PATH_CHARS]; /* "": in memory alone */
	int fd;                    /* measurements.csv, -1 */
	double synced_s;           /* monotonic time of the last fsync */
	struct tune_entry *entries;
	size_t num, room;
	size_t replayed; /* entries before this one were taken up again by the run */
};

/* All return 0, or a negative errno with a line in error (TUNE_ERROR_CHARS). */

/* A new record in dir, which is made; NULL: in memory. -EEXIST: it holds one already. */
int tune_record_create(struct tune_record *record, const char *dir, const struct tune_plan *plan,
		       char *error);

/* Reads a record. A last line that was not written whole is left out. */
int tune_record_load(struct tune_record *record, const char *dir, struct tune_plan *plan,
		     char *error);

/* Opens a loaded record for more; cuts off a last line that was not written whole. */
int tune_record_continue(struct tune_record *record, char *error);

/* Appends; on disk within a second, or with tune_record_sync(). */
int tune_record_add(struct tune_record *record, const struct tune_entry *entry, char *error);
int tune_record_sync(struct tune_record *record, char *error);
void tune_record_close(struct tune_record *record);

/* A line of the CSV file with its end of line; false when text is no whole entry. */
enum {
	TUNE_LINE_CHARS = 1024,
};
int tune_entry_format(const struct tune_entry *entry, size_t number, char line[TUNE_LINE_CHARS]);
bool tune_entry_parse(const char *line, struct tune_entry *entry);

#endif /* WEFT_TUNE_RECORD_H */
