/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of the programs that move bytes through sockets: checks, and the content of the streams.
 * Used by rs_data.c, sk_calls.c, sk_data.c and sk_exec.c.
 */
#ifndef WEFT_TESTS_STREAM_DATA_H
#define WEFT_TESTS_STREAM_DATA_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Otherwise prints the condition with errno and ends with exit status 1. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #cond,              \
				strerror(errno));                                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Byte i of the stream in this direction. */
static inline uint8_t byte_at(uint64_t i, int way)
{
	return (uint8_t)((i * 131 >> 4) ^ i ^ (unsigned int)way);
}

#endif /* WEFT_TESTS_STREAM_DATA_H */
