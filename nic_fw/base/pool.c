/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixed pools and numbers over slices of the arena. See pool.h.
 *
 * Calls nothing. Both keep their free elements in a list threaded through memory that was touched
 * before, so that an unused element costs no page.
 */
#include "nic_fw/base/pool.h"

#include <assert.h>
#include <string.h>

void fw_pool_init(struct fw_pool *pool, void *base, uint32_t elem_bytes, uint32_t max)
{
	assert(elem_bytes >= sizeof(uint32_t));
	pool->base = base;
	pool->elem_bytes = elem_bytes;
	pool->reciprocal = UINT64_MAX / elem_bytes + 1;
	pool->max = max;
	pool->high = 0;
	pool->free = FW_NONE;
	pool->used = 0;
	pool->used_max = 0;
}

void *fw_pool_get(struct fw_pool *pool)
{
	void *elem;

	if (pool->free != FW_NONE) {
		elem = fw_pool_at(pool, pool->free);
		memcpy(&pool->free, elem, sizeof(pool->free));
	} else if (pool->high < pool->max) {
		elem = fw_pool_at(pool, pool->high++);
	} else {
		return NULL;
	}
	if (++pool->used > pool->used_max)
		pool->used_max = pool->used;
	return elem;
}

void fw_pool_put(struct fw_pool *pool, void *elem)
{
	uint32_t index = fw_pool_index(pool, elem);

	assert(index < pool->high && fw_pool_at(pool, index) == elem && pool->used > 0);
	memcpy(elem, &pool->free, sizeof(pool->free));
	pool->free = index;
	pool->used--;
}

/*
 * The quarantine keeps a number from naming another object right after its release, when errors of
 * its old user are most likely. It does not guard against late packets. Where those could do harm,
 * each object distinguishes its lives: an STag has a new random key in each life (and is drawn at
 * random, fw_ids_draw()), a response names its request by number, and RC packets carry a tag of
 * their connection. RD and UD QPNs are guarded by a Q_Key, which addresses queue pairs and not
 * their lives, as IBA defines it. A larger quarantine would keep more contexts cold, and each cold
 * context costs cache misses when a QP is made.
 */
enum {
	IDS_QUARANTINE = 64,
};

void fw_ids_init(struct fw_ids *ids, uint32_t *next, uint32_t max)
{
	ids->next = next;
	ids->max = max;
	ids->high = 0;
	ids->head = FW_NONE;
	ids->tail = FW_NONE;
	ids->free_count = 0;
	ids->quarantine = max / 8 < IDS_QUARANTINE ? max / 8 : IDS_QUARANTINE;
}

/* Numbers in quarantine are used only when no other is left. */
uint32_t fw_ids_get(struct fw_ids *ids)
{
	uint32_t id;

	if (ids->free_count <= ids->quarantine && ids->high < ids->max)
		return ids->high++;
	if (!ids->free_count)
		return FW_NONE;
	id = ids->head;
	ids->head = ids->next[id];
	if (!--ids->free_count)
		ids->tail = FW_NONE;
	return id;
}

void fw_ids_put(struct fw_ids *ids, uint32_t id)
{
	assert(id < ids->high && ids->free_count < ids->high);
	ids->next[id] = FW_NONE;
	if (ids->tail == FW_NONE)
		ids->head = id;
	else
		ids->next[ids->tail] = id;
	ids->tail = id;
	ids->free_count++;
}

/* For drawn numbers, next holds the free numbers themselves, in no order. */
uint32_t fw_ids_draw(struct fw_ids *ids, uint32_t spread, uint32_t random)
{
	uint32_t place, id;

	while (ids->free_count < spread && ids->high < ids->max)
		ids->next[ids->free_count++] = ids->high++;
	if (!ids->free_count)
		return FW_NONE;
	place = random % ids->free_count;
	id = ids->next[place];
	ids->next[place] = ids->next[--ids->free_count];
	return id;
}

void fw_ids_put_drawn(struct fw_ids *ids, uint32_t id)
{
	assert(id < ids->high && ids->free_count < ids->high);
	ids->next[ids->free_count++] = id;
}
