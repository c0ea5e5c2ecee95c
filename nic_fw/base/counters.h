/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of one instance. shared_defs/hw_counters.h lists them; fw_stat() reports their names and
 * values.
 */
#ifndef WEFT_FW_COUNTERS_H
#define WEFT_FW_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/hw_counters.h"

struct fw_counters {
#define X(name, help) uint64_t name;
	HW_COUNTERS(X)
#undef X
};

struct fw_nic;

/* Stores the name and value of counter or gauge i. Returns false past the last. */
bool counters_stat(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value);
uint32_t counters_num(void);

#endif /* WEFT_FW_COUNTERS_H */
