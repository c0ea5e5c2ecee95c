/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of the way to one NIC: decides by lib/fault.h which frames are lost, damaged, doubled or
 * late, and keeps frames until they are due. faults.c gives each shard one.
 *
 * Frames are opaque here. Decisions follow from the seed and the sequence of frames; times depend
 * on the given clock.
 */
#ifndef WEFT_APP_IMPAIR_H
#define WEFT_APP_IMPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/fault.h"

enum {
	IMPAIR_QUEUE_MAX = 2048, /* frames waiting for their departure time per shard */
	IMPAIR_HELD_MAX = 16,    /* frames held back to be overtaken */
	IMPAIR_OVERTAKE_MAX = 8, /* a frame is overtaken by 1 to this many others */
	IMPAIR_HELD_NS = 200000, /* maximum holding time */
};

struct impair_stats {
	uint64_t lost;
	uint64_t corrupted;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t overflowed; /* the queue was full */
};

enum impair_verdict {
	IMPAIR_TAKEN,       /* impair_out() returns the frame once */
	IMPAIR_TAKEN_TWICE, /* twice: the caller takes a second reference */
	IMPAIR_FULL,        /* the caller frees it: the queue is full */
};

/* An item of lib/heap.h. */
struct impair_item {
	uint64_t due_ns;
	uint64_t seq;
	void *frame;
};

struct impair_held {
	void *frame; /* NULL: unused */
	uint64_t deadline_ns;
	uint32_t left; /* frames that must still overtake it */
};

struct impair {
	struct hw_fault conf;
	struct impair_stats stats;
	struct fault fault;
	struct xoshiro prng;
	uint64_t seq;
	uint64_t last_due_ns;
	uint64_t hurry_seq; /* items before this one leave at once: the faults were changed */
	_Atomic(uint64_t) *busy_until_ns; /* clock of the line, shared by the shards of a NIC */
	uint32_t room;                    /* of the queue, at most IMPAIR_QUEUE_MAX */
	uint32_t num_queued;
	uint32_t num_held;
	struct impair_item heap[IMPAIR_QUEUE_MAX];
	struct impair_held held[IMPAIR_HELD_MAX];
};

/*
 * Initialises an empty queue of room frames. stream distinguishes the queues of one weftd;
 * busy_until_ns is the line's clock, initially 0, shared by all queues of one NIC.
 */
void impair_init(struct impair *im, const struct hw_fault *conf, uint64_t stream, uint32_t room,
		 _Atomic(uint64_t) *busy_until_ns);

/*
 * Changes the faults of frames to come, and begins their sequence of choices anew. Frames that wait
 * leave at once, in order.
 */
void impair_change(struct impair *im, const struct hw_fault *conf, uint64_t stream,
		   uint64_t now_ns);

/*
 * The steps of a frame's way in, in this order. impair_loses(): the caller frees it.
 * impair_corrupts(): the caller passes bytes that it alone uses to fault_corrupt(&im->fault).
 */
bool impair_loses(struct impair *im, uint64_t now_ns) __attribute__((warn_unused_result));
bool impair_corrupts(struct impair *im) __attribute__((warn_unused_result));

/* Adds a frame of this length. */
enum impair_verdict impair_in(struct impair *im, uint64_t now_ns, void *frame, uint32_t bytes)
    __attribute__((warn_unused_result));

/* Takes up to n frames that are due, in order of departure. */
uint32_t impair_out(struct impair *im, uint64_t now_ns, void **frames, uint32_t n);

/* Takes a frame whether due or not; NULL: none waits. */
void *impair_take(struct impair *im);

/* Returns the time of the next departure; UINT64_MAX: none. */
uint64_t impair_next_ns(const struct impair *im);

#endif /* WEFT_APP_IMPAIR_H */
