/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --quota of the command line, "[user:]KIND=N": what a process, or a user, may have of a kind.
 * Part of args.c's table of options.
 */
#ifndef WEFT_APP_ARGS_QUOTA_H
#define WEFT_APP_ARGS_QUOTA_H

#include <stdbool.h>

#include "shared_defs/hw_share.h"

/* Sets one limit. False: error, of CONF_ERROR_CHARS, says what is wrong. */
bool quota_parse(struct hw_share_limits *quota, const char *text, char *error);

#endif /* WEFT_APP_ARGS_QUOTA_H */
