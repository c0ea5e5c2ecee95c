/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations: each becomes a run of a schedule of libgoal, which the NIC carries out
 * alone. wf_work.c reports its end.
 *
 * All members start the operations of a group in one order, so a member that cannot do its part
 * starts a run that fails instead: it fails at all of them. Counts are of one member's share, and
 * of the vector for broadcast, reduce and allreduce. fi_collective(3); README.md "Failures of
 * collectives".
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/fabric/wf_coll.h"
#include "shared_defs/hw_goal.h"

#define MAX_BYTES (UINT64_C(1) << 30) /* of a buffer */

struct coll {
	GOAL_Collective goal;
	enum fi_datatype type;
	enum fi_op op; /* of those that combine */
	size_t count;
	const void *send;
	void *recv;
	fi_addr_t group, root;
	void *context;
};

/* ---- types and operations ------------------------------------------------------------------- */

enum {
	MOVED_ALONE =
	    3, /* not GOAL_SINT, GOAL_UINT, GOAL_FLOAT: the NIC does not compute with it */
};

/* bytes 0: no such type. */
static const struct {
	uint8_t bytes, kind;
} types[] = {
    [FI_INT8] = {1, GOAL_SINT},
    [FI_UINT8] = {1, GOAL_UINT},
    [FI_INT16] = {2, GOAL_SINT},
    [FI_UINT16] = {2, GOAL_UINT},
    [FI_INT32] = {4, GOAL_SINT},
    [FI_UINT32] = {4, GOAL_UINT},
    [FI_INT64] = {8, GOAL_SINT},
    [FI_UINT64] = {8, GOAL_UINT},
    [FI_FLOAT] = {4, GOAL_FLOAT},
    [FI_DOUBLE] = {8, GOAL_FLOAT},
    [FI_FLOAT_COMPLEX] = {8, MOVED_ALONE},
    [FI_DOUBLE_COMPLEX] = {16, MOVED_ALONE},
    [FI_LONG_DOUBLE] = {sizeof(long double), MOVED_ALONE},
    [FI_LONG_DOUBLE_COMPLEX] = {2 * sizeof(long double), MOVED_ALONE},
    [FI_INT128] = {16, MOVED_ALONE},
    [FI_UINT128] = {16, MOVED_ALONE},
};

static size_t bytes_of(enum fi_datatype type)
{
	return (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type].bytes : 0;
}

/* Sets what the NIC computes; false: it has no such operation for the type. */
static bool set_op(GOAL_CollectiveCall *call, enum fi_datatype type, enum fi_op op)
{
	/* One more than the operation; 0: none. */
	static const uint8_t ops[] = {
	    [FI_MIN] = GOAL_MIN + 1,  [FI_MAX] = GOAL_MAX + 1, [FI_SUM] = GOAL_ADD + 1,
	    [FI_PROD] = GOAL_MUL + 1, [FI_BOR] = GOAL_OR + 1,  [FI_BAND] = GOAL_AND + 1,
	    [FI_BXOR] = GOAL_XOR + 1};

	if (types[type].kind == MOVED_ALONE || (size_t)op >= sizeof(ops) || !ops[op])
		return false;
	call->type = (GOAL_DataType)types[type].kind;
	call->op = (GOAL_Op)(ops[op] - 1);
	return call->type != GOAL_FLOAT || op == FI_MIN || op == FI_MAX || op == FI_SUM ||
	       op == FI_PROD;
}

static bool combines(GOAL_Collective coll)
{
	return coll == GOAL_COLL_REDUCE || coll == GOAL_COLL_ALLREDUCE ||
	       coll == GOAL_COLL_REDUCE_SCATTER;
}

/* True for collectives whose largest buffer has a share of each member. */
static bool has_shares(GOAL_Collective coll)
{
	return coll != GOAL_COLL_BARRIER && coll != GOAL_COLL_BCAST && coll != GOAL_COLL_REDUCE &&
	       coll != GOAL_COLL_ALLREDUCE;
}

/* Describes a collective to libgoal. 0, or -FI_EOPNOTSUPP. */
static int describe(const struct coll *coll, GOAL_CollectiveCall *call)
{
	size_t bytes = bytes_of(coll->type);

	/* The cache compares all bytes. */
	memset(call, 0, sizeof(*call));
	call->coll = coll->goal;
	call->op = GOAL_COPY;
	call->type = GOAL_UINT;
	call->width = 8;
	if (coll->goal == GOAL_COLL_BARRIER)
		return 0;
	if (!bytes)
		return -FI_EOPNOTSUPP;
	call->count = (int64_t)(coll->count * bytes);
	if (!combines(coll->goal))
		return 0;
	if (!set_op(call, coll->type, coll->op))
		return -FI_EOPNOTSUPP;
	call->count = (int64_t)coll->count;
	call->width = (int)bytes * 8;
	call->in_place = coll->send == coll->recv;
	return 0;
}

/* ---- start ---------------------------------------------------------------------------------- */

/* Finds the rank of the root; false: it is no member. */
static bool root_of(struct wf_group *group, fi_addr_t addr, int *rank)
{
	size_t i;

	for (i = group->last_root; group->member[i].addr != addr;) {
		i = (i + 1) % group->size;
		if (i == group->last_root)
			return false;
	}
	group->last_root = i;
	*rank = (int)i;
	return true;
}

static bool has_root(GOAL_Collective coll)
{
	return coll == GOAL_COLL_BCAST || coll == GOAL_COLL_GATHER || coll == GOAL_COLL_SCATTER ||
	       coll == GOAL_COLL_REDUCE;
}

/* Arguments that no member can have are refused before anything is started. 0 or a negative errno.
 */
static int check(struct wf_group *group, const struct coll *coll, GOAL_CollectiveCall *call)
{
	size_t shares = has_shares(coll->goal) ? group->size : 1;
	size_t unit = bytes_of(coll->type) * shares;
	int rc;

	if (unit && coll->count > MAX_BYTES / unit)
		return -FI_EMSGSIZE;
	rc = describe(coll, call);
	if (rc)
		return rc;
	return has_root(coll->goal) && !root_of(group, coll->root, &call->root) ? -FI_EINVAL : 0;
}

/* Starts a run; if this member cannot, one that fails. 0, -FI_EAGAIN, or a negative errno. */
static int launch(struct wf_group *group, const struct coll *coll, const GOAL_CollectiveCall *call,
		  struct wf_run *run)
{
	GOAL_Schedule sched = GOAL_CacheTake(group->cache, call);

	run->handle = sched ? GOAL_RunWith(sched, coll->send, coll->recv) : GOAL_LastError();
	GOAL_CacheRelease(sched);
	if (run->handle >= 0)
		return 0;
	if (run->handle == GOAL_ERR_BUSY)
		return -FI_EAGAIN;
	if (sched && run->handle == GOAL_ERR_ARG)
		return -FI_EINVAL;
	run->error = (int)run->handle;
	WF_WARN(FI_LOG_EP_DATA, "a collective is not started, and fails at all members: %s\n",
		GOAL_StrError(run->error));
	run->handle = GOAL_RunFailing(group->barrier);
	if (run->handle == GOAL_ERR_BUSY)
		return -FI_EAGAIN;
	return run->handle < 0 ? -FI_EIO : 0;
}

static ssize_t start(struct fid_ep *fid, const struct coll *coll, uint64_t flags)
{
	struct wf_ep *ep = container_of(fid, struct wf_ep, fid);
	struct wf_qp *qp = ep->qp;
	struct wf_work *work = &qp->domain->fabric->work;
	GOAL_CollectiveCall call;
	struct wf_group *group;
	struct wf_run *run;
	int rc = -FI_EINVAL;

	if (!qp->ep)
		return wf_not_open(qp);
	run = calloc(1, sizeof(*run));
	if (!run)
		return -FI_EAGAIN;
	run->context = coll->context;
	run->silent = !(flags & FI_COMPLETION);
	pthread_mutex_lock(&work->lock);
	group = wf_group_find(qp, coll->group);
	if (group) {
		run->group = group;
		rc = check(group, coll, &call);
		rc = rc ? rc : launch(group, coll, &call, run);
	}
	if (!rc)
		wf_work_run(work, run);
	pthread_mutex_unlock(&work->lock);
	if (rc)
		free(run);
	return rc;
}

/* ---- the calls ------------------------------------------------------------------------------ */

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t coll_addr, void *context)
{
	const struct coll coll = {
	    .goal = GOAL_COLL_BARRIER, .group = coll_addr, .context = context};

	return start(ep, &coll, wf_ep_tx_flags(container_of(ep, struct wf_ep, fid)));
}

static uint64_t with_flags(struct fid_ep *ep, uint64_t flags)
{
	return wf_ep_tx_msg_flags(container_of(ep, struct wf_ep, fid), flags);
}

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t coll_addr, uint64_t flags, void *context)
{
	const struct coll coll = {
	    .goal = GOAL_COLL_BARRIER, .group = coll_addr, .context = context};

	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc,
			      fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype,
			      uint64_t flags, void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_BCAST,
				  .type = datatype,
				  .count = count,
				  .recv = buf,
				  .group = coll_addr,
				  .root = root_addr,
				  .context = context};

	(void)desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			     void *result, void *result_desc, fi_addr_t coll_addr,
			     enum fi_datatype datatype, uint64_t flags, void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_ALLTOALL,
				  .type = datatype,
				  .count = count,
				  .send = buf,
				  .recv = result,
				  .group = coll_addr,
				  .context = context};

	(void)desc;
	(void)result_desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll_addr,
			      enum fi_datatype datatype, enum fi_op op, uint64_t flags,
			      void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_ALLREDUCE,
				  .type = datatype,
				  .op = op,
				  .count = count,
				  .send = buf,
				  .recv = result,
				  .group = coll_addr,
				  .context = context};

	(void)desc;
	(void)result_desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll_addr,
			      enum fi_datatype datatype, uint64_t flags, void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_ALLGATHER,
				  .type = datatype,
				  .count = count,
				  .send = buf,
				  .recv = result,
				  .group = coll_addr,
				  .context = context};

	(void)desc;
	(void)result_desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				   void *result, void *result_desc, fi_addr_t coll_addr,
				   enum fi_datatype datatype, enum fi_op op, uint64_t flags,
				   void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_REDUCE_SCATTER,
				  .type = datatype,
				  .op = op,
				  .count = count,
				  .send = buf,
				  .recv = result,
				  .group = coll_addr,
				  .context = context};

	(void)desc;
	(void)result_desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll_addr,
			   fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op,
			   uint64_t flags, void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_REDUCE,
				  .type = datatype,
				  .op = op,
				  .count = count,
				  .send = buf,
				  .recv = result,
				  .group = coll_addr,
				  .root = root_addr,
				  .context = context};

	(void)desc;
	(void)result_desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t coll_addr,
			    fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags,
			    void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_SCATTER,
				  .type = datatype,
				  .count = count,
				  .send = buf,
				  .recv = result,
				  .group = coll_addr,
				  .root = root_addr,
				  .context = context};

	(void)desc;
	(void)result_desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll_addr,
			   fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags,
			   void *context)
{
	const struct coll coll = {.goal = GOAL_COLL_GATHER,
				  .type = datatype,
				  .count = count,
				  .send = buf,
				  .recv = result,
				  .group = coll_addr,
				  .root = root_addr,
				  .context = context};

	(void)desc;
	(void)result_desc;
	return start(ep, &coll, with_flags(ep, flags));
}

static ssize_t no_msg(struct fid_ep *ep, const struct fi_msg_collective *msg,
		      struct fi_ioc *resultv, void **result_desc, size_t result_count,
		      uint64_t flags)
{
	(void)ep;
	(void)msg;
	(void)resultv;
	(void)result_desc;
	(void)result_count;
	(void)flags;
	return -FI_ENOSYS;
}

struct fi_ops_collective wf_coll_ops = {
    .size = sizeof(struct fi_ops_collective),
    .barrier = coll_barrier,
    .broadcast = coll_broadcast,
    .alltoall = coll_alltoall,
    .allreduce = coll_allreduce,
    .allgather = coll_allgather,
    .reduce_scatter = coll_reduce_scatter,
    .reduce = coll_reduce,
    .scatter = coll_scatter,
    .gather = coll_gather,
    .msg = no_msg,
    .barrier2 = coll_barrier2,
};

int wf_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			struct fi_collective_attr *attr, uint64_t flags)
{
	static const GOAL_Collective goal_of[] = {
	    [FI_BARRIER] = GOAL_COLL_BARRIER,     [FI_BROADCAST] = GOAL_COLL_BCAST,
	    [FI_ALLTOALL] = GOAL_COLL_ALLTOALL,   [FI_ALLREDUCE] = GOAL_COLL_ALLREDUCE,
	    [FI_ALLGATHER] = GOAL_COLL_ALLGATHER, [FI_REDUCE_SCATTER] = GOAL_COLL_REDUCE_SCATTER,
	    [FI_REDUCE] = GOAL_COLL_REDUCE,       [FI_SCATTER] = GOAL_COLL_SCATTER,
	    [FI_GATHER] = GOAL_COLL_GATHER};
	GOAL_CollectiveCall call;
	struct coll c;

	(void)domain;
	if (!attr || flags || attr->mode)
		return -FI_EINVAL;
	if ((size_t)coll >= sizeof(goal_of) / sizeof(goal_of[0]))
		return -FI_EOPNOTSUPP;
	c = (struct coll){.goal = goal_of[coll], .type = attr->datatype, .op = attr->op};
	if (c.goal == GOAL_COLL_BARRIER && (attr->datatype != FI_VOID || attr->op != FI_NOOP))
		return -FI_EOPNOTSUPP;
	if (!combines(c.goal) && attr->op != FI_NOOP && attr->op != FI_ATOMIC_READ &&
	    attr->op != FI_ATOMIC_WRITE)
		return -FI_EOPNOTSUPP;
	if (describe(&c, &call) != 0)
		return -FI_EOPNOTSUPP;
	attr->datatype_attr.size = bytes_of(attr->datatype);
	attr->datatype_attr.count =
	    c.goal == GOAL_COLL_BARRIER ? 0 : MAX_BYTES / attr->datatype_attr.size;
	attr->max_members = HW_MAX_GOAL_RANKS;
	return 0;
}
