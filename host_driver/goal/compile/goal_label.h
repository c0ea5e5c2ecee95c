/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels of one rank during parsing: maps a name to an operation.
 *
 * Names are not copied: they must stay valid until the labels are cleared or dropped. Not
 * thread-safe.
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
/* Removes all labels in constant time. */
void goal_labels_clear(struct goal_labels *labels);
/*
 * Binds the name to op. Returns op, the operation already bound to the name, or GOAL_NO_OP when
 * memory is exhausted.
 */
uint32_t goal_labels_add(struct goal_labels *labels, const char *name, size_t bytes, uint32_t op);
/* Returns the operation bound to the name, or GOAL_NO_OP. */
uint32_t goal_labels_find(const struct goal_labels *labels, const char *name, size_t bytes);

#endif /* WEFT_GOAL_LABEL_H */
