/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives (MPI 4.0, 6.12) that the NIC takes.
 *
 * A generalized request cannot be started again, so the request is a persistent receive of no bytes
 * from this process itself: MPICH starts it, tests it, waits for it and mixes it with others. A
 * message of no bytes ends it when the run is over, one of a byte, which is too long, when the run
 * has failed. Calls mc_run.c, mw_type.c.
 */
#include <pthread.h>
#include <stdlib.h>

#include "host_driver/mpich/mw.h"

enum {
	CHAINS = 256,
};

struct mw_persist {
	struct mc_run run;
	struct mw_persist *next; /* in its chain */
	struct mw_sides sides;
	MPI_Request handle;
	int tag;       /* of the message that ends it */
	uint32_t refs; /* the program's and the run's; atomic */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the chains, and of tags */
static struct mw_persist *chains[CHAINS];
static uint32_t num; /* in the chains; atomic; read without the lock */
static int next_tag; /* from 0 to the greatest one, then anew */
static int greatest_tag;
static bool tags_used_up; /* each was used once */
static MPI_Comm self = MPI_COMM_NULL;

bool mw_persist_begin(void)
{
	int *most, flag = 0;

	if (PMPI_Comm_dup(MPI_COMM_SELF, &self) != MPI_SUCCESS)
		return false;
	greatest_tag = 32767;
	if (PMPI_Comm_get_attr(self, MPI_TAG_UB, &most, &flag) == MPI_SUCCESS && flag)
		greatest_tag = *most;
	return true;
}

static struct mw_persist **chain_of(MPI_Request handle)
{
	return &chains[(unsigned int)handle % CHAINS];
}

/* Under the lock. */
static bool is_tag_used(int tag)
{
	for (int i = 0; i < CHAINS; i++)
		for (const struct mw_persist *p = chains[i]; p; p = p->next)
			if (p->tag == tag)
				return true;
	return false;
}

static int take_tag(void)
{
	int tag;

	pthread_mutex_lock(&lock);
	do {
		tag = next_tag;
		next_tag = tag == greatest_tag ? 0 : tag + 1;
		tags_used_up = tags_used_up || !next_tag;
	} while (tags_used_up && is_tag_used(tag));
	pthread_mutex_unlock(&lock);
	return tag;
}

static void link_in(struct mw_persist *p)
{
	struct mw_persist **chain = chain_of(p->handle);

	pthread_mutex_lock(&lock);
	p->next = *chain;
	*chain = p;
	__atomic_add_fetch(&num, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

/* Finds a request of ours, and takes it off its chain if wanted; NULL: it is none. */
static struct mw_persist *find(MPI_Request handle, bool unlink)
{
	struct mw_persist **at, *p;

	if (!__atomic_load_n(&num, __ATOMIC_RELAXED))
		return NULL;
	pthread_mutex_lock(&lock);
	for (at = chain_of(handle); *at && (*at)->handle != handle; at = &(*at)->next)
		;
	p = *at;
	if (p && unlink) {
		*at = p->next;
		__atomic_sub_fetch(&num, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
	return p;
}

static void put(struct mw_persist *p)
{
	if (__atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mw_sides_release(&p->sides);
	mc_run_end(&p->run);
	free(p);
}

static void persist_over(struct mc_run *run, int error)
{
	struct mw_persist *p = (struct mw_persist *)run;
	int bytes = error != GOAL_SUCCESS;
	char byte = 0;

	mw_sides_end(&p->sides, !bytes);
	/* The program may start or free the request at this moment. */
	(void)PMPI_Send(&byte, bytes, MPI_BYTE, 0, p->tag, self);
	put(p);
}

/* Makes the request of MPICH; an error of MPI: there is none. */
static int make(struct mw_persist **out)
{
	struct mw_persist *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return MPI_ERR_NO_MEM;
	p->tag = take_tag();
	rc = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, p->tag, self, &p->handle);
	if (rc != MPI_SUCCESS)
		free(p);
	else
		*out = p;
	return rc;
}

int mw_call_keep(struct mw_call *call, MPI_Request *request)
{
	struct mw_persist *p = NULL;
	int rc = call->mc.refused ? mw_call_refuse(call->comm) : make(&p);

	if (!p) {
		if (call->alone)
			mc_comm_put(call->alone);
		mw_call_drop(call);
		return rc;
	}
	p->refs = 1;
	p->run.over = persist_over;
	mc_run_init(&p->run, call->alone, &call->mc, &call->send, &call->recv);
	mc_comm_put(call->alone);
	free(call->list);
	mw_sides_take(&p->sides, call);
	link_in(p);
	*request = p->handle;
	return MPI_SUCCESS;
}

/* MPICH has started the receive. */
static void start(struct mw_persist *p)
{
	__atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
	mc_run_start(&p->run, mw_sides_begin(&p->sides, &p->run));
}

int MPI_Start(MPI_Request *request)
{
	struct mw_persist *p = request ? find(*request, false) : NULL;
	int rc = PMPI_Start(request);

	if (p && rc == MPI_SUCCESS)
		start(p);
	return rc;
}

int MPI_Startall(int count, MPI_Request requests[])
{
	int rc = PMPI_Startall(count, requests);

	for (int i = 0; rc == MPI_SUCCESS && i < count; i++) {
		struct mw_persist *p = find(requests[i], false);

		if (p)
			start(p);
	}
	return rc;
}

bool mw_persist_free(MPI_Request *request)
{
	struct mw_persist *p = find(*request, true);

	if (!p)
		return false;
	/* A receive that is under way goes on; the run's end ends it. */
	(void)PMPI_Request_free(request);
	put(p);
	return true;
}

void mw_persist_end(void)
{
	for (int i = 0; i < CHAINS; i++)
		while (chains[i]) {
			MPI_Request handle = chains[i]->handle;

			(void)mw_persist_free(&handle);
		}
	if (self != MPI_COMM_NULL)
		(void)PMPI_Comm_free(&self);
}
