/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The load of a shard: the part of its core's time that went into turns with work for it.
 *
 * A turn without work counts as idle, however long the core polls. The time of a turn is divided
 * among the core's shards by their work (frames, requests, timers). One period lasts a second, or
 * as long as the core slept. lcore.c counts; weftctl list shows it, and client_cmd.c gives new
 * processes to shards by it.
 */
#ifndef WEFT_APP_LOAD_H
#define WEFT_APP_LOAD_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LOAD_PERIOD_NS = 1000000000,
};

struct load {
	uint64_t busy_ns;     /* since the start */
	uint64_t reported_ns; /* busy_ns at the begin of the period */
};

/* Adds the shard's part of a turn: work of all the work that was done in it. */
static inline void load_add(struct load *load, uint64_t ns, uint32_t work, uint32_t all)
{
	load->busy_ns += work == all ? ns : ns * work / all;
}

/* Ends a period that took so long; returns the load in it, in parts of 1000. */
static inline uint32_t load_period(struct load *load, uint64_t took_ns)
{
	uint64_t busy_ns = load->busy_ns - load->reported_ns;

	load->reported_ns = load->busy_ns;
	/* The last turn of a period may have begun before it. */
	return busy_ns >= took_ns ? 1000 : (uint32_t)(busy_ns * 1000 / took_ns);
}

#endif /* WEFT_APP_LOAD_H */
