/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of object files with users' operations: a small object that is right, and hostile
 * ones: cut off at each byte, with each field of headers set to extreme values, with bits turned.
 * Memory ends where the file does, so that sanitizers see a look beyond.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_driver/goal/file/goal_elf.h"
#include "tests/tmp.h"
#include "tests/ut.h"

#ifndef EM_BPF
#define EM_BPF 247
#endif

enum {
	NONE,
	NAMES,
	PROGRAM,
	SHAPE,
	RELOCATED,
	SECTIONS,
};

static const char names[] = "\0.strtab\0op\0op.op\0.rel";

static const struct object {
	Elf64_Ehdr header;
	Elf64_Shdr section[SECTIONS];
	char names[sizeof(names)];
	struct goal_op_insn insns[2];
	struct goal_op_shape shape;
} right = {
    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
	       .e_machine = EM_BPF,
	       .e_shoff = offsetof(struct object, section),
	       .e_shentsize = sizeof(Elf64_Shdr),
	       .e_shnum = SECTIONS,
	       .e_shstrndx = NAMES},
    .section = {[NAMES] = {.sh_name = 1,
			   .sh_type = SHT_STRTAB,
			   .sh_offset = offsetof(struct object, names),
			   .sh_size = sizeof(names)},
		[PROGRAM] = {.sh_name = 9,
			     .sh_type = SHT_PROGBITS,
			     .sh_offset = offsetof(struct object, insns),
			     .sh_size = sizeof(right.insns)},
		[SHAPE] = {.sh_name = 12,
			   .sh_type = SHT_PROGBITS,
			   .sh_offset = offsetof(struct object, shape),
			   .sh_size = sizeof(right.shape)},
		[RELOCATED] = {.sh_name = 18, .sh_type = SHT_REL, .sh_info = PROGRAM}},
    .names = "\0.strtab\0op\0op.op\0.rel",
    .insns = {{0xb7, 0, 0, 1}, {0x95, 0, 0, 0}},
    .shape = {.magic = GOAL_OP_MAGIC, .elem_bytes = 8, .block = 4},
};

/* Reads a copy of its exact size, one byte off any alignment. */
static const char *look(const void *file, size_t bytes, struct goal_elf *elf)
{
	uint8_t *copy = malloc(bytes + 1);
	const char *why;

	memcpy(copy + 1, file, bytes);
	why = goal_elf_find(copy + 1, bytes, "op", elf);
	free(copy);
	return why;
}

static void reads(void)
{
	static struct goal_elf elf;
	char path[TMP_PATH_BYTES];
	int fd = tmp_file(path);

	CU_ASSERT_PTR_NULL(look(&right, sizeof(right), &elf));
	CU_ASSERT_EQUAL(elf.num_insns, 2);
	CU_ASSERT_EQUAL(elf.insns[0].code, 0xb7);
	CU_ASSERT_EQUAL(elf.shape.block, 4);
	CU_ASSERT_EQUAL_FATAL(write(fd, &right, sizeof(right)), (ssize_t)sizeof(right));
	CU_ASSERT_PTR_NULL(goal_elf_read(path, "op", &elf));
	CU_ASSERT_PTR_NOT_NULL(goal_elf_read(path, "other", &elf));
	CU_ASSERT_PTR_NOT_NULL(goal_elf_read(path, "", &elf));
	CU_ASSERT_PTR_NOT_NULL(goal_elf_read("/", "op", &elf));
	close(fd);
	unlink(path);
	CU_ASSERT_PTR_NOT_NULL(goal_elf_read(path, "op", &elf));
}

/* The shape is the end of the file, so that each byte is needed. */
static void cut_off(void)
{
	static struct goal_elf elf;
	size_t bytes;

	for (bytes = 0; bytes < sizeof(right); bytes++)
		CU_ASSERT_PTR_NOT_NULL(look(&right, bytes, &elf));
}

/* A field of a header is refused, or leads to nothing beyond it. */
static void extreme_fields(void)
{
	static const uint64_t values[] = {0,
					  1,
					  7,
					  sizeof(right) - 1,
					  sizeof(right),
					  UINT32_MAX,
					  INT64_MAX,
					  UINT64_MAX - 15,
					  UINT64_MAX};
	static struct goal_elf elf;
	size_t at, width, i;

	for (at = 0; at < offsetof(struct object, names); at += 2)
		for (width = 2; width <= 8; width *= 2)
			for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
				struct object o = right;
				const char *why;

				if (at % width)
					continue;
				memcpy((uint8_t *)&o + at, &values[i], width);
				why = look(&o, sizeof(o), &elf);
				CU_ASSERT_TRUE(why ? why[0] != 0 : elf.num_insns >= 1);
			}
}

static void each_reason(void)
{
	static struct goal_elf elf;
	struct object o = right;

#define REFUSED(field, value)                                                                      \
	o = right;                                                                                 \
	o.field = (value);                                                                         \
	CU_ASSERT_PTR_NOT_NULL(look(&o, sizeof(o), &elf))
	REFUSED(header.e_machine, EM_X86_64);
	REFUSED(header.e_ident[EI_CLASS], ELFCLASS32);
	REFUSED(header.e_ident[EI_DATA], ELFDATA2MSB);
	REFUSED(header.e_shoff, UINT64_MAX - sizeof(Elf64_Shdr));
	REFUSED(header.e_shstrndx, SECTIONS);
	REFUSED(section[NAMES].sh_type, SHT_PROGBITS);
	REFUSED(section[NAMES].sh_size, 10);
	REFUSED(section[PROGRAM].sh_name, sizeof(names) - 2);
	REFUSED(section[PROGRAM].sh_offset, UINT64_MAX - 8);
	REFUSED(section[PROGRAM].sh_size, 0);
	REFUSED(section[PROGRAM].sh_size, 12);
	REFUSED(section[RELOCATED].sh_size, 16);
	REFUSED(section[SHAPE].sh_size, 8);
	REFUSED(shape.magic, 0);
	REFUSED(shape.reserved, 1);
}

/* More instructions than a program may have, in a file that has them. */
static void too_long(void)
{
	static struct goal_elf elf;
	size_t more = (GOAL_OP_MAX_INSNS + 1) * sizeof(struct goal_op_insn);
	uint8_t *file = calloc(1, sizeof(right) + more);
	struct object o = right;

	o.section[PROGRAM].sh_offset = sizeof(right);
	o.section[PROGRAM].sh_size = more;
	memcpy(file, &o, sizeof(o));
	CU_ASSERT_PTR_NOT_NULL(look(file, sizeof(right) + more, &elf));
	o.section[PROGRAM].sh_size = more - sizeof(struct goal_op_insn);
	memcpy(file, &o, sizeof(o));
	CU_ASSERT_PTR_NULL(look(file, sizeof(right) + more, &elf));
	free(file);
}

static void turned_bits(void)
{
	static struct goal_elf elf;
	uint64_t state = 3;
	uint32_t i, k;

	for (i = 0; i < 20000; i++) {
		struct object o = right;

		for (k = 0; k < 1 + i % 6; k++) {
			state = state * UINT64_C(6364136223846793005) + 1;
			((uint8_t *)&o)[(state >> 40) % sizeof(o)] ^=
			    (uint8_t)(1u << (state >> 33) % 8);
		}
		(void)look(&o, sizeof(o), &elf);
	}
}

UT_MAIN("host_driver/goal_elf", UT(reads), UT(cut_off), UT(extreme_fields), UT(each_reason),
	UT(too_long), UT(turned_bits))
