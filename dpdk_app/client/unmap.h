/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Giving mappings of processes' memory back. The kernel takes some 0.1 ms for a MiB, and frees the
 * pages where weftd was the last to have them: half a second and more for an extent of several
 * GiB, during which the control thread would answer nobody. So a thread of its own does it.
 */
#ifndef WEFT_APP_UNMAP_H
#define WEFT_APP_UNMAP_H

#include <stddef.h>

enum {
	UNMAP_NOW_BYTES = 1 << 20,  /* so little is done at once */
	UNMAP_STEP_BYTES = 1 << 20, /* in one go: the kernel keeps a lock of weftd's for as long */
};
/* A longer mapping is mostly without pages, and is unmapped in longer steps. */
#define UNMAP_SPARSE_BYTES      ((size_t)64 << 30)
#define UNMAP_SPARSE_STEP_BYTES ((size_t)1 << 30)
/* While more than this, or as many steps of a sparse mapping, waits the caller does it, so that
 * nobody makes weftd hold ever more. */
#define UNMAP_OWED_BYTES ((size_t)8 << 30)

/* Unmaps whole pages that nobody touches any more, now or soon. Any thread. */
void unmap(void *base, size_t bytes);

#endif /* WEFT_APP_UNMAP_H */
