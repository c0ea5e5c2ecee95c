/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The labels of one rank while its text is read: name to operation.
 *
 * Called by goal_text.c. Names are not copied: they must stay where they are until the labels
 * are cleared or dropped. Not for several threads at once.
 */
#ifndef WEFT_GOAL_LABEL_H
#define WEFT_GOAL_LABEL_H

#include <stddef.h>
#include <stdint.h>

struct goal_label;

struct goal_labels {
	struct goal_label *table; /* open addressing; room is a power of two */
	size_t room, num;
	uint32_t stamp; /* entries of other stamps are empty */
	uint64_t key[2];
};

void goal_labels_init(struct goal_labels *labels);
void goal_labels_drop(struct goal_labels *labels);
/* Forgets all, in constant time. */
void goal_labels_clear(struct goal_labels *labels);
/*
 * Gives the name to op. Returns op; the operation that has this name already; or GOAL_NO_OP:
 * no memory.
 */
uint32_t goal_labels_add(struct goal_labels *labels, const char *name, size_t bytes, uint32_t op);
/* The operation of that name, or GOAL_NO_OP. */
uint32_t goal_labels_find(const struct goal_labels *labels, const char *name, size_t bytes);

#endif /* WEFT_GOAL_LABEL_H */
