/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges sorted by start address; see weft_mr_table.h. Runs under the cache's lock.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/weft_mr_table.h"

int weft_mr_table_init(struct weft_mr_table *table, uint32_t size)
{
	table->slots = calloc(size, sizeof(*table->slots));
	table->count = 0;
	table->size = size;
	return table->slots ? 0 : -ENOMEM;
}

void weft_mr_table_free(struct weft_mr_table *table)
{
	free(table->slots);
	memset(table, 0, sizeof(*table));
}

/* Returns the first slot that starts beyond start. */
static uint32_t upper_bound(const struct weft_mr_table *table, uint64_t start)
{
	uint32_t low = 0, high = table->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (table->slots[middle].start <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void set_max_ends(struct weft_mr_table *table, uint32_t from)
{
	uint64_t max = from ? table->slots[from - 1].max_end : 0;

	for (uint32_t i = from; i < table->count; i++) {
		if (table->slots[i].end > max)
			max = table->slots[i].end;
		/* From here on nothing changes. */
		if (i > from && table->slots[i].max_end == max)
			break;
		table->slots[i].max_end = max;
	}
}

void weft_mr_table_add(struct weft_mr_table *table, void *entry, uint64_t start, uint64_t bytes)
{
	uint32_t at = upper_bound(table, start);
	struct weft_mr_slot slot = {.start = start, .end = start + bytes, .entry = entry};

	assert(table->count < table->size);
	memmove(table->slots + at + 1, table->slots + at,
		(table->count - at) * sizeof(*table->slots));
	table->slots[at] = slot;
	table->count++;
	set_max_ends(table, at);
}

void weft_mr_table_del(struct weft_mr_table *table, const void *entry)
{
	uint32_t at;

	for (at = 0; at < table->count && table->slots[at].entry != entry; at++)
		;
	assert(at < table->count);
	table->count--;
	memmove(table->slots + at, table->slots + at + 1,
		(table->count - at) * sizeof(*table->slots));
	set_max_ends(table, at);
}

void *weft_mr_table_find(const struct weft_mr_table *table, uint64_t start, uint64_t end,
			 int access, bool (*fits)(const void *entry, int access))
{
	uint32_t at = upper_bound(table, start);

	while (at && table->slots[at - 1].max_end >= end) {
		at--;
		if (table->slots[at].end >= end && fits(table->slots[at].entry, access))
			return table->slots[at].entry;
	}
	return NULL;
}
