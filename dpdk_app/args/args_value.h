/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of options: numbers, addresses, lists. Each value_*() that returns bool takes the whole
 * string or refuses it. Called by args.c; calls libc.
 */
#ifndef WEFT_APP_ARGS_VALUE_H
#define WEFT_APP_ARGS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* A decimal number within [min, max]. */
bool value_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* A decimal fraction within [min, max]. */
bool value_double(const char *text, double min, double max, double *value);
/* A.B.C.D; network byte order. */
bool value_ip(const char *text, uint32_t *ip);
/* A.B.C.D/LEN; network byte order. LEN is 1 to 30. */
bool value_ip_prefix(const char *text, uint32_t *ip, uint8_t *prefix);
/* "3" or "4-7": CPU numbers, first <= last. */
bool value_cpu_range(const char *text, int *first, int *last);
/* "off" and "on": true and false. */
bool value_off(const char *text, bool *off);
/* The text without the blanks around it: cut off behind, a pointer into it. */
char *value_trim(char *text);

#endif /* WEFT_APP_ARGS_VALUE_H */
