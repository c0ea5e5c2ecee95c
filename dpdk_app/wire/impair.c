/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames under faults: a heap ordered by departure time, and a few slots for frames to be
 * overtaken. Reordering counts frames, not time, like a switch with parallel paths: at any rate, a
 * frame is delayed behind 1 to IMPAIR_OVERTAKE_MAX others.
 *
 * Runs on the core of the receiving shard.
 */
#include "dpdk_app/wire/impair.h"

#include <stdatomic.h>
#include <string.h>

#include "lib/heap.h"

enum {
	/* Preamble, FCS and gap occupy 24 more bytes of the line. */
	IMPAIR_GAP_BYTES = 24,
};

static void start(struct impair *im, const struct hw_fault *conf, uint64_t stream)
{
	uint64_t seed = conf->seed;

	im->conf = *conf;
	xoshiro_init(&im->prng, prng_next(&seed) ^ stream * UINT64_C(0xd1342543de82ef95));
	fault_init(&im->fault, &im->prng);
}

void impair_init(struct impair *im, const struct hw_fault *conf, uint64_t stream, uint32_t room,
		 _Atomic(uint64_t) *busy_until_ns)
{
	memset(im, 0, sizeof(*im));
	im->room = room < IMPAIR_QUEUE_MAX ? room : IMPAIR_QUEUE_MAX;
	im->busy_until_ns = busy_until_ns;
	start(im, conf, stream);
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
	double bits = 8.0 * (bytes + IMPAIR_GAP_BYTES);
	uint64_t busy, start_ns, end_ns;

	if (!im->conf.rate_bps)
		return now_ns;
	busy = atomic_load_explicit(im->busy_until_ns, memory_order_relaxed);
	do {
		start_ns = busy > now_ns ? busy : now_ns;
		end_ns = start_ns + (uint64_t)(bits * 1e9 / (double)im->conf.rate_bps);
	} while (!atomic_compare_exchange_weak_explicit(
	    im->busy_until_ns, &busy, end_ns, memory_order_relaxed, memory_order_relaxed));
	return end_ns;
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
	uint32_t left = (uint32_t)xoshiro_range(&im->prng, 1, IMPAIR_OVERTAKE_MAX);

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

void impair_change(struct impair *im, const struct hw_fault *conf, uint64_t stream, uint64_t now_ns)
{
	for (uint32_t i = 0; i < IMPAIR_HELD_MAX; i++) {
		if (im->held[i].frame)
			im->held[i].deadline_ns = now_ns;
	}
	held_expire(im, now_ns);
	im->hurry_seq = im->seq;
	start(im, conf, stream);
}

bool impair_loses(struct impair *im, uint64_t now_ns)
{
	bool lost = fault_loses(&im->fault, &im->conf.chance, now_ns);

	im->stats.lost += lost;
	return lost;
}

bool impair_corrupts(struct impair *im)
{
	bool corrupted = fault_corrupts(&im->fault, &im->conf.chance);

	im->stats.corrupted += corrupted;
	return corrupted;
}

static bool hurries(const struct impair *im)
{
	return im->num_queued && im->heap[0].seq < im->hurry_seq;
}

/* Delay and jitter behind the line. No frame leaves before an earlier one. */
static uint64_t due_time(struct impair *im, uint64_t now_ns, uint32_t bytes)
{
	uint64_t due_ns = line_departure(im, now_ns, bytes) + im->conf.delay_ns +
			  fault_jitter_ns(&im->fault, im->conf.jitter_ns);

	if (due_ns < im->last_due_ns && im->num_queued)
		due_ns = im->last_due_ns;
	im->last_due_ns = due_ns;
	return due_ns;
}

enum impair_verdict impair_in(struct impair *im, uint64_t now_ns, void *frame, uint32_t bytes)
{
	bool twice = fault_doubles(&im->fault, &im->conf.chance);
	bool late = fault_reorders(&im->fault, &im->conf.chance);
	uint64_t due_ns;
	bool hurry;

	/* Room for this frame, its duplicate, and all held frames. */
	if (im->num_queued + im->num_held + 2 > im->room) {
		im->stats.overflowed++;
		return IMPAIR_FULL;
	}
	hurry = hurries(im);
	due_ns = due_time(im, now_ns, bytes);
	if (twice) {
		im->stats.duplicated++;
		queue(im, due_ns, frame);
	}
	if (!late || !hold_back(im, due_ns, frame)) {
		queue(im, due_ns, frame);
		held_overtaken(im, due_ns);
	}
	/* It does not overtake frames that leave at once: it leaves with them. */
	if (hurry)
		im->hurry_seq = im->seq;
	return twice ? IMPAIR_TAKEN_TWICE : IMPAIR_TAKEN;
}

uint32_t impair_out(struct impair *im, uint64_t now_ns, void **frames, uint32_t n)
{
	uint32_t count = 0;

	if (im->num_held)
		held_expire(im, now_ns);
	while (count < n && im->num_queued && (im->heap[0].due_ns <= now_ns || hurries(im)))
		frames[count++] = dequeue(im);
	return count;
}

void *impair_take(struct impair *im)
{
	for (uint32_t i = 0; im->num_held && i < IMPAIR_HELD_MAX; i++) {
		void *frame = im->held[i].frame;

		if (!frame)
			continue;
		im->held[i].frame = NULL;
		im->num_held--;
		return frame;
	}
	return im->num_queued ? dequeue(im) : NULL;
}

uint64_t impair_next_ns(const struct impair *im)
{
	uint64_t next = im->num_queued ? im->heap[0].due_ns : UINT64_MAX;

	if (hurries(im))
		return 0;
	for (uint32_t i = 0; im->num_held && i < IMPAIR_HELD_MAX; i++) {
		if (im->held[i].frame && im->held[i].deadline_ns < next)
			next = im->held[i].deadline_ns;
	}
	return next;
}
