/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of NICs in the values of options.
 */
#ifndef WEFT_APP_ARGS_NIC_H
#define WEFT_APP_ARGS_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/args/args.h"

/* Returns true if NIC index has that name. */
bool conf_nic_is(const struct conf *conf, uint32_t index, const char *name);

/*
 * Call it once all NICs are known. Returns false with an error (CONF_ERROR_CHARS) if there is no
 * NIC of the name that a value of --option begins with. An empty name stands for all NICs.
 */
bool conf_nic_check(const struct conf *conf, const char *option, const char *name, char *error)
    __attribute__((warn_unused_result));

#endif /* WEFT_APP_ARGS_NIC_H */
