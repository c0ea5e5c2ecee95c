/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: compiles them, registers their buffers, loads them into the NIC, and stores them in
 * files.
 *
 * libgoal_run.c holds a reference to a schedule while it runs. Calls goal_compile.c and
 * weft_goal.h. The ESPGOAL paper, 2.2.6; docs/goal-format.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/libgoal.h"

/* Larger than any schedule that fits a NIC. A directory reports a larger size. */
#define FILE_MAX_BYTES (INT64_C(1) << 32)

static void sched_free(GOAL_Schedule sched)
{
	uint32_t i;

	/* A NIC that is gone holds nothing. A live NIC has already released the schedule. */
	for (i = 0; sched->mrs && i < sched->code.num_ranges; i++)
		if (sched->mrs[i])
			weft_release_mr(sched->mrs[i]);
	pthread_mutex_lock(&sched->comm->lib->lock);
	libgoal_shadow_put(sched);
	pthread_mutex_unlock(&sched->comm->lib->lock);
	libgoal_trace_free(sched);
	free(sched->pieces);
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

/*
 * Registers a range, with write access only if the schedule writes it. A range that the NIC could
 * reach only by system calls gets a shadow where possible. Under the lock.
 */
static int bind_range(GOAL_Schedule sched, uint32_t i)
{
	const struct goal_range *range = &sched->code.ranges[i];
	int access = range->access & GOAL_SLOT_WRITE ? WEFT_ACCESS_LOCAL_WRITE : 0;
	struct weft_mr *mr =
	    weft_reg_mr_cached(sched->comm->lib->cache, (void *)range->addr, range->bytes, access);

	if (!mr)
		return -errno;
	if (!mr->mapped && libgoal_shadow_get(sched, i)) {
		weft_release_mr(mr);
		return 0;
	}
	sched->mrs[i] = mr;
	sched->binds[i] = (struct weft_goal_bind){(void *)range->addr, range->bytes, mr};
	return 0;
}

/* On failure *at is the range that cannot be registered. */
static int bind_ranges(GOAL_Schedule sched, uint32_t *at)
{
	uint32_t count = sched->code.num_ranges;
	int rc = 0;

	sched->mrs = calloc((size_t)count + 1, sizeof(*sched->mrs));
	sched->binds = calloc((size_t)count + 1, sizeof(*sched->binds));
	if (!sched->mrs || !sched->binds)
		return -ENOMEM;
	pthread_mutex_lock(&sched->comm->lib->lock);
	for (*at = 0; rc == 0 && *at < count; ++*at)
		rc = bind_range(sched, *at);
	pthread_mutex_unlock(&sched->comm->lib->lock);
	--*at;
	return rc;
}

bool libgoal_sched_is_stale(const struct GOAL_Schedule_s *sched)
{
	uint32_t i;

	for (i = 0; !sched->unbound && i < sched->code.num_ranges; i++)
		if (sched->mrs[i] ? weft_mr_is_withdrawn(sched->mrs[i])
				  : !sched->shadows || !sched->shadows[i])
			return true;
	return false;
}

int libgoal_sched_refresh(GOAL_Schedule sched)
{
	const struct libgoal *lib = sched->comm->lib;
	uint32_t handle, i;
	int rc = 0;

	/* Runs in flight use the memory bound at their start, so it must not change under them. */
	if (sched->flying)
		return -EBUSY;
	for (i = 0; rc == 0 && i < sched->code.num_ranges; i++) {
		struct weft_mr *mr = sched->mrs[i];

		/*
		 * A range with a shadow stays bound: each run copies from the memory then present.
		 */
		if (mr ? !weft_mr_is_withdrawn(mr) : sched->shadows && sched->shadows[i])
			continue;
		sched->mrs[i] = NULL;
		if (mr)
			weft_release_mr(mr);
		rc = bind_range(sched, i);
	}
	if (rc == 0)
		rc = weft_goal_load(lib->goal, sched->comm->handle, lib->pd, sched->code.bytes,
				    sched->code.num_bytes, sched->binds, sched->code.num_ranges,
				    &handle, NULL);
	if (rc < 0)
		return rc;
	rc = weft_goal_unload(lib->goal, sched->handle);
	sched->handle = handle;
	return rc;
}

/* ---- errors of buffers -------------------------------------------------------------- */

/* A contiguous piece of an operation's buffer, bound to memory of the process. */
struct piece {
	const struct goal_code *code;
	uint32_t range;
	bool write;
	struct weft_pd *pd;
	void *addr;
	uint64_t bytes;
};

/* Returns true if this piece cannot be registered. */
static bool is_bad_piece(struct piece *p, uint64_t ref, uint64_t bytes)
{
	struct weft_mr *mr;

	if (GOAL_REF_SLOT(ref) != p->range || !bytes)
		return false;
	p->addr = (void *)(p->code->ranges[p->range].addr + GOAL_REF_OFFSET(ref));
	p->bytes = bytes;
	mr = weft_reg_mr(p->pd, p->addr, bytes, p->write ? WEFT_ACCESS_LOCAL_WRITE : 0);
	return !mr || weft_dereg_mr(mr) < 0;
}

static bool is_bad_buffer(struct piece *p, uint64_t ref, uint64_t bytes)
{
	const struct goal_header *header = (const void *)p->code->bytes;
	const struct goal_piece *pieces = (const void *)(p->code->bytes + header->pieces_offset);
	uint32_t i;

	if (GOAL_REF_SLOT(ref) != GOAL_SLOT_PIECES)
		return is_bad_piece(p, ref, bytes);
	for (i = 0; i < GOAL_REF_COUNT(ref); i++) {
		const struct goal_piece *at = &pieces[GOAL_REF_FIRST(ref) + i];

		if (is_bad_piece(p, at->ref, at->bytes))
			return true;
	}
	return false;
}

/* Returns the first operation whose own memory cannot be registered, or UINT32_MAX. */
static uint32_t find_bad(struct piece *p)
{
	const struct goal_header *header = (const void *)p->code->bytes;
	const struct goal_insn *ops = (const void *)(p->code->bytes + header->ops_offset);
	uint32_t i, k;

	for (i = 0; i < header->num_ops; i++) {
		bool local = ops[i].kind == GOAL_INSN_LOCAL;
		uint32_t width = ops[i].sub == GOAL_LOCAL_USER ? ops[i].width : ops[i].width / 8u;
		uint64_t bytes = local ? ops[i].amount * width : ops[i].amount;

		if (ops[i].kind == GOAL_INSN_CALC || ops[i].kind == GOAL_INSN_NOP)
			continue;
		for (k = 0; k < (local ? 3 : 1); k++) {
			p->write = local ? k == 2
					 : ops[i].kind == GOAL_INSN_RECV ||
					       ops[i].kind == GOAL_INSN_MCAST_RECV;
			if (is_bad_buffer(p, ops[i].buf[k], bytes))
				return i;
		}
	}
	return UINT32_MAX;
}

static const char *cause(int rc)
{
	switch (-rc) {
	case EFAULT:
		return "is not mapped, or may not be written to";
	case EDQUOT:
	case ENOSPC:
		return "needs a region, of which the NIC has none left for this process (weftctl "
		       "clients)";
	case EOPNOTSUPP:
	case EPERM:
		return "cannot be mapped by the NIC, and weftd reaches no other memory "
		       "(--unmapped)";
	default:
		return strerror(-rc);
	}
}

/* Describes the operation and the buffer that prevent the schedule from being created. */
static void name_buffer(const struct GOAL_Schedule_s *sched, uint32_t range, int rc, char *detail)
{
	struct piece p = {.code = &sched->code, .range = range, .pd = sched->comm->lib->pd};
	uint32_t vertex = find_bad(&p);
	char what[160] = "";

	if (vertex == UINT32_MAX) {
		p.addr = (void *)sched->code.ranges[range].addr;
		p.bytes = sched->code.ranges[range].bytes;
	} else {
		libgoal_describe(&sched->code, vertex, what, sizeof(what));
	}
	snprintf(detail, LIBGOAL_DETAIL, "%s%sthe buffer of %" PRIu64 " bytes at %p %s", what,
		 what[0] ? ": " : "", p.bytes, p.addr, cause(rc));
}

/* Describes the NIC's reason and the operation that it names. */
static void name_refusal(const struct GOAL_Schedule_s *sched, uint32_t op, const char *why, int rc,
			 char *detail)
{
	char what[160] = "";

	if (op != UINT32_MAX)
		libgoal_describe(&sched->code, op, what, sizeof(what));
	snprintf(detail, LIBGOAL_DETAIL, "%s%s%s", what, what[0] ? ": " : "",
		 why[0] ? why : strerror(-rc));
}

GOAL_Schedule libgoal_load(GOAL_Comm comm, struct goal_code *code, bool unbound)
{
	const struct goal_header *header = (const void *)code->bytes;
	char why[WEFT_GOAL_WHY_BYTES] = "", detail[LIBGOAL_DETAIL] = "";
	GOAL_Schedule sched;
	uint64_t unexpected = header->unexpected_bytes;
	uint32_t at = UINT32_MAX;
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
	sched->unbound = unbound;
	rc = unbound ? 0 : bind_ranges(sched, &at);
	if (rc < 0 && at < sched->code.num_ranges)
		name_buffer(sched, at, rc, detail);
	/* Pool blocks are powers of two, so twice the bytes suffice. */
	if (rc == 0)
		rc = libgoal_pool_grow(comm, 2 * unexpected + LIBGOAL_POOL_BYTES);
	if (rc == 0) {
		rc = weft_goal_load_op(comm->lib->goal, comm->handle, comm->lib->pd,
				       sched->code.bytes, sched->code.num_bytes, sched->binds,
				       sched->code.num_ranges, &sched->handle, why, &at);
		if (rc < 0)
			name_refusal(sched, at, why, rc, detail);
	}
	if (rc < 0) {
		sched_free(sched);
		libgoal_error(libgoal_errno(rc), detail[0] ? detail : strerror(-rc));
		return NULL;
	}
	return sched;
}

GOAL_Schedule GOAL_Compile(GOAL_Graph g)
{
	struct goal_code code;
	char detail[LIBGOAL_DETAIL] = "";
	uint32_t vertex;
	int rc;

	if (!g) {
		libgoal_error(GOAL_ERR_ARG, "no graph");
		return NULL;
	}
	if (libgoal_is_forked()) {
		libgoal_error(GOAL_ERR_STATE, "a child of fork cannot compile");
		return NULL;
	}
	rc = goal_compile(g->graph, g->comm->eager_bytes, &code, &vertex);
	if (rc == 0)
		return libgoal_load(g->comm, &code, false);
	if (vertex != GOAL_NO_VERTEX)
		libgoal_describe_vertex(g->graph, vertex, detail, sizeof(detail));
	if (rc == -ELOOP) {
		snprintf(detail + strlen(detail), sizeof(detail) - strlen(detail),
			 " waits for itself, or for operations that do");
		libgoal_error(GOAL_ERR_CYCLE, detail);
	} else if (rc == -ERANGE) {
		snprintf(detail + strlen(detail), sizeof(detail) - strlen(detail),
			 ": a buffer reaches beyond the scratchpad's %" PRIu64
			 " bytes (GOAL_AllocateScratchpad)",
			 g->graph->scratch_bytes);
		libgoal_error(GOAL_ERR_SCRATCHPAD, detail);
	} else if (rc == -EOVERFLOW) {
		snprintf(detail, sizeof(detail), "more than %d separate buffers", GOAL_MAX_SLOTS);
		libgoal_error(GOAL_ERR_LIMIT, detail);
	} else {
		libgoal_error(libgoal_errno(rc), rc == -EINVAL ? "an empty graph" : detail);
	}
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

/* ---- files ---------------------------------------------------------------------------------- */

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

/* Reads a whole file and checks its header and CRC. */
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
	return libgoal_load(comm, &code, false);
}
