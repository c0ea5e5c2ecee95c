/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * result.json and measurements.json: best settings, references, and every measurement, for
 * programs. Called by main.c and apply.c; calls jansson.
 */
#ifndef WEFT_TUNE_RESULT_H
#define WEFT_TUNE_RESULT_H

#include <jansson.h>

#include "tools/weft-tune/analyse.h"

/* All results as an object; NULL: no memory. complete: the run reached its end. */
json_t *result_json(const struct tune_analysis *a, bool complete);

/* Writes both files into dir. Returns 0, or a negative errno with a line in error. */
int result_save(const struct tune_analysis *a, bool complete, const char *dir, char *error);

/* True when dir has the result of a run that reached its end with so many measurements. */
bool result_is_complete(const char *dir, size_t num);

/*
 * The best setting for an objective in a result.json, or in a folder that has one. objective < 0:
 * the only one there is; *params: which of its values count. Returns 0, or a negative errno with a
 * line in error.
 */
int result_best(const char *path, int objective, struct tune_setting *setting, uint32_t *params,
		char *error);

#endif /* WEFT_TUNE_RESULT_H */
