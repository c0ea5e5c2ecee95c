/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmaps process memory in the background. The kernel needs about 0.1 ms per MiB, and frees the
 * pages if weftd was their last user: half a second or more for an extent of several GiB. The
 * control thread could not answer meanwhile, so a separate thread does it.
 */
#ifndef WEFT_APP_UNMAP_H
#define WEFT_APP_UNMAP_H

#include <stddef.h>

enum {
	UNMAP_NOW_BYTES = 1 << 20, /* smaller mappings are unmapped at once */
	/* Step size: the kernel holds a lock of weftd for its duration. */
	UNMAP_STEP_BYTES = 1 << 20,
};
/* A longer mapping has few pages and is unmapped in longer steps. */
#define UNMAP_SPARSE_BYTES      ((size_t)64 << 30)
#define UNMAP_SPARSE_STEP_BYTES ((size_t)1 << 30)
/*
 * While more than this waits, or as many steps of sparse mappings, the caller unmaps. This bounds
 * the memory that weftd holds.
 */
#define UNMAP_OWED_BYTES ((size_t)8 << 30)

/* Unmaps whole pages that are no longer accessed, now or soon. Any thread. */
void unmap(void *base, size_t bytes);

#endif /* WEFT_APP_UNMAP_H */
