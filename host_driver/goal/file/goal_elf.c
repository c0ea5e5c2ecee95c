/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a program for BPF out of an object file: two sections by name, and a check that nothing is
 * to be relocated in them. Every offset of the file is checked before it is followed; the NIC's
 * verifier judges the program itself. ELF-64 (System V ABI, chapter 4), e_machine EM_BPF.
 */
#include "host_driver/goal/file/goal_elf.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EM_BPF
#define EM_BPF 247
#endif

enum {
	FILE_MAX_BYTES = 1 << 20, /* with debug information, too */
	NAME_MAX_BYTES = 128,
};

struct image {
	const uint8_t *file;
	size_t bytes;
	Elf64_Ehdr header;
	Elf64_Shdr names;
};

static int has(const struct image *image, uint64_t offset, uint64_t bytes)
{
	return offset <= image->bytes && bytes <= image->bytes - offset;
}

static int section_at(const struct image *image, uint32_t i, Elf64_Shdr *section)
{
	uint64_t offset = image->header.e_shoff + (uint64_t)i * sizeof(*section);

	if (i >= image->header.e_shnum || image->header.e_shoff > image->bytes ||
	    !has(image, offset, sizeof(*section)))
		return 0;
	memcpy(section, image->file + offset, sizeof(*section));
	return section->sh_type == SHT_NOBITS || has(image, section->sh_offset, section->sh_size);
}

static int is_named(const struct image *image, const Elf64_Shdr *section, const char *name)
{
	size_t bytes = strlen(name) + 1;

	return section->sh_name < image->names.sh_size &&
	       bytes <= image->names.sh_size - section->sh_name &&
	       !memcmp(image->file + image->names.sh_offset + section->sh_name, name, bytes);
}

static int open_image(struct image *image)
{
	if (image->bytes < sizeof(image->header))
		return 0;
	memcpy(&image->header, image->file, sizeof(image->header));
	return !memcmp(image->header.e_ident, ELFMAG, SELFMAG) &&
	       image->header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       image->header.e_ident[EI_DATA] == ELFDATA2LSB && image->header.e_machine == EM_BPF &&
	       image->header.e_shentsize == sizeof(Elf64_Shdr) &&
	       section_at(image, image->header.e_shstrndx, &image->names) &&
	       image->names.sh_type == SHT_STRTAB;
}

/* Returns the number of the section of that name, or 0, which is none. */
static uint32_t find(const struct image *image, const char *name, Elf64_Shdr *section)
{
	uint32_t i;

	for (i = 1; i < image->header.e_shnum; i++)
		if (section_at(image, i, section) && section->sh_type == SHT_PROGBITS &&
		    is_named(image, section, name))
			return i;
	return 0;
}

static int is_relocated(const struct image *image, uint32_t target)
{
	Elf64_Shdr section;
	uint32_t i;

	for (i = 1; i < image->header.e_shnum; i++)
		if (section_at(image, i, &section) &&
		    (section.sh_type == SHT_REL || section.sh_type == SHT_RELA) &&
		    section.sh_info == target && section.sh_size)
			return 1;
	return 0;
}

const char *goal_elf_find(const uint8_t *file, size_t bytes, const char *section,
			  struct goal_elf *elf)
{
	struct image image = {.file = file, .bytes = bytes};
	char shape_name[NAME_MAX_BYTES + 4];
	Elf64_Shdr program, shape;
	uint32_t number;

	if (!section[0] || strlen(section) > NAME_MAX_BYTES)
		return "a section's name that is empty, or too long";
	snprintf(shape_name, sizeof(shape_name), "%s.op", section);
	if (!open_image(&image))
		return "no object file for BPF (clang -target bpf)";
	number = find(&image, section, &program);
	if (!number)
		return "the object file has no such section";
	if (is_relocated(&image, number))
		return "the program refers to data or functions outside of its section";
	if (!find(&image, shape_name, &shape) || shape.sh_size != sizeof(elf->shape))
		return "the section was not declared with GOAL_BPF_OP() of goal_bpf.h";
	memcpy(&elf->shape, file + shape.sh_offset, sizeof(elf->shape));
	if (elf->shape.magic != GOAL_OP_MAGIC || elf->shape.reserved)
		return "the section was made for another version of weft";
	if (!program.sh_size || program.sh_size % sizeof(elf->insns[0]) ||
	    program.sh_size > sizeof(elf->insns))
		return "the program is empty, or has more than 1,024 instructions";
	elf->num_insns = (uint32_t)(program.sh_size / sizeof(elf->insns[0]));
	memcpy(elf->insns, file + program.sh_offset, program.sh_size);
	return NULL;
}

const char *goal_elf_read(const char *path, const char *section, struct goal_elf *elf)
{
	uint8_t *file = malloc(FILE_MAX_BYTES);
	FILE *f = fopen(path, "rbe");
	const char *why = "the object file cannot be read";
	size_t bytes;

	if (file && f) {
		bytes = fread(file, 1, FILE_MAX_BYTES, f);
		why = ferror(f)                 ? why
		      : bytes == FILE_MAX_BYTES ? "the object file is too long"
						: goal_elf_find(file, bytes, section, elf);
	}
	if (f)
		fclose(f);
	free(file);
	return why;
}
