/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of hash tables in which many entries may have the same key.
 *
 * A chain links the first entry of each key; entries of equal key stand behind it in a ring, in the
 * order in which they were added. So any number of equal keys costs one step, and only unequal keys
 * share a chain. The user compares keys: it walks the chain and names the first entry of a key when
 * it adds another one.
 */
#ifndef WEFT_FW_MULTI_H
#define WEFT_FW_MULTI_H

#include <stdbool.h>
#include <stddef.h>

#include "nic_fw/base/list.h"

/* A place in a chain. All zero is in no chain. */
struct fw_multi {
	struct fw_multi *next;  /* the first entry of the next key; of first entries alone */
	struct fw_multi **link; /* points at this one; NULL: not the first of its key */
	struct fw_list same;    /* those of equal key, in their order */
};

/* Walks the first entries of a chain; the loop may not remove any. */
#define fw_multi_for_each(at, head) for ((at) = (head); (at); (at) = (at)->next, FW_WALK_STEP())

static inline bool fw_multi_is_first(const struct fw_multi *at)
{
	return at->link != NULL;
}

/* Returns the entry that follows this first one, of equal key; NULL: none. */
static inline struct fw_multi *fw_multi_second(struct fw_multi *first)
{
	return fw_list_linked(&first->same) ? FW_CONTAINER(first->same.next, struct fw_multi, same)
					    : NULL;
}

/* Makes an entry the first of its key. */
static inline void fw_multi_enter(struct fw_multi *at, struct fw_multi **link,
				  struct fw_multi *next)
{
	at->link = link;
	at->next = next;
	*link = at;
	if (next)
		next->link = &at->next;
}

/* Adds an entry behind those of equal key. first: the first of them; NULL: there is none. */
static inline void fw_multi_add(struct fw_multi **head, struct fw_multi *first, struct fw_multi *at)
{
	fw_list_init(&at->same);
	if (!first) {
		fw_multi_enter(at, head, *head);
		return;
	}
	at->next = NULL;
	at->link = NULL;
	fw_list_add_tail(&first->same, &at->same);
}

/* Removes an entry; the next one of equal key becomes the first. */
static inline void fw_multi_del(struct fw_multi *at)
{
	struct fw_multi *second = fw_multi_second(at);

	if (at->link && second) {
		fw_multi_enter(second, at->link, at->next);
	} else if (at->link) {
		*at->link = at->next;
		if (at->next)
			at->next->link = at->link;
	}
	fw_list_del(&at->same);
	at->next = NULL;
	at->link = NULL;
}

#endif /* WEFT_FW_MULTI_H */
