/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/rdmacm/rs_pool.c: gear is used again, reset and wiped, by streams of its NIC and
 * sizes; how much is kept; a NIC that is gone; failures; fork. The objects are the test's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#undef ibv_reg_mr
#include "host_driver/rdmacm/rs_pool.c"
#include "tests/ut.h"

#undef ibv_query_port
#undef ibv_reg_mr

enum {
	RING = 8192,
	BUF = 4096,
	MANY = 20,
};

/* Objects that exist, and how many were made. */
static int held, made;
/* The call after this many that make an object fails; -1: none does. */
static int fail_after = -1;
static bool gone;
static struct ibv_context nic[2];
static const struct ibv_context *gone_nic; /* one of them, or NULL */

static const struct rs_opts usual = {.rcvbuf = RING, .sndbuf = BUF, .sqsize = 4, .rqsize = 8};

static bool may_make(void)
{
	if (fail_after == 0) {
		errno = ENOSPC;
		return false;
	}
	fail_after -= fail_after > 0;
	held++;
	made++;
	return true;
}

#define NEW(object, ...)                                                                           \
	do {                                                                                       \
		object = may_make() ? calloc(1, sizeof(*object)) : NULL;                           \
		if (!object)                                                                       \
			return NULL;                                                               \
		*object = (__typeof__(*object)){__VA_ARGS__};                                      \
	} while (0)

static int drop(void *object)
{
	held--;
	free(object);
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd;

	NEW(pd, .context = context);
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return drop(pd);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel;

	NEW(channel, .context = context, .fd = dup(0));
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	return drop(channel);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *user,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq;

	(void)user;
	(void)vector;
	CU_ASSERT_PTR_NOT_NULL(channel);
	NEW(cq, .context = context, .cqe = entries);
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return drop(cq);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *qp;

	/* Both queues fit into the CQ. */
	CU_ASSERT_EQUAL((uint32_t)init->send_cq->cqe,
			init->cap.max_send_wr + init->cap.max_recv_wr);
	NEW(qp, .context = pd->context, .pd = pd, .state = IBV_QPS_RESET);
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	return drop(qp);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	CU_ASSERT(mask & IBV_QP_STATE);
	if (gone)
		return EIO;
	/* A connection begins with a QP that has nothing of an earlier one. */
	if (attr->qp_state == IBV_QPS_INIT)
		CU_ASSERT_EQUAL(qp->state, IBV_QPS_RESET);
	qp->state = attr->qp_state;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	(void)id;
	CU_ASSERT_EQUAL(attr->qp_state, IBV_QPS_INIT);
	*mask = IBV_QP_STATE;
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)port;
	if (context == gone_nic)
		return EIO;
	((struct ibv_port_attr *)(void *)attr)->active_mtu = IBV_MTU_1024;
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t bytes, int access)
{
	bool ring = access & IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mr *mr;

	CU_ASSERT_PTR_NOT_NULL(addr);
	CU_ASSERT(bytes == RING + BUF || ring);
	NEW(mr, .pd = pd);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t bytes, uint64_t iova,
				unsigned int access)
{
	CU_ASSERT_EQUAL(iova, (uintptr_t)addr);
	return ibv_reg_mr(pd, addr, bytes, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	return drop(mr);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static bool all_zero(const struct rs_gear *g)
{
	for (size_t i = 0; i < g->ring_bytes; i++)
		if (g->ring[i])
			return false;
	return true;
}

static void empty_pool(void)
{
	while (pool.count)
		gear_free(&pool.gear[--pool.count]);
	CU_ASSERT_EQUAL(held, 0);
}

static void used_again(void)
{
	struct rdma_cm_id id = {.verbs = &nic[0]}, second = id, other = {.verbs = &nic[1]};
	struct rs_opts larger = usual;
	struct rs_gear a, b, c;
	struct ibv_qp *qp;

	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &a), 0);
	CU_ASSERT_EQUAL(a.buf, a.ring + RING);
	CU_ASSERT_PTR_EQUAL(id.qp, a.qp);
	CU_ASSERT_EQUAL(a.qp->state, IBV_QPS_INIT);
	/* The QP of this connection alone reaches the ring. */
	CU_ASSERT_PTR_EQUAL(a.ring_mr->pd, a.qp->pd);
	CU_ASSERT_EQUAL(a.mss, 1024 - sizeof(struct rs_wire_dgram));
	CU_ASSERT_EQUAL(rs_gear_get(&second, &usual, &b), 0);
	CU_ASSERT_PTR_NOT_EQUAL(a.qp->pd, b.qp->pd);
	qp = a.qp;
	memset(a.ring, 1, RING + BUF);
	rs_gear_put(&id, &a);
	CU_ASSERT_PTR_NULL(id.qp);
	CU_ASSERT_PTR_NULL(a.qp);
	CU_ASSERT_EQUAL(qp->state, IBV_QPS_RESET);
	/* Not on another NIC, nor by a stream of other sizes. */
	CU_ASSERT_EQUAL(rs_gear_get(&other, &usual, &c), 0);
	CU_ASSERT_PTR_NOT_EQUAL(c.qp, qp);
	rs_gear_put(&other, &c);
	larger.rqsize++;
	CU_ASSERT_EQUAL(rs_gear_get(&id, &larger, &c), 0);
	CU_ASSERT_PTR_NOT_EQUAL(c.qp, qp);
	rs_gear_put(&id, &c);
	made = 0;
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &a), 0);
	CU_ASSERT_EQUAL(made, 0);
	CU_ASSERT_PTR_EQUAL(a.qp, qp);
	CU_ASSERT_EQUAL(qp->state, IBV_QPS_INIT);
	CU_ASSERT_TRUE(all_zero(&a));
	/* Nor by two at once. */
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &c), 0);
	CU_ASSERT_PTR_NOT_EQUAL(c.qp, qp);
	rs_gear_put(&id, &a);
	rs_gear_put(&second, &b);
	rs_gear_put(NULL, &c);
	empty_pool();
}

static void bounded(void)
{
	static struct rs_gear g[MANY];
	struct rdma_cm_id id = {.verbs = &nic[0]};
	int each;

	made = 0;
	for (uint32_t i = 0; i < MANY; i++)
		CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g[i]), 0);
	each = made / MANY;
	for (uint32_t i = 0; i < MANY; i++)
		rs_gear_put(&id, &g[i]);
	CU_ASSERT_EQUAL(held, POOL_GEAR * each);
	memcpy(g, pool.gear, POOL_GEAR * sizeof(*g));
	/* The objects of a parent are not its child's to destroy, nor to use. */
	rs_pool_forked();
	CU_ASSERT_EQUAL(held, POOL_GEAR * each);
	made = 0;
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g[POOL_GEAR]), 0);
	CU_ASSERT_EQUAL(made, each);
	for (uint32_t i = 0; i <= POOL_GEAR; i++)
		gear_free(&g[i]);
	CU_ASSERT_EQUAL(held, 0);
}

/* Whatever cannot be made: nothing is left of the rest, nor kept. */
static void failures(void)
{
	struct rdma_cm_id id = {.verbs = &nic[0]};
	struct rs_gear g;
	int each;

	made = 0;
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g), 0);
	each = made;
	gear_free(&g);
	id.qp = NULL;
	for (int i = 0; i < each; i++) {
		fail_after = i;
		CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g), -ENOSPC);
		CU_ASSERT_PTR_NULL(id.qp);
		CU_ASSERT_EQUAL(held, 0);
		rs_gear_put(&id, &g);
		CU_ASSERT_EQUAL(pool.count, 0);
	}
	fail_after = -1;
}

/* Gear of a NIC that is gone is not kept, and kept gear of one fails the connection alone. */
static void nic_gone(void)
{
	struct rdma_cm_id id = {.verbs = &nic[0]};
	struct rs_gear g;

	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g), 0);
	gone = true;
	rs_gear_put(&id, &g);
	CU_ASSERT_EQUAL(held, 0);
	gone = false;
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g), 0);
	rs_gear_put(&id, &g);
	gone = true;
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g), -EIO);
	CU_ASSERT_PTR_NULL(id.qp);
	gone = false;
	empty_pool();
}

/* weftd was started anew: the pool, full of gear of the old NIC, serves the new one. */
static void another_nic(void)
{
	static struct rs_gear g[POOL_GEAR];
	struct rdma_cm_id id = {.verbs = &nic[0]};
	struct ibv_qp *qp;
	int each;

	made = 0;
	for (uint32_t i = 0; i < POOL_GEAR; i++)
		CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g[i]), 0);
	each = made / POOL_GEAR;
	for (uint32_t i = 0; i < POOL_GEAR; i++)
		rs_gear_put(&id, &g[i]);
	CU_ASSERT_EQUAL(pool.count, POOL_GEAR);
	gone_nic = &nic[0];
	id.verbs = &nic[1];
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g[0]), 0);
	qp = g[0].qp;
	CU_ASSERT_EQUAL(held, each);
	rs_gear_put(&id, &g[0]);
	CU_ASSERT_EQUAL(rs_gear_get(&id, &usual, &g[0]), 0);
	CU_ASSERT_PTR_EQUAL(g[0].qp, qp);
	rs_gear_put(&id, &g[0]);
	gone_nic = NULL;
	empty_pool();
}

UT_MAIN("rdmacm/rs_pool", UT(used_again), UT(bounded), UT(failures), UT(nic_gone), UT(another_nic))
