/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a link: decides, frame by frame, what is lost, doubled, late or damaged.
 *
 * The simulator's links (sim_harness/sim_link.c) and the ports of weftd (dpdk_app/wire/impair.c)
 * decide with it; each delays and delivers frames in its own way. Decisions follow from the seed
 * and the sequence of calls alone. An object belongs to one thread.
 */
#ifndef WEFT_LIB_FAULT_H
#define WEFT_LIB_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/xoshiro.h"
#include "shared_defs/hw_fault.h"

struct fault {
	struct xoshiro *prng;
	uint32_t burst_left; /* frames of this burst that are still lost */
	uint64_t burst_until_ns;
};

/* prng stays the caller's, who may draw from it between two calls. */
void fault_init(struct fault *fault, struct xoshiro *prng);

/* Ends a burst of losses. */
void fault_end_burst(struct fault *fault);

/* Returns true if a frame is lost: alone, or in a burst of geometric length. */
bool fault_loses(struct fault *fault, const struct hw_fault_chances *chances, uint64_t now_ns);

/* Each draws one number, unless its chance is 0. */
bool fault_corrupts(struct fault *fault, const struct hw_fault_chances *chances);
bool fault_reorders(struct fault *fault, const struct hw_fault_chances *chances);
bool fault_doubles(struct fault *fault, const struct hw_fault_chances *chances);

/* Changes one to four bytes of a frame; bytes > 0. */
void fault_corrupt(struct fault *fault, uint8_t *frame, uint32_t bytes);

/* Returns a random time up to most_ns; draws nothing for 0. */
uint64_t fault_jitter_ns(struct fault *fault, uint64_t most_ns);

/* Returns the chance of a percentage in millionths: 0 of 0 alone, at most HW_FAULT_PPM. */
uint32_t fault_ppm(double percent);

/* Returns true if the setting has any effect. */
bool fault_wanted(const struct hw_fault *fault);

#endif /* WEFT_LIB_FAULT_H */
