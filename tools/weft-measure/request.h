/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and answers of weft-measure: one JSON object a line. See README.md for the members.
 *
 * main.c calls these functions and keeps the target. They call jansson. One thread.
 */
#ifndef WEFT_MEASURE_REQUEST_H
#define WEFT_MEASURE_REQUEST_H

#include <jansson.h>

#include "tools/weft-measure/tune.h"

struct request {
	bool restore;                /* put the initial settings back; nothing else counts then */
	bool keep;                   /* leave the setting in force at the end */
	struct tune_setting setting; /* to be set */
	struct tune_effort effort;   /* no metrics: set, measure nothing */
};

/* Reads a line. False, with a line in error (TUNE_ERROR_CHARS): it is no request. */
bool request_parse(const char *line, struct request *request, char *error);

/* The first line: what is measured here, and how far it can be set. */
json_t *answer_target(const struct tune_target_ops *ops, const struct tune_target *target);

/* The metrics that were measured; how long it took. */
json_t *answer_result(const struct tune_result *result, double took_s);

/* rc: a negative errno. */
json_t *answer_error(int rc, const char *error);

/* Writes the answer on a line of standard output and frees it. False: it cannot be written. */
bool answer_send(json_t *answer);

#endif /* WEFT_MEASURE_REQUEST_H */
