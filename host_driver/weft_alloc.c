/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the NIC maps and that registration need not move: weft_alloc(), weft_alloc_attr(),
 * weft_free().
 *
 * Calls weft_mem.c for memfds of weftd; registration recognizes them by their inodes.
 *
 * There are three size classes, as in SCI-MPICH's MPI_Alloc_mem() (the SCI-MPICH paper, III.C.2).
 * Small requests get plain memory, medium ones share an extent, large ones have an extent of their
 * own. weft_free() distinguishes them only by address (in the pool or not) and length:
 *
 * 	in a chunk of the pool		units of it
 * 	a page or more			a mapping of its own, shared or, failing that, plain
 * 	less				malloc() memory
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_driver/weft_mem.h"

enum {
	WEFT_CHUNK_BYTES = 4 << 20,
	WEFT_CHUNK_UNIT_BYTES = 256,
	WEFT_CHUNK_UNITS = WEFT_CHUNK_BYTES / WEFT_CHUNK_UNIT_BYTES,
	WEFT_ALLOC_SHARED_MIN_BYTES = 4096,
	WEFT_ALLOC_OWN_MIN_BYTES = 256 << 10,
	WEFT_ALLOC_MAX_ALIGNMENT = WEFT_CHUNK_BYTES, /* chunks are aligned to this size */
};

/* One extent of the pool, allocated in units. Under weft_global.lock, as the list is. */
struct weft_chunk {
	struct weft_link node;
	uint8_t *addr;
	uint32_t used_units;
	uint32_t next_unit; /* start of the next search */
	bool closed;        /* inherited from the parent of this process: no further allocation */
	uint8_t used[WEFT_CHUNK_UNITS];
};

static struct weft_link chunks = {&chunks, &chunks};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t bytes, size_t to)
{
	return bytes + (to - 1) < bytes ? 0 : (bytes + (to - 1)) & ~(to - 1);
}

/* Creates an anonymous mapping (fd -1) or a memfd mapping at an aligned address. */
static void *map_aligned(size_t length, size_t alignment, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	size_t slack = alignment > page_bytes() ? alignment - page_bytes() : 0;
	uint8_t *room, *addr;
	void *mapped;

	if (length + slack < length)
		return NULL;
	room = mmap(NULL, length + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	addr = (uint8_t *)round_up((uintptr_t)room, alignment);
	mapped = mmap(addr, length, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
	if (mapped == MAP_FAILED) {
		munmap(room, length + slack);
		return NULL;
	}
	if (addr > room)
		munmap(room, (size_t)(addr - room));
	if (addr < room + slack)
		munmap(addr + length, (size_t)(room + slack - addr));
	return mapped;
}

/* Allocates an extent of its own. Under weft_global.lock. */
static void *map_extent(struct weft_ctx *ctx, size_t length, size_t alignment)
{
	struct weft_extent *extent;
	void *addr;

	if (weft_mem_new(ctx, length, 0, &extent) < 0)
		return NULL;
	addr = map_aligned(length, alignment, extent->fd);
	weft_mem_drop(extent);
	return addr;
}

/* Returns the first free run of units from `from` on that starts at an aligned address, or -1. */
static int find_units(const struct weft_chunk *chunk, uint32_t from, uint32_t units,
		      size_t alignment)
{
	size_t step = alignment > WEFT_CHUNK_UNIT_BYTES ? alignment / WEFT_CHUNK_UNIT_BYTES : 1;
	uint32_t at = (uint32_t)round_up(from, step), n;

	while (at + units <= WEFT_CHUNK_UNITS) {
		for (n = 0; n < units && !chunk->used[at + n]; n++)
			;
		if (n == units)
			return (int)at;
		at = (uint32_t)round_up(at + n + 1, step);
	}
	return -1;
}

static void *take_units(struct weft_chunk *chunk, size_t bytes, size_t alignment)
{
	uint32_t units = (uint32_t)(round_up(bytes, WEFT_CHUNK_UNIT_BYTES) / WEFT_CHUNK_UNIT_BYTES);
	uint8_t *addr;
	int at;

	if (chunk->closed || units > WEFT_CHUNK_UNITS - chunk->used_units)
		return NULL;
	at = find_units(chunk, chunk->next_unit, units, alignment);
	if (at < 0)
		at = find_units(chunk, 0, units, alignment);
	if (at < 0)
		return NULL;
	memset(chunk->used + at, 1, units);
	chunk->used_units += units;
	chunk->next_unit = (uint32_t)at + units;
	addr = chunk->addr + (size_t)at * WEFT_CHUNK_UNIT_BYTES;
	/* The memory may hold data of its previous owner. */
	memset(addr, 0, bytes);
	return addr;
}

static void drop_chunk(struct weft_chunk *chunk)
{
	munmap(chunk->addr, WEFT_CHUNK_BYTES);
	weft_link_del(&chunk->node);
	free(chunk);
	weft_mem_collect();
}

/* Allocates from a chunk with room, or from a new one. Under weft_global.lock. */
static void *take_pooled(struct weft_ctx *ctx, size_t bytes, size_t alignment)
{
	struct weft_chunk *chunk;
	struct weft_link *pos;
	void *addr;

	for (pos = chunks.next; pos != &chunks; pos = pos->next) {
		addr =
		    take_units(weft_container_of(pos, struct weft_chunk, node), bytes, alignment);
		if (addr)
			return addr;
	}
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->addr = map_extent(ctx, WEFT_CHUNK_BYTES, WEFT_CHUNK_BYTES);
	if (!chunk->addr) {
		free(chunk);
		return NULL;
	}
	weft_link_add(&chunks, &chunk->node);
	addr = take_units(chunk, bytes, alignment);
	if (!addr)
		drop_chunk(chunk);
	return addr;
}

/*
 * Returns units to the pool. The result is true if the address lies in the pool. Under
 * weft_global.lock.
 */
static bool give_pooled(uint8_t *addr, size_t bytes)
{
	uint32_t units = (uint32_t)(round_up(bytes, WEFT_CHUNK_UNIT_BYTES) / WEFT_CHUNK_UNIT_BYTES);
	struct weft_chunk *chunk = NULL;
	struct weft_link *pos;
	size_t at;

	for (pos = chunks.next; pos != &chunks; pos = pos->next) {
		chunk = weft_container_of(pos, struct weft_chunk, node);
		if (addr >= chunk->addr && addr < chunk->addr + WEFT_CHUNK_BYTES)
			break;
	}
	if (pos == &chunks)
		return false;
	at = (size_t)(addr - chunk->addr) / WEFT_CHUNK_UNIT_BYTES;
	memset(chunk->used + at, 0, units);
	chunk->used_units -= units;
	if (!chunk->used_units)
		drop_chunk(chunk);
	return true;
}

/* Allocates plain, zero-filled memory. */
static void *take_plain(size_t bytes, size_t alignment)
{
	void *addr = NULL;

	if (bytes >= page_bytes())
		return map_aligned(round_up(bytes, page_bytes()), alignment, -1);
	if (posix_memalign(&addr, alignment, bytes) != 0)
		return NULL;
	memset(addr, 0, bytes);
	return addr;
}

static void *take_shared(struct weft_ctx *ctx, size_t bytes, size_t own_min_bytes, size_t alignment)
{
	void *addr = NULL;

	weft_global_lock();
	if (bytes < own_min_bytes)
		addr = take_pooled(ctx, bytes, alignment);
	/* weft_free() treats less than a page as malloc() memory. */
	if (!addr && bytes >= page_bytes())
		addr = map_extent(ctx, round_up(bytes, page_bytes()), alignment);
	weft_global_unlock();
	return addr;
}

void *weft_alloc_attr(struct weft_context *context, size_t bytes,
		      const struct weft_alloc_attr *attr)
{
	static const struct weft_alloc_attr none;
	struct weft_ctx *ctx = weft_ctx_of(context);
	size_t alignment, shared_min, own_min;
	void *addr = NULL;
	int error = 0;

	attr = attr ? attr : &none;
	alignment = attr->alignment ? attr->alignment : page_bytes();
	shared_min = attr->shared_min_bytes ? attr->shared_min_bytes : WEFT_ALLOC_SHARED_MIN_BYTES;
	own_min = attr->own_min_bytes ? attr->own_min_bytes : WEFT_ALLOC_OWN_MIN_BYTES;
	if (own_min > WEFT_ALLOC_OWN_MIN_BYTES)
		own_min = WEFT_ALLOC_OWN_MIN_BYTES;
	if (!bytes || alignment & (alignment - 1) || alignment > WEFT_ALLOC_MAX_ALIGNMENT)
		error = EINVAL;
	else if (!round_up(bytes, page_bytes()))
		error = ENOMEM;
	else if (weft_ctx_state(ctx) == WEFT_CTX_FORKED)
		error = EIO;
	if (error) {
		errno = error;
		return NULL;
	}
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	if (attr->must_be_shared || bytes >= shared_min)
		addr = take_shared(ctx, bytes, own_min, alignment);
	if (!addr && !attr->must_be_shared)
		addr = take_plain(bytes, alignment);
	if (!addr)
		errno = ENOMEM;
	return addr;
}

void *weft_alloc(struct weft_context *context, size_t bytes)
{
	const struct weft_alloc_attr attr = {.shared_min_bytes = 1};

	return weft_alloc_attr(context, bytes, &attr);
}

void weft_free(void *addr, size_t bytes)
{
	if (!addr)
		return;
	weft_global_lock();
	if (!give_pooled(addr, bytes)) {
		if (bytes < page_bytes())
			free(addr);
		else
			munmap(addr, round_up(bytes, page_bytes()));
		/* Frees the memfd too, if nothing else of it is mapped. */
		weft_mem_collect();
	}
	weft_global_unlock();
}

void weft_alloc_forked(void)
{
	struct weft_link *pos;

	for (pos = chunks.next; pos != &chunks; pos = pos->next)
		weft_container_of(pos, struct weft_chunk, node)->closed = true;
}
