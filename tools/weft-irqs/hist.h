/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of histograms whose buckets are quarters of powers of two (irqs_shared.h). Called by
 * irqs_read.c and out*.c; calls nothing.
 */
#ifndef WEFT_IRQS_HIST_H
#define WEFT_IRQS_HIST_H

#include "tools/weft-irqs/irqs.h"

/* The smallest value of a bucket; of IRQS_BUCKETS: the first that no bucket has. */
uint64_t hist_low_ns(uint32_t bucket);

/* sum += hist. */
void hist_sum(struct irqs_hist *sum, const struct irqs_hist *hist);

/*
 * hist -= before, an older state of it. The greatest value of what is left is not known exactly
 * when the greatest came before: then it is the end of the last bucket in use.
 */
void hist_since(struct irqs_hist *hist, const struct irqs_hist *before);

/*
 * The value that the share q (0 to 1) of all is not above, by nearest rank, its place within the
 * bucket as if the bucket's values lay evenly; never above the greatest. 0 where there are none.
 */
uint64_t hist_quantile_ns(const struct irqs_hist *hist, double q);

struct irqs_latency hist_latency(const struct irqs_hist *hist);

#endif /* WEFT_IRQS_HIST_H */
