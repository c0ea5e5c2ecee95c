/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of a memif peer's data: locations of its rings, its ring indices, locations of its
 * buffers. The functions are pure and work on copies, so nothing changes between check and use;
 * sums are in 64 bits.
 */
#ifndef WEFT_APP_MEMIF_CHECK_H
#define WEFT_APP_MEMIF_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/wire/memif_proto.h"

enum {
	MEMIF_MAX_REGIONS = 16,
	MEMIF_MAX_LOG2 = 14,
	MEMIF_RING_ALIGN = 16,
};
/* Limit of the sum over all regions of a connection. */
#define MEMIF_MAX_BYTES (UINT64_C(256) << 20)

struct hostmem;

/* Memory of the connection, completely mapped. */
struct memif_region {
	uint8_t *base;
	uint64_t bytes;
	struct hostmem *map; /* its mapping */
};

/* Returns the size of a ring including its descriptors. */
static inline uint64_t memif_ring_bytes(uint32_t log2_slots)
{
	return sizeof(struct memif_ring_shared) +
	       (UINT64_C(1) << log2_slots) * sizeof(struct memif_desc);
}

/* Returns the buffer of a descriptor, or NULL if it is not entirely within a region. */
static inline uint8_t *memif_check_buffer(const struct memif_region *region, uint32_t num_regions,
					  const struct memif_desc *copy)
{
	if (copy->region >= num_regions ||
	    (uint64_t)copy->offset + copy->bytes > region[copy->region].bytes)
		return NULL;
	return region[copy->region].base + copy->offset;
}

/* Returns the distance from our index to the peer's, at most max; -1: invalid. */
static inline int32_t memif_check_ahead(uint16_t theirs, uint16_t ours, uint32_t max)
{
	uint16_t ahead = (uint16_t)(theirs - ours);

	return ahead <= max ? (int32_t)ahead : -1;
}

/* Returns an error message for a ring that a client announces, or NULL. */
const char *memif_check_ring(const struct memif_region *region, uint32_t num_regions,
			     const struct memif_add_ring *ring);

/*
 * Returns an error message for memory that a client offers as region num_regions, or NULL.
 * used_bytes: size of the previous regions. The descriptor must be a memfd of ordinary pages that
 * cannot shrink. No check involves a file system that the peer could control.
 */
const char *memif_check_region(int fd, const struct memif_add_region *add, uint32_t num_regions,
			       uint64_t used_bytes);

/* Returns true if fd is an eventfd, not a file that imitates one. Never blocks. */
bool memif_check_eventfd(int fd);

#endif /* WEFT_APP_MEMIF_CHECK_H */
