/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of weft-bench reg, for reg.c; each is a crew_fn (crew.h).
 */
#ifndef WEFT_BENCH_REG_H
#define WEFT_BENCH_REG_H

#include "tools/weft-bench/crew.h"

/* Cost of registering and deregistering, by size and kind of memory. One rank. */
int reg_cost(struct crew *c, void *arg);

/* The policies of the registration cache under a pattern of use. One rank. */
int reg_policies(struct crew *c, void *arg);

/* Ping-pong with buffers registered for each message or kept by the cache. Two ranks. */
int reg_ping(struct crew *c, void *arg);

/* Both ways at once with buffers of mmap() and of malloc(), from the brk heap too. Two ranks. */
int reg_heap(struct crew *c, void *arg);

#endif /* WEFT_BENCH_REG_H */
