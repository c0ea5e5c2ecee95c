/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings of RDMA buffers, one for each busy peer, that the process polls (MVAPICH's ARDMA), beside
 * tagged messages: half a round trip of one-packet messages. Calls tag_end.c.
 *
 * The steps of a library with rings for a message, and no more: the sender writes envelope, data
 * and a last word to the next slot of its ring by one RDMA Write; the receiver looks at the next
 * slot of each ring in turn, compares the tag with that of the receive, and copies the data. The
 * answer says that the slot is free. The peers are names alone: the sender draws the ring of each
 * message, so the receiver does not know where the next comes. Both ends look at all rings.
 *
 * The NIC does not promise in which order the bytes of a packet appear in memory. Rank 0 counts the
 * messages whose last word it saw before other bytes (early).
 */
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/mpi3.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/tag.h"

enum {
	RING_SLOTS = 32,
	RING_SLOT_BYTES = 2048,
	RING_MAX = 1000,
	RING_SIGNALED = 16, /* one of so many Writes is */
	RING_LOOKS = 4096,  /* looks between reads of the clock */
};

/* In front of the data; a word with the number comes behind it, 8-aligned. */
struct envelope {
	uint64_t tag;
	uint64_t bytes;
};

struct rings {
	struct tag_end e;
	struct end_mem tx, user, slots;
	struct end_mem tag_tx, tag_rx;
	uint32_t num;
	uint32_t at;             /* the ring that is looked at next */
	uint64_t came[RING_MAX]; /* messages, by ring */
	uint64_t went[RING_MAX];
	uint64_t peer_addr;
	uint32_t peer_rkey;
	uint32_t writes; /* since the last signaled one */
	bool signaled;   /* one is under way */
	uint64_t seq;
	uint32_t early; /* messages whose last word came before other bytes */
};

static uint32_t ring_of(const struct rings *r, uint64_t seq)
{
	return (uint32_t)((seq * UINT64_C(0x9e3779b97f4a7c15) >> 32) % r->num);
}

static size_t slot_at(uint32_t ring, uint64_t number)
{
	return ((size_t)ring * RING_SLOTS + number % RING_SLOTS) * RING_SLOT_BYTES;
}

static size_t write_bytes(size_t bytes)
{
	return sizeof(struct envelope) + ((bytes + 7) & ~(size_t)7) + sizeof(uint64_t);
}

/* Looks at the completion queue once. */
static int look(struct rings *r)
{
	struct weft_wc wc;
	int n = weft_poll_cq(r->e.end.cq, 1, &wc);

	if (n < 0)
		return fail("polling: %s", strerror(-n));
	if (n && wc.status != WEFT_WC_SUCCESS)
		return fail("a Write to a ring: %s", weft_wc_status_str(wc.status));
	if (n)
		r->signaled = false;
	return 0;
}

/* Takes the completion of the last signaled Write. */
static int settle(struct rings *r)
{
	while (r->signaled)
		if (look(r))
			return -1;
	return 0;
}

static int put(struct rings *r, size_t bytes)
{
	uint32_t ring = ring_of(r, r->seq);
	uint64_t number = r->went[ring]++;
	const struct envelope env = {TAG_DATA, bytes};
	size_t all = write_bytes(bytes);
	struct weft_sge sge = {(uintptr_t)r->tx.p, (uint32_t)all, r->tx.mr->lkey};
	bool inlined = all <= r->e.ep->qp->cap.max_inline_bytes && !r->e.c->o->no_inline;
	struct weft_send_wr wr = {.sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_WRITE,
				  .flags = inlined ? WEFT_SEND_INLINE : 0,
				  .rkey = r->peer_rkey,
				  .remote_addr = r->peer_addr + slot_at(ring, number),
				  .ah = r->e.ah,
				  .dst_qpn = r->e.peer_qpn,
				  .qkey = BENCH_QKEY};
	uint64_t last = number + 1;
	int rc;

	/* Data that is not inline is read until the Write completes; its answer has come since. */
	memcpy(r->tx.p, &env, sizeof(env));
	pattern_fill(r->tx.p + sizeof(env), bytes, r->seq, 1);
	memcpy(r->tx.p + all - sizeof(last), &last, sizeof(last));
	if (++r->writes == RING_SIGNALED) {
		if (settle(r))
			return -1;
		r->writes = 0;
		r->signaled = true;
		wr.flags |= WEFT_SEND_SIGNALED;
	}
	rc = weft_post_send(r->e.ep->qp, &wr, NULL);
	return rc ? fail("posting a Write: %s", strerror(-rc)) : 0;
}

/*
 * Takes the message out of a slot whose last word is there. Its other bytes may still be under way:
 * a library would need a mark in each line; this program looks until all is right.
 */
static int take(struct rings *r, const uint8_t *slot, size_t bytes)
{
	const struct envelope *env = (const struct envelope *)(const void *)slot;
	uint64_t start_ns = 0;

	for (;;) {
		memcpy(r->user.p, slot + sizeof(*env), bytes);
		if (__atomic_load_n(&env->tag, __ATOMIC_ACQUIRE) == TAG_DATA &&
		    env->bytes == bytes && pattern_check(r->user.p, bytes, r->seq, 1) == bytes)
			break;
		if (!start_ns) {
			start_ns = clock_now_ns();
			r->early++;
		}
		if ((double)(clock_now_ns() - start_ns) > r->e.c->o->timeout_s * 1e9)
			return fail("message %llu of %zu bytes is wrong",
				    (unsigned long long)r->seq, bytes);
	}
	r->came[r->at]++;
	return 0;
}

/*
 * Looks at the rings until a message of these bytes is there, and takes it. After each round it
 * looks at the completion queue.
 */
static int get(struct rings *r, size_t bytes)
{
	size_t all = write_bytes(bytes);
	uint64_t start_ns = 0, looks = 0;
	const uint8_t *slot;

	for (;;) {
		slot = r->slots.p + slot_at(r->at, r->came[r->at]);
		if (__atomic_load_n((const uint64_t *)(const void *)(slot + all - sizeof(uint64_t)),
				    __ATOMIC_ACQUIRE) == r->came[r->at] + 1)
			break;
		r->at = r->at + 1 == r->num ? 0 : r->at + 1;
		/* Long messages come by the queue. An empty one also yields a scarce processor. */
		if (!r->at && look(r))
			return -1;
		if (++looks % RING_LOOKS)
			continue;
		if (!start_ns)
			start_ns = clock_now_ns();
		if ((double)(clock_now_ns() - start_ns) > r->e.c->o->timeout_s * 1e9)
			return fail("no message came to a ring for %g s", r->e.c->o->timeout_s);
	}
	return take(r, slot, bytes);
}

static int ping(struct rings *r, size_t bytes, uint32_t reps, double *us)
{
	bool first = r->e.c->rank == 0;
	uint64_t start_ns = 0;

	crew_barrier(r->e.c);
	for (uint32_t i = 0; i <= reps; i++, r->seq++) {
		if (i == 1)
			start_ns = clock_now_ns();
		if ((first && put(r, bytes)) || get(r, bytes) || (!first && put(r, bytes)))
			return -1;
	}
	*us = (double)(clock_now_ns() - start_ns) / 2e3 / reps;
	return settle(r);
}

/* Both ends begin anew: a last word of another size is not mistaken for a number. */
static int clear(struct rings *r)
{
	crew_barrier(r->e.c);
	memset(r->slots.p, 0, (size_t)r->num * RING_SLOTS * RING_SLOT_BYTES);
	memset(r->came, 0, sizeof(r->came));
	memset(r->went, 0, sizeof(r->went));
	crew_barrier(r->e.c);
	return 0;
}

static int row(struct rings *r, size_t bytes)
{
	double us[CREW_BLOCKS], tag[CREW_BLOCKS], ratio[CREW_BLOCKS];
	uint32_t reps = mpi3_reps(r->e.c->o, bytes);
	json_t *j;

	if (clear(r))
		return -1;
	r->early = 0;
	for (int b = 0; b < CREW_BLOCKS; b++) {
		if (ping(r, bytes, reps, &us[b]) ||
		    tag_ping(&r->e, &r->tag_tx, &r->tag_rx, bytes, reps, &r->seq, &tag[b]))
			return -1;
		ratio[b] = us[b] / tag[b];
	}
	if (r->e.c->rank)
		return 0;
	j = json_pack("{s:s, s:I, s:I, s:I}", "part", "ring", "rings", (json_int_t)r->num, "bytes",
		      (json_int_t)bytes, "memory",
		      (json_int_t)r->num * RING_SLOTS * RING_SLOT_BYTES);
	json_object_set_new(j, "early", json_integer(r->early));
	crew_figure(j, "us", us);
	crew_figure(j, "tag_us", tag);
	crew_figure(j, "ratio", ratio);
	return crew_row(r->e.c, j);
}

static int exchange_rings(struct rings *r)
{
	uint64_t mine[2] = {(uintptr_t)r->slots.p, 0}, theirs[2];

	if (weft_dereg_mr(r->slots.mr))
		return fail("a region of rings does not end");
	r->slots.mr = weft_reg_mr(r->e.end.pd, r->slots.p, r->slots.bytes,
				  WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE);
	if (!r->slots.mr)
		return fail("cannot register rings");
	mine[1] = r->slots.mr->rkey;
	if (crew_exchange(r->e.c, mine, theirs, sizeof(mine)))
		return -1;
	r->peer_addr = theirs[0];
	r->peer_rkey = (uint32_t)theirs[1];
	return 0;
}

int tag_ring(struct crew *c, void *arg)
{
	static const uint32_t counts[] = {1, 2, 10, 100, RING_MAX};
	static const size_t sizes[] = {8, 64, 1024};
	const struct tag_config cfg = {.access = WEFT_ACCESS_REMOTE_WRITE};
	static struct rings r;

	(void)arg;
	if (tag_open(&r.e, c, &cfg) || tag_alloc(&r.e, &r.tx, RING_SLOT_BYTES) ||
	    tag_alloc(&r.e, &r.tag_tx, RING_SLOT_BYTES) ||
	    tag_alloc(&r.e, &r.tag_rx, RING_SLOT_BYTES) ||
	    tag_alloc(&r.e, &r.user, RING_SLOT_BYTES) ||
	    tag_alloc(&r.e, &r.slots, (size_t)RING_MAX * RING_SLOTS * RING_SLOT_BYTES) ||
	    exchange_rings(&r))
		return -1;
	for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
		r.num = counts[n];
		r.at = 0;
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			if (row(&r, sizes[s]))
				return -1;
	}
	tag_free(&r.tx);
	tag_free(&r.tag_tx);
	tag_free(&r.tag_rx);
	tag_free(&r.user);
	tag_free(&r.slots);
	tag_close(&r.e);
	return 0;
}
