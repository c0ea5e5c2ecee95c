/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the NIC maps without moving anything: weft_alloc(), weft_free().
 *
 * Called by applications. Calls weft_mem.c for a memfd of weftd's; registration recognizes
 * it there by its inode.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"

static size_t round_to_pages(size_t bytes)
{
	size_t mask = (size_t)sysconf(_SC_PAGESIZE) - 1;

	return bytes + mask < bytes ? 0 : (bytes + mask) & ~mask;
}

void *weft_alloc(struct weft_context *context, size_t bytes)
{
	struct weft_ctx *ctx = weft_ctx_of(context);
	size_t length = round_to_pages(bytes);
	struct weft_extent *extent;
	void *addr = MAP_FAILED;

	if (!bytes || !length) {
		errno = bytes ? ENOMEM : EINVAL;
		return NULL;
	}
	if (weft_ctx_state(ctx) == WEFT_CTX_FORKED) {
		errno = EIO;
		return NULL;
	}
	pthread_mutex_lock(&weft_global.lock);
	if (weft_mem_new(ctx, length, 0, &extent) == 0) {
		addr = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, extent->fd, 0);
		weft_mem_detach(extent);
	}
	pthread_mutex_unlock(&weft_global.lock);
	if (addr == MAP_FAILED)
		addr =
		    mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return addr == MAP_FAILED ? NULL : addr;
}

void weft_free(void *addr, size_t bytes)
{
	if (!addr)
		return;
	munmap(addr, round_to_pages(bytes));
	/* The memfd goes too, if nothing else is mapped of it. */
	pthread_mutex_lock(&weft_global.lock);
	weft_mem_collect();
	pthread_mutex_unlock(&weft_global.lock);
}
