/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of Open MPI for runs on the NIC.
 *
 * opal_progress() calls cw_req_progress(), which reads the record of each run under way; nothing
 * else of the host is needed for a collective to proceed. All ranks start the runs of a
 * communicator in one order, so a rank that cannot start its part starts a run that fails instead,
 * and a request that finds no free run record keeps those behind it waiting. Calls cw_type.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host_driver/ompi/cw.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the lists */
static struct cw_req *active;                            /* in the order of their starts */
static struct cw_req **active_tail = &active;
static struct cw_req *unused;
static uint32_t num_active; /* atomic; read without the lock */

static void construct(struct cw_req *req)
{
	req->nbc.super.req_type = OMPI_REQUEST_COLL;
	req->nbc.super.req_cancel = NULL;
	req->next = NULL;
}

OBJ_CLASS_INSTANCE(cw_req, ompi_coll_base_nbc_request_t, construct, NULL);

/* ---- start ---------------------------------------------------------------------------------- */

/* Starts the run; false: no run record is free, it must be tried again. Under the lock. */
static bool try_start(struct cw_req *req)
{
	const struct cw_call *call = &req->call;

	if (req->error == GOAL_SUCCESS)
		req->run = GOAL_RunWith(req->sched, call->send.addr, call->recv.addr);
	else
		req->run = GOAL_RunFailing(req->cw->barrier);
	req->waiting = req->run == GOAL_ERR_BUSY;
	if (req->waiting)
		return false;
	if (req->run < 0 && req->error == GOAL_SUCCESS) {
		req->error = (int)req->run;
		req->run = GOAL_RunFailing(req->cw->barrier);
	}
	return true;
}

/* Packs what the run reads. A rank without memory for that takes part in a run that fails. */
static void begin_sides(struct cw_req *req)
{
	struct cw_call *call = &req->call;
	bool filled = call->mc.goal.in_place || call->mc.coll == MC_BCAST;

	req->error = req->sched ? GOAL_SUCCESS : GOAL_ERR_RESOURCES;
	if (call->broken || !cw_side_begin(&call->send, true) ||
	    !cw_side_begin(&call->recv, filled))
		req->error = GOAL_ERR_NO_MEMORY;
}

void cw_req_start(struct cw_req *req)
{
	const struct cw_req *waiting;

	begin_sides(req);
	req->nbc.super.req_state = OMPI_REQUEST_ACTIVE;
	req->nbc.super.req_status.MPI_ERROR = MPI_SUCCESS;
	req->next = NULL;
	pthread_mutex_lock(&lock);
	for (waiting = active; waiting && !waiting->waiting; waiting = waiting->next)
		;
	req->waiting = true;
	if (!waiting)
		(void)try_start(req);
	*active_tail = req;
	active_tail = &req->next;
	__atomic_add_fetch(&num_active, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

static int start_all(size_t count, ompi_request_t **requests)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct cw_req *req = (struct cw_req *)requests[i];

		req->nbc.super.req_complete = REQUEST_PENDING;
		cw_req_start(req);
	}
	return OMPI_SUCCESS;
}

/* ---- end ------------------------------------------------------------------------------------ */

static void reuse(struct cw_req *req)
{
	cw_side_release(&req->call.send);
	cw_side_release(&req->call.recv);
	GOAL_CacheRelease(req->sched);
	cw_comm_put(req->cw);
	OMPI_REQUEST_FINI(&req->nbc.super);
	pthread_mutex_lock(&lock);
	req->next = unused;
	unused = req;
	pthread_mutex_unlock(&lock);
}

static void report_error(const struct cw_req *req, int error)
{
	const char *detail = req->error == GOAL_SUCCESS ? GOAL_LastErrorDetail() : "";

	fprintf(stderr, "coll_weft: %s failed on the NIC: %s%s%s\n",
		mc_coll_name(req->call.mc.coll), GOAL_StrError(error), detail[0] ? ": " : "",
		detail);
}

/* Keeps the outcome: the next run that starts may take the record. Under the lock. */
static void take_outcome(struct cw_req *req)
{
	int error = GOAL_Wait(req->run);

	if (req->error != GOAL_SUCCESS)
		error = req->error;
	if (error != GOAL_SUCCESS)
		report_error(req, error);
	req->error = error;
}

static void finish(struct cw_req *req)
{
	int error = req->error;
	bool freed;

	if (error != GOAL_SUCCESS)
		req->nbc.super.req_status.MPI_ERROR = MPI_ERR_OTHER;
	cw_side_end(&req->call.send, false);
	cw_side_end(&req->call.recv, error == GOAL_SUCCESS);
	pthread_mutex_lock(&lock);
	freed = req->freed;
	req->run = -1;
	pthread_mutex_unlock(&lock);
	if (freed)
		reuse(req);
	else
		(void)ompi_request_complete(&req->nbc.super, true);
}

/* Takes runs that are over off the list, and starts requests that wait. Under the lock. */
static struct cw_req *collect(void)
{
	struct cw_req *over = NULL, **over_tail = &over, **at = &active, *req;
	bool blocked = false;

	while ((req = *at)) {
		if (req->waiting && !blocked)
			blocked = !try_start(req);
		if (req->waiting || !GOAL_Test(req->run)) {
			at = &req->next;
			continue;
		}
		take_outcome(req);
		*at = req->next;
		req->next = NULL;
		*over_tail = req;
		over_tail = &req->next;
		__atomic_sub_fetch(&num_active, 1, __ATOMIC_RELAXED);
	}
	active_tail = at;
	return over;
}

int cw_req_progress(void)
{
	struct cw_req *over, *next;
	int count = 0;

	if (!__atomic_load_n(&num_active, __ATOMIC_RELAXED) || pthread_mutex_trylock(&lock) != 0)
		return 0;
	over = collect();
	pthread_mutex_unlock(&lock);
	for (; over; over = next, count++) {
		next = over->next;
		finish(over);
	}
	return count;
}

/* ---- requests ------------------------------------------------------------------------------- */

struct cw_req *cw_req_new(struct cw_module *module, struct cw_call *call, bool persistent)
{
	struct cw_req *req;

	pthread_mutex_lock(&lock);
	req = unused;
	if (req)
		unused = req->next;
	pthread_mutex_unlock(&lock);
	if (!req)
		req = OBJ_NEW(cw_req);
	if (!req) {
		cw_call_drop(call);
		return NULL;
	}
	OMPI_REQUEST_INIT(&req->nbc.super, persistent);
	req->nbc.super.req_mpi_object.comm = module->comm;
	/* Open MPI may have put functions of its own in front. */
	req->nbc.super.req_free = cw_req_free;
	req->nbc.data.objs.objs[0] = req->nbc.data.objs.objs[1] = NULL;
	req->nbc.super.req_start = persistent ? start_all : NULL;
	req->nbc.super.req_status = (ompi_status_public_t){
	    .MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
	req->call = *call;
	req->cw = module->cw;
	req->run = -1;
	req->freed = false;
	cw_comm_get(req->cw);
	cw_side_retain(&req->call.send);
	cw_side_retain(&req->call.recv);
	req->sched = call->broken ? NULL : GOAL_CacheTake(req->cw->cache, &call->mc.goal);
	/* The cache has a copy of the lists. */
	free(call->list);
	req->call.list = NULL;
	req->call.mc.goal.counts = NULL;
	req->call.mc.goal.sends = req->call.mc.goal.recvs = NULL;
	return req;
}

int cw_req_free(ompi_request_t **request)
{
	struct cw_req *req = (struct cw_req *)*request;
	bool over;

	pthread_mutex_lock(&lock);
	/* A request that is under way ends by itself. */
	over = req->nbc.super.req_state != OMPI_REQUEST_ACTIVE || REQUEST_COMPLETE(&req->nbc.super);
	req->freed = !over;
	pthread_mutex_unlock(&lock);
	if (over)
		reuse(req);
	*request = MPI_REQUEST_NULL;
	return OMPI_SUCCESS;
}

void cw_req_end(void)
{
	struct cw_req *req;

	while ((req = unused)) {
		unused = req->next;
		OBJ_RELEASE(req);
	}
}
