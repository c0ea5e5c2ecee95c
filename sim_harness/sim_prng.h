/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Randomness of the simulator: streams of xoshiro256** (lib/xoshiro.h), seeded by splitmix64.
 *
 * All random values of a run derive from one seed. Each consumer (a link, a NIC's port, a workload)
 * has its own stream, identified by two numbers, so that a change in one consumer's draws does not
 * shift those of others.
 *
 * Not thread-safe: a stream has a single user.
 */
#ifndef WEFT_SIM_PRNG_H
#define WEFT_SIM_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/xoshiro.h"

struct sim_prng {
	struct xoshiro x;
};

/* Kind of consumer: the first number of a stream. The second is the consumer's index. */
enum sim_stream {
	SIM_STREAM_LINK = 1,
	SIM_STREAM_PORT = 2,  /* fw_port.random64 of a shard */
	SIM_STREAM_CLOCK = 3, /* a NIC's clock offset */
	SIM_STREAM_POLL = 4,  /* poll cost, segment splits */
	SIM_STREAM_FAULT = 5,
	SIM_STREAM_WORKLOAD = 6,
	SIM_STREAM_TEST = 7,
	SIM_STREAM_DRAW = 8,    /* configuration of a random run, sim_draw.c */
	SIM_STREAM_CLIENT = 9,  /* jitter of a host, sim_client.c */
	SIM_STREAM_SECRET = 10, /* fw_config.hash_secret of a shard */
	SIM_STREAM_ATOMIC = 11, /* operations of rd_mix:typed */
};

/* Starts the stream (kind, index) of a seed. */
void sim_prng_init(struct sim_prng *prng, uint64_t seed, enum sim_stream kind, uint64_t index);

/* Returns 64 random bits. */
uint64_t sim_prng_next(struct sim_prng *prng);

/* Returns an unbiased number in [0, bound); bound 0 gives 0. */
uint64_t sim_prng_below(struct sim_prng *prng, uint64_t bound);

/* Returns a number in [low, high]. */
uint64_t sim_prng_range(struct sim_prng *prng, uint64_t low, uint64_t high);

/* Returns true with probability ppm / 1,000,000. Draws nothing when ppm is 0. */
bool sim_prng_chance(struct sim_prng *prng, uint32_t ppm);

/* Fills a buffer. */
void sim_prng_fill(struct sim_prng *prng, void *dst, size_t bytes);

#endif /* WEFT_SIM_PRNG_H */
