/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A binary heap in an array of the caller's: the item with the least key comes out first. Each item
 * begins with two uint64_t, the key (a time) and a sequence number that orders equal keys. The size
 * of an item is a constant, so that the compiler makes moves of it. Calls nothing.
 */
#ifndef WEFT_LIB_HEAP_H
#define WEFT_LIB_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEAP_INLINE static inline __attribute__((always_inline))

HEAP_INLINE bool heap_before(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return x[0] != y[0] ? x[0] < y[0] : x[1] < y[1];
}

/* Adds *item to the num items of a heap that has room for one more. */
HEAP_INLINE void heap_push(void *heap, size_t num, const void *item, size_t item_bytes)
{
	char *at = heap;
	size_t i = num, up;

	for (; i; i = up) {
		up = (i - 1) / 2;
		if (!heap_before(item, at + up * item_bytes))
			break;
		memcpy(at + i * item_bytes, at + up * item_bytes, item_bytes);
	}
	memcpy(at + i * item_bytes, item, item_bytes);
}

/* Moves the first of the num items, at least one, to *item. Afterwards there is one item less. */
HEAP_INLINE void heap_pop(void *heap, size_t num, void *item, size_t item_bytes)
{
	char *at = heap, *last = at + (num - 1) * item_bytes;
	size_t i = 0, down;

	memcpy(item, at, item_bytes);
	num--;
	while ((down = 2 * i + 1) < num) {
		if (down + 1 < num &&
		    heap_before(at + (down + 1) * item_bytes, at + down * item_bytes))
			down++;
		if (!heap_before(at + down * item_bytes, last))
			break;
		memcpy(at + i * item_bytes, at + down * item_bytes, item_bytes);
		i = down;
	}
	if (i != num)
		memcpy(at + i * item_bytes, last, item_bytes);
}

#endif /* WEFT_LIB_HEAP_H */
