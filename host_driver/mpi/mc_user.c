/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of MPI_Op_create() on the NIC: an info key of a communicator names a program for them.
 *
 * MPI knows such an operation by a function alone, so the program stands for all of them on that
 * communicator whose elements have its size. Registering compares programs over the ranks, and is
 * part of making the communicator: a non-blocking reduction must not wait for other ranks. Calls
 * GOAL_RegisterOpOn(). docs/openmpi.md "Operations of the program's own".
 */
#include <stdio.h>
#include <string.h>

#include "host_driver/mpi/mc.h"

static void fail(struct mc_comm *comm, const char *value, const char *why, const char *detail)
{
	comm->user.state = MC_USER_FAILED;
	fprintf(stderr,
		"%s: rank %u: info key %s=%s: %s%s%s; reductions with operations of the program's "
		"own on this "
		"communicator end with an error\n",
		mc_settings.who, comm->rank, MC_USER_KEY, value ? value : "(none)", why,
		detail[0] ? ": " : "", detail);
}

void mc_user_register(struct mc_comm *comm, const char *value)
{
	char file[MC_USER_VALUE_BYTES] = "";
	const char *section = "";
	char *colon;
	int op;

	if (value && strlen(value) < sizeof(file)) {
		strcpy(file, value);
		colon = strrchr(file, ':');
		if (colon) {
			*colon = '\0';
			section = colon + 1;
		}
	}
	/* Also where it must fail: the others compare their program with this rank's. */
	op = GOAL_RegisterOpOn(comm->goal, file, section, NULL, 0);
	if (op < 0 && (!file[0] || !section[0]))
		fail(comm, value, "all ranks give FILE:SECTION", "");
	else if (op < 0)
		fail(comm, value, GOAL_StrError(op), GOAL_LastErrorDetail());
	else
		comm->user = (struct mc_user){MC_USER_READY, (GOAL_Op)op,
					      (uint32_t)GOAL_OpElemBytes(comm->goal, (GOAL_Op)op)};
}

void mc_user_set(struct mc_call *call, const struct mc_comm *comm, bool commutes,
		 uint64_t elem_bytes)
{
	const struct mc_user *user = &comm->user;

	call->refused = user->state == MC_USER_FAILED;
	if (user->state != MC_USER_READY || !commutes) {
		call->reason = MC_REASON_OP;
		return;
	}
	if (elem_bytes != user->elem_bytes) {
		call->reason = MC_REASON_TYPE;
		return;
	}
	call->goal.op = user->op;
	call->goal.type = GOAL_UINT;
	call->goal.width = (int)elem_bytes * 8;
}
