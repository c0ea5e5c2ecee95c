/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of all that a memif's peer says: where its rings lie, how far it has come in them, where
 * its buffers are. Pure functions over copies, so that nothing changes between check and use; sums
 * are in 64 bits.
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
/* The sum over all regions of a connection. */
#define MEMIF_MAX_BYTES (UINT64_C(256) << 20)

struct hostmem;

/* Memory of the connection, mapped in its whole length. */
struct memif_region {
	uint8_t *base;
	uint64_t bytes;
	struct hostmem *map; /* behind it */
};

/* Bytes of a ring with its descriptors. */
static inline uint64_t memif_ring_bytes(uint32_t log2_slots)
{
	return sizeof(struct memif_ring_shared) +
	       (UINT64_C(1) << log2_slots) * sizeof(struct memif_desc);
}

/* Where the buffer of a descriptor lies, or NULL where it is not in a region as a whole. */
static inline uint8_t *memif_check_buffer(const struct memif_region *region, uint32_t num_regions,
					  const struct memif_desc *copy)
{
	if (copy->region >= num_regions ||
	    (uint64_t)copy->offset + copy->bytes > region[copy->region].bytes)
		return NULL;
	return region[copy->region].base + copy->offset;
}

/*
 * How many slots the peer's index is ahead of ours, of at most max it may be; -1: it cannot be
 * there.
 */
static inline int32_t memif_check_ahead(uint16_t theirs, uint16_t ours, uint32_t max)
{
	uint16_t ahead = (uint16_t)(theirs - ours);

	return ahead <= max ? (int32_t)ahead : -1;
}

/* The fault of a ring that a client announces, in words, or NULL. */
const char *memif_check_ring(const struct memif_region *region, uint32_t num_regions,
			     const struct memif_add_ring *ring);

/*
 * The fault of memory that a client offers as region num_regions, in words, or NULL.
 * used_bytes: of the regions before it. The descriptor must be a memfd of ordinary pages that
 * cannot shrink; nothing here asks a file system that could be the peer's.
 */
const char *memif_check_region(int fd, const struct memif_add_region *add, uint32_t num_regions,
			       uint64_t used_bytes);

/* Whether fd is an eventfd and nothing that acts like one. Never blocks. */
bool memif_check_eventfd(int fd);

#endif /* WEFT_APP_MEMIF_CHECK_H */
