/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of one shard that wait for receivers of the built-in switch, in one queue per receiver, so
 * that a full receiver delays no other.
 */
#ifndef WEFT_APP_SWITCH_HOLD_H
#define WEFT_APP_SWITCH_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/args/args.h"

struct rte_mbuf;

enum {
	SWITCH_HOLD_FRAMES = 128, /* limit per receiver */
	SWITCH_HOLD_TOTAL = 256,  /* limit in total: all NICs share the frames' pool */
	/* Frames for a receiver that accepts none for this time are dropped. */
	SWITCH_HOLD_NS = 1000000,
	/* a receiver that has accepted frames within this time is slow; otherwise it is stuck. */
	SWITCH_ALIVE_NS = 100000,
};

struct switch_holds {
	uint32_t mask;  /* receivers, by index, with waiting frames */
	uint32_t total; /* number of frames */
	struct switch_hold {
		/*
		 * Time when the receiver last accepted a frame, or when the first one began to
		 * wait.
		 */
		uint64_t since_ns;
		uint32_t count;
		struct rte_mbuf *frame[SWITCH_HOLD_FRAMES];
	} to[CONF_MAX_NICS];
};

/* Appends frames to a receiver's queue. Returns the number for which there was room. */
uint32_t switch_hold_put(struct switch_holds *holds, uint32_t to, struct rte_mbuf **frames,
			 uint32_t n, uint64_t now_ns);

/* Returns true if a receiver with waiting frames has recently accepted some. */
bool switch_hold_alive(const struct switch_holds *holds, uint32_t to, uint64_t now_ns);

/* Passes frames to a receiver; returns the number accepted. */
typedef uint32_t (*switch_hold_fn)(void *ctx, uint32_t to, struct rte_mbuf **frames, uint32_t n);

/*
 * Offers each receiver its waiting frames. Frees frames not accepted for SWITCH_HOLD_NS and counts
 * them in *stuck. Returns the number of frames moved or freed.
 */
uint32_t switch_hold_flush(struct switch_holds *holds, switch_hold_fn fn, void *ctx,
			   uint64_t now_ns, uint64_t *stuck);

/* Frees all waiting frames. */
void switch_hold_drop(struct switch_holds *holds);
/* Frees those for one receiver, which is removed. */
void switch_hold_forget(struct switch_holds *holds, uint32_t to);

#endif /* WEFT_APP_SWITCH_HOLD_H */
