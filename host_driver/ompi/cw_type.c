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

enum {
	CHUNK_BYTES = 1 << 30, /* packed in one call */
};

uint64_t cw_type_bytes(const ompi_datatype_t *type, int count)
{
	size_t bytes;

	(void)ompi_datatype_type_size(type, &bytes);
	return bytes * (uint64_t)count;
}

bool cw_side_set(struct mc_side *side, const void *buf, int64_t count, ompi_datatype_t *type)
{
	ptrdiff_t true_lb, true_extent;
	size_t bytes;

	(void)ompi_datatype_type_size(type, &bytes);
	*side = (struct mc_side){.bytes = bytes * (uint64_t)count};
	if (!side->bytes)
		return true;
	if (count > INT_MAX || side->bytes > INT_MAX)
		return false;
	if (ompi_datatype_is_contiguous_memory_layout(type, (int32_t)count)) {
		(void)ompi_datatype_get_true_extent(type, &true_lb, &true_extent);
		side->addr = (char *)(uintptr_t)buf + true_lb;
		return true;
	}
	side->one = (struct mc_part){(void *)(uintptr_t)buf, (int)count, type};
	return true;
}

bool cw_side_set_pairs(struct mc_side *side, const void *buf, int64_t count, ompi_datatype_t *type,
		       enum cw_pair pair)
{
	*side = (struct mc_side){.bytes = (uint64_t)count * cw_pair_bytes(pair), .pair = (int)pair};
	if (!side->bytes)
		return true;
	if (count > INT_MAX)
		return false;
	side->one = (struct mc_part){(void *)(uintptr_t)buf, (int)count, type};
	return true;
}

static bool is_packed(const struct mc_side *side)
{
	return side->one.type || side->parts;
}

static void retain(ompi_datatype_t *type)
{
	OMPI_DATATYPE_RETAIN(type);
}

static void release(ompi_datatype_t *type)
{
	OMPI_DATATYPE_RELEASE(type);
}

void cw_side_retain(struct mc_side *side)
{
	uint32_t i;

	if (side->one.type)
		retain(side->one.type);
	for (i = 0; i < side->num_parts; i++)
		retain(side->parts[i].type);
}

void cw_side_release(struct mc_side *side)
{
	uint32_t i;

	if (side->one.type)
		release(side->one.type);
	for (i = 0; i < side->num_parts; i++)
		release(side->parts[i].type);
	free(side->parts);
	side->one.type = NULL;
	side->parts = NULL;
	side->num_parts = 0;
}

/*
 * Copies a part to packed memory, or from there; Open MPI counts the packed bytes of a call in an
 * int. Returns the bytes; 0: it failed.
 */
static uint64_t copy_part(const struct mc_part *part, char *packed, bool pack)
{
	ompi_datatype_t *type = part->type;
	ptrdiff_t lb, extent;
	size_t bytes;
	int done, n, most;

	(void)ompi_datatype_type_size(type, &bytes);
	(void)ompi_datatype_get_extent(type, &lb, &extent);
	most = bytes < CHUNK_BYTES ? (int)(CHUNK_BYTES / bytes) : 1;
	for (done = 0; done < part->count; done += n) {
		char *user = (char *)part->user + (ptrdiff_t)done * extent;
		char *at = packed + (size_t)done * bytes;
		int32_t rc;

		n = part->count - done < most ? part->count - done : most;
		if (pack)
			rc = ompi_datatype_sndrcv(user, n, type, at, (int32_t)(n * bytes),
						  &ompi_mpi_packed.dt);
		else
			rc = ompi_datatype_sndrcv(at, (int32_t)(n * bytes), &ompi_mpi_packed.dt,
						  user, n, type);
		if (rc != OMPI_SUCCESS)
			return 0;
	}
	return bytes * (uint64_t)part->count;
}

static bool copy(const struct mc_side *side, bool pack)
{
	char *at = side->addr;
	uint32_t i;

	if (side->pair && pack)
		cw_pair_pack((enum cw_pair)side->pair, at, side->one.user, side->one.count);
	else if (side->pair)
		cw_pair_unpack((enum cw_pair)side->pair, side->one.user, at, side->one.count);
	else if (side->one.type)
		return copy_part(&side->one, at, pack);
	for (i = 0; i < side->num_parts; i++) {
		uint64_t bytes = copy_part(&side->parts[i], at, pack);

		if (!bytes)
			return false;
		at += bytes;
	}
	return true;
}

bool cw_side_begin(struct mc_side *side, bool fill)
{
	if (!is_packed(side))
		return true;
	side->addr = malloc(side->bytes);
	return side->addr && (!fill || copy(side, true));
}

void cw_side_end(struct mc_side *side, bool spread)
{
	if (!is_packed(side))
		return;
	if (side->addr && spread)
		(void)copy(side, false);
	free(side->addr);
	side->addr = NULL;
}
