/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The linear models in the report, beside the paper's. Called by report.c.
 */
#ifndef WEFT_TUNE_REPORT_MODEL_H
#define WEFT_TUNE_REPORT_MODEL_H

#include "tools/weft-tune/analyse.h"
#include "tools/weft-tune/doc.h"

/* A table for each metric; nothing when there is no model. */
void report_models(struct doc *doc, const struct tune_analysis *a);

#endif /* WEFT_TUNE_REPORT_MODEL_H */
