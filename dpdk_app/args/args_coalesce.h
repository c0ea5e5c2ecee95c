/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation as --coalesce gives it. Called by args.c and nic.c; calls
 * shared_defs/coalesce_words.h.
 */
#ifndef WEFT_APP_ARGS_COALESCE_H
#define WEFT_APP_ARGS_COALESCE_H

#include <stdbool.h>

#include "dpdk_app/args/args.h"
#include "shared_defs/hw_limits.h"

/* Takes one "[NIC] [vector N] WORDS". False: error (CONF_ERROR_CHARS) holds one line. */
bool coalesce_add(struct conf *conf, const char *text, char *error)
    __attribute__((warn_unused_result));
/* Once all NICs are known: false, with an error, where one is named that is not there. */
bool coalesce_check(const struct conf *conf, char *error) __attribute__((warn_unused_result));
/* What the vectors of the NIC with that number are set to at start: all lines for it, in order. */
void coalesce_of_nic(const struct conf *conf, uint32_t index,
		     struct hw_coalesce vectors[HW_NUM_VECTORS]);

#endif /* WEFT_APP_ARGS_COALESCE_H */
