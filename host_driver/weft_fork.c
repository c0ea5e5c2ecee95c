/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork: the child gets copies of registered memory, the parent keeps the NIC.
 *
 * Handlers of pthread_atfork(3), installed by weft_dev.c. Parent and child expect private memory,
 * but shared extents would stay shared between parent, child and NIC. The child therefore replaces
 * each mapping of an extent by a private copy, and fork() returns in the parent only after that. In
 * the child, contexts become WEFT_CTX_FORKED, their BAR becomes plain memory, and their descriptors
 * are closed. The child can thus not ring the parent's doorbells, and does not hide the parent's
 * end from weftd.
 *
 * Other threads of the parent keep running. Data that they and the NIC write to registered memory
 * between fork and copy may appear in the child's copy, as with hardware DMA.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_driver/weft_eq.h"
#include "host_driver/weft_mem.h"
#include "host_driver/weft_watch.h"

/* Used between the prepare handler and the two others; weft_global.lock is held throughout. */
static int done_pipe[2] = {-1, -1};

/* The lowest VMA that the child copies next, and its extent. */
struct weft_fork_find {
	uint64_t from;
	struct weft_vma vma;
	struct weft_extent *extent;
};

static bool find_shared(const struct weft_vma *vma, void *arg)
{
	struct weft_fork_find *find = arg;

	if (vma->start < find->from)
		return true;
	find->extent = weft_mem_of_vma(vma);
	find->vma = *vma;
	return !find->extent;
}

static void prepare(void)
{
	weft_global_lock();
	done_pipe[0] = -1;
	done_pipe[1] = -1;
	if (weft_global.extents.next != &weft_global.extents && pipe2(done_pipe, O_CLOEXEC) < 0)
		done_pipe[0] = -1;
}

static void parent(void)
{
	char byte;
	ssize_t n;

	if (done_pipe[0] >= 0) {
		close(done_pipe[1]);
		/* A byte, or end of file: the child died, or fork failed. */
		do {
			n = read(done_pipe[0], &byte, 1);
		} while (n < 0 && errno == EINTR);
		close(done_pipe[0]);
	}
	weft_global_unlock();
}

/* The child cannot continue with memory that it does not own. */
static void give_up(const char *why)
{
	fprintf(stderr, "weft: child of fork cannot copy its registered memory: %s\n", why);
	abort();
}

/* Reads the data of [offset, offset + bytes) from the memfd and skips holes. */
static void copy_data(int memfd, uint64_t offset, uint64_t bytes, char *to)
{
	uint64_t end = offset + bytes, at = offset;
	ssize_t n;

	while (at < end) {
		off_t data = lseek(memfd, (off_t)at, SEEK_DATA);

		if (data < 0 || (uint64_t)data >= end)
			return;
		at = (uint64_t)data;
		do {
			n = pread(memfd, to + (at - offset), end - at, (off_t)at);
		} while (n < 0 && errno == EINTR);
		if (n <= 0)
			give_up(n < 0 ? strerror(errno) : "its memfd ended");
		at += (uint64_t)n;
	}
}

static void make_private(const struct weft_vma *vma, const struct weft_extent *extent)
{
	int prot = (vma->readable ? PROT_READ : 0) | (vma->writable ? PROT_WRITE : 0);
	uint64_t bytes = vma->end - vma->start;
	void *copy;

	copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		give_up(strerror(errno));
	copy_data(extent->fd, vma->offset, bytes, copy);
	if (mprotect(copy, bytes, prot) < 0 ||
	    mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)(uintptr_t)vma->start) == MAP_FAILED)
		give_up(strerror(errno));
}

static void drop_eq(struct weft_eq *eq)
{
	if (eq->event_fd >= 0)
		close(eq->event_fd);
	if (eq->wait_fd >= 0)
		close(eq->wait_fd);
	eq->event_fd = -1;
	eq->wait_fd = -1;
}

/* Replaces the BAR by plain memory, so that stray stores have no effect. */
static void drop_bar(struct weft_ctx *ctx)
{
	if (!ctx->bar || ctx->ops->map_bar)
		return;
	/* MAP_FIXED keeps the address. */
	ctx->bar = mmap(ctx->bar, ctx->bar_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	if (ctx->bar == MAP_FAILED)
		give_up(strerror(errno));
}

static void drop_context(struct weft_ctx *ctx)
{
	struct weft_channel_obj *channel;
	struct weft_link *pos;

	__atomic_store_n(&ctx->state, WEFT_CTX_FORKED, __ATOMIC_SEQ_CST);
	drop_bar(ctx);
	/*
	 * Another thread may have been changing the list, but forward links are always consistent.
	 */
	for (pos = ctx->channel_list.next; pos != &ctx->channel_list; pos = pos->next) {
		channel = weft_container_of(pos, struct weft_channel_obj, node);
		drop_eq(&channel->eq);
		channel->pub.fd = -1;
	}
	drop_eq(&ctx->async_eq);
	ctx->pub.async_fd = -1;
	weft_ctx_close_doorbells(ctx);
	if (ctx->ops->abandon)
		ctx->ops->abandon(ctx->chan);
}

static void forget_memory(void)
{
	struct weft_link *pos, *next;
	struct weft_extent *e;

	for (pos = weft_global.extents.next; pos != &weft_global.extents; pos = next) {
		next = pos->next;
		e = weft_container_of(pos, struct weft_extent, node);
		weft_mem_forked(e);
		close(e->fd);
		/* Regions of dead contexts still refer to it. */
		weft_link_init(&e->node);
	}
	weft_link_init(&weft_global.extents);
	weft_link_init(&weft_global.vm_mrs);
	weft_alloc_forked();
	weft_watch_forked();
	weft_global.idle_extents = 0;
	weft_global.idle_bytes = 0;
}

static void child(void)
{
	struct weft_fork_find find = {.from = 0};
	struct weft_link *pos;

	weft_maps_forked();
	for (;;) {
		find.extent = NULL;
		if (weft_maps_walk_shared(find.from, find_shared, &find) < 0)
			give_up("/proc/self/maps cannot be read");
		if (!find.extent)
			break;
		make_private(&find.vma, find.extent);
		find.from = find.vma.end;
	}
	for (pos = weft_global.contexts.next; pos != &weft_global.contexts; pos = pos->next)
		drop_context(weft_container_of(pos, struct weft_ctx, node));
	weft_link_init(&weft_global.contexts);
	forget_memory();
	if (done_pipe[0] >= 0) {
		ssize_t n;

		close(done_pipe[0]);
		do {
			n = write(done_pipe[1], "", 1);
		} while (n < 0 && errno == EINTR);
		close(done_pipe[1]);
	}
	/* The forking thread took the lock, and it is the only thread here. */
	weft_global_unlock();
}

static int install_rc;

static void install(void)
{
	install_rc = -pthread_atfork(prepare, parent, child);
}

int weft_fork_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
	return install_rc;
}
