/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Noise as hill climbing judges it, for the climb and for the analysis of its record. espgoal 6.2.
 */
#ifndef WEFT_TUNE_METHOD_HILL_H
#define WEFT_TUNE_METHOD_HILL_H

#include "tools/weft-tune/search.h"

/*
 * How far two medians of repeats measurements may lie apart by noise alone, from the standard
 * deviations of the settings that were measured together. 0 without any.
 */
double hill_noise(const double *spreads, size_t num, uint32_t repeats);

/*
 * The same without noise: a difference that is smaller than this share of a value comes from the
 * jitter that the seed chose, not from the setting.
 */
#define HILL_SAME_SHARE 0.001
double hill_margin(double value);

#endif /* WEFT_TUNE_METHOD_HILL_H */
