/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of Open MPI for runs on the NIC.
 *
 * opal_progress() calls progress(), which reads the record of each run under way; nothing else of
 * the host is needed for a collective to proceed. Calls mc_run.c, cw_type.c.
 */
#include "host_driver/ompi/cw.h"

#include <opal/runtime/opal_progress.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list, and of looks */
static struct cw_req *unused;
static bool looks; /* opal_progress() calls progress() */

static void construct(struct cw_req *req)
{
	req->nbc.super.req_type = OMPI_REQUEST_COLL;
	req->nbc.super.req_cancel = NULL;
	req->next = NULL;
}

OBJ_CLASS_INSTANCE(cw_req, ompi_coll_base_nbc_request_t, construct, NULL);

/* The last reference, the program's or that of a run, keeps the request for another call. */
static void put(struct cw_req *req)
{
	if (__atomic_sub_fetch(&req->refs, 1, __ATOMIC_ACQ_REL))
		return;
	cw_side_release(&req->call.send);
	cw_side_release(&req->call.recv);
	mc_run_end(&req->run);
	OMPI_REQUEST_FINI(&req->nbc.super);
	pthread_mutex_lock(&lock);
	req->next = unused;
	unused = req;
	pthread_mutex_unlock(&lock);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Packs what the run reads. A rank without memory for that takes part in a run that fails. */
static int begin_sides(struct cw_req *req)
{
	struct cw_call *call = &req->call;
	bool filled = call->mc.goal.in_place || call->mc.coll == MC_BCAST;
	int error = GOAL_SUCCESS;

	if (call->mc.broken || !cw_side_begin(&call->send, true) ||
	    !cw_side_begin(&call->recv, filled))
		error = GOAL_ERR_NO_MEMORY;
	req->run.send = call->send.addr;
	req->run.recv = call->recv.addr;
	return error;
}

void cw_req_start(struct cw_req *req)
{
	req->nbc.super.req_state = OMPI_REQUEST_ACTIVE;
	req->nbc.super.req_status.MPI_ERROR = MPI_SUCCESS;
	__atomic_add_fetch(&req->refs, 1, __ATOMIC_RELAXED);
	if (mc_run_start(&req->run, begin_sides(req)))
		(void)ompi_request_complete(&req->nbc.super, true);
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

static void run_over(struct mc_run *run, int error)
{
	struct cw_req *req = (struct cw_req *)((char *)run - offsetof(struct cw_req, run));

	if (error != GOAL_SUCCESS && !run->early)
		req->nbc.super.req_status.MPI_ERROR = MPI_ERR_OTHER;
	cw_side_end(&req->call.send, false);
	/* The buffer of a request that has ended is the program's, and the root's has nothing new.
	 */
	cw_side_end(&req->call.recv, error == GOAL_SUCCESS && !run->early);
	/* The program may free the request at this moment, or has done so before. */
	if (!run->early)
		(void)ompi_request_complete(&req->nbc.super, true);
	put(req);
}

/* A callback of opal_progress(), which each look of every other call makes, too. */
static int progress(void)
{
	int over;

	if (!mc_run_any())
		return 0;
	over = mc_run_progress();
	mc_pause(over || !mc_run_any());
	return over;
}

/* ---- requests ------------------------------------------------------------------------------- */

/*
 * Takes an unused request, or makes one. The first has Open MPI look at runs from then on: a
 * program whose collectives all stay on the host pays for no look.
 */
static struct cw_req *take(void)
{
	struct cw_req *req;
	bool ready;

	pthread_mutex_lock(&lock);
	if (!looks)
		looks = opal_progress_register(progress) == OPAL_SUCCESS;
	ready = looks;
	req = ready ? unused : NULL;
	if (req)
		unused = req->next;
	pthread_mutex_unlock(&lock);
	return req || !ready ? req : OBJ_NEW(cw_req);
}

struct cw_req *cw_req_new(struct cw_module *module, struct cw_call *call, bool persistent)
{
	struct cw_req *req = take();

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
	req->refs = 1;
	req->run.over = run_over;
	/* A persistent request may be started again, and its run with it. */
	req->run.may_end_early = !persistent;
	cw_side_retain(&req->call.send);
	cw_side_retain(&req->call.recv);
	mc_run_init(&req->run, call->alone ? call->alone : module->mc, &req->call.mc,
		    &req->call.send, &req->call.recv);
	if (call->alone)
		mc_comm_put(call->alone);
	req->call.alone = NULL;
	/* The cache has a copy of the lists. */
	free(call->list);
	req->call.list = NULL;
	req->call.mc.goal.counts = NULL;
	req->call.mc.goal.sends = req->call.mc.goal.recvs = NULL;
	return req;
}

int cw_req_free(ompi_request_t **request)
{
	/* A request that is under way ends by itself. */
	put((struct cw_req *)*request);
	*request = MPI_REQUEST_NULL;
	return OMPI_SUCCESS;
}

void cw_req_end(void)
{
	struct cw_req *req;

	if (looks)
		(void)opal_progress_unregister(progress);
	looks = false;
	while ((req = unused)) {
		unused = req->next;
		OBJ_RELEASE(req);
	}
}
