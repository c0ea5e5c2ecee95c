/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrapped functions of pool.h, and pools that are short. Calls those of nic_fw/base/pool.c.
 */
#include "tests/bench/pool.h"

#include <sanitizer/asan_interface.h>

#include "nic_fw/fw_nic.h"

void *__real_fw_pool_get(struct fw_pool *pool);
void __real_fw_pool_put(struct fw_pool *pool, void *elem);
void *__wrap_fw_pool_get(struct fw_pool *pool);
void __wrap_fw_pool_put(struct fw_pool *pool, void *elem);

void *__wrap_fw_pool_get(struct fw_pool *pool)
{
	void *elem = __real_fw_pool_get(pool);

	if (elem)
		ASAN_UNPOISON_MEMORY_REGION(elem, pool->elem_bytes);
	return elem;
}

/* A sink STag reads a free request's generation and place: wqe_from_sink(). */
static void poison_wqe(struct fw_wqe *wqe)
{
	ASAN_POISON_MEMORY_REGION(&wqe->flow_node, sizeof(wqe->flow_node));
	ASAN_POISON_MEMORY_REGION(&wqe->wr_id, sizeof(wqe->wr_id));
	ASAN_POISON_MEMORY_REGION(&wqe->ssn, offsetof(struct fw_wqe, refused) / 8 * 8 -
						 offsetof(struct fw_wqe, ssn));
	ASAN_POISON_MEMORY_REGION(wqe->sge, sizeof(wqe->sge));
}

/* A sink reads a free receive, too: whether it has a run, and its generation. */
static void poison_recv(struct goal_recv *recv)
{
	ASAN_POISON_MEMORY_REGION(&recv->link, sizeof(*recv) - offsetof(struct goal_recv, link));
}

void bench_pool_poison(const struct fw_pool *pool, void *elem)
{
	if (pool->elem_bytes == sizeof(struct fw_wqe))
		poison_wqe(elem);
	else if (pool->elem_bytes == sizeof(struct goal_recv))
		poison_recv(elem);
	else
		ASAN_POISON_MEMORY_REGION((uint8_t *)elem + 8, pool->elem_bytes - 8);
}

void __wrap_fw_pool_put(struct fw_pool *pool, void *elem)
{
	__real_fw_pool_put(pool, elem);
	bench_pool_poison(pool, elem);
}

void bench_pool_unpoison(struct fw_pool *pool)
{
	ASAN_UNPOISON_MEMORY_REGION(pool->base, (size_t)pool->high * pool->elem_bytes);
}

void bench_pool_each(struct fw_nic *nic, void (*fn)(struct fw_pool *pool))
{
	fn(&nic->slices.command_pool);
	fn(&nic->net.mcast_group_pool);
	fn(&nic->net.mcast_members);
	fn(&nic->net.mac_filters);
	fn(&nic->host.qp_opens);
	fn(&nic->host.wqes);
	fn(&nic->host.wqe_exts);
	fn(&nic->rd.flows);
	fn(&nic->rd.tx_windows);
	fn(&nic->rd.rx_windows);
	fn(&nic->rd.awake);
	fn(&nic->rd.held);
	fn(&nic->host.recv_msgs);
	fn(&nic->host.slow_atomics);
	fn(&nic->ud.reasms);
	fn(&nic->ud.buffers);
	fn(&nic->esp.held);
	fn(&nic->rdmap.esp_lasts);
	fn(&nic->cm.data);
	fn(&nic->cm.waiting);
	fn(&nic->tcp.flows);
	fn(&nic->tcp.rests);
	fn(&nic->tcp.syns);
	fn(&nic->tcp.chunks);
	fn(&nic->mpa.conns);
	fn(&nic->mpa.setups);
	fn(&nic->mpa.segs);
	fn(&nic->mpa.partials);
	fn(&nic->goal.links);
	fn(&nic->goal.runs);
	fn(&nic->goal.sends);
	fn(&nic->goal.recvs);
	fn(&nic->goal.unexps);
	fn(&nic->goal.calcs);
	fn(&nic->mgrp.spaces);
	fn(&nic->tag.posteds);
	fn(&nic->tag.arrivals);
	fn(&nic->tag.sends);
	fn(&nic->tag.kept);
	fn(&nic->tag.peers);
	fn(&nic->tag.rtrs);
	fn(&nic->tag.shares);
}

void bench_pool_hold(struct fw_pool *pool, struct fw_pool *saved)
{
	*saved = *pool;
	pool->high = pool->max;
	pool->used = pool->max;
	pool->free = FW_NONE;
}

void bench_pool_release(struct fw_pool *pool, const struct fw_pool *saved)
{
	uint32_t put = pool->max - pool->used, at = pool->free, next = at;

	/* The elements that were put meanwhile come before those that were free. */
	while (next != FW_NONE) {
		at = next;
		memcpy(&next, fw_pool_at(pool, at), sizeof(next));
	}
	if (at == FW_NONE)
		pool->free = saved->free;
	else
		memcpy(fw_pool_at(pool, at), &saved->free, sizeof(saved->free));
	pool->high = saved->high;
	pool->used = saved->used - put;
	pool->used_max = saved->used_max;
}
