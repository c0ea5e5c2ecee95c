/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement of long payload in memory of a process, for fw_port.place().
 *
 * A store into a line that another CPU holds waits until that CPU has given it up. Between CPUs
 * that share a cache this takes little, and what is placed stays in that cache. Between CPUs that
 * do not, it takes most of the time of a long message; stores that bypass the caches do not wait.
 * On a virtual machine the distance of two CPUs changes while it runs. So both ways are measured,
 * and the quicker one is used: the other one is tried once in PLACE_TRY_CALLS calls.
 */
#ifndef WEFT_DPDK_APP_PLACE_H
#define WEFT_DPDK_APP_PLACE_H

#include <stdint.h>

#include "nic_fw/fw_port.h"

enum place_way {
	PLACE_CACHED,
	PLACE_STREAMED,
	PLACE_WAYS,
};

enum {
	PLACE_TRY_CALLS = 256,
};

/* One for each shard; all zero at first. */
struct place {
	uint32_t ticks[PLACE_WAYS]; /* of 1 KiB, in sixteenths; 0: not measured yet */
	enum place_way way;         /* the quicker one */
	uint32_t calls;
};

/* Returns how the next payload is placed. */
enum place_way place_next(struct place *place);

/* Takes note of how long it took, in ticks of any clock. bytes is not 0. */
void place_note(struct place *place, enum place_way way, uint64_t bytes, uint64_t ticks);

/* Returns the bytes that were copied. The processor may have one way only: both do the same then.
 */
uint64_t place_copy(enum place_way way, void *dst, const struct fw_rx_seg *seg, uint32_t num_seg);

#endif /* WEFT_DPDK_APP_PLACE_H */
