/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Impairments: a heap ordered by departure time, and a few slots for frames to be overtaken.
 * Reordering counts frames, not time, like a switch with parallel paths: at any rate, a frame is
 * delayed behind 1 to IMPAIR_OVERTAKE_MAX others.
 *
 * Runs on the core of the receiving shard.
 */
#include "dpdk_app/wire/impair.h"

#include <stdatomic.h>
#include <string.h>

#include "lib/heap.h"
#include "lib/prng.h"

bool impair_wanted(const struct impair_conf *conf)
{
	return conf->loss || conf->reorder || conf->dup || conf->delay_ns || conf->rate_gbps > 0;
}

uint32_t impair_probability(double percent)
{
	if (!(percent > 0))
		return 0;
	if (percent >= 100)
		return UINT32_MAX;
	return (uint32_t)(percent / 100 * 4294967296.0);
}

static bool impair_chance(struct impair *im, uint32_t probability)
{
	/* UINT32_MAX means always. */
	uint32_t toss = (uint32_t)prng_next(&im->prng);

	return probability == UINT32_MAX || toss < probability;
}

void impair_init(struct impair *im, const struct impair_conf *conf, uint64_t stream,
		 _Atomic(uint64_t) *busy_until_ns)
{
	memset(im, 0, sizeof(*im));
	im->conf = *conf;
	im->prng = conf->seed;
	im->prng = prng_next(&im->prng) ^ stream * UINT64_C(0xd1342543de82ef95);
	im->busy_until_ns = busy_until_ns;
}

static void queue(struct impair *im, uint64_t due_ns, void *frame)
{
	struct impair_item item = {due_ns, im->seq++, frame};

	heap_push(im->heap, im->num_queued++, &item, sizeof(item));
}

static void *dequeue(struct impair *im)
{
	struct impair_item item;

	heap_pop(im->heap, im->num_queued--, &item, sizeof(item));
	return item.frame;
}

/* Returns the time at which the last bit has left, if a line rate is modelled. */
static uint64_t line_departure(struct impair *im, uint64_t now_ns, uint32_t bytes)
{
	uint64_t busy, start, end;

	if (!(im->conf.rate_gbps > 0))
		return now_ns;
	/* Preamble, FCS and gap occupy 24 more bytes of the line. */
	busy = atomic_load_explicit(im->busy_until_ns, memory_order_relaxed);
	do {
		start = busy > now_ns ? busy : now_ns;
		end = start + (uint64_t)((bytes + 24) * 8 / im->conf.rate_gbps);
	} while (!atomic_compare_exchange_weak_explicit(
	    im->busy_until_ns, &busy, end, memory_order_relaxed, memory_order_relaxed));
	return end;
}

/* A frame has passed: releases the held frames that were overtaken often enough. */
static void held_overtaken(struct impair *im, uint64_t due_ns)
{
	for (uint32_t i = 0; im->num_held && i < IMPAIR_HELD_MAX; i++) {
		struct impair_held *h = &im->held[i];

		if (!h->frame || --h->left)
			continue;
		queue(im, due_ns, h->frame);
		h->frame = NULL;
		im->num_held--;
	}
}

static void held_expire(struct impair *im, uint64_t now_ns)
{
	for (uint32_t i = 0; im->num_held && i < IMPAIR_HELD_MAX; i++) {
		struct impair_held *h = &im->held[i];

		if (!h->frame || h->deadline_ns > now_ns)
			continue;
		queue(im, now_ns, h->frame);
		h->frame = NULL;
		im->num_held--;
	}
}

static bool hold_back(struct impair *im, uint64_t due_ns, void *frame)
{
	uint32_t left = 1 + (uint32_t)(prng_next(&im->prng) % IMPAIR_OVERTAKE_MAX);

	for (uint32_t i = 0; i < IMPAIR_HELD_MAX; i++) {
		struct impair_held *h = &im->held[i];

		if (h->frame)
			continue;
		h->frame = frame;
		h->left = left;
		h->deadline_ns = due_ns + IMPAIR_HELD_NS;
		im->num_held++;
		im->stats.reordered++;
		return true;
	}
	return false;
}

enum impair_verdict impair_in(struct impair *im, uint64_t now_ns, void *frame, uint32_t bytes)
{
	bool twice, late;
	uint64_t due_ns;

	if (impair_chance(im, im->conf.loss)) {
		im->stats.lost++;
		return IMPAIR_LOST;
	}
	twice = impair_chance(im, im->conf.dup);
	late = impair_chance(im, im->conf.reorder);
	/* Room for this frame, its duplicate, and all held frames. */
	if (im->num_queued + im->num_held + 2 > IMPAIR_QUEUE_MAX) {
		im->stats.overflowed++;
		return IMPAIR_FULL;
	}
	due_ns = line_departure(im, now_ns, bytes) + im->conf.delay_ns;
	if (twice) {
		im->stats.duplicated++;
		queue(im, due_ns, frame);
	}
	if (!late || !hold_back(im, due_ns, frame)) {
		queue(im, due_ns, frame);
		held_overtaken(im, due_ns);
	}
	return twice ? IMPAIR_TAKEN_TWICE : IMPAIR_TAKEN;
}

uint32_t impair_out(struct impair *im, uint64_t now_ns, void **frames, uint32_t n)
{
	uint32_t count = 0;

	if (im->num_held)
		held_expire(im, now_ns);
	while (count < n && im->num_queued && im->heap[0].due_ns <= now_ns)
		frames[count++] = dequeue(im);
	return count;
}

uint64_t impair_next_ns(const struct impair *im)
{
	uint64_t next = im->num_queued ? im->heap[0].due_ns : UINT64_MAX;

	for (uint32_t i = 0; im->num_held && i < IMPAIR_HELD_MAX; i++) {
		if (im->held[i].frame && im->held[i].deadline_ns < next)
			next = im->held[i].deadline_ns;
	}
	return next;
}
