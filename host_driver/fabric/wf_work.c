/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins and collectives under way. The NIC carries a collective out alone; its end is one read of
 * memory, which is made whenever the application reads a queue or a counter of the fabric. The
 * completion then goes to the endpoint's transmit queue. For threads that sleep the end is an event
 * of the NIC in the descriptors of that queue and of its counter. A join exchanges a few messages
 * by the same occasions, so the provider has no thread.
 */
#include <stdlib.h>

#include "host_driver/fabric/wf_coll.h"

void wf_work_init(struct wf_work *work)
{
	pthread_mutex_init(&work->lock, NULL);
}

void wf_work_fini(struct wf_work *work)
{
	pthread_mutex_destroy(&work->lock);
}

void wf_work_group(struct wf_work *work, struct wf_group *group)
{
	group->next = work->groups;
	work->groups = group;
	atomic_fetch_add(&work->joins, 1);
	atomic_fetch_add(&work->count, 1);
}

/* A join is over. */
static void joined(struct wf_work *work)
{
	atomic_fetch_sub(&work->joins, 1);
	atomic_fetch_sub(&work->count, 1);
}

/* Requests the event of a run's end. False: there will be none, it may be over. */
static bool request(struct wf_run *run)
{
	if (!run->group->listens || run->handle < 0)
		return false;
	if (run->armed)
		return true;
	run->armed = true;
	return !GOAL_RequestEvent(run->handle);
}

void wf_work_run(struct wf_work *work, struct wf_run *run)
{
	const struct wf_qp *qp = run->group->qp;
	struct wf_cntr *cntr = qp->cntr[WF_WRITES];

	run->next = work->runs;
	work->runs = run;
	atomic_fetch_add(&work->count, 1);
	/* A thread that armed before must not sleep past it. */
	if (atomic_load(&qp->tx_cq->sleeps) && !request(run)) {
		wf_cq_wake(qp->tx_cq);
		if (cntr)
			(void)wf_cntr_wake(cntr);
	}
}

static int errno_of(int goal)
{
	switch (goal) {
	case GOAL_ERR_CANCELED:
		return FI_ECANCELED;
	case GOAL_ERR_TIMEOUT:
		return FI_ETIMEDOUT;
	case GOAL_ERR_TRUNCATED:
		return FI_ETRUNC;
	case GOAL_ERR_MEMORY:
		return FI_EFAULT;
	case GOAL_ERR_PEER_LOST:
		return FI_ECONNRESET;
	case GOAL_ERR_UNREACHABLE:
		return FI_EHOSTUNREACH;
	case GOAL_ERR_RESOURCES:
	case GOAL_ERR_UNEXPECTED:
	case GOAL_ERR_NO_MEMORY:
	case GOAL_ERR_LIMIT:
		return FI_ENOMEM;
	default:
		return FI_EIO;
	}
}

/* Reports a run that is over, and frees it. */
static void finish(struct wf_run *run)
{
	struct wf_entry entry = {.e = {.op_context = run->context, .flags = FI_COLLECTIVE},
				 .source = FI_ADDR_NOTAVAIL};
	struct wf_group *group = run->group;
	struct wf_qp *qp = group->qp;
	GOAL_Result result = {.rank = -1};
	int error = GOAL_WaitResult(run->handle, &result);

	if (run->error)
		error = run->error;
	if (error) {
		entry.err = errno_of(error);
		entry.prov_errno = WF_GOAL_ERRNO | -error;
		entry.e.data = result.rank >= 0 && (size_t)result.rank < group->size
				   ? group->member[result.rank].addr
				   : FI_ADDR_NOTAVAIL;
		WF_INFO(FI_LOG_EP_DATA, "collective: %s%s%s\n", GOAL_StrError(error),
			*GOAL_LastErrorDetail() ? ": " : "", GOAL_LastErrorDetail());
	}
	if (qp->cntr[WF_WRITES]) {
		wf_cntr_count(qp->cntr[WF_WRITES], !error);
		(void)wf_cntr_wake(qp->cntr[WF_WRITES]);
	}
	if (error || !run->silent)
		wf_cq_push(qp->tx_cq, &entry);
	free(run);
}

/* Finishes runs that are over, or all those of a group that ends. Oldest first. */
static void look(struct wf_work *work, const struct wf_group *ending)
{
	struct wf_run **at = &work->runs, *run, *over = NULL;

	while ((run = *at)) {
		if (run->group == ending ||
		    (!ending && (run->handle < 0 || GOAL_Test(run->handle)))) {
			*at = run->next;
			run->next = over;
			over = run;
			atomic_fetch_sub(&work->count, 1);
		} else {
			at = &run->next;
		}
	}
	while ((run = over)) {
		over = run->next;
		finish(run);
	}
}

void wf_work_drop(struct wf_work *work, struct wf_group *group)
{
	struct wf_group **at = &work->groups;
	struct wf_run *run;

	for (run = work->runs; run; run = run->next)
		if (run->group == group && run->handle >= 0)
			(void)GOAL_Cancel(run->handle);
	look(work, group);
	while (*at && *at != group)
		at = &(*at)->next;
	if (*at) {
		*at = group->next;
		if (group->join)
			joined(work);
	}
}

bool wf_work_arm(struct wf_fabric *fabric)
{
	struct wf_work *work = &fabric->work;
	const struct wf_group *last = NULL;
	struct wf_run *run;
	bool silent;

	if (!atomic_load(&work->count))
		return false;
	pthread_mutex_lock(&work->lock);
	for (run = work->runs; run; run = run->next) {
		if (run->group->listens && run->group != last)
			(void)GOAL_Heard(run->group->comm);
		last = run->group;
		(void)request(run);
	}
	/* Events that were taken above may be of any of them. */
	look(work, NULL);
	silent = wf_work_joins(fabric);
	for (run = work->runs; run && !silent; run = run->next)
		silent = !run->group->listens;
	pthread_mutex_unlock(&work->lock);
	return silent;
}

void wf_work_progress(struct wf_fabric *fabric)
{
	struct wf_work *work = &fabric->work;
	struct wf_group *group;

	if (!wf_work_busy(fabric) || pthread_mutex_trylock(&work->lock) != 0)
		return;
	for (group = work->groups; group; group = group->next) {
		if (!group->join)
			continue;
		/* The program may wait for its event queue alone. */
		wf_cq_take(group->qp->rx_cq);
		wf_cq_take(group->qp->tx_cq);
		if (wf_join_step(group->join)) {
			group->join = NULL;
			joined(work);
		}
	}
	look(work, NULL);
	pthread_mutex_unlock(&work->lock);
}
