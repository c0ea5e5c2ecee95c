/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which receive takes which message, of all ranks.
 *
 * A message waits until a receive matches, or a receive until a message does; of several matches
 * the oldest is taken. It is found in constant time, also with wildcards (GOAL_ANY).
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
 * Finds the partner of op, a send whose message has arrived or a receive that is posted now; the
 * partner then waits no more. GOAL_NO_OP: op waits. Each operation is passed once.
 */
uint32_t match_take_or_wait(struct match *match, uint32_t op);

/* The rank of an operation: of the sender, for a send. */
uint32_t match_rank(const struct match *match, uint32_t op);

/*
 * Number of waiting operations; they are written to ops, if that is not NULL, in the order of the
 * set.
 */
uint32_t match_waiting(const struct match *match, uint32_t *ops);

#endif /* WEFT_GOAL_RUN_MATCH_H */
