/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to coalesce.c and coalesce_stats.c: showing and setting, and counters.
 */
#ifndef WEFT_CTL_COALESCE_H
#define WEFT_CTL_COALESCE_H

#include "tools/weftctl/ctl.h"

/* The requested vectors: *first to *end - 1. Returns an exit code. */
int coalesce_vectors(struct weft_context *context, const struct ctl *ctl, uint32_t *first,
		     uint32_t *end);

/* --stats: prints the counters since weftd's start, or with --json appends them to rows. */
int coalesce_stats(struct weft_context *context, const struct ctl *ctl, json_t *rows);
/* --watch: prints their differences, a line every interval. Ends by -c or a signal. */
int coalesce_watch(struct weft_context *context, const struct ctl *ctl);

#endif /* WEFT_CTL_COALESCE_H */
