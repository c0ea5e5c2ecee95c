/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms; see hist.h.
 */
#include "tools/weft-irqs/hist.h"

#include <math.h>

uint64_t hist_low_ns(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < IRQS_SUBS)
		return bucket;
	shift = bucket / IRQS_SUBS - 1;
	return (uint64_t)(IRQS_SUBS + bucket % IRQS_SUBS) << shift;
}

void hist_sum(struct irqs_hist *sum, const struct irqs_hist *hist)
{
	sum->count += hist->count;
	sum->sum_ns += hist->sum_ns;
	if (hist->max_ns > sum->max_ns)
		sum->max_ns = hist->max_ns;
	for (uint32_t i = 0; i < IRQS_BUCKETS; i++)
		sum->bucket[i] += hist->bucket[i];
}

void hist_since(struct irqs_hist *hist, const struct irqs_hist *before)
{
	uint32_t last = 0;

	hist->count -= before->count;
	hist->sum_ns -= before->sum_ns;
	for (uint32_t i = 0; i < IRQS_BUCKETS; i++) {
		hist->bucket[i] -= before->bucket[i];
		if (hist->bucket[i])
			last = i;
	}
	if (!hist->count)
		hist->max_ns = 0;
	else if (hist->max_ns == before->max_ns && hist_low_ns(last + 1) - 1 < hist->max_ns)
		hist->max_ns = hist_low_ns(last + 1) - 1;
}

uint64_t hist_quantile_ns(const struct irqs_hist *hist, double q)
{
	uint64_t rank = (uint64_t)ceil(q * (double)hist->count), below = 0;
	uint64_t low, ns;

	if (!hist->count)
		return 0;
	if (!rank)
		rank = 1;
	for (uint32_t i = 0; i < IRQS_BUCKETS; i++) {
		if (rank > below + hist->bucket[i]) {
			below += hist->bucket[i];
			continue;
		}
		low = hist_low_ns(i);
		ns = low + (uint64_t)((double)(hist_low_ns(i + 1) - low) *
				      ((double)(rank - below) - 0.5) / (double)hist->bucket[i]);
		return ns < hist->max_ns ? ns : hist->max_ns;
	}
	return hist->max_ns;
}

struct irqs_latency hist_latency(const struct irqs_hist *hist)
{
	return (struct irqs_latency){
	    .count = hist->count,
	    .mean_ns = hist->count ? hist->sum_ns / hist->count : 0,
	    .p50_ns = hist_quantile_ns(hist, 0.5),
	    .p90_ns = hist_quantile_ns(hist, 0.9),
	    .p99_ns = hist_quantile_ns(hist, 0.99),
	    .max_ns = hist->max_ns,
	};
}
