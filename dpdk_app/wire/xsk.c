/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AF_XDP sockets of one interface; see xsk.h.
 *
 * A socket has four rings in memory shared with the kernel: fill (empty buffers), receive, send,
 * completion (sent buffers). Each has one producer and one consumer. The other side's index is
 * loaded with acquire order, our own stored with release order. All frames are in the pool's
 * memory; each mbuf is a chunk with its header, the headroom and the frame.
 *
 * The kernel holds few buffers while frames arrive in small numbers, so that they stay in the cache
 * and the TLB. After a large burst it holds as many as the receive ring for a while. A device that
 * writes to buffers itself (zero-copy) always has all of them.
 *
 * A frame larger than a buffer arrives in several consecutive ones: many TCP segments or datagrams
 * that a kernel did not divide, which gso_cut.c does. Two or three may fit one buffer.
 *
 * Calls gso_cut.c. Documentation/networking/af_xdp.rst of Linux.
 */
#include "dpdk_app/wire/xsk.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dpdk_app/wire/gso_cut.h"
#include "dpdk_app/wire/xdp.h"
#include "shared_defs/wire_eth.h"

#ifndef XDP_USE_SG /* Linux 6.6 */
#define XDP_USE_SG    (1 << 4)
#define XDP_PKT_CONTD (1 << 0)
#endif

enum {
	XSK_RX_DESCS = 1024,
	XSK_TX_DESCS = 1024,
	XSK_FILL_DESCS = 2048,
	XSK_COMP_DESCS = 2048, /* more than can be outstanding */

	XSK_FEW = 64,            /* usual number of buffers held by the kernel */
	XSK_MANY = XSK_RX_DESCS, /* after this many frames waited at once: */
	XSK_ALL = 8 * XSK_MANY,  /* sum over all queues; the pool is larger (nic.c) */
	XSK_BURST = 8,
	XSK_CALM_FRAMES = 1 << 16, /* frames without such a burst before the number is reduced */
	XSK_BATCH = 64,
	XSK_KICKS = 4, /* the kernel sends about 32 frames per call */
};

struct xsk_ring {
	void *map;
	size_t map_bytes;
	uint32_t *prod;
	uint32_t *cons;
	uint32_t *flags;
	void *descs;
	uint32_t mask;
	uint32_t at; /* our own index */
};

struct xsk_queue {
	int fd;
	bool zero_copy;
	bool unsent;    /* the kernel has not processed all entries of the send ring */
	uint32_t out;   /* receive buffers held by the kernel */
	uint32_t level; /* target of out */
	uint32_t many;  /* maximum of level */
	uint32_t calm;  /* frames since the last burst */
	struct xsk_ring rx, tx, fill, comp;
	struct rte_mbuf *first, *last; /* incomplete large frame; NULL: none */
	struct gso_cut cut;            /* large frame being divided */
	struct xsk_stats stats;
};

struct xsk {
	struct rte_mempool *pool;
	uint8_t *base; /* start of the chunks */
	uint64_t bytes;
	uint32_t mtu;         /* to which large frames are divided */
	uint32_t frame_bytes; /* longer frames are large */
	uint32_t num_queues;
	struct xsk_queue queue[XSK_MAX_QUEUES];
};

/* ---- offset of a buffer from base, as used by the kernel */

static uint64_t chunk_of(const struct xsk *xsk, const struct rte_mbuf *m)
{
	return (uint64_t)((const uint8_t *)m - xsk->base) - xsk->pool->header_size;
}

static struct rte_mbuf *mbuf_at(const struct xsk *xsk, uint64_t chunk)
{
	return (struct rte_mbuf *)(void *)(xsk->base + (chunk & XSK_UNALIGNED_BUF_ADDR_MASK) +
					   xsk->pool->header_size);
}

/* ---- reception */

static void refill(struct xsk *xsk, struct xsk_queue *q)
{
	struct xsk_ring *fill = &q->fill;
	struct rte_mbuf *m[XSK_BATCH];
	uint64_t *descs = fill->descs;
	uint32_t n = q->level - q->out;

	n = n < XSK_BATCH ? n : XSK_BATCH;
	if (rte_pktmbuf_alloc_bulk(xsk->pool, m, n)) {
		q->stats.no_mbuf++;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		descs[fill->at++ & fill->mask] = chunk_of(xsk, m[i]);
	__atomic_store_n(fill->prod, fill->at, __ATOMIC_RELEASE);
	q->out += n;
	if (__atomic_load_n(fill->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP)
		(void)recvfrom(q->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

/* Sets the number of buffers for the kernel from the number of waiting frames. */
static void set_level(struct xsk_queue *q, uint32_t waiting, uint32_t took)
{
	if (waiting >= XSK_BURST) {
		q->level = q->many;
		q->calm = 0;
	} else if (q->level == q->many && !q->zero_copy) {
		q->calm += took;
		if (q->calm >= XSK_CALM_FRAMES)
			q->level = XSK_FEW;
	}
}

static void kick(struct xsk_queue *q);

/* Returns segments of the large frame being divided. */
static uint32_t cut_some(struct xsk *xsk, struct xsk_queue *q, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t got = 0;

	while (got < n && q->cut.big) {
		frames[got] = gso_cut_next(&q->cut, xsk->pool);
		if (!frames[got]) {
			q->stats.no_mbuf++;
			gso_cut_end(&q->cut);
			break;
		}
		got++;
	}
	return got;
}

/* Adds a buffer to a large frame. Returns true after the last one: the frame can be divided. */
static bool gather_large(struct xsk *xsk, struct xsk_queue *q, struct rte_mbuf *m, bool last)
{
	struct rte_mbuf *first = q->first;

	if (!first) {
		first = q->first = m;
	} else {
		q->last->next = m;
		first->nb_segs++;
		first->pkt_len += m->data_len;
	}
	q->last = m;
	if (!last)
		return false;
	q->first = q->last = NULL;
	if (gso_cut_begin(&q->cut, first, xsk->mtu)) {
		q->stats.rx_large++;
		return true;
	}
	q->stats.rx_large_bad++;
	rte_pktmbuf_free(first);
	return false;
}

/* Returns the frame of a descriptor; *more: it continues in the next one. */
static struct rte_mbuf *take_desc(struct xsk *xsk, struct xsk_queue *q, uint32_t before, bool *more)
{
	const struct xdp_desc *descs = q->rx.descs;
	const struct xdp_desc *desc = &descs[q->rx.at++ & q->rx.mask];
	struct rte_mbuf *m = mbuf_at(xsk, desc->addr);

	m->data_off = (uint16_t)((desc->addr >> XSK_UNALIGNED_BUF_OFFSET_SHIFT) - before);
	m->data_len = (uint16_t)desc->len;
	m->pkt_len = desc->len;
	rte_prefetch0(rte_pktmbuf_mtod(m, void *));
	*more = desc->options & XDP_PKT_CONTD;
	return m;
}

uint32_t xsk_rx(struct xsk *xsk, uint32_t queue, struct rte_mbuf **frames, uint32_t n)
{
	struct xsk_queue *q = &xsk->queue[queue];
	struct xsk_ring *rx = &q->rx;
	uint32_t before = (uint32_t)(xsk->pool->header_size + sizeof(struct rte_mbuf)) +
			  rte_pktmbuf_priv_size(xsk->pool);
	uint32_t waiting = __atomic_load_n(rx->prod, __ATOMIC_ACQUIRE) - rx->at;
	uint32_t got = 0, took = 0;

	if (__builtin_expect(q->unsent, 0))
		kick(q);
	if (__builtin_expect(q->cut.big != NULL, 0))
		got = cut_some(xsk, q, frames, n);
	if (!waiting) {
		q->stats.rx += got;
		if (__builtin_expect(q->out < q->level, 0))
			refill(xsk, q);
		return got;
	}
	for (; got < n && took < waiting; took++) {
		bool more;
		struct rte_mbuf *m = take_desc(xsk, q, before, &more);

		if (__builtin_expect(!more && !q->first && m->data_len <= xsk->frame_bytes, 1))
			frames[got++] = m;
		else if (gather_large(xsk, q, m, !more))
			got += cut_some(xsk, q, frames + got, n - got);
	}
	__atomic_store_n(rx->cons, rx->at, __ATOMIC_RELEASE);
	q->stats.rx += got;
	q->out -= took;
	set_level(q, waiting, took);
	if (q->out < q->level)
		refill(xsk, q);
	return got;
}

/* ---- transmission */

/* Returns sent buffers to the pool while they are in the cache. */
static void reap(struct xsk *xsk, struct xsk_queue *q)
{
	struct xsk_ring *comp = &q->comp;
	const uint64_t *descs = comp->descs;
	uint32_t n = __atomic_load_n(comp->prod, __ATOMIC_ACQUIRE) - comp->at;

	if (!n)
		return;
	while (n--)
		rte_pktmbuf_free(mbuf_at(xsk, descs[comp->at++ & comp->mask]));
	__atomic_store_n(comp->cons, comp->at, __ATOMIC_RELEASE);
}

/* Makes the kernel process the ring; the rest is left for the next turn. */
static void kick(struct xsk_queue *q)
{
	struct xsk_ring *tx = &q->tx;

	q->unsent = false;
	for (int i = 0; i < XSK_KICKS; i++) {
		if (!(__atomic_load_n(tx->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP))
			return;
		if (sendto(q->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
			return;
		if (errno != EAGAIN && errno != EBUSY && errno != EINTR && errno != ENOBUFS)
			return; /* the link is down: the frames wait in the ring */
		if (__atomic_load_n(tx->cons, __ATOMIC_ACQUIRE) == tx->at)
			return;
	}
	q->unsent = true;
}

uint32_t xsk_tx(struct xsk *xsk, struct rte_mbuf **frames, uint32_t n)
{
	struct xsk_queue *q = &xsk->queue[0];
	struct xsk_ring *tx = &q->tx;
	struct xdp_desc *descs = tx->descs;
	uint32_t room;

	reap(xsk, q);
	room = XSK_TX_DESCS - (tx->at - __atomic_load_n(tx->cons, __ATOMIC_ACQUIRE));
	n = n < room ? n : room;
	for (uint32_t i = 0; i < n; i++) {
		struct xdp_desc *desc = &descs[tx->at++ & tx->mask];
		struct rte_mbuf *m = frames[i];
		uint64_t offset = (uint64_t)m->data_off + sizeof(*m) +
				  rte_pktmbuf_priv_size(xsk->pool) + xsk->pool->header_size;

		desc->addr = chunk_of(xsk, m) | offset << XSK_UNALIGNED_BUF_OFFSET_SHIFT;
		desc->len = m->pkt_len;
		desc->options = 0;
	}
	if (n)
		__atomic_store_n(tx->prod, tx->at, __ATOMIC_RELEASE);
	kick(q);
	reap(xsk, q);
	q->stats.tx += n;
	return n;
}

/* ---- set-up */

/* Checks that the pool's memory is contiguous: the kernel identifies buffers by their offset. */
static int find_memory(struct xsk *xsk)
{
	const struct rte_mempool_memhdr *mem = STAILQ_FIRST(&xsk->pool->mem_list);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from, to;

	if (!mem || xsk->pool->nb_mem_chunks != 1)
		return -ENOTSUP;
	from = (uintptr_t)mem->addr / page * page;
	to = ((uintptr_t)mem->addr + mem->len + page - 1) / page * page;
	xsk->base = (uint8_t *)from;
	xsk->bytes = to - from;
	return 0;
}

static int register_memory(const struct xsk *xsk, int fd)
{
	struct rte_mempool *pool = xsk->pool;
	const struct xdp_umem_reg reg = {
	    .addr = (uintptr_t)xsk->base,
	    .len = xsk->bytes,
	    .chunk_size = rte_mempool_calc_obj_size(pool->elt_size, pool->flags, NULL),
	    .headroom = (uint32_t)(pool->header_size + sizeof(struct rte_mbuf)) +
			rte_pktmbuf_priv_size(pool) + RTE_PKTMBUF_HEADROOM,
	    .flags = XDP_UMEM_UNALIGNED_CHUNK_FLAG,
	};

	return setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) ? -errno : 0;
}

static int make_ring(int fd, int option, int descs)
{
	return setsockopt(fd, SOL_XDP, option, &descs, sizeof(descs)) ? -errno : 0;
}

static int map_ring(struct xsk_ring *ring, int fd, const struct xdp_ring_offset *at, uint32_t descs,
		    size_t desc_bytes, uint64_t page_offset)
{
	uint8_t *map;

	ring->map_bytes = at->desc + descs * desc_bytes;
	map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		   (off_t)page_offset);
	if (map == MAP_FAILED)
		return -errno;
	ring->map = map;
	ring->prod = (uint32_t *)(void *)(map + at->producer);
	ring->cons = (uint32_t *)(void *)(map + at->consumer);
	ring->flags = (uint32_t *)(void *)(map + at->flags);
	ring->descs = map + at->desc;
	ring->mask = descs - 1;
	return 0;
}

static int make_rings(struct xsk_queue *q)
{
	struct xdp_mmap_offsets at;
	socklen_t bytes = sizeof(at);
	int err;

	err = make_ring(q->fd, XDP_UMEM_FILL_RING, XSK_FILL_DESCS);
	if (!err)
		err = make_ring(q->fd, XDP_UMEM_COMPLETION_RING, XSK_COMP_DESCS);
	if (!err)
		err = make_ring(q->fd, XDP_RX_RING, XSK_RX_DESCS);
	if (!err)
		err = make_ring(q->fd, XDP_TX_RING, XSK_TX_DESCS);
	if (!err && getsockopt(q->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes))
		err = -errno;
	if (!err && bytes != sizeof(at))
		err = -ENOTSUP; /* a kernel before 5.4, without the flags */
	if (!err)
		err = map_ring(&q->rx, q->fd, &at.rx, XSK_RX_DESCS, sizeof(struct xdp_desc),
			       XDP_PGOFF_RX_RING);
	if (!err)
		err = map_ring(&q->tx, q->fd, &at.tx, XSK_TX_DESCS, sizeof(struct xdp_desc),
			       XDP_PGOFF_TX_RING);
	if (!err)
		err = map_ring(&q->fill, q->fd, &at.fr, XSK_FILL_DESCS, sizeof(uint64_t),
			       XDP_UMEM_PGOFF_FILL_RING);
	if (!err)
		err = map_ring(&q->comp, q->fd, &at.cr, XSK_COMP_DESCS, sizeof(uint64_t),
			       XDP_UMEM_PGOFF_COMPLETION_RING);
	return err;
}

/*
 * Uses zero-copy if the device supports it. A driver with zero-copy often does not support frames
 * in several buffers and would disable it for them, so such frames are enabled only for drivers
 * without hardware.
 */
static int bind_queue(const struct xsk_queue *q, uint32_t number, int ifindex, bool large,
		      const struct xdp *xdp)
{
	struct sockaddr_xdp addr = {
	    .sxdp_family = AF_XDP,
	    /* A device writes to buffers itself only for a program in its driver. */
	    .sxdp_flags = (uint16_t)(XDP_USE_NEED_WAKEUP | (xdp_generic(xdp) ? XDP_COPY : 0) |
				     (large ? XDP_USE_SG : 0)),
	    .sxdp_ifindex = (uint32_t)ifindex,
	    .sxdp_queue_id = number,
	};

	if (!bind(q->fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	if (!large || errno != EINVAL)
		return -errno;
	addr.sxdp_flags &= (uint16_t)~XDP_USE_SG; /* a kernel before 6.6 */
	return bind(q->fd, (const struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
}

static int open_queue(struct xsk *xsk, uint32_t number, int ifindex, bool large, struct xdp *xdp)
{
	struct xsk_queue *q = &xsk->queue[number];
	struct xdp_options options = {0};
	socklen_t bytes = sizeof(options);
	int err;

	q->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (q->fd < 0)
		return -errno;
	err = register_memory(xsk, q->fd);
	if (!err)
		err = make_rings(q);
	if (!err)
		err = bind_queue(q, number, ifindex, large, xdp);
	if (!err && !getsockopt(q->fd, SOL_XDP, XDP_OPTIONS, &options, &bytes))
		q->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;
	q->level = q->zero_copy ? q->many : XSK_FEW;
	return err ? err : xdp_socket(xdp, number, q->fd);
}

struct xsk *xsk_open(int ifindex, uint32_t queues, struct rte_mempool *pool, uint32_t large_mtu,
		     struct xdp *xdp)
{
	struct xsk *xsk = calloc(1, sizeof(*xsk));
	int err;

	if (!xsk)
		return NULL;
	xsk->pool = pool;
	xsk->mtu = large_mtu;
	xsk->frame_bytes = large_mtu ? large_mtu + (uint32_t)sizeof(struct wire_eth) : UINT32_MAX;
	err = queues <= XSK_MAX_QUEUES ? find_memory(xsk) : -EINVAL;
	while (!err && xsk->num_queues < queues) {
		xsk->queue[xsk->num_queues].many =
		    queues * XSK_MANY <= XSK_ALL ? XSK_MANY : XSK_ALL / queues;
		err = open_queue(xsk, xsk->num_queues, ifindex, large_mtu, xdp);
		xsk->num_queues++;
	}
	if (err) {
		xsk_close(xsk);
		errno = -err;
		return NULL;
	}
	for (uint32_t i = 0; i < queues; i++) {
		struct xsk_queue *q = &xsk->queue[i];
		uint64_t failed = q->stats.no_mbuf;

		while (q->out < q->level && q->stats.no_mbuf == failed)
			refill(xsk, q);
	}
	return xsk;
}

static void unmap_ring(struct xsk_ring *ring)
{
	if (ring->map)
		munmap(ring->map, ring->map_bytes);
}

void xsk_close(struct xsk *xsk)
{
	for (uint32_t i = 0; i < xsk->num_queues; i++) {
		struct xsk_queue *q = &xsk->queue[i];

		gso_cut_end(&q->cut);
		if (q->first)
			rte_pktmbuf_free(q->first);
		unmap_ring(&q->rx);
		unmap_ring(&q->tx);
		unmap_ring(&q->fill);
		unmap_ring(&q->comp);
		if (q->fd >= 0)
			close(q->fd);
	}
	free(xsk);
}

bool xsk_copies(const struct xsk *xsk)
{
	return !xsk->queue[0].zero_copy;
}

int xsk_fd(const struct xsk *xsk, uint32_t queue)
{
	return xsk->queue[queue].fd;
}

uint32_t xsk_num_queues(const struct xsk *xsk)
{
	return xsk->num_queues;
}

void xsk_stats(const struct xsk *xsk, uint32_t queue, struct xsk_stats *stats)
{
	const struct xsk_queue *q = &xsk->queue[queue];
	struct xdp_statistics s = {0};
	socklen_t bytes = sizeof(s);

	*stats = q->stats;
	stats->zero_copy = q->zero_copy;
	/* Kernels before 5.9 provide only the first three. */
	if (getsockopt(q->fd, SOL_XDP, XDP_STATISTICS, &s, &bytes))
		return;
	stats->rx_dropped = s.rx_dropped;
	stats->rx_ring_full = s.rx_ring_full;
	stats->rx_fill_ring_empty = s.rx_fill_ring_empty_descs;
	stats->rx_invalid_descs = s.rx_invalid_descs;
	stats->tx_invalid_descs = s.tx_invalid_descs;
	stats->tx_ring_empty = s.tx_ring_empty_descs;
}
