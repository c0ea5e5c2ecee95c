/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the built-in switch does to frames on purpose: loss, delay, reordering,
 * duplication, a line rate. One struct impair stands at the input of each shard.
 *
 * Called by wire_switch.c with mbufs; frames are opaque here. The decisions come from a
 * seeded generator and depend on the sequence of frames alone, the times on the clock given.
 */
#ifndef WEFT_APP_IMPAIR_H
#define WEFT_APP_IMPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	IMPAIR_QUEUE_MAX = 2048, /* frames that wait for their time at one shard */
	IMPAIR_HELD_MAX = 16,    /* frames held back to be overtaken */
	IMPAIR_OVERTAKE_MAX = 8, /* a frame is overtaken by 1 to so many others */
	IMPAIR_HELD_NS = 200000, /* or waits no longer than this */
};

/* Probabilities in parts of 2^32; 0 in every field: a perfect wire. */
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
	IMPAIR_TAKEN,       /* the frame comes out of impair_out() once */
	IMPAIR_TAKEN_TWICE, /* twice: the caller takes a second reference */
	IMPAIR_LOST,        /* the caller frees it */
	IMPAIR_FULL,        /* likewise: no room in the queue */
};

struct impair_item {
	uint64_t due_ns;
	uint64_t seq;
	void *frame;
};

struct impair_held {
	void *frame; /* NULL: free */
	uint64_t deadline_ns;
	uint32_t left; /* frames that still overtake it */
};

struct impair {
	struct impair_conf conf;
	struct impair_stats stats;
	uint64_t prng;
	uint64_t seq;
	_Atomic(uint64_t) *busy_until_ns; /* of the line, shared by the shards of a NIC */
	uint32_t num_queued;
	uint32_t num_held;
	struct impair_item heap[IMPAIR_QUEUE_MAX];
	struct impair_held held[IMPAIR_HELD_MAX];
};

/* True when the configuration changes anything. */
bool impair_wanted(const struct impair_conf *conf);

/* Percent to parts of 2^32, saturating at both ends. */
uint32_t impair_probability(double percent);

/*
 * Makes an empty queue. stream tells the queues of one weftd apart; busy_until_ns is the
 * line's clock, zero at first, shared by all queues of one NIC.
 */
void impair_init(struct impair *im, const struct impair_conf *conf, uint64_t stream,
		 _Atomic(uint64_t) *busy_until_ns);

/* A frame of so many bytes arrives. */
enum impair_verdict impair_in(struct impair *im, uint64_t now_ns, void *frame, uint32_t bytes)
    __attribute__((warn_unused_result));

/* Takes up to n frames whose time has come, in the order they leave. */
uint32_t impair_out(struct impair *im, uint64_t now_ns, void **frames, uint32_t n);

/* When impair_out() next has something; UINT64_MAX: nothing waits. */
uint64_t impair_next_ns(const struct impair *im);

#endif /* WEFT_APP_IMPAIR_H */
