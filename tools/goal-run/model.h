/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predicts the time of a set of GOAL schedules by the rules of the LogGOPS model alone. The rules
 * are in docs/goal-format.md.
 */
#ifndef WEFT_GOAL_RUN_MODEL_H
#define WEFT_GOAL_RUN_MODEL_H

#include <stdint.h>

#include "host_driver/goal/compile/goal_set.h"

/* Times in ns, per byte where noted. Each at most MODEL_MAX_PARAM. */
struct model_params {
	uint64_t L; /* latency of the network */
	uint64_t o; /* time of a cpu for each message */
	uint64_t g; /* least time between messages of a nic */
	uint64_t G; /* time of a nic for each byte after the first */
	uint64_t O; /* time of a cpu for each byte after the first */
	uint64_t S; /* bytes: larger messages wait for their receive (rendezvous) */
};

#define MODEL_MAX_PARAM (1ull << 40)
#define MODEL_MAX_NS    (1ull << 62) /* greatest time */

struct model_result {
	uint64_t *rank_ns; /* time at which the last cpu of each rank becomes free */
	uint64_t finish_ns;
	uint32_t last_rank; /* the first of those that finish last */
	/*
	 * Operations without a partner: receives that were posted, and sends whose message arrived,
	 * in the order of ranks. 0: every operation was executed.
	 */
	uint32_t *unmatched;
	uint32_t num_unmatched;
};

/*
 * Runs set to its end, or until no event is left (num_unmatched above 0). Returns 0, -ENOMEM, or
 * -ERANGE when a time is beyond MODEL_MAX_NS. The caller frees result when 0 is returned.
 */
int model_run(const struct goal_set *set, const struct model_params *params,
	      struct model_result *result) __attribute__((warn_unused_result));
void model_result_free(struct model_result *result);

#endif /* WEFT_GOAL_RUN_MODEL_H */
