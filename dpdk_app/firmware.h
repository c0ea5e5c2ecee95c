/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The firmware that runs the instances: the built-in one, or an image that replaced it.
 *
 * A process of its own (helper.h, firmware_loader.c) loads an image into one of two places of
 * memory that weftd executes and cannot write. The image that runs stays in the other place, so a
 * refused one harms nothing. docs/upgrade.md.
 */
#ifndef WEFT_APP_FIRMWARE_H
#define WEFT_APP_FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/fw.h"

enum {
	FIRMWARE_PLACES = 2,
	FIRMWARE_PLACE_BYTES = 8 << 20,
	FIRMWARE_FILE_MAX = 256 << 20, /* with its debugging information */
	FIRMWARE_WHY_CHARS = 96,
	FIRMWARE_TIMEOUT_MS = 5000,
};

#define FIRMWARE_MEMORY_BYTES ((size_t)FIRMWARE_PLACES * FIRMWARE_PLACE_BYTES)

/* A request to the loader, with the file's descriptor: the place. Its answer: */
struct firmware_answer {
	uint64_t entry;               /* offset of struct fw_image in the place */
	char why[FIRMWARE_WHY_CHARS]; /* empty: it is loaded */
};

/* Starts the loader: main thread, while it is the only one. filter: of its system calls. */
void firmware_start(bool filter);
/* Takes over what firmware_start() made: the socket to the loader and the memory, executable. */
void firmware_init(int fd, const uint8_t *code);

/* The firmware that new instances get, and that all run unless an upgrade is under way. */
const struct fw_image *firmware_current(void);
/*
 * Loads an image beside the one that runs. Returns it, or NULL with *why: a sentence without its
 * end. Control thread; takes some milliseconds, in which cores go on.
 */
const struct fw_image *firmware_load(int file, const char **why);
/* Every instance runs it now. */
void firmware_set_current(const struct fw_image *image);

#endif /* WEFT_APP_FIRMWARE_H */
