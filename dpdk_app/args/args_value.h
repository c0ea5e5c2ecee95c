/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of options: numbers, addresses, lists. Each value_*() that returns bool accepts or rejects
 * the whole string.
 */
#ifndef WEFT_APP_ARGS_VALUE_H
#define WEFT_APP_ARGS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a decimal number within [min, max]. */
bool value_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* Parses A.B.C.D; result in network byte order. */
bool value_ip(const char *text, uint32_t *ip);
/* Parses A.B.C.D/LEN; result in network byte order. LEN is 1 to 30. */
bool value_ip_prefix(const char *text, uint32_t *ip, uint8_t *prefix);
/* Parses a CPU number "3" or range "4-7", first <= last. */
bool value_cpu_range(const char *text, int *first, int *last);

#endif /* WEFT_APP_ARGS_VALUE_H */
