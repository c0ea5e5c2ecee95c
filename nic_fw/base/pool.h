/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixed pools over a slice of the arena.
 *
 * fw_pool hands out elements last in, first out (cache-warm), for contexts that come and go with
 * traffic. fw_ids hands out numbers first in, first out and after a quarantine, for names that a
 * peer or a process may still hold (QPNs, STags, CQ numbers). Neither touches an element that was
 * never taken, so memory is committed only as it is used.
 */
#ifndef WEFT_FW_POOL_H
#define WEFT_FW_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_NONE 0xffffffffu

struct fw_pool {
	uint8_t *base;
	uint64_t reciprocal; /* 2^64 / elem_bytes, rounded up */
	uint32_t elem_bytes;
	uint32_t max;
	uint32_t high; /* elements below were taken at least once */
	uint32_t free; /* first free element, its first word names the next; FW_NONE */
	uint32_t used;
	uint32_t used_max; /* highest use, for the counters */
};

void fw_pool_init(struct fw_pool *pool, void *base, uint32_t elem_bytes, uint32_t max);

/* Returns an element, its content undefined; NULL when all are taken. */
void *fw_pool_get(struct fw_pool *pool);
void fw_pool_put(struct fw_pool *pool, void *elem);

/*
 * elem is an element. A division would take longer than all else that a pool does: multiples of
 * elem_bytes divide without remainder by multiplication.
 */
static inline uint32_t fw_pool_index(const struct fw_pool *pool, const void *elem)
{
	size_t offset = (size_t)((const uint8_t *)elem - pool->base);

	return (uint32_t)((unsigned __int128)offset * pool->reciprocal >> 64);
}

static inline void *fw_pool_at(const struct fw_pool *pool, uint32_t index)
{
	return pool->base + (size_t)index * pool->elem_bytes;
}

/* Returns the elements as an array of their type (base/hash.h). */
static inline void *fw_pool_table(const struct fw_pool *pool)
{
	return pool->base;
}

enum {
	FW_HELD_PER_FREE = 2,
};

/*
 * True if a process that holds so many elements of a shared pool may take another one. A fixed
 * limit would be too small for a program alone on the NIC, or too large for many programs. So the
 * limit moves: a process may hold at most twice as many elements as are free. One process alone
 * gets two thirds; n processes that take all they can leave 1 / (2n + 1) for the next.
 */
static inline bool fw_pool_has_share(const struct fw_pool *pool, uint32_t held)
{
	return held / FW_HELD_PER_FREE < pool->max - pool->used;
}

struct fw_ids {
	uint32_t *next; /* max words: queue of free numbers */
	uint32_t max;
	uint32_t high;
	uint32_t head;
	uint32_t tail;
	uint32_t free_count;
	uint32_t quarantine; /* numbers that must be free before one is used again */
};

void fw_ids_init(struct fw_ids *ids, uint32_t *next, uint32_t max);

/* Returns the number that has been free the longest; FW_NONE when all are taken. */
uint32_t fw_ids_get(struct fw_ids *ids);
void fw_ids_put(struct fw_ids *ids, uint32_t id);

/*
 * Returns a free number for a name that must stay secret: random chooses it among the free ones, at
 * least spread of them while that many are free. FW_NONE when all are taken. All numbers of one
 * fw_ids are taken and put back by these two functions.
 */
uint32_t fw_ids_draw(struct fw_ids *ids, uint32_t spread, uint32_t random);
void fw_ids_put_drawn(struct fw_ids *ids, uint32_t id);

static inline uint32_t fw_ids_used(const struct fw_ids *ids)
{
	return ids->high - ids->free_count;
}

#endif /* WEFT_FW_POOL_H */
