/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intrusive doubly linked list with a head, as the kernel's: O(1) insertion and removal.
 *
 * A node that is in no list points at itself, so fw_list_linked() can test it.
 */
#ifndef WEFT_FW_LIST_H
#define WEFT_FW_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "nic_fw/base/walk.h"

struct fw_list {
	struct fw_list *next;
	struct fw_list *prev;
};

#define FW_CONTAINER(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

#define fw_list_for_each(pos, head)                                                                \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next, FW_WALK_STEP())

static inline void fw_list_init(struct fw_list *node)
{
	node->next = node;
	node->prev = node;
}

static inline bool fw_list_empty(const struct fw_list *head)
{
	return head->next == head;
}

static inline bool fw_list_linked(const struct fw_list *node)
{
	return node->next != node;
}

static inline void fw_list_add_tail(struct fw_list *head, struct fw_list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void fw_list_add_head(struct fw_list *head, struct fw_list *node)
{
	fw_list_add_tail(head->next, node);
}

/* Removing a node that is in no list does nothing. */
static inline void fw_list_del(struct fw_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	fw_list_init(node);
}

/* Takes the first node out of a list that is not empty. */
static inline struct fw_list *fw_list_take(struct fw_list *head)
{
	struct fw_list *node = head->next;

	assert(node != head);
	FW_WALK_STEP();
	fw_list_del(node);
	return node;
}

/* Takes the first node out; NULL when the list is empty. */
static inline struct fw_list *fw_list_pop(struct fw_list *head)
{
	return fw_list_empty(head) ? NULL : fw_list_take(head);
}

/* Moves every node of from to the tail of to. */
static inline void fw_list_splice_tail(struct fw_list *to, struct fw_list *from)
{
	if (fw_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	fw_list_init(from);
}

/* Moves the nodes behind node, which is in from, to the tail of to. */
static inline void fw_list_cut_behind(struct fw_list *to, struct fw_list *from,
				      struct fw_list *node)
{
	struct fw_list rest;

	if (node->next == from)
		return;
	rest.next = node->next;
	rest.prev = from->prev;
	rest.next->prev = &rest;
	rest.prev->next = &rest;
	node->next = from;
	from->prev = node;
	fw_list_splice_tail(to, &rest);
}

#endif /* WEFT_FW_LIST_H */
