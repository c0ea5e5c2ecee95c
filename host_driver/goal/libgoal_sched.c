/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: compiled, their buffers registered, loaded into the NIC; as files.
 *
 * Called by applications through goal.h and by libgoal_run.c, which keeps a schedule while it
 * runs. Calls goal_compile.c, weft_goal.h. The paper (espgoal) 2.2.6; docs/goal-format.md.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal.h"

/* More than any schedule that a NIC has memory for; a folder says that it is longer. */
#define FILE_MAX_BYTES (INT64_C(1) << 32)

static void sched_free(GOAL_Schedule sched)
{
	uint32_t i;

	/* A NIC that is gone holds nothing; one that is there has let go of the schedule. */
	for (i = 0; sched->mrs && i < sched->code.num_ranges; i++)
		if (sched->mrs[i] && weft_dereg_mr(sched->mrs[i]) < 0)
			libgoal_error(GOAL_ERR_NIC_GONE, NULL);
	pthread_mutex_lock(&sched->comm->lib->lock);
	libgoal_shadow_put(sched);
	pthread_mutex_unlock(&sched->comm->lib->lock);
	libgoal_trace_free(sched);
	free(sched->mrs);
	free(sched->binds);
	goal_code_free(&sched->code);
	__atomic_sub_fetch(&sched->comm->refs, 1, __ATOMIC_ACQ_REL);
	free(sched);
}

void libgoal_sched_get(GOAL_Schedule sched)
{
	__atomic_add_fetch(&sched->refs, 1, __ATOMIC_ACQ_REL);
}

void libgoal_sched_put(GOAL_Schedule sched)
{
	if (__atomic_sub_fetch(&sched->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (weft_goal_unload(sched->comm->lib->goal, sched->handle) < 0)
		libgoal_error(GOAL_ERR_NIC_GONE, NULL);
	sched_free(sched);
}

/* A range that the NIC would reach by system calls only: by way of a shadow, where one may be. */
static int bind_shadow(GOAL_Schedule sched, uint32_t range)
{
	struct weft_mr *mr = sched->mrs[range];
	bool got;

	if (mr->mapped)
		return 0;
	pthread_mutex_lock(&sched->comm->lib->lock);
	got = libgoal_shadow_get(sched, range);
	pthread_mutex_unlock(&sched->comm->lib->lock);
	if (!got)
		return 0;
	sched->mrs[range] = NULL;
	return weft_dereg_mr(mr);
}

/* Registers what the schedule uses: for writing only what it writes. */
static int bind_ranges(GOAL_Schedule sched)
{
	uint32_t count = sched->code.num_ranges, i;
	int rc;

	sched->mrs = calloc((size_t)count + 1, sizeof(*sched->mrs));
	sched->binds = calloc((size_t)count + 1, sizeof(*sched->binds));
	if (!sched->mrs || !sched->binds)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		const struct goal_range *range = &sched->code.ranges[i];
		int access = range->access & GOAL_SLOT_WRITE ? WEFT_ACCESS_LOCAL_WRITE : 0;

		sched->mrs[i] =
		    weft_reg_mr(sched->comm->lib->pd, (void *)range->addr, range->bytes, access);
		if (!sched->mrs[i])
			return -errno;
		sched->binds[i] =
		    (struct weft_goal_bind){(void *)range->addr, range->bytes, sched->mrs[i]};
		rc = bind_shadow(sched, i);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Takes over code. */
static GOAL_Schedule load(GOAL_Comm comm, struct goal_code *code)
{
	const struct goal_header *header = (const void *)code->bytes;
	char why[WEFT_GOAL_WHY_BYTES] = "";
	GOAL_Schedule sched;
	uint64_t unexpected = header->unexpected_bytes;
	int rc;

	sched = calloc(1, sizeof(*sched));
	if (!sched) {
		goal_code_free(code);
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return NULL;
	}
	sched->comm = comm;
	sched->code = *code;
	sched->refs = 1;
	__atomic_add_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL);
	rc = bind_ranges(sched);
	/* Blocks of the pool are powers of two: twice the bytes hold them all. */
	if (rc == 0)
		rc = libgoal_pool_grow(comm, 2 * unexpected + LIBGOAL_POOL_BYTES);
	if (rc == 0)
		rc = weft_goal_load(comm->lib->goal, comm->handle, comm->lib->pd, sched->code.bytes,
				    sched->code.num_bytes, sched->binds, sched->code.num_ranges,
				    &sched->handle, why);
	if (rc < 0) {
		sched_free(sched);
		libgoal_error(libgoal_errno(rc), why[0] ? why : strerror(-rc));
		return NULL;
	}
	return sched;
}

GOAL_Schedule GOAL_Compile(GOAL_Graph g)
{
	struct goal_code code;
	char detail[64] = "";
	uint32_t vertex;
	int rc;

	if (!g) {
		libgoal_error(GOAL_ERR_ARG, "no graph");
		return NULL;
	}
	rc = goal_compile(g->graph, g->comm->eager_bytes, &code, &vertex);
	if (rc == 0)
		return load(g->comm, &code);
	if (vertex != GOAL_NO_VERTEX)
		snprintf(detail, sizeof(detail), "vertex %u", vertex);
	if (rc == -ELOOP)
		libgoal_error(GOAL_ERR_CYCLE, detail);
	else if (rc == -ERANGE)
		libgoal_error(GOAL_ERR_SCRATCHPAD, detail);
	else
		libgoal_error(libgoal_errno(rc), rc == -EINVAL ? "an empty graph" : detail);
	return NULL;
}

int GOAL_IsScheduleValid(GOAL_Schedule sched)
{
	return sched != NULL;
}

void GOAL_MakeScheduleReusable(GOAL_Schedule sched)
{
	(void)sched;
}

void GOAL_MakeScheduleReuseable(GOAL_Schedule sched)
{
	(void)sched;
}

int GOAL_FreeSchedule(GOAL_Schedule sched)
{
	if (!sched)
		return libgoal_error(GOAL_ERR_ARG, "no schedule");
	libgoal_sched_put(sched);
	return GOAL_SUCCESS;
}

/* ---- files
 * --------------------------------------------------------------------------------------------- */

int GOAL_ScheduleBuffers(GOAL_Schedule sched, GOAL_Buffer *buffers, int max)
{
	int i;

	if (!sched)
		return libgoal_error(GOAL_ERR_ARG, "no schedule");
	for (i = 0; i < max && (uint32_t)i < sched->code.num_ranges; i++)
		buffers[i] =
		    (GOAL_Buffer){(void *)sched->code.ranges[i].addr, sched->code.ranges[i].bytes};
	return (int)sched->code.num_ranges;
}

int GOAL_SaveSchedule(GOAL_Schedule sched, const char *path)
{
	struct goal_header header;
	bool ok;
	FILE *f;

	if (!sched || !path)
		return libgoal_error(GOAL_ERR_ARG, "no schedule, or no path");
	memcpy(&header, sched->code.bytes, sizeof(header));
	header.crc32c = goal_code_crc(sched->code.bytes, sched->code.num_bytes);
	f = fopen(path, "wbe");
	if (!f)
		return libgoal_error(GOAL_ERR_FILE, strerror(errno));
	ok = fwrite(&header, sizeof(header), 1, f) == 1 &&
	     fwrite(sched->code.bytes + sizeof(header), sched->code.num_bytes - sizeof(header), 1,
		    f) == 1;
	ok = fclose(f) == 0 && ok;
	return ok ? GOAL_SUCCESS : libgoal_error(GOAL_ERR_FILE, strerror(errno));
}

/* The whole file, when its header and CRC are right. */
static int read_code(const char *path, struct goal_code *code, const char **why)
{
	struct goal_header *header;
	FILE *f = fopen(path, "rbe");
	long bytes;

	*why = "cannot be read";
	if (!f)
		return -errno;
	if (fseek(f, 0, SEEK_END) == 0 && (bytes = ftell(f)) >= (long)sizeof(*header) &&
	    bytes <= FILE_MAX_BYTES && fseek(f, 0, SEEK_SET) == 0) {
		code->num_bytes = (uint64_t)bytes;
		code->bytes = malloc((size_t)bytes);
		if (code->bytes && fread(code->bytes, (size_t)bytes, 1, f) != 1) {
			free(code->bytes);
			code->bytes = NULL;
		}
	} else {
		*why = "too short, or too long";
	}
	fclose(f);
	if (!code->bytes)
		return -EBADMSG;
	header = (void *)code->bytes;
	*why = NULL;
	if (header->magic != GOAL_FORMAT_MAGIC || header->version != GOAL_FORMAT_VERSION)
		*why = "no compiled schedule of this version";
	else if (header->total_bytes != code->num_bytes)
		*why = "truncated";
	else if (header->crc32c != goal_code_crc(code->bytes, code->num_bytes))
		*why = "damaged: its CRC is wrong";
	else if (header->slots_offset > code->num_bytes || header->slots_offset % 8 ||
		 header->num_slots >
		     (code->num_bytes - header->slots_offset) / sizeof(struct goal_slot))
		*why = "its table of buffers is out of place";
	header->crc32c = 0;
	return *why ? -EBADMSG : 0;
}

GOAL_Schedule GOAL_LoadSchedule(GOAL_Comm comm, const char *path, const GOAL_Buffer *buffers,
				int num_buffers)
{
	const struct goal_header *header;
	const struct goal_slot *slots;
	struct goal_code code = {0};
	const char *why;
	uint32_t i;

	if (!comm || !path || num_buffers < 0) {
		libgoal_error(GOAL_ERR_ARG, "no communicator, or no path");
		return NULL;
	}
	if (read_code(path, &code, &why) < 0) {
		goal_code_free(&code);
		libgoal_error(GOAL_ERR_FILE, why);
		return NULL;
	}
	header = (const void *)code.bytes;
	slots = (const void *)(code.bytes + header->slots_offset);
	code.num_ranges = header->num_slots;
	code.ranges = calloc((size_t)header->num_slots + 1, sizeof(*code.ranges));
	for (i = 0; code.ranges && i < header->num_slots; i++) {
		if (i >= (uint32_t)num_buffers || buffers[i].bytes < slots[i].bytes)
			break;
		code.ranges[i] = (struct goal_range){(uintptr_t)buffers[i].addr, slots[i].bytes,
						     slots[i].access};
	}
	if (!code.ranges || i < header->num_slots) {
		libgoal_error(code.ranges ? GOAL_ERR_ARG : GOAL_ERR_NO_MEMORY,
			      "a buffer is missing, or too short");
		goal_code_free(&code);
		return NULL;
	}
	return load(comm, &code);
}
