/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: those of the firmware, of the port, of the wire and of the core, as one list
 * in the style of ethtool -S.
 *
 * Called by msg.c on the core of the shard.
 */
#ifndef WEFT_APP_STATS_H
#define WEFT_APP_STATS_H

#include <stdint.h>

#include "dpdk_app/app.h"
#include "shared_defs/hw_cmd.h"

enum {
	STATS_MAX = 1024,     /* counters of one shard */
	STATS_WIRE_MAX = 640, /* of them, of its wire */
};

/*
 * Writes up to max counters from number first on; the order never changes. Returns how many. Takes
 * as long as those take, so that a process that asks for all makes no long turn.
 */
uint32_t stats_some(const struct shard *shard, uint32_t first, struct hw_stat *stat, uint32_t max);

/* Answers HW_CMD_STATS from counter number cursor on. */
void stats_answer(const struct shard *shard, uint32_t cursor, struct hw_resp_stats *resp);

/* One counter, its name cut to what fits. */
void stats_put(struct hw_stat *stat, const char *prefix, const char *name, uint64_t value);

#endif /* WEFT_APP_STATS_H */
