/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hill climbing and the analysis of its record share. Called by method_hill.c, analyse.c.
 */
#ifndef WEFT_TUNE_METHOD_HILL_H
#define WEFT_TUNE_METHOD_HILL_H

#include "tools/weft-tune/search.h"

/*
 * How far two medians of repeats measurements may lie apart by noise alone, from the standard
 * deviations of the settings that were measured together. 0 without any.
 */
double hill_noise(const double *spreads, size_t num, uint32_t repeats);

#endif /* WEFT_TUNE_METHOD_HILL_H */
