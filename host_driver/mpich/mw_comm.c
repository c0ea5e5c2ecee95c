/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: which ones the NIC serves.
 *
 * All ranks of a communicator must decide alike. MPI_COMM_WORLD joins libgoal (GOAL_Join(), all or
 * none). Another communicator gets one of libgoal without communication when it is made, then its
 * ranks agree; where MPI makes one without blocking (MPI_Comm_idup) it stays with MPICH. The NIC's
 * side is an attribute, which goes with the communicator. One that the NIC does not serve gets one,
 * too, at its first collective, which says why and only counts. Calls mc_comm.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/mpich/mw.h"

static int keyval = MPI_KEYVAL_INVALID;
/* The side of MPI_COMM_WORLD; NULL: the NIC is not used. With one rank it is left. */
static struct mc_comm *world;

static int delete_attr(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)extra;
	mc_comm_put(value);
	return MPI_SUCCESS;
}

/* True if all ranks say so, and have equal settings. *any: some rank has set it. */
static bool agree(MPI_Comm comm, bool mine, bool *any)
{
	int64_t config = (int64_t)(mc_settings.config >> 1);
	/* The least of a number and of its negative are opposite only if all numbers are equal. */
	int64_t least[4] = {mine, config, -config, !*any};

	if (PMPI_Allreduce(MPI_IN_PLACE, least, 4, MPI_INT64_T, MPI_MIN, comm) != MPI_SUCCESS)
		return false;
	*any = !least[3];
	return least[0] && least[1] == -least[2];
}

/* Makes the NIC's side the communicator's, if all ranks have one; false: it is gone. */
static bool attach(MPI_Comm comm, struct mc_comm *mc, bool *keyed)
{
	bool ok = mc && PMPI_Comm_set_attr(comm, keyval, mc) == MPI_SUCCESS;

	if (agree(comm, ok, keyed))
		return true;
	if (ok)
		(void)PMPI_Comm_delete_attr(comm, keyval);
	else if (mc)
		mc_comm_put(mc);
	return false;
}

static bool agree_on(void *arg, bool mine, bool *any)
{
	return agree(*(MPI_Comm *)arg, mine, any);
}

bool mw_comm_alone(struct mc_comm *mc, struct mw_call *call)
{
	if (!mc_call_fits(&call->mc, call->form, mc)) {
		mw_call_drop(call);
		return false;
	}
	if (call->mc.refused) {
		mw_call_drop(call);
		return true;
	}
	call->alone = mc_comm_alone(mc, &call->mc, call->form, agree_on, &call->comm);
	if (!call->alone)
		mw_call_drop(call);
	return call->alone;
}

/* ---- communicators that stay with MPICH ----------------------------------------------------- */

/* Calls on the communicator are only counted. NULL: no memory. */
static struct mc_comm *attach_left(MPI_Comm comm, enum mc_reason left)
{
	struct mc_comm *mc;
	int rank, size;

	if (PMPI_Comm_rank(comm, &rank) || PMPI_Comm_size(comm, &size))
		return NULL;
	mc = mc_comm_new_left(left, (uint32_t)size, (uint32_t)rank);
	if (!mc || PMPI_Comm_set_attr(comm, keyval, mc) == MPI_SUCCESS)
		return mc;
	mc_comm_put(mc);
	return NULL;
}

/*
 * Lists the ranks of MPI_COMM_WORLD, own being room for as many; false: one is of another job,
 * which all ranks see.
 */
static bool list_ranks(MPI_Comm comm, int *own, int *ranks, int size)
{
	MPI_Group group, all;
	bool near;

	if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS)
		return false;
	(void)PMPI_Comm_group(MPI_COMM_WORLD, &all);
	for (int i = 0; i < size; i++)
		own[i] = i;
	near = PMPI_Group_translate_ranks(group, size, own, all, ranks) == MPI_SUCCESS;
	for (int i = 0; i < size; i++)
		near = near && ranks[i] != MPI_UNDEFINED;
	(void)PMPI_Group_free(&group);
	(void)PMPI_Group_free(&all);
	return near;
}

/* Finds out why the NIC does not serve a communicator without an attribute. */
static struct mc_comm *find_left(MPI_Comm comm)
{
	int inter, size, *ranks;
	bool near;

	if (PMPI_Comm_test_inter(comm, &inter) || PMPI_Comm_size(comm, &size))
		return NULL;
	if (inter)
		return attach_left(comm, MC_REASON_INTER);
	if (size < 2)
		return attach_left(comm, MC_REASON_SINGLE);
	ranks = calloc((size_t)size * 2, sizeof(*ranks));
	if (!ranks)
		return NULL;
	near = list_ranks(comm, ranks + size, ranks, size);
	free(ranks);
	return attach_left(comm, near ? MC_REASON_IDUP : MC_REASON_JOB);
}

struct mc_comm *mw_comm_of(MPI_Comm comm)
{
	void *value = NULL;
	int flag = 0;

	if (!world || comm == MPI_COMM_NULL ||
	    PMPI_Comm_get_attr(comm, keyval, &value, &flag) != MPI_SUCCESS)
		return NULL;
	return flag ? value : find_left(comm);
}

/* ---- the job -------------------------------------------------------------------------------- */

static int gather(const void *mine, void *all, size_t bytes, void *arg)
{
	(void)arg;
	return PMPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
			      MPI_COMM_WORLD);
}

/*
 * Returns this rank's place among those of its host: MPICH's own notion of a host may be one rank
 * (MPIR_CVAR_NOLOCAL). -1: no memory.
 */
static int local_rank(int rank, int size)
{
	char mine[MPI_MAX_PROCESSOR_NAME] = "", (*all)[MPI_MAX_PROCESSOR_NAME];
	int length, place = 0;
	bool any = false;

	all = calloc((size_t)size, sizeof(*all));
	(void)PMPI_Get_processor_name(mine, &length);
	if (!agree(MPI_COMM_WORLD, all != NULL, &any) || gather(mine, all, sizeof(mine), NULL)) {
		free(all);
		return -1;
	}
	for (int i = 0; i < rank; i++)
		place += !memcmp(all[i], mine, sizeof(mine));
	free(all);
	return place;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool make_keyval(void)
{
	return !PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attr, &keyval, NULL);
}

static void set_up(void)
{
	mc_settings.who = "weft-mpich";
	mc_settings.library = "the MPI library";
	mc_settings.left = "left to the library by";
	mc_settings.num_reasons = MC_REASON_COUNT;
	mc_settings.verbose = (int)number_of("WEFT_MPI_VERBOSE", 0);
	mc_settings.rules = getenv("WEFT_MPI_RULES");
	mc_settings.max_bytes = number_of("WEFT_MPI_MAX_BYTES", 16 << 20);
}

void mw_comm_join(void)
{
	GOAL_Group group = {.allgather = gather};
	bool any = false;
	struct mc_comm *mc;
	GOAL_Comm joined;

	set_up();
	(void)PMPI_Comm_rank(MPI_COMM_WORLD, &group.rank);
	(void)PMPI_Comm_size(MPI_COMM_WORLD, &group.size);
	if (group.size < 2) {
		if (make_keyval())
			world = attach_left(MPI_COMM_WORLD, MC_REASON_SINGLE);
		return;
	}
	if (!agree(MPI_COMM_WORLD, mc_rules_load() && mw_persist_begin() && make_keyval(), &any))
		return;
	group.local_rank = local_rank(group.rank, group.size);
	if (group.local_rank < 0)
		return;
	joined = GOAL_Join(&group);
	if (!joined) {
		if (mc_settings.verbose)
			fprintf(stderr, "%s: rank %d: %s: %s; collectives stay with %s\n",
				mc_settings.who, group.rank, GOAL_StrError(GOAL_LastError()),
				GOAL_LastErrorDetail(), mc_settings.library);
		return;
	}
	mc = mc_comm_new(joined, NULL);
	if (attach(MPI_COMM_WORLD, mc, &any))
		world = mc;
}

void mw_comm_leave(void)
{
	int rank;

	if (!world)
		return;
	(void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	mc_count_report(rank);
	(void)PMPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
	world = NULL;
}

/* ---- other communicators -------------------------------------------------------------------- */

/* A communicator was made; rc is the outcome of that, and stays it. info may be MPI_INFO_NULL. */
static int made_with(int rc, const MPI_Comm *comm, MPI_Info info)
{
	char value[MC_USER_VALUE_BYTES];
	int inter, size, *ranks, mine = 0;
	GOAL_Comm goal = NULL;
	struct mc_comm *mc;
	bool near, keyed;

	if (!world || world->left != MC_TAKEN || rc != MPI_SUCCESS || *comm == MPI_COMM_NULL ||
	    PMPI_Comm_test_inter(*comm, &inter) || inter || PMPI_Comm_size(*comm, &size) ||
	    size < 2)
		return rc;
	ranks = calloc((size_t)size * 2, sizeof(*ranks));
	near = ranks && list_ranks(*comm, ranks + size, ranks, size);
	/* Without memory for the list this rank cannot tell whether the others ask. */
	if (ranks && !near) {
		free(ranks);
		return rc;
	}
	if (near)
		goal = GOAL_CommCreate(world->goal, ranks, size);
	free(ranks);
	if (info != MPI_INFO_NULL)
		(void)PMPI_Info_get(info, MC_USER_KEY, sizeof(value) - 1, value, &mine);
	keyed = mine;
	mc = mc_comm_new(goal, world);
	if (!attach(*comm, mc, &keyed))
		(void)attach_left(*comm, MC_REASON_ROOM);
	else if (keyed)
		mc_user_register(mc, mine ? value : NULL);
	return rc;
}

static int made(int rc, const MPI_Comm *comm)
{
	return made_with(rc, comm, MPI_INFO_NULL);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
	return made(PMPI_Comm_dup(comm, out), out);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *out)
{
	return made_with(PMPI_Comm_dup_with_info(comm, info, out), out, info);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out)
{
	return made(PMPI_Comm_split(comm, color, key, out), out);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
	return made(PMPI_Comm_split_type(comm, type, key, info, out), out);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *out)
{
	return made(PMPI_Comm_create(comm, group, out), out);
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out)
{
	return made(PMPI_Comm_create_group(comm, group, tag, out), out);
}

int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *out)
{
	return made(PMPI_Intercomm_merge(comm, high, out), out);
}

int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
		    MPI_Comm *out)
{
	return made(PMPI_Cart_create(comm, ndims, dims, periods, reorder, out), out);
}

int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *out)
{
	return made(PMPI_Cart_sub(comm, remain_dims, out), out);
}

int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
		     MPI_Comm *out)
{
	return made(PMPI_Graph_create(comm, nnodes, index, edges, reorder, out), out);
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
			  const int destinations[], const int weights[], MPI_Info info, int reorder,
			  MPI_Comm *out)
{
	return made(PMPI_Dist_graph_create(comm, n, sources, degrees, destinations, weights, info,
					   reorder, out),
		    out);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
				   const int sourceweights[], int outdegree,
				   const int destinations[], const int destweights[], MPI_Info info,
				   int reorder, MPI_Comm *out)
{
	return made(PMPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights,
						    outdegree, destinations, destweights, info,
						    reorder, out),
		    out);
}
