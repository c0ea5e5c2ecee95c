/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective groups: the members of a set at the time of fi_join_collective(), and the communicator
 * of libgoal that they have made. fi_collective(3).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "host_driver/fabric/wf_coll.h"

static struct wf_work *work_of(const struct wf_qp *qp)
{
	return &qp->domain->fabric->work;
}

struct wf_group *wf_group_find(struct wf_qp *qp, fi_addr_t addr)
{
	struct wf_group *group;

	for (group = work_of(qp)->groups; group; group = group->next)
		if (group->fid.fi_addr == addr && group->qp == qp && group->comm)
			return group;
	return NULL;
}

/* ---- events of runs ---- */

/* Adds the group's descriptors to those of its queue and counter, or removes them. */
static int wait_for_both(const struct wf_group *group, int op)
{
	const struct wf_qp *qp = group->qp;
	const int waits[] = {qp->tx_cq->fd, qp->cntr[WF_WRITES] ? qp->cntr[WF_WRITES]->fd : -1};
	struct epoll_event event = {.events = EPOLLIN};
	size_t i, k;
	int rc = 0;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 2 && waits[i] >= 0; k++)
			if (epoll_ctl(waits[i], op, group->event_fd[k], &event) != 0)
				rc = -errno;
	return rc;
}

static void unlisten(struct wf_group *group)
{
	(void)wait_for_both(group, EPOLL_CTL_DEL);
	close(group->event_fd[0]);
	close(group->event_fd[1]);
	(void)GOAL_Unlisten(group->comm);
	group->listens = false;
}

/*
 * The ends of runs shall wake threads that sleep for the queue or the counter. Without, these look
 * again and again. Copies of the descriptors: several groups may have the same ones.
 */
static void listen_to(struct wf_group *group)
{
	int fd[2];

	if (GOAL_Listen(group->comm, &group->qp->domain->fabric->work, fd) != GOAL_SUCCESS)
		return;
	group->event_fd[0] = fcntl(fd[0], F_DUPFD_CLOEXEC, 0);
	group->event_fd[1] = fcntl(fd[1], F_DUPFD_CLOEXEC, 0);
	group->listens = true;
	if (group->event_fd[0] < 0 || group->event_fd[1] < 0 ||
	    wait_for_both(group, EPOLL_CTL_ADD) < 0)
		unlisten(group);
}

/* Frees what a communicator holds here. Under the lock. */
static void leave(struct wf_group *group)
{
	if (group->listens)
		unlisten(group);
	GOAL_CacheFree(group->cache);
	if (group->barrier)
		(void)GOAL_FreeSchedule(group->barrier);
	if (group->comm && GOAL_Leave(group->comm) != GOAL_SUCCESS)
		WF_WARN(FI_LOG_EP_CTRL, "collective group: %s\n", GOAL_LastErrorDetail());
	group->cache = NULL;
	group->barrier = NULL;
	group->comm = NULL;
}

static int group_close(struct fid *fid)
{
	struct wf_group *group = container_of(fid, struct wf_group, fid.fid);
	struct wf_qp *qp = group->qp;
	struct wf_work *work = work_of(qp);

	pthread_mutex_lock(&work->lock);
	if (group->join)
		wf_join_abandon(group->join);
	wf_work_drop(work, group);
	leave(group);
	pthread_mutex_unlock(&work->lock);
	wf_eq_ref(qp->eq, -1);
	atomic_fetch_sub(&qp->joined, 1);
	free(group->member);
	free(group);
	return 0;
}

static struct fi_ops group_fi_ops = {
    .size = sizeof(struct fi_ops),
    .close = group_close,
    .bind = wf_no_bind,
    .control = wf_no_control,
    .ops_open = wf_no_ops_open,
};

void wf_group_joined(struct wf_group *group, GOAL_Comm comm)
{
	static const GOAL_CollectiveCall barrier = {
	    .coll = GOAL_COLL_BARRIER, .op = GOAL_COPY, .type = GOAL_UINT, .width = 8};
	char why[200];
	int err = 0;

	snprintf(why, sizeof(why), "%s", GOAL_LastErrorDetail());
	group->comm = comm;
	if (comm) {
		group->cache = GOAL_CacheCreate(comm);
		group->barrier = GOAL_UnboundSchedule(comm, &barrier);
	}
	if (!comm || !group->cache || !group->barrier) {
		err = comm ? FI_ENOMEM : FI_ECONNREFUSED;
		WF_WARN(FI_LOG_EP_CTRL, "no collective group: %s\n",
			comm ? "the NIC has no memory for it" : why);
		leave(group);
	} else {
		listen_to(group);
	}
	err = wf_eq_add(group->qp->eq, FI_JOIN_COMPLETE, &group->fid.fid, group->fid.fid.context, 0,
			err);
	if (err)
		WF_WARN(FI_LOG_EP_CTRL, "the end of a join is not reported: %s\n", strerror(-err));
}

/* Takes the members of the set, and this endpoint's place among them. 0 or a negative errno. */
static int set_members(struct wf_group *group, const struct fid_av_set *set)
{
	struct wf_addr self = {group->qp->domain->port.ip, group->qp->ep->qp->qpn};
	fi_addr_t *addrs = wf_av_set_members(set, &group->size);
	int rc = addrs ? -FI_EINVAL : -FI_ENOMEM;
	size_t i;

	group->member = addrs ? calloc(group->size + 1, sizeof(*group->member)) : NULL;
	if (addrs && !group->member)
		rc = -FI_ENOMEM;
	for (i = 0; group->member && i < group->size; i++) {
		const struct wf_peer *peer = wf_av_peer(group->qp->av, addrs[i]);

		if (!peer) {
			rc = -FI_EINVAL;
			break;
		}
		group->member[i] = (struct wf_member){addrs[i], peer->addr};
		if (peer->addr.ip == self.ip && peer->addr.qpn == self.qpn) {
			group->rank = i;
			rc = 0;
		}
	}
	free(addrs);
	return rc;
}

static int check(struct wf_qp *qp, const struct fi_collective_addr *addr, uint64_t flags)
{
	bool known;

	/* Members of a collective send and receive. */
	if (flags)
		return -FI_EBADFLAGS;
	if (!(qp->caps & FI_COLLECTIVE))
		return -FI_EOPNOTSUPP;
	if (!addr || !addr->set || wf_av_set_av(addr->set) != qp->av)
		return -FI_EINVAL;
	pthread_mutex_lock(&work_of(qp)->lock);
	known = addr->coll_addr == FI_ADDR_NOTAVAIL ||
		addr->coll_addr == wf_av_set_addr(addr->set) || wf_group_find(qp, addr->coll_addr);
	pthread_mutex_unlock(&work_of(qp)->lock);
	return known ? 0 : -FI_EINVAL;
}

int wf_group_join(struct wf_qp *qp, const struct fi_collective_addr *addr, uint64_t flags,
		  struct fid_mc **mc, void *context)
{
	struct wf_work *work = work_of(qp);
	struct wf_group *group;
	int rc = check(qp, addr, flags);

	if (rc)
		return rc;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -FI_ENOMEM;
	group->fid.fid.fclass = FI_CLASS_MC;
	group->fid.fid.context = context;
	group->fid.fid.ops = &group_fi_ops;
	group->fid.fi_addr = WF_GROUP_ADDR | (uintptr_t)group;
	group->qp = qp;
	rc = set_members(group, addr->set);
	if (!rc) {
		pthread_mutex_lock(&work->lock);
		group->join = wf_join_new(group);
		if (group->join)
			wf_work_group(work, group);
		else
			rc = -FI_ENOMEM;
		pthread_mutex_unlock(&work->lock);
	}
	if (rc) {
		WF_WARN(FI_LOG_EP_CTRL, "collective group: %s\n",
			rc == -FI_EINVAL ? "the set has no members, not this endpoint, or one that "
					   "the address vector has not"
					 : strerror(-rc));
		free(group->member);
		free(group);
		return rc;
	}
	atomic_fetch_add(&qp->joined, 1);
	wf_eq_ref(qp->eq, 1);
	*mc = &group->fid;
	wf_work_progress(qp->domain->fabric);
	return 0;
}
