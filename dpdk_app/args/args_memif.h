/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words after the path in --port memif:PATH.
 */
#ifndef WEFT_APP_ARGS_MEMIF_H
#define WEFT_APP_ARGS_MEMIF_H

#include "dpdk_app/args/args.h"

/*
 * Fills *nic from "PATH,server,uid=N,secret=TEXT"; everything except PATH is optional. *chars:
 * length of PATH. Returns NULL, or an error message.
 */
const char *memif_port_parse(const char *text, struct conf_nic *nic, size_t *chars)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_MEMIF_H */
