/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the record share: names, errors, lines of CSV, the plan as JSON. Called by
 * record.c and by those that write beside the record; the parts are record_csv.c and record_plan.c.
 */
#ifndef WEFT_TUNE_RECORD_FILE_H
#define WEFT_TUNE_RECORD_FILE_H

#include <jansson.h>

#include "tools/weft-tune/record.h"

#define TUNE_CSV    "measurements.csv"
#define TUNE_PLAN   "run.json"
#define TUNE_RESULT "result.json"

/* Puts one line into error (TUNE_ERROR_CHARS), and returns rc. */
int tune_fail(char *error, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* dir/file; -ENAMETOOLONG. */
int tune_path(char path[TUNE_PATH_CHARS], const char *dir, const char *file, char *error);

/* The names of the columns, with the end of line; returns their length. */
int tune_csv_header(char line[TUNE_LINE_CHARS]);

/* "lat_us+bw_10m"; and back, false: something else. */
void tune_metrics_text(uint32_t metrics, char *text, size_t chars);
bool tune_metrics_parse(const char *text, uint32_t *metrics);

/* A setting as {"rx-usecs": 5, ...}, all of it; and back. */
json_t *tune_setting_json(const struct tune_setting *setting);
bool tune_setting_from_json(const json_t *object, struct tune_setting *setting);

/* A number, null for NAN. */
json_t *tune_number_json(double value);

/* The plan as an object; and back, with a line in error. */
json_t *tune_plan_json(const struct tune_plan *plan);
int tune_plan_save(const struct tune_plan *plan, const char *dir, char *error);
int tune_plan_load(struct tune_plan *plan, const char *dir, char *error);

/* Writes root beside the record whole, or not at all: into a file that is renamed. */
int tune_json_save(json_t *root, const char *dir, const char *file, char *error);

#endif /* WEFT_TUNE_RECORD_FILE_H */
