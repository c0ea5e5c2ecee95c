/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers of MPI types as contiguous memory.
 *
 * The NIC sees bytes. Where a type leaves gaps the host packs before the run and unpacks after it.
 * A call must not be handed on for that: another rank may describe the same signature by another
 * type. Calls Open MPI's datatype engine.
 */
#include <limits.h>
#include <stdlib.h>

#include "host_driver/ompi/cw.h"

uint64_t cw_type_bytes(const ompi_datatype_t *type, int count)
{
	size_t bytes;

	(void)ompi_datatype_type_size(type, &bytes);
	return bytes * (uint64_t)count;
}

bool cw_side_set(struct cw_side *side, const void *buf, int64_t count, ompi_datatype_t *type)
{
	ptrdiff_t true_lb, true_extent;
	size_t bytes;

	(void)ompi_datatype_type_size(type, &bytes);
	*side = (struct cw_side){.bytes = bytes * (uint64_t)count};
	if (!side->bytes)
		return true;
	if (count > INT_MAX || side->bytes > INT_MAX)
		return false;
	if (ompi_datatype_is_contiguous_memory_layout(type, (int32_t)count)) {
		(void)ompi_datatype_get_true_extent(type, &true_lb, &true_extent);
		side->addr = (char *)(uintptr_t)buf + true_lb;
		return true;
	}
	side->user = (void *)(uintptr_t)buf;
	side->count = (int)count;
	side->type = type;
	return true;
}

void cw_side_retain(struct cw_side *side)
{
	if (side->type)
		OMPI_DATATYPE_RETAIN(side->type);
}

void cw_side_release(struct cw_side *side)
{
	if (side->type)
		OMPI_DATATYPE_RELEASE(side->type);
	side->type = NULL;
}

bool cw_side_begin(struct cw_side *side, bool fill)
{
	if (!side->type)
		return true;
	side->addr = malloc(side->bytes);
	return side->addr && (!fill || ompi_datatype_sndrcv(side->user, side->count, side->type,
							    side->addr, (int32_t)side->bytes,
							    &ompi_mpi_packed.dt) == OMPI_SUCCESS);
}

void cw_side_end(struct cw_side *side, bool spread)
{
	if (!side->type)
		return;
	if (side->addr && spread)
		(void)ompi_datatype_sndrcv(side->addr, (int32_t)side->bytes, &ompi_mpi_packed.dt,
					   side->user, side->count, side->type);
	free(side->addr);
	side->addr = NULL;
}
