/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of histograms whose buckets are quarters of powers of two (irqs_shared.h).
 */
#ifndef WEFT_IRQS_HIST_H
#define WEFT_IRQS_HIST_H

#include "tools/weft-irqs/irqs.h"

/* The smallest value of a bucket; of IRQS_BUCKETS: the first that no bucket has. */
uint64_t hist_low_ns(uint32_t bucket);

/* sum += hist. */
void hist_sum(struct irqs_hist *sum, const struct irqs_hist *hist);

/*
 * hist -= before, an older state of it. The greatest value of the rest is not known exactly when
 * the greatest was counted before: then it is the end of the last bucket in use.
 */
void hist_since(struct irqs_hist *hist, const struct irqs_hist *before);

/*
 * The value that a share q (0 to 1) of all does not exceed, by nearest rank, interpolated within
 * the bucket as if its values were evenly distributed; never above the greatest. 0 if there are
 * none.
 */
uint64_t hist_quantile_ns(const struct irqs_hist *hist, double q);

struct irqs_latency hist_latency(const struct irqs_hist *hist);

#endif /* WEFT_IRQS_HIST_H */
