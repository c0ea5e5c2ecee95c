/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words behind the path in --port memif:PATH. Calls args_value.c.
 */
#ifndef WEFT_APP_ARGS_MEMIF_H
#define WEFT_APP_ARGS_MEMIF_H

#include "dpdk_app/args/args.h"

/*
 * Fills *nic from "PATH,server,uid=N,secret=TEXT", all but PATH optional; *chars: of PATH. NULL, or
 * what is wrong, in words.
 */
const char *memif_port_parse(const char *text, struct conf_nic *nic, size_t *chars)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_MEMIF_H */
