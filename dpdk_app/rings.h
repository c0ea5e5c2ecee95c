/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings with several producers and one consumer.
 */
#ifndef WEFT_APP_RINGS_H
#define WEFT_APP_RINGS_H

#include <stdbool.h>
#include <stdint.h>

struct app;
struct rte_ring;

/*
 * Creates a ring for frames between cores, for the fast path; NULL: out of memory. Control thread,
 * before they run.
 */
struct rte_ring *rings_of_frames(const struct app *app, const char *name, uint32_t entries);

/* Creates a ring for messages between the control thread, other weftd threads, and cores. */
struct rte_ring *rings_of_messages(const char *name, uint32_t entries);

#endif /* WEFT_APP_RINGS_H */
