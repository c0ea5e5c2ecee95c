/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loader of firmware images: relocations of each kind, and files that are damaged in every
 * place, which it refuses without touching memory outside of its own.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/firmware_elf.h"
#include "tests/ut.h"

#if defined(__x86_64__)
enum {
	MACHINE = EM_X86_64,
	RELATIVE = R_X86_64_RELATIVE,
	CALL = R_X86_64_JUMP_SLOT
};
#else
enum {
	MACHINE = EM_AARCH64,
	RELATIVE = R_AARCH64_RELATIVE,
	CALL = R_AARCH64_JUMP_SLOT
};
#endif

enum {
	IMAGE_BYTES = 4096,
	ENTRY = 0x700,
	BASE = 0x40000000,
	OUTSIDE = 0x1234,
};

/* A file whose only segment is itself. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr ph[2];
	Elf64_Dyn dyn[8];
	Elf64_Sym sym[2];
	char strings[16];
	Elf64_Rela rela[1], call[1];
	uint64_t word[2];
};

static struct file file;
static uint8_t image[IMAGE_BYTES];

static void *find(const char *name)
{
	return strcmp(name, "memcpy") ? NULL : (void *)OUTSIDE;
}

static struct firmware_elf elf = {.file = (const uint8_t *)&file,
				  .file_bytes = sizeof(file),
				  .image = image,
				  .image_bytes = IMAGE_BYTES,
				  .base = BASE,
				  .symbol = find};

static void make(void)
{
	const Elf64_Phdr whole = {
	    .p_type = PT_LOAD, .p_filesz = sizeof(file), .p_memsz = sizeof(file)};
	const Elf64_Dyn dyn[8] = {
	    {DT_SYMTAB, {offsetof(struct file, sym)}},
	    {DT_STRTAB, {offsetof(struct file, strings)}},
	    {DT_STRSZ, {sizeof(file.strings)}},
	    {DT_RELA, {offsetof(struct file, rela)}},
	    {DT_RELASZ, {sizeof(file.rela)}},
	    {DT_JMPREL, {offsetof(struct file, call)}},
	    {DT_PLTRELSZ, {sizeof(file.call)}},
	    {DT_NULL, {0}},
	};

	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] = ELFDATA2LSB;
	file.header.e_type = ET_DYN;
	file.header.e_machine = MACHINE;
	file.header.e_phentsize = sizeof(Elf64_Phdr);
	file.header.e_phnum = 2;
	file.header.e_phoff = offsetof(struct file, ph);
	file.header.e_entry = ENTRY;
	file.ph[0] = whole;
	file.ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
				  .p_offset = offsetof(struct file, dyn),
				  .p_vaddr = offsetof(struct file, dyn),
				  .p_filesz = sizeof(file.dyn),
				  .p_memsz = sizeof(file.dyn)};
	memcpy(file.dyn, dyn, sizeof(dyn));
	file.sym[1].st_name = 1;
	strcpy(file.strings + 1, "memcpy");
	file.rela[0] =
	    (Elf64_Rela){offsetof(struct file, word[0]), ELF64_R_INFO(0, RELATIVE), 0x55};
	file.call[0] = (Elf64_Rela){offsetof(struct file, word[1]), ELF64_R_INFO(1, CALL), 0};
}

static const char *load(uint64_t *entry)
{
	memset(image, 0xee, sizeof(image));
	return firmware_elf_load(&elf, entry);
}

static void relocates(void)
{
	uint64_t entry, word[2];

	make();
	CU_ASSERT_PTR_NULL(load(&entry));
	CU_ASSERT_EQUAL(entry, ENTRY);
	memcpy(word, image + offsetof(struct file, word), sizeof(word));
	CU_ASSERT_EQUAL(word[0], BASE + 0x55);
	CU_ASSERT_EQUAL(word[1], OUTSIDE);
	/* A function that lies in the image. */
	file.sym[1].st_shndx = 1;
	file.sym[1].st_value = 0x80;
	CU_ASSERT_PTR_NULL(load(&entry));
	memcpy(word, image + offsetof(struct file, word), sizeof(word));
	CU_ASSERT_EQUAL(word[1], BASE + 0x80);
}

static void refuse(const char *why)
{
	uint64_t entry;
	const char *got = load(&entry);

	CU_ASSERT_PTR_NOT_NULL_FATAL(got);
	CU_ASSERT_PTR_NOT_NULL(strstr(got, why));
	make();
}

static void what_does_not_fit_is_refused(void)
{
	make();
	file.header.e_machine ^= 1;
	refuse("another kind of processor");
	file.header.e_type = ET_EXEC;
	refuse("no firmware image");
	file.ph[1].p_type = PT_NOTE;
	refuse("no firmware image");
	file.ph[0].p_memsz++;
	refuse("would be written");
	file.ph[0].p_filesz++;
	refuse("damaged");
	file.ph[0].p_vaddr = IMAGE_BYTES - 8;
	refuse("too large");
	file.ph[0].p_vaddr = UINT64_MAX - 8;
	refuse("too large");
	file.header.e_phoff = UINT64_MAX - 8;
	refuse("damaged");
	strcpy(file.strings + 1, "system");
	refuse("does not have");
	file.rela[0].r_offset = IMAGE_BYTES - 4;
	refuse("damaged");
	file.rela[0].r_info = ELF64_R_INFO(0, 0x77);
	refuse("another kind");
	file.call[0].r_info = ELF64_R_INFO(0xffffffffu, CALL);
	refuse("does not have");
	elf.file_bytes = 10;
	refuse("no firmware image");
	elf.file_bytes = sizeof(file);
}

/* AddressSanitizer reports what would be touched outside. */
static void every_damaged_byte_is_survived(void)
{
	uint8_t *bytes = (uint8_t *)&file;
	uint64_t entry, refusals = 0;

	for (size_t i = 0; i < sizeof(file); i++) {
		for (uint32_t bit = 0; bit < 8; bit++) {
			make();
			bytes[i] ^= (uint8_t)(1u << bit);
			refusals += load(&entry) != NULL;
		}
	}
	CU_ASSERT(refusals > sizeof(file));
}

UT_MAIN("dpdk_app/firmware_elf", UT(relocates), UT(what_does_not_fit_is_refused),
	UT(every_damaged_byte_is_survived))
