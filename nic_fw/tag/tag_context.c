/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts: tagged endpoints whose receives other endpoints of the process take, its members.
 *
 * A message to a member is the member's: its pool, its shares of peers, its completions. It stands
 * in the matcher of the context, and so do all receives, so one order of arrival and one of posting
 * hold for all members. A member belongs to its context until it has ended and has no message left
 * there. Calls qp.c. docs/tagged.md, "Contexts".
 */
#include "nic_fw/fw_nic.h"

struct tag_ep *tag_context_find(struct fw_nic *nic, const struct fw_qp *qp, uint32_t context_qpn)
{
	const struct fw_qp *context = qp_own(nic, qp->client, context_qpn);

	/* Messages are read and copied by the member for the receives of the context. */
	if (!context || !context->tag || context->pd != qp->pd || context->flushing ||
	    !tag_ep_is_live(context->tag) || !tag_ep_is_context(context->tag))
		return NULL;
	return context->tag;
}

void tag_context_join(struct tag_ep *context, struct tag_ep *ep)
{
	ep->rx = context;
	fw_list_add_tail(&context->members, &ep->member_node);
	context->num_members++;
}

void tag_context_leave(struct tag_ep *ep)
{
	if (ep->rx == ep)
		return;
	assert(!ep->num_arrivals && ep->rx->num_members);
	fw_list_del(&ep->member_node);
	ep->rx->num_members--;
	ep->rx = ep;
}

struct tag_ep *tag_context_home(struct tag_ep *ep)
{
	while (!fw_list_empty(&ep->members)) {
		struct tag_ep *first = FW_CONTAINER(ep->members.next, struct tag_ep, member_node);

		if (tag_ep_is_live(first))
			return first;
		fw_list_del(&first->member_node);
	}
	return ep;
}

bool tag_context_flush(struct fw_nic *nic, struct tag_ep *context)
{
	while (!fw_list_empty(&context->members)) {
		if (!slice_take(nic, 1))
			return false;
		qp_error(
		    nic,
		    FW_CONTAINER(fw_list_take(&context->members), struct tag_ep, member_node)->qp,
		    HW_EVENT_QP_FATAL);
	}
	return !context->num_members;
}
