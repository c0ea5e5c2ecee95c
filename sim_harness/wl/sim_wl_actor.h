/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts that the processes of several workloads have in common. See sim_wl_actor.c.
 */
#ifndef WEFT_SIM_WL_ACTOR_H
#define WEFT_SIM_WL_ACTOR_H

#include "sim_harness/wl/sim_workload.h"

/*
 * Begins the steps of num processes, size bytes apart in memory, one nanosecond after the other:
 * step() is called with each.
 */
void wl_actor_start(struct sim_run *run, sim_fn step, void *actors, size_t size, uint32_t num);

/* Calls step() again after a time drawn from low_ns to high_ns; a slow process takes longer. */
void wl_actor_again(const struct sim_end *end, struct sim_prng *prng, uint64_t low_ns,
		    uint64_t high_ns, sim_fn step, void *actor);

/* The first of so many bits that is 0; num if none is. */
uint32_t wl_actor_free(uint64_t used, uint32_t num);

/* Reports a completion with an error; of: "a receive". */
void wl_actor_failed(struct sim_run *run, uint32_t index, const struct weft_wc *wc, const char *of);

/* The first of the bytes, beginning with number from, that has another value; bytes if none has. */
uint32_t wl_actor_changed(const uint8_t *at, uint32_t from, uint32_t bytes, uint8_t value);

/* Frames that the network delivered a second time. */
uint64_t wl_actor_duplicated(struct sim_run *run);
/* Frames to or from a NIC that were lost, and counted, outside its firmware. */
uint64_t wl_actor_lost(const struct sim_nic *nic);

/* Runs the simulation until unaccounted() is 0 or less, at most for limit_ns or to a failure. */
void wl_actor_settle(struct sim_run *run, int64_t (*unaccounted)(struct sim_run *run),
		     uint64_t limit_ns);

#endif /* WEFT_SIM_WL_ACTOR_H */
