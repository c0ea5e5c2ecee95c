/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that the NIC takes, as requests of MPICH.
 *
 * A non-blocking call is a generalized request (MPI 3.1, 12.2) that mc_run_progress() completes, so
 * MPICH itself tests it, waits for it and mixes it with others; mw_wait.c sees to it that runs are
 * looked at meanwhile. A blocking call waits for its run, and keeps MPICH's own messages moving.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "host_driver/mpich/mw.h"

enum {
	BUSY_TURNS = 20, /* looks of a loop before it gives the CPU up */
};

struct mw_req {
	struct mc_run run;
	struct mw_req *next, *prev; /* in the list of those under way */
	struct mw_sides sides;
	MPI_Request handle;
	int outcome;    /* MPI error code */
	uint32_t refs;  /* the run's and the request's; atomic */
	bool forgotten; /* freed by the program while under way */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list, and of forgotten */
static struct mw_req *active;

void mw_req_turn(uint32_t turn)
{
	mc_run_progress();
	if (turn >= BUSY_TURNS)
		sched_yield();
}

void mw_req_drain(void)
{
	for (uint32_t turn = 0; mc_run_any(); turn++)
		mw_req_turn(turn);
}

/* ---- blocking calls ------------------------------------------------------------------------- */

struct wait {
	struct mc_run run;
	int error;
	bool over; /* atomic */
};

static void wait_over(struct mc_run *run, int error)
{
	struct wait *wait = (struct wait *)run;

	wait->error = error;
	__atomic_store_n(&wait->over, true, __ATOMIC_RELEASE);
}

int mw_call_refuse(MPI_Comm comm)
{
	(void)PMPI_Comm_call_errhandler(comm, MPI_ERR_OP);
	return MPI_ERR_OP;
}

int mw_call_run(struct mc_comm *mc, struct mw_call *call, MPI_Comm comm)
{
	struct wait wait = {.run = {.over = wait_over}};
	struct mw_sides sides;
	int flag;

	if (call->mc.refused)
		return mw_call_refuse(comm);
	mc_run_init(&wait.run, mc, &call->mc, &call->send, &call->recv);
	free(call->list);
	mw_sides_take(&sides, call);
	mc_run_start(&wait.run, mw_sides_begin(&sides, &wait.run));
	for (uint32_t turn = 0; !__atomic_load_n(&wait.over, __ATOMIC_ACQUIRE); turn++) {
		mw_req_turn(turn);
		/* Another rank may wait for a message of this one before it takes part. */
		(void)PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
				  MPI_STATUS_IGNORE);
	}
	mc_run_end(&wait.run);
	mw_sides_end(&sides, wait.error == GOAL_SUCCESS);
	mw_sides_release(&sides);
	if (wait.error == GOAL_SUCCESS)
		return MPI_SUCCESS;
	(void)PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
	return MPI_ERR_OTHER;
}

/* ---- non-blocking calls --------------------------------------------------------------------- */

static void put(struct mw_req *req)
{
	if (__atomic_sub_fetch(&req->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(req);
}

static int query(void *arg, MPI_Status *status)
{
	const struct mw_req *req = arg;

	status->MPI_SOURCE = MPI_ANY_SOURCE;
	status->MPI_TAG = MPI_ANY_TAG;
	(void)PMPI_Status_set_elements(status, MPI_BYTE, 0);
	(void)PMPI_Status_set_cancelled(status, 0);
	return req->outcome;
}

static int free_request(void *arg)
{
	put(arg);
	return MPI_SUCCESS;
}

/* A collective cannot be cancelled (MPI 3.1, 5.12). */
static int cancel(void *arg, int complete)
{
	(void)arg;
	(void)complete;
	return MPI_SUCCESS;
}

static void link_in(struct mw_req *req)
{
	pthread_mutex_lock(&lock);
	req->next = active;
	if (active)
		active->prev = req;
	active = req;
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static void link_out(struct mw_req *req)
{
	if (req->prev)
		req->prev->next = req->next;
	else
		active = req->next;
	if (req->next)
		req->next->prev = req->prev;
}

static void request_ends(struct mw_req *req, int outcome)
{
	req->outcome = outcome;
	/* Under the lock: the program may free the request at this moment. */
	pthread_mutex_lock(&lock);
	link_out(req);
	(void)PMPI_Grequest_complete(req->handle);
	if (req->forgotten)
		(void)PMPI_Request_free(&req->handle);
	pthread_mutex_unlock(&lock);
}

static void request_over(struct mc_run *run, int error)
{
	struct mw_req *req = (struct mw_req *)run;

	/* The buffer of a request that has ended is the program's, and the root's has nothing new.
	 */
	mw_sides_end(&req->sides, error == GOAL_SUCCESS && !run->early);
	mw_sides_release(&req->sides);
	mc_run_end(run);
	if (!run->early)
		request_ends(req, error == GOAL_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER);
	put(req);
}

bool mw_req_forget(MPI_Request request)
{
	struct mw_req *req;

	pthread_mutex_lock(&lock);
	for (req = active; req && req->handle != request;)
		req = req->next;
	if (req)
		req->forgotten = true;
	pthread_mutex_unlock(&lock);
	return req != NULL;
}

int mw_call_start(struct mc_comm *mc, struct mw_call *call, MPI_Comm comm, MPI_Request *request)
{
	struct mw_req *req = call->mc.refused ? NULL : calloc(1, sizeof(*req));
	int rc;

	if (call->mc.refused)
		return mw_call_refuse(comm);
	if (!req)
		return MPI_ERR_NO_MEM;
	req->refs = 2;
	rc = PMPI_Grequest_start(query, free_request, cancel, req, &req->handle);
	if (rc != MPI_SUCCESS) {
		free(req);
		return rc;
	}
	*request = req->handle;
	req->run.over = request_over;
	mc_run_init(&req->run, mc, &call->mc, &call->send, &call->recv);
	free(call->list);
	mw_sides_take(&req->sides, call);
	link_in(req);
	req->run.may_end_early = true;
	if (mc_run_start(&req->run, mw_sides_begin(&req->sides, &req->run)))
		request_ends(req, MPI_SUCCESS);
	return MPI_SUCCESS;
}
