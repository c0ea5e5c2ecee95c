/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `weft-tune apply`: the best setting of a run, set for good. Called by main.c.
 */
#ifndef WEFT_TUNE_APPLY_H
#define WEFT_TUNE_APPLY_H

#include <stdio.h>

#include "tools/weft-tune/opts.h"

/* Its exit status. out: where it says what was set. */
int tune_apply(const struct tune_opts *o, const struct tune_target_ops *ops, FILE *out);

/* The command that sets the same by hand: "weftctl coalesce ..." or "ethtool -C ...". */
void tune_by_hand(const char *target, const char *name, const struct tune_setting *setting,
		  uint32_t params, char *text, size_t chars);

#endif /* WEFT_TUNE_APPLY_H */
