/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that several threads put into and one takes out of.
 */
#ifndef WEFT_APP_RINGS_H
#define WEFT_APP_RINGS_H

#include <stdbool.h>
#include <stdint.h>

struct app;
struct rte_ring;

/* Frames between cores, for the fast path; NULL: no memory. Control thread, before they run. */
struct rte_ring *rings_of_frames(const struct app *app, const char *name, uint32_t entries);

/* Messages between the control thread, others of weftd's own, and cores. */
struct rte_ring *rings_of_messages(const char *name, uint32_t entries);

#endif /* WEFT_APP_RINGS_H */
