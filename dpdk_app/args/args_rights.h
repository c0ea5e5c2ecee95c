/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of --user and --seccomp.
 */
#ifndef WEFT_APP_ARGS_RIGHTS_H
#define WEFT_APP_ARGS_RIGHTS_H

#include <stdbool.h>

#include "dpdk_app/args/args.h"

/*
 * Fill conf. On failure return false; error (CONF_ERROR_CHARS) holds one line: what is wrong and
 * how to fix it.
 */
bool rights_user(struct conf *conf, const char *text, char *error)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_RIGHTS_H */
