/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.c with two functions wrapped, in place of the one in the firmware's archive: what is
 * given back to a pool is poisoned, so that the sanitizer sees any use of it.
 *
 * Included by rd_pair.h into the one file that is the test; not into its helpers, which are
 * in an archive that every test of this folder is linked with.
 */
#ifndef WEFT_TESTS_RD_POOL_H
#define WEFT_TESTS_RD_POOL_H

#include <sanitizer/asan_interface.h>

struct fw_pool;
void *pool_get_unwrapped(struct fw_pool *pool);
void pool_put_unwrapped(struct fw_pool *pool, void *elem);

#define fw_pool_get pool_get_unwrapped
#define fw_pool_put pool_put_unwrapped
#include "nic_fw/base/pool.c"
#undef fw_pool_get
#undef fw_pool_put

#include "nic_fw/fw_nic.h"

void *fw_pool_get(struct fw_pool *pool);
void fw_pool_put(struct fw_pool *pool, void *elem);

void *fw_pool_get(struct fw_pool *pool)
{
	void *elem = pool_get_unwrapped(pool);

	if (elem)
		ASAN_UNPOISON_MEMORY_REGION(elem, pool->elem_bytes);
	return elem;
}

/* A free request's context may be looked at by a sink STag: wqe_from_sink() says what of it. */
static void poison_wqe(struct fw_wqe *wqe)
{
	ASAN_POISON_MEMORY_REGION(&wqe->flow_node, sizeof(wqe->flow_node));
	ASAN_POISON_MEMORY_REGION(&wqe->wr_id, sizeof(wqe->wr_id));
	ASAN_POISON_MEMORY_REGION(&wqe->ssn, offsetof(struct fw_wqe, refused) / 8 * 8 -
						 offsetof(struct fw_wqe, ssn));
	ASAN_POISON_MEMORY_REGION(wqe->sge, sizeof(wqe->sge));
}

/* A free receive is looked at by a sink, too: whether it has a run, and its generation. */
static void poison_recv(struct goal_recv *recv)
{
	ASAN_POISON_MEMORY_REGION(&recv->link, sizeof(*recv) - offsetof(struct goal_recv, link));
}

static void poison_elem(const struct fw_pool *pool, void *elem)
{
	if (pool->elem_bytes == sizeof(struct fw_wqe))
		poison_wqe(elem);
	else if (pool->elem_bytes == sizeof(struct goal_recv))
		poison_recv(elem);
	else
		ASAN_POISON_MEMORY_REGION((uint8_t *)elem + 8, pool->elem_bytes - 8);
}

void fw_pool_put(struct fw_pool *pool, void *elem)
{
	pool_put_unwrapped(pool, elem);
	poison_elem(pool, elem);
}

#endif /* WEFT_TESTS_RD_POOL_H */
