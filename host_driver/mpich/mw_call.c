/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call: whether the NIC takes it. Calls mc_call.c, mc_count.c.
 */
#include <stdlib.h>

#include "host_driver/mpich/mw.h"

void mw_call_init(struct mw_call *call, enum mc_coll coll, uint64_t count, int root)
{
	*call = (struct mw_call){.form = call->form, .comm = call->comm};
	mc_call_init(&call->mc, coll, count, root);
}

bool mw_call_taken(const struct mc_comm *mc, struct mw_call *call)
{
	bool taken = mc_call_taken(&call->mc, call->form, mc);

	if (!taken || call->mc.refused)
		mw_call_drop(call);
	return taken;
}

void mw_call_drop(struct mw_call *call)
{
	free(call->list);
	free(call->send.parts);
	free(call->recv.parts);
	call->list = NULL;
	call->send.parts = call->recv.parts = NULL;
}

void mw_call_count(MPI_Comm comm, enum mc_coll coll, enum mc_form form)
{
	const struct mc_comm *mc = mw_comm_of(comm);

	if (mc)
		mc_count(coll, form, mc->left != MC_TAKEN ? mc->left : MC_REASON_LARGE, 0);
}
