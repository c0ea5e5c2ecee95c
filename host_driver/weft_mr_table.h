/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of address ranges with lookup of a covering range. Its size is fixed, so adding and
 * deleting ranges allocates nothing.
 *
 * The ranges are an array sorted by start address. max_end is the highest end of a slot and all
 * slots before it. A search goes backwards from the last slot that starts early enough and stops
 * when max_end is too low.
 */
#ifndef WEFT_MR_TABLE_H
#define WEFT_MR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct weft_mr_slot {
	uint64_t start;
	uint64_t end;
	uint64_t max_end;
	void *entry;
};

struct weft_mr_table {
	struct weft_mr_slot *slots;
	uint32_t count;
	uint32_t size;
};

/* Returns 0 or -ENOMEM. */
int weft_mr_table_init(struct weft_mr_table *table, uint32_t size);
void weft_mr_table_free(struct weft_mr_table *table);
/* The caller ensures that there is room. */
void weft_mr_table_add(struct weft_mr_table *table, void *entry, uint64_t start, uint64_t bytes);
/* The entry must be in the table. */
void weft_mr_table_del(struct weft_mr_table *table, const void *entry);
/*
 * Returns the entry with the highest start whose range covers [start, end) and for which fits()
 * returns true; or NULL.
 */
void *weft_mr_table_find(const struct weft_mr_table *table, uint64_t start, uint64_t end,
			 int access, bool (*fits)(const void *entry, int access));

#endif /* WEFT_MR_TABLE_H */
