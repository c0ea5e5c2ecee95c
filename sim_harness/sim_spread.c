/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times drawn from a histogram; see sim_spread.h. Calls sim_prng.c.
 */
#include "sim_harness/sim_spread.h"

#include <assert.h>

/* Returns the first bin that reaches beyond sample number n. */
static const struct sim_spread_bin *bin_of(const struct sim_spread *spread, uint32_t n)
{
	uint32_t low = 0, high = spread->num_bins - 1, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (spread->bin[mid].upto > n)
			high = mid;
		else
			low = mid + 1;
	}
	return &spread->bin[low];
}

uint64_t sim_spread_draw(const struct sim_spread *spread, struct sim_prng *prng, uint64_t median_ns)
{
	uint32_t all = spread->bin[spread->num_bins - 1].upto;
	const struct sim_spread_bin *bin;
	uint64_t ns;

	assert(all && spread->median_ns);
	bin = bin_of(spread, (uint32_t)sim_prng_below(prng, all));
	ns = sim_prng_range(prng, bin->from_ns, bin->to_ns - 1);
	return ns * median_ns / spread->median_ns;
}
