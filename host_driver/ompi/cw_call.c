/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call: whether the NIC takes it, and its three forms.
 *
 * Calls mc_call.c, cw_req.c.
 */
#include <stdlib.h>

#include "host_driver/ompi/cw.h"

void cw_call_init(struct cw_call *call, enum mc_coll coll, uint64_t count, int root)
{
	*call = (struct cw_call){.form = call->form};
	mc_call_init(&call->mc, coll, count, root);
}

void cw_call_drop(struct cw_call *call)
{
	free(call->list);
	free(call->send.parts);
	free(call->recv.parts);
	if (call->alone)
		mc_comm_put(call->alone);
	call->list = NULL;
	call->alone = NULL;
	call->send.parts = call->recv.parts = NULL;
}

bool cw_call_taken(const struct cw_module *module, struct cw_call *call)
{
	bool taken = mc_call_taken(&call->mc, call->form, module->mc);

	if (!taken)
		cw_call_drop(call);
	return taken;
}

static bool is_refused(struct cw_call *call)
{
	if (call->mc.refused)
		cw_call_drop(call);
	return call->mc.refused;
}

int cw_call_prepare(struct cw_module *module, struct cw_call *call, ompi_request_t **request)
{
	struct cw_req *req;

	if (is_refused(call))
		return MPI_ERR_OP;
	req = cw_req_new(module, call, true);
	if (!req)
		return OMPI_ERR_OUT_OF_RESOURCE;
	*request = &req->nbc.super;
	return OMPI_SUCCESS;
}

int cw_call_start(struct cw_module *module, struct cw_call *call, ompi_request_t **request)
{
	struct cw_req *req;

	if (is_refused(call))
		return MPI_ERR_OP;
	req = cw_req_new(module, call, false);
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
