/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of one shard that wait for receivers of the built-in switch, each receiver's by
 * themselves: what a receiver has no room for holds up nobody else.
 */
#ifndef WEFT_APP_SWITCH_HOLD_H
#define WEFT_APP_SWITCH_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/args/args.h"

struct rte_mbuf;

enum {
	SWITCH_HOLD_FRAMES = 128, /* that wait for one receiver */
	SWITCH_HOLD_TOTAL = 256,  /* and for all: they are of a pool that all NICs share */
	SWITCH_HOLD_NS = 1000000, /* a receiver that takes none for so long loses them */
	SWITCH_ALIVE_NS = 100000, /* one that took some since is behind; else it is stuck */
};

struct switch_holds {
	uint32_t mask;  /* receivers, by index, for which frames wait */
	uint32_t total; /* frames */
	struct switch_hold {
		uint64_t since_ns; /* when the receiver took one last, or the first began to wait */
		uint32_t count;
		struct rte_mbuf *frame[SWITCH_HOLD_FRAMES];
	} to[CONF_MAX_NICS];
};

/* Keeps frames for a receiver, behind those that wait. Returns how many there was room for. */
uint32_t switch_hold_put(struct switch_holds *holds, uint32_t to, struct rte_mbuf **frames,
			 uint32_t n, uint64_t now_ns);

/* Whether a receiver for which frames wait has taken some of late. */
bool switch_hold_alive(const struct switch_holds *holds, uint32_t to, uint64_t now_ns);

/* Hands frames to a receiver; returns how many it took. */
typedef uint32_t (*switch_hold_fn)(void *ctx, uint32_t to, struct rte_mbuf **frames, uint32_t n);

/*
 * Offers each receiver what waits for it. What one has not taken for SWITCH_HOLD_NS is freed, and
 * counted in *stuck. Returns how many frames moved or were freed.
 */
uint32_t switch_hold_flush(struct switch_holds *holds, switch_hold_fn fn, void *ctx,
			   uint64_t now_ns, uint64_t *stuck);

/* Frees all that waits. */
void switch_hold_drop(struct switch_holds *holds);

#endif /* WEFT_APP_SWITCH_HOLD_H */
