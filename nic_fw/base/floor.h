/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recent minimum of a value. Of round trips it is the time of the path without queues.
 *
 * RD and TCP use it to distinguish the delay of a queue from that of a path. Swift
 * (docs/references.md).
 */
#ifndef WEFT_FW_FLOOR_H
#define WEFT_FW_FLOOR_H

#include <stdint.h>

struct fw_floor {
	uint64_t at_ns;  /* start of the interval of ns */
	uint32_t ns;     /* 0: no value yet */
	uint32_t old_ns; /* minimum of the interval before; 0: none */
};
#define FW_FLOOR_NS UINT64_C(5000000000) /* length of an interval */

/* Takes a value; ns is not 0. */
static inline void fw_floor_add(struct fw_floor *f, uint64_t now_ns, uint32_t ns)
{
	if (f->ns && now_ns - f->at_ns > FW_FLOOR_NS) {
		f->old_ns = f->ns;
		f->ns = 0;
	}
	if (!f->ns)
		f->at_ns = now_ns;
	if (!f->ns || ns < f->ns)
		f->ns = ns;
}

/* Returns the minimum of 5 to 10 s; 0 before the first value. */
static inline uint64_t fw_floor_ns(const struct fw_floor *f)
{
	return f->old_ns && f->old_ns < f->ns ? f->old_ns : f->ns;
}

#endif /* WEFT_FW_FLOOR_H */
