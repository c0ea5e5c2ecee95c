/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions about the frames of a link; see fault.h. Calls xoshiro.h.
 */
#include "lib/fault.h"

enum {
	FAULT_CORRUPT_BYTES_MAX = 4,
	FAULT_BURST_NS = 1000000, /* longest burst, even with little traffic */
};

void fault_init(struct fault *fault, struct xoshiro *prng)
{
	*fault = (struct fault){.prng = prng};
}

void fault_end_burst(struct fault *fault)
{
	fault->burst_left = 0;
}

bool fault_loses(struct fault *fault, const struct hw_fault_chances *chances, uint64_t now_ns)
{
	if (fault->burst_left && now_ns < fault->burst_until_ns) {
		fault->burst_left--;
		return true;
	}
	fault->burst_left = 0;
	if (xoshiro_chance(fault->prng, chances->burst_ppm)) {
		while (chances->burst_frames > 1 &&
		       xoshiro_below(fault->prng, chances->burst_frames))
			fault->burst_left++;
		fault->burst_until_ns = now_ns + FAULT_BURST_NS;
		return true;
	}
	return xoshiro_chance(fault->prng, chances->loss_ppm);
}

bool fault_corrupts(struct fault *fault, const struct hw_fault_chances *chances)
{
	return xoshiro_chance(fault->prng, chances->corrupt_ppm);
}

bool fault_reorders(struct fault *fault, const struct hw_fault_chances *chances)
{
	return xoshiro_chance(fault->prng, chances->reorder_ppm);
}

bool fault_doubles(struct fault *fault, const struct hw_fault_chances *chances)
{
	return xoshiro_chance(fault->prng, chances->dup_ppm);
}

void fault_corrupt(struct fault *fault, uint8_t *frame, uint32_t bytes)
{
	uint64_t n = xoshiro_range(fault->prng, 1, FAULT_CORRUPT_BYTES_MAX);

	while (n--) {
		uint64_t at = xoshiro_below(fault->prng, bytes);

		frame[at] ^= (uint8_t)xoshiro_range(fault->prng, 1, 255);
	}
}

uint64_t fault_jitter_ns(struct fault *fault, uint64_t most_ns)
{
	return most_ns ? xoshiro_below(fault->prng, most_ns + 1) : 0;
}

uint32_t fault_ppm(double percent)
{
	const double scale = HW_FAULT_PPM / 100;
	uint32_t ppm;

	if (!(percent > 0))
		return 0;
	if (percent >= 100)
		return HW_FAULT_PPM;
	ppm = (uint32_t)(percent * scale + 0.5);
	/* Less than a millionth is rounded up: the operator asked for some. */
	return ppm ? ppm : 1;
}

bool fault_wanted(const struct hw_fault *fault)
{
	const struct hw_fault_chances *c = &fault->chance;

	return c->loss_ppm || c->burst_ppm || c->dup_ppm || c->reorder_ppm || c->corrupt_ppm ||
	       fault->delay_ns || fault->jitter_ns || fault->rate_bps;
}
