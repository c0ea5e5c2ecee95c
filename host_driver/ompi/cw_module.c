/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modules: which communicators the NIC serves, and what lies before each.
 *
 * All ranks of a communicator must decide alike. MPI_COMM_WORLD joins libgoal by the allgather of
 * the module before (GOAL_Join(), all or none). Another communicator gets one of libgoal without
 * communication, then its ranks agree (agree()). One that the NIC cannot serve gets a module that
 * only counts. Calls the files of the collectives.
 */
#include "host_driver/ompi/cw.h"

#include <ompi/mca/coll/base/coll_tags.h>
#include <ompi/mca/pml/pml.h>
#include <ompi/proc/proc.h>
#include <opal/runtime/opal_progress.h>
#include <stdlib.h>
#include <string.h>

/* ---- agreement ------------------------------------------------------------------------------ */

enum {
	AGREED = 4, /* numbers */
};

struct gather_arg {
	struct cw_module *module;
	ompi_communicator_t *comm;
};

static int gather(const void *mine, void *all, size_t bytes, void *arg)
{
	const struct gather_arg *a = arg;
	mca_coll_base_comm_coll_t *prev = &a->module->prev;

	return prev->coll_allgather(mine, (int)bytes, &ompi_mpi_byte.dt, all, (int)bytes,
				    &ompi_mpi_byte.dt, a->comm, prev->coll_allgather_module);
}

/*
 * Exchanges a few numbers with two ranks. Open MPI enables modules inside its progress function,
 * where its own blocking calls would wait for themselves if there are threads.
 */
static bool exchange(ompi_communicator_t *comm, int to, const int64_t mine[AGREED], int from,
		     int64_t theirs[AGREED])
{
	ompi_request_t *requests[2];
	int count = 1, i;
	bool ok;

	if (MCA_PML_CALL(irecv(theirs, AGREED, &ompi_mpi_int64_t.dt, from,
			       MCA_COLL_BASE_TAG_ALLREDUCE, comm, &requests[0])) != OMPI_SUCCESS)
		return false;
	ok = MCA_PML_CALL(isend(mine, AGREED, &ompi_mpi_int64_t.dt, to, MCA_COLL_BASE_TAG_ALLREDUCE,
				MCA_PML_BASE_SEND_STANDARD, comm, &requests[1])) == OMPI_SUCCESS;
	if (ok)
		count = 2;
	else
		(void)ompi_request_cancel(requests[0]);
	for (i = 0; i < count; i++) {
		while (!REQUEST_COMPLETE(requests[i]))
			opal_progress();
		ok = ok && requests[i]->req_status.MPI_ERROR == MPI_SUCCESS;
		(void)ompi_request_free(&requests[i]);
	}
	return ok;
}

/*
 * True if all ranks say so, and have equal settings. *any: some rank has set it. After the round of
 * distance d a number is the least of 2d ranks; what is counted twice does no harm.
 */
static bool agree(ompi_communicator_t *comm, bool mine, bool *any)
{
	int64_t config = (int64_t)(mc_settings.config >> 1);
	/* The least of a number and of its negative are opposite only if all numbers are equal. */
	int64_t least[AGREED] = {mine, config, -config, !*any}, theirs[AGREED];
	int size = ompi_comm_size(comm), rank = ompi_comm_rank(comm), distance, i;

	for (distance = 1; distance < size; distance *= 2) {
		if (!exchange(comm, (rank + distance) % size, least,
			      (rank + size - distance) % size, theirs))
			return false;
		for (i = 0; i < AGREED; i++)
			if (theirs[i] < least[i])
				least[i] = theirs[i];
	}
	*any = !least[3];
	return least[0] && least[1] == -least[2];
}

/* Returns the rank of MPI_COMM_WORLD; -1: a process of another job. */
static int world_rank(ompi_communicator_t *comm, int rank)
{
	const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);

	if (!proc || proc->super.proc_name.jobid != OPAL_PROC_MY_NAME.jobid)
		return -1;
	return (int)proc->super.proc_name.vpid;
}

static GOAL_Comm join(struct cw_module *m, ompi_communicator_t *comm)
{
	struct gather_arg arg = {m, comm};
	GOAL_Group group = {.rank = ompi_comm_rank(comm),
			    .size = ompi_comm_size(comm),
			    .allgather = gather,
			    .arg = &arg};
	int i;

	for (i = 0; i < group.rank; i++) {
		const ompi_proc_t *proc = ompi_comm_peer_lookup(comm, i);

		group.local_rank += proc && OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
	}
	return GOAL_Join(&group);
}

/* False: a rank is of another job, which all ranks see. */
static bool list_ranks(ompi_communicator_t *comm, int *ranks)
{
	int size = ompi_comm_size(comm), i;

	for (i = 0; i < size; i++) {
		ranks[i] = world_rank(comm, i);
		if (ranks[i] < 0)
			return false;
	}
	return true;
}

/* Calls on the communicator are only counted. */
static int enable_left(struct cw_module *m, ompi_communicator_t *comm, enum mc_reason left)
{
	m->mc =
	    mc_comm_new_left(left, (uint32_t)ompi_comm_size(comm), (uint32_t)ompi_comm_rank(comm));
	return m->mc ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

static int enable_world(struct cw_module *m, ompi_communicator_t *comm)
{
	struct cw_component *c = &mca_coll_weft_component;
	bool keyed = false, single = ompi_comm_size(comm) < 2;
	GOAL_Comm joined;

	if (single) {
		int rc = enable_left(m, comm, MC_REASON_SINGLE);

		c->world = m->mc;
		return rc;
	}
	joined = join(m, comm);
	if (!joined)
		return OMPI_ERR_NOT_AVAILABLE;
	m->mc = mc_comm_new(joined, NULL);
	if (!agree(comm, m->mc, &keyed))
		return OMPI_ERR_NOT_AVAILABLE;
	c->world = m->mc;
	c->joined = 1;
	return OMPI_SUCCESS;
}

static int enable_other(struct cw_module *m, ompi_communicator_t *comm)
{
	struct mc_comm *world = mca_coll_weft_component.world;
	int size = ompi_comm_size(comm);
	int *ranks = calloc((size_t)size, sizeof(*ranks));
	bool near = ranks && list_ranks(comm, ranks), keyed;
	char value[MC_USER_VALUE_BYTES];
	GOAL_Comm goal = NULL;
	int mine = 0;

	if (near)
		goal = GOAL_CommCreate(world->goal, ranks, size);
	m->mc = mc_comm_new(goal, world);
	/* Without memory for the list this rank cannot tell whether the others ask. */
	if (ranks && !near) {
		free(ranks);
		return enable_left(m, comm, MC_REASON_JOB);
	}
	free(ranks);
	if (comm->super.s_info)
		(void)opal_info_get(comm->super.s_info, MC_USER_KEY, sizeof(value) - 1, value,
				    &mine);
	keyed = mine;
	if (!agree(comm, m->mc, &keyed)) {
		if (m->mc)
			mc_comm_put(m->mc);
		return enable_left(m, comm, MC_REASON_ROOM);
	}
	if (keyed)
		mc_user_register(m->mc, mine ? value : NULL);
	return OMPI_SUCCESS;
}

static bool agree_on(void *arg, bool mine, bool *any)
{
	return agree(arg, mine, any);
}

bool cw_module_alone(const struct cw_module *m, struct cw_call *call)
{
	if (!mc_call_fits(&call->mc, call->form, m->mc)) {
		cw_call_drop(call);
		return false;
	}
	if (call->mc.refused)
		return true;
	call->alone = mc_comm_alone(m->mc, &call->mc, call->form, agree_on, m->comm);
	if (!call->alone)
		cw_call_drop(call);
	return call->alone;
}

static int enable_any(struct cw_module *m, ompi_communicator_t *comm)
{
	if (comm == &ompi_mpi_comm_world.comm)
		return enable_world(m, comm);
	if (OMPI_COMM_IS_INTER(comm))
		return enable_left(m, comm, MC_REASON_INTER);
	if (ompi_comm_size(comm) < 2)
		return enable_left(m, comm, MC_REASON_SINGLE);
	return enable_other(m, comm);
}

/* ---- Open MPI's side ------------------------------------------------------------------------ */

/* The modules before this one are used for as long as this one exists. */
static void retain(mca_coll_base_module_t *prev, bool on)
{
	if (!prev)
		return;
	/* The macros are statements of their own. */
	if (on) {
		OBJ_RETAIN(prev);
	} else {
		OBJ_RELEASE(prev);
	}
}

static void retain_prev(struct cw_module *m, bool on)
{
#define X(name, id, goal)                                                                          \
	retain(m->prev.coll_##name##_module, on);                                                  \
	retain(m->prev.coll_i##name##_module, on);                                                 \
	retain(m->prev.coll_##name##_init_module, on);
	MC_COLLECTIVES(X)
#undef X
	m->retains = on;
}

static int enable(mca_coll_base_module_t *module, ompi_communicator_t *comm)
{
	struct cw_module *m = (struct cw_module *)module;
	int rc;

	m->prev = *comm->c_coll;
	if (!m->prev.coll_allgather)
		return OMPI_ERR_NOT_AVAILABLE;
	rc = enable_any(m, comm);
	if (rc != OMPI_SUCCESS)
		return rc;
	m->comm = comm;
	m->rank = ompi_comm_rank(comm);
	retain_prev(m, true);
	cw_move_install(m);
	cw_reduce_install(m);
	cw_vary_install(m);
	cw_neighbor_install(m);
	return OMPI_SUCCESS;
}

static void construct(struct cw_module *m)
{
	memset((char *)m + sizeof(m->super), 0, sizeof(*m) - sizeof(m->super));
}

static void destruct(struct cw_module *m)
{
	if (m->retains)
		retain_prev(m, false);
	if (m->comm == &ompi_mpi_comm_world.comm)
		mc_count_report(m->rank);
	if (m->mc && m->mc == mca_coll_weft_component.world) {
		mca_coll_weft_component.world = NULL;
		mc_run_drain();
	}
	if (m->mc)
		mc_comm_put(m->mc);
}

OBJ_CLASS_INSTANCE(cw_module, mca_coll_base_module_t, construct, destruct);

mca_coll_base_module_t *cw_module_query(ompi_communicator_t *comm, int *priority)
{
	struct cw_module *m;

	*priority = mca_coll_weft_component.priority;
	if (*priority <= 0 || (comm != &ompi_mpi_comm_world.comm && !mca_coll_weft_component.world))
		return NULL;
	m = OBJ_NEW(cw_module);
	if (!m)
		return NULL;
	m->super.coll_module_enable = enable;
	return &m->super;
}
