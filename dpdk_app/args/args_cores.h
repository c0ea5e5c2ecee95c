/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPUs and their roles, as given by --cores.
 */
#ifndef WEFT_APP_ARGS_CORES_H
#define WEFT_APP_ARGS_CORES_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/args/args.h"

/*
 * Replaces conf->core by the parsed text. On failure returns false; error (CONF_ERROR_CHARS) holds
 * one line with the mistake and its correction, and conf->core is undefined.
 */
bool cores_parse(struct conf *conf, const char *text, char *error)
    __attribute__((warn_unused_result));
/* Returns the number of entries of conf->core with that role. */
uint32_t cores_count(const struct conf *conf, enum conf_role role);

#endif /* WEFT_APP_ARGS_CORES_H */
