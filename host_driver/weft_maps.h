/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings of this process, read from /proc/self/maps (proc(5)).
 *
 * Used by weft_mem.c to tell what kind of memory is registered and by weft_fork.c. Allocates
 * nothing and takes no lock, so that a child of fork may use it.
 */
#ifndef WEFT_MAPS_H
#define WEFT_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct weft_vma {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file, bytes */
	uint64_t inode;  /* 0: anonymous */
	uint32_t dev_major;
	uint32_t dev_minor;
	bool readable;
	bool writable;
	bool executable;
	bool shared;
	bool special; /* the kernel's name for it is [stack], [heap], [vdso] ... */
};

/*
 * Calls fn for each mapping in order of address until it returns false. 0, or a negative
 * errno when the file could not be read.
 */
int weft_maps_walk(bool (*fn)(const struct weft_vma *vma, void *arg), void *arg);

/* Takes one line of the file apart. False: not of that form. For tests too. */
bool weft_maps_parse(const char *line, struct weft_vma *vma);

#endif /* WEFT_MAPS_H */
