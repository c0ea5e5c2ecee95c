/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of local operations on arrays by sets of instructions: goal_localop.c.
 * goal_local_run() is in goal.h.
 */
#ifndef WEFT_FW_GOAL_LOCALOP_H
#define WEFT_FW_GOAL_LOCALOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * As goal_local_run(), but not COPY: wide is for processors that have the wide set, and gives the
 * same results to the bit.
 */
bool goal_local_run_as(bool wide, uint8_t op, uint8_t type, uint8_t width, void *result,
		       const void *a, const void *b, uint64_t count);
/* True if this processor has the wide set: AVX2. */
bool goal_local_has_wide(void);

#endif /* WEFT_FW_GOAL_LOCALOP_H */
