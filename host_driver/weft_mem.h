/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared extents: memfds that weftd made and this process has mapped, from weft_alloc() or by
 * moving pages at registration. Used by weft_mr.c, weft_alloc.c, weft_fork.c.
 *
 * An extent is known by its inode; where it is mapped, /proc/self/maps tells when one
 * needs to know, since the process may unmap, remap and split as it likes. All functions
 * are called under weft_global.lock.
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
	uint64_t key;    /* what weftd knows it by */
	uint8_t *anchor; /* a page of it, mapped for nobody's use: see weft_mem.c; or NULL */
	uint64_t bytes;
	uint64_t heap_start;     /* heap: the address whose page lies at offset 0 */
	uint32_t heap_moves;     /* heap: pieces that its mappings are in, at most */
	pid_t server;            /* the weftd that made it */
	bool heap;               /* pages of the brk heap alone, each at its address */
	bool dead;               /* weftd has forgotten it: what is there can be moved elsewhere */
	bool seen;               /* while collecting: a mapping of it is there */
	uint32_t refs;           /* pieces of memory regions, and who works with it */
	struct weft_link pieces; /* weft_mem_piece.node */
};

/* A part of a memory region. */
struct weft_mem_piece {
	struct weft_link node; /* weft_extent.pieces */
	struct weft_extent *extent;
	uint64_t offset; /* in its memfd */
	uint64_t bytes;
};

/* The parts of a memory region, in order. */
struct weft_mem_pieces {
	uint32_t count;
	struct weft_mem_piece piece[];
};

/*
 * weft_attach.c: looks at memory that is to be registered; moves it onto shared pages where it can
 * be, and has them be there: weftd takes no pages that nobody has touched. 0 with *pieces, or with
 * *pieces NULL: to be reached through process_vm. -EFAULT: not there, or not writable although
 * write is set.
 */
int weft_mem_attach(struct weft_ctx *ctx, uint64_t addr, uint64_t bytes, bool write,
		    struct weft_mem_pieces **pieces);
/* Gives them back. NULL: nothing. */
void weft_mem_detach(struct weft_mem_pieces *pieces);

/* Counts one who works with an extent, or one less. */
void weft_mem_hold(struct weft_extent *extent);
void weft_mem_drop(struct weft_extent *extent);

/*
 * A new extent of bytes, not mapped yet, with one reference; its memfd is slack_bytes longer
 * if it may be. 0 or a negative errno.
 */
int weft_mem_new(struct weft_ctx *ctx, uint64_t bytes, uint64_t slack_bytes,
		 struct weft_extent **extent);

/* The extent that a mapping belongs to, or NULL. An anchor is nobody's. */
struct weft_extent *weft_mem_of_vma(const struct weft_vma *vma);

/* weft_alloc.c, in a child of fork: what the pool holds is the parent's; nothing new comes of it.
 */
void weft_alloc_forked(void);

/* The weftd at the other end of a context; its NICs share a process's memory. */
pid_t weft_mem_server(const struct weft_ctx *ctx);

/*
 * A context is closed. With the last one to its weftd, that forgets the process's memory. Under
 * weft_global.lock; the context is in no list any more.
 */
void weft_mem_closed(pid_t server);

/* Closes the memfds that have neither mapping nor region any more. */
void weft_mem_collect(void);

/* In a child of fork: the anchors are the parent's memory. */
void weft_mem_forked(struct weft_extent *extent);

/*
 * weft_move.c: moves [start, end), writable pages that nobody but this process has, onto shared
 * pages, other threads writing to them or not. window is a mapping of those, as long, that nobody
 * uses; zero: they hold nothing. The window's mapping takes the place of the pages. Returns how
 * many bytes were moved, from start on; less than all when the kernel refused at some point. The
 * rest, of the pages and of the window, is as it was.
 */
uint64_t weft_move_pages(uint8_t *window, bool zero, uint64_t start, uint64_t end);

#endif /* WEFT_MEM_H */
