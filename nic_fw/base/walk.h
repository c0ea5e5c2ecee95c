/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of walks along lists and chains: each node that a loop visits, and each that it takes out.
 *
 * Builds for tests count them (FW_COUNT_WALKS), so that a test can bound the work of a turn without
 * a clock. A product counts nothing. A loop of a shape of its own calls FW_WALK_STEP() itself.
 */
#ifndef WEFT_FW_WALK_H
#define WEFT_FW_WALK_H

#include <stdint.h>

/* The steps of this thread since a test set it to zero. */
extern _Thread_local uint64_t fw_walk_steps;

#ifdef FW_COUNT_WALKS
#define FW_WALK_STEP() ((void)fw_walk_steps++)
#else
#define FW_WALK_STEP() ((void)0)
#endif

#endif /* WEFT_FW_WALK_H */
