/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of the firmware, the port, the wire and the core, as one list in the style of ethtool
 * -S.
 *
 * All functions run on the core of the shard.
 */
#ifndef WEFT_APP_STATS_H
#define WEFT_APP_STATS_H

#include <stdint.h>

#include "dpdk_app/app.h"
#include "shared_defs/hw_cmd.h"

enum {
	STATS_MAX = 1024,     /* counters per shard */
	STATS_WIRE_MAX = 640, /* of those, counters of its wire */
};

/*
 * Writes up to max counters from number first on, always in the same order. Returns their number.
 * The time depends on max only, so a process that reads all counters does not cause a long turn.
 */
uint32_t stats_some(const struct shard *shard, uint32_t first, struct hw_stat *stat, uint32_t max);

/* Answers HW_CMD_STATS from counter number cursor on. */
void stats_answer(const struct shard *shard, uint32_t cursor, struct hw_resp_stats *resp);

/* Writes one counter; its name is truncated if necessary. */
void stats_put(struct hw_stat *stat, const char *prefix, const char *name, uint64_t value);

#endif /* WEFT_APP_STATS_H */
