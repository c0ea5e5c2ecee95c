/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects behind the pointers that librdmacm's callers hold.
 *
 * The stand-in has librdmacm's SONAME and symbol versions (tools/verbs_symbols.sh). Each object
 * begins with the public struct of <rdma/rdma_cma.h>. Called by programs through cm_*.c; calls
 * libibverbs' public functions. Return values are those of rdma-core 44: -1 and errno.
 */
#ifndef WEFT_RDMACM_CM_H
#define WEFT_RDMACM_CM_H

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CM_API __attribute__((visibility("default")))

/* -1, with errno set. */
static inline int cm_error(int err)
{
	errno = err;
	return -1;
}

#endif /* WEFT_RDMACM_CM_H */
