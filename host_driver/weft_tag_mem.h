/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs of registering and of copying small messages on this machine, and the number of uses from
 * which registering pays. weft_tag_cost.c measures, weft_tag_mem.c decides by it. Not installed.
 */
#ifndef WEFT_TAG_MEM_H
#define WEFT_TAG_MEM_H

#include "host_driver/weft_priv.h"
#include "host_driver/weft_tag.h"

enum {
	WEFT_TAG_COST_MIN_BYTES = 128, /* below, looking up costs more than the copy */
	WEFT_TAG_COST_SIZES = 7,       /* 1 KiB, 2 KiB ... 64 KiB */
};

struct weft_tag_cost {
	double reg_ns;  /* of a buffer: registration and what ends it */
	double look_ns; /* of finding the count and the region of a buffer */
	double copy_ns[WEFT_TAG_COST_SIZES];
};

/* Returns the costs. The first call of the process measures them, which takes some milliseconds. */
const struct weft_tag_cost *weft_tag_cost(struct weft_pd *pd);
/* Interpolates. bytes up to 64 KiB. */
double weft_tag_cost_copy_ns(const struct weft_tag_cost *cost, size_t bytes);
/* n of equation 5.3; UINT32_MAX: registering never pays. */
uint32_t weft_tag_cost_uses(const struct weft_tag_cost *cost, size_t bytes);

#endif /* WEFT_TAG_MEM_H */
