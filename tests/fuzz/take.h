/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads numbers and bytes from an input; behind its end all are zero. For targets whose inputs are
 * no programs of struct rec.
 */
#ifndef WEFT_TESTS_FUZZ_TAKE_H
#define WEFT_TESTS_FUZZ_TAKE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct take {
	const uint8_t *at;
	size_t left;
};

static inline void take_bytes(struct take *t, void *to, size_t bytes)
{
	size_t n = bytes < t->left ? bytes : t->left;

	memset(to, 0, bytes);
	if (n)
		memcpy(to, t->at, n);
	t->at += n;
	t->left -= n;
}

static inline uint8_t take_u8(struct take *t)
{
	uint8_t v;

	take_bytes(t, &v, sizeof(v));
	return v;
}

static inline uint16_t take_u16(struct take *t)
{
	uint16_t v;

	take_bytes(t, &v, sizeof(v));
	return v;
}

static inline uint32_t take_u32(struct take *t)
{
	uint32_t v;

	take_bytes(t, &v, sizeof(v));
	return v;
}

/* Reports a find. */
static inline void take_check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

#endif /* WEFT_TESTS_FUZZ_TAKE_H */
