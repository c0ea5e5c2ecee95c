/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What coalesce.c and coalesce_stats.c have in common: showing and setting, and counters.
 */
#ifndef WEFT_CTL_COALESCE_H
#define WEFT_CTL_COALESCE_H

#include "tools/weftctl/ctl.h"

/* The vectors asked for: *first to *end - 1. An exit code. */
int coalesce_vectors(struct weft_context *context, const struct ctl *ctl, uint32_t *first,
		     uint32_t *end);

/* --stats: the counters since weftd began, printed, or with --json appended to rows. */
int coalesce_stats(struct weft_context *context, const struct ctl *ctl, json_t *rows);
/* --watch: what they gained, a line every so many seconds. Ends by -c or a signal. */
int coalesce_watch(struct weft_context *context, const struct ctl *ctl);

#endif /* WEFT_CTL_COALESCE_H */
