/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --quota, "[user:]KIND=N": the limit of a process or a user for one kind of resource. Part of
 * args.c's table of options.
 */
#ifndef WEFT_APP_ARGS_QUOTA_H
#define WEFT_APP_ARGS_QUOTA_H

#include <stdbool.h>

#include "shared_defs/hw_share.h"

/* Sets one limit. On failure returns false with a message in error (CONF_ERROR_CHARS). */
bool quota_parse(struct hw_share_limits *quota, const char *text, char *error);

/* Returns the word of a kind. */
const char *quota_word(enum hw_share kind);

#endif /* WEFT_APP_ARGS_QUOTA_H */
