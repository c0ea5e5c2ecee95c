/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that processes had from ALLOC_MEM, and the regions that lie in it.
 *
 * An extent is a memfd that weftd made. The process that asked for it maps it, then registers
 * parts of it by the extent's key; at the first registration weftd maps it, once for all of its
 * regions, and seals it (hostmem.h). A region of one piece within that mapping uses it; one of
 * several pieces, or of pages beyond it (slack, into which mremap(2) of the process grew), has a
 * mapping of its own in which copies of the pieces follow each other.
 *
 * An extent belongs to a user and lives until FREE_MEM names it or its process has no connection
 * any more, and no region lies in it. What it takes of weftd is in the share of its process, what
 * a mapping of a region's own takes in that of the region's. Control thread only.
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
 * Makes an extent for a client. *fd is the memfd for the process, and stays the extent's. 0, or a
 * positive errno; EINVAL: no such sizes; EDQUOT: the share of the process or user is used up, and
 * *quota says which.
 */
int extent_new(const struct client *c, const struct hw_cmd_alloc_mem *alloc, uint64_t *key, int *fd,
	       struct hw_resp_quota *quota) __attribute__((warn_unused_result));

/* The client's user gives an extent up. 0; ENOENT: it has none of that key. */
int extent_free(const struct client *c, uint64_t key) __attribute__((warn_unused_result));

/* The last connection of a process has gone. */
void extent_forget_process(uid_t uid, pid_t pid);

/*
 * Maps the memory of a region and fills job: what has to be sealed and populated before a core
 * may touch it. 0; EPERM: memory that is not the client's user's; EINVAL: pieces that do not fit
 * together; ENOSPC, ENOMEM: no more mappings; EDQUOT: as above.
 */
int extent_region_new(struct client *c, const struct hw_cmd_reg_mr *reg,
		      const struct hw_mem_piece *piece, struct extent_region **region,
		      struct populate_job *job, struct hw_resp_quota *quota)
    __attribute__((warn_unused_result));
/* The job has come to its end: lets go of what it used. */
void extent_region_ready(struct extent_region *region, bool sealed);
void extent_region_free(struct extent_region *region);
/* Where the region's first byte is. */
uint8_t *extent_region_start(const struct extent_region *region);

/* Calls fail() for the client of each region that lies in memory which has failed. */
void extent_find_failed(void (*fail)(struct client *c));

#endif /* WEFT_APP_EXTENT_H */
