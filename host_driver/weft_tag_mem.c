/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for messages of users whose memory is not registered: copies, or regions of memory that is
 * used often (weft_tag.h).
 *
 * Calls weft_tag_cost.c for the number of uses from which registering pays, weft_mr_cache.c for
 * regions, weft_alloc.c for memory of copies. The method is that of Rashti's thesis, chapter 5:
 * counts of uses in a hash table, registration above a threshold, and no growth of the table while
 * few of its buffers are frequent (5.3.4). Equal counts of uses before and after the registration
 * bound the loss by a buffer that is never used again to what copying has cost so far.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/weft_tag_mem.h"

enum {
	DEFAULT_COPY_BYTES = 16384,
	MAX_COPY_BYTES = 65536,
	DEFAULT_MAX_BYTES = 16 << 20,
	CHUNK_BYTES = 256 << 10,
	/* The table of uses: sets of as many buffers as their line holds. */
	SETS = 1024,
	WAYS = 4,
	FREQUENT_PERCENT = 20,
	/* A table that stopped is emptied after so many messages: programs have phases. */
	REST_MESSAGES = 1 << 16,
	COPY_CLASSES = 9, /* 256 bytes to 64 KiB */
	COPY_MIN_LOG2 = 8,
	COPY_MIN_BYTES = 1 << COPY_MIN_LOG2,
};

struct use {
	uint64_t addr; /* 0: free */
	uint32_t count;
	uint32_t frequent;
};

struct chunk {
	struct chunk *next;
	void *memory;
	struct weft_mr *mr;
};

/* A free copy: the first words of its memory. */
struct copy {
	struct copy *next;
	struct weft_mr *mr;
};

struct weft_tag_mem_obj {
	struct weft_tag_mem pub;
	struct weft_tag_mem_attr attr;
	struct weft_mr_cache *cache;
	pthread_mutex_t lock; /* of all below */
	struct copy *free[COPY_CLASSES];
	struct chunk *chunks;
	uint32_t out; /* buffers in use */
	bool stopped;
	uint32_t rest; /* messages until a stopped table is emptied */
	struct weft_tag_mem_stats stats;
	uint32_t uses[MAX_COPY_BYTES / 1024]; /* threshold of each KiB */
	struct use use[SETS][WAYS];
};

static struct weft_tag_mem_obj *mem_of(struct weft_tag_mem *pub)
{
	return weft_container_of(pub, struct weft_tag_mem_obj, pub);
}

/* Threshold of memory of that length, at most MAX_COPY_BYTES. */
static uint32_t uses_of(const struct weft_tag_mem_obj *mem, size_t bytes)
{
	return mem->uses[(bytes - 1) / 1024];
}

static void set_thresholds(struct weft_tag_mem_obj *mem)
{
	const struct weft_tag_cost *cost = weft_tag_cost(mem->pub.pd);
	struct weft_tag_mem_stats *stats = &mem->stats;

	for (uint32_t i = 0; i < MAX_COPY_BYTES / 1024; i++)
		mem->uses[i] = mem->attr.never  ? UINT32_MAX
			       : mem->attr.uses ? mem->attr.uses
						: weft_tag_cost_uses(cost, (i + 1) * 1024u);
	stats->uses[0] = uses_of(mem, 1024);
	stats->uses[1] = uses_of(mem, 4096);
	stats->uses[2] = uses_of(mem, 16384);
	stats->reg_ns = cost->reg_ns;
	stats->copy_ns = weft_tag_cost_copy_ns(cost, 8192);
	stats->look_ns = cost->look_ns;
}

struct weft_tag_mem *weft_create_tag_mem(struct weft_pd *pd, const struct weft_tag_mem_attr *attr)
{
	const struct weft_mr_cache_attr cache = {.policy = WEFT_MR_CACHE_LAZY,
						 .access = WEFT_ACCESS_LOCAL_WRITE};
	struct weft_tag_mem_obj *mem;

	if (attr && attr->max_copy_bytes > MAX_COPY_BYTES) {
		errno = EINVAL;
		return NULL;
	}
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return NULL;
	mem->pub.pd = pd;
	if (attr)
		mem->attr = *attr;
	if (!mem->attr.max_copy_bytes)
		mem->attr.max_copy_bytes = DEFAULT_COPY_BYTES;
	if (!mem->attr.max_bytes)
		mem->attr.max_bytes = DEFAULT_MAX_BYTES;
	mem->cache = weft_create_mr_cache(pd, &cache);
	if (!mem->cache) {
		free(mem);
		return NULL;
	}
	weft_mutex_init(&mem->lock);
	set_thresholds(mem);
	return &mem->pub;
}

static int end_chunks(struct weft_tag_mem_obj *mem)
{
	struct chunk *chunk;
	int rc;

	while ((chunk = mem->chunks)) {
		rc = weft_dereg_mr(chunk->mr);
		if (rc < 0)
			return rc;
		weft_free(chunk->memory, CHUNK_BYTES);
		mem->chunks = chunk->next;
		free(chunk);
	}
	return 0;
}

int weft_destroy_tag_mem(struct weft_tag_mem *pub)
{
	struct weft_tag_mem_obj *mem = mem_of(pub);
	int rc;

	if (weft_ctx_state(weft_ctx_of(pub->pd->context)) == WEFT_CTX_FORKED)
		return -EIO;
	pthread_mutex_lock(&mem->lock);
	rc = mem->out ? -EBUSY : 0;
	pthread_mutex_unlock(&mem->lock);
	if (rc == 0)
		rc = end_chunks(mem);
	if (rc == 0)
		rc = weft_destroy_mr_cache(mem->cache);
	if (rc < 0)
		return rc;
	pthread_mutex_destroy(&mem->lock);
	free(mem);
	return 0;
}

/* ---- copies -------------------------------------------------------------------------------- */

/* The smallest class whose copies have room. */
static uint32_t class_of(size_t bytes)
{
	uint32_t log2 = 64 - (uint32_t)__builtin_clzl(bytes - 1 ? bytes - 1 : 1);

	return log2 > COPY_MIN_LOG2 ? log2 - COPY_MIN_LOG2 : 0;
}

/* Cuts a new chunk into copies of the class. Under the lock. */
static int add_chunk(struct weft_tag_mem_obj *mem, uint32_t class)
{
	size_t bytes = (size_t)COPY_MIN_BYTES << class;
	struct chunk *chunk;

	if (mem->stats.bytes + CHUNK_BYTES > mem->attr.max_bytes)
		return -ENOMEM;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	chunk->memory = weft_alloc(mem->pub.pd->context, CHUNK_BYTES);
	if (chunk->memory)
		chunk->mr =
		    weft_reg_mr(mem->pub.pd, chunk->memory, CHUNK_BYTES, WEFT_ACCESS_LOCAL_WRITE);
	if (!chunk->mr) {
		weft_free(chunk->memory, CHUNK_BYTES);
		free(chunk);
		return -ENOMEM;
	}
	chunk->next = mem->chunks;
	mem->chunks = chunk;
	mem->stats.bytes += CHUNK_BYTES;
	for (size_t at = CHUNK_BYTES; at; at -= bytes) {
		struct copy *copy = (void *)((char *)chunk->memory + at - bytes);

		copy->mr = chunk->mr;
		copy->next = mem->free[class];
		mem->free[class] = copy;
	}
	return 0;
}

/* Under the lock. */
static int take_copy(struct weft_tag_mem_obj *mem, size_t bytes, struct weft_tag_buf *buf)
{
	uint32_t class = class_of(bytes);
	struct copy *copy;
	int rc = 0;

	if (!mem->free[class])
		rc = add_chunk(mem, class);
	if (rc < 0)
		return rc;
	copy = mem->free[class];
	mem->free[class] = copy->next;
	buf->copy = copy;
	buf->mr = copy->mr;
	return 0;
}

static void give_copy(struct weft_tag_mem_obj *mem, struct weft_tag_buf *buf)
{
	uint32_t class = class_of(buf->sge.bytes);
	struct copy *copy = buf->copy;

	copy->mr = buf->mr;
	copy->next = mem->free[class];
	mem->free[class] = copy;
}

/* ---- the table of uses --------------------------------------------------------------------- */

static bool is_mostly_rare(const struct weft_tag_mem_stats *stats)
{
	return stats->frequent * 100 < stats->entries * FREQUENT_PERCENT;
}

static void empty_table(struct weft_tag_mem_obj *mem)
{
	memset(mem->use, 0, sizeof(mem->use));
	mem->stats.entries = 0;
	mem->stats.frequent = 0;
	mem->stopped = false;
}

/* Returns the place of a buffer that is not in the set, or NULL if the table takes no more. */
static struct use *new_use(struct weft_tag_mem_obj *mem, struct use *set)
{
	struct use *rarest = set;

	if (mem->stopped)
		return NULL;
	for (int i = 0; i < WAYS; i++) {
		if (!set[i].addr) {
			mem->stats.entries++;
			return &set[i];
		}
		if (set[i].count < rarest->count)
			rarest = &set[i];
	}
	/* Sets fill up: the table goes on only if it is worth its costs (5.3.4). */
	if (is_mostly_rare(&mem->stats)) {
		mem->stopped = true;
		mem->rest = REST_MESSAGES;
		return NULL;
	}
	mem->stats.frequent -= rarest->frequent;
	return rarest;
}

/* Counts a use. Returns true if the buffer is used so often that it is registered. */
static bool count_use(struct weft_tag_mem_obj *mem, uint64_t addr, size_t bytes)
{
	struct use *set = mem->use[(addr * UINT64_C(0x9e3779b97f4a7c15)) >> 54], *use = NULL;
	uint32_t uses = uses_of(mem, bytes);

	if (uses == UINT32_MAX)
		return false;
	if (mem->stopped && --mem->rest == 0)
		empty_table(mem);
	for (int i = 0; i < WAYS && !use; i++)
		if (set[i].addr == addr)
			use = &set[i];
	if (!use) {
		use = new_use(mem, set);
		if (!use) {
			mem->stats.unwatched++;
			return false;
		}
		*use = (struct use){.addr = addr};
	}
	if (use->count <= uses)
		use->count++;
	if (use->count <= uses)
		return false;
	mem->stats.frequent += !use->frequent;
	use->frequent = 1;
	return true;
}

/* ---- one message --------------------------------------------------------------------------- */

static int register_buf(struct weft_tag_mem_obj *mem, struct weft_tag_buf *buf)
{
	/* Read-only memory can be sent. */
	int access = buf->recv ? WEFT_ACCESS_LOCAL_WRITE : 0;

	buf->mr = weft_reg_mr_cached(mem->cache, buf->addr, buf->sge.bytes, access);
	return buf->mr ? 0 : -errno;
}

int weft_tag_get_buf(struct weft_tag_mem *pub, void *addr, size_t bytes, bool recv,
		     struct weft_tag_buf *buf)
{
	struct weft_tag_mem_obj *mem = mem_of(pub);
	bool small = bytes <= mem->attr.max_copy_bytes, direct = !small;
	int rc = -ENOMEM;

	if (!bytes || bytes > UINT32_MAX)
		return -EINVAL;
	*buf = (struct weft_tag_buf){
	    .sge = {.addr = (uintptr_t)addr, .bytes = (uint32_t)bytes}, .addr = addr, .recv = recv};
	pthread_mutex_lock(&mem->lock);
	if (small && bytes >= WEFT_TAG_COST_MIN_BYTES)
		direct = count_use(mem, (uintptr_t)addr, bytes);
	if (!direct)
		rc = take_copy(mem, bytes, buf);
	direct = rc < 0;
	mem->out++;
	mem->stats.copied += !direct;
	mem->stats.direct += direct && small;
	mem->stats.registered += direct && !small;
	pthread_mutex_unlock(&mem->lock);
	if (direct)
		rc = register_buf(mem, buf);
	if (rc < 0) {
		pthread_mutex_lock(&mem->lock);
		mem->out--;
		pthread_mutex_unlock(&mem->lock);
		return rc;
	}
	if (buf->copy) {
		buf->sge.addr = (uintptr_t)buf->copy;
		if (!recv)
			memcpy(buf->copy, addr, bytes);
	}
	buf->sge.lkey = buf->mr->lkey;
	return 0;
}

void weft_tag_put_buf(struct weft_tag_mem *pub, struct weft_tag_buf *buf, size_t bytes)
{
	struct weft_tag_mem_obj *mem = mem_of(pub);

	if (buf->copy && buf->recv && bytes)
		memcpy(buf->addr, buf->copy, bytes < buf->sge.bytes ? bytes : buf->sge.bytes);
	if (!buf->copy)
		weft_release_mr(buf->mr);
	pthread_mutex_lock(&mem->lock);
	if (buf->copy)
		give_copy(mem, buf);
	mem->out--;
	pthread_mutex_unlock(&mem->lock);
	buf->mr = NULL;
	buf->copy = NULL;
}

void weft_query_tag_mem(struct weft_tag_mem *pub, struct weft_tag_mem_stats *stats)
{
	struct weft_tag_mem_obj *mem = mem_of(pub);

	pthread_mutex_lock(&mem->lock);
	*stats = mem->stats;
	pthread_mutex_unlock(&mem->lock);
}
