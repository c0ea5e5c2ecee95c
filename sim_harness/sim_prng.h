/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator's randomness: xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64.
 *
 * Everything that a run draws comes from one seed. Each consumer (a link, a NIC's port, a
 * workload) has a stream of its own, named by two numbers, so that a change in how much one
 * of them draws does not shift what the others see.
 *
 * Called by every file of sim_harness and by tests. Not thread safe: one stream, one user.
 */
#ifndef WEFT_SIM_PRNG_H
#define WEFT_SIM_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_prng {
	uint64_t s[4];
};

/* Who draws: the first number that names a stream. The second is the consumer's index. */
enum sim_stream {
	SIM_STREAM_LINK = 1,
	SIM_STREAM_PORT = 2,  /* fw_port.random64 of a shard */
	SIM_STREAM_CLOCK = 3, /* a NIC's clock offset */
	SIM_STREAM_POLL = 4,  /* poll cost, segment splits */
	SIM_STREAM_FAULT = 5,
	SIM_STREAM_WORKLOAD = 6,
	SIM_STREAM_TEST = 7,
	SIM_STREAM_DRAW = 8,   /* the configuration of a random run, sim_draw.c */
	SIM_STREAM_CLIENT = 9, /* the jitter of a host, sim_client.c */
};

/* Starts the stream (kind, index) of a seed. */
void sim_prng_init(struct sim_prng *prng, uint64_t seed, enum sim_stream kind, uint64_t index);

/* 64 random bits. */
uint64_t sim_prng_next(struct sim_prng *prng);

/* A number in [0, bound), without bias; bound 0 gives 0. */
uint64_t sim_prng_below(struct sim_prng *prng, uint64_t bound);

/* A number in [low, high]. */
uint64_t sim_prng_range(struct sim_prng *prng, uint64_t low, uint64_t high);

/* True with probability ppm / 1,000,000. Draws nothing when ppm is 0. */
bool sim_prng_chance(struct sim_prng *prng, uint32_t ppm);

/* Fills a buffer. */
void sim_prng_fill(struct sim_prng *prng, void *dst, size_t bytes);

#endif /* WEFT_SIM_PRNG_H */
