/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of users' operations in object files for BPF (ELF).
 */
#ifndef WEFT_GOAL_ELF_H
#define WEFT_GOAL_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "shared_defs/goal_op.h"

/* A program as found in a file. */
struct goal_elf {
	struct goal_op_insn insns[GOAL_OP_MAX_INSNS];
	uint32_t num_insns;
	struct goal_op_shape shape;
};

/*
 * Finds the program of a section in an object file, and its shape in `SECTION.op`. Returns NULL, or
 * why it cannot be used. The file may have any content, at any alignment.
 */
const char *goal_elf_find(const uint8_t *file, size_t bytes, const char *section,
			  struct goal_elf *elf);
/* Likewise of a file by its path. */
const char *goal_elf_read(const char *path, const char *section, struct goal_elf *elf);

#endif /* WEFT_GOAL_ELF_H */
