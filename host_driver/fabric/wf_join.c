/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining a collective group: the members exchange twice what libgoal has to say (goal.h,
 * GOAL_JoinBegin()), so that all get a communicator, or none does.
 *
 * In each round the first member receives a hello of every other one, and sends the table of all to
 * each. These are messages of the endpoint with tags that the application has not: the two highest
 * bits, a hash of the members and the number of this join among those of the same members, and the
 * round. fi_collective(3).
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/wf_coll.h"

struct wf_join {
	struct wf_group *group; /* NULL: abandoned */
	GOAL_Joining goal;
	uint64_t tag;
	atomic_int refs;    /* the group's, and those of requests under way */
	atomic_int missing; /* receives of this round */
	atomic_bool failed;
	int round;
	size_t posted, sent; /* receives and sends of this round */
	GOAL_Hello mine;
	GOAL_Hello all[];
};

static void put(struct wf_join *join)
{
	if (atomic_fetch_sub(&join->refs, 1) == 1)
		free(join);
}

void wf_join_done(struct wf_join *join, bool received, bool ok)
{
	if (!ok)
		atomic_store(&join->failed, true);
	if (received)
		atomic_fetch_sub(&join->missing, 1);
	put(join);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* Counts the joins of an endpoint by their members. */
struct wf_joins {
	struct wf_joins *next;
	uint64_t id;
	uint32_t count;
};

static struct wf_joins *count_join(struct wf_group *group)
{
	uint64_t id = group->size;
	struct wf_joins *joins;
	size_t i;

	for (i = 0; i < group->size; i++)
		id = mix(id, (uint64_t)group->member[i].at.ip << 32 | group->member[i].at.qpn);
	for (joins = group->qp->joins; joins && joins->id != id; joins = joins->next)
		;
	if (!joins) {
		joins = calloc(1, sizeof(*joins));
		if (!joins)
			return NULL;
		joins->id = id;
		joins->next = group->qp->joins;
		group->qp->joins = joins;
	}
	joins->count++;
	return joins;
}

void wf_join_forget(struct wf_qp *qp)
{
	struct wf_joins *joins;

	while ((joins = qp->joins)) {
		qp->joins = joins->next;
		free(joins);
	}
}

struct wf_join *wf_join_new(struct wf_group *group)
{
	struct wf_joins *joins = count_join(group);
	struct wf_join *join;

	if (!joins)
		return NULL;
	join = calloc(1, sizeof(*join) + group->size * sizeof(GOAL_Hello));
	if (!join)
		return NULL;
	join->group = group;
	join->tag = WF_NOTE_TAG | WF_JOIN_TAG | (mix(joins->id, joins->count) >> 2 & ~UINT64_C(1));
	atomic_store(&join->refs, 1);
	join->goal = GOAL_JoinBegin(group->qp->domain->context->name, &join->mine);
	if (join->goal)
		return join;
	free(join);
	return NULL;
}

/* Takes a request for a message of the join. NULL: none is free now. */
static struct wf_op *take(struct wf_join *join, struct wf_cq *cq, uint64_t flags)
{
	struct wf_op *op = wf_op_get(join->group->qp, cq, 1);

	if (!op)
		return NULL;
	op->join = join;
	op->context = join;
	op->flags = flags | FI_MSG;
	op->count = WF_COUNTS;
	atomic_fetch_add(&join->refs, 1);
	return op;
}

static void drop(struct wf_join *join, struct wf_op *op)
{
	op->join = NULL;
	wf_op_drop(op);
	put(join);
}

/* Posts a receive of bytes from a member. 0, -FI_EAGAIN, or a negative errno. */
static int receive(struct wf_join *join, size_t from, void *buf, size_t bytes)
{
	struct wf_group *group = join->group;
	struct iovec iov = {buf, bytes};
	struct weft_sge sge[WF_IOV];
	struct weft_tag_recv_wr wr = {.sg_list = sge,
				      .tag = join->tag ^ (uint64_t)join->round,
				      .src_ip = group->member[from].at.ip,
				      .src_qpn = group->member[from].at.qpn};
	struct wf_op *op = take(join, group->qp->rx_cq, FI_RECV);
	int rc;

	if (!op)
		return -FI_EAGAIN;
	rc = wf_mr_sges(group->qp->domain, &iov, NULL, 1, WF_USE_RECV, sge, &op->hold);
	if (rc >= 0) {
		wr.num_sge = (uint32_t)rc;
		wr.wr_id = (uintptr_t)op;
		atomic_fetch_add(&join->missing, 1);
		rc = wf_op_post_recv(op, &wr);
		if (rc)
			atomic_fetch_sub(&join->missing, 1);
	}
	if (rc < 0)
		drop(join, op);
	return (int)wf_post_result(rc);
}

static int transmit(struct wf_join *join, size_t to, void *buf, size_t bytes)
{
	struct wf_group *group = join->group;
	const struct wf_peer *peer = wf_av_peer(group->qp->av, group->member[to].addr);
	struct iovec iov = {buf, bytes};
	struct weft_sge sge[WF_IOV];
	struct weft_tag_send_wr wr = {.sg_list = sge, .tag = join->tag ^ (uint64_t)join->round};
	struct wf_op *op;
	int rc;

	if (!peer)
		return -FI_EINVAL;
	op = take(join, group->qp->tx_cq, FI_SEND);
	if (!op)
		return -FI_EAGAIN;
	rc = wf_mr_sges(group->qp->domain, &iov, NULL, 1, WF_USE_SEND, sge, &op->hold);
	if (rc >= 0) {
		wr.num_sge = (uint32_t)rc;
		wr.wr_id = (uintptr_t)op;
		wr.ah = peer->ah;
		wr.dst_qpn = peer->addr.qpn;
		rc = weft_tag_send(group->qp->ep, &wr);
	}
	if (rc < 0)
		drop(join, op);
	return (int)wf_post_result(rc);
}

/* Goes on with the round as far as it gets. 1: it is over; 0: not yet; or a negative errno. */
static int round_step(struct wf_join *join)
{
	size_t size = join->group->size, rank = join->group->rank;
	size_t receives = rank ? 1 : size - 1, sends = receives;
	int rc = 0;

	join->all[rank] = join->mine;
	while (!rc && join->posted < receives) {
		rc = rank ? receive(join, 0, join->all, size * sizeof(GOAL_Hello))
			  : receive(join, join->posted + 1, &join->all[join->posted + 1],
				    sizeof(GOAL_Hello));
		join->posted += !rc;
	}
	/* The table is complete before it is sent. */
	while (!rc && join->sent < sends && (rank || !atomic_load(&join->missing))) {
		rc = rank ? transmit(join, 0, &join->mine, sizeof(join->mine))
			  : transmit(join, join->sent + 1, join->all, size * sizeof(GOAL_Hello));
		join->sent += !rc;
	}
	if (rc && rc != -FI_EAGAIN)
		return rc;
	return !rc && join->sent == sends && !atomic_load(&join->missing);
}

/* Sends the members that wait for a table an empty one, as far as the queue has room. */
static void dismiss(struct wf_join *join)
{
	size_t i, size = join->group->size;

	memset(join->all, 0, size * sizeof(GOAL_Hello));
	for (i = join->sent + 1; i < size; i++)
		(void)transmit(join, i, join->all, size * sizeof(GOAL_Hello));
}

static void end(struct wf_join *join, bool ok)
{
	struct wf_group *group = join->group;

	if (!ok)
		wf_op_cancel_join(group->qp, join);
	if (!ok && group->rank == 0)
		dismiss(join);
	wf_group_joined(group, GOAL_JoinEnd(join->goal, ok ? join->all : NULL));
	join->group = NULL;
	put(join);
}

bool wf_join_step(struct wf_join *join)
{
	int rc = atomic_load(&join->failed) ? -FI_EIO : round_step(join);

	if (rc == 0)
		return false;
	/* The requests of a round are over before the next one uses their memory. */
	if (rc > 0 && atomic_load(&join->refs) > 1)
		return false;
	if (rc > 0 && join->round == 0) {
		(void)GOAL_JoinMake(join->goal, (int)join->group->rank, (int)join->group->size,
				    join->all, &join->mine);
		join->round = 1;
		join->posted = join->sent = 0;
		memset(join->all, 0, join->group->size * sizeof(GOAL_Hello));
		return false;
	}
	end(join, rc > 0);
	return true;
}

void wf_join_abandon(struct wf_join *join)
{
	wf_op_cancel_join(join->group->qp, join);
	if (join->group->rank == 0)
		dismiss(join);
	(void)GOAL_JoinEnd(join->goal, NULL);
	join->group = NULL;
	put(join);
}
