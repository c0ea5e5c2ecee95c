/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which receive takes which message, of all ranks.
 *
 * Called by model.c. A message waits until a receive fits, or a receive until a message does; of
 * several that fit, the first that waited is taken. It is found in constant time, also where
 * wildcards (GOAL_ANY) are.
 */
#ifndef WEFT_GOAL_RUN_MATCH_H
#define WEFT_GOAL_RUN_MATCH_H

#include <stdint.h>

#include "host_driver/goal/compile/goal_set.h"

struct match;

/* NULL: no memory. set must outlive it. */
struct match *match_create(const struct goal_set *set);
void match_free(struct match *match);

/*
 * op, a send whose message has arrived or a receive that is posted now, finds the operation
 * that takes part with it, which then waits no more; or GOAL_NO_OP, and op waits. Each
 * operation comes here once.
 */
uint32_t match_take_or_wait(struct match *match, uint32_t op);

/* The rank of an operation: of the sender, for a send. */
uint32_t match_rank(const struct match *match, uint32_t op);

/* How many wait; their operations into ops, if that is not NULL, in the order of the set. */
uint32_t match_waiting(const struct match *match, uint32_t *ops);

#endif /* WEFT_GOAL_RUN_MATCH_H */
