/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loader of firmware images. All offsets and lengths of the file are checked against the file
 * and against the image before they are used.
 *
 * An image has relocations of two kinds alone: addresses within itself, and functions of the C
 * library. Nothing in it is written after it was loaded. System V ABI.
 */
#include "dpdk_app/firmware_elf.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
enum {
	ELF_MACHINE = EM_X86_64,
	ELF_RELATIVE = R_X86_64_RELATIVE,
	ELF_ABSOLUTE = R_X86_64_64,
	ELF_GLOBAL = R_X86_64_GLOB_DAT,
	ELF_CALL = R_X86_64_JUMP_SLOT,
};
#elif defined(__aarch64__)
enum {
	ELF_MACHINE = EM_AARCH64,
	ELF_RELATIVE = R_AARCH64_RELATIVE,
	ELF_ABSOLUTE = R_AARCH64_ABS64,
	ELF_GLOBAL = R_AARCH64_GLOB_DAT,
	ELF_CALL = R_AARCH64_JUMP_SLOT,
};
#else
#error "name the relocations of this architecture"
#endif

/* The parts of the dynamic section that are used: addresses in the image, lengths in bytes. */
struct dynamic {
	uint64_t symbols, strings, strings_bytes;
	uint64_t rela, rela_bytes;
	uint64_t calls, calls_bytes;
};

static bool within(uint64_t at, uint64_t bytes, uint64_t total)
{
	return at <= total && bytes <= total - at;
}

static const char *check_header(const struct firmware_elf *elf, const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_type != ET_DYN)
		return "it is no firmware image";
	if (header->e_machine != ELF_MACHINE)
		return "it is for another kind of processor";
	if (header->e_phentsize != sizeof(Elf64_Phdr) ||
	    !within(header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr),
		    elf->file_bytes))
		return "it is damaged: program headers";
	return NULL;
}

/* Copies the segments; *dynamic: the offset of the dynamic section in the image, with its length.
 */
static const char *load_segments(const struct firmware_elf *elf, const Elf64_Ehdr *header,
				 uint64_t *dynamic, uint64_t *dynamic_bytes)
{
	uint64_t end = 0;

	*dynamic_bytes = 0;
	for (uint32_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, elf->file + header->e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_TLS || ph.p_type == PT_INTERP)
			return "it is no firmware image";
		if (ph.p_type != PT_LOAD && ph.p_type != PT_DYNAMIC)
			continue;
		if (!within(ph.p_offset, ph.p_filesz, elf->file_bytes) ||
		    !within(ph.p_vaddr, ph.p_filesz, elf->image_bytes))
			return "it is too large, or damaged: segments";
		if (ph.p_memsz != ph.p_filesz)
			return "it has data that would be written";
		if (ph.p_type == PT_LOAD) {
			/* Segments ascend: what an earlier image left between them goes. */
			if (ph.p_vaddr < end)
				return "it is damaged: segments";
			memset(elf->image + end, 0, ph.p_vaddr - end);
			memcpy(elf->image + ph.p_vaddr, elf->file + ph.p_offset, ph.p_filesz);
			end = ph.p_vaddr + ph.p_filesz;
		}
		*dynamic = ph.p_type == PT_DYNAMIC ? ph.p_vaddr : *dynamic;
		*dynamic_bytes = ph.p_type == PT_DYNAMIC ? ph.p_filesz : *dynamic_bytes;
	}
	return *dynamic_bytes ? NULL : "it is no firmware image";
}

static const char *read_dynamic(const struct firmware_elf *elf, uint64_t at, uint64_t bytes,
				struct dynamic *d)
{
	*d = (struct dynamic){0};
	for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= bytes; i += sizeof(Elf64_Dyn)) {
		Elf64_Dyn dyn;

		memcpy(&dyn, elf->image + at + i, sizeof(dyn));
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_SYMTAB)
			d->symbols = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_STRTAB)
			d->strings = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_STRSZ)
			d->strings_bytes = dyn.d_un.d_val;
		else if (dyn.d_tag == DT_RELA)
			d->rela = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_RELASZ)
			d->rela_bytes = dyn.d_un.d_val;
		else if (dyn.d_tag == DT_JMPREL)
			d->calls = dyn.d_un.d_ptr;
		else if (dyn.d_tag == DT_PLTRELSZ)
			d->calls_bytes = dyn.d_un.d_val;
		else if (dyn.d_tag == DT_REL || dyn.d_tag == DT_TEXTREL)
			return "its relocations are of another kind";
	}
	if (!within(d->strings, d->strings_bytes, elf->image_bytes) || !d->strings_bytes ||
	    elf->image[d->strings + d->strings_bytes - 1] ||
	    !within(d->rela, d->rela_bytes, elf->image_bytes) ||
	    !within(d->calls, d->calls_bytes, elf->image_bytes))
		return "it is damaged: dynamic section";
	return NULL;
}

/* The address of a symbol: in the image, or of a function outside. 0: there is none. */
static uint64_t address_of(const struct firmware_elf *elf, const struct dynamic *d, uint64_t number)
{
	Elf64_Sym sym;

	if (!within(d->symbols, (number + 1) * sizeof(sym), elf->image_bytes))
		return 0;
	memcpy(&sym, elf->image + d->symbols + number * sizeof(sym), sizeof(sym));
	if (sym.st_shndx != SHN_UNDEF)
		return sym.st_value < elf->image_bytes ? elf->base + sym.st_value : 0;
	if (sym.st_name >= d->strings_bytes)
		return 0;
	return (uintptr_t)elf->symbol((const char *)elf->image + d->strings + sym.st_name);
}

static const char *relocate(const struct firmware_elf *elf, const struct dynamic *d, uint64_t at,
			    uint64_t bytes)
{
	for (uint64_t i = 0; i + sizeof(Elf64_Rela) <= bytes; i += sizeof(Elf64_Rela)) {
		uint64_t value;
		Elf64_Rela r;

		memcpy(&r, elf->image + at + i, sizeof(r));
		if (!within(r.r_offset, sizeof(value), elf->image_bytes))
			return "it is damaged: relocations";
		switch (ELF64_R_TYPE(r.r_info)) {
		case ELF_RELATIVE:
			value = elf->base + (uint64_t)r.r_addend;
			break;
		case ELF_ABSOLUTE:
		case ELF_GLOBAL:
		case ELF_CALL:
			value = address_of(elf, d, ELF64_R_SYM(r.r_info));
			if (!value)
				return "it calls a function that this weftd does not have";
			value += (uint64_t)r.r_addend;
			break;
		default:
			return "its relocations are of another kind";
		}
		memcpy(elf->image + r.r_offset, &value, sizeof(value));
	}
	return NULL;
}

const char *firmware_elf_load(const struct firmware_elf *elf, uint64_t *entry)
{
	uint64_t at = 0, bytes = 0;
	Elf64_Ehdr header;
	struct dynamic d = {0};
	const char *why;

	if (elf->file_bytes < sizeof(header))
		return "it is no firmware image";
	memcpy(&header, elf->file, sizeof(header));
	why = check_header(elf, &header);
	if (!why)
		why = load_segments(elf, &header, &at, &bytes);
	if (!why)
		why = read_dynamic(elf, at, bytes, &d);
	if (!why)
		why = relocate(elf, &d, d.rela, d.rela_bytes);
	if (!why)
		why = relocate(elf, &d, d.calls, d.calls_bytes);
	*entry = header.e_entry;
	return why;
}
