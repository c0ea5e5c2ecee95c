/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A measured distribution of times, and how one is drawn from it.
 *
 * The table is a histogram: bins in rising order, which need not touch. Within a bin all times are
 * equally likely. sim_client.c draws wake-ups.
 */
#ifndef WEFT_SIM_SPREAD_H
#define WEFT_SIM_SPREAD_H

#include <stdint.h>

#include "sim_harness/sim_prng.h"

struct sim_spread_bin {
	uint32_t from_ns, to_ns; /* the end is not of the bin */
	uint32_t upto;           /* samples in this bin and those before */
};

struct sim_spread {
	const struct sim_spread_bin *bin;
	uint32_t num_bins;  /* at least 1 */
	uint32_t median_ns; /* of all */
};

/* Draws a time of a distribution of this shape whose median is median_ns. */
uint64_t sim_spread_draw(const struct sim_spread *spread, struct sim_prng *prng,
			 uint64_t median_ns);

#endif /* WEFT_SIM_SPREAD_H */
