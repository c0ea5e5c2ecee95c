/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPUs and their roles, as --cores gives them. Called by args.c; calls args_value.c.
 */
#ifndef WEFT_APP_ARGS_CORES_H
#define WEFT_APP_ARGS_CORES_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/args/args.h"

/*
 * Replaces conf->core by what text says. False: error (CONF_ERROR_CHARS) holds one line: what is
 * wrong and how to mend it; conf->core is then undefined.
 */
bool cores_parse(struct conf *conf, const char *text, char *error)
    __attribute__((warn_unused_result));
/* Entries of conf->core with that role. */
uint32_t cores_count(const struct conf *conf, enum conf_role role);
/* "io", "coll", "ctl". */
const char *cores_role_name(enum conf_role role);

#endif /* WEFT_APP_ARGS_CORES_H */
