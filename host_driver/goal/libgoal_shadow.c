/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shadows: memory that the NIC can map, used in place of buffers that it cannot map.
 *
 * A buffer on the stack, in initialised data, or on a page shared with other data costs the NIC a
 * system call per access (docs/host-interface.md, "Memory"). Such a range is bound to a block of
 * mapped memory instead. The start of a run copies the buffer into the block; reaping the run
 * copies back the data that the schedule writes. Only private memory qualifies, because no other
 * process can observe it during the run.
 *
 * Blocks are powers of two. They are cut from chunks that are registered once, and kept in free
 * lists by size until the instance ends. All functions run under the instance's lock, except for
 * libgoal_detach(). Calls weft.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host_driver/goal/libgoal.h"

enum {
	LEAST_SHIFT = 6, /* a cache line: no two ranges share one */
	CHUNK_BYTES = 1 << 20,
	/* Above the caller's frame: its own stack, not another mapping. */
	STACK_NEAR_BYTES = 1 << 16,
};
/* Beyond this size a copy costs as much as the NIC's system calls for packet-sized pieces. */
#define RANGE_MAX_BYTES (UINT64_C(1) << 20)
#define TOTAL_MAX_BYTES (UINT64_C(64) << 20) /* per instance */

_Static_assert(LEAST_SHIFT + LIBGOAL_SHADOW_SIZES - 1 == 20, "the largest block is a chunk");

struct libgoal_chunk {
	struct libgoal_chunk *next;
	uint8_t *mem;
	uint64_t used; /* bytes cut off so far */
	struct weft_mr *mr;
};

/* Header of a free block: links the blocks of one size. */
struct free_block {
	struct free_block *next;
};

void libgoal_shadow_begin(struct libgoal *lib)
{
	const char *env = secure_getenv("WEFT_MEM");

	lib->no_shadows = env && strcmp(env, "process_vm") == 0;
}

static struct libgoal_chunk *new_chunk(struct libgoal *lib)
{
	struct libgoal_chunk *chunk;

	if (lib->shadow_bytes + CHUNK_BYTES > TOTAL_MAX_BYTES)
		return NULL;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->mem = weft_alloc(lib->context, CHUNK_BYTES);
	if (chunk->mem)
		chunk->mr = weft_reg_mr(lib->pd, chunk->mem, CHUNK_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	if (!chunk->mr || !chunk->mr->mapped) {
		/* An unmapped chunk brings no gain, and the next one would not be mapped either. */
		lib->no_shadows = true;
		if (!chunk->mr || weft_dereg_mr(chunk->mr) == 0)
			weft_free(chunk->mem, CHUNK_BYTES);
		free(chunk);
		return NULL;
	}
	chunk->next = lib->chunks;
	lib->chunks = chunk;
	lib->shadow_bytes += CHUNK_BYTES;
	return chunk;
}

static const struct weft_mr *mr_of(const struct libgoal *lib, const void *mem)
{
	const struct libgoal_chunk *chunk = lib->chunks;
	const uint8_t *at = mem;

	while (chunk && (at < chunk->mem || at >= chunk->mem + CHUNK_BYTES))
		chunk = chunk->next;
	return chunk ? chunk->mr : NULL;
}

static uint32_t size_of(uint64_t bytes)
{
	uint32_t size = 0;

	while (bytes > UINT64_C(1) << (LEAST_SHIFT + size))
		size++;
	return size;
}

static void *get_block(struct libgoal *lib, uint32_t size)
{
	uint64_t bytes = UINT64_C(1) << (LEAST_SHIFT + size);
	struct free_block *block = lib->blocks[size];
	struct libgoal_chunk *chunk;

	if (block) {
		lib->blocks[size] = block->next;
		return block;
	}
	for (chunk = lib->chunks; chunk && CHUNK_BYTES - chunk->used < bytes; chunk = chunk->next)
		;
	if (!chunk)
		chunk = new_chunk(lib);
	if (!chunk)
		return NULL;
	chunk->used += bytes;
	return chunk->mem + chunk->used - bytes;
}

void *libgoal_block_get(struct libgoal *lib, uint64_t bytes, const struct weft_mr **mr)
{
	void *mem = NULL;

	if (bytes <= RANGE_MAX_BYTES && !lib->no_shadows)
		mem = get_block(lib, size_of(bytes));
	*mr = mem ? mr_of(lib, mem) : NULL;
	return mem;
}

void libgoal_block_put(struct libgoal *lib, void *mem, uint64_t bytes)
{
	struct free_block *block = mem;
	uint32_t size = size_of(bytes);

	block->next = lib->blocks[size];
	lib->blocks[size] = block;
}

bool libgoal_shadow_get(GOAL_Schedule sched, uint32_t index)
{
	const struct goal_range *range = &sched->code.ranges[index];
	struct libgoal *lib = sched->comm->lib;
	const struct weft_mr *mr;
	void *mem;

	if (range->bytes > RANGE_MAX_BYTES ||
	    !weft_goal_private((const void *)range->addr, range->bytes))
		return false;
	if (!sched->shadows)
		sched->shadows = calloc(sched->code.num_ranges, sizeof(*sched->shadows));
	mem = sched->shadows ? libgoal_block_get(lib, range->bytes, &mr) : NULL;
	if (!mem)
		return false;
	sched->shadows[index] = mem;
	sched->binds[index] = (struct weft_goal_bind){mem, range->bytes, mr};
	return true;
}

void libgoal_shadow_put(GOAL_Schedule sched)
{
	struct libgoal *lib = sched->comm->lib;
	uint32_t i;

	for (i = 0; sched->shadows && i < sched->code.num_ranges; i++)
		if (sched->shadows[i])
			libgoal_block_put(lib, sched->shadows[i], sched->code.ranges[i].bytes);
	free(sched->shadows);
	sched->shadows = NULL;
}

bool libgoal_memory_stays(uintptr_t addr, uint64_t bytes)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	uintptr_t end = addr + bytes;

	return end <= (uintptr_t)sbrk(0) || (addr > frame && end - frame < STACK_NEAR_BYTES);
}

/* Copies through the kernel, which reports unmapped memory as an error. */
static bool copy_carefully(void *user, void *shadow, size_t bytes, bool in)
{
	const struct iovec theirs = {user, bytes}, ours = {shadow, bytes};
	ssize_t n = in ? process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0)
		       : process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0);

	if (n >= 0 || errno == EFAULT)
		return n == (ssize_t)bytes;
	/* A sandbox forbids these calls. */
	memcpy(in ? shadow : user, in ? user : shadow, bytes);
	return true;
}

static bool copy(const struct goal_range *range, void *shadow, bool in)
{
	void *user = (void *)range->addr;

	if (!libgoal_memory_stays(range->addr, range->bytes))
		return copy_carefully(user, shadow, range->bytes, in);
	memcpy(in ? shadow : user, in ? user : shadow, range->bytes);
	return true;
}

bool libgoal_shadow_in(const struct GOAL_Schedule_s *sched)
{
	bool there = true;
	uint32_t i;

	for (i = 0; sched->shadows && i < sched->code.num_ranges && there; i++) {
		const struct goal_range *range = &sched->code.ranges[i];

		/* The data that another run in flight writes is newer than the buffer. */
		if (sched->shadows[i] && !(sched->flying && range->access & GOAL_SLOT_WRITE))
			there = copy(range, sched->shadows[i], true);
	}
	return there;
}

bool libgoal_shadow_out(const struct GOAL_Schedule_s *sched)
{
	bool there = true;
	uint32_t i;

	for (i = 0; sched->shadows && i < sched->code.num_ranges; i++) {
		const struct goal_range *range = &sched->code.ranges[i];

		if (sched->shadows[i] && range->access & GOAL_SLOT_WRITE)
			there = copy(range, sched->shadows[i], false) && there;
	}
	return there;
}

void libgoal_shadow_end(struct libgoal *lib)
{
	struct libgoal_chunk *chunk, *next;

	for (chunk = lib->chunks; chunk; chunk = next) {
		/* A NIC that is gone holds no memory any more. */
		int rc = weft_dereg_mr(chunk->mr);

		next = chunk->next;
		if (rc == 0 || rc == -EIO)
			weft_free(chunk->mem, CHUNK_BYTES);
		free(chunk);
	}
	lib->chunks = NULL;
}
