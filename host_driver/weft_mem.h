/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared extents: memfds that weftd created and this process has mapped, through weft_alloc() or by
 * moving pages at registration.
 *
 * An extent is identified by its inode. Its mappings are looked up in /proc/self/maps on demand,
 * since the process may unmap, remap and split them at will. All functions require
 * weft_global.lock.
 */
#ifndef WEFT_MEM_H
#define WEFT_MEM_H

#include "host_driver/weft_maps.h"
#include "host_driver/weft_priv.h"

struct weft_extent {
	struct weft_link node; /* weft_global.extents */
	int fd;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	uint64_t key;    /* weftd's identifier */
	uint8_t *anchor; /* one inaccessible page of it, see weft_mem.c; or NULL */
	uint64_t bytes;
	uint64_t heap_start;     /* heap: address of the page at offset 0 */
	uint32_t heap_moves;     /* heap: upper bound of the number of its mappings */
	pid_t server;            /* the weftd that created it */
	bool heap;               /* holds only pages of the brk heap, each at its address */
	bool dead;               /* weftd has dropped it: its pages can be moved elsewhere */
	bool seen;               /* during collection: a mapping of it exists */
	uint32_t refs;           /* pieces of memory regions, and current users */
	struct weft_link pieces; /* weft_mem_piece.node */
};

/* A part of a memory region. */
struct weft_mem_piece {
	struct weft_link node; /* weft_extent.pieces */
	struct weft_extent *extent;
	uint64_t offset; /* within its memfd */
	uint64_t bytes;
};

/* The parts of a memory region, in order. */
struct weft_mem_pieces {
	uint32_t count;
	struct weft_mem_piece piece[];
};

/*
 * weft_attach.c: examines memory to be registered, moves it onto shared pages where possible, and
 * populates it, because weftd does not accept unpopulated pages. Returns 0 with *pieces, or with
 * *pieces NULL if the memory is accessed through process_vm. -EFAULT: not mapped, or not writable
 * although write is set.
 */
int weft_mem_attach(struct weft_ctx *ctx, uint64_t addr, uint64_t bytes, bool write,
		    struct weft_mem_pieces **pieces);
/* Releases the pieces. NULL: no effect. */
void weft_mem_detach(struct weft_mem_pieces *pieces);

/* Take and release a reference to an extent. */
void weft_mem_hold(struct weft_extent *extent);
void weft_mem_drop(struct weft_extent *extent);

/*
 * Creates an unmapped extent with one reference. Its memfd is slack_bytes longer if possible.
 * Returns 0 or a negative errno.
 */
int weft_mem_new(struct weft_ctx *ctx, uint64_t bytes, uint64_t slack_bytes,
		 struct weft_extent **extent);

/* Returns the extent to which a mapping belongs, or NULL. An anchor does not count. */
struct weft_extent *weft_mem_of_vma(const struct weft_vma *vma);

/*
 * weft_alloc.c, in a child of fork: the pool's memory belongs to the parent; nothing more is
 * allocated from it.
 */
void weft_alloc_forked(void);

/* Returns the weftd at the other end of a context. All NICs of a weftd share a process's memory. */
pid_t weft_mem_server(const struct weft_ctx *ctx);

/*
 * Notes that a context was closed. With the last context to a weftd, that weftd drops the process's
 * memory. Under weft_global.lock; the context is in no list any more.
 */
void weft_mem_closed(pid_t server);

/* Closes memfds without mappings and regions. */
void weft_mem_collect(void);

/* In a child of fork: unmaps the anchor, which is the parent's memory. */
void weft_mem_forked(struct weft_extent *extent);

/*
 * weft_move.c: moves [start, end), writable pages private to this process, onto shared pages, while
 * other threads may write to them. window is an unused mapping of the shared pages, of the same
 * length; zero: the shared pages are empty. The window's mapping replaces the pages. Returns the
 * number of bytes moved, from start on; less than all if the kernel refused at some point. The
 * remaining pages and the rest of the window are unchanged.
 */
uint64_t weft_move_pages(uint8_t *window, bool zero, uint64_t start, uint64_t end);

#endif /* WEFT_MEM_H */
