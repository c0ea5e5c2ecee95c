/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: address sets, groups, and what is under way. libgoal (goal.h, goal_coll.h) compiles
 * and runs them; the NIC carries them out.
 *
 * wf_av_set.c: sets; wf_join.c: a group is made of a set; wf_group.c: groups; wf_coll.c: the calls;
 * wf_work.c: looks at joins and runs whenever the application reads a queue. All of it is under
 * wf_fabric.work.lock, which comes before wf_cq.lock and after wf_cntr.lock.
 */
#ifndef WEFT_FI_WF_COLL_H
#define WEFT_FI_WF_COLL_H

#include <rdma/fi_collective.h>

#include "host_driver/fabric/fi_weft.h"
#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"

/* Addresses of groups and sets: that of the object, with the bit that no address vector gives. */
#define WF_GROUP_ADDR (UINT64_C(1) << 63)

/* Marks a GOAL_ERR_* in prov_errno; the other values are those of completions of the NIC. */
#define WF_GOAL_ERRNO (1 << 30)

struct wf_member {
	fi_addr_t addr;
	struct wf_addr at;
};

/* One operation under way. */
struct wf_run {
	struct wf_run *next;
	struct wf_group *group;
	GOAL_Handle handle;
	void *context;
	int error;   /* GOAL_ERR_*, of one that could not be started here */
	bool silent; /* no entry on success */
	bool armed;  /* its end raises an event */
};

/* A collective group that an endpoint has joined, or is joining. */
struct wf_group {
	struct fid_mc fid;
	struct wf_group *next; /* of all groups of the fabric */
	struct wf_qp *qp;
	size_t size, rank;
	struct wf_member *member;
	struct wf_join *join; /* under way; NULL: over */
	GOAL_Comm comm;       /* NULL: not joined */
	GOAL_Cache cache;
	GOAL_Schedule barrier; /* always there: the run that fails when no other can start */
	bool listens;          /* runs raise events; event_fd are in the waits of its endpoint */
	int event_fd[2];
	size_t last_root;
};

/* ---- sets (wf_av_set.c) */

int wf_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		   void *context);
/* Copies the members of a set; *count: their number. NULL: no memory. */
fi_addr_t *wf_av_set_members(const struct fid_av_set *set, size_t *count);
struct wf_av *wf_av_set_av(const struct fid_av_set *set);
fi_addr_t wf_av_set_addr(const struct fid_av_set *set);

/* ---- groups (wf_group.c) */

/* fi_join_collective(). 0 or a negative errno. */
int wf_group_join(struct wf_qp *qp, const struct fi_collective_addr *addr, uint64_t flags,
		  struct fid_mc **mc, void *context);
/* The group of that address which qp has joined; NULL: none. Under the lock. */
struct wf_group *wf_group_find(struct wf_qp *qp, fi_addr_t addr);
/* A join is over: comm, or NULL with libgoal's error. Under the lock. */
void wf_group_joined(struct wf_group *group, GOAL_Comm comm);

/* ---- joins (wf_join.c); under the lock */

/* Begins; NULL: no memory. */
struct wf_join *wf_join_new(struct wf_group *group);
/* Goes on; true: it is over, and freed. */
bool wf_join_step(struct wf_join *join);
/* Gives it up. */
void wf_join_abandon(struct wf_join *join);

/* ---- work (wf_work.c) */

void wf_work_init(struct wf_work *work);
void wf_work_fini(struct wf_work *work);
/* Add to the list; under the lock. A run's end raises an event if a thread may sleep for it. */
void wf_work_group(struct wf_work *work, struct wf_group *group);
void wf_work_run(struct wf_work *work, struct wf_run *run);
/* Cancels and ends all of a group. Under the lock. */
void wf_work_drop(struct wf_work *work, struct wf_group *group);

extern struct fi_ops_collective wf_coll_ops;

#endif /* WEFT_FI_WF_COLL_H */
