/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of addresses, to be asked which of them covers another. Used by weft_mr_cache.c; its
 * size is fixed, so that nothing is allocated when ranges come and go.
 *
 * An array by start address. max_end is the highest end of a slot and all before it: going back
 * from the last slot that starts early enough, the search stops where nothing reaches far enough.
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

/* 0 or -ENOMEM. */
int weft_mr_table_init(struct weft_mr_table *table, uint32_t size);
void weft_mr_table_free(struct weft_mr_table *table);
/* There is room: the caller has seen to it. */
void weft_mr_table_add(struct weft_mr_table *table, void *entry, uint64_t start, uint64_t bytes);
/* The entry is in it. */
void weft_mr_table_del(struct weft_mr_table *table, const void *entry);
/*
 * An entry whose range covers [start, end) and of which fits() says yes, the one with the highest
 * start; or NULL.
 */
void *weft_mr_table_find(const struct weft_mr_table *table, uint64_t start, uint64_t end,
			 int access, bool (*fits)(const void *entry, int access));

#endif /* WEFT_MR_TABLE_H */
