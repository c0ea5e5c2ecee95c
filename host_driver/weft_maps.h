/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings of this process, as /proc/self/maps has them (proc(5)).
 *
 * Linux 6.11 and later answer for one mapping at a time (PROCMAP_QUERY), on a descriptor that stays
 * open; before that the file is read. Used by weft_attach.c to tell what kind of memory is
 * registered, by weft_mem.c, weft_watch.c and weft_fork.c. Allocates nothing and takes no lock, so
 * that a child of fork may use it. Any thread.
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
	bool heap;    /* of brk(2) */
	bool special; /* the kernel has another name for it: [stack], [vdso] ... */
};

/*
 * Calls fn for each mapping in order of address until it returns false. 0, or a negative
 * errno when the file could not be read.
 */
int weft_maps_walk(bool (*fn)(const struct weft_vma *vma, void *arg), void *arg);

/* Likewise, but for mappings that end at `from` or before. Some of those may come, too. */
int weft_maps_walk_from(uint64_t from, bool (*fn)(const struct weft_vma *vma, void *arg),
			void *arg);

/* As weft_maps_walk_from(), of the shared mappings of files alone; others may come, too. */
int weft_maps_walk_shared(uint64_t from, bool (*fn)(const struct weft_vma *vma, void *arg),
			  void *arg);

/* Gives the descriptor back; the next walk opens another. While no other thread is in a walk. */
void weft_maps_close(void);

/* In a child of fork, first of all: the descriptor tells of the parent's memory. */
void weft_maps_forked(void);

/* Takes one line of the file apart. False: not of that form. For tests too. */
bool weft_maps_parse(const char *line, struct weft_vma *vma);

#endif /* WEFT_MAPS_H */
