/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation as given by --coalesce.
 */
#ifndef WEFT_APP_ARGS_COALESCE_H
#define WEFT_APP_ARGS_COALESCE_H

#include <stdbool.h>

#include "dpdk_app/args/args.h"
#include "shared_defs/hw_limits.h"

/*
 * Adds one "[NIC] [vector N] WORDS". On failure returns false with one line in error
 * (CONF_ERROR_CHARS).
 */
bool coalesce_add(struct conf *conf, const char *text, char *error)
    __attribute__((warn_unused_result));
/* Call it once all NICs are known. Returns false with an error if a named NIC does not exist. */
bool coalesce_check(const struct conf *conf, char *error) __attribute__((warn_unused_result));
/* Returns the initial settings of the vectors of one NIC: all matching lines, in order. */
void coalesce_of_nic(const struct conf *conf, uint32_t index,
		     struct hw_coalesce vectors[HW_NUM_VECTORS]);

#endif /* WEFT_APP_ARGS_COALESCE_H */
