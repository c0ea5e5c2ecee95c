/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives and sends frames through the rings of a memif; memif_ring.h states which data is
 * trusted. Protocol: memif_proto.h.
 */
#include "dpdk_app/wire/memif_ring.h"

#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>
#include <string.h>

#include "dpdk_app/client/hostmem.h"
#include "nic_fw/fw_port.h"
#include "shared_defs/wire_eth.h"

enum {
	PAGE_BYTES = 4096,
};

/* A descriptor as two words, which are read and written atomically. */
typedef uint64_t __attribute__((may_alias)) desc_word;

struct piece {
	uint8_t *at;
	uint32_t bytes;
};

static struct memif_desc *ring_slot(const struct memif_ring *ring, uint16_t index)
{
	return &ring->shared->desc[index & (ring->slots - 1)];
}

static struct memif_desc desc_copy(const struct memif_ring *ring, uint16_t index)
{
	const desc_word *at = (const desc_word *)ring_slot(ring, index);
	struct memif_desc copy;
	desc_word *to = (desc_word *)&copy;

	to[0] = __atomic_load_n(&at[0], __ATOMIC_RELAXED);
	to[1] = __atomic_load_n(&at[1], __ATOMIC_RELAXED);
	return copy;
}

/* Returns a client's own buffer: its address follows from the slot. */
static uint8_t *own_buffer(const struct memif_link *link, const struct memif_ring *ring,
			   uint16_t index)
{
	return ring->buffers + (uint64_t)(index & (ring->slots - 1)) * link->buffer_bytes;
}

static void own_desc(const struct memif_link *link, const struct memif_ring *ring, uint16_t index,
		     uint16_t flags, uint32_t bytes)
{
	desc_word *at = (desc_word *)ring_slot(ring, index);
	uint64_t offset = (uint64_t)(own_buffer(link, ring, index) - link->region[0].base);

	/* A client's buffers lie in region 0. */
	__atomic_store_n(&at[0], (uint64_t)bytes << 32 | flags, __ATOMIC_RELAXED);
	__atomic_store_n(&at[1], offset, __ATOMIC_RELAXED);
}

/* Server: stores the length filled in a slot, or its size, and the flags. */
static void server_desc(const struct memif_ring *ring, uint16_t index, uint16_t flags,
			uint32_t bytes)
{
	struct memif_desc *at = ring_slot(ring, index);

	__atomic_store_n(&at->flags, flags, __ATOMIC_RELAXED);
	__atomic_store_n(&at->bytes, bytes, __ATOMIC_RELAXED);
}

uint64_t memif_ring_region_bytes(uint32_t log2_slots, uint32_t buffer_bytes)
{
	uint64_t rings = (2 * memif_ring_bytes(log2_slots) + PAGE_BYTES - 1) / PAGE_BYTES;

	return rings * PAGE_BYTES + (UINT64_C(2) << log2_slots) * buffer_bytes;
}

void memif_ring_format(struct memif_link *link, uint32_t log2_slots)
{
	uint8_t *base = link->region[0].base;
	uint8_t *buffers = base + memif_ring_region_bytes(log2_slots, 0);
	struct memif_ring *ring[2] = {&link->tx, &link->rx};

	for (uint32_t i = 0; i < 2; i++) {
		ring[i]->shared = (void *)(base + i * memif_ring_bytes(log2_slots));
		ring[i]->slots = UINT32_C(1) << log2_slots;
		ring[i]->next = ring[i]->filled = 0;
		ring[i]->buffers = buffers + ((uint64_t)i << log2_slots) * link->buffer_bytes;
		ring[i]->shared->cookie = MEMIF_COOKIE;
		ring[i]->shared->flags = i ? MEMIF_MASK_INT : 0;
		for (uint32_t slot = 0; slot < ring[i]->slots; slot++)
			own_desc(link, ring[i], (uint16_t)slot, 0, link->buffer_bytes);
	}
}

static void refill(struct memif_link *link)
{
	struct memif_ring *ring = &link->rx;

	while ((uint16_t)(ring->filled - ring->next) < ring->slots)
		own_desc(link, ring, ring->filled++, 0, link->buffer_bytes);
	__atomic_store_n(&ring->shared->head, ring->filled, __ATOMIC_RELEASE);
}

void memif_ring_begin(struct memif_link *link)
{
	__atomic_store_n(&link->rx.shared->flags, MEMIF_MASK_INT, __ATOMIC_RELAXED);
	link->unmasked = false;
	if (link->server) {
		__atomic_store_n(&link->rx.shared->tail, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&link->tx.shared->tail, 0, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&link->tx.shared->head, link->tx.next, __ATOMIC_RELAXED);
	refill(link);
}

/*
 * Returns true if the connection is usable. A peer may have punched its memory when no memory was
 * left to fill the hole; data read since then was zero (hostmem.h).
 */
static bool usable(struct memif_link *link, struct memif_counts *counts)
{
	for (uint32_t i = 0; i < link->num_regions && !link->broken; i++) {
		if (hostmem_failed(link->region[i].map)) {
			link->broken = true;
			counts->bad_memory++;
		}
	}
	return !link->broken;
}

/* Returns the number of slots that the peer has filled; 0 for an invalid index. */
static uint32_t rx_slots(struct memif_link *link, struct memif_counts *counts)
{
	struct memif_ring *ring = &link->rx;
	const uint16_t *index = link->server ? &ring->shared->head : &ring->shared->tail;
	uint32_t max = link->server ? ring->slots : (uint16_t)(ring->filled - ring->next);
	int32_t ahead =
	    memif_check_ahead(__atomic_load_n(index, __ATOMIC_ACQUIRE), ring->next, max);

	if (ahead < 0) {
		link->broken = true;
		counts->bad_index++;
		return 0;
	}
	return (uint32_t)ahead;
}

/* Returns the number of slots that may be filled; 0 for an invalid index. */
static uint32_t tx_slots(struct memif_link *link, struct memif_counts *counts)
{
	struct memif_ring *ring = &link->tx;
	const struct memif_ring_shared *shared = ring->shared;
	int32_t ahead;

	if (link->server)
		ahead = memif_check_ahead(__atomic_load_n(&shared->head, __ATOMIC_ACQUIRE),
					  ring->next, ring->slots);
	else
		ahead = memif_check_ahead(
		    ring->next, __atomic_load_n(&shared->tail, __ATOMIC_ACQUIRE), ring->slots);
	if (ahead < 0) {
		link->broken = true;
		counts->bad_index++;
		return 0;
	}
	return link->server ? (uint32_t)ahead : ring->slots - (uint32_t)ahead;
}

/* Returns the buffer named in the copy of a descriptor; NULL: outside our memory. */
static uint8_t *rx_buffer(const struct memif_link *link, uint16_t index,
			  const struct memif_desc *copy)
{
	if (link->server)
		return memif_check_buffer(link->region, link->num_regions, copy);
	return copy->bytes <= link->buffer_bytes ? own_buffer(link, &link->rx, index) : NULL;
}

/* Slots of a burst, copied before they are checked. */
struct window {
	struct memif_desc copy[MEMIF_BURST_SLOTS + MEMIF_CHAIN_MAX];
	uint32_t num;
};

static void window_read(const struct memif_link *link, struct window *w, uint32_t upto)
{
	for (; w->num < upto; w->num++) {
		uint16_t index = (uint16_t)(link->rx.next + w->num);
		const uint8_t *at;

		w->copy[w->num] = desc_copy(&link->rx, index);
		at = rx_buffer(link, index, &w->copy[w->num]);
		if (at)
			rte_prefetch0(at);
	}
}

/* Appends a buffer to the frame. Returns false if it becomes too long. */
static bool rx_append(const struct memif_link *link, struct rte_mbuf *m, const uint8_t *at,
		      uint32_t bytes)
{
	uint32_t room = (uint32_t)m->buf_len - m->data_off;

	if (room > link->frame_bytes)
		room = link->frame_bytes;
	if (bytes > room - m->pkt_len)
		return false;
	rte_memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, m->pkt_len), at, bytes);
	m->pkt_len += bytes;
	m->data_len = (uint16_t)m->pkt_len;
	return true;
}

/*
 * Copies the frame at slot first of the window into the empty mbuf m; returns true if it is valid.
 * *used: slots consumed. The rest of an unterminated chain is skipped.
 */
static bool rx_frame(struct memif_link *link, struct memif_counts *counts, struct window *w,
		     uint32_t first, uint32_t slots, struct rte_mbuf *m, uint32_t *used)
{
	uint64_t *wrong = NULL;
	uint32_t i = first;
	bool more = true;

	while (more && i < slots && i - first < MEMIF_CHAIN_MAX) {
		const struct memif_desc *copy;
		const uint8_t *at;

		window_read(link, w, i + 1);
		copy = &w->copy[i];
		at = rx_buffer(link, (uint16_t)(link->rx.next + i), copy);
		more = copy->flags & MEMIF_DESC_NEXT;
		/* Some senders leave the flag set after a chained frame. */
		if (more && link->server)
			server_desc(&link->rx, (uint16_t)(link->rx.next + i), 0, copy->bytes);
		if (!at)
			wrong = wrong ? wrong : &counts->rx_bad_buffer;
		else if (!wrong && !rx_append(link, m, at, copy->bytes))
			wrong = &counts->rx_bad_length;
		i++;
	}
	*used = i - first;
	if (more) {
		link->skips = i < slots;
		wrong = &counts->rx_bad_chain;
	}
	if (!wrong && m->pkt_len < sizeof(struct wire_eth))
		wrong = &counts->rx_bad_length;
	if (wrong) {
		++*wrong;
		rte_pktmbuf_reset(m);
	}
	return !wrong;
}

/* Returns the slots to the peer. */
static void rx_done(struct memif_link *link, uint32_t used)
{
	link->rx.next = (uint16_t)(link->rx.next + used);
	if (link->server)
		__atomic_store_n(&link->rx.shared->tail, link->rx.next, __ATOMIC_RELEASE);
	else
		refill(link);
}

static void rx_mask(struct memif_link *link)
{
	if (!link->unmasked)
		return;
	link->unmasked = false;
	__atomic_store_n(&link->rx.shared->flags, MEMIF_MASK_INT, __ATOMIC_RELAXED);
}

uint32_t memif_ring_rx(struct memif_link *link, struct rte_mempool *pool,
		       struct memif_counts *counts, struct rte_mbuf **frames, uint32_t n)
{
	struct window w;
	uint32_t slots, got = 0, used = 0;

	rx_mask(link);
	slots = usable(link, counts) ? rx_slots(link, counts) : 0;
	n = n < FW_BURST ? n : FW_BURST;
	n = n < slots ? n : slots;
	if (!n)
		return 0;
	if (rte_pktmbuf_alloc_bulk(pool, frames, n)) {
		counts->rx_nombuf++;
		return 0;
	}
	w.num = 0;
	window_read(link, &w, n);
	while (got < n && used < slots && used < MEMIF_BURST_SLOTS) {
		uint32_t took = 1;

		if (link->skips) {
			window_read(link, &w, used + 1);
			link->skips = w.copy[used].flags & MEMIF_DESC_NEXT;
		} else if (rx_frame(link, counts, &w, used, slots, frames[got], &took)) {
			got++;
		}
		used += took;
	}
	rx_done(link, used);
	if (got < n)
		rte_pktmbuf_free_bulk(frames + got, n - got);
	counts->rx += got;
	return got;
}

/*
 * Finds room for bytes in the unused slots from *from on. Returns the number of slots, 0, or -1 if
 * none is large enough. Slots with invalid buffers are skipped, empty.
 */
static int tx_room(struct memif_link *link, struct memif_counts *counts, uint32_t *from,
		   uint32_t slots, uint32_t bytes, struct piece *piece)
{
	struct memif_ring *ring = &link->tx;
	uint32_t k = 0, left = bytes;

	while (left) {
		uint16_t index = (uint16_t)(ring->next + *from + k);
		struct memif_desc copy;

		if (*from + k >= slots || *from + k >= MEMIF_BURST_SLOTS)
			return 0;
		if (k == MEMIF_CHAIN_MAX)
			return -1;
		if (!link->server) {
			piece[k].at = own_buffer(link, ring, index);
			piece[k].bytes = link->buffer_bytes;
		} else {
			copy = desc_copy(ring, index);
			piece[k].at = memif_check_buffer(link->region, link->num_regions, &copy);
			piece[k].bytes = copy.bytes;
		}
		if (!piece[k].at || !piece[k].bytes) {
			counts->tx_bad_buffer++;
			for (uint32_t i = 0; i <= k; i++)
				server_desc(ring, (uint16_t)(ring->next + *from + i), 0, 0);
			*from += k + 1;
			k = 0;
			left = bytes;
			continue;
		}
		if (piece[k].bytes > left)
			piece[k].bytes = left;
		left -= piece[k++].bytes;
	}
	return (int)k;
}

static void tx_copy(const struct rte_mbuf *m, const struct piece *piece)
{
	uint32_t used = 0;

	if (m->nb_segs == 1 && piece->bytes == m->pkt_len) {
		rte_memcpy(piece->at, rte_pktmbuf_mtod(m, const uint8_t *), piece->bytes);
		return;
	}
	for (; m; m = m->next) {
		const uint8_t *from = rte_pktmbuf_mtod(m, const uint8_t *);
		uint32_t left = m->data_len;

		while (left) {
			uint32_t bytes = piece->bytes - used < left ? piece->bytes - used : left;

			if (!bytes) {
				piece++;
				used = 0;
				continue;
			}
			rte_memcpy(piece->at + used, from, bytes);
			used += bytes;
			from += bytes;
			left -= bytes;
		}
	}
}

static void tx_fill(struct memif_link *link, const struct rte_mbuf *m, uint32_t from,
		    const struct piece *piece, uint32_t num)
{
	tx_copy(m, piece);
	for (uint32_t i = 0; i < num; i++) {
		uint16_t index = (uint16_t)(link->tx.next + from + i);
		uint16_t flags = i + 1 < num ? MEMIF_DESC_NEXT : 0;

		if (link->server)
			server_desc(&link->tx, index, flags, piece[i].bytes);
		else
			own_desc(link, &link->tx, index, flags, piece[i].bytes);
	}
}

/* Publishes the filled slots. Returns true if the peer sleeps. */
static bool tx_publish(struct memif_link *link, uint32_t filled)
{
	struct memif_ring *ring = &link->tx;
	uint16_t *index = link->server ? &ring->shared->tail : &ring->shared->head;

	ring->next = (uint16_t)(ring->next + filled);
	__atomic_store_n(index, ring->next, __ATOMIC_RELEASE);
	/* Pairs with memif_ring_waiting(): one of the two sees the other's store. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !(__atomic_load_n(&ring->shared->flags, __ATOMIC_RELAXED) & MEMIF_MASK_INT);
}

uint32_t memif_ring_tx(struct memif_link *link, struct memif_counts *counts,
		       struct rte_mbuf **frames, uint32_t n, uint64_t now_ns, bool *signal)
{
	uint32_t slots = usable(link, counts) ? tx_slots(link, counts) : 0;
	uint32_t from = 0, took = 0;

	*signal = false;
	for (; took < n; took++) {
		struct piece piece[MEMIF_CHAIN_MAX];
		int num = tx_room(link, counts, &from, slots, frames[took]->pkt_len, piece);

		if (!num)
			break;
		if (num < 0) {
			counts->tx_no_room++;
			continue;
		}
		tx_fill(link, frames[took], from, piece, (uint32_t)num);
		from += (uint32_t)num;
		counts->tx++;
	}
	if (from)
		*signal = tx_publish(link, from);
	if (took) {
		link->full_since_ns = 0;
	} else if (!link->full_since_ns) {
		link->full_since_ns = now_ns;
	} else if (now_ns - link->full_since_ns >= MEMIF_PAUSE_NS) {
		counts->tx_full += n;
		took = n;
	}
	rte_pktmbuf_free_bulk(frames, took);
	return took;
}

bool memif_ring_waiting(struct memif_link *link)
{
	struct memif_ring_shared *shared = link->rx.shared;
	const uint16_t *index = link->server ? &shared->head : &shared->tail;

	if (link->broken)
		return false;
	if (!link->unmasked) {
		link->unmasked = true;
		__atomic_store_n(&shared->flags, 0, __ATOMIC_RELAXED);
		/* Pairs with the sender's fence between its index and these flags. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	return __atomic_load_n(index, __ATOMIC_ACQUIRE) != link->rx.next;
}
