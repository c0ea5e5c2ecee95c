/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings of this process, as in /proc/self/maps (proc(5)).
 *
 * Linux 6.11 and later answer queries for single mappings (PROCMAP_QUERY) on a descriptor that
 * stays open; on older kernels the file is read. The functions allocate nothing and take no lock,
 * so a child of fork may use them. Any thread.
 */
#ifndef WEFT_MAPS_H
#define WEFT_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct weft_vma {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file, in bytes */
	uint64_t inode;  /* 0: anonymous */
	uint32_t dev_major;
	uint32_t dev_minor;
	bool readable;
	bool writable;
	bool executable;
	bool shared;
	bool heap;    /* the brk(2) heap */
	bool special; /* has another kernel name: [stack], [vdso] etc. */
};

/*
 * Calls fn for each mapping in address order until it returns false. Returns 0, or a negative errno
 * if the file could not be read.
 */
int weft_maps_walk(bool (*fn)(const struct weft_vma *vma, void *arg), void *arg);

/*
 * As weft_maps_walk(), without the mappings that end at or below `from`. Some of those may still be
 * passed.
 */
int weft_maps_walk_from(uint64_t from, bool (*fn)(const struct weft_vma *vma, void *arg),
			void *arg);

/* As weft_maps_walk_from(), restricted to shared file mappings; others may still be passed. */
int weft_maps_walk_shared(uint64_t from, bool (*fn)(const struct weft_vma *vma, void *arg),
			  void *arg);

/* Closes the descriptor; the next walk opens another. No other thread may be in a walk. */
void weft_maps_close(void);

/* Call it first in a child of fork: the descriptor refers to the parent's memory. */
void weft_maps_forked(void);

/* Parses one line of the file. Returns false for any other format. Also for tests. */
bool weft_maps_parse(const char *line, struct weft_vma *vma);

#endif /* WEFT_MAPS_H */
