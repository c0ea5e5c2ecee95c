/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory from ALLOC_MEM, and the regions that lie in it.
 *
 * An extent is a memfd created by weftd. The process that requested it maps it, then registers
 * parts of it by the extent's key. At the first registration weftd maps it once for all its regions
 * and seals it (hostmem.h). A region of one piece within that mapping uses it. A region of several
 * pieces, or of pages beyond it (slack, into which the process grew by mremap(2)), has a separate
 * mapping with copies of the pieces in order.
 *
 * An extent belongs to a user. It lives until FREE_MEM names it or its process has no connection
 * any more, and it contains no region. Its resources count in the share of its process, a region's
 * separate mapping in that of the region's process. Control thread only.
 */
#ifndef WEFT_APP_EXTENT_H
#define WEFT_APP_EXTENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dpdk_app/client/populate.h"
#include "shared_defs/hw_cmd.h"

struct client;
struct extent_region;

/*
 * Creates an extent for a client. *fd is the memfd for the process; the extent keeps ownership.
 * Returns 0, or a positive errno; EINVAL: invalid sizes; EDQUOT: the share in *quota is exhausted.
 */
int extent_new(const struct client *c, const struct hw_cmd_alloc_mem *alloc, uint64_t *key, int *fd,
	       struct hw_resp_quota *quota) __attribute__((warn_unused_result));

/* Releases an extent of the client's user. Returns 0; ENOENT: the user has none with that key. */
int extent_free(const struct client *c, uint64_t key) __attribute__((warn_unused_result));

/* The last connection of a process has ended. */
void extent_forget_process(uid_t uid, pid_t pid);

/*
 * Maps the memory of a region. Fills job with the memory that must be sealed and populated before a
 * core may access it. Returns 0; EPERM: memory of another user; EINVAL: inconsistent pieces;
 * ENOSPC, ENOMEM: no more mappings; EDQUOT: as above.
 */
int extent_region_new(struct client *c, const struct hw_cmd_reg_mr *reg,
		      const struct hw_mem_piece *piece, struct extent_region **region,
		      struct populate_job *job, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
/* The job has finished: releases the resources that it used. */
void extent_region_ready(struct extent_region *region, bool sealed);
void extent_region_free(struct extent_region *region);
/* Returns the address of the region's first byte. */
uint8_t *extent_region_start(const struct extent_region *region);

/* Calls fail() for the client of each region whose memory has failed. */
void extent_find_failed(void (*fail)(struct client *c));

#endif /* WEFT_APP_EXTENT_H */
