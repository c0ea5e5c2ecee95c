/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory to be registered: determines its kind, and how the NIC accesses it.
 *
 * A scan of the range yields runs: parts of shared extents, and private pages. Private pages are
 * moved onto shared pages, and the region is the list of all runs. docs/host-interface.md,
 * "Memory", has the rules. Calls weft_maps.c, weft_move.c and weft_mem.c.
 *
 * Placement of private pages: after the preceding run, on its memfd; pages of the brk heap on the
 * heap's own extent, whose offsets are addresses, so that buffers registered in any order and a
 * heap that grows in steps form one piece; all others on a new extent. Only pages of the range are
 * moved, because another thread may be unmapping neighbouring pages at the same time.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum {
	/* The kernel allows a process about 65,000 mappings; most are left to the program. */
	WEFT_HEAP_MOVES_MAX = 8192,
};

/*
 * A memfd is much longer than the pages moved onto it: if realloc() extended a mapping with
 * mremap() beyond the end of its memfd, access would raise SIGBUS. Holes cost no memory.
 */
#define WEFT_EXTENT_SLACK_BYTES (UINT64_C(1) << 42)
/* weftd maps this much of the heap's extent at once, and the rest region by region. */
#define WEFT_HEAP_MIN_BYTES (UINT64_C(1) << 30)

/* Consecutive pages of the range with the same properties. */
struct weft_run {
	uint64_t start;
	uint64_t end;
	struct weft_extent *extent; /* NULL: private, or an extent that is dead */
	uint64_t offset;            /* offset of start in the extent */
	uint64_t vma_start;
	bool heap;
};

/* A range of pages, as found by a walk over the mappings. */
struct weft_mem_look {
	uint64_t start; /* page-aligned range */
	uint64_t end;
	uint64_t next; /* all pages before it are known to be mapped */
	bool readable;
	bool writable;
	bool foreign; /* a part has an unsupported kind, or there are too many runs */
	uint32_t count;
	struct weft_run run[HW_MEM_PIECES_MAX];
};

static uint64_t page_mask(void)
{
	static uint64_t mask;

	if (!mask)
		mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	return mask;
}

static bool is_movable(const struct weft_vma *vma)
{
	return !vma->shared && !vma->inode && vma->readable && vma->writable && !vma->executable &&
	       !vma->special;
}

/* Returns true if b continues a. */
static bool continues(const struct weft_run *a, const struct weft_run *b)
{
	if (a->extent != b->extent || a->end != b->start)
		return false;
	return a->extent ? a->offset + (a->end - a->start) == b->offset : a->heap == b->heap;
}

/* Appends a run to the list. Returns false if the list is full. */
static bool add_run(struct weft_mem_look *look, const struct weft_run *run)
{
	if (look->count && continues(&look->run[look->count - 1], run)) {
		look->run[look->count - 1].end = run->end;
		return true;
	}
	if (look->count == HW_MEM_PIECES_MAX)
		return false;
	look->run[look->count++] = *run;
	return true;
}

static bool look_at(const struct weft_vma *vma, void *arg)
{
	struct weft_mem_look *look = arg;
	struct weft_run run = {
	    .start = look->next,
	    .end = vma->end < look->end ? vma->end : look->end,
	    .vma_start = vma->start,
	    .heap = vma->heap,
	};
	struct weft_extent *extent;

	if (vma->end <= look->start)
		return true;
	if (vma->start >= look->end || vma->start > look->next)
		return false;
	look->readable = look->readable && vma->readable;
	look->writable = look->writable && vma->writable;
	extent = weft_mem_of_vma(vma);
	if (extent && !extent->dead) {
		run.extent = extent;
		run.offset = vma->offset + (run.start - vma->start);
	} else if (extent && extent->heap) {
		run.heap = true;
		run.vma_start = extent->heap_start + page_mask() + 1;
	}
	if ((extent ? !vma->writable : !is_movable(vma)) && !run.extent)
		look->foreign = true;
	if (!add_run(look, &run))
		look->foreign = true;
	look->next = vma->end;
	return look->next < look->end;
}

static bool overlaps(const struct weft_run *run, uint64_t start, uint64_t end)
{
	return start < run->end && end > run->start;
}

/* Memory where the kernel stores the current CPU of this thread (rseq(2)), since glibc 2.35. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/*
 * The thread that moves pages cannot wait for itself, so pages that are written on its behalf
 * during the move (its stack, errno, rseq area) are not moved. The main thread's stack is
 * recognised by name.
 */
static bool own_pages(const struct weft_run *run)
{
	uint64_t errno_at = (uint64_t)(uintptr_t)&errno;
	pthread_attr_t attr;
	size_t stack_bytes = 0;
	void *stack = NULL;
	bool own;

	if (overlaps(run, errno_at, errno_at + sizeof(errno)))
		return true;
	if (&__rseq_offset && &__rseq_size) {
		uint64_t rseq =
		    (uint64_t)(uintptr_t)__builtin_thread_pointer() + (uint64_t)__rseq_offset;

		if (overlaps(run, rseq, rseq + 4 * sizeof(uint64_t)))
			return true;
	}
	if (gettid() == getpid())
		return false;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return true;
	own = pthread_attr_getstack(&attr, &stack, &stack_bytes) != 0 ||
	      overlaps(run, (uint64_t)(uintptr_t)stack, (uint64_t)(uintptr_t)stack + stack_bytes);
	pthread_attr_destroy(&attr);
	return own;
}

/*
 * Pages that the NIC accesses through process_vm are not moved: an access could hit a page under
 * way and fail or wait. A region that the monitor withdrew may wait long for its cache's next call.
 */
static bool under_process_vm(const struct weft_run *run)
{
	const struct weft_link *pos;
	const struct weft_mr_obj *mr;
	uint64_t addr;

	for (pos = weft_global.vm_mrs.next; pos != &weft_global.vm_mrs; pos = pos->next) {
		mr = weft_container_of(pos, struct weft_mr_obj, vm_node);
		addr = (uint64_t)(uintptr_t)mr->pub.addr;
		if (!weft_mr_is_dead(mr) &&
		    overlaps(run, addr & ~page_mask(), addr + mr->pub.bytes))
			return true;
	}
	return false;
}

static bool moving_is_off(void)
{
	const char *env = secure_getenv("WEFT_MEM");

	return env && strcmp(env, "process_vm") == 0;
}

/* ---- placement of pages --------------------------------------------------------------------- */

enum weft_placed {
	WEFT_PLACED = 0,
	WEFT_PLACED_NOT = 1,    /* not possible; nothing has changed */
	WEFT_PLACED_FAILED = 2, /* the kernel failed in the middle */
};

/* A part of an extent, and the number of its mappings. */
struct weft_mem_part {
	const struct weft_extent *extent;
	uint64_t offset;
	uint64_t bytes;
	uint32_t mappings;
};

static bool look_for_part(const struct weft_vma *vma, void *arg)
{
	struct weft_mem_part *part = arg;

	if (weft_mem_of_vma(vma) == part->extent && vma->offset < part->offset + part->bytes &&
	    vma->offset + (vma->end - vma->start) > part->offset)
		part->mappings++;
	return true;
}

/* Counts the mappings of a part. */
static uint32_t mappings_of(const struct weft_extent *extent, uint64_t offset, uint64_t bytes)
{
	struct weft_mem_part part = {extent, offset, bytes, 0};

	return weft_maps_walk_shared(0, look_for_part, &part) < 0 ? UINT32_MAX : part.mappings;
}

/*
 * Returns true if a region lies there: the NIC may still write to its memory, whatever the process
 * has mapped.
 */
static bool has_region(const struct weft_extent *extent, uint64_t offset, uint64_t bytes)
{
	const struct weft_mem_piece *piece;
	const struct weft_link *pos;

	for (pos = extent->pieces.next; pos != &extent->pieces; pos = pos->next) {
		piece = weft_container_of(pos, struct weft_mem_piece, node);
		if ((piece->offset & ~page_mask()) < offset + bytes &&
		    piece->offset + piece->bytes > offset)
			return true;
	}
	return false;
}

/* Maps [offset, offset + bytes) of a sealed extent. Returns NULL if the kernel refuses. */
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

/* Calls weft_move_pages() and unmaps the remainder of the window. */
static enum weft_placed move_through(uint8_t *window, bool zero, struct weft_run *run,
				     struct weft_extent *extent, uint64_t offset)
{
	uint64_t bytes = run->end - run->start;
	uint64_t moved = weft_move_pages(window, zero, run->start, run->end);

	if (moved < bytes)
		munmap(window + moved, bytes - moved);
	if (moved < bytes)
		return WEFT_PLACED_FAILED;
	run->extent = extent;
	run->offset = offset;
	return WEFT_PLACED;
}

/* Moves a run to a part of an extent that has neither mappings nor regions. */
static enum weft_placed place_at(struct weft_run *run, struct weft_extent *extent, uint64_t offset)
{
	uint64_t bytes = run->end - run->start;
	struct stat st;
	uint8_t *window;

	if (!extent->anchor || has_region(extent, offset, bytes) || fstat(extent->fd, &st) < 0 ||
	    (uint64_t)st.st_size < offset + bytes || mappings_of(extent, offset, bytes))
		return WEFT_PLACED_NOT;
	window = copy_mapping(extent, offset, bytes);
	if (!window)
		return WEFT_PLACED_NOT;
	if (extent->bytes < offset + bytes)
		extent->bytes = offset + bytes;
	/* The part may still hold data of pages that were unmapped. */
	return move_through(window, false, run, extent, offset);
}

/* Returns the heap's extent; NULL: there is none for this run. */
static struct weft_extent *heap_extent(struct weft_ctx *ctx, const struct weft_run *run)
{
	uint64_t bytes = 2 * (run->end - run->vma_start) + page_mask() + 1;
	pid_t server = weft_mem_server(ctx);
	struct weft_extent *extent;
	struct weft_link *pos;

	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = pos->next) {
		extent = weft_container_of(pos, struct weft_extent, node);
		if (extent->heap && !extent->dead && extent->server == server)
			return extent->heap_start < run->start ? extent : NULL;
	}
	if (weft_mem_new(ctx, bytes > WEFT_HEAP_MIN_BYTES ? bytes : WEFT_HEAP_MIN_BYTES,
			 WEFT_EXTENT_SLACK_BYTES, &extent) < 0)
		return NULL;
	extent->heap = true;
	/* Reserves a page for the anchor. */
	extent->heap_start = run->vma_start - (page_mask() + 1);
	/* The heap's extent stays until none of it is mapped any more. */
	weft_mem_drop(extent);
	return extent;
}

static enum weft_placed place_in_heap(struct weft_ctx *ctx, struct weft_run *run)
{
	struct weft_extent *extent = heap_extent(ctx, run);

	if (!extent)
		return WEFT_PLACED_NOT;
	if (extent->heap_moves >= WEFT_HEAP_MOVES_MAX)
		extent->heap_moves = mappings_of(extent, 0, UINT64_MAX / 2);
	if (extent->heap_moves >= WEFT_HEAP_MOVES_MAX)
		return WEFT_PLACED_NOT;
	extent->heap_moves++;
	return place_at(run, extent, run->start - extent->heap_start);
}

static enum weft_placed place_behind(struct weft_run *run, const struct weft_run *before)
{
	if (before->end != run->start || !before->extent || before->extent->heap)
		return WEFT_PLACED_NOT;
	return place_at(run, before->extent, before->offset + (before->end - before->start));
}

/* Moves the private runs from `first` on to a new extent. */
static enum weft_placed place_anew(struct weft_ctx *ctx, struct weft_mem_look *look, uint32_t first)
{
	enum weft_placed placed = WEFT_PLACED;
	uint64_t bytes = 0, offset = 0;
	struct weft_extent *extent;

	for (uint32_t i = first; i < look->count; i++)
		bytes += look->run[i].extent ? 0 : look->run[i].end - look->run[i].start;
	if (weft_mem_new(ctx, bytes, WEFT_EXTENT_SLACK_BYTES, &extent) < 0)
		return WEFT_PLACED_NOT;
	for (uint32_t i = first; i < look->count && placed == WEFT_PLACED; i++) {
		struct weft_run *run = &look->run[i];
		uint64_t length = run->end - run->start;
		uint8_t *window;

		if (run->extent)
			continue;
		window = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, extent->fd,
			      (off_t)offset);
		placed = window == MAP_FAILED ? WEFT_PLACED_FAILED
					      : move_through(window, true, run, extent, offset);
		offset += length;
	}
	/* Being mapped, the extent stays; a part that was moved is an ordinary extent. */
	weft_mem_drop(extent);
	if (placed != WEFT_PLACED)
		weft_mem_collect();
	return placed;
}

/* Moves all private pages of the range. Returns false if some were not moved. */
static bool move_all(struct weft_ctx *ctx, struct weft_mem_look *look)
{
	uint32_t first = look->count;

	for (uint32_t i = 0; i < look->count; i++) {
		const struct weft_run *run = &look->run[i];

		if (!run->extent && (moving_is_off() || own_pages(run) || under_process_vm(run)))
			return false;
	}
	for (uint32_t i = 0; i < look->count; i++) {
		struct weft_run *run = &look->run[i];
		enum weft_placed placed = WEFT_PLACED_NOT;

		if (run->extent)
			continue;
		if (i)
			placed = place_behind(run, run - 1);
		if (placed == WEFT_PLACED_NOT && run->heap)
			placed = place_in_heap(ctx, run);
		if (placed == WEFT_PLACED_FAILED)
			return false;
		if (placed == WEFT_PLACED_NOT && first == look->count)
			first = i;
	}
	return first == look->count || place_anew(ctx, look, first) == WEFT_PLACED;
}

/* ---- the region's list of pieces ------------------------------------------------------------ */

/* Converts the runs to pieces, each with a reference. Returns NULL when memory is exhausted. */
static struct weft_mem_pieces *make_pieces(const struct weft_mem_look *look, uint64_t addr,
					   uint64_t bytes)
{
	struct weft_mem_pieces *pieces;

	pieces = calloc(1, sizeof(*pieces) + look->count * sizeof(pieces->piece[0]));
	if (!pieces)
		return NULL;
	for (uint32_t i = 0; i < look->count; i++) {
		const struct weft_run *run = &look->run[i];
		struct weft_mem_piece *piece;
		struct weft_mem_piece *last =
		    pieces->count ? &pieces->piece[pieces->count - 1] : NULL;
		uint64_t start = run->start < addr ? addr : run->start;
		uint64_t end = run->end > addr + bytes ? addr + bytes : run->end;
		uint64_t offset = run->offset + (start - run->start);

		if (last && last->extent == run->extent && last->offset + last->bytes == offset) {
			last->bytes += end - start;
			continue;
		}
		piece = &pieces->piece[pieces->count++];
		piece->extent = run->extent;
		piece->offset = offset;
		piece->bytes = end - start;
		weft_mem_hold(run->extent);
		weft_link_add(&run->extent->pieces, &piece->node);
	}
	return pieces;
}

int weft_mem_attach(struct weft_ctx *ctx, uint64_t addr, uint64_t bytes, bool write,
		    struct weft_mem_pieces **pieces)
{
	struct weft_mem_look look;
	int rc;

	*pieces = NULL;
	look.start = look.next = addr & ~page_mask();
	look.end = (addr + bytes + page_mask()) & ~page_mask();
	look.readable = look.writable = true;
	look.foreign = false;
	look.count = 0;
	if (look.end <= look.start)
		return -EFAULT;
	if (ctx->ops->vouches && ctx->ops->vouches(ctx->chan, addr, bytes))
		return 0;
	rc = weft_maps_walk_from(look.start, look_at, &look);
	if (rc < 0)
		return rc;
	if (look.next < look.end || !look.readable || (write && !look.writable))
		return -EFAULT;
	if (ctx->ops->flags & WEFT_CHAN_F_NO_MEMFD || look.foreign || !move_all(ctx, &look))
		return 0;
	/*
	 * Populates the process's own pages, charged to its cgroup. Otherwise weftd refuses the
	 * mapping and process_vm is used.
	 */
	(void)madvise((void *)(uintptr_t)look.start, look.end - look.start,
		      look.writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	*pieces = make_pieces(&look, addr, bytes);
	return *pieces ? 0 : -ENOMEM;
}
