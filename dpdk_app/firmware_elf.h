/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a firmware image, a shared object without writable data, into memory that will be executed
 * at another address. System V ABI, "Object Files", "Program Loading and Dynamic Linking".
 */
#ifndef WEFT_APP_FIRMWARE_ELF_H
#define WEFT_APP_FIRMWARE_ELF_H

#include <stddef.h>
#include <stdint.h>

struct firmware_elf {
	const uint8_t *file;
	size_t file_bytes;
	uint8_t *image; /* where it is written */
	size_t image_bytes;
	uintptr_t base; /* address at which it will be executed */
	/* Returns the address of a function that the image calls; NULL: it does not exist. */
	void *(*symbol)(const char *name);
};

/*
 * Writes the image: segments, relocated. *entry: offset of its struct fw_image. Returns NULL, or
 * why the file was refused; the image is undefined then. Pure.
 */
const char *firmware_elf_load(const struct firmware_elf *elf, uint64_t *entry);

#endif /* WEFT_APP_FIRMWARE_ELF_H */
