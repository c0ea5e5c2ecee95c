/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutations that keep a program a program: whole records are inserted, duplicated, moved and
 * removed; within one, mostly one field changes, to boundary values.
 *
 * See fuzz.h.
 */
#include <string.h>

#include "lib/prng.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

static uint64_t state;

static uint32_t below(uint32_t n)
{
	return (uint32_t)prng_below(&state, n);
}

static uint32_t word(void)
{
	static const uint32_t edges[] = {
	    0,       1,     2,     7,          8,        63,         64,
	    127,     128,   255,   256,        1023,     1024,       1408,
	    4096,    65535, 65536, 0x7fffffff, 1u << 31, UINT32_MAX, UINT32_MAX - 7,
	    1u << 30};

	switch (below(4)) {
	case 0:
		return edges[below(sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return below(16);
	case 2:
		return below(1u << (1 + below(31)));
	default:
		return below(UINT32_MAX);
	}
}

static void fresh(struct rec *r)
{
	r->op = (uint8_t)below(32);
	r->a = (uint8_t)below(below(2) ? 16 : 256);
	r->b = (uint8_t)below(below(2) ? 16 : 256);
	r->c = (uint8_t)(below(2) ? 0 : below(256));
	r->x = below(3) ? word() & 0xffffff : word();
	r->y = below(2) ? 0 : word();
	r->z = below(2) ? 0 : word();
}

static void change(struct rec *r)
{
	uint32_t *field = &r->x + below(3);
	uint8_t *byte = &r->op + below(4);

	switch (below(6)) {
	case 0:
		*byte = (uint8_t)word();
		break;
	case 1:
		*byte ^= (uint8_t)(1u << below(8));
		break;
	case 2:
		*field = word();
		break;
	case 3:
		*field ^= 1u << below(32);
		break;
	case 4:
		*field += below(65) - 32;
		break;
	case 5:
		fresh(r);
		break;
	}
}

static size_t mutate_once(struct rec *p, size_t n, size_t max)
{
	size_t at = n ? below((uint32_t)n) : 0, from, k;

	switch (n ? below(10) : 0) {
	case 0: /* a new one */
	case 1:
		if (n == max)
			break;
		memmove(p + at + 1, p + at, (n - at) * sizeof(*p));
		fresh(&p[at]);
		return n + 1;
	case 2: /* repeats some records elsewhere */
		k = 1 + below(6);
		from = below((uint32_t)n);
		if (k > n - from)
			k = n - from;
		if (n + k > max)
			break;
		memmove(p + at + k, p + at, (n - at) * sizeof(*p));
		memmove(p + at, p + (from >= at ? from + k : from),
			(from >= at || from + k <= at ? k : at - from) * sizeof(*p));
		return n + k;
	case 3: /* removes some */
		k = 1 + below(below(2) ? 2 : 8);
		if (k > n - at)
			k = n - at;
		memmove(p + at, p + at + k, (n - at - k) * sizeof(*p));
		return n - k;
	case 4: /* swaps two */
		from = below((uint32_t)n);
		struct rec r = p[at];
		p[at] = p[from];
		p[from] = r;
		break;
	default:
		change(&p[at]);
		break;
	}
	return n;
}

size_t fuzz_mutate_rec(uint8_t *data, size_t bytes, size_t max, unsigned int seed,
		       size_t (*other)(uint8_t *data, size_t bytes, size_t max))
{
	static struct rec program[REC_MAX];
	size_t n = bytes / sizeof(program[0]), most = max / sizeof(program[0]), k;

	state = seed;
	if (most > REC_MAX)
		most = REC_MAX;
	if (n > most)
		n = most;
	memcpy(program, data, n * sizeof(program[0]));
	if (n && !below(4)) {
		/* libFuzzer knows the operands of comparisons. */
		struct rec *r = &program[below((uint32_t)n)];

		other((uint8_t *)r, sizeof(*r), sizeof(*r));
	} else {
		for (k = 1 + below(below(2) ? 2 : 6); k; k--)
			n = mutate_once(program, n, most);
	}
	memcpy(data, program, n * sizeof(program[0]));
	return n * sizeof(program[0]);
}
