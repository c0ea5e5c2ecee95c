/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kind of memory that is being registered, and the table of shared extents. Calls weft_maps.c,
 * weft_move.c and, for memfds, the channel (ALLOC_MEM, FREE_MEM). docs/host-interface.md "Memory"
 * has the rules.
 *
 * Once a part of an extent is registered weftd seals its memfd: no mapping that can be written can
 * be made of it from then on, but for copies of one that there is, of which mremap(2) makes one
 * when the old size is 0. So an extent that may grow has an anchor, a page of it that stays mapped.
 * It cannot be accessed, and no userfaultfd watches it, as copies would be watched as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum {
	WEFT_EXTENTS_MAX = 4096,
	/* Extents without a region are collected when there are so many, or hold so much. */
	WEFT_IDLE_EXTENTS = 8,
	WEFT_IDLE_BYTES = 32 << 20,
};

/*
 * A mapping that realloc() grows with mremap() must not reach beyond the end of its memfd, or
 * the process would get SIGBUS there; so a memfd is far longer than what is moved onto it. Holes
 * cost nothing.
 */
#define WEFT_EXTENT_SLACK_BYTES (UINT64_C(1) << 42)

static uint64_t page_bytes(void)
{
	static uint64_t bytes;

	if (!bytes)
		bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

/* Each extent is a descriptor: leave the process most of those it may have. */
static bool too_many_extents(void)
{
	uint64_t max = WEFT_EXTENTS_MAX, count = 0;
	const struct weft_link *pos;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < max)
		max = limit.rlim_cur / 4;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next)
		count++;
	return count >= max;
}

int weft_mem_new(struct weft_ctx *ctx, uint64_t bytes, uint64_t slack_bytes,
		 struct weft_extent **out)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MEM};
	struct weft_extent *extent;
	struct hw_cmd_resp resp;
	int fds[WEFT_CHAN_FDS];
	struct stat st;
	int rc;

	if (ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD || too_many_extents())
		return -EOPNOTSUPP;
	extent = calloc(1, sizeof(*extent));
	if (!extent)
		return -ENOMEM;
	cmd.u.alloc_mem.bytes = bytes;
	cmd.u.alloc_mem.slack_bytes = slack_bytes;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, fds);
	if (rc < 0 && slack_bytes) {
		cmd.u.alloc_mem.slack_bytes = 0;
		rc = weft_ctx_command(ctx, &cmd, -1, &resp, fds);
	}
	if (rc == 0 && (fds[0] < 0 || fstat(fds[0], &st) < 0 || (uint64_t)st.st_size < bytes)) {
		if (fds[0] >= 0)
			close(fds[0]);
		rc = -EPROTO;
	}
	if (rc < 0) {
		free(extent);
		return rc;
	}
	extent->fd = fds[0];
	extent->dev_major = major(st.st_dev);
	extent->dev_minor = minor(st.st_dev);
	extent->inode = st.st_ino;
	extent->key = resp.u.alloc_mem.key;
	extent->bytes = bytes;
	if (cmd.u.alloc_mem.slack_bytes)
		extent->anchor = mmap(NULL, page_bytes(), PROT_NONE, MAP_SHARED, extent->fd, 0);
	/* Without it the extent cannot grow. */
	if (extent->anchor == MAP_FAILED)
		extent->anchor = NULL;
	extent->refs = 1;
	weft_link_add(&weft_global.extents, &extent->node);
	*out = extent;
	return 0;
}

struct weft_extent *weft_mem_of_vma(const struct weft_vma *vma)
{
	struct weft_link *pos;
	struct weft_extent *e;

	if (!vma->inode || !vma->shared)
		return NULL;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next) {
		e = weft_container_of(pos, struct weft_extent, node);
		if (e->inode == vma->inode && e->dev_major == vma->dev_major &&
		    e->dev_minor == vma->dev_minor)
			return vma->start == (uintptr_t)e->anchor ? NULL : e;
	}
	return NULL;
}

/* weftd lets go of it, too. Its own connection may be closed by now: any to the same weftd does. */
static void give_back(const struct weft_extent *extent)
{
	struct hw_cmd cmd = {.op = HW_CMD_FREE_MEM, .u.free_mem.key = extent->key};
	struct hw_cmd_resp resp;
	struct weft_link *pos;
	struct weft_ctx *ctx;

	for (pos = weft_global.contexts.next; pos != &weft_global.contexts; pos = pos->next) {
		ctx = weft_container_of(pos, struct weft_ctx, node);
		if (!ctx->tool && !(ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD) &&
		    weft_ctx_command(ctx, &cmd, -1, &resp, NULL) == 0)
			return;
	}
}

void weft_mem_forked(struct weft_extent *extent)
{
	if (extent->anchor)
		munmap(extent->anchor, page_bytes());
	extent->anchor = NULL;
}

static bool mark_seen(const struct weft_vma *vma, void *arg)
{
	struct weft_extent *e = weft_mem_of_vma(vma);

	(void)arg;
	if (e)
		e->seen = true;
	return true;
}

void weft_mem_collect(void)
{
	struct weft_link *pos, *next;
	struct weft_extent *e;

	/* None to look for: the list of mappings may be long. */
	if (weft_global.extents.next == &weft_global.extents)
		return;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next)
		weft_container_of(pos, struct weft_extent, node)->seen = false;
	if (weft_maps_walk_shared(0, mark_seen, NULL) < 0)
		return;
	weft_global.idle_extents = 0;
	weft_global.idle_bytes = 0;
	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = next) {
		next = pos->next;
		e = weft_container_of(pos, struct weft_extent, node);
		if (e->refs || e->seen)
			continue;
		weft_link_del(&e->node);
		if (e->anchor)
			munmap(e->anchor, page_bytes());
		close(e->fd);
		give_back(e);
		free(e);
	}
}

void weft_mem_detach(struct weft_extent *extent)
{
	if (--extent->refs)
		return;
	extent->used_bytes = 0;
	/* Its memory stays as it is, shared, for the next registration. */
	weft_global.idle_extents++;
	weft_global.idle_bytes += extent->bytes;
	if (weft_global.idle_extents >= WEFT_IDLE_EXTENTS ||
	    weft_global.idle_bytes >= WEFT_IDLE_BYTES)
		weft_mem_collect();
}

/* What a walk over the mappings found out about a range of pages. */
struct weft_mem_look {
	uint64_t start; /* pages around the range */
	uint64_t end;
	uint64_t next; /* all before it is known to be mapped */
	bool readable;
	bool writable;
	bool movable;
	struct weft_extent *extent; /* the whole range lies in it, in one piece */
	uint64_t offset;            /* of start in it */
	struct weft_extent *head;   /* the range up to head_end does */
	uint64_t head_end;
	bool rest_movable;
};

static bool is_movable(const struct weft_vma *vma)
{
	return !vma->shared && !vma->inode && vma->readable && vma->writable && !vma->executable &&
	       !vma->special && !vma->heap;
}

static bool look_at(const struct weft_vma *vma, void *arg)
{
	struct weft_mem_look *look = arg;
	struct weft_extent *extent;
	uint64_t offset;

	if (vma->end <= look->start)
		return true;
	if (vma->start >= look->end || vma->start > look->next)
		return false;
	look->readable = look->readable && vma->readable;
	look->writable = look->writable && vma->writable;
	look->movable = look->movable && is_movable(vma);
	extent = weft_mem_of_vma(vma);
	/* Modulo 2^64 where the mapping starts inside the range. */
	offset = extent ? vma->offset + (look->start - vma->start) : 0;
	if (look->next == look->start) {
		look->extent = look->head = extent;
		look->offset = offset;
		look->head_end = vma->end;
	} else if (look->extent && look->extent == extent && look->offset == offset) {
		look->head_end = vma->end;
	} else {
		look->extent = NULL;
		look->rest_movable = look->rest_movable && is_movable(vma);
	}
	look->next = vma->end;
	return look->next < look->end;
}

static bool overlaps(const struct weft_mem_look *look, uint64_t start, uint64_t end)
{
	return start < look->end && end > look->start;
}

/*
 * The thread that moves pages cannot wait for itself: pages that it writes to meanwhile,
 * its stack and its errno, are left alone. The main thread's stack has a name.
 */
static bool own_pages(const struct weft_mem_look *look)
{
	uint64_t errno_at = (uint64_t)(uintptr_t)&errno;
	pthread_attr_t attr;
	size_t stack_bytes = 0;
	void *stack = NULL;
	bool own;

	if (overlaps(look, errno_at, errno_at + sizeof(errno)))
		return true;
	if (gettid() == getpid())
		return false;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return true;
	own = pthread_attr_getstack(&attr, &stack, &stack_bytes) != 0 ||
	      overlaps(look, (uint64_t)(uintptr_t)stack, (uint64_t)(uintptr_t)stack + stack_bytes);
	pthread_attr_destroy(&attr);
	return own;
}

/*
 * Pages that the NIC reaches through process_vm now are not moved: its access would meet a
 * page that is being moved, and fail or wait.
 */
static bool under_process_vm(const struct weft_mem_look *look)
{
	const struct weft_link *pos;
	const struct weft_mr_obj *mr;
	uint64_t addr;

	for (pos = weft_global.vm_mrs.next; pos != &weft_global.vm_mrs; pos = pos->next) {
		mr = weft_container_of(pos, struct weft_mr_obj, vm_node);
		addr = (uint64_t)(uintptr_t)mr->pub.addr;
		if (overlaps(look, addr & ~(page_bytes() - 1), addr + mr->pub.bytes))
			return true;
	}
	return false;
}

static bool moving_is_off(void)
{
	const char *env = secure_getenv("WEFT_MEM");

	return env && strcmp(env, "process_vm") == 0;
}

/* weft_move_pages(), and what is left of the window goes. */
static uint64_t move_through(uint8_t *window, bool zero, uint64_t start, uint64_t bytes)
{
	uint64_t moved = weft_move_pages(window, zero, start, start + bytes);

	if (moved < bytes)
		munmap(window + moved, bytes - moved);
	return moved;
}

/* Moves the range; on failure *look keeps no extent. */
static void move(struct weft_ctx *ctx, struct weft_mem_look *look)
{
	uint64_t bytes = look->end - look->start, moved = 0;
	struct weft_extent *extent;
	uint8_t *window;

	if (moving_is_off() || own_pages(look) || under_process_vm(look) ||
	    weft_mem_new(ctx, bytes, WEFT_EXTENT_SLACK_BYTES, &extent) < 0)
		return;
	window = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, extent->fd, 0);
	if (window != MAP_FAILED)
		moved = move_through(window, true, look->start, bytes);
	if (moved == bytes) {
		look->extent = extent;
		look->offset = 0;
		return;
	}
	weft_mem_detach(extent);
	/* A part that did move is an extent like any other; one without mapping goes. */
	if (!moved)
		weft_mem_collect();
}

/* A piece of an extent, and whether it is mapped anywhere. */
struct weft_mem_piece {
	const struct weft_extent *extent;
	uint64_t offset;
	uint64_t bytes;
	bool mapped;
};

static bool look_for_piece(const struct weft_vma *vma, void *arg)
{
	struct weft_mem_piece *piece = arg;

	piece->mapped = weft_mem_of_vma(vma) == piece->extent &&
			vma->offset < piece->offset + piece->bytes &&
			vma->offset + (vma->end - vma->start) > piece->offset;
	return !piece->mapped;
}

/* A mapping of [offset, offset + bytes) of a sealed extent. NULL: the kernel refuses. */
static uint8_t *copy_mapping(const struct weft_extent *extent, uint64_t offset, uint64_t bytes)
{
	uint8_t *whole = mremap(extent->anchor, 0, offset + bytes, MREMAP_MAYMOVE);

	if (whole == MAP_FAILED)
		return NULL;
	munmap(whole, offset);
	if (mprotect(whole + offset, bytes, PROT_READ | PROT_WRITE) == 0)
		return whole + offset;
	munmap(whole + offset, bytes);
	return NULL;
}

/*
 * The range begins in an extent and ends beyond: what follows is moved behind it on the same
 * memfd, so that the whole is one piece. That needs the memfd's slack, and nobody there: no
 * mapping, and no region, whose memory the NIC may still write to. On failure *look keeps no
 * extent.
 */
static void grow(struct weft_mem_look *look)
{
	struct weft_mem_look rest = {.start = look->head_end, .end = look->end};
	struct weft_extent *extent = look->head;
	struct weft_mem_piece piece = {.extent = extent,
				       .offset = look->offset + (rest.start - look->start),
				       .bytes = rest.end - rest.start};
	struct stat st;
	uint8_t *window;

	if (moving_is_off() || own_pages(&rest) || under_process_vm(&rest) || !extent->anchor ||
	    extent->used_bytes > piece.offset || fstat(extent->fd, &st) < 0 ||
	    (uint64_t)st.st_size < piece.offset + piece.bytes ||
	    weft_maps_walk_shared(0, look_for_piece, &piece) < 0 || piece.mapped)
		return;
	window = copy_mapping(extent, piece.offset, piece.bytes);
	if (!window || move_through(window, false, rest.start, piece.bytes) != piece.bytes)
		return;
	if (extent->bytes < piece.offset + piece.bytes)
		extent->bytes = piece.offset + piece.bytes;
	extent->refs++;
	look->extent = extent;
}

static void use(struct weft_extent *extent, uint64_t end)
{
	if (extent && extent->used_bytes < end)
		extent->used_bytes = end;
}

int weft_mem_attach(struct weft_ctx *ctx, uint64_t addr, uint64_t bytes, bool write,
		    struct weft_extent **extent, uint64_t *offset)
{
	uint64_t mask = page_bytes() - 1;
	struct weft_mem_look look = {
	    .start = addr & ~mask,
	    .end = (addr + bytes + mask) & ~mask,
	    .next = addr & ~mask,
	    .readable = true,
	    .writable = true,
	    .movable = !(ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD),
	    .rest_movable = true,
	};
	int rc;

	*extent = NULL;
	if (look.end <= look.start)
		return -EFAULT;
	if (ctx->ops->vouches && ctx->ops->vouches(ctx->chan, addr, bytes))
		return 0;
	rc = weft_maps_walk_from(look.start, look_at, &look);
	if (rc < 0)
		return rc;
	if (look.next < look.end || !look.readable || (write && !look.writable))
		return -EFAULT;
	if (ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD)
		return 0;
	if (look.extent) {
		look.extent->refs++;
	} else if (look.movable) {
		move(ctx, &look);
	} else if (look.head && look.rest_movable) {
		grow(&look);
	}
	/* The process's own pages, in its cgroup. Without them weftd refuses, and process_vm it is.
	 */
	if (look.extent)
		(void)madvise((void *)(uintptr_t)look.start, look.end - look.start,
			      look.writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	use(look.extent, look.offset + (look.end - look.start));
	*extent = look.extent;
	*offset = look.offset + (addr - look.start);
	return 0;
}
