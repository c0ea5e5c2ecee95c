/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects of the NIC behind those of verbs, for our librdmacm.so.1. The functions and those of
 * libweft that librdmacm calls are exported as private symbols (IBVERBS_PRIVATE in the Makefile),
 * so that both libraries share one context.
 */
#include "host_driver/verbs/vb.h"
#include "host_driver/verbs/vb_private.h"

VB_API struct weft_context *weft_cm_context(struct ibv_context *context)
{
	return vb_context_of(context)->weft;
}

VB_API struct weft_cq *weft_cm_cq(struct ibv_cq *cq)
{
	return vb_cq_of(cq)->weft;
}
