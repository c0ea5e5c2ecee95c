/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules without buffers, and runs that name their buffers.
 *
 * The collective is compiled with its send and receive buffer at the starts of two windows of
 * addresses, so that each is one slot, whatever it will be bound to. The run record binds the slots
 * (shared_defs/hw_goal.h, HW_GOAL_RUN_F_BUFFERS). A small buffer, or one that the NIC cannot map,
 * is copied to a block of mapped memory, others are registered through the instance's cache. Calls
 * goal_coll_build.c, libgoal_sched.c, libgoal_run.c. docs/collectives.md "Buffers".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/compile/goal_coll_build.h"
#include "host_driver/goal/libgoal.h"

enum {
	COPY_BYTES = 2048, /* up to here a copy is cheaper than a look into the cache */
	/* A run that only sends copies is over for its program when it is started (is_copied()). */
	COPY_SENDS_BYTES = 8192,
};

#define SEND_WINDOW ((void *)(UINT64_C(1) << GOAL_WINDOW_SHIFT))
#define RECV_WINDOW ((void *)(UINT64_C(2) << GOAL_WINDOW_SHIFT))

_Static_assert(GOAL_MAX_MSG_BYTES <= UINT64_C(1) << GOAL_WINDOW_SHIFT, "a buffer fits a window");

static GOAL_Schedule compile(GOAL_Graph graph)
{
	struct libgoal_piece *pieces;
	struct goal_code code;
	GOAL_Schedule sched;
	uint32_t vertex, num, i;
	int rc;

	graph->graph->windows = true;
	if (libgoal_gaps(graph->graph, (uintptr_t)RECV_WINDOW, &pieces, &num) < 0) {
		libgoal_error(GOAL_ERR_NO_MEMORY, NULL);
		return NULL;
	}
	rc = goal_compile(graph->graph, graph->comm->eager_bytes, &code, &vertex);
	if (rc < 0) {
		libgoal_error(libgoal_errno(rc), "the collective cannot be compiled");
		free(pieces);
		return NULL;
	}
	sched = libgoal_load(graph->comm, &code, true);
	if (sched) {
		sched->pieces = pieces;
		sched->num_pieces = num;
	} else {
		free(pieces);
	}
	for (i = 0; sched && i < sched->code.num_ranges; i++) {
		sched->receives[i] = sched->code.ranges[i].addr == (uintptr_t)RECV_WINDOW;
		sched->code.ranges[i].addr = 0;
	}
	return sched;
}

static int build(GOAL_Graph graph, const GOAL_CollectiveCall *call)
{
	struct goal_coll_call c = {.coll = call->coll,
				   .alg = call->alg,
				   .send = SEND_WINDOW,
				   .recv = RECV_WINDOW,
				   .op = call->op,
				   .type = call->type,
				   .counts = call->counts,
				   .sends = call->sends,
				   .recvs = call->recvs};

	if (call->count < 0 || call->width < 0 || call->root < 0 || call->num_sends < 0 ||
	    call->num_recvs < 0)
		return -EINVAL;
	c.num_sends = (uint32_t)call->num_sends;
	c.num_recvs = (uint32_t)call->num_recvs;
	c.count = (uint64_t)call->count;
	c.width = (uint32_t)call->width;
	c.root = (uint32_t)call->root;
	if (call->in_place && call->coll == GOAL_COLL_SCATTER)
		c.recv = GOAL_IN_PLACE;
	else if (call->in_place)
		c.send = GOAL_IN_PLACE;
	return goal_coll_build(graph->graph, &c);
}

GOAL_Schedule GOAL_UnboundSchedule(GOAL_Comm comm, const GOAL_CollectiveCall *call)
{
	GOAL_Schedule sched = NULL;
	GOAL_Graph graph;
	int rc;

	if (!call) {
		libgoal_error(GOAL_ERR_ARG, "no call");
		return NULL;
	}
	if (libgoal_is_forked()) {
		libgoal_error(GOAL_ERR_STATE, "a child of fork cannot compile");
		return NULL;
	}
	graph = GOAL_CreateGraphOn(comm);
	if (!graph)
		return NULL;
	rc = build(graph, call);
	if (rc == 0)
		sched = compile(graph);
	else if (rc == -EINVAL)
		libgoal_error(GOAL_ERR_ARG,
			      "an invalid root, count, type, operation or algorithm for "
			      "this collective");
	else
		libgoal_error(libgoal_errno(rc), GOAL_CollectiveName(call->coll));
	(void)GOAL_FreeGraph(graph);
	return sched;
}

/* ---- buffers of a run ----------------------------------------------------------------------- */

static bool copy_in(struct libgoal *lib, struct libgoal_bound_buf *buf, struct weft_goal_bind *bind)
{
	const struct weft_mr *mr;

	buf->block = libgoal_block_get(lib, buf->bytes, &mr);
	if (!buf->block)
		return false;
	*bind = (struct weft_goal_bind){buf->block, buf->bytes, mr};
	/* The schedule may also read what it writes: it may be work space, or written in part. */
	memcpy(buf->block, buf->user, buf->bytes);
	return true;
}

static bool is_private(const struct libgoal_bound_buf *buf)
{
	return libgoal_memory_stays((uintptr_t)buf->user, buf->bytes) ||
	       weft_goal_private(buf->user, buf->bytes);
}

static bool only_sends(const struct GOAL_Schedule_s *sched)
{
	uint32_t i;

	for (i = 0; i < sched->code.num_ranges; i++)
		if (sched->code.ranges[i].access & GOAL_SLOT_WRITE)
			return false;
	return true;
}

/*
 * Makes one buffer accessible to the NIC: a copy of up to copy_bytes, or where it is. False: the
 * run cannot have it.
 */
static bool take(struct libgoal *lib, uint32_t copy_bytes, struct libgoal_bound_buf *buf,
		 struct weft_goal_bind *bind)
{
	int access = buf->write ? WEFT_ACCESS_LOCAL_WRITE : 0;

	if (buf->bytes <= copy_bytes && copy_in(lib, buf, bind))
		return true;
	buf->mr = weft_reg_mr_cached(lib->kept, buf->user, buf->bytes, access);
	if (!buf->mr)
		return false;
	if (!buf->mr->mapped && is_private(buf) && copy_in(lib, buf, bind)) {
		weft_release_mr(buf->mr);
		buf->mr = NULL;
		return true;
	}
	*bind = (struct weft_goal_bind){buf->user, buf->bytes, buf->mr};
	return true;
}

void libgoal_bound_out(const struct GOAL_Schedule_s *sched, const struct libgoal_bound *bound)
{
	uint32_t i, k;

	for (i = 0; i < bound->num; i++) {
		const struct libgoal_bound_buf *buf = &bound->buf[i];

		if (!buf->block || !buf->write)
			continue;
		if (!sched->num_pieces)
			memcpy(buf->user, buf->block, buf->bytes);
		for (k = 0; k < sched->num_pieces; k++)
			memcpy((char *)buf->user + sched->pieces[k].at,
			       (char *)buf->block + sched->pieces[k].at, sched->pieces[k].bytes);
	}
}

void libgoal_bound_drop(struct libgoal *lib, struct libgoal_bound *bound)
{
	uint32_t i;

	for (i = 0; i < bound->num; i++) {
		if (bound->buf[i].block)
			libgoal_block_put(lib, bound->buf[i].block, bound->buf[i].bytes);
		if (bound->buf[i].mr)
			weft_release_mr(bound->buf[i].mr);
	}
	bound->num = 0;
}

static bool is_copied(const struct GOAL_Schedule_s *sched, const struct libgoal_bound *bound)
{
	uint32_t i;

	/* A run that could not have all its buffers fails, which is for the program to know. */
	if (!sched->unbound || bound->num != sched->code.num_ranges)
		return false;
	for (i = 0; i < bound->num; i++)
		if (!bound->buf[i].block || bound->buf[i].write)
			return false;
	return true;
}

GOAL_Handle GOAL_RunWith(GOAL_Schedule sched, const void *send, void *recv)
{
	struct weft_goal_bind binds[WEFT_GOAL_RUN_BINDS] = {{0}};
	struct weft_goal_run_attr attr = {.binds = binds};
	struct libgoal_bound bound = {0};
	uint32_t record, use, copy_bytes, i;
	struct libgoal *lib;
	int rc;

	if (!sched || !sched->unbound)
		return libgoal_error(GOAL_ERR_ARG, "no schedule of GOAL_UnboundSchedule()");
	lib = sched->comm->lib;
	for (i = 0; i < sched->code.num_ranges; i++) {
		bound.buf[i] = (struct libgoal_bound_buf){
		    .user = sched->receives[i] ? recv : (void *)(uintptr_t)send,
		    .bytes = sched->code.ranges[i].bytes,
		    .write = sched->code.ranges[i].access & GOAL_SLOT_WRITE};
		if (!bound.buf[i].user || bound.buf[i].user == GOAL_IN_PLACE)
			return libgoal_error(GOAL_ERR_ARG, "GOAL_RunWith: a buffer is missing");
	}
	copy_bytes = only_sends(sched) ? COPY_SENDS_BYTES : COPY_BYTES;
	/* Other ranks wait for this one: a run that cannot have its buffers fails at all of them.
	 */
	pthread_mutex_lock(&lib->lock);
	for (i = 0; i < sched->code.num_ranges && !attr.memory_gone; i++) {
		attr.memory_gone = !take(lib, copy_bytes, &bound.buf[i], &binds[i]);
		bound.num += !attr.memory_gone;
	}
	pthread_mutex_unlock(&lib->lock);
	attr.num_binds = bound.num;
	rc = libgoal_start(sched, &attr, &bound, &record, &use);
	if (rc == GOAL_SUCCESS)
		return libgoal_handle(lib, use, record);
	pthread_mutex_lock(&lib->lock);
	libgoal_bound_drop(lib, &bound);
	pthread_mutex_unlock(&lib->lock);
	return rc;
}

int GOAL_TestLocal(GOAL_Handle handle)
{
	const struct libgoal_slot *slot;
	struct libgoal_run ref;
	bool local = true;

	if (!libgoal_find(handle, &ref))
		return 1;
	slot = &ref.lib->slots[ref.record];
	pthread_mutex_lock(&ref.lib->lock);
	if (slot->use == ref.use && slot->running)
		local = is_copied(slot->sched, &slot->bound);
	pthread_mutex_unlock(&ref.lib->lock);
	return local;
}

GOAL_Handle GOAL_RunFailing(GOAL_Schedule sched)
{
	struct weft_goal_bind binds[WEFT_GOAL_RUN_BINDS] = {{0}};
	struct weft_goal_run_attr attr = {.binds = binds, .memory_gone = true};
	const struct libgoal_bound bound = {0};
	uint32_t record, use;
	int rc;

	if (!sched)
		return libgoal_error(GOAL_ERR_ARG, "no schedule");
	rc = libgoal_start(sched, &attr, sched->unbound ? &bound : NULL, &record, &use);
	return rc < 0 ? rc : libgoal_handle(sched->comm->lib, use, record);
}
