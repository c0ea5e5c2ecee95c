/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of the C library that the firmware may call: those that a compiler itself expects
 * on bare metal (GCC manual, "Language Standards Supported by GCC"). `make fw-cross` compiles
 * nic_fw with this folder in place of the system's headers.
 */
#ifndef WEFT_FREESTANDING_STRING_H
#define WEFT_FREESTANDING_STRING_H

#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t bytes);
void *memmove(void *dst, const void *src, size_t bytes);
void *memset(void *dst, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

#endif /* WEFT_FREESTANDING_STRING_H */
