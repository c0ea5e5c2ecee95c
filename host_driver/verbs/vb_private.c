/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What librdmacm.so.1 of ours needs beyond verbs: the NIC behind a context. It is exported among
 * the private symbols, as are those functions of libweft that it calls (IBVERBS_PRIVATE in the
 * Makefile), so that both libraries use one context. Called by host_driver/rdmacm.
 */
#include "host_driver/verbs/vb.h"
#include "host_driver/verbs/vb_private.h"

VB_API struct weft_context *weft_cm_context(struct ibv_context *context)
{
	return vb_context_of(context)->weft;
}
