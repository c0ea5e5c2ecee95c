/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The value of --port: the kind of a wire, and its device.
 */
#ifndef WEFT_APP_ARGS_PORT_H
#define WEFT_APP_ARGS_PORT_H

#include <stdbool.h>

#include "dpdk_app/args/args.h"

/*
 * Parses NETDEV, memif:PATH, pci:ADDR or tap:NAME into *nic, without an address. conf has the NICs
 * that exist. False: error, of CONF_ERROR_CHARS, has the reason.
 */
bool port_parse(const struct conf *conf, const char *text, struct conf_nic *nic, char *error)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_PORT_H */
