/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_pool.c: blocks are used again, wiped, by streams of their PD and sizes; how
 * many are kept; failures; fork. The memory regions are the test's.
 */
#include <stdint.h>
#include <stdlib.h>

#include "host_driver/rdmacm/rs_pool.c"
#include "tests/ut.h"

#undef ibv_reg_mr

enum {
	RING = 8192,
	BUF = 4096,
	MANY = 20,
};

static uint32_t registered, made;
static bool fails;

static struct ibv_mr *reg(struct ibv_pd *pd)
{
	struct ibv_mr *mr = fails ? NULL : calloc(1, sizeof(*mr));

	if (!mr) {
		errno = ENOSPC;
		return NULL;
	}
	mr->pd = pd;
	registered++;
	made++;
	return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t bytes, int access)
{
	CU_ASSERT_PTR_NOT_NULL(addr);
	CU_ASSERT_EQUAL(bytes, RING + BUF);
	CU_ASSERT_EQUAL(access, IBV_ACCESS_LOCAL_WRITE);
	return reg(pd);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t bytes, uint64_t iova,
				unsigned int access)
{
	CU_ASSERT_EQUAL(iova, (uintptr_t)addr);
	return ibv_reg_mr(pd, addr, bytes, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	registered--;
	free(mr);
	return 0;
}

static bool all_zero(const struct rs_block *b)
{
	for (size_t i = 0; i < b->ring_bytes; i++)
		if (b->ring[i])
			return false;
	return true;
}

static void empty_pool(void)
{
	while (pool.count)
		block_free(&pool.block[--pool.count]);
}

static void used_again(void)
{
	struct ibv_pd pd, other;
	struct rs_block a, b;

	CU_ASSERT_EQUAL(rs_block_get(&pd, RING, BUF, &a), 0);
	CU_ASSERT_EQUAL(a.buf, a.ring + RING);
	memset(a.ring, 1, RING + BUF);
	rs_block_put(&a);
	CU_ASSERT_EQUAL(registered, 1);
	/* Not by another PD. */
	CU_ASSERT_EQUAL(rs_block_get(&other, RING, BUF, &b), 0);
	CU_ASSERT_PTR_NOT_EQUAL(b.ring, a.ring);
	rs_block_put(&b);
	made = 0;
	CU_ASSERT_EQUAL(rs_block_get(&pd, RING, BUF, &b), 0);
	CU_ASSERT_EQUAL(made, 0);
	CU_ASSERT_PTR_EQUAL(b.ring, a.ring);
	CU_ASSERT_TRUE(all_zero(&b));
	/* Nor by two at once. */
	CU_ASSERT_EQUAL(rs_block_get(&pd, RING, BUF, &a), 0);
	CU_ASSERT_PTR_NOT_EQUAL(b.ring, a.ring);
	rs_block_put(&a);
	rs_block_put(&b);
	/* A stream of other sizes has its own. */
	CU_ASSERT_EQUAL(rs_block_get(&pd, BUF, RING, &b), 0);
	CU_ASSERT_EQUAL(made, 2);
	rs_block_put(&b);
	empty_pool();
	CU_ASSERT_EQUAL(registered, 0);
}

static void bounded(void)
{
	static struct rs_block b[MANY];
	struct ibv_pd pd;

	for (uint32_t i = 0; i < MANY; i++)
		CU_ASSERT_EQUAL(rs_block_get(&pd, RING, BUF, &b[i]), 0);
	for (uint32_t i = 0; i < MANY; i++)
		rs_block_put(&b[i]);
	CU_ASSERT_EQUAL(registered, POOL_BLOCKS);
	memcpy(b, pool.block, POOL_BLOCKS * sizeof(*b));
	/* The registrations of a parent are not its child's to withdraw, nor to use. */
	rs_pool_forked();
	CU_ASSERT_EQUAL(registered, POOL_BLOCKS);
	made = 0;
	CU_ASSERT_EQUAL(rs_block_get(&pd, RING, BUF, &b[POOL_BLOCKS]), 0);
	CU_ASSERT_EQUAL(made, 1);
	for (uint32_t i = 0; i <= POOL_BLOCKS; i++)
		block_free(&b[i]);
	CU_ASSERT_EQUAL(registered, 0);
}

static void failures(void)
{
	struct rs_block b = {0};
	struct ibv_pd pd;

	fails = true;
	CU_ASSERT_EQUAL(rs_block_get(&pd, RING, BUF, &b), -ENOSPC);
	CU_ASSERT_PTR_NULL(b.mr);
	rs_block_put(&b);
	CU_ASSERT_EQUAL(pool.count, 0);
	fails = false;
}

UT_MAIN("rdmacm/rs_pool", UT(used_again), UT(bounded), UT(failures))
