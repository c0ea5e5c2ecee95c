/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call: whether the NIC takes it, and its three forms.
 *
 * Calls mc_rules.c, cw_count.c, cw_req.c.
 */
#include <stdlib.h>
#include <string.h>

#include "host_driver/ompi/cw.h"

void cw_call_init(struct cw_call *call, enum mc_coll coll, uint64_t count, int root)
{
	static const GOAL_Collective colls[MC_COLLS] = {
#define X(name, id, goal) [MC_##id] = GOAL_COLL_##goal,
	    MC_COLLECTIVES(X)
#undef X
	};

	/* The whole of it: schedules are found by comparison of memory. */
	memset(call, 0, sizeof(*call));
	call->coll = coll;
	call->reason = CW_TAKEN;
	call->goal.coll = colls[coll];
	call->goal.alg = GOAL_ALG_AUTO;
	call->goal.count = (int64_t)count;
	call->goal.op = GOAL_COPY;
	call->goal.type = GOAL_UINT;
	call->goal.width = 8;
	call->goal.root = root;
}

void cw_call_drop(struct cw_call *call)
{
	free(call->list);
	free(call->send.parts);
	free(call->recv.parts);
	call->list = NULL;
	call->send.parts = call->recv.parts = NULL;
}

bool cw_call_taken(const struct cw_module *module, struct cw_call *call, enum mc_form form)
{
	uint64_t bytes = call->unequal ? UINT64_MAX : call->block_bytes;

	if (call->reason == CW_TAKEN && !call->unequal && call->large_bytes > mc_settings.max_bytes)
		call->reason = CW_REASON_SIZE;
	if (call->reason == CW_TAKEN && !mc_rules_take(call->coll, form, module->cw->ranks, bytes))
		call->reason = CW_REASON_RULE;
	cw_count(call, form, call->reason);
	if (call->reason != CW_TAKEN)
		cw_call_drop(call);
	return call->reason == CW_TAKEN;
}

int cw_call_prepare(struct cw_module *module, struct cw_call *call, ompi_request_t **request)
{
	struct cw_req *req = cw_req_new(module, call, true);

	if (!req)
		return OMPI_ERR_OUT_OF_RESOURCE;
	*request = &req->nbc.super;
	return OMPI_SUCCESS;
}

int cw_call_start(struct cw_module *module, struct cw_call *call, ompi_request_t **request)
{
	struct cw_req *req = cw_req_new(module, call, false);

	if (!req)
		return OMPI_ERR_OUT_OF_RESOURCE;
	cw_req_start(req);
	*request = &req->nbc.super;
	return OMPI_SUCCESS;
}

int cw_call_run(struct cw_module *module, struct cw_call *call)
{
	ompi_request_t *request;
	int rc = cw_call_start(module, call, &request);

	if (rc != OMPI_SUCCESS)
		return rc;
	ompi_request_wait_completion(request);
	rc = request->req_status.MPI_ERROR;
	(void)cw_req_free(&request);
	return rc;
}
