/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deliberate impairments of the built-in switch: loss, delay, reordering, duplication, line rate.
 * One struct impair precedes each shard.
 *
 * Frames are opaque here. Decisions come from a seeded generator and depend only on the sequence of
 * frames; times depend on the given clock.
 */
#ifndef WEFT_APP_IMPAIR_H
#define WEFT_APP_IMPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMPAIR_QUEUE_MAX = 2048, /* frames waiting for their departure time per shard */
	IMPAIR_HELD_MAX = 16,    /* frames held back to be overtaken */
	IMPAIR_OVERTAKE_MAX = 8, /* a frame is overtaken by 1 to this many others */
	IMPAIR_HELD_NS = 200000, /* maximum holding time */
};

/* Probabilities in units of 2^-32; all fields 0: no impairment. */
struct impair_conf {
	uint32_t loss;
	uint32_t reorder;
	uint32_t dup;
	uint64_t delay_ns;
	double rate_gbps; /* 0: no limit */
	uint64_t seed;
};

struct impair_stats {
	uint64_t lost;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t overflowed; /* the queue was full */
};

enum impair_verdict {
	IMPAIR_TAKEN,       /* impair_out() returns the frame once */
	IMPAIR_TAKEN_TWICE, /* twice: the caller takes a second reference */
	IMPAIR_LOST,        /* the caller frees it */
	IMPAIR_FULL,        /* likewise: the queue is full */
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
	struct impair_conf conf;
	struct impair_stats stats;
	uint64_t prng;
	uint64_t seq;
	_Atomic(uint64_t) *busy_until_ns; /* clock of the line, shared by the shards of a NIC */
	uint32_t num_queued;
	uint32_t num_held;
	struct impair_item heap[IMPAIR_QUEUE_MAX];
	struct impair_held held[IMPAIR_HELD_MAX];
};

/* Returns true if the configuration has any effect. */
bool impair_wanted(const struct impair_conf *conf);

/* Converts percent to units of 2^-32, saturating at both ends. */
uint32_t impair_probability(double percent);

/*
 * Initialises an empty queue. stream distinguishes the queues of one weftd; busy_until_ns is the
 * line's clock, initially 0, shared by all queues of one NIC.
 */
void impair_init(struct impair *im, const struct impair_conf *conf, uint64_t stream,
		 _Atomic(uint64_t) *busy_until_ns);

/* Adds a frame of this length. */
enum impair_verdict impair_in(struct impair *im, uint64_t now_ns, void *frame, uint32_t bytes)
    __attribute__((warn_unused_result));

/* Takes up to n frames that are due, in order of departure. */
uint32_t impair_out(struct impair *im, uint64_t now_ns, void **frames, uint32_t n);

/* Returns the time of the next departure; UINT64_MAX: none. */
uint64_t impair_next_ns(const struct impair *im);

#endif /* WEFT_APP_IMPAIR_H */
