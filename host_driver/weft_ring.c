/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that are lent to queue pairs: see weft_ring.h.
 *
 * A ring lies in the BAR. What the host notes of its requests lies in memory of its own, behind
 * struct weft_ring, a quarter as long as the ring: of a slot of 64 bytes a weft_sq_wr and a word,
 * of a receive of 32 bytes a wr_id. Sends commands through the channel.
 */
#include "host_driver/weft_ring.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "host_driver/weft_priv.h"
#include "lib/clock.h"

enum {
	/*
	 * A queue that needs a ring so soon after it gave its own is busy: another ring is used,
	 * not that of a queue that may be as busy.
	 */
	RING_SOON_US = 10000,
	/* Used rings of a size that stay with their queues: a few busy ones never pay for this. */
	RING_AWAKE = 32,
	RING_LOOKS = 2, /* at queues that may give theirs, for each that is taken */
	RING_FIRST = 8, /* rings that the first room has */
	RING_NOTES_PART = 4,
};

/* Followed by what the host notes of its requests. */
struct weft_ring {
	struct weft_ring *next, *prev; /* in weft_rings: first and last, or free */
	struct weft_qp_obj *qp;        /* that has it, NULL */
	uint32_t place;                /* hw_qp_record.sq_place, rq_place */
	bool sends;
	uint64_t notes[];
};

/*
 * Room for several rings, of which the last fresh ones were never taken. The rings lie apart: most
 * rooms have none that was taken, and then no memory for them.
 */
struct weft_ring_room {
	struct weft_ring_room *next;
	uint64_t offset; /* in the BAR */
	uint32_t num, fresh;
	char *rings; /* struct weft_ring, and its notes */
};

_Static_assert(sizeof(struct weft_sq_wr) + sizeof(uint32_t) == HW_SQ_SLOT_BYTES / RING_NOTES_PART,
	       "notes of a slot");
_Static_assert(HW_RING_MIN_BYTES << (WEFT_RING_SIZES - 1) == HW_RING_MAX_BYTES, "sizes");

static uint32_t size_of(uint32_t bytes)
{
	uint32_t i = 0;

	while ((uint32_t)HW_RING_MIN_BYTES << i < bytes)
		i++;
	assert(i < WEFT_RING_SIZES);
	return i;
}

static uint32_t ring_bytes(uint32_t size)
{
	return (uint32_t)HW_RING_MIN_BYTES << size;
}

static uint32_t sq_bytes(const struct weft_qp_obj *qp)
{
	return qp->sq.slots * HW_SQ_SLOT_BYTES;
}

static uint32_t rq_bytes(const struct weft_qp_obj *qp)
{
	return qp->rq.entries * qp->rq.stride_bytes;
}

static size_t stride_of(uint32_t size)
{
	return sizeof(struct weft_ring) + ring_bytes(size) / RING_NOTES_PART;
}

static size_t room_bytes(uint32_t size, uint32_t num)
{
	return num * stride_of(size);
}

void weft_ring_init(struct weft_ctx *ctx)
{
	weft_mutex_init(&ctx->rings.lock);
}

void weft_ring_end(struct weft_ctx *ctx)
{
	for (uint32_t size = 0; size < WEFT_RING_SIZES; size++) {
		struct weft_rings *rings = &ctx->rings.size[size];

		while (rings->rooms) {
			struct weft_ring_room *room = rings->rooms;

			rings->rooms = room->next;
			(void)munmap(room->rings, room_bytes(size, room->num));
			free(room);
		}
	}
	pthread_mutex_destroy(&ctx->rings.lock);
}

/* Asks the NIC for room for num rings. Pages of it get memory as they are touched. */
static bool add_room(struct weft_ctx *ctx, uint32_t size, uint32_t num)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_RINGS};
	struct weft_rings *rings = &ctx->rings.size[size];
	struct weft_ring_room *room;
	struct hw_cmd_resp resp;
	int rc;

	cmd.u.alloc_rings.bytes = ring_bytes(size);
	cmd.u.alloc_rings.count = num;
	rc = weft_ctx_command(ctx, &cmd, -1, &resp, NULL);
	if (rc == -EOPNOTSUPP)
		__atomic_store_n(&ctx->rings.none, true, __ATOMIC_RELAXED);
	if (rc < 0 || resp.u.rings.offset % HW_RING_PLACE_BYTES ||
	    !weft_ctx_bar(ctx, resp.u.rings.offset, (uint64_t)num * ring_bytes(size)))
		return false;
	room = malloc(sizeof(*room));
	if (!room)
		return false;
	room->rings = mmap(NULL, room_bytes(size, num), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room->rings == MAP_FAILED) {
		free(room);
		return false;
	}
	room->offset = resp.u.rings.offset;
	room->num = num;
	room->fresh = num;
	pthread_mutex_lock(&ctx->rings.lock);
	room->next = rings->rooms;
	rings->rooms = room;
	rings->num += num;
	pthread_mutex_unlock(&ctx->rings.lock);
	return true;
}

static bool promise(struct weft_ctx *ctx, uint32_t bytes)
{
	struct weft_rings *rings = &ctx->rings.size[size_of(bytes)];
	uint32_t num;
	bool enough;

	pthread_mutex_lock(&ctx->rings.lock);
	num = rings->num / 4;
	enough = ++rings->promised <= rings->num;
	pthread_mutex_unlock(&ctx->rings.lock);
	if (num < RING_FIRST)
		num = RING_FIRST;
	if (num > HW_RINGS_MAX)
		num = HW_RINGS_MAX;
	/* Each thread that finds too few adds some, so there are enough for all of them. */
	if (enough || add_room(ctx, size_of(bytes), num))
		return true;
	pthread_mutex_lock(&ctx->rings.lock);
	rings->promised--;
	pthread_mutex_unlock(&ctx->rings.lock);
	return false;
}

static void release(struct weft_ctx *ctx, uint32_t sq, uint32_t rq)
{
	pthread_mutex_lock(&ctx->rings.lock);
	ctx->rings.size[size_of(sq)].promised--;
	if (rq)
		ctx->rings.size[size_of(rq)].promised--;
	pthread_mutex_unlock(&ctx->rings.lock);
}

bool weft_ring_promise(struct weft_ctx *ctx, uint32_t sq, uint32_t rq)
{
	if (sq > HW_RING_MAX_BYTES || rq > HW_RING_MAX_BYTES ||
	    __atomic_load_n(&ctx->rings.none, __ATOMIC_RELAXED) || !promise(ctx, sq))
		return false;
	if (!rq || promise(ctx, rq))
		return true;
	release(ctx, sq, 0);
	return false;
}

/* The list of rings that queues have; all under ctx->rings.lock. */
static void add_last(struct weft_rings *rings, struct weft_ring *ring)
{
	ring->next = NULL;
	ring->prev = rings->last;
	*(rings->last ? &rings->last->next : &rings->first) = ring;
	rings->last = ring;
}

static void remove_ring(struct weft_rings *rings, struct weft_ring *ring)
{
	*(ring->prev ? &ring->prev->next : &rings->first) = ring->next;
	*(ring->next ? &ring->next->prev : &rings->last) = ring->prev;
}

/*
 * Takes the ring of a send queue that is empty. The lock of the CQ keeps out a thread that has
 * taken a completion and is still to note it (weft_poll.c).
 */
static bool give_sq(struct weft_qp_obj *qp, uint32_t now_us)
{
	struct weft_cq_obj *cq = weft_container_of(qp->pub.send_cq, struct weft_cq_obj, pub);
	struct weft_sq *sq = &qp->sq;
	bool empty = false;

	if (!weft_lock_try(&sq->lock))
		return false;
	if (pthread_mutex_trylock(&cq->lock) == 0) {
		weft_sq_retire(qp);
		empty = sq->wr_tail == sq->wr_head;
		if (empty) {
			__atomic_store_n(&sq->wr, NULL, __ATOMIC_RELAXED);
			sq->ring = NULL;
			sq->gave_us = now_us;
		}
		pthread_mutex_unlock(&cq->lock);
	}
	weft_lock_give(&sq->lock);
	return empty;
}

static bool give_rq(struct weft_qp_obj *qp, uint32_t now_us)
{
	struct weft_cq_obj *cq = weft_container_of(qp->pub.recv_cq, struct weft_cq_obj, pub);
	struct weft_rq *rq = &qp->rq;
	bool empty = false;

	if (!weft_lock_try(&rq->lock))
		return false;
	if (pthread_mutex_trylock(&cq->lock) == 0) {
		empty = rq->tail == rq->head;
		if (empty) {
			__atomic_store_n(&rq->wr_id, NULL, __ATOMIC_RELAXED);
			rq->ring = NULL;
			rq->gave_us = now_us;
		}
		pthread_mutex_unlock(&cq->lock);
	}
	weft_lock_give(&rq->lock);
	return empty;
}

/* Takes the ring of a queue that has had it for long and is empty; NULL: a few have requests. */
static struct weft_ring *take_idle(struct weft_rings *rings, uint32_t now_us)
{
	for (int looks = 0; looks < RING_LOOKS && rings->first; looks++) {
		struct weft_ring *ring = rings->first;

		remove_ring(rings, ring);
		if (ring->sends ? give_sq(ring->qp, now_us) : give_rq(ring->qp, now_us))
			return ring;
		add_last(rings, ring);
	}
	return NULL;
}

static struct weft_ring *take_fresh(struct weft_rings *rings, uint32_t size)
{
	struct weft_ring_room *room = rings->rooms;
	struct weft_ring *ring;
	uint32_t at;

	while (!room->fresh)
		room = room->next;
	at = room->num - room->fresh--;
	ring = (struct weft_ring *)(void *)(room->rings + at * stride_of(size));
	ring->place =
	    (uint32_t)((room->offset + (uint64_t)at * ring_bytes(size)) / HW_RING_PLACE_BYTES);
	rings->used++;
	return ring;
}

/* Never 0, which says of a queue that it gave none. */
static uint32_t clock_us(void)
{
	return (uint32_t)(clock_now_ns() / 1000) | 1;
}

static bool is_busy(uint32_t gave_us, uint32_t now_us)
{
	return gave_us && (int32_t)(now_us - gave_us) < RING_SOON_US;
}

/* There is one: promises cover the queues that have rings, and this one. */
static struct weft_ring *take(struct weft_ctx *ctx, struct weft_qp_obj *qp, uint32_t bytes,
			      bool sends)
{
	uint32_t gave_us = sends ? qp->sq.gave_us : qp->rq.gave_us;
	uint32_t size = size_of(bytes), now_us = clock_us();
	struct weft_rings *rings = &ctx->rings.size[size];
	struct weft_ring *ring;

	pthread_mutex_lock(&ctx->rings.lock);
	ring = rings->free;
	if (ring)
		rings->free = ring->next;
	else if (rings->used >= RING_AWAKE && !is_busy(gave_us, now_us))
		ring = take_idle(rings, now_us);
	if (!ring)
		ring = take_fresh(rings, size);
	ring->qp = qp;
	ring->sends = sends;
	add_last(rings, ring);
	pthread_mutex_unlock(&ctx->rings.lock);
	return ring;
}

void weft_ring_take_sq(struct weft_qp_obj *qp)
{
	struct weft_ctx *ctx = weft_ctx_of(qp->pub.context);
	struct weft_sq *sq = &qp->sq;
	struct weft_ring *ring = take(ctx, qp, sq_bytes(qp), true);
	struct weft_sq_wr *wr = (struct weft_sq_wr *)(void *)ring->notes;

	/* Notes of another queue: no request that is posted next ends here. */
	for (uint32_t i = 0; i <= sq->wr_mask; i++)
		wr[i].done = sq->head;
	sq->ring = (uint8_t *)ctx->bar + (uint64_t)ring->place * HW_RING_PLACE_BYTES;
	sq->wr_of_slot = (uint32_t *)(void *)(wr + sq->slots);
	/* D2: published with the index. */
	__atomic_store_n(&qp->record->sq_place, ring->place, __ATOMIC_RELAXED);
	/* Read under the CQ's lock for a request that failed: it has no notes any more. */
	__atomic_store_n(&sq->wr, wr, __ATOMIC_RELEASE);
}

void weft_ring_take_rq(struct weft_qp_obj *qp)
{
	struct weft_ctx *ctx = weft_ctx_of(qp->pub.context);
	struct weft_ring *ring = take(ctx, qp, rq_bytes(qp), false);

	qp->rq.ring = (uint8_t *)ctx->bar + (uint64_t)ring->place * HW_RING_PLACE_BYTES;
	/* R1: likewise. */
	__atomic_store_n(&qp->record->rq_place, ring->place, __ATOMIC_RELAXED);
	__atomic_store_n(&qp->rq.wr_id, ring->notes, __ATOMIC_RELEASE);
}

static void put_back(struct weft_ctx *ctx, uint32_t bytes, void *notes)
{
	struct weft_rings *rings = &ctx->rings.size[size_of(bytes)];
	struct weft_ring *ring;

	if (!notes)
		return;
	ring = weft_container_of(notes, struct weft_ring, notes);
	remove_ring(rings, ring);
	ring->qp = NULL;
	ring->next = rings->free;
	rings->free = ring;
}

void weft_ring_leave(struct weft_qp_obj *qp)
{
	struct weft_ctx *ctx = weft_ctx_of(qp->pub.context);

	pthread_mutex_lock(&ctx->rings.lock);
	put_back(ctx, sq_bytes(qp), qp->sq.wr);
	if (qp->rq.entries)
		put_back(ctx, rq_bytes(qp), qp->rq.wr_id);
	pthread_mutex_unlock(&ctx->rings.lock);
	release(ctx, sq_bytes(qp), rq_bytes(qp));
}
